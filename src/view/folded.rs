//! A window on an outline: its rows in order, as far as they fit; a line is never both a row of its own and inside of a folded range.

use std::borrow::Cow;

use crate::outline::{Fold, Outline};
use crate::protocol::read::{CutReason, LineSpan};
use crate::text::Text;

use super::window::{Block, Folded, Limits, Row, Spent, Stop, Window, cut_row};

/// Opens a window on the outline of `text`. What does not fit is asked for as lines of the text.
pub fn open<'t>(text: &'t Text, outline: &'t Outline, limits: &Limits) -> Window<'t> {
    let mut budget = limits.budget;
    budget.lines = budget.lines.min(limits.open_lines);
    let mut spent = Spent::default();
    let mut block = Block::default();
    let mut stop = None;
    for (index, row) in outline.rows.iter().enumerate() {
        // A text has no more characters than bytes: what is short enough stands as it is written.
        let written = outline.written(index);
        let row = match (&row.fold, written.filter(|row| row.len() <= limits.columns)) {
            (fold, Some(written)) => whole(row.span, fold.as_ref(), written),
            (Some(fold), None) => folded(row.span, fold, limits.columns),
            (None, None) => {
                let line = text.line(row.span.start as usize - 1);
                cut_row(row.span.start, line, limits.columns)
            }
        };
        if let Some(reason) = spent.no_room_for(limits.count.bytes_of(&row), budget) {
            stop = Some(Stop {
                reason,
                next_selector: format!("{}-", row.number),
                left: Vec::new(),
            });
            break;
        }
        spent.add(limits.count.bytes_of(&row));
        block.rows.push(row);
    }
    Window {
        blocks: vec![block],
        total_lines: text.len_lines() as u64,
        stop,
        spent,
        ..Window::default()
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
fn folded(span: LineSpan, fold: &Fold, columns: usize) -> Row<'_> {
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
}

/// Characters of the footer that names ranges to read again.
const FOOTER_CHARS: usize = 120;

impl Elided {
    pub fn in_window(window: &Window) -> Elided {
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
