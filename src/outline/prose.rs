//! Sections of prose: the heading and the first line of the text stay; a heading is never folded.

use tree_sitter::{Node, TreeCursor};

use crate::syntax::{Capture, PathNode, Role};
use crate::task::Stopped;

use super::Fold;
use super::candidate::FoldKind;
use super::geometry::{Shape, shape};
use super::walk::{Walk, WalkState};

/// What a section holds before its first subsection.
#[derive(Default)]
struct Text<'tree> {
    /// The first block under the heading, with its capture if it has one.
    first: Option<(Node<'tree>, Option<Capture>)>,
    /// The line after the last block, counted from 0.
    end: usize,
}

/// The section under the cursor: the lines after the first of its text are one fold, then its
/// subsections follow. A fence, a list or a table that comes first is a fold of its own.
pub(super) fn section<'tree>(
    walk: &Walk<'tree>,
    cursor: &mut TreeCursor<'tree>,
    place: &mut WalkState<'tree>,
) -> Result<(), Stopped> {
    let section = cursor.node();
    let mut text = Text::default();
    let step = PathNode {
        node: section,
        field: cursor.field_id(),
    };
    if !cursor.goto_first_child() {
        return Ok(());
    }
    place.way.push(step);
    loop {
        let node = cursor.node();
        let capture = walk.find(cursor, place);
        match capture.map(|capture| capture.role) {
            Some(Role::Section) => section_once_more(walk, cursor, place)?,
            Some(Role::Heading) => {}
            _ if node.is_named() => {
                text.first.get_or_insert((node, capture));
                text.end = end_line(walk, node);
            }
            _ => {}
        }
        if !cursor.goto_next_sibling() {
            break;
        }
    }
    place.way.pop();
    cursor.goto_parent();
    fold_text(walk, section, &text, place);
    Ok(())
}

/// A subsection, if the nesting is not absurd.
fn section_once_more<'tree>(
    walk: &Walk<'tree>,
    cursor: &mut TreeCursor<'tree>,
    place: &mut WalkState<'tree>,
) -> Result<(), Stopped> {
    if place.way.len() > 100 {
        return Ok(());
    }
    section(walk, cursor, place)
}

fn fold_text<'tree>(
    walk: &Walk<'tree>,
    section: Node<'tree>,
    text: &Text<'tree>,
    place: &mut WalkState<'tree>,
) {
    let Some((first, capture)) = text.first else {
        return;
    };
    let mut shown_end = walk.source.line_of(first.start_byte()) + 1;
    let captured = capture.filter(|capture| capture.role == Role::Literal);
    if let Some(capture) = captured {
        let (start, end) = (first.start_byte(), first.end_byte());
        if let Some(shape) = shape(walk.source, start, end, capture.rest) {
            shown_end = shape.last + 1;
            walk.push(shape, FoldKind::Literal, first, place);
        }
    }
    if shown_end < text.end {
        let rest = Shape {
            first: shown_end,
            last: text.end - 1,
            fold: Fold::default(),
        };
        walk.push(rest, FoldKind::Literal, section, place);
    }
}

/// The line after a block, with the blank lines that follow it.
fn end_line(walk: &Walk<'_>, node: Node<'_>) -> usize {
    let source = walk.source;
    let last = source.line_of(node.end_byte().max(node.start_byte() + 1) - 1);
    let blank = |line: &usize| source.line(*line).trim().is_empty();
    let blanks = (last + 1..source.len_lines()).take_while(blank).count();
    last + 1 + blanks
}
