//! A part of a text that is asked for by its name: the lines of the one declaration that has it, or a list of all that have.
//!
//! What only adds to what is defined elsewhere, an `impl`, has the name of that for the sake of its
//! members, and is meant by it itself only where nothing else is called so.

use crate::outline::{Definition, QualifiedName, Rank};
use crate::protocol::read::{MoreDetails, ResourceKind};
use crate::protocol::{Refusal, shortened};
use crate::session::Meaning;
use crate::structure::NoStructure;
use crate::task::Work;
use crate::text::Text;
use crate::view::selector::{Piece, SelectorError};
use crate::view::{Document, Extras, Selector, Style, in_header, in_listing};
use crate::workspace::measure;

use super::ask::Ask;
use super::fragment::NamedPart;
use super::reader::Reader;
use super::source::Opened;
use super::source_file::{Lack, SourceFile};
use super::target::mistyped;

/// Rows of a list of declarations.
const MAX_LISTED: usize = 200;
/// Names that are suggested.
const MAX_SUGGESTIONS: usize = 3;

impl Reader {
    /// What of an opened text its name asks for. Of several declarations the list takes the place of the
    /// text. `source` is that text, where it can be in a language.
    ///
    /// # Errors
    ///
    /// `badSelector` where what is there has no names, `notFound` with near ones.
    pub(super) fn select_part(
        &self,
        ask: &Ask,
        part: &NamedPart,
        (opened, source): (&Opened, Option<SourceFile>),
        name: &str,
        work: &Work,
    ) -> Result<Selected, Refusal> {
        if self.is_own_tag(part, opened) {
            return Ok(Selected::Lines(ask.selected(&part.selector)));
        }
        let unknown = || SelectorError::Unknown(format!("#{}", part.written));
        let reads_as = Selector::parse(&part.written);
        let is_name = part.is_quoted || matches!(reads_as, Err(SelectorError::Unknown(_)));
        let is_name = is_name && !part.is_in_header;
        let of = &opened.document;
        if is_name && of.kind == ResourceKind::File && of.text.whole().is_none() {
            return Err(too_large(name));
        }
        let (Some(source), true, false) = (source, is_name, part.selector.has_lines()) else {
            return Err(mistyped(ask.path(), unknown()));
        };
        let found = match self.definitions.of(&source, work) {
            Ok(Some(found)) => found,
            Ok(None) if source.is_too_large() => return Err(too_large(name)),
            Ok(None) => return Err(mistyped(ask.path(), unknown())),
            Err(Lack::Refused(refusal)) => return Err(refusal),
            Err(Lack::NoStructure(why)) => return Err(without_structure(name, why)),
        };
        let called = called(&found, part);
        match called[..] {
            [] => Err(no_such(&found, part, name)),
            [only] => Ok(Selected::Lines(lines_of(only, part, ask))),
            _ => Ok(Selected::List(Box::new(listed(
                &called, &found, part, opened,
            )))),
        }
    }

    /// Whether it is a tag of the document, so that the document itself is meant.
    fn is_own_tag(&self, part: &NamedPart, opened: &Opened) -> bool {
        let (Some(tag), Some(snapshot)) = (part.tag, &opened.snapshot) else {
            return false;
        };
        if part.is_in_header || snapshot.fingerprint.natural_tag == tag.0 {
            return true;
        }
        let meaning = self.sessions.meaning(&snapshot.document, tag);
        matches!(meaning, Meaning::Held(_) | Meaning::Expired)
    }
}

/// What a name selects.
#[derive(Debug)]
pub(super) enum Selected {
    Lines(Selector),
    /// In the place of the text.
    List(Box<Document>),
}

/// Those that are meant by a name, in line order. What only adds to something counts where nothing else
/// is called so.
fn called<'d>(found: &'d [Definition], part: &NamedPart) -> Vec<&'d Definition> {
    let those = |is_it: &dyn Fn(&Definition) -> bool| -> Vec<&'d Definition> {
        found.iter().filter(|it| is_it(it)).collect()
    };
    let mut called = those(&|it| {
        let mut names = it.names.iter();
        names.any(|name| name.is_called(&part.name, &part.written)) || it.signature == part.written
    });
    if called.is_empty() {
        called = those(&|it| {
            let mut names = it.names.iter();
            names.any(|name| name.may_be_called(&part.name, &part.written))
        });
    }
    if called.iter().any(|it| it.rank != Rank::Extension) {
        called.retain(|it| it.rank != Rank::Extension);
    }
    called.dedup_by_key(|it| it.whole);
    called
}

fn lines_of(definition: &Definition, part: &NamedPart, ask: &Ask) -> Selector {
    let selector = Selector {
        pieces: vec![Piece::Range(definition.whole.start, definition.whole.end)],
        ..part.selector.clone()
    };
    match ask.request.lines {
        None => selector,
        Some(lines) => selector.with_lines_within(lines),
    }
}

/// A row for each: its lines, its name, and how it begins.
fn listed(
    called: &[&Definition],
    found: &[Definition],
    part: &NamedPart,
    opened: &Opened,
) -> Document {
    let rows: Vec<[String; 3]> = called
        .iter()
        .take(MAX_LISTED)
        .map(|it| {
            let name = it.names.iter();
            let name = name
                .clone()
                .find(|name| name.is_called(&part.name, &part.written))
                .or(it.names.first());
            let name = name.map_or_else(String::new, QualifiedName::to_string);
            [
                format!(":{}-{}", it.whole.start, it.whole.end),
                in_listing(&name).into_owned(),
                beginning(it, found),
            ]
        })
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths = [width(0), width(1)];
    let mut text = String::new();
    for [lines, name, begins] in &rows {
        let row = format!("{lines:0$}  {name:1$}  {begins}", widths[0], widths[1]);
        text.push_str(row.trim_end());
        text.push('\n');
    }
    let of = &opened.document;
    let mut footers = of.extras.footers.clone();
    if called.len() > rows.len() {
        footers.push(format!("{} more are not listed", called.len() - rows.len()));
    }
    footers.push(format!(
        "{} declarations are called '{}'. Read one by its lines, or by a longer name",
        called.len(),
        shortened(&part.written)
    ));
    Document {
        kind: of.kind,
        style: Style::Listing,
        location: of.location.clone(),
        text: Text::new(&text).into(),
        cache: of.cache,
        details: MoreDetails {
            total_lines: Some(rows.len() as u64),
            ..MoreDetails::default()
        },
        notices: of.notices.clone(),
        extras: Extras {
            footers,
            rows_are: Some("declarations"),
            ..Extras::default()
        },
    }
}

/// How it begins, and what it adds to: the name of an `impl` is that of its type alone.
fn beginning(definition: &Definition, found: &[Definition]) -> String {
    let holds = |it: &&Definition| {
        it.rank == Rank::Extension
            && it.span.start <= definition.span.start
            && definition.span.end <= it.span.end
            && it.span != definition.span
    };
    match found.iter().rev().find(holds) {
        Some(around) => format!("{} in {}", definition.signature, around.signature),
        None => definition.signature.clone(),
    }
}

/// That nothing has this name, with near ones.
fn no_such(found: &[Definition], part: &NamedPart, name: &str) -> Refusal {
    let asked = part.name.last();
    let names = found
        .iter()
        .flat_map(|it| it.names.iter().map(|name| (it.rank, name)));
    let mut near: Vec<_> = names
        .filter_map(|(rank, name)| {
            let (distance, prefix) = match name.last() == asked {
                true => (0, asked.len()),
                false => measure(asked, name.last())?,
            };
            Some((distance, std::cmp::Reverse(prefix), rank, name))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    let nearest = near.first().map(|(distance, ..)| *distance);
    near.retain(|(distance, ..)| Some(*distance) == nearest);
    let written = near.iter().map(|(_, _, _, near)| {
        let near = near.to_string();
        let is_bare = |c: char| !c.is_whitespace() && c != '"';
        match near.chars().all(is_bare) && !near.replace("::", "").contains(':') {
            true => format!("{name}#{near}"),
            false => format!("{name}#{}", serde_json::Value::String(near)),
        }
    });
    let mut suggestions: Vec<String> = Vec::new();
    for written in written {
        if suggestions.len() < MAX_SUGGESTIONS && !suggestions.contains(&written) {
            suggestions.push(written);
        }
    }
    Refusal::NoSuchPart {
        path: name.to_owned(),
        message: format!(
            "There is no declaration '{}' in {}.",
            shortened(&part.written),
            in_header(name)
        ),
        suggestions,
    }
}

fn too_large(name: &str) -> Refusal {
    Refusal::Unsupported {
        message: format!(
            "'{name}' is too large to look for names in. Search it, or read lines of it."
        ),
        path: Some(name.to_owned()),
    }
}

fn without_structure(name: &str, why: NoStructure) -> Refusal {
    let message = format!("No structure: {why}. Search '{name}', or read lines of it.");
    match why {
        NoStructure::Busy => Refusal::Busy { message },
        _ => Refusal::Unsupported {
            message,
            path: Some(name.to_owned()),
        },
    }
}
