//! The table of schemes: what a path string is by how it begins. It is asked before a selector is looked for; nothing is opened here.
//!
//! Nothing here does I/O: what a string with a scheme of the table names can be told before a read
//! takes a place in a pool, so that what has to be fetched first can be.
//!
//! A string that begins with a name of the table and `://` and has a provider or is of the web
//! is never a file, whatever folders the workspace has. All others are looked for on disk and in the
//! editor, and only where nothing of that name is there does the last row refuse what looks like an
//! address.

use crate::buffer::{OfferedSchemes, Overlays};
use crate::protocol::{Refusal, Settings, shortened};
use crate::view::{Selector, Target};
use crate::workspace::Scope;

use super::source::internal::Provider;
use super::source::internal::agent::AGENTS;
use super::source::internal::artifact::ARTIFACTS;
use super::source::internal::client::CLIENT;
use super::source::internal::folders::memories::MEMORIES;
use super::source::internal::folders::rules::RULES;
use super::source::internal::folders::skills::SKILLS;
use super::source::internal::github::{ISSUES, PULLS};
use super::source::internal::guide::GUIDE;
use super::source::internal::local::LOCAL;
use super::source::internal::mcp::MCP;
use super::source::web::{self, Looks, WebAddress};
use super::target::{Located, TargetKind};

/// One row of the table.
#[derive(Debug)]
pub struct Scheme {
    /// In lower case; empty for whatever no other row has.
    name: &'static str,
    /// Other names for the same.
    aliases: &'static [&'static str],
    opens: Opens,
}

impl Scheme {
    const fn row(name: &'static str, aliases: &'static [&'static str], opens: Opens) -> Scheme {
        Scheme {
            name,
            aliases,
            opens,
        }
    }
}

/// Who opens what a row names.
#[derive(Debug)]
enum Opens {
    /// The disk, else the editor: what is there tells where the path ends.
    DiskOrEditor,
    /// Who has what is behind it, or says what has to be obtained first.
    Provider(&'static dyn Provider),
    /// Its server, once it has answered. Such a string is never a file, and ends as an address does
    /// ([`web::parse`]).
    Web,
    Nobody,
}

static SCHEMES: &[Scheme] = &[
    Scheme::row("file", &[], Opens::DiskOrEditor),
    Scheme::row("untitled", &[], Opens::DiskOrEditor),
    Scheme::row("http", &["https"], Opens::Web),
    Scheme::row("artifact", &[], Opens::Provider(&ARTIFACTS)),
    Scheme::row("agent", &[], Opens::Provider(&AGENTS)),
    Scheme::row("local", &[], Opens::Provider(&LOCAL)),
    Scheme::row("pilcrow", &["omp"], Opens::Provider(&GUIDE)),
    Scheme::row("skill", &[], Opens::Provider(&SKILLS)),
    Scheme::row("rule", &[], Opens::Provider(&RULES)),
    Scheme::row("memory", &[], Opens::Provider(&MEMORIES)),
    Scheme::row("issue", &[], Opens::Provider(&ISSUES)),
    Scheme::row("pr", &[], Opens::Provider(&PULLS)),
    Scheme::row("mcp", &[], Opens::Provider(&MCP)),
    // Schemes of open documents are known to the editor alone; it was asked before this row is.
    Scheme::row("", &[], Opens::Nobody),
];

/// The names of all schemes, as `initialize` lists them.
pub fn schemes() -> Vec<&'static str> {
    let names = SCHEMES
        .iter()
        .flat_map(|row| [row.name].into_iter().chain(row.aliases.iter().copied()));
    names.filter(|name| !name.is_empty()).collect()
}

/// Schemes of the client's that a model is told of by name.
const MAX_TOLD: usize = 8;

/// How the addresses are written that are read with these settings, files and the web aside: what
/// models are told.
pub fn address_forms(settings: &Settings, offered: &OfferedSchemes) -> Vec<String> {
    let ours = SCHEMES.iter().filter_map(|row| match row.opens {
        Opens::Provider(provider) => Some((row.name, provider)),
        Opens::DiskOrEditor | Opens::Web | Opens::Nobody => None,
    });
    let is_on = |name: &str, provider: &dyn Provider| {
        provider.is_on(settings) || offered.name(name).is_some()
    };
    let ours = ours.filter(|(name, provider)| is_on(name, *provider));
    let ours = ours.map(|(name, provider)| format!("{name}://{}", provider.facts().form));
    let mut forms: Vec<String> = ours.collect();
    let others = offered.names().filter(|name| !schemes().contains(name));
    let others: Vec<String> = others.map(|name| format!("{name}://…")).collect();
    forms.extend(others.iter().take(MAX_TOLD).cloned());
    if others.len() > MAX_TOLD {
        forms.push(format!("and {} more schemes", others.len() - MAX_TOLD));
    }
    forms
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
    let row = SCHEMES.iter().find(is_it)?;
    Some((row, rest))
}

/// Whether a path string is an address of some provider's.
pub fn is_internal(written: &str, overlays: &Overlays) -> bool {
    provider_of(written, overlays).is_some()
}

/// Whether a path string is an address of what is in no file of this machine, the web aside.
pub fn is_elsewhere(written: &str, overlays: &Overlays) -> bool {
    provider_of(written, overlays).is_some_and(|(_, provider, _)| provider.facts().is_elsewhere)
}

/// Whether a path string begins as an address of no file does.
pub fn looks_like_address(written: &str) -> bool {
    row_of(written).is_some_and(|(row, _)| !matches!(row.opens, Opens::DiskOrEditor))
}

/// Whether it is the address of what a session has of its own.
pub fn is_of_store(written: &str) -> bool {
    let row = row_of(written).map(|(row, _)| row.name);
    matches!(row, Some("artifact" | "agent" | "local"))
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

/// The name of its scheme, who has it, and what stands behind the `://`. What no row has may be one
/// that the client offers.
pub fn provider_of<'a>(
    written: &'a str,
    overlays: &'a Overlays,
) -> Option<(&'a str, &'static dyn Provider, &'a str)> {
    let (row, rest) = row_of(written)?;
    match row.opens {
        Opens::Provider(provider) => Some((row.name, provider, rest)),
        Opens::Nobody => {
            let name = &written[..written.len() - rest.len() - "://".len()];
            let offered = overlays.offered.name(name)?;
            Some((offered, &CLIENT, rest))
        }
        Opens::DiskOrEditor | Opens::Web => None,
    }
}

/// The open document that has the very address that a path string is, where only a provider could
/// have it besides.
pub fn in_editor(target: &Target, overlays: &Overlays) -> Option<Located> {
    let written = target.as_written();
    provider_of(written, overlays)?;
    let own = match target {
        Target::Literal(_, selector) => selector.clone(),
        Target::Spelled(_) => Selector::default(),
    };
    let overlay = overlays.called(written)?;
    let target_kind = TargetKind::InEditor(overlay.clone(), overlay.uri.clone());
    Some(Located::found(target_kind, own))
}

/// Refuses to change what only the daemon has, or a server. What the editor has under such an address
/// is its own.
pub fn refuse_change(written: &str, scope: &Scope, overlays: &Overlays) -> Result<(), Refusal> {
    let path = shortened(written).into_owned();
    let message = match provider_of(written, overlays) {
        Some(_) if scope.is_in_writable_folder(written) => return Ok(()),
        Some((_, provider, rest)) => {
            let instead = provider.instead_of_change(rest, scope);
            format!("'{path}' {instead}; nothing was written.")
        }
        None if web::looks(written) == Looks::Web => {
            format!("'{path}' is a web page and cannot be changed; nothing was written.")
        }
        None => return Ok(()),
    };
    if overlays.called(written).is_some() {
        return Ok(());
    }
    Err(Refusal::Unsupported {
        message,
        path: Some(path),
    })
}

/// Refuses to make a file of what is an address of a scheme that nobody has: it would lie in a folder of
/// that name. What is there under that name, or open, is what it names.
pub fn refuse_making(written: &str, scope: &Scope, overlays: &Overlays) -> Result<(), Refusal> {
    let row = row_of(written).map(|(row, _)| &row.opens);
    if !matches!(row, Some(Opens::Nobody)) || overlays.called(written).is_some() {
        return Ok(());
    }
    if matches!(scope.find_exact(written), Ok(Some(_))) {
        return Ok(());
    }
    let path = shortened(written).into_owned();
    Err(Refusal::Unsupported {
        message: format!(
            "'{path}' is an address of a scheme that nobody has here, and no file is made of it; nothing was written. A file is named by a path."
        ),
        path: Some(path),
    })
}

/// Other addresses that have no `//`.
const OTHERS: &[&str] = &["data:", "javascript:", "view-source:", "mailto:"];

/// Web and other addresses are not files; saying so beats `notFound`. For what is neither on disk
/// nor in the editor.
pub fn refuse_unknown(spelled: &str, overlays: &Overlays) -> Result<(), Refusal> {
    let scheme = match row_of(spelled) {
        Some((row, rest)) => match row.opens {
            Opens::Nobody => &spelled[..spelled.len() - rest.len()],
            Opens::DiskOrEditor | Opens::Provider(_) | Opens::Web => return Ok(()),
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
    let offered = overlays.offered.names();
    let offered = offered.filter(|name| !schemes().contains(name));
    let names = schemes().into_iter().chain(offered);
    let names: Vec<String> = names.map(|name| format!("{name}://")).collect();
    let spelled = shortened(spelled).into_owned();
    Err(Refusal::Unsupported {
        message: format!(
            "'{spelled}' is not a file, and {scheme} addresses are not read. Use a path, or an address with {}.",
            names.join(", ")
        ),
        path: Some(spelled),
    })
}
