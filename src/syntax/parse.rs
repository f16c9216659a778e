//! Parsing within a time budget, and again after an error that spoils the root; it never keeps a tree.

use std::ops::{ControlFlow, Range};

use memchr::memchr;
use tree_sitter::{Node, ParseOptions, Parser, Point, Tree};

use crate::task::{Stopped, Work};
use crate::text::Text;

use super::{Language, Source};

/// A parsed text. One piece, or several where the root of the whole was an error.
#[derive(Debug)]
pub struct Parsed {
    pub source: Source,
    /// In order of their lines, which do not overlap.
    pub pieces: Vec<Piece>,
}

/// A tree, and the lines (from 0, end exclusive) for which it is to be believed.
#[derive(Debug)]
pub struct Piece {
    pub tree: Tree,
    pub lines: Range<usize>,
}

/// Errors below a sound root after which the rest is parsed again; more are left as they are.
const MAX_RESCUES: usize = 20;

/// Parses `text`. Byte offsets of the trees are those of [`Source::text`].
///
/// Where the root itself is an error, what stands before the first broken line is kept, and the rest
/// is parsed again from the next line that begins in column 0; and so it is where an error directly
/// below the root has swallowed such lines.
///
/// A text with a NUL has no pieces: to the scanners of most grammars that is the end of the text, and
/// what they do behind it nobody has thought about.
///
/// # Errors
///
/// `Stopped` when `work` is cancelled or out of time, which is asked about every hundred steps of the parser.
pub fn parse(text: &Text, language: &Language, work: &Work) -> Result<Parsed, Stopped> {
    let source = Source::new(text);
    let mut pieces: Vec<Piece> = Vec::new();
    if memchr(0, source.text().as_bytes()).is_some() {
        return Ok(Parsed { source, pieces });
    }
    let mut from = 0;
    let mut rescues = 0;
    loop {
        let tree = parse_from(&source, from, language, work)?;
        let root = tree.root_node();
        let broken = if root.is_error() {
            Some(first_broken_line(root, from))
        } else if root.has_error() && rescues < MAX_RESCUES {
            rescues += 1;
            swallowing_line(root, &source)
        } else {
            None
        };
        let end = broken.unwrap_or(source.len_lines());
        if end > from {
            pieces.push(Piece {
                tree,
                lines: from..end,
            });
        }
        match broken.and_then(|line| next_fresh_line(&source, line)) {
            Some(line) => from = line,
            None => break,
        }
    }
    Ok(Parsed { source, pieces })
}

/// Parses from the beginning of a line to the end.
fn parse_from(
    source: &Source,
    line: usize,
    language: &Language,
    work: &Work,
) -> Result<Tree, Stopped> {
    work.check()?;
    let mut parser = Parser::new();
    parser
        .set_language(language.grammar())
        // A test parses a sample with every grammar, so all of them fit this library.
        .expect("a grammar of this library's version");
    let bytes = source.text().as_bytes();
    if line > 0 {
        let range = tree_sitter::Range {
            start_byte: source.line_start(line),
            end_byte: bytes.len(),
            start_point: Point::new(line, 0),
            end_point: Point::new(source.len_lines(), 0),
        };
        parser
            .set_included_ranges(&[range])
            // One range cannot overlap another.
            .expect("a single range");
    }
    let mut stopped = None;
    let mut progress = |_: &tree_sitter::ParseState| match work.check() {
        Ok(()) => ControlFlow::Continue(()),
        Err(why) => {
            stopped = Some(why);
            ControlFlow::Break(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut rest = |byte: usize, _: Point| bytes.get(byte..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut rest, None, Some(options));
    // The parser goes with this call, so a stopped parse needs no reset.
    tree.ok_or(stopped.unwrap_or(Stopped::TimedOut))
}

/// The line of the first thing below an error root that is not a whole, sound node: what stands
/// directly below it as a bare token or a leaf is the beginning of what could not be finished.
fn first_broken_line(root: Node<'_>, from: usize) -> usize {
    let mut cursor = root.walk();
    let broken = root
        .children(&mut cursor)
        .find(|child| {
            let whole = child.is_extra() || (child.is_named() && child.child_count() > 0);
            child.has_error() || child.is_missing() || !whole
        })
        .map(|child| child.start_position().row);
    broken.unwrap_or(from).max(from)
}

/// The first line of an error directly below a root that reaches over a line on which something
/// begins in column 0.
fn swallowing_line(root: Node<'_>, source: &Source) -> Option<usize> {
    let mut cursor = root.walk();
    let mut lines = root
        .children(&mut cursor)
        .filter(Node::is_error)
        .map(|error| (error.start_position().row, error.end_position().row));
    lines
        .find(|(first, last)| next_fresh_line(source, *first).is_some_and(|next| next <= *last))
        .map(|(first, _)| first)
}

/// The next line after `line` that begins in column 0 with something that can begin a statement.
fn next_fresh_line(source: &Source, line: usize) -> Option<usize> {
    (line + 1..source.len_lines()).find(|&line| {
        let first = source.line(line).chars().next();
        first.is_some_and(|c| !c.is_whitespace() && !")]}>".contains(c))
    })
}
