//! Which lines and bytes of a text are shown, and what the continuation is, for every kind and dialect; nothing else decides that.

use std::borrow::Cow;

use crate::protocol::read::{CutLine, CutReason, LineSpan};

use super::Budget;
use super::excerpt::{Length, Lines, from_end};
use super::fill::Filler;
use super::selector::Selector;

/// A raw line alone is given whole up to this many bytes.
pub const RAW_LINE_CAP: usize = 1024 * 1024;

/// Characters around a single row: its header and its footers, mostly.
const BESIDE_ROW: u64 = 300;
/// What of a row is shown at least, however little room there is.
const SHORTEST_ROW: u64 = 40;
/// The limits of one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub budget: Budget,
    /// Lines of a read that names no end; at most the budget's.
    pub open_lines: u64,
    /// Characters after which a row that is not raw is cut.
    pub columns: usize,
    /// Bytes after which a raw one is; at most [`RAW_LINE_CAP`].
    pub raw_line: usize,
    /// Context rows before and after a single bounded range.
    pub leading: u64,
    pub trailing: u64,
    pub count: Count,
}

/// What of a row the budget counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Count {
    /// The line and one byte, whatever a dialect writes beside it.
    #[default]
    Line,
    /// The row as it is written: its number in at least so many digits, so many bytes around the
    /// text, and where it is cut a sign of so many bytes in the place of `…`.
    Written {
        digits: usize,
        around: usize,
        cut: usize,
    },
}

impl Count {
    /// Bytes of a row, with its end.
    pub(super) fn bytes_of(self, row: &Row) -> u64 {
        let text = row.text.len() + 1;
        let bytes = match self {
            Count::Line => text,
            Count::Written {
                digits,
                around,
                cut,
            } => {
                let number = from_end(row.number).unwrap_or(row.number);
                let digits = digits.max(number.checked_ilog10().unwrap_or(0) as usize + 1);
                let text = match row.total_chars {
                    None => text,
                    Some(_) => text - '…'.len_utf8() + cut,
                };
                digits + around + text
            }
        };
        bytes as u64
    }
}

impl Limits {
    /// One line and nothing around it.
    pub const ONE_LINE: Limits = Limits {
        budget: Budget { lines: 1, bytes: 1 },
        open_lines: 1,
        columns: 1,
        raw_line: RAW_LINE_CAP,
        leading: 0,
        trailing: 0,
        count: Count::Line,
    };

    /// The budget of a caller replaces the defaults, for open-ended reads too; capped.
    pub fn with_budget(mut self, lines: Option<u64>, bytes: Option<u64>) -> Limits {
        if let Some(lines) = lines {
            self.budget.lines = lines.min(Budget::CAP.lines);
            self.open_lines = self.budget.lines;
        }
        if let Some(bytes) = bytes {
            self.budget.bytes = bytes.min(Budget::CAP.bytes);
        }
        self
    }

    /// Limits with which one row, and what stands around it, has room in an answer of so many
    /// characters.
    pub fn in_answer_of(mut self, chars: u64) -> Limits {
        let room = chars.saturating_sub(BESIDE_ROW).max(SHORTEST_ROW);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        self.columns = self.columns.min(room);
        self.raw_line = self.raw_line.min(room);
        self
    }

    /// The smaller of these limits and a part of a shared budget.
    pub fn at_most(mut self, share: Budget) -> Limits {
        self.budget.lines = self.budget.lines.min(share.lines);
        self.budget.bytes = self.budget.bytes.min(share.bytes);
        self
    }

    /// The budget of a read of that selector.
    pub fn for_selector(&self, selector: &Selector) -> Budget {
        let mut budget = self.budget;
        if selector.is_open_ended() {
            budget.lines = budget.lines.min(self.open_lines);
        }
        budget
    }
}

/// One line that is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'t> {
    /// 1-indexed.
    pub number: u64,
    pub text: Cow<'t, str>,
    /// Set where the row was cut: its whole length.
    pub total_chars: Option<Length>,
    /// Set where the row stands for more than one line.
    pub folded: Option<Folded>,
}

/// A range of lines that is one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folded {
    /// Its last line.
    pub end: u64,
    /// Whether its first line stands whole in the row.
    pub shows_first: bool,
    pub shows_last: bool,
}

impl<'t> Row<'t> {
    #[inline]
    pub(super) fn whole(number: u64, text: Cow<'t, str>) -> Row<'t> {
        Row {
            number,
            text,
            total_chars: None,
            folded: None,
        }
    }

    /// Its text without the sign that it is cut, and whether it is.
    pub fn uncut(&self) -> (&str, bool) {
        match self.total_chars {
            None => (&self.text, false),
            Some(_) => (self.text.strip_suffix('…').unwrap_or(&self.text), true),
        }
    }

    /// Whether it is one line, and that whole.
    fn is_one_line(&self) -> bool {
        self.folded.is_none() && self.total_chars.is_none()
    }

    /// The last line that the row stands for.
    pub fn end(&self) -> u64 {
        self.folded.map_or(self.number, |folded| folded.end)
    }
}

/// Rows without a gap between them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Block<'t> {
    pub rows: Vec<Row<'t>>,
}

/// Why a window ended before what was asked for did, and how to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub reason: CutReason,
    /// Complete, without the colon.
    pub next_selector: String,
    /// What is left of what was asked for, in order; empty where lines alone do not say it.
    pub left: Vec<LineSpan>,
}

/// What of a text is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Window<'t> {
    pub blocks: Vec<Block<'t>>,
    /// [`UNCOUNTED_END`](super::excerpt::UNCOUNTED_END) where nobody counted.
    pub total_lines: u64,
    /// Bytes of a file whose lines nobody counted: they stand for the total.
    pub uncounted_bytes: Option<u64>,
    pub raw: bool,
    /// Pieces of the selector that lie wholly beyond the end.
    pub beyond: Vec<LineSpan>,
    pub stop: Option<Stop>,
    /// Whether the text goes on after one range that nothing cut; a list is exactly what was asked for,
    /// and nothing is said of where it stands.
    pub goes_on: bool,
    /// Lines and bytes as the budget counts them.
    pub spent: Spent,
}

/// What a window took of its budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub lines: u64,
    pub bytes: u64,
}

impl Window<'_> {
    pub fn rows(&self) -> impl Iterator<Item = &Row<'_>> {
        self.blocks.iter().flat_map(|block| &block.rows)
    }

    /// What is left of what was asked for, where that is one range of lines.
    pub fn left(&self) -> Option<LineSpan> {
        match &self.stop.as_ref()?.left[..] {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// First and last line of each block.
    pub fn spans(&self) -> impl Iterator<Item = LineSpan> + '_ {
        self.blocks.iter().filter_map(|block| {
            Some(LineSpan {
                start: block.rows.first()?.number,
                end: block.rows.last()?.end(),
            })
        })
    }

    /// Whether rows are counted from the end: their line numbers are not known.
    pub fn is_from_end(&self) -> bool {
        self.rows()
            .next()
            .is_some_and(|row| from_end(row.number).is_some())
    }

    /// The lines that stand whole in the window, as merged intervals.
    pub fn whole_lines(&self) -> Vec<LineSpan> {
        let mut spans: Vec<LineSpan> = Vec::new();
        for block in &self.blocks {
            let mut rows = &block.rows[..];
            while let Some(row) = rows.first() {
                // Most rows are whole lines, one after the other.
                let plain = rows.iter().zip(row.number..);
                let plain =
                    plain.take_while(|(row, line)| row.is_one_line() && row.number == *line);
                let plain = plain.count();
                if plain > 0 {
                    add(&mut spans, row.number, rows[plain - 1].number);
                    rows = &rows[plain..];
                    continue;
                }
                if let (Some(folded), None) = (row.folded, row.total_chars) {
                    if folded.shows_first {
                        add(&mut spans, row.number, row.number);
                    }
                    if folded.shows_last {
                        add(&mut spans, folded.end, folded.end);
                    }
                }
                rows = &rows[1..];
            }
        }
        spans
    }

    pub fn cut_lines(&self) -> Vec<CutLine> {
        self.rows()
            .filter_map(|row| {
                Some(CutLine {
                    line: row.number,
                    total_chars: length_in_chars(row.total_chars?),
                    shown_chars: match self.raw {
                        true => row.text.chars().count() as u64,
                        false => row.text.chars().count() as u64 - 1,
                    },
                })
            })
            .collect()
    }

    /// `Range 500-510 is beyond the end (200 lines); skipped`, one for each such piece of a
    /// selector of which another piece is shown.
    pub fn skipped_notices(&self) -> Vec<String> {
        if self.blocks.is_empty() {
            return Vec::new();
        }
        let end = count_lines(self.total_lines);
        let notice = |span: &LineSpan| match span.start == span.end {
            true => format!("Line {} is beyond the end ({end}); skipped", span.start),
            false => format!(
                "Range {}-{} is beyond the end ({end}); skipped",
                span.start, span.end
            ),
        };
        self.beyond.iter().map(notice).collect()
    }
}

/// Adds lines that come after all that are there, in an interval with those right before them.
fn add(spans: &mut Vec<LineSpan>, start: u64, end: u64) {
    match spans.last_mut() {
        Some(span) if span.end + 1 == start => span.end = end,
        _ => spans.push(LineSpan { start, end }),
    }
}

/// Opens a window on a text or on an excerpt of one: the lines that `selector` asks for, in order, as far as they fit. It
/// always holds at least one line of what was asked for, and context only where it displaces none.
pub fn open<'t>(lines: impl Into<Lines<'t>>, selector: &Selector, limits: &Limits) -> Window<'t> {
    let lines = lines.into();
    let total_lines = lines.end();
    let wanted = selector.resolve(total_lines);
    let mut filler = Filler {
        lines,
        raw: selector.raw,
        columns: limits.columns,
        raw_line: limits.raw_line,
        budget: limits.for_selector(selector),
        count: limits.count,
        spent: Spent::default(),
        blocks: Vec::new(),
    };
    let stop = filler.fill(wanted.lines.spans(), total_lines);
    let whole_range = stop.is_none() && wanted.beyond.is_empty();
    if selector.bounded && !selector.raw && whole_range {
        filler.add_context(limits.leading, limits.trailing, total_lines);
    }
    let mut window = Window {
        blocks: filler.blocks,
        total_lines,
        uncounted_bytes: lines.uncounted_bytes(),
        raw: selector.raw,
        beyond: wanted.beyond,
        stop,
        goes_on: false,
        spent: filler.spent,
    };
    let last = window.rows().last().map(|row| row.number);
    if let (Some(stop), Some(own)) = (&mut window.stop, selector.own) {
        stop.next_selector.push_str(own.suffix());
    }
    let is_one = window.blocks.len() == 1 && selector.pieces.len() <= 1;
    window.goes_on = is_one && window.stop.is_none() && last.is_some_and(|last| last < total_lines);
    window
}

/// The characters of a line, where they were counted.
pub fn length_in_chars(length: Length) -> Option<u64> {
    match length {
        Length::Chars(count) => Some(count),
        Length::OverBytes(_) => None,
    }
}

/// `1 line`, `200 lines`.
pub fn count_lines(count: u64) -> String {
    match count {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    fn limits(lines: u64, bytes: u64) -> Limits {
        Limits {
            budget: Budget { lines, bytes },
            open_lines: lines,
            columns: 20,
            raw_line: RAW_LINE_CAP,
            leading: 1,
            trailing: 3,
            count: Count::Line,
        }
    }

    fn numbers(window: &Window) -> Vec<Vec<u64>> {
        let block = |block: &Block| block.rows.iter().map(|row| row.number).collect();
        window.blocks.iter().map(block).collect()
    }

    fn look(text: &Text, selector: &str, limits: Limits) -> (Vec<Vec<u64>>, Option<String>) {
        let selector = Selector::parse(selector).expect("a selector");
        let window = open(text, &selector, &limits);
        let next = window.stop.as_ref().map(|stop| stop.next_selector.clone());
        (numbers(&window), next)
    }

    #[test]
    fn context_never_displaces_what_was_asked() {
        let text = Text::new("a\nb\nc\nd\ne\nf\ng\nh\n");
        assert_eq!(
            look(&text, "3-4", limits(9, 99)),
            (vec![vec![2, 3, 4, 5, 6, 7]], None)
        );
        assert_eq!(
            look(&text, "3-4", limits(3, 99)),
            (vec![vec![2, 3, 4]], None)
        );
        assert_eq!(look(&text, "3-4", limits(2, 99)), (vec![vec![3, 4]], None));
        assert_eq!(
            look(&text, "3-4", limits(1, 99)),
            (vec![vec![3]], Some("4,4".into()))
        );
        assert_eq!(
            look(&text, "4,6", limits(9, 99)),
            (vec![vec![4], vec![6]], None)
        );
    }

    #[test]
    fn a_window_holds_at_least_one_line() {
        let text = Text::new("0123456789\nb\n");
        assert_eq!(
            look(&text, "1-", limits(9, 1)),
            (vec![vec![1]], Some("2-".into()))
        );
    }

    #[test]
    fn counts_lines_plus_one_byte_each() {
        let text = Text::new("aaa\nbbb\nccc\n");
        assert_eq!(
            look(&text, "1-", limits(9, 8)),
            (vec![vec![1, 2]], Some("3-".into()))
        );
        assert_eq!(
            look(&text, "1-", limits(9, 12)),
            (vec![vec![1, 2, 3]], None)
        );
    }
}
