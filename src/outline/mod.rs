//! Outlines of source files: what stays, what folds, what is opened again; nothing here ever drops a line unnamed.

mod budget;
mod candidate;
mod comment;
mod definitions;
mod geometry;
mod group;
mod prose;
mod walk;

#[cfg(test)]
mod definitions_unit;
#[cfg(test)]
mod goldens;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod rust_items;
#[cfg(test)]
mod sqlite;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trees;

use crate::protocol::read::LineSpan;
use crate::syntax::{self, Language, Parsed};
use crate::task::{Stopped, Work};
use crate::text::Text;

use candidate::Candidate;
use walk::Walk;

pub use definitions::definitions;

/// What the settings say about outlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Lines from which a body folds, its delimiters counted. Fewer than 3 count as 3, because a
    /// fold has to save two rows.
    pub min_body_lines: usize,
    /// Whether prose has outlines.
    pub prose: bool,
}

impl Rules {
    /// Whether texts of `language` have outlines at all.
    pub fn are_for(&self, language: &Language) -> bool {
        self.prose || !language.is_prose()
    }
}

/// A class, a function or the like, as a list of definitions names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    pub span: LineSpan,
    /// On one line, without what follows it.
    pub signature: String,
}

/// A text with its long parts folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    pub language: &'static str,
    /// In line order; together they name every line exactly once.
    pub rows: Vec<Row>,
    /// The first rows as they are written.
    written: Written,
}

/// The texts of rows, one after the other: a warm summary need not look for its lines in the text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Written {
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
}

/// Bytes of rows that are kept written: more than a read without a budget of its own shows.
const WRITTEN: usize = 64 * 1024;

impl Outline {
    /// A row's text, without regard to how long a row may be; `None` for rows too far down.
    pub fn written(&self, row: usize) -> Option<&str> {
        let end = *self.written.ends.get(row)?;
        let start = match row {
            0 => 0,
            _ => self.written.ends[row - 1],
        };
        self.written.text.get(start..end)
    }

    /// Bytes in memory, about.
    pub fn weight(&self) -> usize {
        let of_fold = |row: &Row| {
            let fold = row.fold.as_ref();
            fold.map_or(0, |fold| fold.head.len() + fold.tail.len())
        };
        let folds: usize = self.rows.iter().map(of_fold).sum();
        let written = self.written.text.len() + self.written.ends.len() * size_of::<usize>();
        self.rows.len() * size_of::<Row>() + folds + written
    }
}

impl Written {
    fn of(rows: &[Row], source: &syntax::Source) -> Written {
        let mut written = Written::default();
        for row in rows {
            match &row.fold {
                None => written
                    .text
                    .push_str(source.line(row.span.start as usize - 1)),
                Some(fold) => fold.write_between(&fold.head, &fold.tail, &mut written.text),
            }
            written.ends.push(written.text.len());
            if written.text.len() > WRITTEN {
                break;
            }
        }
        written
    }
}

impl Fold {
    /// `HEAD … TAIL`, `HEAD …` or `…`, with a head and a tail that may be cut.
    pub fn write_between(&self, head: &str, tail: &str, out: &mut String) {
        out.push_str(head);
        if !head.is_empty() {
            out.push(' ');
        }
        out.push('…');
        if !tail.is_empty() {
            out.push(' ');
        }
        out.push_str(tail);
    }
}

/// A line, or a folded range of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// One line where there is no fold.
    pub span: LineSpan,
    pub fold: Option<Fold>,
}

/// How a folded range is written: `A-B:HEAD … TAIL`, `A-B:HEAD …` without a tail, `A-B:…` without both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fold {
    /// With its indentation.
    pub head: String,
    /// Without indentation.
    pub tail: String,
    /// Whether the head is the whole first line of the range.
    pub shows_first: bool,
    /// Whether the tail is the whole last line of the range.
    pub shows_last: bool,
}

/// The outline of `text`. `None` where nothing is worth folding, or prose is not to be folded.
///
/// # Errors
///
/// `Stopped` when `work` is cancelled or out of time.
pub fn outline(
    text: &Text,
    language: &'static Language,
    rules: Rules,
    work: &Work,
) -> Result<Option<Outline>, Stopped> {
    outline_with(text, language, rules, Unfold::ByBudget, work)
}

/// Whether folds are opened again while there is room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unfold {
    ByBudget,
    #[cfg(test)]
    Nothing,
}

fn outline_with(
    text: &Text,
    language: &'static Language,
    rules: Rules,
    unfold: Unfold,
    work: &Work,
) -> Result<Option<Outline>, Stopped> {
    if !rules.are_for(language) {
        return Ok(None);
    }
    let parsed = syntax::parse(text, language, work)?;
    fold_with(&parsed, language, rules, unfold, work)
}

/// The outline of a parsed text; as [`outline`].
///
/// # Errors
///
/// `Stopped` when `work` is cancelled or out of time.
pub fn fold(
    parsed: &Parsed,
    language: &'static Language,
    rules: Rules,
    work: &Work,
) -> Result<Option<Outline>, Stopped> {
    fold_with(parsed, language, rules, Unfold::ByBudget, work)
}

fn fold_with(
    parsed: &Parsed,
    language: &'static Language,
    rules: Rules,
    unfold: Unfold,
    work: &Work,
) -> Result<Option<Outline>, Stopped> {
    let walk = Walk::new(&parsed.source, rules, work);
    let mut folded = walk.pieces(&parsed.pieces)?;
    let total = parsed.source.len_lines();
    if unfold == Unfold::ByBudget {
        folded = budget::unfold(&walk, folded, total)?;
    }
    if folded.is_empty() {
        return Ok(None);
    }
    let rows = rows(folded, total);
    Ok(Some(Outline {
        language: language.name(),
        written: Written::of(&rows, &parsed.source),
        rows,
    }))
}

/// The rows of `total` lines, some of which are folded; lines of candidates are counted from 0.
fn rows(folded: Vec<Candidate<'_>>, total: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut next = 0;
    for candidate in folded {
        rows.extend((next..candidate.first).map(ordinary));
        next = candidate.last + 1;
        rows.push(Row {
            span: span(candidate.first, candidate.last),
            fold: Some(candidate.fold),
        });
    }
    rows.extend((next..total).map(ordinary));
    rows
}

fn ordinary(line: usize) -> Row {
    Row {
        span: span(line, line),
        fold: None,
    }
}

/// From lines counted from 0, both inclusive.
fn span(first: usize, last: usize) -> LineSpan {
    LineSpan {
        start: first as u64 + 1,
        end: last as u64 + 1,
    }
}
