//! The comments of a workbook's cells, in the order of the cells; one of a cell that is hidden is left out as the cell is.

use std::collections::{BTreeMap, BTreeSet};

use quick_xml::events::{BytesStart, Event};

use super::{Hidden, column_of};
use crate::convert::package::{Package, attribute, each_event, each_tag, part, related, text_of};
use crate::convert::rows::clean;

/// Bytes of the comments of one workbook; the rest is left out, as it would be of its Markdown.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// What of the comments has been taken so far.
#[derive(Debug, Default)]
pub(super) struct CommentsReader {
    /// The names of those who comment in threads, by their ids.
    people: BTreeMap<String, String>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Comment {
    cell: String,
    /// A name, or what stands for a thread's.
    author: String,
    text: String,
}

impl CommentsReader {
    pub(super) fn new(package: &mut Package) -> CommentsReader {
        let mut people = BTreeMap::new();
        for list in related(package, "xl/workbook.xml", "person") {
            let list = part(package, &list).unwrap_or_default();
            let _ = each_tag(&list, |tag| {
                if let (Some(id), Some(name)) =
                    (attribute(tag, b"id"), attribute(tag, b"displayName"))
                {
                    people.insert(id, name);
                }
            });
        }
        CommentsReader { people, bytes: 0 }
    }

    /// The comments of the sheet in that part: `Comment B2 (Ann): text`, one on each line.
    pub(super) fn of_sheet(
        &mut self,
        package: &mut Package,
        sheet: &str,
        hidden: &Hidden,
    ) -> Vec<String> {
        let mut all = Vec::new();
        for name in related(package, sheet, "threadedComment") {
            let threads = part(package, &name).unwrap_or_default();
            all.extend(comments(&threads, b"threadedComment", |tag| {
                let person = attribute(tag, b"personId");
                person.and_then(|id| self.people.get(&id).cloned())
            }));
        }
        let threaded: BTreeSet<String> = all.iter().map(|c: &Comment| c.cell.clone()).collect();
        for name in related(package, sheet, "comments") {
            let plain = part(package, &name).unwrap_or_default();
            let authors = authors(&plain);
            let mut notes = comments(&plain, b"comment", |tag| {
                let number = attribute(tag, b"authorId")?;
                authors.get(number.parse::<usize>().ok()?).cloned()
            });
            // What a thread is to programs that know none.
            notes.retain(|note| !note.author.starts_with("tc=") || !threaded.contains(&note.cell));
            all.extend(notes);
        }
        let mut placed: Vec<((u32, u32), Comment)> = all
            .into_iter()
            .filter_map(|comment| Some((place(&comment.cell)?, comment)))
            .filter(|((row, column), _)| !hidden.holds(*row, *column))
            .collect();
        placed.sort_by_key(|(place, _)| *place);
        placed
            .iter()
            .map(|(_, comment)| comment.line())
            .take_while(|line| {
                self.bytes += line.len();
                self.bytes <= MAX_BYTES
            })
            .collect()
    }
}

impl Comment {
    fn line(&self) -> String {
        let author = clean(&self.author).replace('\n', " ");
        let text = clean(&self.text);
        // Excel begins a note with the name of its author, on a line of its own.
        let own = text.strip_prefix(author.as_str());
        let own = own.and_then(|rest| rest.strip_prefix(":\n"));
        let text = own.unwrap_or(&text).trim().replace('\n', "<br>");
        match author.trim() {
            "" => format!("Comment {}: {text}", self.cell),
            author => format!("Comment {} ({author}): {text}", self.cell),
        }
    }
}

/// Row and column of `B2`, counted from 1.
fn place(cell: &str) -> Option<(u32, u32)> {
    let column = column_of(cell)?;
    let row = cell.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    Some((row.parse().ok()?, column))
}

/// The names that notes give by their number.
fn authors(xml: &[u8]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut is_name = false;
    let _ = each_event(xml, |event| match event {
        Event::Start(tag) if tag.local_name().as_ref() == b"author" => {
            names.push(String::new());
            is_name = true;
        }
        Event::Empty(tag) if tag.local_name().as_ref() == b"author" => names.push(String::new()),
        Event::End(tag) if tag.local_name().as_ref() == b"author" => is_name = false,
        event => {
            if let (true, Some(name)) = (is_name, names.last_mut()) {
                name.extend(text_of(event));
            }
        }
    });
    names
}

/// The elements of that name, each with its text; what cannot be read of them is left out.
fn comments(
    xml: &[u8],
    element: &[u8],
    author: impl Fn(&BytesStart) -> Option<String>,
) -> Vec<Comment> {
    let mut found: Vec<Comment> = Vec::new();
    // Within a comment, and in the element of it that holds text.
    let (mut is_open, mut is_text) = (false, false);
    let _ = each_event(xml, |event| match event {
        Event::Start(tag) => match tag.local_name().as_ref() {
            name if name == element => {
                is_open = true;
                found.push(Comment {
                    cell: attribute(tag, b"ref").unwrap_or_default(),
                    author: author(tag).unwrap_or_default(),
                    text: String::new(),
                });
            }
            // A thread's text is its own element, a note's is in runs, with readings of letters beside.
            b"t" | b"text" => is_text = tag.local_name().as_ref() == b"t" || element != b"comment",
            b"rPh" => is_open = false,
            _ => {}
        },
        Event::End(tag) => match tag.local_name().as_ref() {
            name if name == element => is_open = false,
            b"t" | b"text" => is_text = false,
            b"rPh" => is_open = true,
            _ => {}
        },
        event => {
            if let (true, Some(comment)) = (is_open && is_text, found.last_mut()) {
                comment.text.extend(text_of(event));
            }
        }
    });
    found
}
