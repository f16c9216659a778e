//! Which part of a page is its text: what says so itself (M), or what reader mode keeps (R).
//!
//! Neither alone will do: reader mode loses documentation, frames keep a news site's teasers. Where
//! the page comes from a documentation tool, or reader mode lost code or too many words, M is
//! taken, else R. Both are the same tree with something left out.

use std::collections::HashSet;

use dom_query::{Document, NodeId};
use dom_smoothie::{Config, Readability};

use super::lists::{
    FRAMES, Frame, GENERATORS, NOISE, NOISE_IDS, NOISE_ROLES, TOOL_FRAMES, TOOL_SIGNS,
};
use super::tree::{Index, LeftOut, Tree};

/// What of a page is its text.
#[derive(Debug)]
pub(super) struct PagePart {
    pub(super) root: Index,
    pub(super) left_out: LeftOut,
    /// Whether it is the body, for want of anything that says more.
    pub(super) is_body: bool,
    /// Whether a tool for documentation or a wiki frames it.
    pub(super) is_of_a_tool: bool,
}

/// Words that a frame must hold.
const FRAME_WORDS: u64 = 50;

/// Nodes of a page beyond which reader mode, which copies its tree up to four times, is not asked.
const READER_NODES: usize = 400_000;

/// What reader mode keeps of a page, if that is to be its text instead of the frame. `document` is
/// the parser's tree of the same page.
pub(super) fn main_part(
    tree: &Tree,
    unseen: &LeftOut,
    framed: &PagePart,
    document: &Document,
) -> Option<PagePart> {
    if framed.is_of_a_tool || is_documentation(tree) || tree.len() > READER_NODES {
        return None;
    }
    let body = super::body(tree);
    let mut read = read(tree, unseen, body, document)?;
    if lost_too_much(tree, framed, &read) {
        return None;
    }
    // What is known to stand around texts is no part of this one either.
    for at in tree.below(body).filter(|&at| framed.left_out.has(at)) {
        read.left_out.add(at);
    }
    let is_empty = read.left_out.words(tree, tree.range(body)) == 0;
    (!is_empty).then_some(read)
}

/// The whole page, but for what nobody sees.
pub(super) fn whole(unseen: &LeftOut, body: Index) -> PagePart {
    PagePart {
        root: body,
        left_out: unseen.clone(),
        is_body: true,
        is_of_a_tool: false,
    }
}

/// Whether a tool for documentation made the page.
fn is_documentation(tree: &Tree) -> bool {
    if tree.all().any(|at| tree.has_any_class(at, TOOL_SIGNS)) {
        return true;
    }
    let generators = tree
        .all()
        .filter(|&at| tree.name(at) == "meta" && tree.is(at, "name", "generator"));
    let mut values = generators.filter_map(|at| tree.value(at, "content"));
    values.any(|value| {
        let value = value.to_lowercase();
        GENERATORS.iter().any(|known| value.starts_with(known))
    })
}

/// M: the most particular element that says it is the main part, without what stands around texts.
pub(super) fn framed(tree: &Tree, unseen: &LeftOut, body: Index) -> PagePart {
    let mut left_out = unseen.clone();
    for at in unseen.rest(tree, tree.below(body)) {
        if is_noise(tree, at, body) {
            left_out.add(at);
        }
    }
    let page_words = left_out.words(tree, tree.range(body));
    let holds_enough = |at: &Index| {
        let words = left_out.words(tree, tree.range(*at));
        words >= FRAME_WORDS && words * 10 >= page_words * 4
    };
    let first_of = |frames: &[Frame]| {
        let mut fitting = frames.iter().filter_map(|frame| {
            let found = fits(tree, &left_out, body, *frame);
            around(tree, &left_out, found)
        });
        fitting.find(holds_enough)
    };
    let of_a_tool = first_of(TOOL_FRAMES);
    let root = of_a_tool.or_else(|| first_of(FRAMES));
    PagePart {
        root: root.unwrap_or(body),
        is_body: root.is_none_or(|root| root == body),
        is_of_a_tool: of_a_tool.is_some(),
        left_out,
    }
}

/// The one of several frames that has nearly all of their words, else what is around all of them:
/// the comments of a thread are each in a frame.
fn around(tree: &Tree, left_out: &LeftOut, mut found: Vec<Index>) -> Option<Index> {
    let mut end = 0;
    found.retain(|&at| {
        let is_outer = at >= end;
        end = end.max(tree.end(at));
        is_outer
    });
    let words: Vec<u64> = found
        .iter()
        .map(|&at| left_out.words(tree, tree.range(at)))
        .collect();
    let largest = (0..found.len()).max_by_key(|&at| (words[at], std::cmp::Reverse(at)))?;
    if words[largest] * 10 >= words.iter().sum::<u64>() * 8 {
        return Some(found[largest]);
    }
    let last = *found.last()?;
    tree.ancestors(found[0])
        .find(|&around| tree.end(around) > last)
}

/// The elements that are such a frame.
fn fits(tree: &Tree, left_out: &LeftOut, body: Index, frame: Frame) -> Vec<Index> {
    let seen = left_out.rest(tree, tree.below(body));
    let found: Vec<Index> = match frame {
        Frame::Id(id) => seen
            .filter(|&at| tree.value(at, "id") == Some(id))
            .collect(),
        Frame::Class(class) => seen.filter(|&at| tree.has_class(at, class)).collect(),
        Frame::Name(name) => seen.filter(|&at| tree.name(at) == name).collect(),
        Frame::Is(attribute, value) => seen.filter(|&at| tree.is(at, attribute, value)).collect(),
        Frame::LoneArticle => seen.filter(|&at| tree.name(at) == "article").collect(),
    };
    match frame {
        Frame::LoneArticle if found.len() != 1 => Vec::new(),
        _ => found,
    }
}

/// Whether an element stands around texts, and is part of none.
fn is_noise(tree: &Tree, at: Index, body: Index) -> bool {
    let name = tree.name(at);
    match name {
        "" | "main" | "article" | "pre" | "code" | "table" | "tr" | "td" | "math" => return false,
        "nav" | "rustdoc-topbar" | "rustdoc-toolbar" | "search" => return true,
        "aside" => return !is_box(tree, at),
        "header" | "footer" if is_of_the_page(tree, at, body) => return true,
        _ => {}
    }
    if tree
        .value(at, "role")
        .is_some_and(|role| NOISE_ROLES.contains(&role))
    {
        return true;
    }
    // A section of a text, or its heading, is named after what it is about, which may be cookies.
    let is_section = matches!(name, "section" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
        || tree.has_class(at, "section");
    let is_named = tree.has_any_class(at, NOISE)
        || (!is_section
            && tree
                .value(at, "id")
                .is_some_and(|id| NOISE_IDS.contains(&id)));
    // A name alone does not lose what has the text in it.
    is_named && !tree.has(at, &["main", "article"])
}

/// Whether an `aside` is part of the text: a note, a warning, a footnote.
fn is_box(tree: &Tree, at: Index) -> bool {
    use super::lists::{ADMONITIONS, KINDS};
    let mut classes = tree.classes(at);
    let is_known = classes.any(|class| {
        ADMONITIONS
            .iter()
            .chain(KINDS)
            .any(|(known, _)| *known == class)
            || matches!(
                class,
                "footnote-list" | "topic" | "endnotes" | "quote" | "onebox"
            )
            || class.starts_with("footnote")
    });
    is_known || tree.is(at, "role", "note") || tree.is(at, "role", "doc-footnote")
}

/// Whether a header or footer is that of the page, not of a text in it.
fn is_of_the_page(tree: &Tree, at: Index, body: Index) -> bool {
    let is_header = tree.name(at) == "header";
    let is_in_a_text = tree
        .ancestors(at)
        .take_while(|&around| around != body)
        .any(|around| match tree.name(around) {
            "article" | "main" | "blockquote" => true,
            "section" => is_header,
            _ => false,
        });
    // Where the heading of the page stands, the header is its title.
    let is_title = is_header && tree.has(at, &["h1"]);
    !is_in_a_text && !is_title
}

/// R: what reader mode keeps.
fn read(tree: &Tree, unseen: &LeftOut, body: Index, document: &Document) -> Option<PagePart> {
    let copy = document.clone();
    for at in tree.below(body).filter(|&at| tree.is_element(at)) {
        let Some(node) = copy.tree.get(&tree.id(at)) else {
            continue;
        };
        if unseen.has(at) {
            node.remove_from_parent();
        } else {
            // What is kept although it is hidden.
            node.remove_attrs(&["hidden", "aria-hidden", "style"]);
        }
        // Made of its words, which may be "Response headers": to reader mode that is no text.
        if matches!(tree.name(at), "h1" | "h2" | "h3" | "h4" | "h5" | "h6") {
            node.remove_attr("id");
        }
    }
    let config = Config {
        keep_classes: true,
        disable_json_ld: true,
        ..Config::default()
    };
    let mut reader = Readability::with_document(copy, None, Some(config)).ok()?;
    reader.parse().ok()?;
    let kept: HashSet<NodeId> = reader
        .doc
        .select_single("#readability-page-1")
        .nodes()
        .first()?
        .descendants_it()
        .map(|node| node.id)
        .collect();
    let left_out = all_but(tree, unseen, body, &kept);
    let words = left_out.words(tree, tree.range(body));
    (words > 0).then_some(PagePart {
        root: body,
        left_out,
        is_body: false,
        is_of_a_tool: false,
    })
}

/// Leaves out what is not kept: text and pictures that are not, and what has none of them.
fn all_but(tree: &Tree, unseen: &LeftOut, body: Index, kept: &HashSet<NodeId>) -> LeftOut {
    let mut left_out = LeftOut::nothing(tree);
    // From the back, so that what is below a node is known before the node.
    let mut has_kept = vec![false; tree.len()];
    for at in tree.below(body).rev() {
        let is_kept = !unseen.has(at)
            && match tree.name(at) {
                // Reader mode takes these away or writes them anew; they go with what is around them.
                "br" | "hr" | "input" | "script" => {
                    if unseen.has(at) {
                        left_out.add(at);
                    }
                    continue;
                }
                "" | "img" => kept.contains(&tree.id(at)),
                _ => has_kept[at] || (tree.below(at).is_empty() && kept.contains(&tree.id(at))),
            };
        if !is_kept {
            left_out.add(at);
        } else if let Some(around) = tree.parent(at) {
            has_kept[around] = true;
        }
    }
    left_out
}

/// Whether reader mode lost what the frame has.
fn lost_too_much(tree: &Tree, framed: &PagePart, read: &PagePart) -> bool {
    let in_frame = Counts::of(tree, framed);
    let in_read = Counts::of(tree, read);
    if in_read.blocks * 10 < in_frame.blocks * 9 {
        return true;
    }
    let lost = in_frame.plain_words.saturating_sub(in_read.plain_words);
    let is_technical = in_frame.blocks >= 1 || in_frame.codes >= 3 || in_frame.terms >= 8;
    let percent = if is_technical { 25 } else { 85 };
    lost * 100 > in_frame.plain_words * percent
}

/// What a part holds.
#[derive(Debug, Default)]
struct Counts {
    /// `pre` elements.
    blocks: u64,
    codes: u64,
    /// `dt` elements.
    terms: u64,
    /// Words outside links.
    plain_words: u64,
}

impl Counts {
    fn of(tree: &Tree, part: &PagePart) -> Counts {
        let mut counts = Counts::default();
        let mut link_end = 0;
        for at in part.left_out.rest(tree, tree.range(part.root)) {
            match tree.name(at) {
                "" if at >= link_end => counts.plain_words += tree.own_words(at),
                "a" if tree.value(at, "href").is_some() => link_end = link_end.max(tree.end(at)),
                "pre" => counts.blocks += 1,
                "code" => counts.codes += 1,
                "dt" => counts.terms += 1,
                _ => {}
            }
        }
        counts
    }
}
