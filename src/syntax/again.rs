//! A text parsed from the tree of an earlier one, in a fraction of the time; one that has errors is never said to be sound.

use tree_sitter::{InputEdit, Point};

use crate::task::{Stopped, Work};

use super::Source;
use super::parse::{Parsed, ParsedPiece, parse_whole};

/// Bytes of memory for each node of a tree, rounded up: what the library holds of an inner node, a
/// pointer to it, and what the allocator adds. Most leaves take less.
const NODE_BYTES: usize = 100;

/// Bytes that are compared at a time.
const BLOCK: usize = 64;

impl Parsed {
    /// The one tree of all of it, if there is one and it has no error.
    fn sound(&self) -> Option<&ParsedPiece> {
        let [piece] = &self.pieces[..] else {
            return None;
        };
        let is_whole = piece.lines == (0..self.source.len_lines()) && piece.broken.is_none();
        (is_whole && !piece.tree.root_node().has_error()).then_some(piece)
    }

    /// About the bytes of memory that it takes.
    pub fn weight(&self) -> usize {
        let nodes = |piece: &ParsedPiece| piece.tree.root_node().descendant_count();
        let nodes: usize = self.pieces.iter().map(nodes).sum();
        nodes * NODE_BYTES + self.source.text().len() + self.source.len_lines() * 8
    }

    /// Parses another state of this text; the less they differ, the sooner. `None` where one of
    /// them is not sound, as far as this way can tell: it is to be parsed anew then, which also
    /// tells where. Text with scripts of other languages is not parsed in this way.
    ///
    /// # Errors
    ///
    /// `Stopped` when `work` is cancelled or out of time.
    pub fn parse_again(&self, source: &Source, work: &Work) -> Result<Option<Parsed>, Stopped> {
        let Some(piece) = self.sound() else {
            return Ok(None);
        };
        let language = piece.language;
        if source.len_lines() == 0 || source.has_nul() || language.has_scripts() {
            return Ok(None);
        }
        let mut old = piece.tree.clone();
        if let Some(edit) = between(&self.source, source) {
            old.edit(&edit);
        }
        let tree = parse_whole(source, language, Some(&old), work)?;
        Ok((!tree.root_node().has_error()).then(|| Parsed {
            pieces: vec![ParsedPiece {
                tree,
                lines: 0..source.len_lines(),
                language,
                broken: None,
            }],
            source: source.clone(),
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
mod tests;
