//! What a query captures, as a table by kind of node for walks that prune; it never says what becomes of a capture.

use std::num::NonZeroU16;

use tree_sitter::{Language, Node, TreeCursor};

use super::query::{Pattern, QueryError, patterns};

/// What a captured node is to an outline. `queries/README.md` says it for writers of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The body of a function.
    Body,
    /// The body of a function that is an argument of a call.
    Callback,
    /// An array, a map, a long string.
    Literal,
    /// An element of a markup language.
    Markup,
    /// A comment that is no documentation by its looks, unless its marker says so.
    Comment,
    /// Documentation, whatever it looks like.
    Doc,
    /// An import; neighbours make a group.
    Import,
    /// Says something of the item that follows, as decorators do; neighbours make a group.
    Attribute,
    /// Holds members that stay visible.
    Container,
    /// A heading with its text, in prose.
    Section,
    /// The heading of a section.
    Heading,
    /// Stays as it is, with all that is in it.
    Keep,
    /// A class, a function or the like, for lists of definitions; nothing to an outline.
    Definition,
    /// Whatever else is given a name; nothing to an outline.
    Declaration,
}

impl Role {
    fn of(name: &str) -> Option<Role> {
        Some(match name {
            "body" => Role::Body,
            "callback" => Role::Callback,
            "literal" => Role::Literal,
            "markup" => Role::Markup,
            "comment" => Role::Comment,
            "doc" => Role::Doc,
            "import" => Role::Import,
            "attribute" => Role::Attribute,
            "container" => Role::Container,
            "section" => Role::Section,
            "heading" => Role::Heading,
            "keep" => Role::Keep,
            "definition" => Role::Definition,
            "declaration" => Role::Declaration,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Capture {
    pub role: Role,
    /// Whether the first line of the node is its head, so that only the lines after it fold.
    pub rest: bool,
}

/// A node on the way down to another, with the field of its parent in which it stands.
#[derive(Debug, Clone, Copy)]
pub struct PathNode<'tree> {
    pub node: Node<'tree>,
    pub field: Option<NonZeroU16>,
}

/// The rules of a query by the kind of the captured node.
#[derive(Debug)]
pub struct Captures {
    by_kind: Vec<Vec<CaptureRule>>,
    /// Those of definitions and declarations: a node may be one and something else as well.
    definitions: Vec<Vec<CaptureRule>>,
    roles: Vec<Role>,
}

#[derive(Debug)]
struct CaptureRule {
    capture: Capture,
    field: Option<NonZeroU16>,
    first: bool,
    /// The parent, its parent and so on, as far as the pattern names them.
    ancestors: Vec<Ancestor>,
    conditions: Vec<Condition>,
}

#[derive(Debug)]
struct Ancestor {
    kind: Option<u16>,
    field: Option<NonZeroU16>,
}

/// What else must be there: from the node (0), its parent (1) … down along the path.
#[derive(Debug)]
struct Condition {
    up: usize,
    path: Vec<Ancestor>,
    /// The text at the end of the path, if it matters.
    texts: Option<Vec<String>>,
}

impl Captures {
    /// The table for a query over a grammar.
    ///
    /// # Errors
    ///
    /// `QueryError` when the query uses what our part of the language does not have, or names what
    /// the grammar does not have.
    pub fn new(language: &Language, query: &str) -> Result<Captures, QueryError> {
        let table = || {
            let mut by_kind = Vec::new();
            by_kind.resize_with(language.node_kind_count(), Vec::new);
            by_kind
        };
        let mut captures = Captures {
            by_kind: table(),
            definitions: table(),
            roles: Vec::new(),
        };
        for pattern in patterns(query)? {
            let compiler = Compiler {
                language,
                root: &pattern,
            };
            let mut way = Vec::new();
            compiler.collect(&pattern, &mut way, &mut captures)?;
        }
        Ok(captures)
    }

    /// Whether any pattern captures with this role.
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// What the node under the cursor is; where several patterns capture it, the first of the file counts.
    /// `way` leads down to it, its parent last; it may lack ancestors that no pattern asks for.
    pub fn find(
        &self,
        cursor: &TreeCursor<'_>,
        way: &[PathNode<'_>],
        text: &str,
    ) -> Option<Capture> {
        matching(&self.by_kind, cursor, way, text)
    }

    /// Whether the node under the cursor is a definition, or else a declaration; `way` as in
    /// [`Captures::find`].
    pub fn defines(
        &self,
        cursor: &TreeCursor<'_>,
        way: &[PathNode<'_>],
        text: &str,
    ) -> Option<Role> {
        matching(&self.definitions, cursor, way, text).map(|capture| capture.role)
    }
}

fn matching(
    by_kind: &[Vec<CaptureRule>],
    cursor: &TreeCursor<'_>,
    way: &[PathNode<'_>],
    text: &str,
) -> Option<Capture> {
    let node = cursor.node();
    let mut rules = by_kind.get(usize::from(node.kind_id()))?.iter();
    let matching = rules.find(|rule| rule.matches(node, cursor, way, text));
    matching.map(|rule| rule.capture)
}

impl CaptureRule {
    fn matches(
        &self,
        node: Node<'_>,
        cursor: &TreeCursor<'_>,
        way: &[PathNode<'_>],
        text: &str,
    ) -> bool {
        if self.ancestors.len() > way.len() {
            return false;
        }
        let upward = way.iter().rev();
        self.ancestors.iter().zip(upward).all(|(wanted, step)| {
            wanted.kind.is_none_or(|kind| step.node.kind_id() == kind)
                && wanted.field.is_none_or(|field| step.field == Some(field))
        }) && self
            .field
            .is_none_or(|field| cursor.field_id() == Some(field))
            && (!self.first || node.prev_named_sibling().is_none())
            && self
                .conditions
                .iter()
                .all(|condition| condition.holds(node, way, text))
    }
}

impl Condition {
    fn holds(&self, node: Node<'_>, way: &[PathNode<'_>], text: &str) -> bool {
        let from = match self.up {
            0 => node,
            up => way[way.len() - up].node,
        };
        self.leads_down(from, &self.path, text)
    }

    fn leads_down(&self, from: Node<'_>, path: &[Ancestor], text: &str) -> bool {
        let Some((step, rest)) = path.split_first() else {
            let own = text.get(from.byte_range()).unwrap_or_default();
            return self
                .texts
                .as_ref()
                .is_none_or(|texts| texts.iter().any(|text| text == own));
        };
        let mut cursor = from.walk();
        let mut more = cursor.goto_first_child();
        while more {
            let node = cursor.node();
            let fits = node.is_named()
                && step.kind.is_none_or(|kind| node.kind_id() == kind)
                && step.field.is_none_or(|f| cursor.field_id() == Some(f));
            if fits && self.leads_down(node, rest, text) {
                return true;
            }
            more = cursor.goto_next_sibling();
        }
        false
    }
}

struct Compiler<'a> {
    language: &'a Language,
    root: &'a Pattern,
}

impl<'a> Compiler<'a> {
    /// Adds a rule for every captured node of a pattern; `way` holds the nodes above it.
    fn collect(
        &self,
        pattern: &'a Pattern,
        way: &mut Vec<&'a Pattern>,
        captures: &mut Captures,
    ) -> Result<(), QueryError> {
        for name in &pattern.captures {
            if name.starts_with('_') {
                continue;
            }
            let rule = self.rule(name, pattern, way)?;
            let Some(kind) = self.kind(pattern)? else {
                return Err(QueryError::Unknown(format!("kind for @{name}")));
            };
            let role = rule.capture.role;
            captures.roles.push(role);
            let table = match role {
                Role::Definition | Role::Declaration => &mut captures.definitions,
                _ => &mut captures.by_kind,
            };
            table[usize::from(kind)].push(rule);
        }
        way.push(pattern);
        for child in &pattern.children {
            self.collect(child, way, captures)?;
        }
        way.pop();
        Ok(())
    }

    fn rule(
        &self,
        name: &str,
        pattern: &Pattern,
        way: &[&Pattern],
    ) -> Result<CaptureRule, QueryError> {
        let (role, rest) = match name.strip_suffix(".rest") {
            Some(role) => (role, true),
            None => (name, false),
        };
        let role = Role::of(role).ok_or_else(|| QueryError::Capture(name.to_owned()))?;
        let mut ancestors = Vec::new();
        let mut conditions = Vec::new();
        let mut below = pattern;
        self.conditions(pattern, None, 0, &mut conditions)?;
        for (up, parent) in way.iter().rev().enumerate() {
            ancestors.push(self.ancestor(parent)?);
            self.conditions(parent, Some(below), up + 1, &mut conditions)?;
            below = parent;
        }
        Ok(CaptureRule {
            capture: Capture { role, rest },
            field: self.field(pattern)?,
            first: pattern.first,
            ancestors,
            conditions,
        })
    }

    /// The children of a pattern other than the one on the way, each as a condition.
    fn conditions(
        &self,
        pattern: &Pattern,
        on_the_way: Option<&Pattern>,
        up: usize,
        found: &mut Vec<Condition>,
    ) -> Result<(), QueryError> {
        for child in &pattern.children {
            if on_the_way.is_some_and(|own| std::ptr::eq(own, child)) {
                continue;
            }
            self.paths(child, &mut Vec::new(), up, found)?;
        }
        Ok(())
    }

    fn paths<'p>(
        &self,
        pattern: &'p Pattern,
        path: &mut Vec<&'p Pattern>,
        up: usize,
        found: &mut Vec<Condition>,
    ) -> Result<(), QueryError> {
        path.push(pattern);
        let texts = self.root.texts.iter();
        let texts = texts
            .filter(|(capture, _)| pattern.captures.contains(capture))
            .map(|(_, texts)| texts.clone())
            .next();
        if texts.is_some() || pattern.children.is_empty() {
            let path: Result<_, _> = path.iter().map(|step| self.ancestor(step)).collect();
            found.push(Condition {
                up,
                path: path?,
                texts,
            });
        }
        for child in &pattern.children {
            self.paths(child, path, up, found)?;
        }
        path.pop();
        Ok(())
    }

    fn ancestor(&self, pattern: &Pattern) -> Result<Ancestor, QueryError> {
        Ok(Ancestor {
            kind: self.kind(pattern)?,
            field: self.field(pattern)?,
        })
    }

    fn kind(&self, pattern: &Pattern) -> Result<Option<u16>, QueryError> {
        let Some(kind) = &pattern.kind else {
            return Ok(None);
        };
        match self.language.id_for_node_kind(kind, true) {
            0 => Err(QueryError::Unknown(format!("kind {kind}"))),
            id => Ok(Some(id)),
        }
    }

    fn field(&self, pattern: &Pattern) -> Result<Option<NonZeroU16>, QueryError> {
        let Some(field) = &pattern.field else {
            return Ok(None);
        };
        let id = self.language.field_id_for_name(field);
        id.map(Some)
            .ok_or_else(|| QueryError::Unknown(format!("field {field}")))
    }
}
