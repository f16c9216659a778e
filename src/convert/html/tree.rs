//! A parsed page as one list of nodes in page order, so that what is below a node is a range and counting is a subtraction.
//!
//! Everything after the parser works on it; the parser's own tree is kept beside it for reader mode
//! alone, which rewrites what it is given (each node remembers its name there).

use std::ops::Range;

use dom_query::{Attr, Document, LocalName, NodeData, NodeId, NodeRef};

use super::words;

/// A node's place in page order.
pub(super) type Index = usize;

#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    parent: Index,
    /// Behind the last node below it.
    end: Index,
    /// Its name in the parser's tree.
    id: NodeId,
    data: Data,
}

#[derive(Debug)]
enum Data {
    Text {
        text: String,
        words: u32,
    },
    Element {
        name: LocalName,
        attributes: Vec<Attr>,
    },
    /// The document itself, a doctype.
    Other,
}

impl Tree {
    /// The nodes of a document. What nobody can see in text is taken out of it, and counted.
    pub(super) fn new(document: &Document) -> (Tree, u64) {
        let mut nodes: Vec<Node> = Vec::with_capacity(document.tree.len());
        let mut removed = 0;
        let root = document.root();
        let (mut at, mut parent) = (root, 0);
        loop {
            let index = nodes.len();
            nodes.push(Node {
                parent,
                end: index + 1,
                id: at.id,
                data: data(&at, &mut removed),
            });
            if let Some(child) = at.first_child() {
                (at, parent) = (child, index);
                continue;
            }
            // Up, until there is a next sibling.
            let mut done = index;
            loop {
                nodes[done].end = nodes.len();
                if at.id == root.id {
                    return (Tree { nodes }, removed);
                }
                if let Some(next) = at.next_sibling() {
                    at = next;
                    break;
                }
                let Some(up) = at.parent() else {
                    return (Tree { nodes }, removed);
                };
                at = up;
                done = parent;
                parent = nodes[parent].parent;
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The whole tree, in page order.
    pub(super) fn all(&self) -> Range<Index> {
        0..self.nodes.len()
    }

    /// A node and everything below it.
    pub(super) fn range(&self, index: Index) -> Range<Index> {
        index..self.nodes[index].end
    }

    /// Everything below a node.
    pub(super) fn below(&self, index: Index) -> Range<Index> {
        index + 1..self.nodes[index].end
    }

    /// Behind the last node below it.
    pub(super) fn end(&self, index: Index) -> Index {
        self.nodes[index].end
    }

    pub(super) fn id(&self, index: Index) -> NodeId {
        self.nodes[index].id
    }

    pub(super) fn parent(&self, index: Index) -> Option<Index> {
        (index > 0).then(|| self.nodes[index].parent)
    }

    /// What is around a node, from the inside out.
    pub(super) fn ancestors(&self, index: Index) -> impl Iterator<Item = Index> {
        std::iter::successors(self.parent(index), |&at| self.parent(at))
    }

    pub(super) fn children(&self, index: Index) -> impl Iterator<Item = Index> {
        let end = self.nodes[index].end;
        let first = (index + 1 < end).then_some(index + 1);
        std::iter::successors(first, move |&at| {
            let next = self.nodes[at].end;
            (next < end).then_some(next)
        })
    }

    /// The name of an element in lower case; empty for what is none.
    pub(super) fn name(&self, index: Index) -> &str {
        match &self.nodes[index].data {
            Data::Element { name, .. } => name,
            _ => "",
        }
    }

    pub(super) fn is_element(&self, index: Index) -> bool {
        matches!(self.nodes[index].data, Data::Element { .. })
    }

    /// The text of a text node.
    pub(super) fn text(&self, index: Index) -> Option<&str> {
        match &self.nodes[index].data {
            Data::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Words of a text node.
    pub(super) fn own_words(&self, index: Index) -> u64 {
        match &self.nodes[index].data {
            Data::Text { words, .. } => u64::from(*words),
            _ => 0,
        }
    }

    pub(super) fn attribute(&self, index: Index, wanted: &str) -> Option<&str> {
        match &self.nodes[index].data {
            Data::Element { attributes, .. } => attributes
                .iter()
                .find(|attribute| &*attribute.name.local == wanted)
                .map(|attribute| &*attribute.value),
            _ => None,
        }
    }

    /// An attribute's value without blanks around it, if there is any.
    pub(super) fn value(&self, index: Index, wanted: &str) -> Option<&str> {
        self.attribute(index, wanted)
            .map(str::trim)
            .filter(|value| !value.is_empty())
    }

    /// Whether an attribute has this value, in any case.
    pub(super) fn is(&self, index: Index, attribute: &str, value: &str) -> bool {
        self.value(index, attribute)
            .is_some_and(|found| found.eq_ignore_ascii_case(value))
    }

    /// The class tokens of an element.
    pub(super) fn classes(&self, index: Index) -> impl Iterator<Item = &str> {
        self.attribute(index, "class")
            .unwrap_or_default()
            .split_ascii_whitespace()
    }

    pub(super) fn has_class(&self, index: Index, wanted: &str) -> bool {
        self.classes(index).any(|class| class == wanted)
    }

    pub(super) fn has_any_class(&self, index: Index, wanted: &[&str]) -> bool {
        self.classes(index).any(|class| wanted.contains(&class))
    }

    /// The first element of this name within a range.
    pub(super) fn find(&self, range: Range<Index>, name: &str) -> Option<Index> {
        range.into_iter().find(|&at| self.name(at) == name)
    }

    pub(super) fn has(&self, index: Index, names: &[&str]) -> bool {
        self.below(index).any(|at| names.contains(&self.name(at)))
    }

    /// The text below a node as it stands there, blanks and all.
    pub(super) fn raw_text(&self, index: Index) -> String {
        self.range(index).filter_map(|at| self.text(at)).collect()
    }

    /// The text below a node in one line.
    pub(super) fn line(&self, index: Index) -> String {
        one_line(&self.raw_text(index))
    }
}

fn data(node: &NodeRef, removed: &mut u64) -> Data {
    node.query_or(Data::Other, |node| match &node.data {
        NodeData::Text { contents } => {
            let text = words::without_invisible(contents, removed);
            let words = words::count(&text).try_into().unwrap_or(u32::MAX);
            Data::Text { text, words }
        }
        NodeData::Element(element) => Data::Element {
            name: element.name.local.clone(),
            attributes: element.attrs.clone(),
        },
        _ => Data::Other,
    })
}

/// Text with every run of blanks as one blank, and none around it.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Nodes that are left out, with everything below them.
#[derive(Debug, Clone)]
pub(super) struct LeftOut(Vec<bool>);

impl LeftOut {
    pub(super) fn nothing(tree: &Tree) -> LeftOut {
        LeftOut(vec![false; tree.len()])
    }

    pub(super) fn add(&mut self, index: Index) {
        self.0[index] = true;
    }

    pub(super) fn remove(&mut self, index: Index) {
        self.0[index] = false;
    }

    pub(super) fn has(&self, index: Index) -> bool {
        self.0[index]
    }

    /// The nodes of a range that are not left out.
    pub(super) fn rest<'a>(
        &'a self,
        tree: &'a Tree,
        range: Range<Index>,
    ) -> impl Iterator<Item = Index> + 'a {
        let mut at = range.start;
        std::iter::from_fn(move || {
            while at < range.end {
                let index = at;
                if self.0[index] {
                    at = tree.end(index);
                } else {
                    at += 1;
                    return Some(index);
                }
            }
            None
        })
    }

    /// Words of a range that are not left out.
    pub(super) fn words(&self, tree: &Tree, range: Range<Index>) -> u64 {
        self.rest(tree, range).map(|at| tree.own_words(at)).sum()
    }
}
