//! What a text defines (classes and other types, functions and methods), by their signatures; annotations, comments and bodies are never part of one.
//!
//! Queries say which nodes are definitions (`@definition`). Every node of several lines is looked into,
//! and of one line so deep as its declaration may be wrapped.

use tree_sitter::{Node, TreeCursor};

use crate::syntax::{Captures, Parsed, PathNode, Piece, Role, Source};
use crate::task::{Stopped, Work};

use super::{Definition, span};

/// Definitions that are kept of one text.
pub const MAX_DEFINITIONS: usize = 10_000;

/// Lines of a signature, and characters of it that are kept.
const MAX_HEAD_LINES: usize = 20;
const MAX_SIGNATURE: usize = 200;

/// Nesting below which nothing is looked for; deeper than any code, and shallow for the stack.
const MAX_DEPTH: usize = 200;
/// How deep a line is looked into (`export default class A {}`).
const MAX_DEPTH_IN_LINE: usize = 3;
/// Steps between two looks at the clock.
const STEPS_PER_CHECK: u32 = 256;

/// The definitions of a parsed text in line order, the first of them.
///
/// # Errors
///
/// `Stopped` when `work` is cancelled or out of time.
pub fn definitions(parsed: &Parsed, work: &Work) -> Result<Vec<Definition>, Stopped> {
    let mut found = Vec::new();
    for piece in &parsed.pieces {
        let captures = piece.language.captures();
        if !captures.has(Role::Definition) {
            continue;
        }
        let mut search = DefinitionSearch {
            source: &parsed.source,
            piece,
            captures,
            work,
            steps: 0,
            way: Vec::new(),
            found: Vec::new(),
        };
        search.children(&mut piece.tree.root_node().walk(), 0)?;
        found.extend(search.found);
    }
    found.sort_by_key(|definition| (definition.span.start, u64::MAX - definition.span.end));
    found.truncate(MAX_DEFINITIONS);
    Ok(found)
}

struct DefinitionSearch<'tree> {
    source: &'tree Source,
    piece: &'tree Piece,
    captures: &'tree Captures,
    work: &'tree Work,
    steps: u32,
    way: Vec<PathNode<'tree>>,
    found: Vec<Definition>,
}

impl<'tree> DefinitionSearch<'tree> {
    /// Looks through the children of the node under the cursor, which is so deep in a line.
    fn children(&mut self, cursor: &mut TreeCursor<'tree>, in_line: usize) -> Result<(), Stopped> {
        let step = PathNode {
            node: cursor.node(),
            field: cursor.field_id(),
        };
        if self.way.len() > MAX_DEPTH || !cursor.goto_first_child() {
            return Ok(());
        }
        self.way.push(step);
        loop {
            self.steps += 1;
            if self.steps.is_multiple_of(STEPS_PER_CHECK) {
                self.work.check()?;
            }
            let node = cursor.node();
            if node.is_named() {
                if self.captures.defines(cursor, &self.way, self.source.text()) {
                    self.add(node);
                }
                let is_long = node.end_position().row > node.start_position().row;
                let in_line = if is_long { 0 } else { in_line + 1 };
                if in_line <= MAX_DEPTH_IN_LINE {
                    self.children(cursor, in_line)?;
                }
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        self.way.pop();
        cursor.goto_parent();
        Ok(())
    }

    fn add(&mut self, node: Node<'tree>) {
        let text = self.source.text();
        let start = start_of(node).unwrap_or(node.start_byte());
        let first = self.source.line_of(start);
        if !self.piece.lines.contains(&first) || self.found.len() >= MAX_DEFINITIONS {
            return;
        }
        let end = node.start_byte() + text[node.byte_range()].trim_end().len();
        let last = self.source.line_of(end.max(start + 1) - 1);
        // Words before it on its line are its own (`export default`, `const`).
        let line_start = self.source.line_start(first);
        let is_word = |c: char| c.is_alphanumeric() || "_ \t".contains(c);
        let from = match text[line_start..start].chars().all(is_word) {
            true => line_start,
            false => start,
        };
        let head_end = body_of(node)
            .filter(|body| self.source.line_of(*body) <= first + MAX_HEAD_LINES)
            .unwrap_or_else(|| {
                let line_end = line_start + self.source.line(first).len();
                let line = &text[start..line_end.clamp(start, end.max(start))];
                let brace = line.find('{').filter(|_| text[..end].ends_with('}'));
                start + brace.unwrap_or(line.len())
            });
        let Some(head) = text.get(from..head_end) else {
            return;
        };
        let mut signature = String::new();
        let words = head.split_whitespace();
        for word in words.chain(type_name(node, text).into_iter().flatten()) {
            if !signature.is_empty() {
                signature.push(' ');
            }
            signature.push_str(word);
        }
        let signature = signature.trim_end_matches(['{', '(', ' ']);
        // A struct without a name, of which something else is made.
        if node.kind().starts_with(signature) {
            return;
        }
        let cut = signature.char_indices().nth(MAX_SIGNATURE);
        self.found.push(Definition {
            span: span(first, last),
            signature: match cut {
                Some((at, _)) => format!("{}…", &signature[..at]),
                None => signature.to_owned(),
            },
        });
    }
}

/// Where a declaration begins, below what only annotates it.
pub(super) fn start_of(node: Node<'_>) -> Option<usize> {
    let mut cursor = node.walk();
    let annotates = |node: &Node<'_>| {
        let kind = node.kind();
        let is_note = ["annotation", "decorator", "attribute", "description"]
            .iter()
            .any(|word| kind.contains(word));
        is_note || node.is_extra()
    };
    let first = node.children(&mut cursor).find(|child| {
        let holds_notes = child.kind().contains("modifiers");
        !annotates(child) && (!holds_notes || start_of(*child).is_some())
    })?;
    match first.kind().contains("modifiers") {
        true => start_of(first),
        false => Some(first.start_byte()),
    }
}

/// Where the body begins: of the node itself, or of the function or class that it gives a name to.
fn body_of(node: Node<'_>) -> Option<usize> {
    if let Some(body) = node.child_by_field_name("body") {
        return Some(body.start_byte());
    }
    let named = ["value", "right", "rhs", "expression"];
    let given = named
        .iter()
        .find_map(|field| node.child_by_field_name(field)?.child_by_field_name("body"));
    let mut cursor = node.walk();
    let looks_like_one =
        |child: &Node<'_>| child.kind().contains("body") || child.kind().contains("block");
    let body = given.or_else(|| node.children(&mut cursor).find(looks_like_one));
    body.map(|body| body.start_byte())
}

/// The name that stands after the body (`typedef struct { … } Name;`).
fn type_name<'t>(node: Node<'_>, text: &'t str) -> Option<std::str::SplitWhitespace<'t>> {
    let whole = node
        .parent()
        .filter(|parent| parent.kind() == "type_definition")?;
    let name = whole.child_by_field_name("declarator")?;
    Some(text.get(name.byte_range())?.split_whitespace())
}
