//! `memory://NS/PATH`: folders of notes that outlive a session, the user's, the workspace's, and those of the settings, which may be writable.

use std::path::PathBuf;

use crate::protocol::read::NamedResource;
use crate::protocol::settings::RootScheme;
use crate::protocol::{Refusal, Settings};
use crate::task::Work;
use crate::workspace::{InternalUrl, Scope, decoded_file_part, encoded};

use super::super::{
    Given, InternalAsk, InternalContext, Listing, Provider, ProviderFacts, one_line,
};
use super::named::{FoundThings, NamedThing};
use super::places::{self, Giver, Sort};
use super::search::{Entered, Search};
use super::{Opening, parted};

/// The provider of the scheme.
pub static MEMORIES: MemoryProvider = MemoryProvider;

/// See the module.
#[derive(Debug)]
pub struct MemoryProvider;

/// What a memory is read by, the first that is there.
const FRONT_FILES: &[&str] = &["MEMORY.md", "memory_summary.md", "README.md"];

/// By which the first memory goes as well.
const ROOT: &str = "root";

/// The memories there are.
pub type Memories = FoundThings<MemoryFolder>;

/// What one is, besides its name.
#[derive(Debug)]
pub struct MemoryFolder {
    folder: PathBuf,
    writable: bool,
}

/// Looks for the folders of the tables.
pub fn search(scope: &Scope, work: &Work) -> Result<Memories, Refusal> {
    let places = places::places(Sort::Memory, scope, scope.settings());
    let mut search = Search::new(scope, work);
    let mut list = Vec::new();
    for place in &places.places {
        let Some(folder) = search.enter(place)?.filter(Entered::is_folder) else {
            continue;
        };
        if !search.is_new(&folder) {
            continue;
        }
        let memory = MemoryFolder {
            folder: folder.path().to_owned(),
            writable: folder.writable && folder.giver != Giver::Workspace,
        };
        list.push(NamedThing::new(
            &folder,
            place.name.clone().unwrap_or_default(),
            memory,
        ));
    }
    Ok(FoundThings::new(list, places, search).0)
}

impl NamedThing<MemoryFolder> {
    fn winner(&self) -> Option<String> {
        self.is_shadowed.then(|| format!("memory://{}", self.name))
    }

    fn resource(&self) -> NamedResource {
        NamedResource {
            uri: format!("memory://{}", self.address),
            name: self.name.clone(),
            provider: self.giver.name(),
            path: Some(self.thing.folder.to_string_lossy().into_owned()),
            shadowed_by: self.winner(),
            ..NamedResource::default()
        }
    }

    /// Its name, and where it lies.
    fn row(&self) -> Vec<String> {
        let written = one_line(&self.written);
        let mut at = match self.giver {
            Giver::Workspace => format!("workspace: {written}"),
            Giver::Settings | Giver::User => written,
        };
        if let Some(winner) = self.winner() {
            at.push_str(&format!("; {winner} is another"));
        }
        if self.thing.writable {
            at.push_str("; writable");
        }
        vec![self.address.clone(), format!("({at})")]
    }
}

impl Memories {
    /// The first goes by [`ROOT`] as well.
    fn named_or_root(&self, name: &str) -> Option<&NamedThing<MemoryFolder>> {
        let root = || self.list.first().filter(|_| name == ROOT);
        self.named(name).or_else(root)
    }

    fn listing(&self) -> Given {
        if self.list.is_empty() {
            return Given::text(&format!("No memories in {}\n", self.places.join(", ")));
        }
        Given::List(Listing {
            rows: self
                .list
                .iter()
                .map(NamedThing::<MemoryFolder>::row)
                .collect(),
            resources: self
                .list
                .iter()
                .map(NamedThing::<MemoryFolder>::resource)
                .collect(),
            footer: Some("memory://NS reads one, memory://NS/ lists its files".to_owned()),
            ..Listing::default()
        })
    }
}

impl MemoryProvider {
    fn opened(
        &self,
        memory: &NamedThing<MemoryFolder>,
        file: Option<&str>,
        context: &InternalContext,
    ) -> Result<Option<Given>, Refusal> {
        let base = format!("memory://{}/", memory.address);
        let opening = Opening {
            giver: memory.giver,
            ground: &memory.ground,
            url: Some(&base),
            writable: memory.thing.writable,
        };
        let scope = opening.scope(context.scope);
        let below = file.map(decoded_file_part).transpose()?;
        let tried: Vec<&str> = match &below {
            Some(below) => vec![below],
            None => FRONT_FILES.iter().copied().chain([""]).collect(),
        };
        for below in tried {
            let url = format!("{}/{}", memory.address, encoded(below));
            let path = match below.is_empty() {
                true => memory.thing.folder.clone(),
                false => memory.thing.folder.join(below),
            };
            if let Some(handle) = opening.look(&scope, &path, &format!("{base}{below}"))? {
                let url = InternalUrl::new("memory", &url);
                return Ok(Some(opening.given(scope, handle, url, context.scope)));
            }
        }
        Ok(None)
    }
}

impl Provider for MemoryProvider {
    fn facts(&self) -> &'static ProviderFacts {
        &ProviderFacts {
            name: "user",
            what: "a memory",
            form: "NS",
            ..ProviderFacts::DEFAULT
        }
    }

    fn is_on(&self, settings: &Settings) -> bool {
        super::may_have(settings, RootScheme::Memory)
    }

    fn get(&self, ask: &InternalAsk, context: &InternalContext) -> Result<Option<Given>, Refusal> {
        let memories = search(context.scope, context.work)?;
        if ask.written.is_empty() {
            return Ok(Some(memories.listing()));
        }
        let (_, file) = parted(ask.written);
        let (name, _) = parted(ask.name);
        match memories.named_or_root(name) {
            Some(memory) => self.opened(memory, file, context),
            None => Ok(None),
        }
    }

    fn names_like(&self, asked: &str, context: &InternalContext) -> Vec<String> {
        let memories = search(context.scope, context.work).unwrap_or_default();
        let (name, file) = parted(asked);
        match (memories.named_or_root(name), file) {
            (Some(memory), Some(file)) => {
                let scope = memory.ground.scope(context.scope, "", false);
                let names = super::names_beside(&scope, &memory.thing.folder, file, context.work);
                let named = |it: String| format!("{}/{it}", memory.address);
                names.into_iter().map(named).collect()
            }
            _ => memories.addresses(),
        }
    }

    fn instead_of_change(&self, written: &str, scope: &Scope) -> String {
        let memories = search(scope, &super::brief()).unwrap_or_default();
        let (name, file) = parted(written);
        match memories.named_or_root(name) {
            Some(memory) => {
                let file = file.filter(|file| !file.is_empty());
                let file = file.unwrap_or(FRONT_FILES[0]);
                super::read_only(&std::path::Path::new(&memory.written).join(file))
            }
            None => "is in no memory that is there; the setting internal.roots names folders that can be written, and they must be there".to_owned(),
        }
    }
}
