//! What sessions were shown of addresses that may answer otherwise each time: one answer for all its pages.
//!
//! A read that names lines pages over the answer that its session was shown last; a bare one asks again, unless whoever
//! answered said that it holds for a while.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::InternalAsk;
use super::resource::Resource;

/// How long a session may read on in an answer.
const READ_ON: Duration = Duration::from_secs(30 * 60);
const MAX_BYTES: u64 = 32 * 1024 * 1024;
const MAX_ENTRIES: usize = 4096;

/// What a session was shown of an address.
#[derive(Debug, Clone)]
pub enum Shown {
    This(Arc<Resource>),
    /// One that was dropped, by its hash.
    Dropped(u128),
    Nothing,
}

/// The answers of all sessions.
#[derive(Debug, Default)]
pub struct KeptResources(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    entries: HashMap<(String, String), Entry>,
    bytes: u64,
}

#[derive(Debug)]
struct Entry {
    resource: Option<Arc<Resource>>,
    hash: u128,
    bytes: u64,
    last_used: Instant,
}

impl Entry {
    /// Its hash stays; the bytes that are free by it.
    fn drop_resource(&mut self) -> u64 {
        self.resource = None;
        std::mem::take(&mut self.bytes)
    }
}

/// What is said where a session reads on in what is no longer what it was shown.
pub fn is_changed(shown: &Shown, now: &Resource, ask: &InternalAsk) -> Option<String> {
    match shown {
        Shown::Dropped(hash) if ask.reads_on && *hash != now.hash() => Some(CHANGED.to_owned()),
        _ => None,
    }
}

const CHANGED: &str = "It has changed since it was last shown; line numbers may differ";

impl KeptResources {
    pub fn shown(&self, session: &str, url: &str) -> Shown {
        let mut table = self.0.lock();
        let key = (session.to_owned(), url.to_owned());
        let Some(entry) = table.entries.get_mut(&key) else {
            return Shown::Nothing;
        };
        let is_old = entry.last_used.elapsed() > READ_ON;
        let bytes = match is_old {
            true => entry.drop_resource(),
            false => 0,
        };
        entry.last_used = Instant::now();
        let shown = match &entry.resource {
            Some(resource) => Shown::This(resource.clone()),
            None => Shown::Dropped(entry.hash),
        };
        table.bytes -= bytes;
        shown
    }

    /// The session is shown this.
    pub fn show(&self, session: &str, url: &str, resource: &Arc<Resource>) {
        let mut table = self.0.lock();
        let key = (session.to_owned(), url.to_owned());
        table.remove(&key);
        let entry = Entry {
            resource: Some(resource.clone()),
            hash: resource.hash(),
            bytes: resource.answer.bytes(),
            last_used: Instant::now(),
        };
        table.bytes += entry.bytes;
        table.entries.insert(key, entry);
        table.make_room();
    }

    /// Forgets what a session was shown.
    pub fn close(&self, session: &str) {
        let mut table = self.0.lock();
        let of_it = table.entries.keys().filter(|(of, _)| of == session);
        let of_it: Vec<_> = of_it.cloned().collect();
        of_it.iter().for_each(|key| table.remove(key));
    }
}

impl Table {
    fn remove(&mut self, key: &(String, String)) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.bytes;
        }
    }

    /// Drops answers until the rest may be kept, those first that were not asked for the longest.
    fn make_room(&mut self) {
        while self.bytes > MAX_BYTES {
            let kept = self.entries.values_mut().filter(|it| it.resource.is_some());
            let Some(oldest) = kept.min_by_key(|it| it.last_used) else {
                break;
            };
            self.bytes -= oldest.drop_resource();
        }
        while self.entries.len() > MAX_ENTRIES {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last_used);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            self.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::protocol::resources::{PartBody, ResourceAnswer, ResourceContents, ResourcePart};

    use super::*;

    fn resource(bytes: usize) -> Arc<Resource> {
        Resource::new(ResourceAnswer::Contents(ResourceContents {
            contents: vec![ResourcePart {
                uri: String::new(),
                mime_type: None,
                body: PartBody::Text("x".repeat(bytes)),
            }],
            ..ResourceContents::default()
        }))
    }

    #[test]
    fn what_was_not_asked_for_the_longest_goes_and_is_known_to_have_been() {
        let kept = KeptResources::default();
        let megabytes = 12 * 1024 * 1024;
        for url in ["a", "b"] {
            kept.show("one", url, &resource(megabytes));
        }
        assert!(matches!(kept.shown("one", "a"), Shown::This(_)));
        kept.show("two", "c", &resource(megabytes));
        assert!(matches!(kept.shown("one", "a"), Shown::This(_)));
        let hash = resource(megabytes).hash();
        assert!(matches!(kept.shown("one", "b"), Shown::Dropped(it) if it == hash));
        assert!(matches!(kept.shown("two", "a"), Shown::Nothing));
        kept.close("one");
        assert!(matches!(kept.shown("one", "a"), Shown::Nothing));
        assert!(matches!(kept.shown("two", "c"), Shown::This(_)));
        assert_eq!(kept.0.lock().bytes, megabytes as u64);
    }
}
