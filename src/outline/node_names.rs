//! What a syntax tree calls a declaration: the names that its node gives, told by the fields and kinds that grammars share.
//!
//! A node is gone down into, by the field that leads to a name or else by its first child, until a
//! node is met that is a name itself. So a new grammar mostly needs no line here.

use tree_sitter::Node;

use super::name::QualifiedName;

/// Names that one declaration is looked at for (`int a, b, c;`).
const MAX_NAMES: usize = 64;
/// Nodes between a declaration and its name.
const MAX_STEPS: usize = 24;

/// Fields that lead to a name, in the order in which they are asked for.
const FIELDS: &[&str] = &[
    "name",
    "names",
    "declarator",
    "signature",
    "heading_content",
    "key",
    "left",
    "lhs",
    "pattern",
    "attrpath",
    "property",
    "target",
    "clause",
    "alias",
];

/// Kinds that hold nothing but names, or what has one each.
const LISTS: &[&str] = &[
    "pattern_list",
    "tuple_pattern",
    "expression_list",
    "variable_list",
    "left_assignment_list",
    "array_pattern",
    "object_pattern",
    "binding_list",
    "targets",
    "selectors",
    "identifier_list",
    "initialized_identifier_list",
    "static_final_declaration_list",
    "multi_variable_declaration",
];

/// Kinds of which a declaration may hold several, each with a name (`const A = 1, B = 2;`), and what holds those.
const HOLDERS: &[&str] = &[
    "variable_declarator",
    "const_element",
    "property_element",
    "let_binding",
    "type_binding",
    "module_binding",
    "class_binding",
    "initialized_identifier",
    "initialized_identifier_list",
    "static_final_declaration",
    "static_final_declaration_list",
    "identifier_list",
];

/// Kinds that are names though they have parts.
const NAMES: &[&str] = &[
    "qualified_identifier",
    "scoped_identifier",
    "scoped_type_identifier",
    "nested_identifier",
    "nested_namespace_specifier",
    "nested_type_identifier",
    "qualified_name",
    "alias_qualified_name",
    "namespace_name",
    "scope_resolution",
    "dotted_name",
    "dotted_key",
    "member_expression",
    "subscript_expression",
    "field_expression",
    "dot_index_expression",
    "method_index_expression",
    "bracket_index_expression",
    "attribute",
    "attrpath",
    "operator_name",
    "destructor_name",
    "operator_cast",
    "prefix_id",
    "quoted_key",
    "string",
    "string_lit",
    "string_literal",
    "double_quote_scalar",
    "single_quote_scalar",
    "inline",
    "paragraph",
    "variable_name",
    "computed_property_name",
    "setter",
    "parenthesized_operator",
    "stable_identifier",
    "stable_type_identifier",
    "object_reference",
    "operator",
];

/// Kinds that stand before a name and are none.
const BESIDE: &[&str] = &[
    "modifiers",
    "modifier",
    "visibility_modifier",
    "static_modifier",
    "readonly_modifier",
    "final_modifier",
    "abstract_modifier",
    "var_modifier",
    "attribute_list",
    "attribute_specifier",
    "attribute_declaration",
    "attribute_id",
    "annotation",
    "annotations",
    "decorator",
    "description",
    "documentation_comment",
    "type_parameters",
    "type_qualifier",
    "storage_class_specifier",
    "ms_call_modifier",
    "ms_declspec_modifier",
    "ms_pointer_modifier",
    "type_annotation",
    "type_params",
    "field_number",
    "key_type",
    "operation_type",
    "type_literal",
    "class_attribute",
    "external",
    "type",
    "function",
    "macro",
];

/// The names that the node of a declaration gives, each with what it names itself to be in.
pub(super) fn names(node: Node<'_>, text: &str) -> Vec<QualifiedName> {
    let mut found = NameFinder {
        text,
        found: Vec::new(),
    };
    found.declaration(node);
    found.found
}

/// Whether a node only adds to what is declared elsewhere by the same name.
pub(super) fn is_extension(node: Node<'_>, text: &str) -> bool {
    match node.kind() {
        "impl_item" | "extension_declaration" | "instance" => true,
        // Swift's extensions are classes of a kind.
        "class_declaration" => node
            .child_by_field_name("declaration_kind")
            .is_some_and(|kind| &text[kind.byte_range()] == "extension"),
        _ => false,
    }
}

struct NameFinder<'t> {
    text: &'t str,
    found: Vec<QualifiedName>,
}

impl<'t> NameFinder<'t> {
    fn declaration(&mut self, node: Node<'_>) {
        match node.kind() {
            "impl_item" => {
                self.field(node, "type");
                for name in &mut self.found {
                    *name = QualifiedName::whole(name.last());
                }
            }
            "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier" => {
                match node.child_by_field_name("name") {
                    Some(name) => self.name(name, MAX_STEPS),
                    None => self.named_by_parent(node),
                }
            }
            "method_declaration" if node.child_by_field_name("receiver").is_some() => {
                self.method_of_receiver(node);
            }
            "call" if node.child_by_field_name("method").is_some() => self.accessors(node),
            "call" => self.macro_call(node),
            "block" => self.labels(node),
            "companion_object" => self.named_or(node, "Companion"),
            "secondary_constructor" => self.push("constructor"),
            "constructor_definition" => self.push("constructor"),
            "deinit_declaration" => self.push("deinit"),
            "subscript_declaration" => self.push("subscript"),
            "indexer_declaration" => self.push("this"),
            "destructor_declaration" => {
                self.field(node, "name");
                for name in &mut self.found {
                    *name = QualifiedName::whole(&format!("~{name}"));
                }
            }
            "operator_declaration" => self.operator(node, "operator"),
            "conversion_operator_declaration" => self.operator(node, "type"),
            "singleton_method" => self.singleton(node),
            "test_declaration" => self.first(node, MAX_STEPS),
            "property_signature" | "method_signature" => self.field_or_first(node),
            "type_definition" | "declaration" | "field_declaration" | "constant_declaration" => {
                self.declarators(node);
            }
            "type_alias" => match node.child_by_field_name("type") {
                Some(name) if name.kind() == "identifier" => self.name(name, MAX_STEPS),
                _ => self.field_or_first(node),
            },
            "typealias_declaration" => self.field(node, "name"),
            "fallback_receive_definition" => self.first_word(node),
            _ => self.step(node, MAX_STEPS),
        }
    }

    /// All declarators of a declaration in C and what is like it.
    fn declarators(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let all: Vec<Node<'_>> = node
            .children_by_field_name("declarator", &mut cursor)
            .take(MAX_NAMES)
            .collect();
        match all.is_empty() {
            // `struct s { … };` is named by what it holds, other languages have other fields.
            true if node.child_by_field_name("type").is_none()
                || node.child_by_field_name("name").is_some() =>
            {
                self.step(node, MAX_STEPS);
            }
            true => {}
            false => all
                .into_iter()
                .for_each(|declarator| self.name(declarator, MAX_STEPS)),
        }
    }

    fn named_by_parent(&mut self, node: Node<'_>) {
        let parent = node.parent();
        if let Some(parent) = parent.filter(|parent| parent.kind() == "type_definition") {
            self.declarators(parent);
        }
    }

    /// `func (a *A) F()`: in `A`.
    fn method_of_receiver(&mut self, node: Node<'_>) {
        self.field(node, "name");
        let receiver = node.child_by_field_name("receiver");
        let of = receiver.and_then(|receiver| {
            let parameter = receiver.named_child(0)?;
            let text = &self.text[parameter.child_by_field_name("type")?.byte_range()];
            let text = text.trim_start_matches(['*', '(', ' ']);
            let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
            Some(&text[..end.unwrap_or(text.len())])
        });
        if let (Some(of), [name]) = (of, &mut self.found[..]) {
            *name = QualifiedName::whole(of).with(name);
        }
    }

    /// `def f(a) when …`, `defmodule A.B do`.
    fn macro_call(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let arguments = node
            .children(&mut cursor)
            .find(|child| child.kind() == "arguments");
        let Some(mut name) = arguments.and_then(|arguments| arguments.named_child(0)) else {
            return;
        };
        for _ in 0..MAX_STEPS {
            let next = match name.kind() {
                "binary_operator" => name.child_by_field_name("left"),
                "call" => name.child_by_field_name("target"),
                _ => None,
            };
            match next {
                Some(next) => name = next,
                None => break,
            }
        }
        self.push_spelled(name);
    }

    /// `attr_accessor :a, :b`: each by its name, and as what is assigned to.
    fn accessors(&mut self, node: Node<'_>) {
        let Some(arguments) = node.child_by_field_name("arguments") else {
            return;
        };
        let mut cursor = arguments.walk();
        for symbol in arguments.named_children(&mut cursor).take(MAX_NAMES) {
            let name = self.text[symbol.byte_range()].trim_matches([':', '"', '\'']);
            self.push(name);
            self.push(&format!("{name}="));
        }
    }

    /// `resource "a" "b" {`.
    fn labels(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let kinds = ["identifier", "string_lit"];
        let labels = node.named_children(&mut cursor);
        let labels = labels.take_while(|child| kinds.contains(&child.kind()));
        let parts: Vec<&str> = labels
            .map(|label| self.text[label.byte_range()].trim_matches('"'))
            .collect();
        self.add(QualifiedName::of_parts(&parts));
    }

    fn operator(&mut self, node: Node<'_>, field: &str) {
        if let Some(operator) = node.child_by_field_name(field) {
            let operator = &self.text[operator.byte_range()];
            self.push(&format!("operator {operator}"));
        }
    }

    /// `def self.f`: in what it stands in. `def A.f`: in `A`.
    fn singleton(&mut self, node: Node<'_>) {
        self.field(node, "name");
        let of = node.child_by_field_name("object");
        let of = of.filter(|of| of.kind() == "constant");
        if let (Some(of), [name]) = (of, &mut self.found[..]) {
            *name = QualifiedName::whole(&self.text[of.byte_range()]).with(name);
        }
    }

    /// `A.named(…)`: two names, of which the first is that of its class.
    fn constructor(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let names = node.children_by_field_name("name", &mut cursor);
        let last = names.filter(Node::is_named).last();
        if let Some(last) = last {
            self.push_spelled(last);
        }
    }

    fn named_or(&mut self, node: Node<'_>, otherwise: &str) {
        match node.child_by_field_name("name") {
            Some(name) => self.name(name, MAX_STEPS),
            None => self.push(otherwise),
        }
    }

    fn field_or_first(&mut self, node: Node<'_>) {
        match node.child_by_field_name("name") {
            Some(name) => self.name(name, MAX_STEPS),
            None => self.first(node, MAX_STEPS),
        }
    }

    fn first_word(&mut self, node: Node<'_>) {
        let text = &self.text[node.byte_range()];
        let end = text.find(|c: char| !c.is_alphanumeric());
        self.push(&text[..end.unwrap_or(text.len())]);
    }

    fn field(&mut self, node: Node<'_>, field: &str) {
        if let Some(child) = node.child_by_field_name(field) {
            self.name(child, MAX_STEPS);
        }
    }

    /// Goes into a node that is no name.
    fn step(&mut self, node: Node<'_>, steps: usize) {
        let mut cursor = node.walk();
        let with_names: Vec<Node<'_>> = node
            .named_children(&mut cursor)
            .filter(|child| HOLDERS.contains(&child.kind()))
            .take(MAX_NAMES)
            .collect();
        if !with_names.is_empty() {
            for child in with_names {
                self.name(child, steps);
            }
            return;
        }
        for field in FIELDS {
            let mut cursor = node.walk();
            let children: Vec<Node<'_>> = node
                .children_by_field_name(field, &mut cursor)
                .filter(Node::is_named)
                .take(MAX_NAMES)
                .collect();
            if !children.is_empty() {
                for child in children {
                    self.name(child, steps);
                }
                return;
            }
        }
        self.first(node, steps);
    }

    /// Goes on at the children that have the names: all of those of a list, else the first.
    fn first(&mut self, node: Node<'_>, steps: usize) {
        let mut cursor = node.walk();
        let is_name = |child: &Node<'_>| {
            !BESIDE.contains(&child.kind())
                && !child.is_extra()
                && !child.kind().starts_with("keyword_")
                && !child.kind().ends_with("_marker")
        };
        let children = node.named_children(&mut cursor).filter(is_name);
        let most = match LISTS.contains(&node.kind()) {
            true => MAX_NAMES,
            false => 1,
        };
        for child in children.take(most).collect::<Vec<_>>() {
            match node.kind() {
                "selectors" => self.push(&self.text[child.byte_range()]),
                _ => self.name(child, steps),
            }
        }
    }

    /// What is a name, or leads to one.
    fn name(&mut self, node: Node<'_>, steps: usize) {
        let Some(steps) = steps.checked_sub(1) else {
            return;
        };
        let kind = node.kind();
        match kind {
            _ if kind.ends_with("constructor_signature") => self.constructor(node),
            "generic_type" | "template_type" | "template_function" | "generic_name"
            | "template_method" | "reference_type" | "pointer_type" => {
                let inner = node
                    .child_by_field_name("name")
                    .or_else(|| node.child_by_field_name("type"))
                    .or_else(|| node.named_child(0));
                if let Some(inner) = inner {
                    self.name(inner, steps);
                }
            }
            _ if NAMES.contains(&kind) || node.named_child_count() == 0 => self.push_spelled(node),
            _ if LISTS.contains(&kind) => self.first(node, steps),
            _ => self.step(node, steps),
        }
    }

    fn push_spelled(&mut self, node: Node<'_>) {
        let text = self.text.get(node.byte_range()).unwrap_or_default();
        self.add(QualifiedName::spelled(text, node.kind()));
    }

    fn push(&mut self, name: &str) {
        self.add(QualifiedName::whole(name));
    }

    fn add(&mut self, name: QualifiedName) {
        if !name.is_empty() && self.found.len() < MAX_NAMES && !self.found.contains(&name) {
            self.found.push(name);
        }
    }
}
