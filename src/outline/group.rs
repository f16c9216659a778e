//! Neighbours that make one row: line comments, imports, and attributes; a group never spans code.

use tree_sitter::Node;

use crate::syntax::{Captures, Role, Source};

use super::Fold;
use super::candidate::{Candidate, FoldKind, MIN_LINES};
use super::comment;

/// A group of imports up to this many lines stays as it is.
const MAX_IMPORT_LINES: usize = 8;
/// So does a list of attributes.
const MAX_ATTRIBUTE_LINES: usize = 3;

/// The comments, imports or attributes that stand together so far.
pub(super) struct Group<'tree> {
    captures: &'tree Captures,
    open: Option<OpenGroup<'tree>>,
}

struct OpenGroup<'tree> {
    role: Role,
    first: usize,
    last: usize,
    opener: &'static str,
    members: usize,
    node: Node<'tree>,
}

impl<'tree> Group<'tree> {
    pub fn new(captures: &'tree Captures) -> Group<'tree> {
        Group {
            captures,
            open: None,
        }
    }

    /// Takes a comment, an import or an attribute in; what cannot stand with it ends before it and is returned.
    pub fn push(
        &mut self,
        source: &Source,
        role: Role,
        node: Node<'tree>,
        min_lines: usize,
    ) -> Option<Candidate<'tree>> {
        let (first, last) = own_lines(source, node)?;
        let opener = match role {
            Role::Import | Role::Attribute => "",
            _ => comment::opener(source.line(first)),
        };
        if let Some(open) = &mut self.open
            && open.role == role
            && open.opener == opener
            && stands_with(source, open, role, first, last)
        {
            open.last = last;
            open.members += 1;
            return None;
        }
        let ended = self.end(source, min_lines);
        // A shebang is no part of the comment under it.
        if !(first == 0 && source.line(0).starts_with("#!") && role == Role::Comment) {
            self.open = Some(OpenGroup {
                role,
                first,
                last,
                opener,
                members: 1,
                node,
            });
        }
        ended
    }

    /// Ends the group, which is returned when it is long enough to fold.
    pub fn end(&mut self, source: &Source, min_lines: usize) -> Option<Candidate<'tree>> {
        let open = self.open.take()?;
        let lines = open.last + 1 - open.first;
        let long = match open.role {
            Role::Import => lines > MAX_IMPORT_LINES,
            Role::Attribute => lines > MAX_ATTRIBUTE_LINES,
            Role::Doc => lines >= MIN_LINES,
            _ if comment::is_doc_opener(open.opener) => lines >= MIN_LINES,
            _ => lines >= min_lines.max(MIN_LINES),
        };
        if !long {
            return None;
        }
        let fold = match open.role {
            Role::Import | Role::Attribute => by_first_line(source, &open),
            _ => comment::fold(source, open.first, open.last),
        };
        Some(Candidate {
            first: open.first,
            last: open.last,
            fold,
            kind: FoldKind::Closed,
            node: open.node,
            captures: self.captures,
            way: Vec::new(),
        })
    }
}

/// The lines of a node that has them for itself, counted from 0.
fn own_lines(source: &Source, node: Node<'_>) -> Option<(usize, usize)> {
    let text = source.text();
    let start = node.start_byte();
    let end = start + text.get(start..node.end_byte())?.trim_end().len();
    let first = source.line_of(start);
    let last = source.line_of(end.max(start + 1) - 1);
    let before = &text[source.line_start(first)..start];
    let after = text.get(end..source.line_start(last + 1)).unwrap_or("");
    let alone =
        before.trim().is_empty() && after.trim_matches([';', ' ', '\t', '\r', '\n']).is_empty();
    alone.then_some((first, last))
}

/// Line comments stand together on adjacent lines; between imports blank lines may stand.
fn stands_with(
    source: &Source,
    open: &OpenGroup<'_>,
    role: Role,
    first: usize,
    last: usize,
) -> bool {
    if first <= open.last {
        return false;
    }
    if role == Role::Attribute {
        return first == open.last + 1;
    }
    if role == Role::Import {
        return (open.last + 1..first).all(|line| source.line(line).trim().is_empty());
    }
    let single_lines = first == last && open.last + 1 - open.first == open.members;
    single_lines && first == open.last + 1
}

/// A single import or attribute between brackets is a row with its head and tail, a group one with its
/// first line.
fn by_first_line(source: &Source, open: &OpenGroup<'_>) -> Fold {
    let head = source.line(open.first).trim_end();
    let tail = source.line(open.last).trim();
    let closes = tail.starts_with(['}', ')', ']']);
    if open.members == 1 && head.ends_with(['{', '(', '[']) && closes {
        return Fold {
            head: head.to_owned(),
            tail: tail.to_owned(),
            shows_first: true,
            shows_last: true,
        };
    }
    Fold {
        head: head.to_owned(),
        ..Fold::default()
    }
}
