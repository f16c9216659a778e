//! The summary of a long page: its beginning, its headings, the first line under each, and ranges for the rest.
//!
//! Markdown that is written here or fetched has headings with `#`, so a scan by lines finds them; no
//! parser is asked. What is too long loses first the lines under headings, then the deepest level of
//! headings, one by one, until it fits.

use crate::outline::{Fold, Folding, Outline, OutlineRow};
use crate::protocol::read::LineSpan;
use crate::text::Text;

/// Rows and bytes of a summary.
const MAX_ROWS: usize = 300;
const MAX_BYTES: usize = 24 * 1024;
/// Lines before the second heading that are shown at most.
const MAX_OPENING: u64 = 60;
/// Ranges of fewer lines are not worth folding.
const MIN_FOLD: u64 = 2;

/// A line that is a heading.
#[derive(Debug, Clone, Copy)]
pub struct Heading {
    /// From 1.
    pub line: u64,
    /// 1 to 6.
    pub level: usize,
}

/// The headings of a text in Markdown.
pub fn headings_of(text: &Text) -> Vec<Heading> {
    let lines: Vec<_> = text.lines_at(0).collect();
    headings(lines.iter().map(|line| line.as_ref()))
}

/// The outline of a text in Markdown; `None` where it has fewer than two headings.
pub fn outline(text: &Text) -> Option<Outline> {
    let lines: Vec<_> = text.lines_at(0).collect();
    let headings = headings(lines.iter().map(|line| line.as_ref()));
    let [_, second, ..] = headings[..] else {
        return None;
    };
    let total = lines.len() as u64;
    let opening = (second.line - 1).min(MAX_OPENING);
    let mut deepest = headings.iter().map(|heading| heading.level).max()?;
    let shallowest = headings.iter().map(|heading| heading.level).min()?;
    let mut has_first_lines = true;
    loop {
        let mut shown: Vec<u64> = (1..=opening).collect();
        for heading in headings
            .iter()
            .filter(|it| it.level <= deepest && it.line > opening)
        {
            shown.push(heading.line);
            if has_first_lines {
                let next = headings
                    .iter()
                    .map(|it| it.line)
                    .find(|line| *line > heading.line);
                let end = next.map_or(total, |line| line - 1);
                shown.extend(first_line(&lines, heading.line, end));
            }
        }
        let folds = folds(&shown, total);
        let rows = total - folds.iter().map(length).sum::<u64>() + folds.len() as u64;
        let bytes: usize = shown
            .iter()
            .map(|line| lines[*line as usize - 1].len() + 8)
            .sum();
        if (rows as usize <= MAX_ROWS && bytes <= MAX_BYTES)
            || (!has_first_lines && deepest == shallowest)
        {
            // They are sorted and within the text.
            let folding = Folding {
                folds: folds.into_iter().map(folded).collect(),
                runs: Vec::new(),
            };
            return Outline::new("markdown", folding, text).ok();
        }
        match has_first_lines {
            true => has_first_lines = false,
            false => deepest -= 1,
        }
    }
}

/// The lines that begin with `#` and are not in a fence.
fn headings<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (line, number) in lines.zip(1..) {
        let bare = line.trim_start();
        let mark = bare.trim_start_matches('`');
        let ticks = &bare[..bare.len() - mark.len()];
        let tildes = &bare[..bare.len() - bare.trim_start_matches('~').len()];
        let marks = if ticks.len() >= 3 { ticks } else { tildes };
        match fence {
            Some(open) => {
                let closes = marks.len() >= open.len() && marks.as_bytes()[0] == open.as_bytes()[0];
                if closes && bare[marks.len()..].trim().is_empty() {
                    fence = None;
                }
            }
            None if marks.len() >= 3 => fence = Some(marks),
            None => {
                let level = line.len() - line.trim_start_matches('#').len();
                if (1..=6).contains(&level) && line[level..].starts_with([' ', '\t']) {
                    found.push(Heading {
                        line: number,
                        level,
                    });
                }
            }
        }
    }
    found
}

/// The first line with anything on it between a heading and `end`, and the blank ones before it.
fn first_line<S: AsRef<str>>(lines: &[S], heading: u64, end: u64) -> impl Iterator<Item = u64> {
    let mut below = heading + 1..=end;
    let first = below.find(|line| !lines[*line as usize - 1].as_ref().trim().is_empty());
    heading + 1..=first.unwrap_or(heading)
}

/// The ranges between lines that are shown, which are in order.
fn folds(shown: &[u64], total: u64) -> Vec<LineSpan> {
    let mut folds = Vec::new();
    let mut next = 1;
    for line in shown.iter().copied().chain([total + 1]) {
        if line >= next + MIN_FOLD {
            folds.push(LineSpan {
                start: next,
                end: line - 1,
            });
        }
        next = line + 1;
    }
    folds
}

fn length(span: &LineSpan) -> u64 {
    span.end - span.start + 1
}

fn folded(span: LineSpan) -> OutlineRow {
    OutlineRow {
        span,
        fold: Some(Fold::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(text: &str) -> Option<Vec<(u64, u64)>> {
        let outline = outline(&Text::new(text))?;
        let rows = outline.rows.iter().filter(|row| row.fold.is_some());
        Some(rows.map(|row| (row.span.start, row.span.end)).collect())
    }

    #[test]
    fn headings_and_the_first_line_under_each() {
        let page =
            "# A\n\nOpening.\n\n## b\n\nFirst.\nMore.\nMore.\n\n## c\nFirst.\n\nLast.\nLast.\n";
        assert_eq!(rows(page), Some(vec![(8, 10), (13, 15)]));
        assert_eq!(rows("# A\n\ntext\n"), None);
        assert_eq!(rows("# A\n```\n# not\n```\n"), None);
        assert_eq!(rows("# A\n~~~~\n```\n# not\n~~~~\n## b\nx\n"), Some(vec![]));
    }

    #[test]
    fn what_is_too_long_loses_lines_then_levels() {
        let section = |level: &str, n: usize| format!("{level} h{n}\n\nOne line.\ntwo\nthree\n\n");
        let mut page = String::from("# A\n");
        (0..20).for_each(|n| {
            page += &section("##", n);
            (0..20).for_each(|m| page += &section("###", 100 * n + m));
        });
        let outline = outline(&Text::new(&page)).expect("an outline");
        let shown = outline.rows.iter().filter(|row| row.fold.is_none());
        assert_eq!(shown.count(), 21);
    }

    proptest! {
        #[test]
        fn every_line_is_in_one_row(lines in proptest::collection::vec("(#{1,4} )?[a-z`~ ]{0,5}", 0..400)) {
            let text = Text::new(&lines.join("\n"));
            if let Some(outline) = outline(&text) {
                let mut next = 1;
                for row in &outline.rows {
                    prop_assert_eq!(row.span.start, next);
                    next = row.span.end + 1;
                }
                prop_assert_eq!(next, text.len_lines() as u64 + 1);
            }
        }
    }
}
