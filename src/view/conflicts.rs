//! Unresolved merge conflicts as git leaves them in a text; a block that is not closed is never one.

use crate::protocol::read::{CutReason, LineSpan};
use crate::text::Text;

use super::Budget;
use super::selector::{Piece, Selector};
use super::window::{self, Limits, Spent, Stop, Window};

/// Lines before and after a window that are searched for the ends of a block that reaches into it.
const REACH: u64 = 20_000;

/// A text of up to so many bytes is searched for a conflict even if no marker is in the window.
const SMALL_TEXT: usize = 1024 * 1024;

/// Characters of a side's name that are shown.
const MAX_NAME: usize = 100;

/// One complete block: the lines of its markers, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict {
    /// `<<<<<<<`
    pub start: u64,
    /// `|||||||`, where the block has a base (diff3, zdiff3).
    pub base: Option<u64>,
    /// `=======`
    pub middle: u64,
    /// `>>>>>>>`
    pub end: u64,
}

/// A marker at the beginning of a line: exactly seven of these, then the end or one space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConflictMarker {
    Start,
    Base,
    Middle,
    End,
}

fn marker(line: &str) -> Option<ConflictMarker> {
    let (marker, name) = match line.as_bytes() {
        [b'<' | b'|' | b'=' | b'>', ..] => line.split_at_checked(7)?,
        _ => return None,
    };
    let marker = match marker {
        "<<<<<<<" => ConflictMarker::Start,
        "|||||||" => ConflictMarker::Base,
        "=======" => ConflictMarker::Middle,
        ">>>>>>>" => ConflictMarker::End,
        _ => return None,
    };
    (name.is_empty() || name.starts_with(' ')).then_some(marker)
}

/// Finds blocks in lines that are fed to it one by one, in order.
#[derive(Debug, Default)]
pub struct ConflictFinder {
    open: Option<OpenConflict>,
    found: Vec<Conflict>,
}

/// A block as far as it was seen.
#[derive(Debug, Clone, Copy)]
struct OpenConflict {
    start: u64,
    base: Option<u64>,
    middle: Option<u64>,
}

impl ConflictFinder {
    /// Takes the next line; `number` counts from 1.
    pub fn feed(&mut self, number: u64, line: &str) {
        let Some(marker) = marker(line) else {
            return;
        };
        let open = &mut self.open;
        match (marker, open.as_mut()) {
            // The innermost start wins: what came before it was never closed.
            (ConflictMarker::Start, _) => {
                *open = Some(OpenConflict {
                    start: number,
                    base: None,
                    middle: None,
                });
            }
            (ConflictMarker::Base, Some(block)) if block.middle.is_none() => {
                block.base.get_or_insert(number);
            }
            (ConflictMarker::Middle, Some(block)) => {
                block.middle.get_or_insert(number);
            }
            (ConflictMarker::End, Some(block)) => {
                let OpenConflict {
                    start,
                    base,
                    middle,
                } = *block;
                *open = None;
                self.found.extend(middle.map(|middle| Conflict {
                    start,
                    base,
                    middle,
                    end: number,
                }));
            }
            (ConflictMarker::Base | ConflictMarker::Middle | ConflictMarker::End, _) => {}
        }
    }

    /// The complete blocks so far.
    pub fn found(self) -> Vec<Conflict> {
        self.found
    }
}

/// How many complete blocks have a line in the window.
///
/// Costs next to nothing for a text without a conflict: the text around the window is only gone
/// through when there is a marker in it.
pub fn count_in_window(text: &Text, window: &Window) -> u64 {
    let (Some(first), Some(last)) = (window.spans().next(), window.spans().last()) else {
        return 0;
    };
    let total = text.len_lines() as u64;
    let all = first.start == 1 && last.end == total && window.blocks.len() == 1;
    let suspicious = window.rows().any(|row| marker(&row.text).is_some())
        || (!all && text.len_bytes() <= SMALL_TEXT && holds_start(text));
    if !suspicious {
        return 0;
    }
    let from = first.start.saturating_sub(REACH).max(1);
    let mut finder = ConflictFinder::default();
    let lines = text.lines_at(from as usize - 1);
    for (number, line) in (from..=last.end.saturating_add(REACH)).zip(lines) {
        finder.feed(number, &line);
    }
    let shown: Vec<LineSpan> = window.spans().collect();
    let is_shown = |conflict: &&Conflict| {
        let next = shown.partition_point(|span| span.end < conflict.start);
        shown
            .get(next)
            .is_some_and(|span| span.start <= conflict.end)
    };
    finder.found().iter().filter(is_shown).count() as u64
}

/// Whether seven `<` stand anywhere in the text.
fn holds_start(text: &Text) -> bool {
    const START: &[u8] = b"<<<<<<<";
    let finder = memchr::memmem::Finder::new(START);
    let mut tail: Vec<u8> = Vec::with_capacity(2 * START.len());
    text.chunks().any(|chunk| {
        let chunk = chunk.as_bytes();
        // Seven that are cut in two by the end of a chunk.
        tail.extend_from_slice(&chunk[..chunk.len().min(START.len() - 1)]);
        let found = finder.find(&tail).is_some() || finder.find(chunk).is_some();
        // A chunk shorter than that leaves some of the ones before it.
        if chunk.len() >= START.len() {
            tail.clear();
            tail.extend_from_slice(&chunk[chunk.len() - (START.len() - 1)..]);
        } else {
            tail.drain(..tail.len().saturating_sub(START.len() - 1));
        }
        found
    })
}

/// The conflicts of a text, written out.
#[derive(Debug, Default)]
pub struct Sheet<'t> {
    pub parts: Vec<SheetPart>,
    /// The rows of all sides, a block for each side that has any.
    pub window: Window<'t>,
    /// The lines of markers whose whole text the titles give.
    pub markers: Vec<u64>,
    /// How many conflicts are shown, and how many there are.
    pub shown: u64,
    pub total: u64,
}

/// What stands in a sheet, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SheetPart {
    Title(String),
    /// The rows of this block of the window.
    Rows(usize),
}

/// Writes out both sides of each conflict, with the base where there is one, as far as the limits
/// reach; a conflict is cut only if it is the first. The rest is left to an ordinary read.
pub fn sheet<'t>(text: &'t Text, conflicts: &[Conflict], limits: &Limits) -> Sheet<'t> {
    let mut sheet = Sheet {
        total: conflicts.len() as u64,
        ..Sheet::default()
    };
    sheet.window.total_lines = text.len_lines() as u64;
    let budget = Budget {
        lines: limits.budget.lines.min(limits.open_lines),
        bytes: limits.budget.bytes,
    };
    for (index, conflict) in conflicts.iter().enumerate() {
        let mut draft = Draft {
            text,
            limits: *limits,
            budget,
            spent: sheet.window.spent,
            parts: Vec::new(),
            window: Window::default(),
            markers: Vec::new(),
            first_block: sheet.window.blocks.len(),
        };
        let stop = draft.add(conflict, index + 1);
        let reason = stop.as_ref().map(|stop| stop.reason);
        if let Some(reason) = reason.or(draft.exceeds())
            && index > 0
        {
            let next_selector = format!("{}-", conflict.start);
            sheet.window.stop = Some(Stop {
                reason,
                next_selector,
                left: Vec::new(),
            });
            break;
        }
        sheet.take(draft);
        sheet.shown += 1;
        if stop.is_some() {
            sheet.window.stop = stop;
            break;
        }
    }
    sheet
}

impl<'t> Sheet<'t> {
    fn take(&mut self, draft: Draft<'t>) {
        self.parts.extend(draft.parts);
        self.window.blocks.extend(draft.window.blocks);
        self.window.spent = draft.spent;
        self.markers.extend(draft.markers);
    }

    /// The lines whose whole text the sheet gives: rows, and markers by their titles.
    pub fn whole_lines(&self) -> Vec<LineSpan> {
        let markers = self.markers.iter().map(|line| LineSpan::line(*line));
        let rows = self.window.whole_lines().into_iter();
        let whole: super::LineSet = rows.chain(markers).collect();
        whole.spans().to_vec()
    }
}

/// One conflict on its way into the sheet.
struct Draft<'t> {
    text: &'t Text,
    limits: Limits,
    budget: Budget,
    spent: Spent,
    parts: Vec<SheetPart>,
    window: Window<'t>,
    markers: Vec<u64>,
    /// Blocks that the sheet has already.
    first_block: usize,
}

impl Draft<'_> {
    /// Says where it had to stop, if a side did not fit.
    fn add(&mut self, conflict: &Conflict, number: usize) -> Option<Stop> {
        let &Conflict {
            start,
            base,
            middle,
            end,
        } = conflict;
        let three_way = if base.is_some() { "  (3-way)" } else { "" };
        self.title(format!("#{number}  L{start}-{end}{three_way}"));
        let ours = (start + 1, base.unwrap_or(middle) - 1);
        let stop = self.side("ours", start, ours);
        let stop = stop.or_else(|| self.side("base", base?, (base? + 1, middle - 1)));
        let stop = stop.or_else(|| self.side("theirs", end, (middle + 1, end - 1)));
        if stop.is_none() {
            self.markers.push(middle);
        }
        stop
    }

    /// A title that gives the marker's name, and the lines of that side.
    fn side(&mut self, side: &str, marker: u64, (first, last): (u64, u64)) -> Option<Stop> {
        let line = self.text.line(marker as usize - 1);
        let name = line.get(8..).unwrap_or_default();
        let shown: String = name.chars().take(MAX_NAME).collect();
        let cut = if shown.len() < name.len() { "…" } else { "" };
        if cut.is_empty() {
            self.markers.push(marker);
        }
        let name = match shown.is_empty() {
            true => String::new(),
            false => format!(" ({}{cut})", super::name::in_header(&shown)),
        };
        if first > last {
            self.title(format!("{side}{name}: no lines"));
            return None;
        }
        self.title(format!("{side}{name}:"));
        let mut limits = self.limits;
        limits.budget = Budget {
            lines: self.budget.lines.saturating_sub(self.spent.lines),
            bytes: self.budget.bytes.saturating_sub(self.spent.bytes),
        };
        let selector = Selector {
            pieces: vec![Piece::Range(first, last)],
            ..Selector::default()
        };
        let shown = window::open(self.text, &selector, &limits);
        self.spent.lines += shown.spent.lines;
        self.spent.bytes += shown.spent.bytes;
        for block in shown.blocks {
            self.parts
                .push(SheetPart::Rows(self.first_block + self.window.blocks.len()));
            self.window.blocks.push(block);
        }
        let last_shown = self.window.rows().last().map_or(first, |row| row.number);
        shown.stop.map(|stop| Stop {
            next_selector: format!("{}-", last_shown + 1),
            left: Vec::new(),
            ..stop
        })
    }

    /// Which limit is exceeded. A first row is shown even where there is no room for it.
    fn exceeds(&self) -> Option<CutReason> {
        if self.spent.lines > self.budget.lines {
            Some(CutReason::Lines)
        } else if self.spent.bytes > self.budget.bytes {
            Some(CutReason::Bytes)
        } else {
            None
        }
    }

    /// A title counts as a row: there may be a great many of them.
    fn title(&mut self, title: String) {
        self.spent.lines += 1;
        self.spent.bytes += title.len() as u64 + 1;
        self.parts.push(SheetPart::Title(title));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str) -> Vec<(u64, Option<u64>, u64, u64)> {
        let mut finder = ConflictFinder::default();
        for (number, line) in (1..).zip(text.lines()) {
            finder.feed(number, line);
        }
        let found = finder.found().into_iter();
        found.map(|c| (c.start, c.base, c.middle, c.end)).collect()
    }

    #[test]
    fn blocks_are_complete_and_markers_exact() {
        let two = "<<<<<<< a\nx\n=======\n>>>>>>> b\n\n<<<<<<<\n||||||| c\n=======\n>>>>>>>\n";
        assert_eq!(find(two), [(1, None, 3, 4), (6, Some(7), 8, 9)]);
        let nested = "<<<<<<< a\n=======\n<<<<<<< b\n=======\n=======\n>>>>>>> b\n>>>>>>> a\n";
        assert_eq!(find(nested), [(3, None, 4, 6)]);
        for none in [
            "<<<<<<< a\n=======\n",
            "<<<<<<< a\n>>>>>>> b\n",
            "=======\n>>>>>>> b\n",
            " <<<<<<< a\n=======\n>>>>>>> b\n",
            "<<<<<<<< a\n=======\n>>>>>>> b\n",
            "<<<<<<<a\n=======\n>>>>>>> b\n",
            "<<<<<<<\ta\n=======\n>>>>>>> b\n",
            "<<<<<<é\n=======\n>>>>>>> b\n",
        ] {
            assert_eq!(find(none), [], "{none}");
        }
    }

    #[test]
    fn a_start_is_found_across_chunks() {
        for length in 900..1100 {
            let text = format!("{}\n<<<<<<< a\n{}", "x".repeat(length), "y".repeat(3000));
            assert!(holds_start(&Text::new(&text)), "{length}");
        }
        assert!(!holds_start(&Text::new(&"<<<<<<\n".repeat(1000))));
    }
}
