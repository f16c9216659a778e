//! Lists of items, and lists of terms with their definitions.

use super::super::tree::Index;
use super::Writer;
use super::inline::Inline;

/// Numbers that an item may have.
const LARGEST: u32 = 999_999_999;

impl Writer<'_> {
    pub(super) fn list(&mut self, at: Index) {
        let is_numbered = self.tree.name(at) == "ol";
        let whole = |value: Option<&str>| value.and_then(|value| value.parse::<u32>().ok());
        let mut number = whole(self.tree.value(at, "start"))
            .unwrap_or(1)
            .min(LARGEST);
        let items: Vec<Index> = self
            .tree
            .children(at)
            .filter(|&child| !self.left_out.has(child) && self.tree.is_element(child))
            .collect();
        let is_loose = items
            .iter()
            .any(|&item| self.tree.name(item) == "li" && self.is_loose(item));
        let mut is_first = true;
        for item in items {
            if self.tree.name(item) == "li" {
                if let Some(value) = whole(self.tree.value(item, "value")) {
                    number = value.min(LARGEST);
                }
                let marker = if is_numbered {
                    format!("{number}. ")
                } else {
                    "- ".to_owned()
                };
                if !is_first && !is_loose {
                    self.out.join();
                }
                if self.item(item, &marker, is_loose) {
                    number = (number + 1).min(LARGEST);
                    is_first = false;
                }
            } else {
                // What stands in a list without being an item belongs to the item before it.
                if !is_first && !is_loose {
                    self.out.join();
                }
                self.out.enter("  ", "  ");
                if self.is_block(item) {
                    self.block(item);
                } else {
                    self.blocks(item);
                }
                self.out.leave();
            }
        }
        self.out.part();
    }

    /// An item outside of any list.
    pub(super) fn stray_item(&mut self, at: Index) {
        let is_loose = self.is_loose(at);
        self.written.remove(&at);
        self.item(at, "- ", is_loose);
        self.out.part();
    }

    /// Whether something was written.
    fn item(&mut self, at: Index, marker: &str, is_loose: bool) -> bool {
        if !self.written.insert(at) {
            return false;
        }
        if let Some(label) = self.notes.defined(at).map(str::to_owned) {
            self.footnote(at, &label);
            return true;
        }
        let opened = self.name_of(at).and_then(|id| self.out.open(id));
        self.out.enter(marker, &" ".repeat(marker.len()));
        if is_loose {
            self.blocks(at);
        } else {
            self.tight(at);
        }
        let is_used = self.out.leave();
        self.out.close(opened);
        self.out.part();
        is_used
    }

    /// What is in an item, without blank lines between its text and the lists below it.
    fn tight(&mut self, at: Index) {
        let mut run = Vec::new();
        for child in self.tree.children(at) {
            if self.left_out.has(child) || self.written.contains(&child) {
                continue;
            }
            if self.is_block(child) {
                self.run(&run);
                if !run.is_empty() {
                    self.out.join();
                }
                run.clear();
                let is_wrapper = matches!(self.tree.name(child), "p" | "div" | "span" | "section");
                if is_wrapper && !self.is_box(child) && self.name_of(child).is_none() {
                    self.tight(child);
                } else {
                    self.block(child);
                }
                self.out.join();
            } else {
                run.push(child);
            }
        }
        self.run(&run);
    }

    /// Whether an item holds more than a text and lists below it.
    fn is_loose(&self, at: Index) -> bool {
        let (mut texts, mut is_in_run) = (0, false);
        for child in self.tree.children(at) {
            if self.left_out.has(child) {
                continue;
            }
            if !self.is_block(child) {
                let is_text = self
                    .tree
                    .text(child)
                    .is_none_or(|text| !text.trim().is_empty());
                texts += u32::from(is_text && !is_in_run);
                is_in_run |= is_text;
                continue;
            }
            is_in_run = false;
            match self.tree.name(child) {
                "ul" | "ol" => {}
                "p" | "div" | "span" | "section" if !self.is_box(child) => {
                    if self.has_block[child] && self.is_loose(child) {
                        return true;
                    }
                    texts += u32::from(!self.tree.line(child).is_empty());
                }
                _ => return true,
            }
        }
        texts > 1
    }

    /// Terms, each in a line of its own, with their definitions below.
    pub(super) fn definitions(&mut self, at: Index) {
        let mut label = None;
        for child in self.pairs(at) {
            if self.left_out.has(child) || !self.written.insert(child) {
                continue;
            }
            match self.tree.name(child) {
                "dt" => {
                    label = self.notes.defined(child).map(str::to_owned);
                    if label.is_none() {
                        self.term(child);
                    }
                }
                "dd" => match label.take() {
                    Some(label) => self.footnote(child, &label),
                    None => self.definition(child),
                },
                _ => {
                    self.written.remove(&child);
                    self.block(child);
                }
            }
        }
        self.out.part();
    }

    /// The terms and definitions of a list, also where they are in groups.
    fn pairs(&self, at: Index) -> Vec<Index> {
        let mut pairs = Vec::new();
        for child in self.tree.children(at) {
            if self.tree.name(child) == "div" && !self.left_out.has(child) {
                pairs.extend(
                    self.tree
                        .children(child)
                        .filter(|&below| self.tree.is_element(below)),
                );
            } else if self.tree.is_element(child) {
                pairs.push(child);
            }
        }
        pairs
    }

    fn term(&mut self, at: Index) {
        let opened = self.name_of(at).and_then(|id| self.out.open(id));
        let is_signature = self.tree.has_any_class(at, &["sig", "sig-object"]);
        let has_blocks = self.has_block[at];
        if is_signature {
            self.signature(at);
        } else if has_blocks {
            self.blocks(at);
        } else {
            let mut inline = Inline::bold();
            self.inline_children(at, &mut inline);
            let names = self.out.open_all(&mut inline.anchors);
            let text = inline.one_line();
            let is_code = text.starts_with('`') && text.ends_with('`');
            if is_code || text.starts_with("[`") {
                self.out.line(&text);
            } else if !text.is_empty() {
                self.out.line(&format!("**{text}**"));
            }
            self.out.close_all(names);
        }
        self.out.close(opened);
        if !has_blocks || is_signature {
            // Its definition, or another term of the same, is on the next line.
            self.out.join();
        }
    }

    /// The term of an API: how something is called, which is code.
    fn signature(&mut self, at: Index) {
        let mut text = String::new();
        for below in self.left_out.rest(self.tree, self.tree.below(at)) {
            let is_mark = self.tree.ancestors(below).take(3).any(|up| {
                self.tree
                    .has_any_class(up, &["headerlink", "viewcode-link", "viewcode-back"])
            });
            if let Some(own) = self.tree.text(below).filter(|_| !is_mark) {
                text.push_str(own);
            }
        }
        let text = super::super::tree::one_line(&text);
        if !text.is_empty() {
            self.out.line(&super::code::span(&text));
        }
    }

    fn definition(&mut self, at: Index) {
        let opened = self.name_of(at).and_then(|id| self.out.open(id));
        self.out.enter(": ", "  ");
        self.blocks(at);
        self.out.leave();
        self.out.close(opened);
        self.out.part();
    }
}
