//! Ranges that could be folded, and how neighbours share lines; two of a list never overlap once it is settled.

use std::ops::Range;

use tree_sitter::Node;

use crate::syntax::{Captures, PathNode};

use super::Fold;

/// Fewest lines of a fold: it has to save two rows.
pub(super) const MIN_LINES: usize = 3;

/// What kind of thing is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoldKind {
    /// The body of a function, a callback included.
    Function,
    /// Data or text.
    Literal,
    /// Markup.
    Markup,
    /// Comments and imports: the budget never opens them.
    Closed,
}

/// A range of lines that could be folded, counted from 0, both ends inclusive.
#[derive(Debug, Clone)]
pub(super) struct Candidate<'tree> {
    pub first: usize,
    pub last: usize,
    pub fold: Fold,
    pub kind: FoldKind,
    /// What to look into when the range is opened.
    pub node: Node<'tree>,
    /// What is captured in there.
    pub captures: &'tree Captures,
    /// The last steps of the way to the node.
    pub way: Vec<PathNode<'tree>>,
}

impl Candidate<'_> {
    pub fn lines(&self) -> usize {
        self.last + 1 - self.first
    }

    /// Leaves the last line to somebody else.
    fn give_up_last(&mut self) {
        self.last -= 1;
        self.fold.tail.clear();
        self.fold.shows_last = false;
    }
}

/// Puts candidates in order and within `lines`, and decides who has a line that two of them claim:
/// the later one, whose head it is.
pub(super) fn settle<'tree>(
    mut found: Vec<Candidate<'tree>>,
    lines: &Range<usize>,
) -> Vec<Candidate<'tree>> {
    found.sort_by_key(|candidate| candidate.first);
    let mut settled: Vec<Candidate<'tree>> = Vec::with_capacity(found.len());
    for mut candidate in found {
        if candidate.first < lines.start {
            continue;
        }
        while candidate.last >= lines.end && candidate.lines() > 1 {
            candidate.give_up_last();
        }
        if candidate.lines() < MIN_LINES {
            continue;
        }
        match settled.last_mut() {
            Some(before) if before.last >= candidate.first => {
                if before.last > candidate.first {
                    // Something that only grammars after an error do: the first one counts.
                    continue;
                }
                before.give_up_last();
                if before.lines() < MIN_LINES {
                    settled.pop();
                }
            }
            _ => {}
        }
        settled.push(candidate);
    }
    settled
}
