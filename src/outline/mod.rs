//! Outlines of source files: what stays, what folds, what is opened again; no line is ever dropped unnamed.
//!
//! [`folding`] and [`definitions`] walk a syntax tree, so they run in a worker (see [`crate::structure`]);
//! [`Outline`] is made of the text and its folds by whoever shows it, and folds further until it fits.

mod budget;
mod candidate;
mod comment;
mod definitions;
mod geometry;
mod giant;
mod group;
mod name;
mod node_names;
mod prose;
mod rows;
mod runs;
mod siblings;
mod walk;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::protocol::read::LineSpan;
#[cfg(test)]
use crate::syntax;
use crate::syntax::{Language, Parsed};
use crate::task::{Stopped, Work};
#[cfg(test)]
use crate::text::Text;

use candidate::Candidate;
use walk::Walk;

pub use definitions::{MAX_DEFINITIONS, definitions};
pub use name::QualifiedName;
pub use rows::{Misplaced, Outline, ShownRow};
pub use runs::MAX_RUNS;
pub use siblings::SiblingKind;

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

/// Neighbours that may stand as one row: the first line of them, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiblingRun {
    pub span: LineSpan,
    pub count: u64,
    pub what: SiblingKind,
}

/// What a text is folded by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folding {
    /// In line order, apart from each other.
    pub folds: Vec<OutlineRow>,
    /// In the order in which they fold further what is too long. Each begins and ends with a row, and
    /// two are apart or one within the other.
    pub runs: Vec<SiblingRun>,
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
    let folding = folding_with(&parsed, rules, unfold, work)?;
    let outline = |folding| Outline::new(language.name(), folding, text).expect("of the text");
    Ok(folding.has_structure().then(|| outline(folding)))
}

impl Folding {
    /// Whether there is more to show than lines.
    pub fn has_structure(&self) -> bool {
        !self.folds.is_empty() || self.runs.iter().any(|run| !run.what.is_plain())
    }
}

/// What a parsed text is folded by.
///
/// # Errors
///
/// `Stopped` when `work` is cancelled or out of time.
pub fn folding(parsed: &Parsed, rules: Rules, work: &Work) -> Result<Folding, Stopped> {
    folding_with(parsed, rules, Unfold::ByBudget, work)
}

fn folding_with(
    parsed: &Parsed,
    rules: Rules,
    unfold: Unfold,
    work: &Work,
) -> Result<Folding, Stopped> {
    let walk = Walk::new(&parsed.source, rules, work);
    let mut folded = walk.pieces(&parsed.pieces)?;
    if unfold == Unfold::ByBudget {
        folded = budget::unfold(&walk, folded, parsed.source.len_lines())?;
    }
    let row = |candidate: Candidate<'_>| OutlineRow {
        span: span(candidate.first, candidate.last),
        fold: Some(candidate.fold),
    };
    let folds: Vec<OutlineRow> = folded.into_iter().map(row).collect();
    let runs = runs::runs(&parsed.source, &parsed.pieces, &folds, work)?;
    Ok(Folding { folds, runs })
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
