//! From a path string to an opened file and a selector; a literal path that exists is never read as a selector.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::buffer::{Overlay, Overlays};
use crate::protocol::{Refusal, shortened};
use crate::task::Work;
use crate::view::selector::SelectorError;
use crate::view::{Guess, Selector, Target};
use crate::workspace::{
    At, FileType, Found, Look, MAX_PATH_BYTES, RealPath, Scope, Via, decode_file_uri, is_too_long,
};

use super::fragment::{Fragment, NamedPart};
use super::obtained::Lacking;
use super::source::internal::{Given, GivenTarget, Hold};
use super::source::web::WebAddress;
use super::{scheme, source};

/// What a path string turned out to name.
#[derive(Debug)]
pub struct Located {
    pub target_kind: TargetKind,
    pub selector: Selector,
    /// What of it is asked for by its name, where it is.
    pub part: Option<NamedPart>,
    /// What follows the path of a resource that may hold more, with the character that parts them.
    pub inner: Option<String>,
    /// How the path was understood, one sentence each.
    pub understood: Vec<String>,
}

/// Where it is.
#[derive(Debug)]
pub enum TargetKind {
    OnDisk(Found),
    /// In no place but the editor; with its path as headers name it.
    InEditor(Arc<Overlay>, String),
    /// Behind an internal address, as its provider gave it.
    Internal(Box<GivenTarget>),
    /// At a server, which was not asked yet.
    Web(Box<WebAddress>),
}

impl Located {
    /// What was found under the very name that it was looked for by.
    pub fn found(target_kind: TargetKind, selector: Selector) -> Located {
        Located {
            target_kind,
            selector,
            part: None,
            inner: None,
            understood: Vec::new(),
        }
    }

    /// What was found, and what a fragment asks for of it.
    pub fn in_part(self, fragment: Fragment) -> Located {
        match fragment {
            Fragment::Lines(selector) => Located { selector, ..self },
            Fragment::Name(part) => Located {
                part: Some(part),
                ..self
            },
        }
    }

    /// Whether nothing is named but it itself.
    pub fn is_bare(&self) -> bool {
        self.selector == Selector::default() && self.inner.is_none() && self.part.is_none()
    }

    /// Whether it may be a text that has names in it.
    fn may_have_names(&self) -> bool {
        match &self.target_kind {
            TargetKind::OnDisk(found) => found.handle.file_type() == FileType::Regular,
            TargetKind::InEditor(..) => true,
            TargetKind::Internal(_) | TargetKind::Web(_) => false,
        }
    }

    /// A page, and what is asked for of it.
    pub fn on_web(address: WebAddress) -> Located {
        Located {
            inner: address.inner.clone(),
            selector: address.selector.clone(),
            ..Located::found(TargetKind::Web(Box::new(address)), Selector::default())
        }
    }

    /// What has to be obtained before it can be opened.
    pub fn lacks(&self) -> Option<Lacking> {
        match &self.target_kind {
            TargetKind::Internal(target_kind) => match &target_kind.given {
                Given::Lacks(lacking) => Some(lacking.clone()),
                Given::Text(_) | Given::List(_) | Given::File(_) => None,
            },
            TargetKind::OnDisk(_) | TargetKind::InEditor(..) | TargetKind::Web(_) => None,
        }
    }

    /// What keeps it as it is, to be dropped once it is opened.
    pub fn take_hold(&mut self) -> Option<Hold> {
        match &mut self.target_kind {
            TargetKind::Internal(target_kind) => match &mut target_kind.given {
                Given::File(file) => file.hold.take(),
                Given::Text(_) | Given::List(_) | Given::Lacks(_) => None,
            },
            TargetKind::OnDisk(_) | TargetKind::InEditor(..) | TargetKind::Web(_) => None,
        }
    }

    /// Whether it is a file, whatever the editor has of it.
    pub fn is_on_disk(&self) -> bool {
        matches!(self.target_kind, TargetKind::OnDisk(_))
    }

    /// Whether it has the very name that it was looked for by.
    pub fn is_exact(&self) -> bool {
        match &self.target_kind {
            TargetKind::OnDisk(found) => matches!(found.via, Via::Exact),
            TargetKind::InEditor(..) | TargetKind::Internal(_) | TargetKind::Web(_) => true,
        }
    }

    /// The path as headers and messages name it.
    pub fn display(&self) -> &str {
        match &self.target_kind {
            TargetKind::OnDisk(found) => &found.display,
            TargetKind::InEditor(_, display) => display,
            TargetKind::Internal(target_kind) => target_kind.url.as_str(),
            TargetKind::Web(address) => address.url.as_str(),
        }
    }
}

/// Finds what `target` names; `guess` tells what else its name may stand for, where it is looked for
/// any further than under its exact name. That takes long: it may walk the tree. What a provider has
/// is found by [`source::internal::locate`].
pub fn locate(
    target: &Target,
    guess: Option<Guess>,
    scope: &Scope,
    overlays: &Overlays,
    work: &Work,
) -> Result<Located, Refusal> {
    if let Some(address) = scheme::web_address(target)? {
        return Ok(Located::on_web(address));
    }
    if let Some(located) = scheme::in_editor(target, overlays) {
        return Ok(located);
    }
    refuse_too_long(target.as_written())?;
    let search = Search {
        guess,
        scope,
        overlays,
        work,
    };
    match target {
        Target::Literal(path, selector) => match search.exactly(path)? {
            Some(target_kind) => Ok(located(target_kind, selector.clone())),
            None => match scheme::web_address_of_no_file(target)? {
                Some(address) => Ok(Located::on_web(address)),
                None => search.further(path, selector.clone()),
            },
        },
        Target::Spelled(spelled) => {
            match decode_file_uri(spelled)?.map(|path| path.into_os_string().into_string()) {
                None => search.spelled(spelled),
                Some(Ok(path)) => search.spelled(&path),
                // Not UTF-8: there is no string in which a selector could be looked for.
                Some(Err(path)) => match search.at(Path::new(&path))? {
                    Some(target_kind) => Ok(located(target_kind, Selector::default())),
                    None => Err(Refusal::NotFound {
                        path: spelled.clone(),
                        suggestions: Vec::new(),
                    }),
                },
            }
        }
    }
}

/// Refuses what is too long for a path and cannot be a path with something behind it, before it is
/// taken apart: `notFound`.
pub fn refuse_too_long(written: &str) -> Result<(), Refusal> {
    let head = head(written);
    if !is_too_long(head) {
        return Ok(());
    }
    let leads_on = match decode_file_uri(head)? {
        None => leads_on(head.as_bytes()),
        Some(path) => leads_on(path.as_os_str().as_bytes()),
    };
    match leads_on {
        true => Ok(()),
        false => Err(nothing_so_long(written)),
    }
}

/// Refuses what is longer than any path can be written, for whoever takes nothing behind a path:
/// `notFound`.
pub fn refuse_longer_than_a_path(written: &str) -> Result<(), Refusal> {
    match head(written).len() == written.len() {
        true => refuse_too_long(written),
        false => Err(nothing_so_long(written)),
    }
}

/// Whether a path string is an address, `file:///…`; refuses what is one of no file of this machine.
pub fn is_address(written: &str) -> Result<bool, Refusal> {
    Ok(decode_file_uri(head(written))?.is_some())
}

/// As much of a path string as its path can be in.
fn head(written: &str) -> &str {
    // An escape has three bytes; before the path there may be a scheme and a host.
    &written[..written.floor_char_boundary(3 * MAX_PATH_BYTES + 64)]
}

fn nothing_so_long(path: &str) -> Refusal {
    Refusal::NotFound {
        path: shortened(path).into_owned(),
        suggestions: Vec::new(),
    }
}

/// Whether a selector, or what is within a resource, may begin where a path can end.
fn leads_on(path: &[u8]) -> bool {
    let path = &path[..path.len().min(MAX_PATH_BYTES)];
    path.len() < MAX_PATH_BYTES || path.iter().any(|byte| matches!(byte, b':' | b'?' | b'#'))
}

struct Search<'a> {
    guess: Option<Guess>,
    scope: &'a Scope,
    overlays: &'a Overlays,
    work: &'a Work,
}

impl Search<'_> {
    /// What has exactly this name: on disk, else by its address, else, where its place is allowed,
    /// in the editor.
    fn exactly(&self, path: &str) -> Result<Option<TargetKind>, Refusal> {
        let literal = self.scope.look(path);
        if let Ok(Look::Here(found)) = literal {
            return Ok(Some(TargetKind::OnDisk(found)));
        }
        // An address is judged as that file, and not by what it would be called as a name.
        if let Some(address) = decode_file_uri(path)? {
            return self.at(&address);
        }
        match literal? {
            Look::Here(found) => Ok(Some(TargetKind::OnDisk(found))),
            Look::Nothing(_) if self.overlays.is_empty() => Ok(None),
            Look::Nothing(places) => match self.overlays.called(path) {
                Some(overlay) => {
                    let display = overlay.uri.clone();
                    Ok(Some(TargetKind::InEditor(overlay.clone(), display)))
                }
                None => self.never_saved(&places, path),
            },
        }
    }

    /// What has an absolute path as its address: that file, else the document that will be.
    fn at(&self, address: &Path) -> Result<Option<TargetKind>, Refusal> {
        Ok(match self.scope.look_at(address)? {
            At::Here(handle) => Some(TargetKind::OnDisk(Found {
                display: self.scope.display_as(address, handle.real()),
                handle,
                via: Via::Exact,
            })),
            At::Nothing(real) => self.in_editor(&real, address),
        })
    }

    /// The open document of a file that is at none of these places, all of which are allowed.
    fn never_saved(&self, places: &[PathBuf], asked: &str) -> Result<Option<TargetKind>, Refusal> {
        for place in places.iter().filter(|at| self.overlays.may_be_at(at)) {
            let real = self.scope.would_be(place, asked)?;
            if let Some(target_kind) = self.in_editor(&real, place) {
                return Ok(Some(target_kind));
            }
        }
        Ok(None)
    }

    fn in_editor(&self, real: &RealPath, asked_at: &Path) -> Option<TargetKind> {
        let overlay = self.overlays.of_file(real, self.scope)?;
        let display = self.scope.display_as(asked_at, real);
        Some(TargetKind::InEditor(overlay.clone(), display))
    }

    /// Literal, then split at a selector, then at a fragment, then a mistyped selector, then further
    /// afield.
    fn spelled(&self, path: &str) -> Result<Located, Refusal> {
        let literal = self.exactly(path);
        if let Ok(Some(target_kind)) = literal {
            return Ok(located(target_kind, Selector::default()));
        }
        for parted in source::kind::splits(path) {
            let found = self.scope.find_exact(&path[..parted])?;
            if let Some(found) = found.filter(|f| f.handle.file_type() == FileType::Regular) {
                return Ok(within(TargetKind::OnDisk(found), &path[parted..]));
            }
        }
        let splits = Selector::splits(path);
        for (colon, selector) in &splits {
            if let Some(target_kind) = self.exactly(&path[..*colon])? {
                return Ok(located(target_kind, selector.clone()));
            }
        }
        for (head, text) in Fragment::splits(path) {
            if let Ok(Some(target_kind)) = self.exactly(head) {
                let found = located(target_kind, Selector::default());
                if found.may_have_names() {
                    let fragment = text.parse().map_err(|error| mistyped(path, error))?;
                    return Ok(found.in_part(fragment));
                }
            }
        }
        if let Some(address) = scheme::web_address_of_no_file(&Target::Spelled(path.to_owned()))? {
            return Ok(Located::on_web(address));
        }
        scheme::refuse_unknown(path, self.overlays)?;
        self.refuse_mistyped_selector(path)?;
        // What exists nowhere is read as leading into as much, and with as much selector, as can be.
        if let Some(&parted) = source::kind::splits(path).first() {
            let further = self.further(&path[..parted], Selector::default())?;
            return Ok(Located {
                inner: Some(path[parted..].to_owned()),
                ..further
            });
        }
        let further = match splits.into_iter().next_back() {
            Some((colon, selector)) => self.further(&path[..colon], selector),
            None => {
                literal?;
                self.further(path, Selector::default())
            }
        };
        match further {
            Err(Refusal::NotFound { .. }) => self.further_in_part(path).unwrap_or(further),
            further => further,
        }
    }

    /// The same of what is before a fragment; `None` where there is no fragment, and nothing to suggest
    /// either.
    fn further_in_part(&self, path: &str) -> Option<Result<Located, Refusal>> {
        let (head, text) = Fragment::splits(path).last()?;
        let fragment = text.parse().ok()?;
        match self.further(head, Selector::default()) {
            Ok(found) if found.may_have_names() => Some(Ok(found.in_part(fragment))),
            Err(Refusal::NotFound { suggestions, .. }) if suggestions.is_empty() => None,
            Err(refusal) => Some(Err(refusal)),
            Ok(_) => None,
        }
    }

    /// Variants of the name, then a unique suffix, then `notFound`.
    fn further(&self, path: &str, selector: Selector) -> Result<Located, Refusal> {
        if is_too_long(path) {
            return Err(nothing_so_long(path));
        }
        let Some(guess) = self.guess else {
            return Err(Refusal::NotFound {
                path: path.to_owned(),
                suggestions: Vec::new(),
            });
        };
        self.work.takes_long()?;
        let found = self.scope.find(path, guess, self.work);
        let found = found.map_err(|refusal| suggesting_web(refusal, path))?;
        Ok(located(TargetKind::OnDisk(found), selector))
    }

    /// An existing path followed by something that is no selector was meant as one.
    fn refuse_mistyped_selector(&self, path: &str) -> Result<(), Refusal> {
        for index in Selector::places(path, [b':', b'#']).take(4) {
            if !matches!(self.exactly(&path[..index]), Ok(Some(_))) {
                continue;
            }
            let tail = &path[index + 1..];
            let error = match Selector::parse(tail) {
                Err(error) => error,
                Ok(_) => SelectorError::Unknown(path[index..].to_owned()),
            };
            return Err(mistyped(path, error));
        }
        // Nothing of that name is there, but a malformed number cannot be a path either.
        let colon = Selector::places(path, [b':'; 2]).next();
        match colon.map(|colon| Selector::parse(&path[colon + 1..])) {
            Some(Err(error @ SelectorError::Invalid(_))) => Err(mistyped(path, error)),
            _ => Ok(()),
        }
    }
}

/// What was meant as a selector, or as a name, and is none.
pub fn mistyped(path: &str, error: SelectorError) -> Refusal {
    Refusal::BadSelector {
        path: Some(shortened(path).into_owned()),
        message: error.to_string(),
    }
}

/// What looks like a host without a scheme may be meant as an address.
fn suggesting_web(mut refusal: Refusal, path: &str) -> Refusal {
    let host = path.split(['/', '?']).next().unwrap_or(path);
    let (name, port) = match host.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    };
    let is_port = port.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()));
    let is_address = name.parse::<std::net::Ipv4Addr>().is_ok();
    let top = name.rsplit_once('.').map(|(_, top)| top);
    let is_known = top.is_some_and(|top| KNOWN_TOPS.contains(&top));
    let scheme = match () {
        () if name == "localhost" || is_address || (is_port && top.is_some()) => "http",
        () if is_known && (port.is_none() || is_port) => "https",
        () => return refusal,
    };
    if let Refusal::NotFound { suggestions, .. } = &mut refusal {
        suggestions.insert(0, format!("{scheme}://{path}"));
        suggestions.truncate(MAX_SUGGESTIONS);
    }
    refusal
}

/// Names at the end of a host that are seldom those of a file.
const KNOWN_TOPS: &[&str] = &["com", "org", "net", "io", "dev", "edu", "gov"];
const MAX_SUGGESTIONS: usize = 3;

fn located(target_kind: TargetKind, selector: Selector) -> Located {
    let understood = match &target_kind {
        TargetKind::OnDisk(Found {
            via: Via::Suffix { from, to },
            ..
        }) => vec![format!(
            "Path '{from}' not found; resolved to '{to}' via suffix match"
        )],
        _ => Vec::new(),
    };
    Located {
        understood,
        ..Located::found(target_kind, selector)
    }
}

/// Something within what was found.
fn within(target_kind: TargetKind, inner: &str) -> Located {
    Located {
        inner: Some(inner.to_owned()),
        ..located(target_kind, Selector::default())
    }
}
