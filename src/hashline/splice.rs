//! Edits in live line numbers put in order and turned into changes of characters; nothing outside the addressed lines is ever part of a change.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::block::{Action, InsertionPoint, PlainHunk};
use super::error::Overlap;
use super::ops::{MoveTarget, Origin};
use super::replace_text::{TextMatch, TextPosition};
use crate::protocol::read::LineSpan;
use crate::text::{LineEnding, Text};

/// A range of characters and the text that takes its place, line ends included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextChange {
    pub start: TextPosition,
    pub end: TextPosition,
    pub text: String,
    /// Of what in it the bytes are known, in order and apart: nothing of that is encoded anew.
    pub known: Vec<KnownBytes>,
}

/// A part of a new text that has bytes already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownBytes {
    /// Of the new text.
    pub part: Range<usize>,
    pub bytes: BytesOf,
}

/// Where the bytes of a text are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BytesOf {
    /// They are those of a line of the file, from 0, without its end.
    Line(usize),
    Given(Arc<[u8]>),
}

impl TextChange {
    /// Takes the place of a range by a text of which no bytes are known.
    pub fn new(start: TextPosition, end: TextPosition, text: String) -> TextChange {
        TextChange {
            start,
            end,
            text,
            known: Vec::new(),
        }
    }

    /// Adds a change that begins where this one ends.
    fn append(&mut self, next: TextChange) {
        let after = self.text.len();
        self.end = next.end;
        self.text.push_str(&next.text);
        self.known
            .extend(next.known.into_iter().map(|known| KnownBytes {
                part: known.part.start + after..known.part.end + after,
                ..known
            }));
    }
}

/// `removed` lines from `start` on (1-indexed) give way to `added` ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    pub start: u64,
    pub removed: u64,
    pub added: u64,
}

/// All that happens to a text: in order and apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Splices {
    pub changes: Vec<TextChange>,
    pub regions: Vec<Region>,
    /// Some new line has a carriage return inside, which in a text with CR lines would end it.
    pub holds_cr: bool,
    /// Lines that were moved, in old numbers, and where they begin now; lines of a text whose
    /// lines end in a line feed.
    pub moved: Vec<(LineSpan, u64)>,
}

/// Rows that take the place of lines, without kept lines between.
struct RowSplice<'a> {
    start: u64,
    removed: u64,
    rows: Vec<NewRow<'a>>,
    origin: Origin,
}

struct NewRow<'a> {
    text: Cow<'a, str>,
    /// The line whose end it takes.
    end_of: u64,
    /// Whether it is that line, moved.
    is_moved: bool,
}

impl RowSplice<'_> {
    /// One past the last removed line.
    fn after(&self) -> u64 {
        self.start + self.removed
    }

    fn lines(&self) -> LineSpan {
        LineSpan {
            start: self.start,
            end: self.after().saturating_sub(1).max(self.start),
        }
    }
}

/// Puts hunks and found texts in order. The hunks are of one [`PlainBatch`](super::PlainBatch) and
/// name lines that exist, so their ranges do not meet; a found text may meet anything.
pub fn splices(
    text: &Text,
    hunks: &[PlainHunk],
    found: Vec<TextMatch>,
) -> Result<Splices, Overlap> {
    let rows = row_splices(hunks, text);
    let found = touching_joined(found)?;
    let ends = Ends::of(text);
    check_found(&rows, &found, ends.eof())?;
    let mut changes: Vec<(u8, TextChange)> =
        rows.iter().map(|rows| (0, ends.of_rows(rows))).collect();
    changes.extend(found.iter().map(|found| (1, ends.of_match(found))));
    // Rows that go in where a text begins stand before it; those after it begin later.
    changes.sort_by_key(|(kind, change)| (change.start, *kind));
    let moved = moved(changes.iter().map(|(_, change)| change));
    let mut joined: Vec<TextChange> = Vec::new();
    for (_, change) in changes {
        match joined.last_mut() {
            Some(last) if last.end == change.start => last.append(change),
            _ => joined.push(change),
        }
    }
    Ok(Splices {
        moved,
        changes: joined,
        regions: regions(&rows, &found),
        holds_cr: rows
            .iter()
            .flat_map(|splice| &splice.rows)
            .map(|row| &*row.text)
            .chain(found.iter().map(|found| found.new.as_str()))
            .any(|text| text.contains('\r')),
    })
}

/// Where moved lines are after these changes, in order and apart.
fn moved<'a>(changes: impl Iterator<Item = &'a TextChange>) -> Vec<(LineSpan, u64)> {
    let feeds = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    let mut moved: Vec<(LineSpan, u64)> = Vec::new();
    let (mut added, mut removed) = (0, 0);
    for change in changes {
        let first = change.start.line + 1 + added - removed;
        for known in &change.known {
            let BytesOf::Line(line) = known.bytes else {
                continue;
            };
            let line = line as u64 + 1;
            let now = (first + feeds(&change.text[..known.part.start])) as u64;
            match moved.last_mut() {
                Some((span, begin)) if span.end + 1 == line && *begin + span.count() == now => {
                    span.end = line;
                }
                _ => moved.push((LineSpan::line(line), now)),
            }
        }
        added += feeds(&change.text);
        removed += change.end.line - change.start.line;
    }
    moved
}

/// What happens at one line of the original.
#[derive(Default)]
struct LineEdits<'a> {
    before: Vec<&'a PlainHunk>,
    replaced: Option<&'a PlainHunk>,
    after: Vec<&'a PlainHunk>,
}

/// The order at one line: rows before it, rows for the range that begins there, rows after it; the
/// head is after line 0, the tail before the line past the end.
fn row_splices<'a>(hunks: &'a [PlainHunk], text: &'a Text) -> Vec<RowSplice<'a>> {
    let total = text.len_lines() as u64;
    let mut slots: BTreeMap<u64, LineEdits> = BTreeMap::new();
    for hunk in hunks {
        match &hunk.action {
            Action::Replace { lines, .. } => {
                slots.entry(lines.start).or_default().replaced = Some(hunk);
            }
            Action::Insert { place, .. } => match *place {
                InsertionPoint::Head => slots.entry(0).or_default().after.push(hunk),
                InsertionPoint::Before(line) => slots.entry(line).or_default().before.push(hunk),
                InsertionPoint::After(line) => slots.entry(line).or_default().after.push(hunk),
                InsertionPoint::Tail => slots.entry(total + 1).or_default().before.push(hunk),
            },
            Action::Move { lines, to } => {
                slots.entry(lines.start).or_default().replaced = Some(hunk);
                match *to {
                    MoveTarget::Before(line) => slots.entry(line).or_default().before.push(hunk),
                    MoveTarget::After(line) => slots.entry(line).or_default().after.push(hunk),
                }
            }
        }
    }
    let mut splices = Vec::new();
    for (line, slot) in slots {
        // The head takes the end of line 1, the tail that of the last line.
        let anchor = line.clamp(1, total.max(1));
        for hunk in slot.before {
            add(
                &mut splices,
                line,
                0,
                arriving(hunk, anchor, text),
                hunk.origin,
            );
        }
        if let Some(hunk) = slot.replaced {
            let (removed, rows) = replacing(hunk);
            add(&mut splices, line, removed, rows, hunk.origin);
        }
        for hunk in slot.after {
            add(
                &mut splices,
                line + 1,
                0,
                arriving(hunk, anchor, text),
                hunk.origin,
            );
        }
    }
    splices
}

/// The lines that go, and the rows that come in their place with an end each.
fn replacing(hunk: &PlainHunk) -> (u64, Vec<NewRow<'_>>) {
    let (lines, rows) = match &hunk.action {
        Action::Replace { lines, rows } => (lines, rows.as_slice()),
        Action::Move { lines, .. } => (lines, &[][..]),
        Action::Insert { .. } => return (0, Vec::new()),
    };
    let rows = rows.iter().zip(lines.start..).map(|(text, line)| NewRow {
        text: text.into(),
        end_of: line.min(lines.end),
        is_moved: false,
    });
    (lines.count(), rows.collect())
}

/// The rows that come where nothing goes: they take the end of `anchor`, lines that are moved
/// keep their own.
fn arriving<'a>(hunk: &'a PlainHunk, anchor: u64, text: &'a Text) -> Vec<NewRow<'a>> {
    match &hunk.action {
        Action::Move { lines, .. } => {
            let moved = lines.lines().map(|line| NewRow {
                text: text.line((line - 1) as usize),
                end_of: line,
                is_moved: true,
            });
            moved.collect()
        }
        Action::Replace { rows, .. } | Action::Insert { rows, .. } => {
            let rows = rows.iter().map(|text| NewRow {
                text: text.into(),
                end_of: anchor,
                is_moved: false,
            });
            rows.collect()
        }
    }
}

/// Adds what one hunk does before line `at`, to the last splice where no kept line is between.
fn add<'a>(
    splices: &mut Vec<RowSplice<'a>>,
    at: u64,
    removed: u64,
    rows: Vec<NewRow<'a>>,
    origin: Origin,
) {
    match splices.last_mut() {
        Some(last) if at <= last.after() => {
            // An insert inside a range that is gone keeps its place after the range's rows.
            last.removed = last.removed.max(at + removed - last.start);
            last.rows.extend(rows);
        }
        _ => splices.push(RowSplice {
            start: at,
            removed,
            rows,
            origin,
        }),
    }
}

/// Found texts in order; those that touch are one, for what is left of their lines depends on both.
fn touching_joined(mut found: Vec<TextMatch>) -> Result<Vec<TextMatch>, Overlap> {
    found.sort_by_key(|found| found.start);
    let mut joined: Vec<TextMatch> = Vec::with_capacity(found.len());
    for found in found {
        match joined.last_mut() {
            Some(last) if found.start < last.end => {
                return Err(in_written_order(
                    (last.origin, last.lines()),
                    (found.origin, found.lines()),
                ));
            }
            Some(last) if found.start == last.end => {
                last.end = found.end;
                last.new.push_str(&found.new);
            }
            _ => joined.push(found),
        }
    }
    Ok(joined)
}

fn check_found(rows: &[RowSplice], found: &[TextMatch], eof: TextPosition) -> Result<(), Overlap> {
    for found in found {
        let lines = found.lines();
        let from = rows.partition_point(|rows| rows.after() < lines.start);
        // A new end for a last line that has none, and rows after it, which need one of their own.
        let ends_last = eof.column > 0 && found.end == eof && found.new.ends_with('\n');
        let until = lines.end + u64::from(ends_last);
        let meets = |rows: &&RowSplice| match rows.removed {
            // Rows go in before their line: at a found text's first line they stand clear of it.
            0 => lines.start < rows.start && rows.start <= until,
            _ => rows.start <= lines.end && lines.start < rows.after(),
        };
        let close = rows[from..].iter().take_while(|rows| rows.start <= until);
        if let Some(rows) = close.into_iter().find(meets) {
            return Err(in_written_order(
                (rows.origin, rows.lines()),
                (found.origin, lines),
            ));
        }
    }
    Ok(())
}

fn in_written_order(one: (Origin, LineSpan), other: (Origin, LineSpan)) -> Overlap {
    let (first, second) = match one.0 <= other.0 {
        true => (one, other),
        false => (other, one),
    };
    Overlap {
        first: first.0,
        first_lines: first.1,
        second: second.0,
        second_lines: second.1,
    }
}

fn regions(rows: &[RowSplice], found: &[TextMatch]) -> Vec<Region> {
    let of_rows = |rows: &RowSplice| Region {
        start: rows.start,
        removed: rows.removed,
        added: rows.rows.len() as u64,
    };
    let of_match = |found: &TextMatch| {
        let LineSpan { start, end } = found.lines();
        let removed = end - start + 1;
        let newlines = found.new.bytes().filter(|byte| *byte == b'\n').count();
        let gone = found.end.line - found.start.line;
        Region {
            start,
            removed,
            // The lines it touched hold at least the line ends that go.
            added: (removed + newlines as u64).saturating_sub(gone as u64),
        }
    };
    let mut all: Vec<Region> = rows.iter().map(of_rows).collect();
    all.extend(found.iter().map(of_match));
    all.sort_by_key(|region| (region.start, region.removed));
    let mut joined: Vec<Region> = Vec::new();
    for region in all {
        match joined.last_mut() {
            Some(last) if region.start <= last.start + last.removed => {
                // Two texts found on one line share it.
                let shared = (last.start + last.removed).saturating_sub(region.start);
                last.removed += region.removed.saturating_sub(shared);
                last.added = (last.added + region.added).saturating_sub(shared);
            }
            _ => joined.push(region),
        }
    }
    joined
}

/// The beginning of a line (1-indexed), or the end of the text.
pub(super) fn beginning_of(text: &Text, line: u64) -> TextPosition {
    Ends::of(text).spot(line)
}

/// The line ends of a text, and what a new line takes.
struct Ends<'a> {
    text: &'a Text,
    total: u64,
    /// That of the last ended line, LF where none is.
    default: &'static str,
}

impl<'a> Ends<'a> {
    fn of(text: &'a Text) -> Ends<'a> {
        let total = text.len_lines() as u64;
        let mut ends = Ends {
            text,
            total,
            default: "\n",
        };
        let last_ended = match text.ends_with_newline() {
            true => total,
            false => total.saturating_sub(1),
        };
        if last_ended > 0
            && let Some(end) = ends.end(last_ended)
        {
            ends.default = end;
        }
        ends
    }

    /// The end of a line (1-indexed); `None` for a last line without one. On an empty text LF.
    fn end(&self, line: u64) -> Option<&'static str> {
        if self.total == 0 {
            return Some("\n");
        }
        let index0 = (line - 1) as usize;
        let bytes = match self.text.line_ending() {
            LineEnding::Mixed => self.text.raw_line_bytes(index0) - self.text.line_bytes(index0),
            _ if line == self.total && !self.text.ends_with_newline() => 0,
            LineEnding::Crlf => 2,
            LineEnding::Lf | LineEnding::Cr => 1,
            LineEnding::None => 0,
        };
        match (bytes, self.text.line_ending()) {
            (0, _) => None,
            (1, LineEnding::Cr) => Some("\r"),
            (1, _) => Some("\n"),
            _ => Some("\r\n"),
        }
    }

    /// Where the text ends.
    fn eof(&self) -> TextPosition {
        match self.total > 0 && !self.text.ends_with_newline() {
            true => {
                let line = self.text.len_lines() - 1;
                TextPosition {
                    line,
                    column: self.text.line_bytes(line),
                }
            }
            false => TextPosition {
                line: self.text.len_lines(),
                column: 0,
            },
        }
    }

    /// The beginning of a line (1-indexed), or the end of the text.
    fn spot(&self, line: u64) -> TextPosition {
        match line > self.total {
            true => self.eof(),
            false => TextPosition {
                line: (line - 1) as usize,
                column: 0,
            },
        }
    }

    fn of_rows(&self, splice: &RowSplice) -> TextChange {
        let (start, end) = (self.spot(splice.start), self.spot(splice.after()));
        let mut text = String::new();
        if start.column > 0 {
            // Right after a last line without an end, which stays.
            text.push_str(self.default);
        }
        let to_the_end = splice.after() > self.total;
        let last = splice.rows.len().saturating_sub(1);
        let mut known = Vec::new();
        for (at, row) in splice.rows.iter().enumerate() {
            if row.is_moved {
                known.push(KnownBytes {
                    part: text.len()..text.len() + row.text.len(),
                    bytes: BytesOf::Line((row.end_of - 1) as usize),
                });
            }
            text.push_str(&row.text);
            text.push_str(match self.end(row.end_of) {
                Some(end) => end,
                None if to_the_end && at == last => "",
                None => self.default,
            });
        }
        TextChange {
            known,
            ..TextChange::new(start, end, text)
        }
    }

    /// The new text's newlines take the ends of those that go, further ones that of the last.
    fn of_match(&self, found: &TextMatch) -> TextChange {
        let gone = found.end.line - found.start.line;
        let mut text = String::with_capacity(found.new.len());
        for (at, piece) in found.new.split('\n').enumerate() {
            if at > 0 {
                let line = found.start.line + (at - 1).min(gone.saturating_sub(1));
                let end = match line < self.text.len_lines() {
                    true => self.end(line as u64 + 1),
                    false => None,
                };
                text.push_str(end.unwrap_or(self.default));
            }
            text.push_str(piece);
        }
        TextChange::new(found.start, found.end, text)
    }
}
