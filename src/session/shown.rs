//! Sessions and the lines shown to each; what one session was shown never counts for another.

mod moved;

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::Mutex;

use crate::hashline::line_map::Carried;
use crate::hashline::{LineMap, Tag};
use crate::protocol::status::MemoryUse;
use crate::view::LineSet;

use super::children::is_below;
use super::notice::{Actor, Notice};
use super::versions::{Current, Document, MovedTo, Recorded, Snapshots, Version};

/// What a tag names.
#[derive(Debug, Clone)]
pub enum Meaning {
    /// That version and those after it, in order.
    Held(Vec<Version>),
    /// A version that is no longer held.
    Expired,
    /// What was here before its file was moved, by us.
    Moved(MovedTo),
    /// Nothing that was ever given out for this document, as far as is remembered.
    Unknown,
}

/// Live sessions; the one unused for longest goes first.
pub const MAX_SESSIONS: usize = 256;

/// The sessions and the snapshots they share.
#[derive(Debug)]
pub struct Sessions {
    inner: Mutex<ShownTable>,
}

#[derive(Debug)]
struct ShownTable {
    snapshots: Snapshots,
    sessions: HashMap<String, Session>,
    /// Counts uses, to know which session was unused for longest.
    clock: u64,
}

#[derive(Debug, Default)]
struct Session {
    used_at: u64,
    /// By document and content of the version.
    shown: HashMap<(Document, u128), LineSet>,
    /// What was shown of each document, carried to the newest version this session was told of.
    carried: HashMap<Document, CarriedLines>,
}

/// Lines shown to a session, under the numbers of one version.
#[derive(Debug, Clone)]
struct CarriedLines {
    content: u128,
    tag: Tag,
    lines: LineSet,
    /// The path as the session knows it.
    path: String,
}

impl Sessions {
    /// Holds at most `budget` bytes of snapshots.
    pub fn new(budget: u64) -> Sessions {
        Sessions {
            inner: Mutex::new(ShownTable {
                snapshots: Snapshots::new(budget),
                sessions: HashMap::new(),
                clock: 0,
            }),
        }
    }

    pub fn set_budget(&self, budget: u64) {
        let mut inner = self.inner.lock();
        let gone = inner.snapshots.set_budget(budget, Instant::now());
        inner.forget(&gone);
    }

    /// Names what a document holds now, without showing any of it, and tells which sessions were
    /// shown lines of it that have changed.
    pub fn record(
        &self,
        document: &Document,
        current: &Current,
        actor: &Actor,
    ) -> (Version, Vec<Notice>) {
        self.record_as(document, actor, |snapshots, now| {
            snapshots.record(document, current, now)
        })
    }

    /// Names what an edit of ours made of the version `before`, by a map that is exact; tells as
    /// [`Sessions::record`] does.
    pub fn record_edit(
        &self,
        document: &Document,
        before: &Version,
        map: LineMap,
        after: &Current,
        actor: &Actor,
    ) -> (Version, Vec<Notice>) {
        self.record_as(document, actor, |snapshots, now| {
            snapshots.record_edit(document, before.content, map, after, now)
        })
    }

    fn record_as(
        &self,
        document: &Document,
        actor: &Actor,
        record: impl FnOnce(&mut Snapshots, Instant) -> Recorded,
    ) -> (Version, Vec<Notice>) {
        let (version, behind) = {
            let mut inner = self.inner.lock();
            let recorded = record(&mut inner.snapshots, Instant::now());
            inner.forget(&recorded.gone);
            let behind = match recorded.late {
                true => Vec::new(),
                false => inner.versions_behind(document, recorded.version.content),
            };
            (recorded.version, behind)
        };
        // A diff can take long and is made without the lock; whoever was carried on meanwhile is
        // left alone below.
        let mut notices = Vec::new();
        for old in behind {
            let map = old.map_to(&version);
            let mut inner = self.inner.lock();
            inner.carry_on(document, &old, &version, &map, actor, &mut notices);
        }
        (version, notices)
    }

    /// What a tag of a document names, for an edit.
    pub fn meaning(&self, document: &Document, tag: Tag) -> Meaning {
        let mut inner = self.inner.lock();
        match inner.snapshots.since(document, tag, Instant::now()) {
            Some(versions) => Meaning::Held(versions),
            None => match inner.snapshots.moved_to(document, tag) {
                Some(moved) => Meaning::Moved(moved),
                None if inner.snapshots.was_issued(document, tag) => Meaning::Expired,
                None => Meaning::Unknown,
            },
        }
    }

    /// The documents of which a session was shown the version that a tag names, each with the path
    /// as the session knows it.
    pub fn shown_under(&self, session: &str, tag: Tag) -> Vec<(Document, String)> {
        let inner = self.inner.lock();
        let Some(session) = inner.sessions.get(session) else {
            return Vec::new();
        };
        let named = session.shown.keys().filter(|(document, content)| {
            let version = inner.snapshots.holding(document, *content);
            version.is_some_and(|version| version.tag == tag)
        });
        let with_path = named.filter_map(|(document, _)| {
            let carried = session.carried.get(document)?;
            Some((document.clone(), carried.path.clone()))
        });
        with_path.collect()
    }

    /// A document is gone: tells everyone who was shown lines of it.
    pub fn vanished(&self, document: &Document, actor: &Actor) -> Vec<Notice> {
        let mut inner = self.inner.lock();
        let mut notices = Vec::new();
        for (name, session) in &mut inner.sessions {
            if let Some(carried) = session.carried.remove(document)
                && !carried.lines.is_empty()
            {
                notices.push(Notice {
                    session: name.clone(),
                    path: carried.path,
                    tag: carried.tag,
                    new_tag: None,
                    moved_to: None,
                    changed: carried.lines.spans().to_vec(),
                    actor: actor.clone(),
                });
            }
        }
        notices
    }

    /// Whether any session was shown lines of a document.
    pub fn is_known(&self, document: &Document) -> bool {
        let inner = self.inner.lock();
        inner
            .sessions
            .values()
            .any(|session| session.carried.contains_key(document))
    }

    /// Appends the fact that `lines` of a version were shown to a session, under that path.
    pub fn show(
        &self,
        session: &str,
        document: &Document,
        version: &Version,
        lines: &LineSet,
        path: &str,
    ) {
        let mut inner = self.inner.lock();
        inner.touch(session);
        let inner = &mut *inner;
        let Some(session) = inner.sessions.get_mut(session) else {
            return;
        };
        session
            .shown
            .entry((document.clone(), version.content))
            .or_default()
            .extend(lines.spans());
        match session.carried.get_mut(document) {
            Some(carried) if carried.content == version.content => {
                carried.lines.extend(lines.spans())
            }
            // Shown late: the session has been told of a newer version already.
            Some(_) if !inner.snapshots.is_newest(document, version.content) => {}
            _ => {
                let carried = CarriedLines {
                    content: version.content,
                    tag: version.tag,
                    lines: lines.clone(),
                    path: path.to_owned(),
                };
                session.carried.insert(document.clone(), carried);
            }
        }
    }

    /// The lines of a version that a session was shown.
    pub fn shown(&self, session: &str, document: &Document, version: &Version) -> LineSet {
        let inner = self.inner.lock();
        inner
            .sessions
            .get(session)
            .and_then(|session| session.shown.get(&(document.clone(), version.content)))
            .cloned()
            .unwrap_or_default()
    }

    /// Drops all that was shown to a session and its children. Whether there was one.
    pub fn close(&self, session: &str) -> bool {
        let sessions = &mut self.inner.lock().sessions;
        let before = sessions.len();
        sessions.retain(|name, _| !is_below(name, session));
        sessions.len() < before
    }

    pub fn count(&self) -> usize {
        self.inner.lock().sessions.len()
    }

    pub fn snapshot_status(&self) -> MemoryUse {
        self.inner.lock().snapshots.status()
    }
}

impl ShownTable {
    fn touch(&mut self, name: &str) {
        self.clock += 1;
        if !self.sessions.contains_key(name) && self.sessions.len() >= MAX_SESSIONS {
            let oldest = self
                .sessions
                .iter()
                .min_by_key(|(_, session)| session.used_at);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.sessions.remove(&oldest);
            }
        }
        let session = self.sessions.entry(name.to_owned()).or_default();
        session.used_at = self.clock;
    }

    fn forget(&mut self, gone: &[(Document, u128)]) {
        for key in gone {
            let (document, content) = key;
            for session in self.sessions.values_mut() {
                session.shown.remove(key);
                if session
                    .carried
                    .get(document)
                    .is_some_and(|c| c.content == *content)
                {
                    session.carried.remove(document);
                }
            }
        }
    }

    /// The versions other than `content` to which sessions' shown lines are carried so far.
    fn versions_behind(&self, document: &Document, content: u128) -> Vec<Version> {
        let mut behind: Vec<Version> = Vec::new();
        for session in self.sessions.values() {
            let Some(carried) = session.carried.get(document) else {
                continue;
            };
            let known = behind
                .iter()
                .any(|version| version.content == carried.content);
            if carried.content != content
                && !known
                && let Some(version) = self.snapshots.holding(document, carried.content)
            {
                behind.push(version.clone());
            }
        }
        behind
    }

    fn carry_on(
        &mut self,
        document: &Document,
        old: &Version,
        new: &Version,
        map: &LineMap,
        actor: &Actor,
        notices: &mut Vec<Notice>,
    ) {
        for (name, session) in &mut self.sessions {
            let Some(carried) = session.carried.get_mut(document) else {
                continue;
            };
            if carried.content != old.content {
                continue;
            }
            let Carried { kept, changed } = map.carry_all(carried.lines.spans());
            let changed: LineSet = changed.into_iter().collect();
            if !changed.is_empty() {
                notices.push(Notice {
                    session: name.clone(),
                    path: carried.path.clone(),
                    tag: carried.tag,
                    new_tag: Some(new.tag),
                    moved_to: None,
                    changed: changed.spans().to_vec(),
                    actor: actor.clone(),
                });
            }
            carried.lines = kept.into_iter().collect();
            carried.content = new.content;
            carried.tag = new.tag;
            // By the name of the new version, too, they may be edited.
            let shown = session.shown.entry((document.clone(), new.content));
            shown.or_default().extend(carried.lines.spans());
        }
    }
}
