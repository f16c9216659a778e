//! What an e-book's package says of it and the converter leaves out: who wrote it; no chapter is ever looked at.

use quick_xml::events::Event;

use super::package::{self, attribute, each_event, each_tag, part, text_of};
use super::rows::clean;

/// The Markdown with a line that names the authors, below the title where there is one.
pub(super) fn with_authors(bytes: &[u8], text: String) -> String {
    let Some((line, has_title)) = authors(bytes) else {
        return text;
    };
    match text.split_once('\n') {
        Some((title, rest)) if has_title && title.starts_with("# ") => {
            format!("{title}\n\n{line}\n{rest}")
        }
        _ => format!("{line}\n\n{text}"),
    }
}

/// `By Ann Pier and Ben Mole`, and whether the book has a title; `None` where nobody is named.
fn authors(bytes: &[u8]) -> Option<(String, bool)> {
    let mut package = package::opened(bytes)?;
    let container = part(&mut package, "META-INF/container.xml")?;
    let mut name = None;
    each_tag(&container, |tag| {
        if name.is_none() && tag.local_name().as_ref() == b"rootfile" {
            name = attribute(tag, b"full-path");
        }
    })?;
    let root = part(&mut package, &name?)?;
    let mut titles = Vec::new();
    let mut names = Vec::new();
    // Within one of the two, and what it says so far.
    let mut within: Option<(bool, String)> = None;
    // What is damaged further on does not take back what is said before that.
    let _ = each_event(&root, |event| match event {
        Event::Start(tag) => match tag.local_name().as_ref() {
            b"title" => within = Some((true, String::new())),
            b"creator" => within = Some((false, String::new())),
            _ => {}
        },
        Event::End(tag) if matches!(tag.local_name().as_ref(), b"title" | b"creator") => {
            if let Some((is_title, text)) = within.take() {
                let words: Vec<&str> = text.split_whitespace().collect();
                let list = if is_title { &mut titles } else { &mut names };
                list.push(clean(&words.join(" ")));
            }
        }
        event => {
            if let Some((_, text)) = &mut within {
                text.extend(text_of(event));
            }
        }
    });
    names.retain(|name| !name.is_empty());
    let line = match &names[..] {
        [] => return None,
        [only] => format!("By {only}"),
        [head @ .., last] => format!("By {} and {last}", head.join(", ")),
    };
    // The converter takes the first title.
    let has_title = titles.first().is_some_and(|title| !title.is_empty());
    Some((line, has_title))
}
