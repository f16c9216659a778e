//! What lies in folders that programs agreed on (`skill://`, `rule://`, `memory://`): found by a search that is remembered as long as everything it saw is as it was.
//!
//! [`places`] has the tables, [`search`] is the way through them, and each scheme has a file that says
//! what it takes for one of its things.

mod front_matter;
mod globs;
mod kept;
pub mod memories;
mod named;
mod nested;
mod places;
mod rule;
pub mod rules;
mod search;
pub mod skills;

use std::path::Path;
use std::time::Duration;

use parking_lot::Mutex;

use crate::protocol::read::InternalDetails;
use crate::protocol::settings::RootScheme;
use crate::protocol::status::ResourcesStatus;
use crate::protocol::{Refusal, Rule, Settings};
use crate::task::{CancelToken, Work};
use crate::workspace::{At, FileType, Handle, InternalUrl, Scope, UrlFolder, Whose};

use kept::Kept;
use memories::Memories;
use places::{Giver, Sort};
use rules::Rules;
use search::Ground;
use skills::Skills;

use super::{About, Given, GivenFile, one_line};

/// What was found last, with the proof that it still is what would be found.
#[derive(Debug, Default)]
pub struct Folders {
    skills: Kept<Skills>,
    rules: Kept<Rules>,
    /// Those that the status had last.
    memories: Mutex<Memories>,
}

impl Folders {
    /// What there is, looked for anew where that is not known.
    pub fn status(&self, scope: &Scope, work: &Work) -> Result<ResourcesStatus, Refusal> {
        self.skills.get(scope, work, skills::search)?;
        self.rules.get(scope, work, rules::search)?;
        *self.memories.lock() = memories::search(scope, work)?;
        Ok(self.last_status())
    }

    /// What was found last. Looks at nothing.
    pub fn last_status(&self) -> ResourcesStatus {
        let skills = self.skills.last().unwrap_or_default();
        let rules = self.rules.last().unwrap_or_default();
        let memories = self.memories.lock();
        let problems = [&skills.problems, &rules.problems, &memories.problems];
        ResourcesStatus {
            skills: skills.list.len(),
            rules: rules.list.len(),
            memories: memories.list.len(),
            shadowed: skills.shadowed + rules.shadowed + memories.shadowed,
            problems: problems.into_iter().flatten().cloned().collect(),
        }
    }
}

/// Whether these settings leave any folder in which such a thing could be.
fn may_have(settings: &Settings, scheme: RootScheme) -> bool {
    let internal = &settings.internal;
    let mut roots = internal.roots.iter();
    internal.workspace || internal.user || roots.any(|root| root.scheme == scheme)
}

/// The folders of the settings in which files may be changed, each by its address.
pub fn writable(scope: &Scope) -> Vec<UrlFolder> {
    let settings = scope.settings();
    // Nearly always, and each request asks.
    if !settings.internal.roots.iter().any(|it| it.writable) {
        return Vec::new();
    }
    let memories = places::places(Sort::Memory, scope, settings).places;
    let writable = memories.into_iter().filter(|it| it.writable);
    let named = writable.filter_map(|place| {
        let Whose::User(real, true) = scope.whose(&place.path) else {
            return None;
        };
        Some(UrlFolder {
            url: format!("memory://{}/", place.name?),
            real,
            most_bytes: None,
            heeds_deny: true,
            writable: true,
        })
    });
    named.collect()
}

/// For a look beside a request, whose own limit is not known there.
fn brief() -> Work {
    Work::new(CancelToken::new(), Duration::from_secs(2))
}

/// What to say to whoever would change a file that is not to be changed by its address.
fn read_only(file: &Path) -> String {
    let file = one_line(&file.to_string_lossy());
    format!("is read-only here; its file is {file}")
}

/// A name and, behind a slash, the part that leads to one of its files.
fn parted(written: &str) -> (&str, Option<&str>) {
    match written.split_once('/') {
        Some((name, file)) => (name, Some(file)),
        None => (written, None),
    }
}

/// Names to suggest where a file is missing in a folder: those beside it.
fn names_beside(scope: &Scope, folder: &Path, file: &str, work: &Work) -> Vec<String> {
    const MOST: usize = 1_000;
    let before = file.rsplit_once('/').map_or("", |(before, _)| before);
    let is_plain = before.split('/').all(|part| part != "..");
    let directory = scope.open(&folder.join(before)).ok().filter(|_| is_plain);
    let listed = directory.and_then(|it| scope.list(&it).ok()?.read(MOST, work).ok());
    let names = listed.map(|listed| listed.entries).unwrap_or_default();
    let below = |name: String| match before.is_empty() {
        true => name,
        false => format!("{before}/{name}"),
    };
    let names = names
        .into_iter()
        .filter_map(|it| it.name.into_string().ok());
    names.map(below).collect()
}

/// What stands in a row between a name and a description: who gives it and where it lies, where that
/// is not simply the user; and that it goes by a name of its own because another has it.
fn provenance(giver: Giver, written: &str, winner: Option<&str>) -> String {
    let of = match (giver, winner) {
        (Giver::Workspace, _) | (_, Some(_)) => format!("{}: {written}", giver.name()),
        (Giver::Settings | Giver::User, None) => return String::new(),
    };
    match winner {
        None => format!("({of})  "),
        Some(winner) => format!("({of}; {winner} is another)  "),
    }
}

/// A file or a folder that somebody gives, opened.
struct Opening<'a> {
    giver: Giver,
    ground: &'a Ground,
    /// What the addresses of a writable folder's files begin with.
    url: Option<&'a str>,
    writable: bool,
}

impl Opening<'_> {
    /// By what its files are opened.
    fn scope(&self, scope: &Scope) -> Scope {
        self.ground
            .scope(scope, self.url.unwrap_or(""), self.writable)
    }

    /// What is at a path on its ground; `None` where nothing is. No refusal says where a link leads.
    fn look(&self, scope: &Scope, path: &Path, spelled: &str) -> Result<Option<Handle>, Refusal> {
        let path_of = || spelled.to_owned();
        match scope.look_at(path) {
            Ok(At::Here(handle)) => Ok(Some(handle)),
            Ok(At::Nothing(_)) => Ok(None),
            Err(Refusal::OutsideWorkspace { .. }) => Err(Refusal::Denied {
                path: path_of(),
                rule: Rule::LinkOut,
            }),
            Err(Refusal::Denied { rule, .. }) => Err(Refusal::Denied {
                path: path_of(),
                rule,
            }),
            Err(refusal) => Err(refusal),
        }
    }

    fn given(&self, scope: Scope, handle: Handle, url: InternalUrl, context: &Scope) -> Given {
        let is_editable = self.writable && handle.file_type() == FileType::Regular;
        let notices = match self.giver {
            Giver::Workspace => {
                let at = one_line(&context.display(handle.real()));
                vec![format!("From the workspace: {at}")]
            }
            Giver::Settings | Giver::User => Vec::new(),
        };
        Given::File(Box::new(GivenFile {
            handle,
            about: About {
                url: Some(url),
                provider: Some(self.giver.name()),
                details: InternalDetails {
                    trusted: self.giver.trusted(),
                    ..InternalDetails::default()
                },
                notices,
                ..About::default()
            },
            scope: Some(Box::new(scope)),
            is_editable,
            is_spooled: false,
            is_text: false,
            held_up_to: None,
            hold: None,
        }))
    }
}
