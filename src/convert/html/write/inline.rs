//! What runs within a line: text, emphasis, code, links, pictures, formulas, references to footnotes.

use super::super::links::LinkTarget;
use super::super::tree::{Index, one_line};
use super::{Writer, code, escape, math};

/// A run of inline content as it is written.
#[derive(Debug, Default)]
pub(super) struct Inline {
    pub(super) text: String,
    /// Whether a blank is due before what comes next.
    space: bool,
    /// Whether there was a blank before the first text.
    leading: bool,
    /// Names of places within it.
    pub(super) anchors: Vec<String>,
    within: Within,
    /// The mark that the text ends with, where it closed emphasis there.
    closed: Option<(usize, &'static str)>,
}

/// What a run stands in, which does not stand in itself.
#[derive(Debug, Default, Clone, Copy)]
struct Within {
    strong: bool,
    emphasis: bool,
    strike: bool,
    link: bool,
    /// Whose links to places of the page are of use only on the page.
    heading: bool,
}

impl Inline {
    /// A run in which bold is of no use: a term, the head of a table.
    pub(super) fn bold() -> Inline {
        let mut inline = Inline::default();
        inline.within.strong = true;
        inline
    }

    /// The run of a heading.
    pub(super) fn heading() -> Inline {
        let mut inline = Inline::bold();
        inline.within.heading = true;
        inline
    }

    fn nested(&self) -> Inline {
        Inline {
            within: self.within,
            ..Inline::default()
        }
    }

    /// What is written already, with a blank before it if one is due.
    pub(super) fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.space) {
            if self.text.is_empty() {
                self.leading = true;
            } else if !self.text.ends_with('\n') {
                self.text.push(' ');
            }
        }
        self.text.push_str(text);
    }

    /// Plain text, of which every run of blanks is one.
    fn words(&mut self, text: &str) {
        let escaped = escape::text(text, self.within.link);
        if escaped.starts_with(char::is_whitespace) {
            self.space = true;
        }
        let mut words = escaped.split_whitespace();
        if let Some(first) = words.next() {
            self.push(first);
        }
        for word in words {
            self.text.push(' ');
            self.text.push_str(word);
        }
        if escaped.ends_with(char::is_whitespace) {
            self.space = true;
        }
    }

    /// A line end.
    fn line_end(&mut self) {
        self.space = false;
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// A line end, unless the line is empty.
    fn fresh_line(&mut self) {
        if !self.text.ends_with('\n') {
            self.line_end();
        }
    }

    /// Takes in a run between two marks; blanks at its edges go outside.
    fn wrapped(&mut self, inner: Inline, mark: &'static str) {
        let Inline {
            text,
            space,
            leading,
            anchors,
            ..
        } = inner;
        self.anchors.extend(anchors);
        let trimmed = text.trim_matches('\n');
        self.space |= leading;
        if trimmed.is_empty() {
            self.space |= space || !text.is_empty();
            return;
        }
        if self.closed == Some((self.text.len(), mark)) && !self.space {
            // It goes on where the same just ended.
            self.text.truncate(self.text.len() - mark.len());
        } else {
            self.push(mark);
        }
        // Emphasis does not reach over the end of a paragraph.
        let parts: Vec<&str> = trimmed.split("\n\n").map(str::trim).collect();
        self.text
            .push_str(&parts.join(&format!("{mark}\n\n{mark}")));
        self.text.push_str(mark);
        self.closed = Some((self.text.len(), mark));
        self.space |= space;
    }

    /// Takes in a run as it is.
    fn absorb(&mut self, inner: Inline) {
        self.anchors.extend(inner.anchors);
        self.space |= inner.leading;
        self.push(&inner.text);
        self.space |= inner.space;
    }

    /// The run in one line.
    pub(super) fn one_line(&self) -> String {
        self.text
            .split('\n')
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl Writer<'_> {
    /// Writes the content of an element into a run.
    pub(super) fn inline_children(&mut self, at: Index, inline: &mut Inline) {
        for child in self.tree.children(at) {
            self.inline(child, inline);
        }
    }

    /// Writes a node into a run.
    pub(super) fn inline(&mut self, at: Index, inline: &mut Inline) {
        if self.left_out.has(at) || self.written.contains(&at) {
            return;
        }
        if let Some(text) = self.tree.text(at) {
            return inline.words(text);
        }
        if !self.tree.is_element(at) {
            return;
        }
        inline.anchors.extend(self.name_of(at).map(str::to_owned));
        if let Some(tex) = math::formula(self.tree, at) {
            return inline.push(&tex);
        }
        if self.is_backlink(at) {
            return;
        }
        match self.tree.name(at) {
            "b" | "strong" => self.emphasis(at, inline, "**"),
            "em" | "i" => self.emphasis(at, inline, "*"),
            "del" | "s" | "strike" => self.emphasis(at, inline, "~~"),
            "code" | "tt" | "samp" | "pre" => self.code_span(at, inline),
            "kbd" | "sup" | "sub" => self.kept_tag(at, inline),
            "a" => self.link(at, inline),
            "img" => self.image(at, inline),
            "br" => inline.line_end(),
            "hr" => inline.fresh_line(),
            "input" => inline.push(if self.tree.attribute(at, "checked").is_some() {
                "[x]"
            } else {
                "[ ]"
            }),
            "q" => {
                inline.push("“");
                self.inline_children(at, inline);
                inline.push("”");
            }
            "rt" => self.reading(at, inline),
            "rp" => {}
            "picture" | "figure" => self.inline_children(at, inline),
            "li" => {
                inline.fresh_line();
                inline.push("- ");
                self.inline_children(at, inline);
            }
            name if super::is_block_name(name) => {
                inline.fresh_line();
                self.inline_children(at, inline);
                inline.fresh_line();
            }
            _ => {
                // What is a box of its own on the page does not run into what is beside it.
                let is_apart = self.tree.is(at, "role", "tab")
                    || matches!(self.tree.name(at), "label" | "option" | "time" | "address");
                inline.space |= is_apart;
                self.inline_children(at, inline);
                inline.space |= is_apart;
            }
        }
    }

    fn emphasis(&mut self, at: Index, inline: &mut Inline, mark: &'static str) {
        let is_in = |within: &mut Within| -> bool {
            let flag = match mark {
                "**" => &mut within.strong,
                "*" => &mut within.emphasis,
                _ => &mut within.strike,
            };
            std::mem::replace(flag, true)
        };
        let mut inner = inline.nested();
        if is_in(&mut inner.within) {
            return self.inline_children(at, inline);
        }
        self.inline_children(at, &mut inner);
        inline.wrapped(inner, mark);
    }

    fn code_span(&mut self, at: Index, inline: &mut Inline) {
        let text = code::text(self.tree, self.left_out, at).replace('\n', " ");
        self.names_below(at, inline);
        if text.trim().is_empty() {
            inline.space = true;
            return;
        }
        let span = code::span(&text);
        match self.whole_link(at) {
            Some(url) if !inline.within.link => {
                inline.push(&format!("[{span}]({})", escape::address(&url)));
            }
            _ => inline.push(&span),
        }
    }

    /// The address of a link that is all there is in an element.
    fn whole_link(&self, at: Index) -> Option<String> {
        let link = self.tree.find(self.tree.below(at), "a")?;
        let is_all = self.tree.line(link) == self.tree.line(at);
        let href = self.tree.value(link, "href").filter(|_| is_all)?;
        match self.base.target(href) {
            LinkTarget::Address(url) => Some(url),
            LinkTarget::Fragment(id) => Some(format!("#{id}")),
            LinkTarget::Nothing => None,
        }
    }

    /// Names of places below an element whose content is written as text.
    fn names_below(&self, at: Index, inline: &mut Inline) {
        let names = self.tree.below(at).filter_map(|below| self.name_of(below));
        inline.anchors.extend(names.map(str::to_owned));
    }

    /// An element that Markdown has only as HTML.
    fn kept_tag(&mut self, at: Index, inline: &mut Inline) {
        let mut inner = inline.nested();
        self.inline_children(at, &mut inner);
        let text = inner.one_line();
        let name = self.tree.name(at);
        let is_reference = text.starts_with("[^") && text.ends_with(']');
        let written = match name {
            _ if text.is_empty() => String::new(),
            // What is a reference or a link is small without being said to be.
            "sup" if is_reference || inner.text.starts_with('[') => text,
            "kbd" if self.tree.has(at, &["kbd"]) => text,
            _ => format!("<{name}>{text}</{name}>"),
        };
        inner.text = written;
        inline.absorb(inner);
    }

    fn link(&mut self, at: Index, inline: &mut Inline) {
        let Some(href) = self.tree.value(at, "href").map(str::to_owned) else {
            return self.inline_children(at, inline);
        };
        if self.is_permalink(at) {
            return;
        }
        if let Some(label) = self.notes.reference(self.tree, at) {
            return inline.push(&format!("[^{label}]"));
        }
        let target = match self.base.target(&href) {
            _ if inline.within.link => None,
            LinkTarget::Nothing => None,
            LinkTarget::Address(url) => Some(url),
            LinkTarget::Fragment(_) if inline.within.heading => None,
            LinkTarget::Fragment(id) => Some(format!("#{id}")),
        };
        let Some(target) = target else {
            return self.inline_children(at, inline);
        };
        let mut inner = inline.nested();
        inner.within.link = true;
        self.inline_children(at, &mut inner);
        let mut text = inner.one_line();
        if text.is_empty() {
            let label = self
                .tree
                .value(at, "aria-label")
                .or(self.tree.value(at, "title"));
            let is_empty = self.tree.below(at).is_empty();
            text = escape::text(
                &one_line(label.filter(|_| is_empty).unwrap_or_default()),
                true,
            )
            .into_owned();
        }
        if !text.is_empty() {
            inner.text = format!("[{text}]({})", escape::address(&target));
        } else {
            inner.text.clear();
        }
        inline.absorb(inner);
    }

    /// Whether a link is the mark by which a heading names its own place.
    fn is_permalink(&self, at: Index) -> bool {
        let is_inside = self.tree.value(at, "href").is_some_and(|href| {
            href.starts_with('#') || matches!(self.base.target(href), LinkTarget::Fragment(_))
        });
        const MARKS: &[&str] = &[
            "",
            "¶",
            "#",
            "§",
            "🔗",
            "⚓",
            "⚓︎",
            "◆",
            "¶¶",
            "∞",
            "link",
            "Permalink",
            "permalink",
            "Link to this heading",
        ];
        const CLASSES: &[&str] = &[
            "headerlink",
            "header-anchor",
            "hash-link",
            "anchor-link",
            "heading-anchor",
            "anchorjs-link",
            "anchor",
            "sl-anchor-link",
            "permalink",
            "heading-link",
            "doc-anchor",
            "td-heading-self-link",
        ];
        if self
            .tree
            .has_any_class(at, &["anchorjs-link", "headerlink", "sl-anchor-link"])
        {
            return true;
        }
        let text = self.tree.line(at);
        let is_mark = MARKS.contains(&text.as_str());
        let has_picture = self.tree.has(at, &["img"]);
        is_mark
            && !has_picture
            && (is_inside || (self.tree.has_any_class(at, CLASSES) && text.len() < 5))
    }

    /// How a word of East Asian writing is read, in parentheses.
    fn reading(&mut self, at: Index, inline: &mut Inline) {
        let mut inner = inline.nested();
        self.inline_children(at, &mut inner);
        let text = inner.one_line();
        if !text.is_empty() {
            inline.space = false;
            inline.push(&format!("({text})"));
        }
    }

    fn image(&mut self, at: Index, inline: &mut Inline) {
        let alt = one_line(self.tree.value(at, "alt").unwrap_or_default());
        if self.tree.is(at, "role", "presentation") {
            return;
        }
        let is_figure = self
            .tree
            .ancestors(at)
            .take(4)
            .find(|&up| self.tree.name(up) == "figure")
            .is_some_and(|figure| self.tree.has(figure, &["figcaption"]));
        if alt.is_empty() && !is_figure {
            return;
        }
        let mut alt = escape::text(&alt, true).into_owned();
        if let Some((cut, _)) = alt.char_indices().nth(1000) {
            alt.truncate(cut);
        }
        match self.source(at) {
            Some(url) => inline.push(&format!("![{alt}]({})", escape::address(&url))),
            None if !alt.is_empty() => inline.push(&format!("![{alt}]")),
            None => {}
        }
    }

    /// Where a picture is, also one that is fetched late.
    fn source(&self, at: Index) -> Option<String> {
        let is_there = |source: &&str| !source.starts_with("data:");
        let value = |name: &str| self.tree.value(at, name).filter(is_there);
        let of_set = |name: &str| {
            let set = self.tree.value(at, name)?;
            let first = set.split(',').next()?.split_whitespace().next()?;
            Some(first).filter(is_there)
        };
        let source = value("data-src")
            .or_else(|| value("data-original"))
            .or_else(|| value("data-lazy-src"))
            .or_else(|| value("src"))
            .or_else(|| of_set("srcset"))
            .or_else(|| of_set("data-srcset"))?;
        self.base.absolute(source)
    }
}
