//! Edits carried from the version they are numbered by to the live text; an edit whose lines changed is never moved to other lines.

use super::block::{Action, Place, PlainHunk};
use super::diffed::DiffedMap;
use super::line_map::LineMap;
use super::ops::Origin;
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
        let mut lines = pieces.iter().flat_map(|piece| piece.start..=piece.end);
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
}

/// Hunks in live line numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub hunks: Vec<PlainHunk>,
    /// One for each hunk that moved, in the order written.
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
#[error("{}", stale_message(anchors))]
pub struct Stale {
    /// Every hunk's that has one, in the order written.
    pub anchors: Vec<Anchor>,
}

fn stale_message(anchors: &[Anchor]) -> String {
    let Some(anchor) = anchors.iter().find(|anchor| anchor.stale.is_some()) else {
        return String::new();
    };
    let LineSpan { start, end } = anchor.lines;
    let lines = match start == end {
        true => format!("line {start}"),
        false => format!("lines {start}..{end}"),
    };
    let why = match anchor.stale {
        Some(StaleReason::Split) => "now have other lines between them",
        Some(StaleReason::Unproven) => "cannot be found for certain after a change from outside",
        Some(StaleReason::Changed) | None if start == end => "changed since it was read",
        Some(StaleReason::Changed) | None => "changed since they were read",
    };
    format!("{}: {lines} {why}.", anchor.origin)
}

/// Carries hunks through the steps from the version they are numbered by, whose lines they name,
/// to the live text. Each is carried on its own; if one is stale, all are refused.
pub fn carry(mut hunks: Vec<PlainHunk>, steps: &[Step]) -> Result<Moved, Stale> {
    let mut anchors = Vec::new();
    let mut remapped = Vec::new();
    for hunk in &mut hunks {
        let Some(lines) = hunk.touched() else {
            continue;
        };
        let anchor = carry_anchor(hunk.origin, lines, steps);
        anchors.push(anchor);
        if let Some(line) = hunk.block_line {
            let named = LineSpan {
                start: line,
                end: line,
            };
            let named = carry_anchor(hunk.origin, named, steps);
            hunk.block_line = Some(named.now.start);
            if named.stale.is_some() && anchor.stale.is_none() {
                anchors.push(named);
            }
        }
        if anchor.now != lines {
            remapped.push(Remap {
                from: lines.start,
                to: anchor.now.start,
            });
            hunk.move_to(anchor.now);
        }
    }
    match anchors.iter().any(|anchor| anchor.stale.is_some()) {
        true => Err(Stale { anchors }),
        false => Ok(Moved { hunks, remapped }),
    }
}

impl PlainHunk {
    fn move_to(&mut self, now: LineSpan) {
        match &mut self.action {
            Action::Replace { lines, .. } => *lines = now,
            Action::Insert { place, .. } => match place {
                Place::Before(line) | Place::After(line) => *line = now.start,
                Place::Head | Place::Tail => {}
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

/// From the first line of pieces in order to their last.
fn around(pieces: &[LineSpan]) -> LineSpan {
    LineSpan {
        start: pieces.first().map_or(1, |piece| piece.start),
        end: pieces.last().map_or(1, |piece| piece.end),
    }
}
