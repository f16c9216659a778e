//! Outlines of source files: what stays, what folds, what is opened again; nothing here ever drops a line unnamed.

mod budget;
mod candidate;
mod comment;
mod geometry;
mod group;
mod prose;
mod walk;

#[cfg(test)]
mod goldens;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod rust_items;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trees;

use crate::protocol::read::LineSpan;
use crate::syntax::{self, Language};
use crate::task::{Stopped, Work};
use crate::text::Text;

use candidate::Candidate;
use walk::Walk;

/// What the settings say about outlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Lines from which a body folds, its delimiters counted. Fewer than 3 count as 3, because a
    /// fold has to save two rows.
    pub min_body_lines: usize,
    /// Whether prose has outlines.
    pub prose: bool,
}

/// A text with its long parts folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    pub language: &'static str,
    /// In line order; together they name every line exactly once.
    pub rows: Vec<Row>,
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
    if language.is_prose() && !rules.prose {
        return Ok(None);
    }
    let parsed = syntax::parse(text, language, work)?;
    let walk = Walk::new(&parsed.source, rules, work);
    let mut folded = walk.pieces(&parsed.pieces)?;
    let total = parsed.source.len_lines();
    if unfold == Unfold::ByBudget {
        folded = budget::unfold(&walk, folded, total)?;
    }
    if folded.is_empty() {
        return Ok(None);
    }
    Ok(Some(Outline {
        language: language.name(),
        rows: rows(folded, total),
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
