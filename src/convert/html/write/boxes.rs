//! Quotes, boxes that stand out of the text (notes, warnings), and what is folded.

use super::super::lists::{ADMONITIONS, KINDS};
use super::super::tree::Index;
use super::Writer;
use super::inline::Inline;

impl Writer<'_> {
    /// Whether an element is a box that stands out of the text.
    pub(super) fn is_box(&self, at: Index) -> bool {
        if !matches!(
            self.tree.name(at),
            "div" | "aside" | "section" | "p" | "details" | "blockquote"
        ) {
            return false;
        }
        self.tree
            .classes(at)
            .enumerate()
            .any(|(place, class)| match class {
                "alert" | "information" => self.kind(at).is_some(),
                "callout" => true,
                "note" | "warning" | "tip" | "caution" | "important" | "danger" => {
                    place == 0 && self.tree.name(at) != "details"
                }
                _ => ADMONITIONS.iter().any(|(known, _)| *known == class),
            })
    }

    /// What the class tokens of a box say that it is.
    fn kind(&self, at: Index) -> Option<&'static str> {
        self.tree.classes(at).find_map(|class| {
            let class = class.to_ascii_lowercase();
            let word = class.rsplit(['-', '_']).next().unwrap_or_default();
            KINDS
                .iter()
                .find(|(known, _)| *known == class || *known == word)
                .map(|(_, title)| *title)
        })
    }

    /// A quote; with a title where it is a box.
    pub(super) fn quote(&mut self, at: Index) {
        self.out.enter("> ", "> ");
        if self.is_box(at) {
            self.box_title(at);
            match self
                .tree
                .below(at)
                .find(|&below| self.is_content_cell(below))
            {
                // Asciidoctor makes a box a table.
                Some(cell) => self.blocks(cell),
                None => self.blocks(at),
            }
        } else {
            self.blocks(at);
        }
        self.out.leave();
        self.out.part();
    }

    fn is_content_cell(&self, at: Index) -> bool {
        self.tree.name(at) == "td"
            && self.tree.has_class(at, "content")
            && self
                .tree
                .ancestors(at)
                .take(4)
                .any(|up| self.tree.has_class(up, "admonitionblock"))
    }

    fn box_title(&mut self, at: Index) {
        let own = self
            .tree
            .below(at)
            .take(40)
            .find(|&below| self.is_title(below));
        let mut title = String::new();
        if let Some(own) = own {
            let mut inline = Inline::bold();
            self.inline_children(own, &mut inline);
            self.written.insert(own);
            title = inline.one_line();
        }
        if title.is_empty() {
            // A heading of its own says more than what it is.
            let has_heading = self.tree.children(at).any(|child| {
                matches!(
                    self.tree.name(child),
                    "h1" | "h2" | "h3" | "h4" | "h5" | "h6"
                )
            });
            title = self
                .kind(at)
                .filter(|_| !has_heading)
                .unwrap_or_default()
                .to_owned();
            let text = self.tree.line(at);
            if text.to_lowercase().starts_with(&title.to_lowercase()) {
                return;
            }
        }
        if !title.is_empty() {
            self.out.line(&format!("**{title}**"));
            self.out.part();
        }
    }

    /// Whether an element is the title of the box that it is in.
    fn is_title(&self, at: Index) -> bool {
        const TITLES: &[&str] = &[
            "admonition-title",
            "markdown-alert-title",
            "custom-block-title",
            "callout-title",
            "callout-header",
            "alert-heading",
            "alert-title",
            "starlight-aside__title",
            "blockquote-tag-title",
        ];
        self.tree.name(at) == "summary"
            || self.tree.has_any_class(at, TITLES)
            || self
                .tree
                .classes(at)
                .any(|class| class.starts_with("admonitionHeading"))
            || (self.tree.has_class(at, "title") && matches!(self.tree.name(at), "div" | "p"))
    }

    /// What is folded: its summary, then all of it.
    pub(super) fn details(&mut self, at: Index) {
        if self.is_box(at) {
            return self.quote(at);
        }
        let summary = self
            .tree
            .children(at)
            .find(|&child| self.tree.name(child) == "summary");
        if let Some(summary) = summary.filter(|&summary| !self.left_out.has(summary)) {
            if self.has_block[summary] {
                self.block(summary);
            } else {
                let mut inline = Inline::bold();
                self.inline_children(summary, &mut inline);
                self.written.insert(summary);
                let opened = self.out.open_all(&mut inline.anchors);
                let text = inline.one_line();
                if !text.is_empty() {
                    let is_code = text.starts_with('`') && text.ends_with('`');
                    let mark = if is_code { "" } else { "**" };
                    self.out.line(&format!("{mark}{text}{mark}"));
                    self.out.part();
                }
                self.out.close_all(opened);
            }
        }
        self.blocks(at);
    }
}
