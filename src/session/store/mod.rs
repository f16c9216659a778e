//! What sessions have of their own: artifacts, agents' answers and scratch files, kept on disk for as long as the session.
//!
//! A session sees its own store, and those of the sessions that its name begins with (`A/b` sees `A`'s).
//! Numbers begin at 1 in each and are never given twice. What goes over a sum makes the oldest go, what
//! was spilled before what was put; it is said of what went that it did. Nothing of the file system is
//! done under the lock of the table.

mod artifact;
mod artifact_lock;
mod kept_on;
mod kinds;
mod places;
mod room;
mod session;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::protocol::Refusal;
use crate::protocol::settings::Artifacts;
use crate::protocol::status::ArtifactsStatus;
use crate::task::Work;
use crate::text::Text;
use crate::workspace::UrlFolder;

pub use artifact::{Artifact, Label, Material};
pub use session::Key;
pub use session::in_words;

use super::children::{is_below, with_those_above};
use super::kept::hash_of;
use artifact::unwritten;
use places::LockedDirectory;
use session::SessionStore;

/// The folder of a session's scratch files, in its directory.
const LOCAL: &str = "local";
/// What the addresses of those begin with.
const LOCAL_URL: &str = "local://";

/// The stores of all sessions of this process.
#[derive(Debug)]
pub struct Stores {
    /// Where this process has its directory; `None` where it is to have none.
    root: Option<PathBuf>,
    table: Mutex<SessionTable>,
    /// One at a time makes or finds the directory of a session.
    making: Mutex<()>,
}

#[derive(Debug, Default)]
struct SessionTable {
    limits: Artifacts,
    /// Where stores are kept that outlive the process.
    lasting: Option<PathBuf>,
    own: Option<Arc<LockedDirectory>>,
    sessions: HashMap<String, SessionStore>,
    /// Directories of sessions that were made so far.
    made: u64,
    /// Tells what is older.
    clock: u64,
    /// Bytes that are being written.
    reserved: u64,
}

/// What a session is looked up by.
#[derive(Debug, Clone)]
pub enum Lookup {
    Found(Arc<Artifact>),
    /// It was there; which limit it went for.
    Dropped(String),
    Never,
}

/// What came of putting something there.
#[derive(Debug)]
pub struct PutArtifact {
    pub key: Key,
    pub artifact: Arc<Artifact>,
    /// What went for it, or was left out of it.
    pub dropped: Vec<String>,
}

impl Stores {
    /// Below this directory. Does no I/O before something is put there.
    pub fn new(root: Option<PathBuf>) -> Stores {
        Stores {
            root,
            table: Mutex::default(),
            making: Mutex::default(),
        }
    }

    /// Whether this process has sessions with stores at all.
    pub fn is_on(&self) -> bool {
        self.root.is_some()
    }

    /// Takes over what settings say.
    pub fn heed(&self, limits: Artifacts, lasting: Option<PathBuf>) {
        let mut table = self.table.lock();
        table.limits = limits;
        table.lasting = lasting;
    }

    /// What all hold together.
    pub fn status(&self) -> ArtifactsStatus {
        let table = self.table.lock();
        ArtifactsStatus {
            count: table.sessions.values().map(SessionStore::count).sum(),
            bytes: table.bytes(),
            budget_bytes: table.limits.total_bytes,
        }
    }

    /// The folders of a session whose files have addresses: its own, which it may change, and those
    /// of the sessions above it.
    pub fn folders(&self, session: &str) -> Vec<UrlFolder> {
        let table = self.table.lock();
        let mut folders = Vec::new();
        for name in with_those_above(session) {
            if let Some(store) = table.sessions.get(name) {
                folders.extend(store.local_folder(name == session));
            }
        }
        folders
    }

    /// As [`Stores::folders`], its own alone, which is made where it is not there.
    pub fn folder_to_write(&self, session: &str) -> Result<Option<UrlFolder>, Refusal> {
        if !self.is_on() {
            return Ok(None);
        }
        let local = self.directory(session)?.join(LOCAL);
        places::private_directory(&local).map_err(unwritten)?;
        let limits = self.table.lock().limits;
        let mut table = self.table.lock();
        let Some(store) = table.sessions.get_mut(session) else {
            return Ok(None);
        };
        store.has_local = true;
        let room = limits.session_bytes.saturating_sub(store.artifact_bytes());
        let folder = store.local_folder(true);
        Ok(folder.map(|folder| UrlFolder {
            most_bytes: Some(room),
            ..folder
        }))
    }

    /// The folder, of whatever session, that a path is in.
    pub fn folder_over(&self, path: &Path) -> Option<UrlFolder> {
        let table = self.table.lock();
        let mut folders = table
            .sessions
            .values()
            .filter_map(|it| it.local_folder(true));
        folders.find(|folder| path.starts_with(&folder.real))
    }

    /// Finds the stores of a session and of those above it that an earlier process left. Blocking.
    ///
    /// # Errors
    ///
    /// `busy` where another process has one of them.
    pub fn find_again(&self, session: &str) -> Result<(), Refusal> {
        let Some(lasting) = self.table.lock().lasting.clone() else {
            return Ok(());
        };
        for name in with_those_above(session) {
            let is_known = self.table.lock().sessions.contains_key(name);
            if !is_known && places::lasting_place(&lasting, name).is_dir() {
                self.directory(name)?;
            }
        }
        Ok(())
    }

    /// What a session, or one above it, has under this key; its own first.
    pub fn look(&self, session: &str, key: &Key) -> Lookup {
        let table = self.table.lock();
        for name in with_those_above(session) {
            let Some(store) = table.sessions.get(name) else {
                continue;
            };
            match store.look(key, &table.limits) {
                Lookup::Never => {}
                found => return found,
            }
        }
        Lookup::Never
    }

    /// All that a session has, its own first, each under the key by which it gets it.
    pub fn list(&self, session: &str) -> Vec<(Key, Arc<Artifact>)> {
        let table = self.table.lock();
        let mut all: Vec<(Key, Arc<Artifact>)> = Vec::new();
        for name in with_those_above(session) {
            let Some(store) = table.sessions.get(name) else {
                continue;
            };
            let is_new = |key: &Key| all.iter().all(|(known, _)| known != key);
            let more = store
                .all()
                .filter(|(key, _)| is_new(key) && !table.is_hidden(session, name, key));
            let more: Vec<_> = more.collect();
            all.extend(more);
        }
        all
    }

    /// Puts something there, as the next artifact or in the place of an agent's answer. Blocking.
    ///
    /// # Errors
    ///
    /// `tooLarge` for what has no room, `write` for what cannot be written, `busy` where another
    /// process has the store.
    pub fn put(
        &self,
        session: &str,
        agent: Option<&str>,
        label: Label,
        ending: Option<&str>,
        material: &Material,
        work: &Work,
    ) -> Result<PutArtifact, Refusal> {
        let directory = self.directory(session)?;
        let ending = ending.and_then(kinds::ending_of_name);
        let ending = match label.mime_type.as_deref() {
            Some(mime_type) => kinds::ending_of_type(mime_type),
            None => ending.unwrap_or(kinds::TEXT),
        };
        let factor = if label.is_terminal { 2 } else { 1 };
        let room = self.make_room(session, material.bytes(), factor, None)?;
        let (key, stem) = self.next_key(session, agent)?;
        let path = directory.join(format!("{stem}.{}", kinds::known(ending)));
        let limit = room.limits.max_bytes;
        let artifact = Arc::new(Artifact::write(path, label, material, limit, work)?);
        self.remember(session, &key, &artifact)?;
        let replaced = self.enter(session, key.clone(), &artifact);
        if let Some(replaced) = replaced {
            replaced.remove();
        }
        Ok(PutArtifact {
            key,
            artifact,
            dropped: room.dropped,
        })
    }

    /// Adds to what is there. Of what would go over the limit of one the head is kept.
    pub fn append(
        &self,
        session: &str,
        key: &Key,
        mut material: Material,
        work: &Work,
    ) -> Result<PutArtifact, Refusal> {
        let Lookup::Found(artifact) = self.look_own(session, key) else {
            return Err(Refusal::Internal);
        };
        let limits = self.table.lock().limits;
        let came = artifact.facts().came;
        let left = limits.max_bytes.saturating_sub(came);
        let mut lost = None;
        if material.bytes() > left {
            if let Material::Copy(_) = material {
                return Err(room::too_large(key, &limits));
            }
            let whole = material.bytes();
            material.keep_head(left);
            lost = Some(room::lost(key, whole - material.bytes(), &limits));
        }
        let factor = if artifact.label.is_terminal { 2 } else { 1 };
        let mut room = self.make_room(session, material.bytes(), factor, Some(&artifact))?;
        artifact.append(&material, limits.max_bytes, work)?;
        self.touch(session, key);
        room.dropped.extend(lost);
        Ok(PutArtifact {
            key: key.clone(),
            artifact,
            dropped: room.dropped,
        })
    }

    /// What this session itself has under this key.
    pub fn look_own(&self, session: &str, key: &Key) -> Lookup {
        let table = self.table.lock();
        match table.sessions.get(session) {
            None => Lookup::Never,
            Some(store) => store.look(key, &table.limits),
        }
    }

    /// Keeps the whole of a text that was cut, once, and says under which number. What cannot be kept
    /// is not. Blocking.
    pub fn spill(
        &self,
        session: &str,
        title: Option<String>,
        text: &Text,
        work: &Work,
    ) -> Option<u64> {
        let hash = hash_of(text);
        let known = {
            let table = self.table.lock();
            let store = table.sessions.get(session);
            store.and_then(|store| store.spilled(hash))
        };
        if known.is_some() || !self.is_on() {
            return known;
        }
        let label = Label {
            title,
            mime_type: None,
            is_terminal: false,
            is_text: true,
            is_spilled: true,
        };
        let material = Material::Text(text.chunks().collect());
        let put = self.put(session, None, label, None, &material, work);
        let number = match put
            .inspect_err(|error| tracing::warn!(%error, "not kept"))
            .ok()?
            .key
        {
            Key::Number(number) => number,
            Key::Agent(_) => return None,
        };
        let mut table = self.table.lock();
        let store = table.sessions.get_mut(session)?;
        store.spilled.insert(hash, number);
        Some(number)
    }

    /// Deletes the store of a session and those of its children. Blocking.
    pub fn close(&self, session: &str) {
        let _making = self.making.lock();
        let is_it = |name: &str| is_below(name, session);
        let (closed, lasting): (Vec<SessionStore>, _) = {
            let mut table = self.table.lock();
            let names: Vec<String> = table
                .sessions
                .keys()
                .filter(|it| is_it(it))
                .cloned()
                .collect();
            let closed = names.iter().filter_map(|name| table.sessions.remove(name));
            (closed.collect(), table.lasting.clone())
        };
        for store in &closed {
            places::remove(store.directory());
        }
        drop(closed);
        if let Some(lasting) = lasting {
            remove_lasting(&lasting, session);
        }
    }

    /// Removes what dead processes left. Blocking.
    pub fn remove_abandoned(&self) {
        if let Some(root) = &self.root {
            places::remove_abandoned(root);
        }
    }

    /// Removes this process' own directory: the process ends.
    pub fn remove(&self) {
        let own = {
            let mut table = self.table.lock();
            table.sessions.clear();
            table.own.take()
        };
        if let Some(own) = own {
            places::remove(&own.path);
        }
    }

    /// The directory of a session, which is made where it has none.
    fn directory(&self, session: &str) -> Result<PathBuf, Refusal> {
        let known = |table: &SessionTable| {
            let store = table.sessions.get(session);
            store.map(|store| store.directory().to_path_buf())
        };
        if let Some(known) = known(&self.table.lock()) {
            return Ok(known);
        }
        let _making = self.making.lock();
        let lasting = {
            let table = self.table.lock();
            if let Some(known) = known(&table) {
                return Ok(known);
            }
            table.lasting.clone()
        };
        let store = match lasting {
            Some(lasting) => SessionStore::lasting(&lasting, session)?,
            None => self.of_this_process()?,
        };
        let directory = store.directory().to_path_buf();
        let mut table = self.table.lock();
        table.sessions.insert(session.to_owned(), store);
        Ok(directory)
    }

    fn of_this_process(&self) -> Result<SessionStore, Refusal> {
        let root = self.root.as_deref().ok_or(Refusal::Internal)?;
        let own = self.table.lock().own.clone();
        let own = match own {
            // Somebody may have tidied up behind our back.
            Some(own) if own.path.is_dir() => own,
            _ => Arc::new(places::of_process(root).map_err(unwritten)?),
        };
        let number = {
            let mut table = self.table.lock();
            table.own = Some(own.clone());
            table.made += 1;
            table.made
        };
        let directory = own.path.join(number.to_string());
        places::make(&directory).map_err(unwritten)?;
        Ok(SessionStore::in_directory(directory))
    }

    /// The key of what is put there, and what its file is called.
    fn next_key(&self, session: &str, agent: Option<&str>) -> Result<(Key, String), Refusal> {
        let (key, stem, record) = {
            let mut table = self.table.lock();
            let store = table.sessions.get_mut(session).ok_or(Refusal::Internal)?;
            let number = store.next_number(agent.is_some());
            match agent {
                Some(id) => (
                    Key::Agent(id.to_owned()),
                    format!("agent-{number}"),
                    store.record(session),
                ),
                None => (
                    Key::Number(number),
                    number.to_string(),
                    store.record(session),
                ),
            }
        };
        if let Some((directory, record)) = record {
            record.write(&directory).map_err(unwritten)?;
        }
        Ok((key, stem))
    }

    /// Writes down what it takes to find it again, where the store outlives the process.
    fn remember(&self, session: &str, key: &Key, artifact: &Artifact) -> Result<(), Refusal> {
        let is_lasting = {
            let table = self.table.lock();
            table
                .sessions
                .get(session)
                .is_some_and(SessionStore::is_lasting)
        };
        if !is_lasting {
            return Ok(());
        }
        let agent = match key {
            Key::Agent(id) => Some(id.as_str()),
            Key::Number(_) => None,
        };
        let record = artifact.record(agent);
        record.write(&artifact.path).map_err(unwritten)
    }

    /// Enters it in the table; what was there before.
    fn enter(&self, session: &str, key: Key, artifact: &Arc<Artifact>) -> Option<Arc<Artifact>> {
        let mut table = self.table.lock();
        table.clock += 1;
        let age = table.clock;
        let store = table.sessions.get_mut(session)?;
        store.enter(key, artifact.clone(), age)
    }

    /// It was written just now.
    fn touch(&self, session: &str, key: &Key) {
        let mut table = self.table.lock();
        table.clock += 1;
        let age = table.clock;
        if let Some(store) = table.sessions.get_mut(session) {
            store.touch(key, age);
        }
    }
}

impl SessionTable {
    fn bytes(&self) -> u64 {
        self.sessions
            .values()
            .map(SessionStore::artifact_bytes)
            .sum()
    }

    /// Whether a nearer session once gave that number: then it is what the number means.
    fn is_hidden(&self, session: &str, owner: &str, key: &Key) -> bool {
        let nearer = with_those_above(session).take_while(|name| *name != owner);
        let mut stores = nearer.filter_map(|name| self.sessions.get(name));
        stores.any(|store| !matches!(store.look(key, &self.limits), Lookup::Never))
    }
}

/// Removes lasting stores of a session and its children that this process has not opened.
fn remove_lasting(root: &Path, session: &str) {
    let Ok(entries) = std::fs::read_dir(root) else {
        return;
    };
    for entry in entries.flatten() {
        let record = kept_on::SessionRecord::read(&entry.path());
        if record.is_some_and(|it| is_below(&it.session, session)) {
            places::remove_if_free(&entry.path());
        }
    }
}
