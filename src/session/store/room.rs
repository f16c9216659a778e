//! Room for what is put there: the oldest go, in the session and in all sessions.

use std::sync::Arc;

use crate::protocol::Refusal;
use crate::protocol::settings::Artifacts;
use crate::task::lowered;
use crate::workspace::bytes_below;

use super::artifact::Artifact;
use super::session::{Eviction, Key, in_words};
use super::{LOCAL, SessionTable, Stores};

/// Artifacts of one session; more make the oldest go, however small they are.
const MAX_ARTIFACTS: u64 = 10_000;

/// Bytes that are about to be written; given back when this is dropped.
#[derive(Debug)]
struct Reserved<'a> {
    stores: &'a Stores,
    bytes: u64,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.stores.table.lock().reserved -= self.bytes;
    }
}

/// What was made room for.
#[derive(Debug)]
pub(super) struct Room<'a> {
    pub(super) limits: Artifacts,
    /// Nobody else takes it before it is filled.
    _reserved: Reserved<'a>,
    /// What went of this session.
    pub(super) dropped: Vec<String>,
}

impl Stores {
    /// Makes room for so many bytes more, in `factor` files. `kept` is what they are added to.
    pub(super) fn make_room(
        &self,
        session: &str,
        bytes: u64,
        factor: u64,
        kept: Option<&Arc<Artifact>>,
    ) -> Result<Room<'_>, Refusal> {
        let local = self.local_bytes(session);
        let mut gone = Vec::new();
        let mut dropped = Vec::new();
        let (limits, bytes) = {
            let mut table = self.table.lock();
            let limits = table.limits;
            let came = kept.map_or(0, |it| it.facts().came);
            let weight = bytes.saturating_mul(factor);
            let own = kept.map_or(0, |it| it.facts().weight);
            let most = limits.session_bytes.min(limits.total_bytes);
            if came + bytes > limits.max_bytes || own + weight + local > most {
                return Err(too_large_put(bytes, &limits));
            }
            while let Some((name, key, why)) =
                table.next_to_go(session, (weight, local), limits, kept)
            {
                let store = table.sessions.get_mut(&name);
                gone.extend(store.and_then(|store| store.take(&key, why)));
                if name == session {
                    dropped.push(key.url());
                }
            }
            table.reserved += weight;
            (limits, weight)
        };
        for artifact in gone {
            artifact.remove();
        }
        Ok(Room {
            limits,
            dropped,
            _reserved: Reserved {
                stores: self,
                bytes,
            },
        })
    }

    /// Bytes of a session's scratch files.
    fn local_bytes(&self, session: &str) -> u64 {
        let local = {
            let table = self.table.lock();
            let store = table.sessions.get(session).filter(|it| it.has_local);
            store.map(|store| store.directory().join(LOCAL))
        };
        local.map_or(0, |local| bytes_below(&local))
    }
}

impl SessionTable {
    /// What has to go so that there is room, one at a time.
    fn next_to_go(
        &self,
        session: &str,
        (weight, local): (u64, u64),
        limits: Artifacts,
        kept: Option<&Arc<Artifact>>,
    ) -> Option<(String, Key, Eviction)> {
        let store = self.sessions.get(session)?;
        let most = lowered("artifacts", MAX_ARTIFACTS);
        let is_full = store.artifact_bytes() + weight + local > limits.session_bytes;
        let are_many = kept.is_none() && store.count() as u64 >= most;
        if is_full || are_many {
            let (_, _, key) = store.oldest(kept)?;
            let why = match is_full {
                true => Eviction::Session,
                false => Eviction::Count(most),
            };
            return Some((session.to_owned(), key, why));
        }
        if self.bytes() + self.reserved + weight + local <= limits.total_bytes {
            return None;
        }
        let all = self.sessions.iter();
        let oldest = all.filter_map(|(name, store)| Some((store.oldest(kept)?, name)));
        let ((_, _, key), name) = oldest.min_by_key(|((is_put, age, _), _)| (*is_put, *age))?;
        Some((name.clone(), key, Eviction::Total))
    }
}

/// What would be over the limit of one artifact, or over that of a session by itself.
fn too_large_put(bytes: u64, limits: &Artifacts) -> Refusal {
    let what = match bytes > limits.max_bytes {
        true => format!("an artifact has at most {}", in_words(limits.max_bytes)),
        false => format!(
            "a session has at most {}, scratch files included",
            in_words(limits.session_bytes.min(limits.total_bytes))
        ),
    };
    Refusal::TooLarge {
        path: "artifact://".to_owned(),
        what,
        instead: "Put a part of it there, or read it from where it is.".to_owned(),
    }
}

pub(super) fn too_large(key: &Key, limits: &Artifacts) -> Refusal {
    Refusal::TooLarge {
        path: key.url(),
        what: format!("an artifact has at most {}", in_words(limits.max_bytes)),
        instead: "Put a part of it there, or read it from where it is.".to_owned(),
    }
}

/// What is said of the end of what was added.
pub(super) fn lost(key: &Key, bytes: u64, limits: &Artifacts) -> String {
    format!(
        "the last {bytes} bytes for {} ({} for an artifact)",
        key.url(),
        in_words(limits.max_bytes)
    )
}
