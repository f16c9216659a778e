//! The rows of a window: lines are taken one by one, cut where they are too long, as long as the budget lasts.

use std::borrow::Cow;

use crate::protocol::read::{CutReason, LineSpan};

use super::Budget;
use super::excerpt::{ExcerptLine, Length, Line, Lines};
use super::selector::continuation;
use super::window::{Block, Count, Row, Spent, Stop};

/// Rows of a block at most for which room is made before it is known how many fit.
const ROWS_AT_ONCE: u64 = 4096;

/// Takes lines into blocks as long as the budget lasts.
pub(super) struct Filler<'t> {
    pub(super) lines: Lines<'t>,
    pub(super) raw: bool,
    pub(super) columns: usize,
    pub(super) raw_line: usize,
    pub(super) budget: Budget,
    pub(super) count: Count,
    pub(super) spent: Spent,
    pub(super) blocks: Vec<Block<'t>>,
}

impl<'t> Filler<'t> {
    /// Fills in the spans; says where and why it had to stop.
    pub(super) fn fill(&mut self, spans: &[LineSpan], total_lines: u64) -> Option<Stop> {
        for (index, span) in spans.iter().enumerate() {
            let Some((number, reason)) = self.fill_block(*span) else {
                continue;
            };
            let mut left = vec![LineSpan {
                start: number,
                end: span.end,
            }];
            left.extend_from_slice(&spans[index + 1..]);
            let to_end = spans.last().is_some_and(|last| last.end == total_lines);
            return Some(Stop {
                reason,
                next_selector: continuation(&left, to_end, self.raw),
                left,
            });
        }
        None
    }

    /// Takes the lines of a span into a block; the first for which there is no room, and why.
    fn fill_block(&mut self, span: LineSpan) -> Option<(u64, CutReason)> {
        let mut rows = Vec::with_capacity(self.most_rows(span));
        let stopped = match self.lines {
            Lines::Whole(text) | Lines::Begun(text) => {
                let lines = text.lines_at(span.start as usize - 1);
                self.take_rows(span, lines.map(Line::Whole), &mut rows)
            }
            Lines::Excerpt(excerpt) => {
                let lines = excerpt.starting_at(span.start);
                self.take_rows(span, lines.map(Line::Ready), &mut rows)
            }
        };
        if stopped.is_none() || !rows.is_empty() {
            self.blocks.push(Block { rows });
        }
        stopped
    }

    /// Rows for which room is made at once.
    fn most_rows(&self, span: LineSpan) -> usize {
        let lines = (span.end + 1).saturating_sub(span.start);
        lines.min(self.budget.lines).min(ROWS_AT_ONCE) as usize
    }

    fn take_rows(
        &mut self,
        span: LineSpan,
        mut lines: impl Iterator<Item = Line<'t>>,
        rows: &mut Vec<Row<'t>>,
    ) -> Option<(u64, CutReason)> {
        for number in span.lines() {
            // An excerpt holds one line more than fits, so it does not end before the budget;
            // if it did, paging would still go on from here.
            let Some(line) = lines.next() else {
                return Some((number, CutReason::Bytes));
            };
            let row = self.row(number, line);
            let bytes = self.count.bytes_of(&row);
            if let Some(reason) = self.spent.no_room_for(bytes, self.budget) {
                return Some((number, reason));
            }
            self.spent.add(bytes);
            rows.push(row);
        }
        None
    }

    /// Adds rows before and after the only block while there is room for each.
    pub(super) fn add_context(&mut self, leading: u64, trailing: u64, total_lines: u64) {
        let Some(LineSpan { start, end }) = self.blocks.first().and_then(|block| {
            Some(LineSpan {
                start: block.rows.first()?.number,
                end: block.rows.last()?.number,
            })
        }) else {
            return;
        };
        for number in (1..start).rev().take(leading as usize) {
            if !self.add_context_row(number, true) {
                break;
            }
        }
        for number in (end + 1..=total_lines).take(trailing as usize) {
            if !self.add_context_row(number, false) {
                break;
            }
        }
    }

    fn add_context_row(&mut self, number: u64, in_front: bool) -> bool {
        let Some(row) = self.lines.line(number).map(|line| self.row(number, line)) else {
            return false;
        };
        let bytes = self.count.bytes_of(&row);
        if self.spent.no_room_for(bytes, self.budget).is_some() {
            return false;
        }
        self.spent.add(bytes);
        if let Some(block) = self.blocks.first_mut() {
            let at = if in_front { 0 } else { block.rows.len() };
            block.rows.insert(at, row);
        }
        true
    }

    #[inline]
    fn row(&self, number: u64, line: Line<'t>) -> Row<'t> {
        let most_bytes = match self.raw {
            true => self.raw_line,
            // A text has no more characters than bytes.
            false => self.columns,
        };
        match line {
            // Most lines are decided by this alone.
            Line::Whole(line) if line.len() <= most_bytes => Row::whole(number, line),
            Line::Whole(line) if self.raw => cut_to(number, cut_bytes(&line, most_bytes), line),
            Line::Whole(line) => cut_row(number, line, self.columns),
            Line::Ready(line) => self.ready_row(number, line),
        }
    }

    fn ready_row(&self, number: u64, line: &'t ExcerptLine) -> Row<'t> {
        let text: Cow<'t, str> = match (self.raw, cut_bytes(&line.text, self.raw_line)) {
            (true, Some(text)) => Cow::Owned(text),
            _ => Cow::Borrowed(&line.text),
        };
        let whole = || Length::Chars(line.text.chars().count() as u64);
        let is_cut = text.len() < line.text.len();
        Row {
            number,
            total_chars: line.cut.or_else(|| is_cut.then(whole)),
            text,
            folded: None,
        }
    }
}

/// A row of at most `columns` characters of a line.
pub fn cut_row(number: u64, line: Cow<str>, columns: usize) -> Row {
    let end = match line.len() <= columns {
        true => None,
        false => line.char_indices().nth(columns),
    };
    let cut = end.map(|(end, _)| format!("{}…", &line[..end]));
    cut_to(number, cut, line)
}

fn cut_to(number: u64, cut: Option<String>, line: Cow<str>) -> Row {
    let Some(cut) = cut else {
        return Row::whole(number, line);
    };
    let chars = line.chars().count() as u64;
    Row {
        text: Cow::Owned(cut),
        total_chars: Some(Length::Chars(chars)),
        ..Row::whole(number, Cow::Borrowed(""))
    }
}

/// The first `cap` bytes of a longer line, cut on a character boundary.
fn cut_bytes(line: &str, cap: usize) -> Option<String> {
    (line.len() > cap).then(|| line[..line.floor_char_boundary(cap)].to_owned())
}
