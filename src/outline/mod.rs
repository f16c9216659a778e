//! Outlines of source files: what stays, what folds, what is opened again; no line is ever dropped unnamed.
//!
//! [`folds`] and [`definitions`] walk a syntax tree, so they run in a worker (see [`crate::structure`]);
//! [`Outline`] is made of the text and its folds by whoever shows it.

mod budget;
mod candidate;
mod comment;
mod definitions;
mod geometry;
mod group;
mod name;
mod node_names;
mod prose;
mod walk;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::protocol::read::LineSpan;
#[cfg(test)]
use crate::syntax;
use crate::syntax::{Language, Parsed};
use crate::task::{Stopped, Work};
use crate::text::Text;

use candidate::Candidate;
use walk::Walk;

pub use definitions::{MAX_DEFINITIONS, definitions};
pub use name::QualifiedName;

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

/// A class, a function or the like, as a list of definitions names it, or whatever else has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    pub span: LineSpan,
    /// The same with its attributes and what documents it.
    pub whole: LineSpan,
    /// On one line, without what follows it.
    pub signature: String,
    pub rank: Rank,
    /// Those that it gives; none where it has none.
    pub names: Vec<QualifiedName>,
}

/// What a definition is to lists of them, and to who asks for its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rank {
    /// A class, a function or the like.
    Definition,
    /// What has a name and no body: a constant, a field, a prototype.
    Declaration,
    /// What adds to what is defined elsewhere: an `impl`.
    Extension,
}

impl Rank {
    /// Whether lists of definitions have it.
    pub fn is_listed(self) -> bool {
        self != Rank::Declaration
    }
}

/// A text with its long parts folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    pub language: &'static str,
    /// In line order; together they name every line exactly once.
    pub rows: Vec<OutlineRow>,
    /// The first rows as they are written.
    written: RowTexts,
}

/// The texts of rows, one after the other: a warm summary need not look for its lines in the text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct RowTexts {
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
        let of_fold = |row: &OutlineRow| {
            let fold = row.fold.as_ref();
            fold.map_or(0, |fold| fold.head.len() + fold.tail.len())
        };
        let folds: usize = self.rows.iter().map(of_fold).sum();
        let written = self.written.text.len() + self.written.ends.len() * size_of::<usize>();
        self.rows.len() * size_of::<OutlineRow>() + folds + written
    }
}

impl RowTexts {
    fn of(rows: &[OutlineRow], text: &Text) -> RowTexts {
        let mut written = RowTexts::default();
        let mut lines = text.lines_at(0);
        for row in rows {
            let first = lines.next().unwrap_or_default();
            match &row.fold {
                None => written.text.push_str(&first),
                Some(fold) => {
                    fold.write_between(&fold.head, &fold.tail, &mut written.text);
                    lines = text.lines_at(row.span.end as usize);
                }
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
pub struct OutlineRow {
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

/// Folds that cannot be those of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the folds are not in the lines of the text")]
pub struct Misplaced;

impl Outline {
    /// Of a text with these folds, in line order.
    ///
    /// # Errors
    ///
    /// `Misplaced` where they overlap, or are not within the text.
    pub fn new(
        language: &'static str,
        folds: Vec<OutlineRow>,
        text: &Text,
    ) -> Result<Outline, Misplaced> {
        let total = text.len_lines() as u64;
        let mut rows = Vec::with_capacity(folds.len() * 4);
        let mut next = 1;
        for row in folds {
            let LineSpan { start, end } = row.span;
            if start < next || end < start || end > total || row.fold.is_none() {
                return Err(Misplaced);
            }
            rows.extend((next..start).map(ordinary));
            rows.push(row);
            next = end + 1;
        }
        rows.extend((next..=total).map(ordinary));
        Ok(Outline {
            language,
            written: RowTexts::of(&rows, text),
            rows,
        })
    }
}

/// The outline of `text`, parsed here; as [`folds`].
#[cfg(test)]
fn outline(
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

#[cfg(test)]
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
    let parsed = syntax::parse(syntax::Source::new(text), language, work)?;
    let folds = folds_with(&parsed, rules, unfold, work)?;
    let outline = |folds| Outline::new(language.name(), folds, text).expect("folds of the text");
    Ok((!folds.is_empty()).then(|| outline(folds)))
}

/// The folded ranges of a parsed text in line order; none where nothing is worth folding.
///
/// # Errors
///
/// `Stopped` when `work` is cancelled or out of time.
pub fn folds(parsed: &Parsed, rules: Rules, work: &Work) -> Result<Vec<OutlineRow>, Stopped> {
    folds_with(parsed, rules, Unfold::ByBudget, work)
}

fn folds_with(
    parsed: &Parsed,
    rules: Rules,
    unfold: Unfold,
    work: &Work,
) -> Result<Vec<OutlineRow>, Stopped> {
    let walk = Walk::new(&parsed.source, rules, work);
    let mut folded = walk.pieces(&parsed.pieces)?;
    if unfold == Unfold::ByBudget {
        folded = budget::unfold(&walk, folded, parsed.source.len_lines())?;
    }
    let row = |candidate: Candidate<'_>| OutlineRow {
        span: span(candidate.first, candidate.last),
        fold: Some(candidate.fold),
    };
    Ok(folded.into_iter().map(row).collect())
}

/// A line, counted from 1.
fn ordinary(line: u64) -> OutlineRow {
    OutlineRow {
        span: LineSpan::line(line),
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
