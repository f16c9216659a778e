//! A window on an outline: all its rows, folded further until they fit, or a page of them as they are; a line is never both a row of its own and inside of a folded range.

use std::borrow::Cow;

use crate::outline::{Fold, Outline, ShownRow};
use crate::protocol::read::{CutReason, LineSpan};
use crate::text::Text;

use super::fill::cut_row;
use super::selector::{Own, Selector, continuation};
use super::window::{Block, Folded, Limits, Row, Spent, Stop, Window};
use super::{Budget, LineSet};

/// Bytes of the rows of an outline that is shown as one, as they are written: with a header and
/// footers an answer of 24 KiB.
const MOST_BYTES: u64 = 24 * 1024 - 512;

/// Opens a window on the whole outline of `text`, folded as far as the limits ask; whether further
/// than it is by itself.
pub fn open<'t>(text: &'t Text, outline: &'t Outline, limits: &Limits) -> (Window<'t>, bool) {
    let mut budget = limits.budget;
    budget.lines = budget.lines.min(limits.open_lines);
    let (rows, is_further) = outline.fitted(text, |rows| fits(rows, (text, limits), budget));
    let mut window = Window {
        total_lines: text.len_lines() as u64,
        ..Window::default()
    };
    let mut block = Block::default();
    for row in rows {
        let row = written(row, text, limits.columns);
        window.spent.add(limits.count.bytes_of(&row));
        block.rows.push(row);
    }
    window.blocks.push(block);
    (window, is_further)
}

/// Whether rows are within a budget, and within what an outline may have at most.
fn fits(rows: &[ShownRow], (text, limits): (&Text, &Limits), budget: Budget) -> bool {
    let mut spent = Spent::default();
    let mut bytes = 0;
    for shown in rows {
        let LineSpan { start, end } = shown.row.span;
        let cut = (shown.bytes > limits.columns)
            .then(|| written(shown.clone(), text, limits.columns).text.len());
        let own = cut.unwrap_or(shown.bytes) as u64;
        // Its number costs what it costs anybody.
        let row = Row {
            number: start,
            text: Cow::Borrowed(""),
            total_chars: None,
            folded: None,
        };
        spent.add(limits.count.bytes_of(&row) + own);
        let end = match shown.row.fold {
            None => 0,
            Some(_) => digits(end) + 1,
        };
        bytes += digits(start) + end + own + 2;
    }
    spent.lines <= budget.lines && spent.bytes <= budget.bytes && bytes <= MOST_BYTES
}

fn digits(number: u64) -> u64 {
    u64::from(number.max(1).ilog10()) + 1
}

/// Opens a window on the rows of the outline that hold the lines which `selector` asks for, page by page.
pub fn open_page<'t>(
    text: &'t Text,
    outline: &'t Outline,
    selector: &Selector,
    limits: &Limits,
) -> Window<'t> {
    let total_lines = text.len_lines() as u64;
    let wanted = selector.resolve(total_lines);
    let budget = limits.for_selector(selector);
    let mut window = Window {
        total_lines,
        beyond: wanted.beyond,
        ..Window::default()
    };
    let mut shown = LineSet::new();
    let spans = wanted.lines.spans();
    'spans: for (index, span) in spans.iter().enumerate() {
        let mut block = Block::default();
        for row in outline.shown_from(span.start) {
            let lines = row.row.span;
            if lines.start > span.end {
                break;
            }
            if shown.contains(lines.start) {
                continue;
            }
            let row = written(row, text, limits.columns);
            let bytes = limits.count.bytes_of(&row);
            if let Some(reason) = window.spent.no_room_for(bytes, budget) {
                window
                    .blocks
                    .extend(Some(block).filter(|it| !it.rows.is_empty()));
                let mut left = vec![LineSpan {
                    start: lines.start.max(span.start),
                    end: span.end,
                }];
                left.extend_from_slice(&spans[index + 1..]);
                let to_end = spans.last().is_some_and(|last| last.end == total_lines);
                let own = selector.own.map_or("", Own::suffix);
                window.stop = Some(Stop {
                    reason,
                    next_selector: continuation(&left, to_end, false) + own,
                    left,
                });
                break 'spans;
            }
            window.spent.add(bytes);
            shown.insert(lines.start, lines.end);
            block.rows.push(row);
        }
        window
            .blocks
            .extend(Some(block).filter(|it| !it.rows.is_empty()));
    }
    window
}

/// A row as a window has it.
fn written<'t>(shown: ShownRow<'t>, text: &'t Text, columns: usize) -> Row<'t> {
    let span = shown.row.span;
    // A text has no more characters than bytes: what is short enough stands as it is written.
    if let Some(written) = shown.written.filter(|row| row.len() <= columns) {
        return whole(span, shown.row.fold.as_ref(), written);
    }
    match &shown.row.fold {
        Some(fold) => folded(span, fold, columns),
        None => cut_row(span.start, text.line(span.start as usize - 1), columns),
    }
}

/// A row that nothing is cut of.
fn whole<'t>(span: LineSpan, fold: Option<&Fold>, written: &'t str) -> Row<'t> {
    Row {
        number: span.start,
        text: Cow::Borrowed(written),
        total_chars: None,
        folded: fold.map(|fold| Folded {
            end: span.end,
            shows_first: fold.shows_first,
            shows_last: fold.shows_last,
        }),
    }
}

/// `HEAD … TAIL`, `HEAD …` or `…`. A head or tail that is longer than a row may be is cut.
fn folded<'t>(span: LineSpan, fold: &Fold, columns: usize) -> Row<'t> {
    let (head, whole_head) = cut(&fold.head, columns);
    let (tail, whole_tail) = cut(&fold.tail, columns);
    let mut text = String::new();
    fold.write_between(head, tail, &mut text);
    Row {
        number: span.start,
        text: Cow::Owned(text),
        total_chars: None,
        folded: Some(Folded {
            end: span.end,
            shows_first: fold.shows_first && whole_head,
            shows_last: fold.shows_last && whole_tail,
        }),
    }
}

/// The first `columns` characters, and whether that is all.
fn cut(part: &str, columns: usize) -> (&str, bool) {
    match part.char_indices().nth(columns) {
        Some((index, _)) => (&part[..index], false),
        None => (part, true),
    }
}

/// The ranges of a summary that is shown, for its footer and for the program around the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elided {
    pub spans: Vec<LineSpan>,
    /// The sum of their lengths.
    pub lines: u64,
    /// Whether rows were folded further so that all fit.
    pub is_further: bool,
}

/// Characters of the footer that names ranges to read again.
const FOOTER_CHARS: usize = 120;

impl Elided {
    pub fn in_window(window: &Window, is_further: bool) -> Elided {
        let span = |row: &Row| {
            let folded = row.folded?;
            Some(LineSpan {
                start: row.number,
                end: folded.end,
            })
        };
        let spans: Vec<LineSpan> = window.rows().filter_map(span).collect();
        Elided {
            lines: spans.iter().map(|span| span.count()).sum(),
            spans,
            is_further,
        }
    }

    /// `19 lines elided; re-read needed ranges, e.g. src/shapes.ts:3-9,17-24`: the largest ranges
    /// that fit, at least one, in line order. `None` where nothing is elided.
    pub fn footer(&self, name: &str) -> Option<String> {
        let mut largest: Vec<&LineSpan> = self.spans.iter().collect();
        largest.sort_by_key(|span| (std::cmp::Reverse(span.count()), span.start));
        let prefix = format!(
            "{} lines elided; re-read needed ranges, e.g. {name}:",
            self.lines
        );
        let written = |span: &LineSpan| format!("{}-{}", span.start, span.end);
        // The brackets count as well; a range costs its own characters and a comma, whatever its place.
        let mut chars = prefix.chars().count() + 2;
        let mut fits = 0;
        for span in &largest {
            chars += written(span).len() + usize::from(fits > 0);
            if fits > 0 && chars > FOOTER_CHARS {
                break;
            }
            fits += 1;
        }
        largest.truncate(fits);
        if largest.is_empty() {
            return None;
        }
        largest.sort_by_key(|span| span.start);
        let ranges: Vec<String> = largest.into_iter().map(written).collect();
        Some(prefix + &ranges.join(","))
    }
}

impl Spent {
    /// Why a row of so many bytes does not fit any more; the first row of a window always does.
    pub(super) fn no_room_for(&self, bytes: u64, budget: super::Budget) -> Option<CutReason> {
        if self.lines == 0 {
            None
        } else if self.lines + 1 > budget.lines {
            Some(CutReason::Lines)
        } else if self.bytes + bytes > budget.bytes {
            Some(CutReason::Bytes)
        } else {
            None
        }
    }

    pub(super) fn add(&mut self, bytes: u64) {
        self.lines += 1;
        self.bytes += bytes;
    }
}
