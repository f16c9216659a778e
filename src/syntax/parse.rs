//! Parsing within a time budget, and again after an error that spoils the root; it never keeps a tree.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, Parser, Point, Tree};

use crate::task::{Stopped, Work};

use super::{Language, Source, languages};

/// A parsed text. One piece, or several where the root of the whole was an error.
#[derive(Debug)]
pub struct Parsed {
    pub source: Source,
    /// In order of their lines, which do not overlap.
    pub pieces: Vec<ParsedPiece>,
}

/// A tree, and the lines (from 0, end exclusive) for which it is to be believed.
#[derive(Debug)]
pub struct ParsedPiece {
    pub tree: Tree,
    pub lines: Range<usize>,
    /// That of the file, or of a script in it.
    pub language: &'static Language,
    /// The line from which on it could not be parsed as one, where there is one.
    pub broken: Option<usize>,
}

/// Errors below a sound root after which the rest is parsed again; more are left as they are.
const MAX_RESCUES: usize = 20;

/// Parses a text. Byte offsets of the trees are those of [`Source::text`].
///
/// Where the root itself is an error, what follows the first broken line is parsed again from the next
/// line that begins in column 0; and so it is where an error directly below the root has swallowed such
/// lines.
///
/// A text with a NUL has no pieces: to most scanners that is the end of the text, and nobody knows
/// what they do behind it.
///
/// # Errors
///
/// `Stopped` when `work` is cancelled or out of time, which is asked about every hundred steps of the parser.
pub fn parse(source: Source, language: &'static Language, work: &Work) -> Result<Parsed, Stopped> {
    let mut pieces: Vec<ParsedPiece> = Vec::new();
    if source.has_nul() {
        return Ok(Parsed { source, pieces });
    }
    let mut from = 0;
    let mut rescues = 0;
    loop {
        let rest = source.line_start(from)..source.text().len();
        let tree = parse_range(&source, rest, language, work)?;
        let root = tree.root_node();
        let broken = if root.is_error() {
            Some(first_broken_line(root, from))
        } else if root.has_error() && rescues < MAX_RESCUES {
            rescues += 1;
            swallowing_line(root, &source)
        } else {
            None
        };
        // Of what an error root holds, whole nodes are as good as others: the members of a class that
        // was never finished.
        let next = broken.and_then(|line| next_fresh_line(&source, line));
        let end = match broken {
            Some(_) if root.is_error() => next.unwrap_or(source.len_lines()),
            Some(line) => line,
            None => source.len_lines(),
        };
        if end > from {
            pieces.push(ParsedPiece {
                tree,
                lines: from..end,
                language,
                broken,
            });
        }
        match next {
            Some(line) => from = line,
            None => break,
        }
    }
    let scripts = scripts(&source, &pieces, work)?;
    pieces.extend(scripts);
    Ok(Parsed { source, pieces })
}

/// The scripts of a component, which stand beside its markup, in their own language.
fn scripts(
    source: &Source,
    pieces: &[ParsedPiece],
    work: &Work,
) -> Result<Vec<ParsedPiece>, Stopped> {
    let mut found = Vec::new();
    for piece in pieces.iter().filter(|piece| piece.language.has_scripts()) {
        let root = piece.tree.root_node();
        let mut cursor = root.walk();
        let elements = root.children(&mut cursor);
        for element in elements.filter(|element| element.kind() == "script_element") {
            let (Some(tag), Some(code)) = (element.named_child(0), element.named_child(1)) else {
                continue;
            };
            let tag = source.text().get(tag.byte_range()).unwrap_or_default();
            let lines = code.start_position().row + 1..code.end_position().row;
            // What lies outside the lines of its piece is parsed again with another.
            let within = piece.lines.contains(&lines.start) && lines.end <= piece.lines.end;
            if code.kind() != "raw_text" || lines.is_empty() || !within {
                continue;
            }
            let Some(language) = script_language(tag) else {
                continue;
            };
            found.push(ParsedPiece {
                tree: parse_range(source, code.byte_range(), language, work)?,
                lines,
                language,
                broken: None,
            });
        }
    }
    Ok(found)
}

/// What a `<script lang="ts">` is written in; `None` for data and templates.
fn script_language(tag: &str) -> Option<&'static Language> {
    let words = || tag.split(|c: char| !c.is_alphanumeric());
    let has = |wanted: &str| words().any(|word| word == wanted);
    let name = if has("ts") || has("typescript") {
        "typescript"
    } else if has("tsx") {
        "tsx"
    } else if !has("type") || has("module") || has("javascript") {
        "javascript"
    } else {
        return None;
    };
    languages().iter().find(|language| language.name() == name)
}

/// Parses a part of the text.
fn parse_range(
    source: &Source,
    part: Range<usize>,
    language: &Language,
    work: &Work,
) -> Result<Tree, Stopped> {
    if part == (0..source.text().len()) {
        return parse_whole(source, language, None, work);
    }
    let point = |byte: usize| {
        let row = source.line_of(byte);
        Point::new(row, byte - source.line_start(row))
    };
    let range = tree_sitter::Range {
        start_byte: part.start,
        end_byte: part.end,
        start_point: point(part.start),
        end_point: point(part.end),
    };
    let mut parser = parser(language);
    parser
        .set_included_ranges(&[range])
        // One range cannot overlap another.
        .expect("a single range");
    run(parser, source, None, work)
}

/// Parses all of the text; `old` is the tree of an earlier one, edited as that was.
pub(super) fn parse_whole(
    source: &Source,
    language: &Language,
    old: Option<&Tree>,
    work: &Work,
) -> Result<Tree, Stopped> {
    run(parser(language), source, old, work)
}

fn parser(language: &Language) -> Parser {
    let mut parser = Parser::new();
    parser
        .set_language(language.grammar())
        // A test parses a sample with every grammar, so all of them fit this library.
        .expect("a grammar of this library's version");
    parser
}

fn run(
    mut parser: Parser,
    source: &Source,
    old: Option<&Tree>,
    work: &Work,
) -> Result<Tree, Stopped> {
    work.check()?;
    let bytes = source.text().as_bytes();
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
    let tree = parser.parse_with_options(&mut rest, old, Some(options));
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
