//! The table of schemes: what a path string is by how it begins. It is asked before a selector is looked for; nothing is opened here.
//!
//! A string that begins with a name of the table and `://` and is opened from memory is never a
//! file, whatever folders the workspace has. All others are looked for on disk and in the editor,
//! and only where nothing of that name is there does the last row refuse what looks like an address.

use crate::buffer::Overlays;
use crate::protocol::{Refusal, shortened};
use crate::view::{Selector, Target};
use crate::workspace::{InternalUrl, MAX_PATH_BYTES, measure, percent_decoded};

use super::source::guide::GUIDE;
use super::source::internal::Provider;
use super::target::{Located, Spot};

/// One row of the table.
#[derive(Debug)]
pub struct Scheme {
    /// In lower case, the canonical one first; none for whatever no other row has.
    names: &'static [&'static str],
    /// Where the address may end and a selector begin, the longest address first: the index of the
    /// character between them. What is there under a longer address goes first.
    ends: fn(&str) -> Vec<(usize, Selector)>,
    opens: Opens,
}

/// Who opens what a row names.
#[derive(Debug)]
enum Opens {
    /// The disk, else the editor: what is there tells where the path ends.
    DiskOrEditor,
    /// Who has its text in memory, so that nothing has to be obtained before it is opened.
    Memory(&'static dyn Provider),
    Nobody,
}

static SCHEMES: &[Scheme] = &[
    Scheme {
        names: &["file"],
        ends: Selector::splits,
        opens: Opens::DiskOrEditor,
    },
    Scheme {
        names: &["untitled"],
        ends: Selector::splits,
        opens: Opens::DiskOrEditor,
    },
    Scheme {
        names: &["pilcrow", "omp"],
        ends: Selector::splits,
        opens: Opens::Memory(&GUIDE),
    },
    // Schemes of open documents are known to the editor alone; it was asked before this row is.
    Scheme {
        names: &[],
        ends: Selector::splits,
        opens: Opens::Nobody,
    },
];

/// The names of all schemes, as `initialize` lists them.
pub fn schemes() -> Vec<&'static str> {
    let names = SCHEMES.iter().flat_map(|scheme| scheme.names);
    names.copied().collect()
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
        row.names.is_empty() || row.names.iter().any(|it| it.eq_ignore_ascii_case(name))
    };
    SCHEMES.iter().find(is_it).map(|row| (row, rest))
}

/// Whether a path string is the address of what has its text in memory.
pub fn is_internal(written: &str) -> bool {
    provider_of(written).is_some()
}

/// Its row, who has the text, and what stands behind the `://`.
fn provider_of(written: &str) -> Option<(&'static Scheme, &'static dyn Provider, &str)> {
    let (row, rest) = row_of(written)?;
    match row.opens {
        Opens::Memory(provider) => Some((row, provider, rest)),
        Opens::DiskOrEditor | Opens::Nobody => None,
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
    let before = written.len() - rest.len();
    let found = |end: usize| -> Option<Spot> {
        if let Some(overlay) = overlays.called(&written[..before + end]) {
            return Some(Spot::InEditor(overlay.clone(), overlay.uri.clone()));
        }
        let name = decoded(&rest[..end]);
        provider.get(&name)?;
        let canonical = scheme.names.first()?;
        Some(Spot::Internal(InternalUrl::new(canonical, &name)))
    };
    let splits = match target {
        Target::Literal(..) => Vec::new(),
        Target::Spelled(_) => (scheme.ends)(rest),
    };
    let selector = match target {
        Target::Literal(_, selector) => selector.clone(),
        Target::Spelled(_) => Selector::default(),
    };
    let whole = std::iter::once((rest.len(), selector));
    for (end, selector) in whole.chain(bare(rest)).chain(splits.iter().cloned()) {
        if let Some(spot) = found(end) {
            return Ok(Some(Located::found(spot, selector)));
        }
    }
    if let Target::Spelled(_) = target {
        refuse_mistyped_selector(written, rest, |end| found(end).is_some())?;
    }
    if rest.contains('?') {
        let name = scheme.names.first().unwrap_or(&"");
        let message = format!("{name}:// takes no parameters; leave out what follows the '?'.");
        return Err(Refusal::bad_params("path", message));
    }
    let end = splits.last().map_or(rest.len(), |(end, _)| *end);
    let near = near_names(&decoded(&rest[..end]), provider);
    let canonical = scheme.names.first().unwrap_or(&"");
    let near = near.iter().map(|name| format!("{canonical}://{name}"));
    Err(not_found(written, near.collect()))
}

/// A selector right behind `://` is of the list of what there is.
fn bare(rest: &str) -> Option<(usize, Selector)> {
    let selector = Selector::parse(rest.strip_prefix(':')?).ok()?;
    Some((0, selector))
}

/// What is followed by something that is no selector was meant with one.
fn refuse_mistyped_selector(
    written: &str,
    rest: &str,
    is_there: impl Fn(usize) -> bool,
) -> Result<(), Refusal> {
    let mut ends = rest.match_indices(':').map(|(at, _)| at).take(4);
    let Some(end) = ends.find(|end| is_there(*end)) else {
        return Ok(());
    };
    match Selector::parse(&rest[end + 1..]) {
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

/// Refuses to change what only the daemon has. What the editor has under such an address is its own.
pub fn refuse_change(written: &str, overlays: &Overlays) -> Result<(), Refusal> {
    match provider_of(written) {
        Some((_, provider, _)) if overlays.called(written).is_none() => {
            let path = shortened(written).into_owned();
            Err(Refusal::Unsupported {
                message: format!(
                    "'{path}' is {} and cannot be changed; nothing was written.",
                    provider.what()
                ),
                path: Some(path),
            })
        }
        _ => Ok(()),
    }
}

/// Web and other addresses are not files; saying so beats `notFound`. For what is neither on disk
/// nor in the editor.
pub fn refuse_unknown(spelled: &str) -> Result<(), Refusal> {
    let scheme = match row_of(spelled) {
        Some((row, rest)) => match row.opens {
            Opens::Nobody => &spelled[..spelled.len() - rest.len() - "://".len()],
            Opens::DiskOrEditor | Opens::Memory(_) => return Ok(()),
        },
        None if spelled.starts_with("www.") && !spelled.contains("://") => "https",
        None => return Ok(()),
    };
    let spelled = shortened(spelled).into_owned();
    Err(Refusal::Unsupported {
        message: format!(
            "'{spelled}' is not a file: this daemon reads file paths and file:// URIs, not {scheme}:// addresses."
        ),
        path: Some(spelled),
    })
}
