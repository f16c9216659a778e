//! Footnotes: references as `[^1]`, and what they refer to.
//!
//! A reference is one only if what it refers to is in the same part of the page; else it is a link.

use std::collections::{HashMap, HashSet};

use super::super::choose::PagePart;
use super::super::tree::{Index, Tree};
use super::Writer;

/// The footnotes of a part.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The label of each place that is referred to.
    labels: HashMap<String, String>,
    /// The label of each element that is a footnote.
    defined: HashMap<Index, String>,
}

impl Notes {
    pub(super) fn find(tree: &Tree, part: &PagePart) -> Notes {
        let mut labels = HashMap::new();
        for at in part.left_out.rest(tree, tree.range(part.root)) {
            if let Some((id, label)) = referred(tree, at) {
                labels.entry(id.to_owned()).or_insert(label);
            }
        }
        if labels.is_empty() {
            return Notes::default();
        }
        let mut notes = Notes::default();
        let mut known = HashSet::new();
        for at in part.left_out.rest(tree, tree.range(part.root)) {
            let is_place = matches!(
                tree.name(at),
                "li" | "aside" | "div" | "dt" | "p" | "section" | "dd"
            );
            let Some(id) = tree.value(at, "id").filter(|_| is_place) else {
                continue;
            };
            if let Some(label) = labels.get(id)
                && known.insert(label.clone())
            {
                notes.defined.insert(at, label.clone());
                notes.labels.insert(id.to_owned(), label.clone());
            }
        }
        notes
    }

    /// The label of the footnote that a link refers to.
    pub(super) fn reference(&self, tree: &Tree, at: Index) -> Option<&str> {
        let (id, _) = referred(tree, at)?;
        self.labels.get(id).map(String::as_str)
    }

    /// The label of the footnote that an element is.
    pub(super) fn defined(&self, at: Index) -> Option<&str> {
        self.defined.get(&at).map(String::as_str)
    }
}

/// The place that a link refers to as a footnote, and its label.
fn referred(tree: &Tree, at: Index) -> Option<(&str, String)> {
    if tree.name(at) != "a" {
        return None;
    }
    let href = tree.value(at, "href")?;
    let id = &href[href.find('#')? + 1..];
    const CLASSES: &[&str] = &[
        "footnote-ref",
        "footnote-reference",
        "footnote",
        "fn-ref",
        "footnote-anchor",
    ];
    let is_small = tree.ancestors(at).take(3).any(|up| tree.name(up) == "sup");
    let is_reference = is_small
        || tree.is(at, "role", "doc-noteref")
        || tree.has_any_class(at, CLASSES)
        || tree.attribute(at, "data-footnote-ref").is_some();
    let text = tree.line(at);
    if !is_reference || id.is_empty() || text.chars().count() > 12 {
        return None;
    }
    let label: String = text
        .chars()
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .filter(|letter| letter.is_alphanumeric() || "-_*†‡".contains(*letter))
        .collect();
    (!label.is_empty()).then_some((id, label))
}

impl Writer<'_> {
    /// A footnote, where it stands on the page.
    pub(super) fn footnote(&mut self, at: Index, label: &str) {
        let opened = self.name_of(at).and_then(|id| self.out.open(id));
        self.out.enter(&format!("[^{label}]: "), "    ");
        self.blocks(at);
        self.out.leave();
        self.out.close(opened);
        self.out.part();
    }

    /// Whether an element leads from a footnote back to where it is referred to, or repeats its label.
    pub(super) fn is_backlink(&self, at: Index) -> bool {
        const CLASSES: &[&str] = &[
            "mw-cite-backlink",
            "footnote-back",
            "footnote-backref",
            "reversefootnote",
            "fn-backref",
            "data-footnote-backref",
            "backrefs",
            "footnote-return",
        ];
        let name = self.tree.name(at);
        // A heading that leads back to the table of contents is no mark behind a note.
        if !matches!(name, "a" | "span" | "sup") || self.tree.has_class(at, "toc-backref") {
            return false;
        }
        if self.tree.has_any_class(at, CLASSES) || self.tree.is(at, "role", "doc-backlink") {
            return true;
        }
        if name == "span" && self.tree.has_any_class(at, &["label", "brackets"]) {
            return self
                .tree
                .ancestors(at)
                .take(3)
                .any(|up| self.notes.defined(up).is_some());
        }
        let leads_inside = self
            .tree
            .value(at, "href")
            .is_some_and(|href| href.contains('#'));
        name == "a"
            && leads_inside
            && matches!(self.tree.line(at).as_str(), "↩" | "↩︎" | "⏎" | "↑" | "^")
    }
}
