//! Edits carried from the version they are numbered by to the live text; an edit whose lines changed is never moved to other lines.

use super::block::{Action, InsertionPoint, PlainHunk};
use super::diffed::DiffedMap;
use super::line_map::LineMap;
use super::ops::{MoveTarget, Origin};
use crate::protocol::read::LineSpan;

/// What happened between one version and the next.
#[derive(Debug, Clone)]
pub enum Step {
    /// The change was seen: the map is exact.
    Exact(LineMap),
    /// The change was found afterwards: every line needs a proof.
    Diffed(DiffedMap),
}

/// Why a range cannot be edited where it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleReason {
    /// A line of it was changed or deleted.
    Changed,
    /// Its lines stand, but others are between them now.
    Split,
    /// Its lines are found again, but they may be other lines with the same text.
    Unproven,
}

impl Step {
    fn map(&self) -> &LineMap {
        match self {
            Step::Exact(map) => map,
            Step::Diffed(diffed) => diffed.map(),
        }
    }

    /// Where lines are after this step, in pieces where other lines came between. Lines may part
    /// and be side by side again later.
    fn carry(&self, pieces: &[LineSpan]) -> Result<Vec<LineSpan>, StaleReason> {
        let kept = match pieces {
            [one] => self.map().carry_span(*one).map(|now| vec![now]),
            _ => None,
        };
        let now = match kept {
            Some(now) => now,
            None => {
                let carried = self.map().carry_all(pieces);
                if !carried.changed.is_empty() {
                    return Err(StaleReason::Changed);
                }
                joined(carried.kept)
            }
        };
        let proven = |line| match self {
            Step::Exact(_) => true,
            Step::Diffed(diffed) => diffed.is_proven(line),
        };
        let mut lines = pieces.iter().flat_map(|piece| piece.lines());
        match lines.all(proven) {
            true => Ok(now),
            false => Err(StaleReason::Unproven),
        }
    }
}

/// Pieces that stand side by side as one.
fn joined(pieces: Vec<LineSpan>) -> Vec<LineSpan> {
    let mut joined: Vec<LineSpan> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if last.end + 1 == piece.start => last.end = piece.end,
            _ => joined.push(piece),
        }
    }
    joined
}

/// A hunk that was applied to other line numbers than addressed: its first line then and now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remap {
    pub from: u64,
    pub to: u64,
    /// The lines that it names, as addressed: of a block op the one line.
    pub named: LineSpan,
    /// The first of these now.
    pub named_now: u64,
}

/// Hunks in live line numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved {
    pub hunks: Vec<PlainHunk>,
    /// One for each hunk that moved, in the order written, and one for what lines are moved beside.
    pub remapped: Vec<Remap>,
}

/// The lines a hunk touches, and where they are or were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    pub origin: Origin,
    /// As addressed.
    pub lines: LineSpan,
    /// In the live text: these lines, or what stands in their place. May lie past its end by one
    /// where that is empty.
    pub now: LineSpan,
    /// `None` where this anchor still holds.
    pub stale: Option<StaleReason>,
}

/// Some hunk's lines are no longer what was addressed: `stale` on the wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.reasons().next().map_or_else(String::new, |(_, reason)| reason))]
pub struct Stale {
    /// Every hunk's that has one, in the order written.
    pub anchors: Vec<Anchor>,
    /// The hunks that are not stale.
    pub standing: Moved,
}

impl Stale {
    /// Why, for each hunk that is stale.
    pub fn reasons(&self) -> impl Iterator<Item = (Origin, String)> {
        let stale = |anchor: &Anchor| Some((anchor.origin, anchor.message(anchor.stale?)));
        self.anchors.iter().filter_map(stale)
    }
}

impl Anchor {
    fn message(&self, stale: StaleReason) -> String {
        let LineSpan { start, end } = self.lines;
        let lines = match start == end {
            true => format!("line {start}"),
            false => format!("lines {start}..{end}"),
        };
        let why = match stale {
            StaleReason::Split => "now have other lines between them",
            StaleReason::Unproven => "cannot be found for certain after a change from outside",
            StaleReason::Changed if start == end => "changed since it was read",
            StaleReason::Changed => "changed since they were read",
        };
        format!("{}: {lines} {why}.", self.origin)
    }
}

/// Carries hunks through the steps from the version they are numbered by, whose lines they name,
/// to the live text. Each is carried on its own; if one is stale, all are refused.
pub fn carry(hunks: Vec<PlainHunk>, steps: &[Step]) -> Result<Moved, Stale> {
    let mut anchors = Vec::new();
    let mut moved = Moved::default();
    for mut hunk in hunks {
        let own = anchors.len();
        let remaps = carry_hunk(&mut hunk, steps, &mut anchors);
        if anchors[own..].iter().all(|anchor| anchor.stale.is_none()) {
            moved.hunks.push(hunk);
            moved.remapped.extend(remaps.into_iter().flatten());
        }
    }
    match anchors.iter().any(|anchor| anchor.stale.is_some()) {
        true => Err(Stale {
            anchors,
            standing: moved,
        }),
        false => Ok(moved),
    }
}

/// Carries one hunk and adds what it holds on to; tells where it went if it moved.
fn carry_hunk(
    hunk: &mut PlainHunk,
    steps: &[Step],
    anchors: &mut Vec<Anchor>,
) -> [Option<Remap>; 2] {
    let Some(lines) = hunk.touched() else {
        return [None, None];
    };
    let anchor = carry_anchor(hunk.origin, lines, steps);
    anchors.push(anchor);
    let mut named = (lines, anchor.now.start);
    if let Some(line) = hunk.block_line {
        let line = LineSpan::line(line);
        let line_anchor = carry_anchor(hunk.origin, line, steps);
        hunk.block_line = Some(line_anchor.now.start);
        named = (line, line_anchor.now.start);
        if line_anchor.stale.is_some() && anchor.stale.is_none() {
            anchors.push(line_anchor);
        }
    }
    hunk.move_to(anchor.now);
    let remap = (anchor.now != lines).then_some(Remap {
        from: lines.start,
        to: anchor.now.start,
        named: named.0,
        named_now: named.1,
    });
    [remap, carry_beside(hunk, steps, anchors)]
}

/// Carries the line that lines are moved beside, on its own: other lines may have come between.
fn carry_beside(hunk: &mut PlainHunk, steps: &[Step], anchors: &mut Vec<Anchor>) -> Option<Remap> {
    let Action::Move { to, .. } = &mut hunk.action else {
        return None;
    };
    let from = to.line();
    let anchor = carry_anchor(hunk.origin, LineSpan::line(from), steps);
    anchors.push(anchor);
    let now = anchor.now.start;
    let (MoveTarget::Before(line) | MoveTarget::After(line)) = to;
    *line = now;
    (now != from).then_some(Remap {
        from,
        to: now,
        named: LineSpan::line(from),
        named_now: now,
    })
}

impl PlainHunk {
    fn move_to(&mut self, now: LineSpan) {
        match &mut self.action {
            Action::Replace { lines, .. } | Action::Move { lines, .. } => *lines = now,
            Action::Insert { place, .. } => match place {
                InsertionPoint::Before(line) | InsertionPoint::After(line) => *line = now.start,
                InsertionPoint::Head | InsertionPoint::Tail => {}
            },
        }
    }
}

fn carry_anchor(origin: Origin, lines: LineSpan, steps: &[Step]) -> Anchor {
    let mut pieces = vec![lines];
    let mut stale = None;
    for step in steps {
        // Once it is stale, only its place matters, which shows the caller where to look.
        pieces = match step.carry(&pieces) {
            Ok(now) => now,
            Err(reason) => {
                stale.get_or_insert(reason);
                vec![step.map().place(around(&pieces))]
            }
        };
    }
    if pieces.len() > 1 {
        stale.get_or_insert(StaleReason::Split);
    }
    Anchor {
        origin,
        lines,
        now: around(&pieces),
        stale,
    }
}

/// Where lines are after these steps, or what stands in their place.
pub fn place_of(lines: LineSpan, steps: &[Step]) -> LineSpan {
    carry_anchor(Origin::File(0), lines, steps).now
}

/// From the first line of pieces in order to their last.
fn around(pieces: &[LineSpan]) -> LineSpan {
    LineSpan {
        start: pieces.first().map_or(1, |piece| piece.start),
        end: pieces.last().map_or(1, |piece| piece.end),
    }
}
