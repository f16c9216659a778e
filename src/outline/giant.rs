//! Bodies too long for one row, opened one level: the functions, classes and sections in them are rows, the lines between them ranges.
//!
//! What defines something stays with its head, as it would outside. A section is a statement of many
//! lines, or a comment that looks like a heading: its first line stays.

use tree_sitter::{Node, TreeCursor};

use crate::syntax::{PathNode, Role};
use crate::task::Stopped;

use super::Fold;
use super::candidate::{Candidate, FoldKind, MIN_LINES};
use super::comment;
use super::geometry::Shape;
use super::walk::{WAY, Walk, WalkState};

/// Lines up to which a body is one row.
pub(super) const GIANT: usize = 150;
/// Lines from which a statement is a section.
const SECTION: usize = 20;
/// How deep a line is looked into, as for definitions.
const MAX_DEPTH_IN_LINE: usize = 3;
/// Nesting below which nothing is looked for.
const MAX_DEPTH: usize = 200;

/// What of a body stays, from lines counted from 0.
#[derive(Default)]
struct Opening<'tree> {
    /// Lines that are rows where nothing folds in them, both ends inclusive.
    kept: Vec<(usize, usize)>,
    folds: Vec<Candidate<'tree>>,
}

/// The folds inside the body under the cursor; `None` where nothing in it would have a row.
pub(super) fn opened<'tree>(
    walk: &Walk<'tree>,
    cursor: &mut TreeCursor<'tree>,
    shape: &Shape,
    place: &mut WalkState<'tree>,
) -> Result<Option<Vec<Candidate<'tree>>>, Stopped> {
    let body = cursor.node();
    let mut opening = Opening::default();
    opening.look_into(walk, cursor, place, (0, true))?;
    if opening.kept.is_empty() {
        return Ok(None);
    }
    let is_delimited = !shape.fold.head.is_empty();
    let first = shape.first + usize::from(is_delimited);
    let last = shape.last - usize::from(!shape.fold.tail.is_empty());
    let from = place.way.len().saturating_sub(WAY);
    let gap = |first, last| Candidate {
        first,
        last,
        fold: Fold::default(),
        kind: FoldKind::Function,
        node: body,
        captures: place.captures,
        way: place.way[from..].to_vec(),
    };
    let mut taken = opening.kept;
    taken.extend(opening.folds.iter().map(|fold| (fold.first, fold.last)));
    taken.sort_unstable();
    let mut folds = opening.folds;
    let mut next = first;
    for (start, end) in taken.into_iter().chain([(last + 1, last + 1)]) {
        if start >= next + MIN_LINES {
            folds.push(gap(next, start.min(last + 1) - 1));
        }
        next = next.max(end + 1);
    }
    Ok(Some(folds))
}

impl<'tree> Opening<'tree> {
    /// Looks through the children of the node under the cursor, which is so deep in a line; for
    /// sections too, if those of a part as long are to be rows.
    fn look_into(
        &mut self,
        walk: &Walk<'tree>,
        cursor: &mut TreeCursor<'tree>,
        place: &mut WalkState<'tree>,
        (in_line, sections): (usize, bool),
    ) -> Result<(), Stopped> {
        let step = PathNode {
            node: cursor.node(),
            field: cursor.field_id(),
        };
        if place.way.len() > MAX_DEPTH || !cursor.goto_first_child() {
            return Ok(());
        }
        place.way.push(step);
        loop {
            walk.count_step()?;
            if cursor.node().is_named() {
                self.take(walk, cursor, place, (in_line, sections))?;
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        place.way.pop();
        cursor.goto_parent();
        Ok(())
    }

    fn take(
        &mut self,
        walk: &Walk<'tree>,
        cursor: &mut TreeCursor<'tree>,
        place: &mut WalkState<'tree>,
        (in_line, sections): (usize, bool),
    ) -> Result<(), Stopped> {
        let node = cursor.node();
        let text = walk.source.text();
        let (first, last) = (node.start_position().row, node.end_position().row);
        if place.captures.defines(cursor, &place.way, text) == Some(Role::Definition) {
            self.kept.push((first, last));
            let outer = std::mem::take(&mut place.found);
            walk.children(cursor, place)?;
            self.folds
                .extend(std::mem::replace(&mut place.found, outer));
            return Ok(());
        }
        let role = walk.find(cursor, place).map(|capture| capture.role);
        if matches!(role, Some(Role::Comment | Role::Doc)) {
            if sections && is_heading(walk, first) {
                self.kept.push((first, first));
            }
            return Ok(());
        }
        let lines = last + 1 - first;
        let mut within = sections && lines > GIANT;
        if sections && lines >= SECTION && begins_line(walk, node) {
            self.kept.push((first, first));
        } else {
            // What only holds the statements of one is no part of its own.
            within |= sections && lines >= SECTION && !is_function(role);
        }
        if is_function(role) && lines <= GIANT {
            return Ok(());
        }
        let in_line = if lines > 1 { 0 } else { in_line + 1 };
        if in_line <= MAX_DEPTH_IN_LINE {
            self.look_into(walk, cursor, place, (in_line, within))?;
        }
        Ok(())
    }
}

fn is_function(role: Option<Role>) -> bool {
    matches!(role, Some(Role::Body | Role::Callback))
}

/// Whether a node is the first thing on its line, and neither a mere bracket nor what only holds others.
fn begins_line(walk: &Walk<'_>, node: Node<'_>) -> bool {
    let holds_others = ["block", "body", "statements", "statement_list"];
    if holds_others.iter().any(|it| node.kind().contains(it)) {
        return false;
    }
    let start = node.start_byte();
    let line_start = walk.source.line_start(walk.source.line_of(start));
    let text = walk.source.text();
    text[line_start..start].trim().is_empty() && !text[start..].starts_with(['{', '(', '['])
}

/// Whether the comment on a line names what follows: between rules, or after one, or by its word.
fn is_heading(walk: &Walk<'_>, line: usize) -> bool {
    let text = |line: usize| comment::text_of_line(walk.source.line(line));
    let own = text(line);
    let named = ["region", "#region", "MARK:"]
        .iter()
        .any(|word| own.starts_with(word));
    let has_rule = ["---", "===", "***", "###", "───", "~~~"]
        .iter()
        .any(|rule| own.contains(rule));
    let has_letters = own.contains(|c: char| c.is_alphanumeric());
    let above = line.checked_sub(1).map(text);
    let is_below_rule = above.is_some_and(|above| {
        above.chars().count() >= 3 && above.chars().all(|c| c.is_ascii_punctuation() || c == '─')
    });
    has_letters && (named || has_rule || is_below_rule)
}
