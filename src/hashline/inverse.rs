//! What an edit replaced, so that it can be put back where its lines still stand; what was there is kept as it was, and never worked out again.

use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use super::apply::{FileBytes, bytes_of_lines};
use super::block::{Action, PlainHunk};
use super::carry::{Anchor, StaleReason};
use super::changed::{Outcome, gaps};
use super::ops::Origin;
use super::splice::{BytesOf, KnownBytes, Region, Splices, TextChange, beginning_of};
use crate::protocol::read::LineSpan;
use crate::text::{LineEnding, Text};

/// The inverse of an edit, in line numbers of the text that it made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inverse {
    /// In order and apart.
    pieces: Vec<ReplacedPiece>,
    /// Whether the lines of what the edit made end in carriage returns: then they are others.
    ends_in_cr: bool,
}

/// Lines that the edit replaced, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ReplacedPiece {
    /// The line that the edit made first, or the one before which it left none.
    start: u64,
    count: u64,
    /// By which the piece is found again: those lines, or the ones on both sides of the gap.
    anchors: Option<LineSpan>,
    /// The hash of these lines with their ends.
    seen: u128,
    /// The lines that were there, with their ends.
    before: String,
    lines: u64,
    /// Their bytes, where they are not those of the text.
    bytes: Option<Arc<[u8]>>,
}

/// Lines of the old text and the new ones in their place: start and count of each.
type Gap = (u64, u64, u64, u64);

impl Inverse {
    /// Of an edit that made `outcome` of `old`; `file` is where that text was read from, if it was.
    pub fn of(old: &Text, outcome: &Outcome, file: Option<&FileBytes>) -> Option<Inverse> {
        let new = &outcome.text;
        let gaps = all_gaps(old, outcome);
        let range = |start: u64, count: u64| (start - 1) as usize..(start + count - 1) as usize;
        let wanted: Vec<Range<usize>> = gaps
            .iter()
            .map(|(start, removed, ..)| range(*start, *removed))
            .collect();
        let bytes = match file {
            None => vec![None; gaps.len()],
            Some(file) => bytes_of_lines(file, &wanted)?,
        };
        let total = new.len_lines() as u64;
        let pieces = gaps.iter().zip(wanted).zip(bytes);
        let pieces = pieces.map(|((&(_, removed, start, count), old_lines), bytes)| {
            let anchors = anchors(start, count, total);
            ReplacedPiece {
                start,
                count,
                anchors,
                seen: anchors.map_or(0, |lines| hash(new, lines)),
                before: old.raw_lines(old_lines.start, old_lines.end),
                lines: removed,
                bytes: bytes.map(Arc::from),
            }
        });
        Some(Inverse {
            pieces: pieces.collect(),
            ends_in_cr: new.line_ending() == LineEnding::Cr,
        })
    }

    /// Bytes that are kept.
    pub fn weight(&self) -> u64 {
        let weight = |piece: &ReplacedPiece| {
            let bytes = piece.bytes.as_ref().map_or(0, |bytes| bytes.len());
            (piece.before.len() + bytes + size_of::<ReplacedPiece>()) as u64
        };
        self.pieces.iter().map(weight).sum()
    }

    /// What is to be carried to the live text, in the order of [`Self::splices`]: the lines of each
    /// piece. None of them names anything where the edit left an empty text.
    pub fn hunks(&self, origin: Origin) -> Vec<PlainHunk> {
        let anchored = self.pieces.iter().filter_map(|piece| piece.anchors);
        let hunk = |lines: LineSpan| PlainHunk {
            action: Action::Replace {
                lines,
                rows: Vec::new(),
            },
            origin,
            block_line: None,
        };
        anchored.map(hunk).collect()
    }

    /// Those of the hunks that name lines which the edit made: the others name its neighbours.
    pub fn made(&self, hunks: &[PlainHunk]) -> Vec<PlainHunk> {
        let anchored = self.pieces.iter().filter(|piece| piece.anchors.is_some());
        let pairs = anchored.zip(hunks);
        let made = pairs.filter(|(piece, _)| piece.count > 0);
        made.map(|(_, hunk)| hunk.clone()).collect()
    }

    /// Whether any line of it, there now or put back, is one of those.
    pub fn has_line(&self, live: &Text, now: &[PlainHunk], is: impl Fn(&str) -> bool) -> bool {
        let made = self.made(now);
        let spans = made.iter().filter_map(PlainHunk::touched);
        let mut made = spans.flat_map(|span| span.lines());
        let mut before = self.pieces.iter().flat_map(|piece| piece.before.lines());
        before.any(&is) || made.any(|line| is(&live.line((line - 1) as usize)))
    }

    /// What puts everything back; `now` are the hunks in live numbers. The error is what is not as
    /// the edit left it.
    pub fn splices(
        &self,
        live: &Text,
        now: &[PlainHunk],
        origin: Origin,
    ) -> Result<Splices, Vec<Anchor>> {
        let mut now = now.iter().filter_map(PlainHunk::touched);
        let mut splices = Splices::default();
        let mut stale = Vec::new();
        for piece in &self.pieces {
            let anchors = piece.anchors.and_then(|_| now.next());
            if !self.stands(piece, anchors, live) {
                stale.push(Anchor {
                    origin,
                    lines: piece.anchors.unwrap_or(LineSpan::line(1)),
                    now: anchors.unwrap_or(LineSpan::line(1)),
                    stale: Some(StaleReason::Changed),
                });
                continue;
            }
            let offset = piece.start - piece.anchors.map_or(piece.start, |it| it.start);
            let start = anchors.map_or(1, |it| it.start) + offset;
            let (from, to) = (start, start + piece.count);
            let (from, to) = (beginning_of(live, from), beginning_of(live, to));
            let known = piece.bytes.iter().map(|bytes| KnownBytes {
                part: 0..piece.before.len(),
                bytes: BytesOf::Given(bytes.clone()),
            });
            splices.changes.push(TextChange {
                known: known.collect(),
                ..TextChange::new(from, to, piece.before.clone())
            });
            splices.regions.push(Region {
                start,
                removed: piece.count,
                added: piece.lines,
            });
            splices.holds_cr |= piece.before.contains('\r');
        }
        match stale.is_empty() {
            true => Ok(splices),
            false => Err(stale),
        }
    }

    /// Whether a piece, whose anchors are there now, is as the edit left it and what was there
    /// before fits in.
    fn stands(&self, piece: &ReplacedPiece, now: Option<LineSpan>, live: &Text) -> bool {
        let total = live.len_lines() as u64;
        let Some((was, now)) = piece.anchors.zip(now) else {
            // The edit left an empty text.
            return total == 0;
        };
        if hash(live, now) != piece.seen {
            return false;
        }
        let at_head = piece.start == was.start && piece.count == 0;
        let at_tail = piece.start > was.end;
        if at_head && now.start != 1 || at_tail && now.end != total {
            return false;
        }
        let is_last = now.end == total && (piece.count > 0 || at_tail);
        let is_ended = piece.before.ends_with(['\n', '\r']);
        let same_ends = (live.line_ending() == LineEnding::Cr) == self.ends_in_cr;
        same_ends && (is_last || is_ended || piece.before.is_empty())
    }
}

/// By which lines of a text with so many a place is found again.
fn anchors(start: u64, count: u64, total: u64) -> Option<LineSpan> {
    let span = match count {
        0 => LineSpan {
            start: (start - 1).max(1),
            end: start.min(total),
        },
        _ => LineSpan {
            start,
            end: start + count - 1,
        },
    };
    (span.start <= span.end).then_some(span)
}

fn hash(text: &Text, lines: LineSpan) -> u128 {
    let raw = text.raw_lines((lines.start - 1) as usize, lines.end as usize);
    xxh3_128(raw.as_bytes())
}

/// All that is other than it was, line ends too, which a map does not go by.
fn all_gaps(old: &Text, outcome: &Outcome) -> Vec<Gap> {
    let new = &outcome.text;
    let (old_total, new_total) = (old.len_lines() as u64, new.len_lines() as u64);
    let mut all = Vec::new();
    let (mut added, mut removed) = (0, 0);
    for (start, gone, came) in gaps(&outcome.map, old_total, new_total) {
        all.push((start, gone, start + added - removed, came));
        (added, removed) = (added + came, removed + gone);
    }
    let raw = |text: &Text, line: u64| text.raw_lines((line - 1) as usize, line as usize);
    for (was, now, length) in outcome.map.runs() {
        // Where the map is exact, only a last line can have got an end, or lost it.
        let from = match outcome.is_exact {
            true => length - 1,
            false => 0,
        };
        for at in from..length {
            if raw(old, was + at) != raw(new, now + at) {
                all.push((was + at, 1, now + at, 1));
            }
        }
    }
    all.sort_unstable();
    let mut joined: Vec<Gap> = Vec::new();
    for (start, gone, begin, came) in all {
        match joined.last_mut() {
            Some(last) if last.0 + last.1 == start && last.2 + last.3 == begin => {
                last.1 += gone;
                last.3 += came;
            }
            _ => joined.push((start, gone, begin, came)),
        }
    }
    joined
}
