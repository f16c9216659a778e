//! The block that begins at a line, found in the syntax tree of its text, never guessed from indentation or brackets.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::sections::{Sections, is_of_section};
use crate::hashline::{BlockAt, NoBlock, NoBlockReason};
use crate::protocol::read::LineSpan;
use crate::syntax::{ItemHead, Language, Parsed, ParsedPiece, Source};

/// Rows at the end of a node that are looked at for comments on what comes next.
const MAX_COMMENT_ROWS: usize = 200;

/// The blocks of one parsed text.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    parsed: &'a Parsed,
    language: &'static Language,
    /// Of prose.
    sections: Option<Sections>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(parsed: &'a Parsed, language: &'static Language) -> Blocks<'a> {
        let tree = parsed.pieces.first().map(|piece| &piece.tree);
        let prose = tree.filter(|_| language.is_prose());
        Blocks {
            sections: prose.map(|tree| Sections::new(tree, parsed.source.len_lines())),
            language,
            parsed,
        }
    }

    /// The block that begins at `line`, which counts from 1: of the named nodes that begin with the
    /// first character of the line and are more than a list of siblings, the largest. Of a heading of
    /// prose it is the section. Comments on what comes next are no part of a block. At an attribute
    /// or decorator it is the item with all of them; `with_docs` it is so at the item too, and its
    /// doc comments belong to it.
    ///
    /// # Errors
    ///
    /// `NoBlock` where none does, or it is one line, or has a syntax error.
    pub(super) fn at(&self, at: BlockAt) -> Result<LineSpan, NoBlock> {
        let BlockAt { line, with_docs } = at;
        let row = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        let Parsed { source, pieces } = self.parsed;
        match pieces.iter().find(|piece| piece.lines.contains(&row)) {
            Some(piece) => BlockFinder {
                source,
                piece,
                blocked: self,
            }
            .at_with_attributes(row, with_docs),
            None if source.line(row).trim().is_empty() => Err(none(NoBlockReason::Blank)),
            None => Err(none(NoBlockReason::Broken)),
        }
    }
}

fn none(reason: NoBlockReason) -> NoBlock {
    NoBlock {
        reason,
        enclosing: None,
    }
}

/// Looks for blocks in one tree. Rows and bytes count from 0.
struct BlockFinder<'a> {
    source: &'a Source,
    piece: &'a ParsedPiece,
    blocked: &'a Blocks<'a>,
}

impl<'a> BlockFinder<'a> {
    fn at_with_attributes(&self, row: usize, with_docs: bool) -> Result<LineSpan, NoBlock> {
        let start = self.source.line_start(row);
        let indent = indent(self.source.line(row));
        let (Some(indent), None) = (indent, &self.blocked.sections) else {
            return self.at(row);
        };
        let way = way_to(&self.piece.tree, start + indent);
        let head = ItemHead {
            source: self.source,
            language: self.blocked.language,
        };
        let Some(item) = head.item_at(&way, start + indent, with_docs) else {
            return self.at(row);
        };
        let first = head.first_row(item, with_docs);
        if first == row && item.start_position().row == row {
            return self.at(row);
        }
        let blocks = self.openings(&way);
        let refused = |reason| Err(self.no_block(reason, &blocks, row));
        let (own, last) = (item.start_position().row, self.last_row(item));
        let believed = self.piece.lines.contains(&first) && self.piece.lines.contains(&last);
        if !believed || item.has_error() {
            return refused(NoBlockReason::Broken);
        }
        let span = several(first..self.last_own_row(item, last.max(own)) + 1);
        match span {
            None => refused(NoBlockReason::OneLine),
            Some(span) if self.is_alone_at_its_end(item, span) => Ok(span),
            Some(_) => refused(NoBlockReason::SharesLine),
        }
    }

    fn at(&self, row: usize) -> Result<LineSpan, NoBlock> {
        let start = self.source.line_start(row);
        let Some(indent) = indent(self.source.line(row)) else {
            let blocks = self.openings(&way_to(&self.piece.tree, start));
            return Err(self.no_block(NoBlockReason::Blank, &blocks, row));
        };
        let byte = start + indent;
        let way = way_to(&self.piece.tree, byte);
        let blocks = self.openings(&way);
        let opening = blocks
            .last()
            .copied()
            .filter(|node| node.start_byte() == byte);
        let sections = self.blocked.sections.as_ref();
        let found = match sections.and_then(|sections| sections.at(row)) {
            Some(section) => {
                let bare = self.no_block(NoBlockReason::OneLine, &blocks, row);
                return several(section).ok_or(bare);
            }
            None => opening.and_then(|node| self.sound_span(node)),
        };
        if let (Some(span), Some(node)) = (found, opening) {
            return match self.is_alone_at_its_end(node, span) {
                true => Ok(span),
                false => Err(self.no_block(NoBlockReason::SharesLine, &blocks, row)),
            };
        }
        let is_broken = match opening {
            Some(node) => node.has_error(),
            // A bare token of what could not be made a node.
            None => way.iter().rev().take(2).any(Node::is_error),
        };
        let reason = if self.closes(row, &way, &blocks) {
            NoBlockReason::Closing
        } else if is_broken {
            NoBlockReason::Broken
        } else if opening.is_none_or(|node| self.is_part_of_line(node)) {
            NoBlockReason::Inside
        } else {
            NoBlockReason::OneLine
        };
        Err(self.no_block(reason, &blocks, row))
    }

    fn no_block(&self, reason: NoBlockReason, blocks: &[Node<'_>], row: usize) -> NoBlock {
        let around = blocks
            .iter()
            .rev()
            .filter(|node| self.last_row(**node) >= row && !self.is_attribute(**node))
            .filter_map(|node| Some((*node, self.sound_span(*node)?)))
            .filter(|(node, span)| self.is_alone_at_its_end(*node, *span))
            .map(|(_, span)| span)
            .find(|span| span.end > row as u64);
        let sections = self.blocked.sections.as_ref();
        let section = || sections.and_then(|sections| several(sections.around(row)?));
        NoBlock {
            reason,
            enclosing: around.or_else(section),
        }
    }

    /// Of the nodes on a way those that are the block of the line they begin, outermost first.
    ///
    /// All nodes that begin at one byte and hold another byte lie on the way to that, so what is the
    /// largest here is the largest there is.
    fn openings<'tree>(&self, way: &[Node<'tree>]) -> Vec<Node<'tree>> {
        let mut found: Vec<Node<'tree>> = Vec::new();
        let mut first_of_row = (usize::MAX, 0);
        for node in way {
            let (start, row) = (node.start_byte(), node.start_position().row);
            if first_of_row.0 != row {
                let indent = indent(self.source.line(row)).unwrap_or(0);
                first_of_row = (row, self.source.line_start(row) + indent);
            }
            let begins_line = first_of_row.1 == start;
            let is_larger = found.last().is_none_or(|last| last.start_byte() != start);
            if begins_line && is_larger && node.is_named() && !self.is_list(*node) {
                found.push(*node);
            }
        }
        found
    }

    /// Whether a node only holds siblings. Sections of prose are looked up elsewhere.
    fn is_list(&self, node: Node<'_>) -> bool {
        let lists = self.blocked.language.list_nodes();
        lists.iter().any(|list| list == node.kind())
            || (self.blocked.sections.is_some() && is_of_section(node))
    }

    /// Whether a node is but a part of the head of an item: its block is the item's.
    fn is_attribute(&self, node: Node<'_>) -> bool {
        let kinds = self.blocked.language.attributes();
        kinds.iter().any(|kind| kind == node.kind())
    }

    /// The lines of a node, if they are several, without an error, and of the part of the tree that
    /// is to be believed.
    fn sound_span(&self, node: Node<'_>) -> Option<LineSpan> {
        let (first, last) = (node.start_position().row, self.last_row(node));
        let believed = self.piece.lines.contains(&first) && self.piece.lines.contains(&last);
        if !believed || node.has_error() {
            return None;
        }
        several(first..self.last_own_row(node, last) + 1)
    }

    /// The last row of a node without comments at its end that stand no deeper than the node begins:
    /// where nothing closes a node, grammars give it what is said of the next one.
    fn last_own_row(&self, node: Node<'_>, last: usize) -> usize {
        let (first, column) = (node.start_position().row, node.start_position().column);
        let is_own = |row: usize| {
            let Some(indent) = indent(self.source.line(row)) else {
                return false;
            };
            let byte = self.source.line_start(row) + indent;
            let is_comment = |node: &Node<'_>| node.is_extra() && node.start_byte() == byte;
            indent > column || !way_to(&self.piece.tree, byte).iter().any(is_comment)
        };
        let mut rows = (first..=last).rev().take(MAX_COMMENT_ROWS);
        rows.find(|row| *row == first || is_own(*row))
            .unwrap_or(last)
    }

    /// The row of a node's last character that is not blank. Grammars let a node end anywhere up to
    /// what comes next, in Swift in the midst of the indentation before that.
    fn last_row(&self, node: Node<'_>) -> usize {
        let text = self.text(node.byte_range()).trim_end();
        let last = node.start_byte() + text.len().saturating_sub(1);
        self.source.line_of(last)
    }

    /// Whether the line only ends a block that began above: it begins with the closer of something,
    /// and the block goes no further. `} else {` closes a body, but what goes after it goes into
    /// another.
    fn closes(&self, row: usize, way: &[Node<'_>], blocks: &[Node<'_>]) -> bool {
        let began_above = |node: &&Node<'_>| node.start_position().row < row;
        let begins = way.partition_point(|node| node.start_position().row < row);
        // The holder began above, and ends with what the line begins with.
        let (above, begun) = way.split_at(begins);
        let (Some(holder), Some(outermost), Some(leaf)) =
            (above.last(), begun.first(), begun.last())
        else {
            return false;
        };
        let rest = self.text(outermost.end_byte()..holder.end_byte());
        let ends_here = |node: &Node<'_>| self.last_row(*node) == row;
        is_closer(self.text(leaf.byte_range()), *leaf)
            && rest.trim().is_empty()
            && blocks.iter().filter(began_above).any(ends_here)
            && !self.opens_later(row, leaf.start_byte())
    }

    /// Whether a node that begins a line is but the beginning of what is there, so that all of it
    /// belongs to something that began above: `void` of a method below its annotation.
    fn is_part_of_line(&self, node: Node<'_>) -> bool {
        let row = node.start_position().row;
        let end = self.source.line_start(row) + self.source.line(row).len();
        let rest = self.text(node.end_byte()..end).trim_start();
        let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        goes_on || self.opens_later(row, node.start_byte())
    }

    /// Whether nothing follows a block on its last line but what ends a statement or an item, and
    /// comments.
    fn is_alone_at_its_end(&self, node: Node<'_>, span: LineSpan) -> bool {
        let last = (span.end - 1) as usize;
        let line_end = self.source.line_start(last) + self.source.line(last).len();
        let mut after = node.end_byte();
        loop {
            // A node that ends further down, or before trailing comments, has its last line alone.
            let Some(rest) = self.source.text().get(after..line_end) else {
                return true;
            };
            let marks = |c: char| c.is_whitespace() || c == ',' || c == ';';
            let rest = rest.trim_start_matches(marks);
            let byte = line_end - rest.len();
            let comment = way_to(&self.piece.tree, byte)
                .into_iter()
                .find(|node| node.is_extra() && node.start_byte() == byte);
            match comment {
                _ if rest.is_empty() => return true,
                Some(comment) if comment.end_byte() > byte => after = comment.end_byte(),
                _ => return false,
            }
        }
    }

    /// Empty where the range is none of the text.
    fn text(&self, range: Range<usize>) -> &'a str {
        self.source.text().get(range).unwrap_or_default()
    }

    /// Whether after its first token the line begins something that goes on below.
    fn opens_later(&self, row: usize, byte: usize) -> bool {
        let line = self.source.line(row).trim_end();
        let last = self.source.line_start(row) + line.len().saturating_sub(1);
        way_to(&self.piece.tree, last).iter().any(|node| {
            node.start_byte() > byte
                && node.start_position().row == row
                && self.last_row(*node) > row
        })
    }
}

/// The nodes that hold a byte, from the root's child inwards. The root is no block: it is the file.
fn way_to(tree: &Tree, byte: usize) -> Vec<Node<'_>> {
    let mut cursor = tree.walk();
    let mut way = Vec::new();
    while cursor.goto_first_child_for_byte(byte).is_some() && cursor.node().start_byte() <= byte {
        way.push(cursor.node());
    }
    way
}

/// Rows as lines, if they are several.
fn several(rows: Range<usize>) -> Option<LineSpan> {
    (rows.len() > 1).then_some(LineSpan {
        start: rows.start as u64 + 1,
        end: rows.end as u64,
    })
}

/// The byte of the first character that is not blank.
fn indent(line: &str) -> Option<usize> {
    line.find(|c: char| !c.is_whitespace())
}

/// Whether a token closes, by its looks.
fn is_closer(text: &str, leaf: Node<'_>) -> bool {
    const MARKS: &[&str] = &[
        "}", ")", "]", "</", "/>", "{/", "|]", "```", "~~~", "\"\"\"", "'''", "$$",
    ];
    const WORDS: &[&str] = &[
        "end",
        "fi",
        "done",
        "esac",
        "endif",
        "endfor",
        "endforeach",
        "endwhile",
        "endswitch",
        "endfunction",
        "endef",
        "endmacro",
        "#endif",
    ];
    // An identifier may be called like a keyword of another language.
    let is_word = !leaf.is_named() || leaf.kind().to_ascii_lowercase().contains("end");
    MARKS.iter().any(|mark| text.starts_with(mark))
        || (is_word && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)))
}
