//! The addresses on a page: made absolute by its base, listed once each, and those that say what the page is also to be had as.

use std::collections::HashSet;

use url::Url;

use super::super::messages::PageLink;
use super::choose::PagePart;
use super::lists::DOCUMENTS;
use super::tree::{Index, Tree, one_line};

/// Links of a page that are listed, and bytes of all of them.
const MOST_LINKS: usize = 10_000;
const MOST_BYTES: usize = 512 * 1024;

/// Bytes of one address.
const LONGEST: usize = 8192;

/// By what the addresses of a page are made absolute.
#[derive(Debug)]
pub(super) struct Base {
    /// The page's own address, without a fragment.
    own: Option<Url>,
    /// Its `<base>`, else its own.
    base: Option<Url>,
}

/// Where an address leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkTarget {
    /// To a part of the page, by its name.
    Fragment(String),
    Address(String),
    /// To nothing that can be read: a script, data.
    Nothing,
}

impl Base {
    pub(super) fn new(tree: &Tree, address: &str) -> Base {
        let mut own = Url::parse(address).ok();
        if let Some(own) = &mut own {
            own.set_fragment(None);
        }
        let named = tree
            .all()
            .find(|&at| tree.name(at) == "base" && tree.value(at, "href").is_some())
            .and_then(|at| tree.value(at, "href"));
        let base = match (&own, named) {
            (Some(own), Some(named)) => own.join(named).ok().or_else(|| Some(own.clone())),
            (None, Some(named)) => Url::parse(named).ok(),
            (own, None) => own.clone(),
        };
        Base { own, base }
    }

    /// Where an `href` or `src` leads.
    pub(super) fn target(&self, href: &str) -> LinkTarget {
        let href = href.trim();
        if let Some(fragment) = href.strip_prefix('#') {
            return LinkTarget::Fragment(fragment.to_owned());
        }
        if href.len() > LONGEST || is_script(href) {
            return LinkTarget::Nothing;
        }
        let Some(base) = &self.base else {
            return match Url::parse(href) {
                Ok(url) => LinkTarget::Address(url.into()),
                Err(_) => LinkTarget::Address(href.to_owned()),
            };
        };
        let Ok(url) = base.join(href) else {
            return LinkTarget::Nothing;
        };
        if let (Some(own), Some(fragment)) = (&self.own, url.fragment()) {
            let mut page = url.clone();
            page.set_fragment(None);
            if page == *own {
                return LinkTarget::Fragment(fragment.to_owned());
            }
        }
        LinkTarget::Address(url.into())
    }

    /// An address that leads somewhere else.
    pub(super) fn absolute(&self, href: &str) -> Option<String> {
        match self.target(href) {
            LinkTarget::Address(url) => Some(url),
            LinkTarget::Fragment(_) | LinkTarget::Nothing => None,
        }
    }
}

fn is_script(href: &str) -> bool {
    let Some((scheme, _)) = href.split_once(':') else {
        return false;
    };
    let scheme: String = scheme
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    ["javascript", "data", "vbscript", "blob"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Every link of the page once, those of its main part first.
pub(super) fn listed(tree: &Tree, base: &Base, part: &PagePart, whole: &PagePart) -> Vec<PageLink> {
    let (mut links, mut bytes) = (Vec::new(), 0);
    let mut known = HashSet::new();
    for part in [part, whole] {
        for at in part.left_out.rest(tree, tree.range(part.root)) {
            let Some(url) = link(tree, base, at) else {
                continue;
            };
            if known.contains(&url) {
                continue;
            }
            let mut text = text_of(tree, part, at);
            if text.is_empty() {
                text.clone_from(&url);
            }
            bytes += text.len() + url.len();
            if links.len() >= MOST_LINKS || bytes > MOST_BYTES {
                return links;
            }
            known.insert(url.clone());
            links.push(PageLink { text, url });
        }
    }
    links
}

fn link(tree: &Tree, base: &Base, at: Index) -> Option<String> {
    if !matches!(tree.name(at), "a" | "area") {
        return None;
    }
    base.absolute(tree.value(at, "href")?)
}

/// What a link says: its text, else the words for a picture, else its label.
fn text_of(tree: &Tree, part: &PagePart, at: Index) -> String {
    let mut text = String::new();
    for below in part.left_out.rest(tree, tree.range(at)) {
        if text.len() > 1000 {
            break;
        }
        text.push_str(tree.text(below).unwrap_or_default());
        if tree.name(below) == "img" {
            text.push_str(tree.value(below, "alt").unwrap_or_default());
        }
    }
    let text = one_line(&text);
    if !text.is_empty() {
        return text.chars().take(200).collect();
    }
    let label = tree.value(at, "aria-label").or(tree.value(at, "title"));
    one_line(label.unwrap_or_default())
        .chars()
        .take(200)
        .collect()
}

/// What a page is also to be had as.
#[derive(Debug, Default)]
pub(super) struct Alternates {
    pub(super) markdown: Option<String>,
    pub(super) feeds: Vec<String>,
}

/// The alternates that a page names.
pub(super) fn alternates(tree: &Tree, base: &Base) -> Alternates {
    let mut found = Alternates::default();
    for at in tree.all() {
        let is_alternate = tree.name(at) == "link"
            && tree.value(at, "rel").is_some_and(|rel| {
                let mut tokens = rel.split_ascii_whitespace();
                tokens.any(|token| token.eq_ignore_ascii_case("alternate"))
            });
        if !is_alternate {
            continue;
        }
        let Some(kind) = tree.value(at, "type").map(essence) else {
            continue;
        };
        let Some(url) = tree.value(at, "href").and_then(|href| base.absolute(href)) else {
            continue;
        };
        match kind.as_str() {
            "text/markdown" | "text/x-markdown" if found.markdown.is_none() => {
                found.markdown = Some(url);
            }
            "application/rss+xml"
            | "application/atom+xml"
            | "application/feed+json"
            | "application/rdf+xml"
                if found.feeds.len() < 8 =>
            {
                found.feeds.push(url);
            }
            _ => {}
        }
    }
    found
}

fn essence(kind: &str) -> String {
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// The document that the main part leads to, if it leads to one.
pub(super) fn document(tree: &Tree, base: &Base, part: &PagePart) -> Option<String> {
    let links = part.left_out.rest(tree, tree.range(part.root));
    links
        .filter_map(|at| link(tree, base, at))
        .find(|url| is_document(url))
}

fn is_document(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return false;
    };
    let name = url.path().rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.')
        .is_some_and(|(_, extension)| DOCUMENTS.contains(&extension.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_made_absolute() {
        let base = Base {
            own: Url::parse("https://h.example/a/b?q=1").ok(),
            base: Url::parse("https://h.example/a/b?q=1").ok(),
        };
        let address = |url: &str| LinkTarget::Address(url.to_owned());
        assert_eq!(base.target("c"), address("https://h.example/a/c"));
        assert_eq!(base.target(" /c d "), address("https://h.example/c%20d"));
        assert_eq!(base.target("#x"), LinkTarget::Fragment("x".to_owned()));
        assert_eq!(base.target("b?q=1#x"), LinkTarget::Fragment("x".to_owned()));
        assert_eq!(base.target("b#x"), address("https://h.example/a/b#x"));
        assert_eq!(
            base.target("mailto:a@b.example"),
            address("mailto:a@b.example")
        );
        assert_eq!(base.target("java\nscript:x()"), LinkTarget::Nothing);
        assert_eq!(base.target("data:text/html,x"), LinkTarget::Nothing);
    }
}
