//! The rows of one file in an answer: each match with its context, as far as there is room. A match is given whole or, where nothing else stands there yet, as far as it fits.

use std::borrow::Cow;

use crate::protocol::read::{CutLine, LineSpan};
use crate::search::Pattern;
use crate::text::Text;
use crate::view::{Budget, LineSet};

/// What parts groups of rows.
const PARTED: &str = "----\n";

/// Characters that are shown of a line that is too long, and how many of them stand before its first match.
const EXCERPT: usize = 300;
const BEFORE_MATCH: usize = 100;

/// What there is still room for.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowRoom {
    pub(super) budget: Budget,
    /// Characters of everything that is written.
    pub(super) chars: u64,
}

impl RowRoom {
    /// Takes what a row needs, if there is so much.
    fn take(&mut self, row: &WrittenRow, layout: Layout) -> bool {
        let chars = (row.text.chars().count() + layout.parting().len()) as u64;
        let fits = self.budget.lines > 0 && self.budget.bytes >= row.bytes && self.chars >= chars;
        if fits {
            self.budget.lines -= 1;
            self.budget.bytes -= row.bytes;
            self.chars -= chars;
        }
        fits
    }
}

/// How rows are made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout<'a> {
    pub(super) pattern: &'a Pattern,
    /// Rows before and after a match.
    pub(super) context: u64,
    /// Of a line of more characters an excerpt is shown.
    pub(super) columns: usize,
    /// No row is of a line up to this one.
    pub(super) after: u64,
}

impl Layout<'_> {
    /// What stands between rows where lines are left out. Of matches alone their numbers say as much.
    fn parting(&self) -> &'static str {
        match self.context {
            0 => "",
            _ => PARTED,
        }
    }
}

/// The rows of one file.
#[derive(Debug, Default)]
pub(super) struct FileRows {
    pub(super) text: String,
    /// The lines of matches that are there.
    pub(super) lines: Vec<LineSpan>,
    /// Lines that stand whole in the text.
    pub(super) shown: LineSet,
    pub(super) cut_lines: Vec<CutLine>,
    /// All that was found is there.
    pub(super) is_complete: bool,
    last: Option<u64>,
}

/// A line as it is written.
struct WrittenRow {
    number: u64,
    text: String,
    /// Of its line, and one for its end.
    bytes: u64,
    cut: Option<CutLine>,
}

impl WrittenRow {
    fn of(text: &Text, number: u64, layout: Layout) -> WrittenRow {
        let line = text.line(number as usize - 1);
        let excerpt = line.chars().nth(layout.columns);
        let excerpt = excerpt.map(|_| Excerpt::of(&line, layout));
        let cut = excerpt.as_ref().map(|excerpt| CutLine {
            line: number,
            shown_chars: excerpt.chars,
            total_chars: Some(line.chars().count() as u64),
        });
        let row = excerpt.map_or(line, |excerpt| Cow::Owned(excerpt.text));
        WrittenRow {
            number,
            bytes: row.len() as u64 + 1,
            text: format!("{number}:{row}\n"),
            cut,
        }
    }
}

/// What stands around the first match in a line, or its beginning.
struct Excerpt {
    text: String,
    /// Of the line, without the marks of what is left out.
    chars: u64,
}

impl Excerpt {
    fn of(line: &str, layout: Layout) -> Excerpt {
        let found = layout.pattern.first_in(line).unwrap_or(0);
        let most = EXCERPT.min(layout.columns);
        let before = line[..found].char_indices().rev();
        let start = before.take(BEFORE_MATCH.min(most / 3)).last();
        let start = start.map_or(found, |(at, _)| at);
        let mut ends = line[start..].char_indices().map(|(at, _)| start + at);
        let end = ends.nth(most).unwrap_or(line.len());
        let mark = |is_cut| if is_cut { "…" } else { "" };
        let (before, behind) = (mark(start > 0), mark(end < line.len()));
        let shown = &line[start..end];
        Excerpt {
            text: format!("{before}{shown}{behind}"),
            chars: shown.chars().count() as u64,
        }
    }
}

impl FileRows {
    /// The rows of the matches in a text. `is_first` where the answer holds nothing so far.
    pub(super) fn of(
        text: &Text,
        spans: &[LineSpan],
        layout: Layout,
        room: &mut RowRoom,
        is_first: bool,
    ) -> FileRows {
        let mut rows = FileRows::default();
        let ends = text.len_lines() as u64 + 1;
        for (at, span) in spans.iter().enumerate() {
            let begin = rows.last.unwrap_or(layout.after) + 1;
            let before = span.start.saturating_sub(layout.context).max(begin)..span.start;
            let is_whole = rows.add_whole(text, before, *span, layout, room);
            if !is_whole {
                if is_first && rows.lines.is_empty() {
                    rows.add_begun(text, *span, layout, room);
                }
                return rows;
            }
            let next = spans.get(at + 1).map_or(ends, |next| next.start);
            let behind = span.end + 1..next.min(ends).min(span.end + 1 + layout.context);
            for number in behind {
                let row = WrittenRow::of(text, number, layout);
                if !room.take(&row, layout) {
                    break;
                }
                rows.add(row, layout);
            }
        }
        rows.is_complete = true;
        rows
    }

    /// Adds a match and the context before it, or nothing.
    fn add_whole(
        &mut self,
        text: &Text,
        before: std::ops::Range<u64>,
        span: LineSpan,
        layout: Layout,
        room: &mut RowRoom,
    ) -> bool {
        let mut left = *room;
        let mut rows = Vec::new();
        for number in before.chain(span.lines()) {
            let row = WrittenRow::of(text, number, layout);
            if !left.take(&row, layout) {
                return false;
            }
            rows.push(row);
        }
        *room = left;
        rows.into_iter().for_each(|row| self.add(row, layout));
        self.lines.push(span);
        true
    }

    /// Adds as much of a match as there is room for, and its first line in any case.
    fn add_begun(&mut self, text: &Text, span: LineSpan, layout: Layout, room: &mut RowRoom) {
        for number in span.lines() {
            let row = WrittenRow::of(text, number, layout);
            if !room.take(&row, layout) && number > span.start {
                break;
            }
            self.add(row, layout);
        }
        let end = self.last.unwrap_or(span.start);
        self.lines.push(LineSpan { end, ..span });
    }

    fn add(&mut self, row: WrittenRow, layout: Layout) {
        if self.last.is_some_and(|last| row.number > last + 1) {
            self.text.push_str(layout.parting());
        }
        self.text.push_str(&row.text);
        match row.cut {
            None => self.shown.insert(row.number, row.number),
            Some(cut) => self.cut_lines.push(cut),
        }
        self.last = Some(row.number);
    }
}

#[cfg(test)]
mod tests {
    use crate::search::Matching;

    use super::*;

    fn spans(lines: &[(u64, u64)]) -> Vec<LineSpan> {
        let span = |&(start, end): &(u64, u64)| LineSpan { start, end };
        lines.iter().map(span).collect()
    }

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text, Matching::default()).expect("it parses")
    }

    fn room(lines: u64) -> RowRoom {
        RowRoom {
            budget: Budget { lines, bytes: 1000 },
            chars: 1000,
        }
    }

    fn written(
        lines: &[(u64, u64)],
        context: u64,
        most: u64,
        is_first: bool,
    ) -> (String, Vec<LineSpan>) {
        let text = Text::new("a\nb\nc\nd\ne\nf\ng\nh\ni\n");
        let layout = Layout {
            pattern: &pattern("x"),
            context,
            columns: 100,
            after: 0,
        };
        let rows = FileRows::of(&text, &spans(lines), layout, &mut room(most), is_first);
        (rows.text.replace('\n', " "), rows.lines)
    }

    #[test]
    fn rows_that_touch_are_one_group() {
        let rows = |lines: &[(u64, u64)], context| written(lines, context, 99, true).0;
        assert_eq!(rows(&[(2, 2), (3, 3), (6, 7)], 0), "2:b 3:c 6:f 7:g ");
        assert_eq!(rows(&[(2, 2), (6, 6)], 1), "1:a 2:b 3:c ---- 5:e 6:f 7:g ");
        assert_eq!(rows(&[(2, 2), (5, 5)], 1), "1:a 2:b 3:c 4:d 5:e 6:f ");
        assert_eq!(
            rows(&[(1, 1), (9, 9)], 9),
            "1:a 2:b 3:c 4:d 5:e 6:f 7:g 8:h 9:i "
        );
    }

    #[test]
    fn a_match_is_whole_or_the_first() {
        let (text, lines) = written(&[(2, 2), (6, 7)], 0, 2, true);
        assert_eq!((&*text, lines), ("2:b ", spans(&[(2, 2)])));
        let (text, lines) = written(&[(2, 5)], 1, 2, true);
        assert_eq!((&*text, lines), ("2:b 3:c ", spans(&[(2, 3)])));
        let (text, lines) = written(&[(2, 5)], 0, 2, false);
        assert_eq!((&*text, lines), ("", spans(&[])));
        let (text, _) = written(&[(2, 2), (6, 6)], 2, 3, true);
        assert_eq!(text, "1:a 2:b 3:c ", "context takes no room from a match");
    }

    #[test]
    fn of_a_long_line_the_first_match_is_shown_with_what_is_around_it() {
        let of = |line: &str, columns| {
            let layout = Layout {
                pattern: &pattern("needle"),
                context: 0,
                columns,
                after: 0,
            };
            let row = WrittenRow::of(&Text::new(line), 1, layout);
            let cut = row.cut.map(|it| (it.shown_chars, it.total_chars));
            (row.text, cut)
        };
        let long = format!("{}needle{}", "ä".repeat(5000), "ö".repeat(5000));
        let (before, behind) = ("ä".repeat(100), "ö".repeat(194));
        let expected = format!("1:…{before}needle{behind}…\n");
        assert_eq!(of(&long, 2000), (expected, Some((300, Some(10_006)))));
        let expected = format!("1:…{}needle{}…\n", "ä".repeat(10), "ö".repeat(14));
        assert_eq!(of(&long, 30), (expected, Some((30, Some(10_006)))));
        assert_eq!(of("a needle", 8), ("1:a needle\n".to_owned(), None));
        let expected = ("1:… ne…\n".to_owned(), Some((3, Some(8))));
        assert_eq!(of("a needle", 3), expected);
        // It has as many bytes as the line, the end of which is not there.
        let expected = ("1:needle…\n".to_owned(), Some((6, Some(9))));
        assert_eq!(of("needle123", 6), expected);
    }
}
