//! Which document each section of a patch is of; a path is judged by access before its tag is looked at.

use parking_lot::Mutex;

use crate::buffer::Overlays;
use crate::hashline::{Op, Section};
use crate::protocol::edit::Warning;
use crate::protocol::{Refusal, shortened};
use crate::read::{
    Located, is_address, locate, place_to_edit, refuse_change, refuse_longer_than_a_path,
};
use crate::session::Sessions;
use crate::task::Work;
use crate::view::{Guess, Selector, Target};
use crate::workspace::{ResourceId, Scope};

use super::Fault;
use super::moved::{new_place, was_moved};

/// A section and where it belongs.
#[derive(Debug, Clone)]
pub struct Named {
    pub section: Section,
    pub place: ResourceId,
    /// Where it is to be moved, where that is known by now.
    pub to: Option<ResourceId>,
    /// The path that leads there, where the section's own does not.
    pub rebound: Option<String>,
    /// How the section's own path was understood where nothing has that very name, one sentence
    /// each.
    pub understood: Vec<String>,
}

impl Named {
    /// A section of a place that is called so.
    fn of(section: Section, place: ResourceId, scope: &Scope, overlays: &Overlays) -> Named {
        Named {
            to: place_moved_to(&section, &place, scope, overlays),
            section,
            place,
            rebound: None,
            understood: Vec::new(),
        }
    }
}

impl Named {
    /// The path to open.
    pub fn path(&self) -> &str {
        self.rebound.as_deref().unwrap_or(&self.section.path)
    }

    /// What an edit goes to that names no file there is.
    pub(super) fn warnings(&self) -> impl Iterator<Item = Warning> {
        let rebound = self.rebound.iter().map(|path| {
            format!(
                "There is no '{}'; its tag was shown to you for '{path}', which was edited.",
                self.section.path
            )
        });
        let understood = self.understood.iter().map(|how| format!("{how}."));
        rebound.chain(understood).map(|message| Warning {
            code: "rebound",
            message,
        })
    }
}

/// Open files, each with its place.
pub type PlacedFiles = Vec<(ResourceId, Located)>;

/// Files that were found for a change, to be opened without looking for them again.
#[derive(Debug, Default)]
pub struct FoundFiles {
    files: Mutex<PlacedFiles>,
    /// The open documents by which they were found.
    by: Option<Overlays>,
}

impl FoundFiles {
    /// One file for each place, found by these open documents.
    pub fn new(files: PlacedFiles, by: Overlays) -> FoundFiles {
        FoundFiles {
            files: Mutex::new(files),
            by: Some(by),
        }
    }

    /// The open documents to go by, if those are now `overlays`: the moment that these files were
    /// found after. Where documents have changed since, nothing counts as found.
    pub fn overlays(&mut self, overlays: Overlays) -> Overlays {
        match self.by.take() {
            Some(by) if by.is_same(&overlays) => by,
            _ => {
                self.files.get_mut().clear();
                overlays
            }
        }
    }

    /// What was found at a place. It is given once: a second plan is made because of a change.
    pub fn take(&self, place: &ResourceId) -> Option<Located> {
        let mut found = self.files.lock();
        let at = found.iter().position(|(known, _)| known == place)?;
        Some(found.swap_remove(at).1)
    }
}

/// Files that are kept open from finding them to planning; the others are looked for again.
const KEPT_OPEN: usize = 16;

/// What a name may stand for, as where it is read.
pub const AS_A_READ: Option<Guess> = Some(Guess::Suffix);

/// What the path of a section may stand for: where a file is moved or deleted, nothing else.
fn guess_for(section: &Section) -> Option<Guess> {
    match section.hunks.iter().any(|hunk| hunk.op.is_of_name()) {
        true => None,
        false => AS_A_READ,
    }
}

/// Finds the place of each section, for the order of edits, and gives what was found there on
/// disk: a plan that is made in the same moment need not look again. Sections that lead nowhere
/// are left out, and go to `faults`.
pub fn name_places(
    sections: Vec<Section>,
    (session, sessions): (&str, &Sessions),
    scope: &Scope,
    overlays: &Overlays,
    work: &Work,
    faults: &mut Vec<Fault>,
) -> Result<(Vec<Named>, PlacedFiles), Refusal> {
    let mut found = PlacedFiles::new();
    let mut name = |section: Section| {
        work.check()?;
        let gone =
            |section: &Section| is_known_to_be_gone(section, sessions, scope, overlays, work);
        match find(&section.path, guess_for(&section), scope, overlays, work) {
            Ok(located) if located.is_exact() || !gone(&section) => {
                if !located.is_exact() {
                    // To look for it took its time: what was found before is of another moment.
                    found.clear();
                }
                let place = located.place(scope);
                let named = Named {
                    understood: located.understood.clone(),
                    ..Named::of(section, place, scope, overlays)
                };
                // A patch may have thousands of sections, of one file even.
                let is_kept = found.iter().any(|(place, _)| *place == named.place);
                if located.is_on_disk() && !is_kept && found.len() < KEPT_OPEN {
                    found.push((named.place.clone(), located));
                }
                Ok(named)
            }
            Ok(_) | Err(Refusal::NotFound { .. }) => {
                found.clear();
                let rebound = match gone(&section) {
                    true => None,
                    false => rebound(&section, session, sessions),
                };
                let path = rebound.as_deref().unwrap_or(&section.path);
                // What the section's own path leads to was just looked for.
                let is_nothing = rebound.is_none();
                let place = place_to_edit(path, is_nothing, scope, overlays, work)?;
                let named = Named::of(section, place, scope, overlays);
                Ok(Named { rebound, ..named })
            }
            Err(refusal) => Err(refusal),
        }
    };
    let mut named = Vec::with_capacity(sections.len());
    for section in sections {
        let (origin, path) = (section.origin, shortened(&section.path).into_owned());
        match name(section) {
            Ok(section) => named.push(section),
            Err(refusal) => faults.push(Fault::of(refusal, origin, &path)?),
        }
    }
    Ok((named, found))
}

/// What a path leads to: what has exactly this name, or what else `guess` says that it may stand for.
pub fn find(
    path: &str,
    guess: Option<Guess>,
    scope: &Scope,
    overlays: &Overlays,
    work: &Work,
) -> Result<Located, Refusal> {
    refuse_change(path, scope, overlays)?;
    refuse_longer_than_a_path(path)?;
    let target = match is_address(path)? {
        true => Target::Spelled(path.to_owned()),
        false => Target::Literal(path.to_owned(), Selector::default()),
    };
    let located = locate(&target, guess, scope, overlays, work)?;
    match located.part {
        None => Ok(located),
        // Names are for reading; the read shows what an edit takes.
        Some(_) => Err(Refusal::NotFound {
            path: shortened(path).into_owned(),
            suggestions: vec![located.display().to_owned()],
        }),
    }
}

/// Where a section wants its file moved to. What is wrong with that is said when it is planned.
fn place_moved_to(
    section: &Section,
    from: &ResourceId,
    scope: &Scope,
    overlays: &Overlays,
) -> Option<ResourceId> {
    let (Some(Op::MoveFile { to }), ResourceId::File(from)) =
        (section.hunks.last().map(|hunk| &hunk.op), from)
    else {
        return None;
    };
    let place = new_place(to, from, (scope, overlays)).ok()?;
    Some(ResourceId::File(match place {
        Ok(place) => place.real,
        Err(taken) => taken.real,
    }))
}

/// Whether a section is of a file that an edit took from there, or wants to do that itself: then no
/// other one is meant.
fn is_known_to_be_gone(
    section: &Section,
    sessions: &Sessions,
    scope: &Scope,
    overlays: &Overlays,
    work: &Work,
) -> bool {
    if section.hunks.iter().any(|hunk| hunk.op.is_of_name()) {
        return true;
    }
    let Some(tag) = section.tag else {
        return false;
    };
    match place_to_edit(&section.path, true, scope, overlays, work) {
        Ok(ResourceId::File(real)) => was_moved(sessions, &real, tag).is_some(),
        _ => false,
    }
}

/// The one document that this session was shown under the section's tag and that has the same
/// base name (`hashline.md`, Accepted although not canonical).
fn rebound(section: &Section, session: &str, sessions: &Sessions) -> Option<String> {
    let base = base_name(&section.path);
    let shown = sessions.shown_under(session, section.tag?);
    let mut same = shown.iter().filter(|(document, path)| {
        let real = match &document.id {
            ResourceId::File(real) => real.as_path().file_name().and_then(|name| name.to_str()),
            ResourceId::Document(uri) => Some(base_name(uri)),
            ResourceId::Internal(_) | ResourceId::Url(_) => None,
        };
        real == Some(base) || base_name(path) == base
    });
    match (same.next(), same.next()) {
        (Some((_, path)), None) => Some(path.clone()),
        _ => None,
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
