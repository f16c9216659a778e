//! A text parsed from the tree of an earlier one, in a fraction of the time; one that has errors is never said to be sound.

use tree_sitter::{InputEdit, Point, Tree};

use crate::task::{Stopped, Work};
use crate::text::Text;

use super::parse::{Parsed, parse_whole};
use super::{Language, Source};

/// Bytes of memory for each node of a tree, rounded up: what the library holds of an inner node, a
/// pointer to it, and what the allocator adds. Most leaves take less.
const NODE_BYTES: usize = 100;

/// Bytes that are compared at a time.
const BLOCK: usize = 64;

/// A text without a syntax error, and the one tree of all of it.
#[derive(Debug)]
pub struct Sound {
    source: Source,
    tree: Tree,
    language: &'static Language,
}

impl Sound {
    /// What was parsed, if it is one tree without an error.
    pub fn of(parsed: Parsed) -> Option<Sound> {
        let Parsed { source, pieces } = parsed;
        let [piece] = <[_; 1]>::try_from(pieces).ok()?;
        let is_whole = piece.lines == (0..source.len_lines()) && piece.broken.is_none();
        (is_whole && !piece.tree.root_node().has_error()).then_some(Sound {
            source,
            tree: piece.tree,
            language: piece.language,
        })
    }

    pub fn language(&self) -> &'static Language {
        self.language
    }

    /// About the bytes of memory that it takes.
    pub fn weight(&self) -> usize {
        let nodes = self.tree.root_node().descendant_count();
        nodes * NODE_BYTES + self.source.text().len() + self.source.len_lines() * 8
    }

    /// Parses `text`, of which this is an earlier state; the less they differ, the sooner. `None`
    /// where that is not sound, as far as this way can tell: it is to be parsed anew then, which
    /// also tells where. Text with scripts of other languages is not parsed in this way.
    ///
    /// # Errors
    ///
    /// `Stopped` when `work` is cancelled or out of time.
    pub fn parse_again(&self, text: &Text, work: &Work) -> Result<Option<Sound>, Stopped> {
        let source = Source::new(text);
        let cannot = self.language.cannot_parse(&source) || self.language.has_scripts();
        if source.len_lines() == 0 || cannot {
            return Ok(None);
        }
        let mut old = self.tree.clone();
        if let Some(edit) = between(&self.source, &source) {
            old.edit(&edit);
        }
        let tree = parse_whole(&source, self.language, Some(&old), work)?;
        Ok((!tree.root_node().has_error()).then_some(Sound {
            source,
            tree,
            language: self.language,
        }))
    }
}

/// The one edit that makes `new` of `old`; `None` where they are equal.
fn between(old: &Source, new: &Source) -> Option<InputEdit> {
    let (a, b) = (old.text(), new.text());
    let mut same = common(a.as_bytes(), b.as_bytes());
    if same == a.len() && same == b.len() {
        return None;
    }
    // Both have the same bytes up to here, so a character that begins in one begins in both.
    while !a.is_char_boundary(same) || !b.is_char_boundary(same) {
        same -= 1;
    }
    let mut tail = common_tail(&a.as_bytes()[same..], &b.as_bytes()[same..]);
    while !a.is_char_boundary(a.len() - tail) || !b.is_char_boundary(b.len() - tail) {
        tail -= 1;
    }
    let (old_end, new_end) = (a.len() - tail, b.len() - tail);
    Some(InputEdit {
        start_byte: same,
        old_end_byte: old_end,
        new_end_byte: new_end,
        start_position: point(old, same),
        old_end_position: point(old, old_end),
        new_end_position: point(new, new_end),
    })
}

/// How many bytes both begin with.
fn common(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    let whole = BLOCK * blocks.take_while(|(a, b)| a == b).count();
    let rest = a[whole..].iter().zip(&b[whole..]);
    whole + rest.take_while(|(a, b)| a == b).count()
}

/// How many bytes both end with.
fn common_tail(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK));
    let whole = BLOCK * blocks.take_while(|(a, b)| a == b).count();
    let rest = a.iter().rev().zip(b.iter().rev()).skip(whole);
    whole + rest.take_while(|(a, b)| a == b).count()
}

fn point(source: &Source, byte: usize) -> Point {
    // The end of the text is the beginning of a line that there is not.
    let row = match byte == source.text().len() {
        true => source.len_lines(),
        false => source.line_of(byte),
    };
    Point::new(row, byte - source.line_start(row))
}

#[cfg(test)]
#[path = "again_tests.rs"]
mod tests;
