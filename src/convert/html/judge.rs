//! What a page is judged to be: a shell that only scripts fill, poor in text, a form to log in, on its way elsewhere.

use super::choose::PagePart;
use super::links::Base;
use super::tree::{Index, Tree, one_line};

/// What is judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged<'a> {
    pub(super) tree: &'a Tree,
    pub(super) part: &'a PagePart,
    pub(super) body: Index,
    pub(super) has_scripts: bool,
    /// Bytes of HTML.
    pub(super) bytes: usize,
}

impl Judged<'_> {
    pub(super) fn words(&self) -> u64 {
        let part = self.part;
        part.left_out.words(self.tree, self.tree.range(part.root))
    }

    /// Whether scripts would have to write the text.
    pub(super) fn is_shell(&self) -> bool {
        if !self.has_scripts {
            return false;
        }
        let words = self.words();
        let shown = || -> usize {
            let seen = self
                .part
                .left_out
                .rest(self.tree, self.tree.range(self.part.root));
            seen.filter_map(|at| self.tree.text(at)).map(str::len).sum()
        };
        words < 25
            || (words < 100 && self.bytes >= 20 * 1024 && shown() * 100 < self.bytes)
            || (words < 100 && self.asks_for_scripts())
    }

    /// Whether the text is little more than the wish for JavaScript.
    fn asks_for_scripts(&self) -> bool {
        let seen = self
            .part
            .left_out
            .rest(self.tree, self.tree.range(self.part.root));
        let text: String = seen.filter_map(|at| self.tree.text(at)).collect();
        let text = one_line(&text).to_lowercase();
        text.len() < 400
            && text.contains("javascript")
            && [
                "enable", "requires", "required", "turn on", "need", "disabled",
            ]
            .iter()
            .any(|wish| text.contains(wish))
    }

    /// Whether something else may say more than the page.
    pub(super) fn is_poor(&self, is_shell: bool) -> bool {
        let words = self.words();
        if is_shell || (words < 40 && self.bytes > 10 * 1024) {
            return true;
        }
        let linked = self.linked_words(self.part.root);
        words > 0 && linked * 10 >= words * 7 && !self.has_prose_in_rows()
    }

    /// Words that are the text of links.
    fn linked_words(&self, root: Index) -> u64 {
        let (tree, left_out) = (self.tree, &self.part.left_out);
        let (mut words, mut link_end) = (0, 0);
        for at in left_out.rest(tree, tree.range(root)) {
            if tree.name(at) == "a" && tree.attribute(at, "href").is_some() {
                link_end = link_end.max(tree.end(at));
            }
            if at < link_end {
                words += tree.own_words(at);
            }
        }
        words
    }

    /// Whether some item of a list or cell of a table says more than where it leads.
    fn has_prose_in_rows(&self) -> bool {
        let (tree, left_out) = (self.tree, &self.part.left_out);
        left_out
            .rest(tree, tree.range(self.part.root))
            .filter(|&at| matches!(tree.name(at), "li" | "td" | "dd"))
            .any(|at| {
                let words = left_out.words(tree, tree.range(at));
                words >= 8 && words - self.linked_words(at) >= 8
            })
    }

    pub(super) fn has_password_field(&self) -> bool {
        self.tree
            .below(self.body)
            .any(|at| self.tree.name(at) == "input" && self.tree.is(at, "type", "password"))
    }
}

/// Where a page sends its reader on to, and after how many seconds.
pub(super) fn refresh(tree: &Tree, base: &Base) -> Option<(u32, String)> {
    let at = tree
        .all()
        .find(|&at| tree.name(at) == "meta" && tree.is(at, "http-equiv", "refresh"))?;
    let content = tree.value(at, "content")?;
    let digits = content
        .find(|next: char| !next.is_ascii_digit())
        .unwrap_or(content.len());
    let seconds = match &content[..digits] {
        "" if content.starts_with('.') => 0,
        digits => digits.parse().ok()?,
    };
    let rest = content[digits..]
        .trim_start_matches(|next: char| next.is_ascii_digit() || next == '.')
        .trim_start()
        .trim_start_matches([';', ','])
        .trim_start();
    let rest = match rest.get(..3) {
        Some(word) if word.eq_ignore_ascii_case("url") => rest[3..]
            .trim_start()
            .strip_prefix('=')
            .unwrap_or(rest)
            .trim_start(),
        _ => rest,
    };
    let address = match rest.chars().next()? {
        quote @ ('"' | '\'') => rest[1..].split(quote).next()?,
        _ => rest,
    };
    base.absolute(address).map(|url| (seconds, url))
}

/// The page's title, and what it says of itself.
pub(super) fn title(tree: &Tree) -> Option<String> {
    let named = tree
        .all()
        .find(|&at| tree.name(at) == "title" && tree.ancestors(at).all(|up| tree.name(up) != "svg"))
        .map(|at| tree.line(at))
        .filter(|title| !title.is_empty());
    named.or_else(|| meta(tree, &["og:title", "twitter:title"]))
}

pub(super) fn description(tree: &Tree) -> Option<String> {
    meta(
        tree,
        &["description", "og:description", "twitter:description"],
    )
}

/// The first of these that the page's `meta` elements say.
pub(super) fn meta(tree: &Tree, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        tree.all()
            .filter(|&at| tree.name(at) == "meta")
            .find(|&at| tree.is(at, "name", name) || tree.is(at, "property", name))
            .and_then(|at| tree.value(at, "content"))
            .map(one_line)
            .filter(|text| !text.is_empty())
    })
}
