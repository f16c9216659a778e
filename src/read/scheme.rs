//! The table of schemes: what a path string is by how it begins. It is asked before a selector is looked for; nothing is opened here.
//!
//! Nothing here does I/O: what a string with a scheme of the table names can be told before a read
//! takes a place in a pool, so that what has to be fetched first can be.
//!
//! A string that begins with a name of the table and `://` and is opened from memory or from the web
//! is never a file, whatever folders the workspace has. All others are looked for on disk and in the
//! editor, and only where nothing of that name is there does the last row refuse what looks like an
//! address.

use crate::buffer::Overlays;
use crate::protocol::{Refusal, shortened};
use crate::view::{Selector, Target};
use crate::workspace::{InternalUrl, MAX_PATH_BYTES, measure, percent_decoded};

use super::source::guide::GUIDE;
use super::source::internal::Provider;
use super::source::web::{self, Looks, WebAddress};
use super::target::{Located, Spot};

/// One row of the table.
#[derive(Debug)]
pub struct Scheme {
    /// In lower case; empty for whatever no other row has.
    name: &'static str,
    /// Other names for the same.
    aliases: &'static [&'static str],
    opens: Opens,
}

/// Who opens what a row names.
#[derive(Debug)]
enum Opens {
    /// The disk, else the editor: what is there tells where the path ends.
    DiskOrEditor,
    /// Who has its text in memory, so that nothing has to be obtained before it is opened.
    Memory(&'static dyn Provider),
    /// Its server, once it has answered. Such a string is never a file, and ends as an address does
    /// ([`web::parse`]).
    Web,
    Nobody,
}

static SCHEMES: &[&Scheme] = &[
    &Scheme {
        name: "file",
        aliases: &[],
        opens: Opens::DiskOrEditor,
    },
    &Scheme {
        name: "untitled",
        aliases: &[],
        opens: Opens::DiskOrEditor,
    },
    &Scheme {
        name: "http",
        aliases: &["https"],
        opens: Opens::Web,
    },
    &Scheme {
        name: "pilcrow",
        aliases: &["omp"],
        opens: Opens::Memory(&GUIDE),
    },
    // Schemes of open documents are known to the editor alone; it was asked before this row is.
    &Scheme {
        name: "",
        aliases: &[],
        opens: Opens::Nobody,
    },
];

/// The names of all schemes, as `initialize` lists them.
pub fn schemes() -> Vec<&'static str> {
    let names = SCHEMES
        .iter()
        .flat_map(|row| [row.name].into_iter().chain(row.aliases.iter().copied()));
    names.filter(|name| !name.is_empty()).collect()
}

/// The row that a path string's scheme is in, and what stands behind its `://`; `None` for what
/// begins with none.
fn row_of(written: &str) -> Option<(&'static Scheme, &str)> {
    // Not searched for `://`: what follows a path can be long.
    let end = written.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c))?;
    let (name, rest) = written.split_at(end);
    let rest = rest.strip_prefix("://")?;
    if name.len() < 2 || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let is_it = |row: &&Scheme| {
        let mut names = [row.name].into_iter().chain(row.aliases.iter().copied());
        row.name.is_empty() || names.any(|it| it.eq_ignore_ascii_case(name))
    };
    let row = SCHEMES.iter().copied().find(is_it)?;
    Some((row, rest))
}

/// Whether a path string is the address of what has its text in memory.
pub fn is_internal(written: &str) -> bool {
    provider_of(written).is_some()
}

/// What a path string asks of the web, where it can be nothing else.
///
/// # Errors
///
/// As [`web::parse`].
pub fn web_address(target: &Target) -> Result<Option<WebAddress>, Refusal> {
    match web::looks(target.as_written()) {
        Looks::Web => web::parse(target).map(Some),
        Looks::MaybeFile | Looks::Other => Ok(None),
    }
}

/// The same of what is no file, though it might have been one: `www.example.com`.
pub fn web_address_of_no_file(target: &Target) -> Result<Option<WebAddress>, Refusal> {
    match web::looks(target.as_written()) {
        Looks::MaybeFile => web::parse(target).map(Some),
        Looks::Web | Looks::Other => Ok(None),
    }
}

/// Its row, who has the text, and what stands behind the `://`.
fn provider_of(written: &str) -> Option<(&'static Scheme, &'static dyn Provider, &str)> {
    let (row, rest) = row_of(written)?;
    match row.opens {
        Opens::Memory(provider) => Some((row, provider, rest)),
        Opens::DiskOrEditor | Opens::Web | Opens::Nobody => None,
    }
}

/// Who has the text of an address that was located.
pub fn provider(url: &InternalUrl) -> Result<&'static dyn Provider, Refusal> {
    let found = provider_of(url.as_str());
    found
        .map(|(_, provider, _)| provider)
        .ok_or(Refusal::Internal)
}

/// What a path string names that is the address of a text in memory; `None` where it is none. An
/// open document of that very URI goes first.
pub fn locate(target: &Target, overlays: &Overlays) -> Result<Option<Located>, Refusal> {
    let written = target.as_written();
    let Some((scheme, provider, rest)) = provider_of(written) else {
        return Ok(None);
    };
    // Names are short, and only so much is looked at.
    if rest.len() > MAX_PATH_BYTES {
        return Err(not_found(written, Vec::new()));
    }
    let name_at = written.len() - rest.len();
    let name = |end: usize| written.get(name_at..end).map(decoded);
    let found = |end: usize| -> Option<Spot> {
        let name = name(end)?;
        if let Some(overlay) = overlays.called(&written[..end]) {
            return Some(Spot::InEditor(overlay.clone(), overlay.uri.clone()));
        }
        provider.get(&name)?;
        Some(Spot::Internal(InternalUrl::new(scheme.name, &name)))
    };
    let (own, splits) = match target {
        Target::Literal(_, selector) => (selector.clone(), Vec::new()),
        Target::Spelled(_) => (Selector::default(), Selector::splits(written)),
    };
    let shortest = splits.last().map_or(written.len(), |(end, _)| *end);
    // As much selector as can be goes first: a provider may have a text of any name.
    for (end, selector) in splits.into_iter().rev().chain([(written.len(), own)]) {
        if let Some(spot) = found(end) {
            return Ok(Some(Located::found(spot, selector)));
        }
    }
    if let Target::Spelled(_) = target {
        refuse_mistyped_selector(written, |end| found(end).is_some())?;
    }
    if rest.contains('?') {
        let message = format!(
            "{}:// takes no parameters; leave out what follows the '?'.",
            scheme.name
        );
        return Err(Refusal::bad_params("path", message));
    }
    let near = near_names(&name(shortest).unwrap_or_default(), provider);
    let near = near.iter().map(|name| format!("{}://{name}", scheme.name));
    Err(not_found(written, near.collect()))
}

/// What is there, followed by something that is no selector, was meant with one.
fn refuse_mistyped_selector(
    written: &str,
    is_there: impl Fn(usize) -> bool,
) -> Result<(), Refusal> {
    let mut ends = Selector::places(written, [b':'; 2]).take(4);
    let Some(end) = ends.find(|end| is_there(*end)) else {
        return Ok(());
    };
    match Selector::parse(&written[end + 1..]) {
        Ok(_) => Ok(()),
        Err(error) => Err(Refusal::BadSelector {
            path: Some(shortened(written).into_owned()),
            message: error.to_string(),
        }),
    }
}

fn decoded(name: &str) -> String {
    String::from_utf8_lossy(&percent_decoded(name.as_bytes())).into_owned()
}

fn not_found(written: &str, suggestions: Vec<String>) -> Refusal {
    Refusal::NotFound {
        path: shortened(written).into_owned(),
        suggestions,
    }
}

/// At most 3 names that may be meant, the nearest first.
fn near_names(asked: &str, provider: &dyn Provider) -> Vec<&'static str> {
    let names = provider.names().iter();
    let mut near: Vec<_> = names
        .filter_map(|name| Some((measure(asked, name)?.0, *name)))
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, name)| name).take(3).collect()
}

/// Refuses to change what only the daemon has, or a server. What the editor has under such an address
/// is its own.
pub fn refuse_change(written: &str, overlays: &Overlays) -> Result<(), Refusal> {
    let what = match provider_of(written) {
        Some((_, provider, _)) => provider.what(),
        None if web::looks(written) == Looks::Web => "a web page",
        None => return Ok(()),
    };
    if overlays.called(written).is_some() {
        return Ok(());
    }
    let path = shortened(written).into_owned();
    Err(Refusal::Unsupported {
        message: format!("'{path}' is {what} and cannot be changed; nothing was written."),
        path: Some(path),
    })
}

/// Other addresses that have no `//`.
const OTHERS: &[&str] = &["data:", "javascript:", "view-source:", "mailto:"];

/// Web and other addresses are not files; saying so beats `notFound`. For what is neither on disk
/// nor in the editor.
pub fn refuse_unknown(spelled: &str) -> Result<(), Refusal> {
    let scheme = match row_of(spelled) {
        Some((row, rest)) => match row.opens {
            Opens::Nobody => &spelled[..spelled.len() - rest.len()],
            Opens::DiskOrEditor | Opens::Memory(_) | Opens::Web => return Ok(()),
        },
        None => {
            let begins = |with: &&&str| {
                let head = spelled.get(..with.len());
                head.is_some_and(|head| head.eq_ignore_ascii_case(with))
            };
            match OTHERS.iter().find(begins) {
                Some(other) => other,
                None => return Ok(()),
            }
        }
    };
    let names: Vec<String> = schemes().iter().map(|name| format!("{name}://")).collect();
    let spelled = shortened(spelled).into_owned();
    Err(Refusal::Unsupported {
        message: format!(
            "'{spelled}' is not a file, and {scheme} addresses are not read. Use a path, or an address with {}.",
            names.join(", ")
        ),
        path: Some(spelled),
    })
}
