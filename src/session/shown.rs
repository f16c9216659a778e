//! Sessions and the lines shown to each; what one session was shown never counts for another.

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::Mutex;

use crate::hashline::tag::Fingerprint;
use crate::text::Text;
use crate::view::LineSet;

use super::versions::{Document, SnapshotStatus, Snapshots, Version};

/// Live sessions; the one unused for longest goes first.
pub const MAX_SESSIONS: usize = 256;

/// The sessions and the snapshots they share.
#[derive(Debug)]
pub struct Sessions {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
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
}

impl Sessions {
    /// Holds at most `budget` bytes of snapshots.
    pub fn new(budget: u64) -> Sessions {
        Sessions {
            inner: Mutex::new(Inner {
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

    /// Names the text that a document holds now, without showing any of it.
    pub fn record(&self, document: &Document, text: &Text, fingerprint: Fingerprint) -> Version {
        let mut inner = self.inner.lock();
        let (version, gone) = inner
            .snapshots
            .record(document, text, fingerprint, Instant::now());
        inner.forget(&gone);
        version
    }

    /// Appends the fact that `lines` of a version were shown to a session.
    pub fn show(&self, session: &str, document: &Document, version: &Version, lines: &LineSet) {
        let mut inner = self.inner.lock();
        let session = inner.touch(session);
        session
            .shown
            .entry((document.clone(), version.content))
            .or_default()
            .extend(lines);
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

    /// Drops all that was shown to a session. Whether there was one.
    pub fn close(&self, session: &str) -> bool {
        self.inner.lock().sessions.remove(session).is_some()
    }

    pub fn count(&self) -> usize {
        self.inner.lock().sessions.len()
    }

    pub fn snapshot_status(&self) -> SnapshotStatus {
        self.inner.lock().snapshots.status()
    }
}

impl Inner {
    fn touch(&mut self, name: &str) -> &mut Session {
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
        session
    }

    fn forget(&mut self, gone: &[(Document, u128)]) {
        for key in gone {
            for session in self.sessions.values_mut() {
                session.shown.remove(key);
            }
        }
    }
}
