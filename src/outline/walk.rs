//! The walk over a tree that finds what could be folded; it never goes into what stands on one line.

use std::cell::Cell;
use std::ops::Range;

use tree_sitter::{Node, TreeCursor};

use crate::syntax::{Capture, Captures, ParsedPiece, PathNode, Role, Source};
use crate::task::{Stopped, Work};

use super::Rules;
use super::candidate::{Candidate, FoldKind, MIN_LINES, settle};
use super::geometry::{Shape, shape, shape_of_body};
use super::giant::{self, GIANT};
use super::group::Group;
use super::prose;

/// Nesting below which nothing is looked for; deeper than any code, and shallow for the stack.
const MAX_DEPTH: usize = 200;
/// Steps between two looks at the clock.
const STEPS_PER_CHECK: u32 = 256;
/// Bodies with an error that stay open; where there are more, the grammar does not know the macros
/// that are used, and whoever reads the file does not look for these errors.
const MAX_BROKEN: usize = 3;
/// Ancestors of a node that a pattern may name.
pub(super) const WAY: usize = 4;

pub(super) struct Walk<'tree> {
    pub source: &'tree Source,
    min_lines: usize,
    work: &'tree Work,
    steps: Cell<u32>,
    /// Bodies with an error so far.
    broken: Cell<usize>,
    folds_broken: Cell<bool>,
}

/// Where a walk is: what it has found, and how it goes on.
pub(super) struct WalkState<'tree> {
    /// Those of the language of the piece.
    pub captures: &'tree Captures,
    pub way: Vec<PathNode<'tree>>,
    pub found: Vec<Candidate<'tree>>,
    /// Whether what holds functions is looked through. Inside an opened body nothing is.
    scopes: bool,
}

impl<'tree> Walk<'tree> {
    pub fn new(source: &'tree Source, rules: Rules, work: &'tree Work) -> Walk<'tree> {
        Walk {
            source,
            min_lines: rules.min_body_lines.max(MIN_LINES),
            work,
            steps: Cell::new(0),
            broken: Cell::new(0),
            folds_broken: Cell::new(false),
        }
    }

    /// The outermost folds of all pieces.
    pub fn pieces(&self, pieces: &'tree [ParsedPiece]) -> Result<Vec<Candidate<'tree>>, Stopped> {
        let found = self.outermost(pieces)?;
        if self.broken.get() <= MAX_BROKEN {
            return Ok(found);
        }
        self.folds_broken.set(true);
        self.outermost(pieces)
    }

    fn outermost(&self, pieces: &'tree [ParsedPiece]) -> Result<Vec<Candidate<'tree>>, Stopped> {
        let mut found = Vec::new();
        for piece in pieces {
            let root = piece.tree.root_node();
            let captures = piece.language.captures();
            found.extend(self.below(root, (Vec::new(), captures), &piece.lines, true)?);
        }
        // A script is a piece among the lines of another, which may fold it where there are errors.
        Ok(settle(found, &(0..self.source.len_lines())))
    }

    /// The outermost folds inside one that is opened.
    pub fn inside(&self, opened: &Candidate<'tree>) -> Result<Vec<Candidate<'tree>>, Stopped> {
        let lines = opened.first..opened.last + 1;
        let way = (opened.way.clone(), opened.captures);
        self.below(opened.node, way, &lines, false)
    }

    fn below(
        &self,
        node: Node<'tree>,
        (way, captures): (Vec<PathNode<'tree>>, &'tree Captures),
        lines: &Range<usize>,
        scopes: bool,
    ) -> Result<Vec<Candidate<'tree>>, Stopped> {
        let mut place = WalkState {
            captures,
            way,
            found: Vec::new(),
            scopes,
        };
        self.children(&mut node.walk(), &mut place)?;
        Ok(settle(place.found, lines))
    }

    /// Visits the children of the node under the cursor.
    pub fn children(
        &self,
        cursor: &mut TreeCursor<'tree>,
        place: &mut WalkState<'tree>,
    ) -> Result<(), Stopped> {
        if place.way.len() > MAX_DEPTH {
            return Ok(());
        }
        let step = PathNode {
            node: cursor.node(),
            field: cursor.field_id(),
        };
        if !cursor.goto_first_child() {
            return Ok(());
        }
        place.way.push(step);
        let mut group = Group::new(place.captures);
        loop {
            self.count_step()?;
            self.visit(cursor, &mut group, place)?;
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        place.found.extend(group.end(self.source, self.min_lines));
        place.way.pop();
        cursor.goto_parent();
        Ok(())
    }

    fn visit(
        &self,
        cursor: &mut TreeCursor<'tree>,
        group: &mut Group<'tree>,
        place: &mut WalkState<'tree>,
    ) -> Result<(), Stopped> {
        let node = cursor.node();
        let capture = self.find(cursor, place);
        if let Some(Capture { role, .. }) = capture
            && matches!(
                role,
                Role::Comment | Role::Doc | Role::Import | Role::Attribute
            )
        {
            let ended = group.push(self.source, role, node, self.min_lines);
            place.found.extend(ended);
            return Ok(());
        }
        let several_lines = node.end_position().row > node.start_position().row;
        if several_lines || (node.is_named() && !node.is_extra()) {
            place.found.extend(group.end(self.source, self.min_lines));
        }
        if several_lines {
            self.long_node(cursor, capture, place)?;
        }
        Ok(())
    }

    /// A node of more than one line.
    fn long_node(
        &self,
        cursor: &mut TreeCursor<'tree>,
        capture: Option<Capture>,
        place: &mut WalkState<'tree>,
    ) -> Result<(), Stopped> {
        let Some(capture) = capture else {
            return self.children(cursor, place);
        };
        match capture.role {
            Role::Keep | Role::Heading => Ok(()),
            Role::Section => prose::section(self, cursor, place),
            Role::Body => self.body(cursor, capture, place),
            Role::Callback => self.scope(cursor, capture, FoldKind::Function, place),
            Role::Literal => self.scope(cursor, capture, FoldKind::Literal, place),
            Role::Markup => self.scope(cursor, capture, FoldKind::Markup, place),
            Role::Container
            | Role::Comment
            | Role::Doc
            | Role::Import
            | Role::Attribute
            | Role::Definition
            | Role::Declaration => self.children(cursor, place),
        }
    }

    /// The body of a function. One that is too long for a row is opened. One with an error in it
    /// stays, and what is sound in it folds, unless there are many of them and this one ends where
    /// its head begins.
    fn body(
        &self,
        cursor: &mut TreeCursor<'tree>,
        capture: Capture,
        place: &mut WalkState<'tree>,
    ) -> Result<(), Stopped> {
        let node = cursor.node();
        let is_giant = node.end_position().row - node.start_position().row >= GIANT;
        if node.has_error() && !is_giant {
            self.broken.set(self.broken.get() + 1);
            if !self.folds_broken.get() || !self.is_closed(node) {
                return self.children(cursor, place);
            }
        }
        let doc = self.leading_doc(cursor, place);
        let Some(mut shape) = shape_of_body(self.source, node, capture.rest) else {
            return Ok(());
        };
        let is_open = shape.fold.head.is_empty();
        let mut min_lines = self.min_lines;
        if let Some(doc) = doc.filter(|_| is_open) {
            let below = self.source.line_of(doc.end_byte().saturating_sub(1)) + 1;
            // It is a part of the body, and counts.
            let of_doc = below.saturating_sub(shape.first);
            min_lines = min_lines.saturating_sub(of_doc).max(MIN_LINES);
            shape.first = below;
            let mut group = Group::new(place.captures);
            group.push(self.source, Role::Doc, doc, self.min_lines);
            place.found.extend(group.end(self.source, self.min_lines));
        }
        if is_giant && let Some(opened) = giant::opened(self, cursor, &shape, place)? {
            place.found.extend(opened);
            return Ok(());
        }
        self.push_from(min_lines, shape, FoldKind::Function, node, place);
        Ok(())
    }

    /// Whether a node stands between braces, the closing one under the head of the opening one, and
    /// no line between them begins where the head does: such a one it has swallowed.
    fn is_closed(&self, node: Node<'_>) -> bool {
        let indentation = |line: &str| line.len() - line.trim_start().len();
        let head = self.source.line(node.start_position().row);
        let last = self.source.line(node.end_position().row);
        let text = self.source.text().get(node.byte_range()).unwrap_or("");
        let is_swallowed = |line: &str| {
            let own = line.trim();
            indentation(line) <= indentation(head)
                && own.starts_with(char::is_alphabetic)
                && !own.ends_with(':')
        };
        let mut between = node.start_position().row + 1..node.end_position().row;
        text.starts_with('{')
            && !between.any(|line| is_swallowed(self.source.line(line)))
            && last.trim_start().starts_with('}')
            && indentation(head) == indentation(last)
    }

    /// The docstring with which the body under the cursor begins.
    fn leading_doc(
        &self,
        cursor: &mut TreeCursor<'tree>,
        place: &mut WalkState<'tree>,
    ) -> Option<Node<'tree>> {
        if !place.captures.has(Role::Doc) {
            return None;
        }
        place.way.push(PathNode {
            node: cursor.node(),
            field: cursor.field_id(),
        });
        let mut doc = None;
        if cursor.goto_first_child() {
            let capture = self.find(cursor, place);
            doc = capture
                .filter(|capture| capture.role == Role::Doc)
                .map(|_| cursor.node());
            cursor.goto_parent();
        }
        place.way.pop();
        doc
    }

    /// A callback, a literal or an element: one fold, unless it is there to hold what folds itself,
    /// as a group of tests or a map of functions is.
    fn scope(
        &self,
        cursor: &mut TreeCursor<'tree>,
        capture: Capture,
        kind: FoldKind,
        place: &mut WalkState<'tree>,
    ) -> Result<(), Stopped> {
        let node = cursor.node();
        if node.has_error() {
            return self.children(cursor, place);
        }
        let (start, end) = (node.start_byte(), node.end_byte());
        let Some(shape) = shape(self.source, start, end, capture.rest) else {
            return Ok(());
        };
        let lines = shape.last + 1 - shape.first;
        if lines < self.min_lines {
            return Ok(());
        }
        if place.scopes && may_hold(place.captures, kind) {
            let outer = std::mem::take(&mut place.found);
            self.children(cursor, place)?;
            let inner = std::mem::replace(&mut place.found, outer);
            if self.is_scope(kind, lines, &inner) {
                place.found.extend(inner);
                return Ok(());
            }
        }
        if kind == FoldKind::Function
            && lines > GIANT
            && let Some(opened) = giant::opened(self, cursor, &shape, place)?
        {
            place.found.extend(opened);
            return Ok(());
        }
        self.push(shape, kind, node, place);
        Ok(())
    }

    /// Whether a fold mostly holds functions, or is most of a file of markup.
    fn is_scope(&self, kind: FoldKind, lines: usize, inner: &[Candidate<'_>]) -> bool {
        let wanted = match kind {
            FoldKind::Markup => FoldKind::Markup,
            _ => FoldKind::Function,
        };
        let held = || inner.iter().filter(|candidate| candidate.kind == wanted);
        let held_lines: usize = held().map(Candidate::lines).sum();
        let most = held_lines * 2 >= lines;
        match kind {
            FoldKind::Markup => most && lines * 2 > self.source.len_lines(),
            _ => most && held().count() >= 2,
        }
    }

    /// Adds a fold if it is long enough.
    pub fn push(
        &self,
        shape: Shape,
        kind: FoldKind,
        node: Node<'tree>,
        place: &mut WalkState<'tree>,
    ) {
        self.push_from(self.min_lines, shape, kind, node, place);
    }

    fn push_from(
        &self,
        min_lines: usize,
        shape: Shape,
        kind: FoldKind,
        node: Node<'tree>,
        place: &mut WalkState<'tree>,
    ) {
        if shape.last + 1 < shape.first + min_lines {
            return;
        }
        let from = place.way.len().saturating_sub(WAY);
        place.found.push(Candidate {
            first: shape.first,
            last: shape.last,
            fold: shape.fold,
            kind,
            node,
            captures: place.captures,
            way: place.way[from..].to_vec(),
        });
    }

    pub fn find(&self, cursor: &TreeCursor<'tree>, place: &WalkState<'tree>) -> Option<Capture> {
        place.captures.find(cursor, &place.way, self.source.text())
    }

    pub fn count_step(&self) -> Result<(), Stopped> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get().is_multiple_of(STEPS_PER_CHECK) {
            self.work.check()?;
        }
        Ok(())
    }
}

/// Whether a language has what makes a scope of such a fold.
fn may_hold(captures: &Captures, kind: FoldKind) -> bool {
    match kind {
        FoldKind::Markup => true,
        _ => captures.has(Role::Callback) || captures.has(Role::Body),
    }
}
