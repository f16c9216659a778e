//! `memory://NS/PATH`: folders of notes that outlive a session, the user's, the workspace's, and those of the settings, which may be writable.

use std::path::PathBuf;

use crate::protocol::read::NamedResource;
use crate::protocol::settings::RootScheme;
use crate::protocol::{Refusal, Settings};
use crate::task::Work;
use crate::workspace::{InternalUrl, Scope, decoded_file_part, encoded};

use super::super::{Given, InternalAsk, InternalContext, Listing, Provider, one_line};
use super::places::{self, Giver, Sort};
use super::search::{Entered, Ground, Search};
use super::{Opening, Shadowed, address, parted, shadowed};

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
#[derive(Debug, Default)]
pub struct Memories {
    pub list: Vec<MemoryFile>,
    pub problems: Vec<String>,
    pub shadowed: usize,
    places: Vec<String>,
}

/// One of them.
#[derive(Debug)]
pub struct MemoryFile {
    giver: Giver,
    name: String,
    address: String,
    shadowed: Shadowed,
    folder: PathBuf,
    written: String,
    ground: Ground,
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
        list.push(MemoryFile {
            giver: folder.giver,
            name: place.name.clone().unwrap_or_default(),
            address: String::new(),
            shadowed: Shadowed::No,
            folder: folder.path().to_owned(),
            writable: folder.writable && folder.giver != Giver::Workspace,
            written: folder.written,
            ground: folder.ground,
        });
    }
    list.sort_by_key(|memory| memory.giver);
    let shadows = shadowed(list.iter().map(|it| (it.giver, &*it.name)));
    let found = list.len();
    let mut memories = Vec::with_capacity(found);
    for (mut memory, shadowed) in list.into_iter().zip(shadows) {
        if shadowed != Shadowed::Lost {
            memory.address = address(memory.giver, &memory.name, shadowed);
            memory.shadowed = shadowed;
            memories.push(memory);
        }
    }
    let plain = memories.iter().filter(|it| it.shadowed == Shadowed::No);
    let shadowed = found - plain.count();
    let (mut problems, _) = search.end();
    problems.extend(places.problems);
    Ok(Memories {
        list: memories,
        problems,
        shadowed,
        places: places.places.into_iter().map(|it| it.written).collect(),
    })
}

impl MemoryFile {
    fn winner(&self) -> Option<String> {
        (self.shadowed != Shadowed::No).then(|| format!("memory://{}", self.name))
    }

    fn resource(&self) -> NamedResource {
        NamedResource {
            uri: format!("memory://{}", self.address),
            name: self.name.clone(),
            provider: self.giver.name(),
            path: Some(self.folder.to_string_lossy().into_owned()),
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
        if self.writable {
            at.push_str("; writable");
        }
        vec![self.address.clone(), format!("({at})")]
    }
}

impl Memories {
    fn named(&self, name: &str) -> Option<&MemoryFile> {
        let (giver, plain) = Giver::parted(name);
        let mut memories = self.list.iter();
        let named = memories.find(|it| match giver {
            Some(giver) => it.giver == giver && it.name == plain,
            None => it.shadowed == Shadowed::No && it.name == plain,
        });
        named.or_else(|| self.list.first().filter(|_| name == ROOT))
    }

    fn listing(&self) -> Given {
        if self.list.is_empty() {
            return Given::text(&format!("No memories in {}\n", self.places.join(", ")));
        }
        Given::List(Listing {
            rows: self.list.iter().map(MemoryFile::row).collect(),
            resources: self.list.iter().map(MemoryFile::resource).collect(),
            footer: Some("memory://NS reads one, memory://NS/ lists its files".to_owned()),
            ..Listing::default()
        })
    }
}

impl MemoryProvider {
    fn opened(
        &self,
        memory: &MemoryFile,
        file: Option<&str>,
        context: &InternalContext,
    ) -> Result<Option<Given>, Refusal> {
        let base = format!("memory://{}/", memory.address);
        let opening = Opening {
            giver: memory.giver,
            ground: &memory.ground,
            url: Some(&base),
            writable: memory.writable,
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
                true => memory.folder.clone(),
                false => memory.folder.join(below),
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
    fn name(&self) -> &'static str {
        "user"
    }

    fn what(&self) -> &'static str {
        "a memory"
    }

    fn form(&self) -> &'static str {
        "NS"
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
        match memories.named(name) {
            Some(memory) => self.opened(memory, file, context),
            None => Ok(None),
        }
    }

    fn names_like(&self, asked: &str, context: &InternalContext) -> Vec<String> {
        let memories = search(context.scope, context.work).unwrap_or_default();
        let (name, file) = parted(asked);
        match (memories.named(name), file) {
            (Some(memory), Some(file)) => {
                let scope = memory.ground.scope(context.scope, "", false);
                let names = super::names_beside(&scope, &memory.folder, file, context.work);
                let named = |it: String| format!("{}/{it}", memory.address);
                names.into_iter().map(named).collect()
            }
            _ => memories.list.iter().map(|it| it.address.clone()).collect(),
        }
    }

    fn instead_of_change(&self, written: &str, scope: &Scope) -> String {
        let memories = search(scope, &super::brief()).unwrap_or_default();
        let (name, file) = parted(written);
        match memories.named(name) {
            Some(memory) => {
                let file = file.filter(|file| !file.is_empty());
                let file = file.unwrap_or(FRONT_FILES[0]);
                super::read_only(&std::path::Path::new(&memory.written).join(file))
            }
            None => "is in no memory that is there; the setting internal.roots names folders that can be written, and they must be there".to_owned(),
        }
    }
}
