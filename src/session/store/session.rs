//! One session's store: what it has by key, what it had, and where it lies. Nothing here waits for the disk but finding one again.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::protocol::Refusal;
use crate::protocol::settings::Artifacts;
use crate::workspace::UrlFolder;

use super::artifact::{Artifact, unwritten};
use super::kept_on::{Record, SessionRecord};
use super::places::{self, LockedDirectory};
use super::{LOCAL, LOCAL_URL, Lookup};

/// Numbers of which it is remembered why they went; of older ones it is said that they did.
const MAX_REMEMBERED: usize = 1024;

/// By what an artifact is named.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    Number(u64),
    /// An agent's answer, by the agent's id.
    Agent(String),
}

impl Key {
    pub fn url(&self) -> String {
        match self {
            Key::Number(number) => format!("artifact://{number}"),
            Key::Agent(id) => format!("agent://{id}"),
        }
    }
}

/// Which limit something had to go for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eviction {
    Session,
    Total,
    /// There were so many in its session.
    Count(u64),
}

impl Eviction {
    fn in_words(self, limits: &Artifacts) -> String {
        match self {
            Eviction::Session => format!("{} for a session", in_words(limits.session_bytes)),
            Eviction::Total => format!("{} for all sessions", in_words(limits.total_bytes)),
            Eviction::Count(most) => format!("{most} artifacts for a session"),
        }
    }
}

#[derive(Debug)]
struct StoredItem {
    artifact: Arc<Artifact>,
    age: u64,
}

#[derive(Debug)]
pub(super) struct SessionStore {
    directory: PathBuf,
    /// Of one that outlives the process.
    lock: Option<LockedDirectory>,
    numbers: BTreeMap<u64, StoredItem>,
    agents: BTreeMap<String, StoredItem>,
    next: u64,
    next_agent: u64,
    went: BTreeMap<u64, Eviction>,
    /// There is a folder of scratch files.
    pub(super) has_local: bool,
    /// By the hash of a text that was cut, the number of the whole.
    pub(super) spilled: HashMap<u128, u64>,
}

impl SessionStore {
    pub(super) fn in_directory(directory: PathBuf) -> SessionStore {
        SessionStore {
            directory,
            lock: None,
            numbers: BTreeMap::new(),
            agents: BTreeMap::new(),
            next: 1,
            next_agent: 1,
            went: BTreeMap::new(),
            has_local: false,
            spilled: HashMap::new(),
        }
    }

    /// One that outlives the process, with what is in it.
    pub(super) fn lasting(root: &Path, session: &str) -> Result<SessionStore, Refusal> {
        let Some(lock) = places::of_session(root, session).map_err(unwritten)? else {
            return Err(Refusal::Busy {
                message: "Another daemon has the store of this session.".to_owned(),
            });
        };
        let mut store = SessionStore::in_directory(lock.path.clone());
        store.lock = Some(lock);
        let record = SessionRecord::read(&store.directory);
        store.next = record.map_or(1, |record| record.next);
        store.has_local = store.directory.join(LOCAL).is_dir();
        store.find_files().map_err(unwritten)?;
        let record = SessionRecord {
            session: session.to_owned(),
            next: store.next,
        };
        record.write(&store.directory).map_err(unwritten)?;
        Ok(store)
    }

    fn find_files(&mut self) -> std::io::Result<()> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.directory)?.flatten() {
            let path = entry.path();
            if let Some(record) = Record::read(&path) {
                found.push((record.written_at(), path, record));
            }
        }
        found.sort_by_key(|(at, ..)| *at);
        for (age, (_, path, record)) in found.into_iter().enumerate() {
            let stem = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let Ok(artifact) = Artifact::found(path, &record) else {
                continue;
            };
            let entry = StoredItem {
                artifact: Arc::new(artifact),
                age: age as u64,
            };
            match (record.agent, stem.parse::<u64>()) {
                (Some(agent), _) => {
                    let number = stem.trim_start_matches("agent-").parse().unwrap_or(0);
                    self.next_agent = self.next_agent.max(number + 1);
                    self.agents.insert(agent, entry);
                }
                (None, Ok(number)) => {
                    self.next = self.next.max(number + 1);
                    self.numbers.insert(number, entry);
                }
                (None, Err(_)) => {}
            }
        }
        Ok(())
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn is_lasting(&self) -> bool {
        self.lock.is_some()
    }

    /// What is to be written down of it, and where, where it outlives the process.
    pub(super) fn record(&self, session: &str) -> Option<(PathBuf, SessionRecord)> {
        let record = SessionRecord {
            session: session.to_owned(),
            next: self.next,
        };
        self.is_lasting().then(|| (self.directory.clone(), record))
    }

    pub(super) fn local_folder(&self, is_own: bool) -> Option<UrlFolder> {
        self.has_local.then(|| UrlFolder {
            url: LOCAL_URL.to_owned(),
            real: self.directory.join(LOCAL),
            heeds_deny: false,
            writable: is_own,
            most_bytes: None,
        })
    }

    pub(super) fn count(&self) -> usize {
        self.numbers.len() + self.agents.len()
    }

    pub(super) fn artifact_bytes(&self) -> u64 {
        self.entries().map(|it| it.artifact.facts().weight).sum()
    }

    fn entries(&self) -> impl Iterator<Item = &StoredItem> {
        self.numbers.values().chain(self.agents.values())
    }

    /// All, numbers first, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = (Key, Arc<Artifact>)> {
        let numbers = self.numbers.iter();
        let numbers = numbers.map(|(number, it)| (Key::Number(*number), it.artifact.clone()));
        let agents = self.agents.iter();
        let agents = agents.map(|(id, it)| (Key::Agent(id.clone()), it.artifact.clone()));
        numbers.chain(agents)
    }

    pub(super) fn look(&self, key: &Key, limits: &Artifacts) -> Lookup {
        let number = match key {
            Key::Agent(id) => {
                let entry = self.agents.get(id);
                return entry.map_or(Lookup::Never, |it| Lookup::Found(it.artifact.clone()));
            }
            Key::Number(number) => *number,
        };
        if let Some(entry) = self.numbers.get(&number) {
            return Lookup::Found(entry.artifact.clone());
        }
        match self.went.get(&number) {
            Some(why) => Lookup::Dropped(why.in_words(limits)),
            None if (1..self.next).contains(&number) => {
                Lookup::Dropped(Eviction::Session.in_words(limits))
            }
            None => Lookup::Never,
        }
    }

    /// The number of the whole of a text that was cut, while that is there.
    pub(super) fn spilled(&self, hash: u128) -> Option<u64> {
        let number = self.spilled.get(&hash).copied();
        number.filter(|number| self.numbers.contains_key(number))
    }

    pub(super) fn next_number(&mut self, is_agent: bool) -> u64 {
        let next = match is_agent {
            true => &mut self.next_agent,
            false => &mut self.next,
        };
        *next += 1;
        *next - 1
    }

    /// What was there before.
    pub(super) fn enter(
        &mut self,
        key: Key,
        artifact: Arc<Artifact>,
        age: u64,
    ) -> Option<Arc<Artifact>> {
        let entry = StoredItem { artifact, age };
        let before = match key {
            Key::Number(number) => self.numbers.insert(number, entry),
            Key::Agent(id) => self.agents.insert(id, entry),
        };
        before.map(|it| it.artifact)
    }

    pub(super) fn touch(&mut self, key: &Key, age: u64) {
        let entry = match key {
            Key::Number(number) => self.numbers.get_mut(number),
            Key::Agent(id) => self.agents.get_mut(id),
        };
        if let Some(entry) = entry {
            entry.age = age;
        }
    }

    /// What is to go first, but not `kept`: what was spilled, then the oldest.
    pub(super) fn oldest(&self, kept: Option<&Arc<Artifact>>) -> Option<(bool, u64, Key)> {
        let is_kept = |it: &StoredItem| kept.is_some_and(|kept| Arc::ptr_eq(kept, &it.artifact));
        let numbers = self
            .numbers
            .iter()
            .map(|(number, it)| (Key::Number(*number), it));
        let agents = self
            .agents
            .iter()
            .map(|(id, it)| (Key::Agent(id.clone()), it));
        let all = numbers.chain(agents).filter(|(_, it)| !is_kept(it));
        let ranked = all.map(|(key, it)| (!it.artifact.label.is_spilled, it.age, key));
        ranked.min_by_key(|(is_put, age, _)| (*is_put, *age))
    }

    /// Takes it out, and remembers why.
    pub(super) fn take(&mut self, key: &Key, why: Eviction) -> Option<Arc<Artifact>> {
        let taken = match key {
            Key::Agent(id) => self.agents.remove(id),
            Key::Number(number) => {
                self.went.insert(*number, why);
                if self.went.len() > MAX_REMEMBERED {
                    self.went.pop_first();
                }
                self.spilled.retain(|_, it| it != number);
                self.numbers.remove(number)
            }
        };
        taken.map(|it| it.artifact)
    }
}

/// `256 MiB`; bytes where it is not a whole number of those.
pub fn in_words(bytes: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    match bytes {
        0 => "0 bytes".to_owned(),
        _ if bytes.is_multiple_of(1024 * MIB) => format!("{} GiB", bytes / (1024 * MIB)),
        _ if bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        _ => format!("{bytes} bytes"),
    }
}
