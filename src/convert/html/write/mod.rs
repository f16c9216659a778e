//! A part of a page as Markdown: blocks are written line by line, what runs within them by [`inline`].
//!
//! The text is written once, from the first line to the last, so that the line of every named place
//! is known as it is written.

mod boxes;
mod code;
mod escape;
mod inline;
mod lists;
mod math;
mod notes;
mod out;
mod table;

use std::collections::HashSet;

use super::super::messages::Section;
use super::choose::PagePart;
use super::links::Base;
use super::sections::sections;
use super::tree::{Index, LeftOut, Tree};
use inline::Inline;
use notes::Notes;
use out::Out;

/// What is wanted beside the part itself.
#[derive(Debug, Default)]
pub(super) struct Wanted<'a> {
    /// Lines before it: a title, a description.
    pub(super) title: Option<&'a str>,
    pub(super) lead: Option<&'a str>,
    /// By how much its headings are lowered.
    pub(super) lowered: usize,
    /// Bytes that it may have.
    pub(super) cap: usize,
}

/// What is written.
#[derive(Debug)]
pub(super) struct Markdown {
    pub(super) text: String,
    pub(super) sections: Vec<Section>,
    pub(super) is_cut: bool,
}

struct Writer<'p> {
    tree: &'p Tree,
    left_out: &'p LeftOut,
    base: &'p Base,
    /// Whether there is a block below a node.
    has_block: Vec<bool>,
    notes: Notes,
    out: Out,
    lowered: usize,
    /// Where a link leads that is around blocks: the first of their lines becomes the link.
    card: Option<String>,
    /// What is written already, out of its order.
    written: HashSet<Index>,
}

/// Writes a part of a page.
pub(super) fn write(tree: &Tree, part: &PagePart, base: &Base, wanted: &Wanted) -> Markdown {
    let mut writer = Writer {
        tree,
        left_out: &part.left_out,
        base,
        has_block: with_blocks(tree, part),
        notes: Notes::find(tree, part),
        out: Out::new(wanted.cap),
        lowered: wanted.lowered,
        card: None,
        written: HashSet::new(),
    };
    if let Some(title) = wanted.title {
        writer.out.heading(1);
        writer
            .out
            .line(&format!("# {}", escape::text(title, false)));
        writer.out.part();
    }
    if let Some(lead) = wanted.lead {
        writer.out.line(&escape::line(&escape::text(lead, false)));
        writer.out.part();
    }
    writer.block(part.root);
    writer.out.finish();
    let out = writer.out;
    Markdown {
        sections: sections(&out.text, &out.anchors, &out.headings),
        text: out.text,
        is_cut: out.is_cut,
    }
}

/// Which nodes have a block below them.
fn with_blocks(tree: &Tree, part: &PagePart) -> Vec<bool> {
    let mut has_block = vec![false; tree.len()];
    for at in part
        .left_out
        .rest(tree, tree.range(part.root))
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
    {
        let is_block = has_block[at]
            || is_block_name(tree.name(at))
            || (math::is_display(tree, at) && math::formula(tree, at).is_some());
        if is_block && let Some(around) = tree.parent(at) {
            has_block[around] = true;
        }
    }
    has_block
}

/// Whether elements of this name stand for themselves.
fn is_block_name(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "center"
            | "dd"
            | "details"
            | "dir"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hgroup"
            | "hr"
            | "legend"
            | "li"
            | "listing"
            | "main"
            | "menu"
            | "nav"
            | "noscript"
            | "ol"
            | "p"
            | "plaintext"
            | "pre"
            | "search"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "td"
            | "tfoot"
            | "th"
            | "thead"
            | "tr"
            | "caption"
            | "ul"
            | "xmp"
    )
}

impl<'p> Writer<'p> {
    /// The name by which a fragment may know an element.
    fn name_of(&self, at: Index) -> Option<&'p str> {
        let id = self.tree.value(at, "id");
        id.or_else(|| {
            self.tree
                .value(at, "name")
                .filter(|_| self.tree.name(at) == "a")
        })
    }

    fn is_block(&self, at: Index) -> bool {
        self.tree.is_element(at)
            && (self.has_block[at]
                || is_block_name(self.tree.name(at))
                || (math::is_display(self.tree, at) && math::formula(self.tree, at).is_some()))
            && !matches!(self.tree.name(at), "ruby" | "button")
    }

    /// Writes what is in an element: blocks, and paragraphs of what runs between them.
    fn blocks(&mut self, at: Index) {
        let mut run = Vec::new();
        for child in self.tree.children(at) {
            if self.left_out.has(child) || self.written.contains(&child) {
                continue;
            }
            if self.is_block(child) {
                self.run(&run);
                run.clear();
                self.block(child);
            } else {
                run.push(child);
            }
        }
        self.run(&run);
    }

    /// A paragraph of nodes side by side.
    fn run(&mut self, run: &[Index]) {
        if run.is_empty() {
            return;
        }
        let mut inline = Inline::default();
        for &at in run {
            self.inline(at, &mut inline);
        }
        self.paragraph(inline);
    }

    fn paragraph(&mut self, mut inline: Inline) {
        let opened = self.out.open_all(&mut inline.anchors);
        let mut text = inline.text.trim().to_owned();
        if !text.is_empty()
            && !text.contains("](")
            && let Some(url) = self.card.take()
        {
            text = format!("[{}]({})", inline.one_line(), escape::address(&url));
        }
        if !text.is_empty() {
            let mut lines = text.split('\n').map(str::trim).peekable();
            while let Some(line) = lines.next() {
                if line.is_empty() {
                    self.out.part();
                    continue;
                }
                // Two blanks keep a line end that is not that of the paragraph.
                let is_broken = lines.peek().is_some_and(|next| !next.is_empty());
                let end = if is_broken { "  " } else { "" };
                self.out.line(&format!("{}{end}", escape::line(line)));
            }
            self.out.part();
        }
        self.out.close_all(opened);
    }

    /// Writes one block.
    fn block(&mut self, at: Index) {
        if self.left_out.has(at) || !self.written.insert(at) {
            return;
        }
        if let Some(label) = self.notes.defined(at).map(str::to_owned) {
            return self.footnote(at, &label);
        }
        let opened = self.name_of(at).and_then(|id| self.out.open(id));
        self.by_name(at);
        self.out.close(opened);
    }

    fn by_name(&mut self, at: Index) {
        if let Some(tex) = math::formula(self.tree, at).filter(|_| math::is_display(self.tree, at))
        {
            return self.plain_lines(&[tex]);
        }
        if code::is_block(self.tree, at) {
            return self.fence(at);
        }
        match self.tree.name(at) {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(at),
            "pre" | "listing" | "xmp" | "plaintext" => self.fence(at),
            // Code that stands in blocks of its own.
            "code" | "samp" => self.fence(at),
            "ul" | "ol" | "menu" | "dir" => self.list(at),
            "li" => self.stray_item(at),
            "dl" => self.definitions(at),
            "table" if self.tree.has_class(at, "memname") => self.member(at),
            "table" => self.table(at),
            "hr" => self.plain_lines(&["---".to_owned()]),
            "details" => self.details(at),
            "blockquote" => self.quote(at),
            "a" => self.linked_blocks(at),
            _ if self.is_box(at) => self.quote(at),
            _ => self.blocks(at),
        }
    }

    /// A block of lines as they are.
    fn plain_lines(&mut self, lines: &[String]) {
        for line in lines {
            self.out.line(line);
        }
        self.out.part();
    }

    fn fence(&mut self, at: Index) {
        if let Some(parts) = self.alternatives(at) {
            for part in parts {
                self.fence(part);
            }
            return;
        }
        let mut text = code::text(self.tree, self.left_out, at);
        if self.tree.name(at) == "div" {
            // Doxygen indents with blanks that do not break, and ends with a line of none.
            text = text.replace('\u{A0}', " ").trim_end().to_owned();
        }
        let names: Vec<&str> = self
            .tree
            .below(at)
            .filter_map(|below| self.name_of(below))
            .collect();
        let opened: Vec<_> = names.into_iter().map(|id| self.out.open(id)).collect();
        if !text.trim().is_empty() {
            let language = code::language(self.tree, at);
            self.plain_lines(&code::fence(&text, &language));
        }
        self.out.close_all(opened);
    }

    /// How Doxygen writes what a member is called: in a table, for the sake of its parentheses.
    fn member(&mut self, at: Index) {
        let text = super::tree::one_line(&self.tree.line(at).replace("( ", "(").replace(" )", ")"));
        self.plain_lines(&[code::span(&text)]);
    }

    /// The same code in several languages, in one block of which one is shown at a time.
    fn alternatives(&self, at: Index) -> Option<Vec<Index>> {
        let is_code = |child: &Index| self.tree.name(*child) == "code";
        let parts: Vec<Index> = self.tree.children(at).filter(is_code).collect();
        let are_whole = parts.iter().all(|&part| {
            self.tree
                .classes(part)
                .any(|class| class.starts_with("lang"))
        });
        (parts.len() > 1 && are_whole).then_some(parts)
    }

    fn heading(&mut self, at: Index) {
        let mut inline = Inline::heading();
        self.inline_children(at, &mut inline);
        let opened = self.out.open_all(&mut inline.anchors);
        let mut text = inline.one_line();
        if !text.is_empty() {
            if !text.contains("](")
                && let Some(url) = self.card.take()
            {
                text = format!("[{text}]({})", escape::address(&url));
            }
            let level = self.tree.name(at).as_bytes()[1] - b'0';
            let level = (usize::from(level) + self.lowered).min(6);
            self.out.part();
            self.out.heading(level);
            self.out.line(&format!("{} {text}", "#".repeat(level)));
            self.out.part();
        }
        self.out.close_all(opened);
    }

    /// A link around blocks: the first line of them that can be is the link.
    fn linked_blocks(&mut self, at: Index) {
        let href = self.tree.value(at, "href");
        let outer = self.card.take();
        self.card = href.and_then(|href| self.base.absolute(href));
        self.blocks(at);
        self.card = outer;
    }
}
