//! What stands above an item and belongs to it: attributes, decorators, doc comments; which nodes are those is the language's to say.

use tree_sitter::Node;

use super::{Language, Source};

/// Attributes and comments that are looked at above an item: some grammars have a comment on each
/// line of one.
const MAX_NODES: usize = 2000;

/// Finds it by the syntax tree of a text. Rows and bytes count from 0.
pub struct ItemHead<'a> {
    pub source: &'a Source,
    pub language: &'a Language,
}

impl ItemHead<'_> {
    /// The item whose attribute begins at `byte`; `anywhere` also the one that goes on there after
    /// its attributes, or begins there. `way` leads to that byte, from the outside inwards.
    pub fn item_at<'tree>(
        &self,
        way: &[Node<'tree>],
        byte: usize,
        anywhere: bool,
    ) -> Option<Node<'tree>> {
        let at = way.partition_point(|node| node.start_byte() < byte);
        let attribute = way[at..].iter().find(|node| self.is_attribute(**node));
        if let Some(attribute) = attribute {
            return self.item_of(*attribute, way);
        }
        if !anywhere {
            return None;
        }
        let begins = || {
            let named = way[at..]
                .iter()
                .find(|node| node.is_named() && !self.is_list(**node));
            named.filter(|node| !is_comment(**node))
        };
        let goes_on = self.outermost(&way[..at], byte);
        goes_on.or_else(|| begins().copied())
    }

    /// The item that an attribute is of: the outermost that begins with attributes up to this one,
    /// else what comes after it.
    fn item_of<'tree>(&self, attribute: Node<'tree>, way: &[Node<'tree>]) -> Option<Node<'tree>> {
        let byte = attribute.start_byte();
        let around = way.iter().position(|node| *node == attribute)?;
        if let Some(item) = self.outermost(&way[..around], byte) {
            return Some(item);
        }
        let mut next = attribute.next_named_sibling();
        while let Some(node) = next.filter(|node| self.is_attribute(*node) || is_comment(*node)) {
            next = node.next_named_sibling();
        }
        next
    }

    /// The outermost item that has nothing but attributes before `byte`, which is inside it.
    fn outermost<'tree>(&self, around: &[Node<'tree>], byte: usize) -> Option<Node<'tree>> {
        let mut looked_at = None;
        around.iter().copied().find(|node| {
            // What begins where its parent begins has the same before that byte.
            if looked_at == Some(node.start_byte()) || !self.is_whole(*node) {
                return false;
            }
            looked_at = Some(node.start_byte());
            self.is_head(*node, byte) && !self.is_all_attributes(*node)
        })
    }

    /// The row at which the item begins with all that belongs to it: its attributes, and `with_docs`
    /// the doc comments directly above.
    pub fn first_row(&self, item: Node<'_>, with_docs: bool) -> usize {
        let documented = self.language.documented();
        let has_docs = documented.is_empty() || documented.iter().any(|kind| kind == item.kind());
        let mut first = item.start_position().row;
        // The lowest row that is looked at so far.
        let mut reached = first;
        let mut above = item.prev_sibling();
        for _ in 0..MAX_NODES {
            if let Some(comment) = above.filter(|node| self.is_beside_attribute(*node)) {
                above = comment.prev_sibling();
            }
            let Some(node) = above.filter(|node| self.begins_line(*node)) else {
                break;
            };
            let row = node.start_position().row;
            if self.is_attribute(node) {
                first = row;
            } else if is_comment(node) && self.last_row(node) + 1 == reached {
                if with_docs && has_docs && self.is_doc(node) {
                    first = row;
                }
            } else {
                break;
            }
            reached = row;
            above = node.prev_sibling();
        }
        first
    }

    /// Whether it is a comment on the line of an attribute, behind it.
    fn is_beside_attribute(&self, node: Node<'_>) -> bool {
        let row = node.start_position().row;
        let before = node.prev_sibling().filter(|_| is_comment(node));
        before.is_some_and(|before| before.end_position().row == row && self.is_attribute(before))
    }

    fn is_attribute(&self, node: Node<'_>) -> bool {
        let kinds = self.language.attributes();
        kinds.iter().any(|kind| kind == node.kind())
    }

    fn is_list(&self, node: Node<'_>) -> bool {
        let kinds = self.language.list_nodes();
        kinds.iter().any(|kind| kind == node.kind())
    }

    /// Whether a node can be an item: it begins its line and is more than a list of siblings.
    fn is_whole(&self, node: Node<'_>) -> bool {
        node.is_named() && !self.is_list(node) && self.begins_line(node)
    }

    /// Whether there are only attributes and comments in a node before `byte`.
    fn is_head(&self, node: Node<'_>, byte: usize) -> bool {
        let mut cursor = node.walk();
        // Trees can be deeper than the stack.
        loop {
            if !cursor.goto_first_child() {
                return true;
            }
            while cursor.node().end_byte() <= byte {
                if !self.is_all_attributes(cursor.node()) {
                    return false;
                }
                if !cursor.goto_next_sibling() {
                    return true;
                }
            }
            if cursor.node().start_byte() >= byte {
                return true;
            }
        }
    }

    /// Whether a node is an attribute, or holds nothing else.
    fn is_all_attributes(&self, node: Node<'_>) -> bool {
        let is_one = |node: Node<'_>| self.is_attribute(node) || is_comment(node);
        let mut cursor = node.walk();
        is_one(node) || node.child_count() > 0 && node.children(&mut cursor).all(is_one)
    }

    /// Whether a comment documents what stands below it.
    fn is_doc(&self, comment: Node<'_>) -> bool {
        let text = self.source.text().get(comment.byte_range());
        let text = text.unwrap_or_default();
        let is_rule = ["////", "/***", "/**/", "#!"]
            .iter()
            .any(|start| text.starts_with(start));
        let docs = self.language.docs();
        !is_rule && docs.iter().any(|opener| text.starts_with(opener.as_str()))
    }

    fn begins_line(&self, node: Node<'_>) -> bool {
        let row = self.source.line_start(node.start_position().row);
        let before = self.source.text().get(row..node.start_byte());
        before.is_some_and(|before| before.trim().is_empty())
    }

    /// Of line comments some grammars count the line end as theirs.
    fn last_row(&self, node: Node<'_>) -> usize {
        let text = self.source.text().get(node.byte_range());
        let length = text.unwrap_or_default().trim_end().len();
        self.source
            .line_of(node.start_byte() + length.saturating_sub(1))
    }
}

fn is_comment(node: Node<'_>) -> bool {
    node.kind().contains("comment")
}
