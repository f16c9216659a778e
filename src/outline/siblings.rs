//! What neighbours are called that stand as one row, told by the kinds of their nodes; one word for each, in every language.
//!
//! Grammars name alike things alike (`enum_variant`, `enumerator`), so a table of parts of names does for
//! all of them. Where it does not know a kind its neighbours are items, and nothing else is lost.

use std::cell::RefCell;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

/// What siblings that stand together are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SiblingKind {
    Macro,
    Import,
    Variant,
    Field,
    Method,
    Function,
    Type,
    Declaration,
    Entry,
    Rule,
    Element,
    Section,
    Parameter,
    Statement,
    Item,
    /// Of several kinds, in a type.
    Member,
}

/// Parts of names of kinds of nodes, the first that is in one counts.
const BY_PART: &[(&str, SiblingKind)] = &[
    ("sequence_item", SiblingKind::Item),
    ("list_item", SiblingKind::Item),
    ("call_signature", SiblingKind::Method),
    ("call", SiblingKind::Statement),
    ("invocation", SiblingKind::Statement),
    ("preproc_def", SiblingKind::Macro),
    ("preproc_function_def", SiblingKind::Macro),
    ("macro_definition", SiblingKind::Macro),
    ("define_directive", SiblingKind::Macro),
    ("preproc_include", SiblingKind::Import),
    ("preproc_", SiblingKind::Declaration),
    ("import", SiblingKind::Import),
    ("using_d", SiblingKind::Import),
    ("use_declaration", SiblingKind::Import),
    ("variant", SiblingKind::Variant),
    ("enumerator", SiblingKind::Variant),
    ("enum_constant", SiblingKind::Variant),
    ("enum_case", SiblingKind::Variant),
    ("enum_entry", SiblingKind::Variant),
    ("enum_member", SiblingKind::Variant),
    ("enum_assignment", SiblingKind::Variant),
    ("method", SiblingKind::Method),
    ("constructor", SiblingKind::Method),
    ("destructor", SiblingKind::Method),
    ("function", SiblingKind::Function),
    ("fun_decl", SiblingKind::Function),
    ("parameter", SiblingKind::Parameter),
    ("field", SiblingKind::Field),
    ("property", SiblingKind::Field),
    ("pair", SiblingKind::Entry),
    ("entry", SiblingKind::Entry),
    ("binding", SiblingKind::Entry),
    ("table", SiblingKind::Entry),
    ("rule", SiblingKind::Rule),
    ("class", SiblingKind::Type),
    ("struct", SiblingKind::Type),
    ("interface", SiblingKind::Type),
    ("enum", SiblingKind::Type),
    ("union", SiblingKind::Type),
    ("trait", SiblingKind::Type),
    ("impl", SiblingKind::Type),
    ("type_", SiblingKind::Type),
    ("record", SiblingKind::Type),
    ("protocol", SiblingKind::Type),
    ("object_d", SiblingKind::Type),
    ("module", SiblingKind::Type),
    ("namespace", SiblingKind::Type),
    ("contract", SiblingKind::Type),
    ("message", SiblingKind::Type),
    ("section", SiblingKind::Section),
    ("element", SiblingKind::Element),
    ("declaration", SiblingKind::Declaration),
    ("definition", SiblingKind::Declaration),
    ("assignment", SiblingKind::Declaration),
    ("_item", SiblingKind::Declaration),
    ("const", SiblingKind::Declaration),
    ("statement", SiblingKind::Statement),
    ("expression", SiblingKind::Statement),
];

/// Nodes that hold a declaration and say something of it.
const WRAPPERS: &[&str] = &[
    "export_statement",
    "decorated_definition",
    "template_declaration",
    "ambient_declaration",
    "expression_statement",
    "linkage_specification",
];

impl SiblingKind {
    /// `macro`, or `macros`.
    pub fn noun(self, count: u64) -> &'static str {
        let (one, many) = match self {
            SiblingKind::Macro => ("macro", "macros"),
            SiblingKind::Import => ("import", "imports"),
            SiblingKind::Variant => ("variant", "variants"),
            SiblingKind::Field => ("field", "fields"),
            SiblingKind::Method => ("method", "methods"),
            SiblingKind::Function => ("function", "functions"),
            SiblingKind::Type => ("type", "types"),
            SiblingKind::Declaration => ("declaration", "declarations"),
            SiblingKind::Entry => ("entry", "entries"),
            SiblingKind::Rule => ("rule", "rules"),
            SiblingKind::Element => ("element", "elements"),
            SiblingKind::Section => ("section", "sections"),
            SiblingKind::Parameter => ("parameter", "parameters"),
            SiblingKind::Statement => ("statement", "statements"),
            SiblingKind::Item => ("item", "items"),
            SiblingKind::Member => ("member", "members"),
        };
        if count == 1 { one } else { many }
    }

    /// Whether a reader looks for its name, and not first for what is around it.
    pub(super) fn is_looked_for(self) -> bool {
        matches!(
            self,
            SiblingKind::Method
                | SiblingKind::Function
                | SiblingKind::Type
                | SiblingKind::Section
                | SiblingKind::Member
        )
    }

    /// Whether a text that has nothing else has no structure to show.
    pub(super) fn is_plain(self) -> bool {
        matches!(
            self,
            SiblingKind::Statement | SiblingKind::Item | SiblingKind::Parameter
        )
    }

    /// What siblings of these two kinds are together.
    pub(super) fn with(self, other: SiblingKind) -> SiblingKind {
        let in_type = |kind| {
            matches!(
                kind,
                SiblingKind::Method | SiblingKind::Field | SiblingKind::Member
            )
        };
        match (self, other) {
            (one, two) if one == two => one,
            (one, two) if in_type(one) || in_type(two) => SiblingKind::Member,
            (one, two) if one.is_plain() && two.is_plain() => SiblingKind::Item,
            _ => SiblingKind::Declaration,
        }
    }
}

/// The kinds of nodes of one grammar that were met so far.
#[derive(Debug, Default)]
pub(super) struct SiblingKinds(RefCell<HashMap<u16, SiblingKind>>);

impl SiblingKinds {
    pub fn of(&self, node: Node<'_>, in_type: bool) -> SiblingKind {
        let kind = self.of_node(unwrapped(node));
        match kind {
            SiblingKind::Function if in_type => SiblingKind::Method,
            SiblingKind::Declaration if in_type => SiblingKind::Field,
            kind => kind,
        }
    }

    fn of_node(&self, node: Node<'_>) -> SiblingKind {
        let id = node.kind_id();
        let known = self.0.borrow().get(&id).copied();
        let kind = known.unwrap_or_else(|| {
            let name = node.kind();
            let part = BY_PART.iter().find(|(part, _)| name.contains(part));
            let kind = part.map_or(SiblingKind::Item, |(_, kind)| *kind);
            self.0.borrow_mut().insert(id, kind);
            kind
        });
        if matches!(kind, SiblingKind::Declaration | SiblingKind::Field) && declares_function(node)
        {
            return SiblingKind::Function;
        }
        kind
    }
}

/// What a wrapper is around.
fn unwrapped(node: Node<'_>) -> Node<'_> {
    let mut inner = node;
    for _ in 0..3 {
        if !WRAPPERS.contains(&inner.kind()) {
            break;
        }
        let last = inner.named_child_count().checked_sub(1);
        let Some(child) = last.and_then(|last| inner.named_child(last as u32)) else {
            break;
        };
        inner = child;
    }
    inner
}

/// A prototype (`int f(void);`), or a variable that is given a function.
fn declares_function(node: Node<'_>) -> bool {
    let mut part = node;
    for _ in 0..4 {
        let next = ["declarator", "value", "right"]
            .iter()
            .find_map(|field| part.child_by_field_name(field));
        let next = next.or_else(|| {
            let declares = part.kind().contains("lexical") || part.kind().contains("variable");
            part.named_child(0).filter(|_| declares)
        });
        let Some(next) = next else { return false };
        if next.kind().contains("function") {
            return true;
        }
        part = next;
    }
    false
}
