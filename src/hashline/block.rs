//! Block ops turned into ranges, and ranges that meet refused; nothing here knows a language.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::error::{Faulty, Overlap, PatchError, Syntax};
use super::no_block::{NoBlock, NoBlockReason};
use super::ops::{Batch, Hunk, MoveTarget, Op, Origin, Warning, WarningCode};
use crate::protocol::read::LineSpan;

/// Where rows go in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsertionPoint {
    Head,
    /// 1-indexed.
    Before(u64),
    After(u64),
    Tail,
}

/// A plain edit: blocks are ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Without rows it deletes.
    Replace {
        lines: LineSpan,
        rows: Vec<String>,
    },
    Insert {
        place: InsertionPoint,
        rows: Vec<String>,
    },
    Move {
        lines: LineSpan,
        to: MoveTarget,
    },
}

/// A plain edit, where it was written, and the line it names where that is none it touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainHunk {
    pub action: Action,
    pub origin: Origin,
    /// The line that a block op names: an anchor too, and all that must have been shown of it.
    pub block_line: Option<u64>,
}

impl PlainHunk {
    /// The lines that a session must have been shown, in numbers of the tagged version; `None`
    /// for head and tail.
    pub fn must_be_shown(&self) -> Option<LineSpan> {
        let one = |line| LineSpan::line(line);
        self.block_line.map(one).or_else(|| self.touched())
    }

    /// The line that lines are moved beside.
    pub fn beside(&self) -> Option<u64> {
        match self.action {
            Action::Move { to, .. } => Some(to.line()),
            _ => None,
        }
    }

    /// The line that rows are put next to.
    fn inserts_at(&self) -> Option<u64> {
        match self.action {
            Action::Insert { .. } => self.touched().map(|line| line.start),
            _ => None,
        }
    }

    /// The range that goes, or the line that rows are put next to.
    pub fn touched(&self) -> Option<LineSpan> {
        match &self.action {
            Action::Replace { lines, .. } | Action::Move { lines, .. } => Some(*lines),
            Action::Insert { place, .. } => match *place {
                InsertionPoint::Before(line) | InsertionPoint::After(line) => {
                    Some(LineSpan::line(line))
                }
                InsertionPoint::Head | InsertionPoint::Tail => None,
            },
        }
    }
}

/// Which block an op is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlockAt {
    /// 1-indexed.
    pub line: u64,
    /// Whether attributes, decorators and doc comments above what begins there go with it.
    pub with_docs: bool,
}

/// A text to be found and replaced, and where that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextHunk {
    pub old: String,
    pub new: String,
    pub all: bool,
    pub origin: Origin,
}

/// The block of a block op, for `details.files[].blocks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSpan {
    pub line: u64,
    pub lines: LineSpan,
    /// Whether its lines are deleted or replaced.
    pub goes: bool,
}

/// A batch whose blocks have their spans and whose ranges do not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainBatch {
    /// In the order written.
    pub hunks: Vec<PlainHunk>,
    pub texts: Vec<TextHunk>,
    pub blocks: Vec<BlockSpan>,
    pub warnings: Vec<Warning>,
}

/// Why a batch cannot be made plain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlainError {
    #[error(transparent)]
    Patch(#[from] PatchError),
    #[error(transparent)]
    Overlap(#[from] Overlap),
}

impl Op {
    /// The block that it names by a line.
    fn block(&self) -> Option<BlockAt> {
        let (line, with_docs) = match *self {
            Op::ReplaceBlock { line, .. } | Op::InsertAfterBlock { line, .. } => (line, false),
            Op::DeleteBlock { line } => (line, true),
            _ => return None,
        };
        Some(BlockAt { line, with_docs })
    }
}

impl Batch {
    /// The blocks that its hunks name.
    pub fn blocks(&self) -> Vec<BlockAt> {
        self.hunks
            .iter()
            .filter_map(|hunk| hunk.op.block())
            .collect()
    }

    /// Gives every block op its span, by `block_of` on the version that the numbers are of, and
    /// then refuses ranges that meet. Warnings of the batch come along; sound are the hunks that
    /// have a span and meet no other before them.
    pub fn into_plain(
        self,
        mut block_of: impl FnMut(BlockAt) -> Result<LineSpan, NoBlock>,
    ) -> Result<PlainBatch, Faulty<PlainBatch, PlainError>> {
        let mut plain = PlainBatch {
            hunks: Vec::new(),
            texts: Vec::new(),
            blocks: Vec::new(),
            warnings: self.warnings,
        };
        let mut faults = Vec::new();
        for hunk in self.hunks {
            let origin = hunk.origin;
            if let Err((line, why)) = plain.add(hunk, &mut block_of) {
                let error = PatchError {
                    what: Syntax::NoBlock { line, why },
                    origin,
                    path: Some(self.path.clone()),
                    tag: self.tag,
                };
                faults.push(error.into());
            }
        }
        faults.extend(plain.settle_ranges().into_iter().map(PlainError::from));
        Faulty::unless_sound(plain, faults)
    }
}

impl PlainBatch {
    fn add(
        &mut self,
        hunk: Hunk,
        block_of: &mut impl FnMut(BlockAt) -> Result<LineSpan, NoBlock>,
    ) -> Result<(), (u64, NoBlock)> {
        let mut block = |line: u64, with_docs: bool| {
            let at = BlockAt { line, with_docs };
            block_of(at).map_err(|why| (line, why))
        };
        let origin = hunk.origin;
        let (action, named) = match hunk.op {
            Op::Replace { lines, rows } => (Action::Replace { lines, rows }, None),
            Op::Delete { lines } => (delete(lines), None),
            Op::ReplaceBlock { line, rows } => {
                let lines = block(line, false)?;
                (Action::Replace { lines, rows }, Some((line, lines)))
            }
            Op::DeleteBlock { line } => {
                let lines = block(line, true)?;
                (delete(lines), Some((line, lines)))
            }
            Op::InsertBefore { line, rows } => (insert(InsertionPoint::Before(line), rows), None),
            Op::InsertAfter { line, rows } => (insert(InsertionPoint::After(line), rows), None),
            Op::InsertAfterBlock { line, rows } => match block(line, false) {
                Ok(lines) => (
                    insert(InsertionPoint::After(lines.end), rows),
                    Some((line, lines)),
                ),
                Err((_, why)) if why.reason == NoBlockReason::Closing => {
                    self.warnings.push(after_closing(origin, line));
                    (insert(InsertionPoint::After(line), rows), None)
                }
                Err(none) => return Err(none),
            },
            Op::InsertHead { rows } => (insert(InsertionPoint::Head, rows), None),
            Op::InsertTail { rows } => (insert(InsertionPoint::Tail, rows), None),
            Op::ReplaceText { old, new, all } => {
                self.texts.push(TextHunk {
                    old,
                    new,
                    all,
                    origin,
                });
                return Ok(());
            }
            Op::Move { lines, to } => (Action::Move { lines, to }, None),
            // They are of the file as a whole: no line of it is touched.
            Op::MoveFile { .. } | Op::DeleteFile | Op::Undo => return Ok(()),
        };
        if let Some((line, lines)) = named {
            let goes = matches!(action, Action::Replace { .. });
            self.blocks.push(BlockSpan { line, lines, goes });
        }
        self.hunks.push(PlainHunk {
            action,
            origin,
            block_line: named.map(|(line, _)| line),
        });
        Ok(())
    }

    /// Keeps the last of replacements of exactly one range; other ranges must not meet, and of two
    /// that do the one written later is left out.
    fn settle_ranges(&mut self) -> Vec<Overlap> {
        let mut faults = Vec::new();
        let mut last: BTreeMap<(u64, u64), usize> = BTreeMap::new();
        let mut left_out = BTreeSet::new();
        for (at, hunk) in self.hunks.iter().enumerate() {
            let (lines, rows) = match &hunk.action {
                Action::Replace { lines, rows } => (lines, rows.as_slice()),
                // As a deletion: it shares its lines with nothing.
                Action::Move { lines, .. } => (lines, &[][..]),
                Action::Insert { .. } => continue,
            };
            let key = (lines.start, lines.end);
            let Some(&earlier) = last.get(&key) else {
                last.insert(key, at);
                continue;
            };
            let first = &self.hunks[earlier];
            if rows.is_empty() || is_deletion(&first.action) {
                faults.push(meeting(first.origin, *lines, hunk.origin, *lines));
                left_out.insert(at);
                continue;
            }
            self.warnings
                .push(replaced_twice(first.origin, hunk.origin));
            left_out.insert(earlier);
            last.insert(key, at);
        }
        // Ascending by start and no two the same, so that a range can only meet one that reaches
        // furthest so far.
        let mut furthest: Option<(LineSpan, usize)> = None;
        for ((start, end), at) in last {
            let range = LineSpan { start, end };
            match furthest {
                Some((before, before_at)) if start <= before.end => {
                    let (one, other) = ((before, before_at), (range, at));
                    let (first, second) = match before_at < at {
                        true => (one, other),
                        false => (other, one),
                    };
                    let origin = |at: usize| self.hunks[at].origin;
                    faults.push(meeting(
                        origin(first.1),
                        first.0,
                        origin(second.1),
                        second.0,
                    ));
                    left_out.insert(second.1);
                    furthest = Some(first);
                }
                _ => furthest = Some((range, at)),
            }
        }
        faults.extend(self.inside_moved(&mut left_out));
        let mut at = 0;
        self.hunks.retain(|_| {
            at += 1;
            !left_out.contains(&(at - 1))
        });
        faults
    }

    /// What goes beside lines that are moved: nobody knows whether it is to move with them.
    fn inside_moved(&self, left_out: &mut BTreeSet<usize>) -> Vec<Overlap> {
        let moved = self.hunks.iter().enumerate();
        let moved = moved.filter(|(at, _)| !left_out.contains(at));
        let moved = moved.filter_map(|(at, hunk)| match hunk.action {
            Action::Move { lines, .. } => Some((lines.start, (lines, at))),
            _ => None,
        });
        let moved: BTreeMap<u64, (LineSpan, usize)> = moved.collect();
        let mut faults = Vec::new();
        for (at, hunk) in self.hunks.iter().enumerate() {
            let Some(line) = hunk.beside().or_else(|| hunk.inserts_at()) else {
                continue;
            };
            let above = moved.range(..=line).next_back();
            if let Some((_, (lines, moving))) = above
                && line <= lines.end
            {
                let one = (self.hunks[*moving].origin, *lines);
                let other = (hunk.origin, LineSpan::line(line));
                let (first, second) = match *moving <= at {
                    true => (one, other),
                    false => (other, one),
                };
                faults.push(meeting(first.0, first.1, second.0, second.1));
                left_out.insert(at.max(*moving));
            }
        }
        faults
    }
}

fn delete(lines: LineSpan) -> Action {
    Action::Replace {
        lines,
        rows: Vec::new(),
    }
}

fn insert(place: InsertionPoint, rows: Vec<String>) -> Action {
    Action::Insert { place, rows }
}

fn is_deletion(action: &Action) -> bool {
    match action {
        Action::Replace { rows, .. } => rows.is_empty(),
        Action::Move { .. } => true,
        Action::Insert { .. } => false,
    }
}

fn meeting(
    first: Origin,
    first_lines: LineSpan,
    second: Origin,
    second_lines: LineSpan,
) -> Overlap {
    Overlap {
        first,
        first_lines,
        second,
        second_lines,
    }
}

fn replaced_twice(first: Origin, second: Origin) -> Warning {
    Warning::new(
        WarningCode::ReplacedTwice,
        format!("{first} and {second} replace the same lines; the last one holds."),
    )
}

fn after_closing(origin: Origin, line: u64) -> Warning {
    Warning::new(
        WarningCode::NotABlock,
        format!("{origin}: line {line} closes a block; the rows went in right after it."),
    )
}
