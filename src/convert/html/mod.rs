//! An HTML page to Markdown and facts about it, as a pure function of its bytes and what was said of them.
//!
//! ```text
//! bytes ─ decode ─ flatten ─ parser ─ tree ─ hidden ─ choose ─ write ─ text
//!                                        └─ links, judge: facts
//! ```
//!
//! The parser (html5ever, by `dom_query`) runs once; reader mode works on a copy of its tree, and all
//! else on a list of nodes made of it ([`tree`]) with something left out. Only converter children
//! come here: a page that is too much for them costs one answer.

mod choose;
mod flatten;
mod hidden;
mod judge;
mod links;
mod lists;
mod sections;
#[cfg(test)]
mod tests;
mod tree;
mod words;
mod write;

use dom_query::Document;

use super::decode::{Said, decode};
use super::messages::{HtmlMethod, HtmlPage, HtmlRequest, Why};
use choose::PagePart;
use links::Base;
use tree::{Index, LeftOut, Tree, one_line};

/// Bytes of HTML that are looked at.
pub(super) const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// Bytes of a title or a description.
const MOST_FACT: usize = 1000;

/// Converts a page.
pub(super) fn convert(bytes: &[u8], request: &HtmlRequest) -> Result<(HtmlPage, String), Why> {
    let shown = &bytes[..bytes.len().min(MOST_BYTES as usize)];
    let said = Said {
        demanded: request.encoding.as_deref(),
        header: request.charset.as_deref(),
        base: &request.base,
    };
    let decoded = decode(shown, said);
    let mut notes = decoded.notes;
    let whole_bytes = request.whole_bytes.max(bytes.len() as u64);
    if whole_bytes > shown.len() as u64 {
        notes.push(format!(
            "the first {} of {} of HTML",
            megabytes(shown.len() as u64),
            megabytes(whole_bytes)
        ));
    }
    let flat = flatten::flatten(&decoded.text);
    drop(decoded.text);
    let document = Document::from(flat.html);
    let (tree, removed) = Tree::new(&document);
    if removed > 0 {
        let characters = if removed == 1 {
            "character was"
        } else {
            "characters were"
        };
        notes.push(format!("{removed} invisible {characters} removed"));
    }
    let page = Parsed {
        body: body(&tree),
        unseen: hidden::unseen(&tree),
        base: Base::new(&tree, &request.base),
        tree,
        has_scripts: flat.has_scripts,
        bytes: shown.len(),
    };
    let framed = choose::framed(&page.tree, &page.unseen, page.body);
    let read = match request.whole {
        true => Some(choose::whole(&page.unseen, page.body)),
        false => choose::main_part(&page.tree, &page.unseen, &framed, &document),
    };
    drop(document);
    let heading = page.heading(&framed);
    let part = read.unwrap_or(framed);
    let (mut answer, text) = page.written(&part, heading, request);
    answer.encoding = decoded.encoding;
    notes.append(&mut answer.notes);
    answer.notes = notes;
    Ok((answer, text))
}

/// Converts a piece of HTML, as a feed has it, to Markdown with its headings lowered.
pub(super) fn fragment(html: &str, base: &str, cap: usize) -> String {
    let document = Document::from(flatten::flatten(html).html);
    let (tree, _) = Tree::new(&document);
    let wanted = write::Wanted {
        lowered: 2,
        cap,
        ..write::Wanted::default()
    };
    let part = choose::whole(&hidden::unseen(&tree), body(&tree));
    write::write(&tree, &part, &Base::new(&tree, base), &wanted).text
}

fn body(tree: &Tree) -> Index {
    let found = tree
        .all()
        .find(|&at| matches!(tree.name(at), "body" | "frameset"));
    found.unwrap_or(0)
}

/// A page of which everything is known but its main part.
struct Parsed {
    tree: Tree,
    unseen: LeftOut,
    body: Index,
    base: Base,
    has_scripts: bool,
    bytes: usize,
}

impl Parsed {
    /// The text of a part of the page, and the facts.
    fn written(
        &self,
        part: &PagePart,
        heading: Option<String>,
        request: &HtmlRequest,
    ) -> (HtmlPage, String) {
        let tree = &self.tree;
        let judged = judge::Judged {
            tree,
            part,
            body: self.body,
            has_scripts: self.has_scripts,
            bytes: self.bytes,
        };
        let (words, is_shell) = (judged.words(), judged.is_shell());
        let title = judge::title(tree).map(fact);
        let description = judge::description(tree).map(fact);
        let heading = heading.or_else(|| title.clone());
        let heading = heading.filter(|heading| !self.is_headed(part, heading));
        let opened = is_shell.then(|| self.with_noscript(part));
        let wanted = write::Wanted {
            title: heading.as_deref(),
            lead: description.as_deref().filter(|_| is_shell),
            lowered: 0,
            cap: usize::try_from(request.output_bytes).unwrap_or(usize::MAX),
        };
        let shown = opened.as_ref().unwrap_or(part);
        let written = write::write(tree, shown, &self.base, &wanted);
        let mut notes = Vec::new();
        if written.is_cut {
            notes.push(format!(
                "the first {} of its text",
                megabytes(written.text.len() as u64)
            ));
        }
        let alternates = links::alternates(tree, &self.base);
        let whole = choose::whole(&self.unseen, self.body);
        let page = HtmlPage {
            method: if part.is_body {
                HtmlMethod::Page
            } else {
                HtmlMethod::Reader
            },
            title,
            description,
            encoding: String::new(),
            links: links::listed(tree, &self.base, part, &whole),
            sections: written.sections,
            is_shell,
            words,
            is_poor: judged.is_poor(is_shell),
            has_password_field: judged.has_password_field(),
            refresh: judge::refresh(tree, &self.base),
            markdown_alternate: alternates.markdown,
            feed_alternates: alternates.feeds,
            document_link: links::document(tree, &self.base, part),
            notes,
        };
        (page, written.text)
    }

    /// Whether a part has a first heading: of the first level, or of these words.
    fn is_headed(&self, part: &PagePart, words: &str) -> bool {
        let tree = &self.tree;
        let seen = part.left_out.rest(tree, tree.range(part.root));
        let mut headings = seen.filter(|&at| {
            matches!(tree.name(at), "h1" | "h2" | "h3")
                && part.left_out.words(tree, tree.range(at)) > 0
        });
        let Some(first) = headings.next() else {
            return false;
        };
        heading_text(tree, first).eq_ignore_ascii_case(words)
            || tree.name(first) == "h1"
            || headings.any(|at| tree.name(at) == "h1")
    }

    /// What stands over a text that has no first heading of its own: that of the frame, that of the
    /// page, or the next below it that the title names, which reader mode takes for the title.
    fn heading(&self, framed: &PagePart) -> Option<String> {
        let tree = &self.tree;
        let title = judge::title(tree).unwrap_or_default().to_lowercase();
        let first = |root: Index, name: &str, is_wanted: &dyn Fn(&str) -> bool| {
            framed
                .left_out
                .rest(tree, tree.range(root))
                .filter(|&at| tree.name(at) == name)
                .map(|at| heading_text(tree, at))
                .find(|text| !text.is_empty() && is_wanted(&text.to_lowercase()))
        };
        first(framed.root, "h1", &|_| true)
            .or_else(|| first(self.body, "h1", &|text| title.contains(text)))
            .or_else(|| {
                first(framed.root, "h2", &|text| {
                    text.len() > 3 && title.starts_with(text)
                })
            })
            .or_else(|| judge::meta(tree, &["og:title"]))
            .map(fact)
    }

    /// The body of a page that is a shell, with what it says to readers without scripts.
    fn with_noscript(&self, part: &PagePart) -> PagePart {
        let mut left_out = part.left_out.clone();
        for at in self.tree.below(self.body) {
            if self.tree.name(at) == "noscript" {
                left_out.remove(at);
                for below in self.tree.below(at) {
                    match self.tree.name(below) {
                        "style" | "script" | "iframe" | "img" => left_out.add(below),
                        _ => left_out.remove(below),
                    }
                }
            }
        }
        PagePart {
            root: self.body,
            left_out,
            is_body: part.is_body,
            is_of_a_tool: part.is_of_a_tool,
        }
    }
}

/// A heading's text without the mark of its own place.
fn heading_text(tree: &Tree, at: Index) -> String {
    let text = tree.line(at);
    text.trim_end_matches(['¶', '#', '§', ' ']).to_owned()
}

/// A fact in one line, and not too long.
fn fact(text: String) -> String {
    let mut text = one_line(&text);
    text.retain(|letter| !letter.is_control());
    if text.len() > MOST_FACT {
        let cut = (0..=MOST_FACT).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(cut.unwrap_or(0));
    }
    text
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes * 10 / (1024 * 1024);
    format!("{}.{}MB", tenths / 10, tenths % 10)
}
