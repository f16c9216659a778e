//! What a text defines (classes and other types, functions and methods) and declares, by signatures and names; annotations, comments and bodies are never part of a signature.
//!
//! Queries say which nodes are definitions (`@definition`), and which only give a name to something
//! (`@declaration`); the latter count outside of bodies alone. Every node of several lines is looked into,
//! and of one line so deep as its declaration may be wrapped.

use tree_sitter::{Node, TreeCursor};

use crate::syntax::{Captures, ItemHead, Parsed, ParsedPiece, PathNode, Role, Source};
use crate::task::{Stopped, Work};

use super::name::QualifiedName;
use super::node_names::{is_extension, names};
use super::{Definition, Rank, span};

/// Definitions that are kept of one text.
pub const MAX_DEFINITIONS: usize = 20_000;

/// Lines of a signature, and characters of it that are kept.
const MAX_HEAD_LINES: usize = 20;
const MAX_SIGNATURE: usize = 200;

/// Nesting below which nothing is looked for; deeper than any code, and shallow for the stack.
const MAX_DEPTH: usize = 200;
/// How deep a line is looked into (`export default class A {}`).
const MAX_DEPTH_IN_LINE: usize = 5;
/// Kinds that give a name to what they hold, so that it is not in them: `typedef struct { … } Name;`.
const ONLY_NAME: &[&str] = &[
    "type_definition",
    "declaration",
    "field_declaration",
    "variable_declaration",
    "assignment_statement",
];
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
        if !captures.has(Role::Definition) && !captures.has(Role::Declaration) {
            continue;
        }
        let mut search = DefinitionSearch {
            source: &parsed.source,
            piece,
            captures,
            work,
            steps: 0,
            way: Vec::new(),
            around: Vec::new(),
            bodies: 0,
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
    piece: &'tree ParsedPiece,
    captures: &'tree Captures,
    work: &'tree Work,
    steps: u32,
    way: Vec<PathNode<'tree>>,
    /// The definitions around the node under the cursor, outermost first, with their names.
    around: Vec<(Node<'tree>, QualifiedName)>,
    /// Bodies of functions around it.
    bodies: usize,
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
            if cursor.node().is_named() {
                self.node(cursor, in_line)?;
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        self.way.pop();
        cursor.goto_parent();
        Ok(())
    }

    /// Takes what the node under the cursor defines, and looks into it.
    fn node(&mut self, cursor: &mut TreeCursor<'tree>, in_line: usize) -> Result<(), Stopped> {
        let node = cursor.node();
        let (text, around) = (self.source.text(), self.around.len());
        let role = self.captures.defines(cursor, &self.way, text);
        let counts = match role {
            // A macro is known beyond the function that it stands in.
            Some(Role::Declaration) => self.bodies == 0 || node.kind().starts_with("preproc_"),
            role => role.is_some(),
        };
        if counts {
            let names = self.names(node);
            let name = names.first().cloned();
            let rank = match role {
                Some(Role::Declaration) => Rank::Declaration,
                _ if is_extension(node, text) => Rank::Extension,
                _ => Rank::Definition,
            };
            self.add(node, rank, names);
            if !ONLY_NAME.contains(&node.kind()) {
                self.around.extend(name.map(|name| (node, name)));
            }
        }
        let role = self.captures.find(cursor, &self.way, text);
        let role = role.map(|capture| capture.role);
        let is_body = usize::from(matches!(role, Some(Role::Body | Role::Callback)));
        let is_long = node.end_position().row > node.start_position().row;
        let in_line = if is_long { 0 } else { in_line + 1 };
        if in_line <= MAX_DEPTH_IN_LINE {
            self.bodies += is_body;
            self.children(cursor, in_line)?;
            self.bodies -= is_body;
        }
        self.around.truncate(around);
        Ok(())
    }

    /// The names that a node gives, within those of what is around it.
    fn names(&self, node: Node<'tree>) -> Vec<QualifiedName> {
        let own = names(node, self.source.text());
        match self.around.last() {
            Some((_, around)) => own.iter().map(|name| around.with(name)).collect(),
            None => own,
        }
    }

    /// The lines of a definition with its attributes and what documents it.
    fn whole(&self, node: Node<'tree>, last: usize) -> (usize, usize) {
        let head = ItemHead {
            source: self.source,
            language: self.piece.language,
        };
        // What a definition is part of that begins where it begins is what has the attributes.
        let (mut item, mut last) = (node, last);
        for step in self.way.iter().rev() {
            let parent = step.node;
            let is_around = self.around.last().is_some_and(|(it, _)| *it == parent);
            if is_around || !self.is_wrapper(parent, item) {
                break;
            }
            if parent.kind() == "type_definition" {
                last = last.max(self.last_row(parent));
            }
            item = parent;
        }
        let first = head.first_row(item, true);
        (first.min(item.start_position().row), last)
    }

    /// Whether a node has nothing before one of its children but attributes and words of the same
    /// line, and is no list of siblings.
    fn is_wrapper(&self, parent: Node<'tree>, child: Node<'tree>) -> bool {
        let lists = self.piece.language.list_nodes();
        if parent.parent().is_none() || lists.iter().any(|list| list == parent.kind()) {
            return false;
        }
        let begins = &self.source.text()[parent.start_byte()..];
        if begins.starts_with(['{', '(', '[']) && parent.start_byte() != child.start_byte() {
            return false;
        }
        let attributes = self.piece.language.attributes();
        let mut cursor = parent.walk();
        let row = child.start_position().row;
        let mut before = parent.children(&mut cursor);
        let mut before = before
            .by_ref()
            .take_while(|it| it.end_byte() <= child.start_byte());
        before.all(|it| {
            it.start_position().row == row
                || it.kind().contains("comment")
                || attributes.iter().any(|kind| kind == it.kind())
        })
    }

    /// The row of a node's last character that is not blank.
    fn last_row(&self, node: Node<'tree>) -> usize {
        let text = self.source.text()[node.byte_range()].trim_end();
        let end = node.start_byte() + text.len();
        self.source.line_of(end.max(node.start_byte() + 1) - 1)
    }

    fn add(&mut self, node: Node<'tree>, rank: Rank, names: Vec<QualifiedName>) {
        let text = self.source.text();
        let start = start_of(node).unwrap_or(node.start_byte());
        let first = self.source.line_of(start);
        if !self.piece.lines.contains(&first) || self.found.len() >= MAX_DEFINITIONS {
            return;
        }
        let last = self.last_row(node).max(first);
        // Words before it on its line are its own (`export default`, `const`).
        let line_start = self.source.line_start(first);
        let is_word = |c: char| c.is_alphanumeric() || "_ \t".contains(c);
        let from = match text[line_start..start].chars().all(is_word) {
            true => line_start,
            false => start,
        };
        let Some(signature) = self.signature(node, from, start) else {
            return;
        };
        let (whole_first, whole_last) = self.whole(node, last);
        self.found.push(Definition {
            span: span(first, last),
            whole: span(whole_first.min(first), whole_last),
            signature,
            rank,
            names,
        });
    }

    /// What stands before the body, from the word with which its line begins.
    fn signature(&self, node: Node<'tree>, from: usize, start: usize) -> Option<String> {
        let text = self.source.text();
        let first = self.source.line_of(start);
        let end = node.start_byte() + text[node.byte_range()].trim_end().len();
        let head_end = body_of(node)
            .filter(|body| self.source.line_of(*body) <= first + MAX_HEAD_LINES)
            .unwrap_or_else(|| {
                let line_end = self.source.line_start(first) + self.source.line(first).len();
                let line = &text[start..line_end.clamp(start, end.max(start))];
                let brace = line.find('{').filter(|_| text[..end].ends_with('}'));
                start + brace.unwrap_or(line.len())
            });
        let head = text.get(from..head_end)?;
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
            return None;
        }
        Some(match signature.char_indices().nth(MAX_SIGNATURE) {
            Some((at, _)) => format!("{}…", &signature[..at]),
            None => signature.to_owned(),
        })
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
