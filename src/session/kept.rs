//! Texts that are in no file, as they were shown: who reads on in one pages over what it was shown, whatever its provider would answer by then.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use xxhash_rust::xxh3::Xxh3;

use crate::protocol::read::InternalDetails;
use crate::protocol::status::MemoryUse;
use crate::task::lowered;
use crate::text::Text;

use super::children::is_below;

/// Milliseconds for which a session may read on in a text.
const READ_ON_MS: u64 = 30 * 60 * 1000;
/// Bytes of all texts together.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
const MAX_TEXTS: usize = 4096;

/// A text as a session was shown it.
#[derive(Debug, Clone)]
pub struct KeptText {
    pub text: Text,
    /// What was told of it.
    pub details: InternalDetails,
    /// A line each, above the text.
    pub notices: Vec<String>,
    /// Until then a bare read is answered with it, too.
    pub fresh_until: Option<Instant>,
}

/// What is kept as it was shown.
pub trait Keepable: Any + fmt::Debug + Send + Sync {
    /// What it holds.
    fn bytes(&self) -> u64;

    /// Its identity.
    fn hash(&self) -> u128;
}

impl Keepable for KeptText {
    fn bytes(&self) -> u64 {
        self.text.len_bytes() as u64
    }

    fn hash(&self) -> u128 {
        hash_of(&self.text)
    }
}

/// What a session was shown of an address.
#[derive(Debug, Clone)]
pub enum Prior<T> {
    Kept(Arc<T>),
    /// One that is no longer kept, and its hash.
    Dropped(u128),
    Never,
}

/// The texts of all sessions; the one that was shown longest ago goes first.
#[derive(Debug)]
pub struct KeptTexts(Mutex<KeptTable>);

#[derive(Debug)]
struct KeptTable {
    /// By session and address.
    shown: HashMap<(String, String), HeldText>,
    bytes: u64,
    /// What all of them may have together.
    budget: u64,
    read_on: Duration,
}

impl Default for KeptTexts {
    fn default() -> KeptTexts {
        KeptTexts(Mutex::new(KeptTable {
            shown: HashMap::new(),
            bytes: 0,
            budget: MAX_BYTES,
            read_on: Duration::from_millis(lowered("readOnMs", READ_ON_MS)),
        }))
    }
}

#[derive(Debug)]
struct HeldText {
    /// `None` where it was dropped to make room.
    kept: Option<Arc<dyn Keepable>>,
    hash: u128,
    at: Instant,
}

impl KeptTexts {
    /// What the session was shown of the address not too long ago. What is still fresh is found by a
    /// bare read, too.
    pub fn shown<T: Keepable>(&self, session: &str, url: &str) -> Prior<T> {
        let table = self.0.lock();
        let entry = table.shown.get(&(session.to_owned(), url.to_owned()));
        match entry.filter(|it| it.at.elapsed() <= table.read_on) {
            None => Prior::Never,
            Some(entry) => {
                let kept = entry
                    .kept
                    .clone()
                    .map(|kept| kept as Arc<dyn Any + Send + Sync>);
                match kept.map(Arc::downcast) {
                    Some(Ok(kept)) => Prior::Kept(kept),
                    // What another provider made is not what was asked for.
                    Some(Err(_)) | None => Prior::Dropped(entry.hash),
                }
            }
        }
    }

    /// The session is shown this text under this address.
    pub fn show(&self, session: &str, url: &str, kept: Arc<dyn Keepable>) {
        let entry = HeldText {
            hash: kept.hash(),
            at: Instant::now(),
            kept: Some(kept),
        };
        let mut table = self.0.lock();
        table.bytes += entry.bytes();
        let key = (session.to_owned(), url.to_owned());
        if let Some(before) = table.shown.insert(key, entry) {
            table.bytes -= before.bytes();
        }
        table.make_room();
    }

    /// All together have at most so many bytes, and never more than 32 MiB.
    pub fn set_budget(&self, budget: u64) {
        let mut table = self.0.lock();
        table.budget = budget.min(MAX_BYTES);
        table.make_room();
    }

    /// Forgets what a session and its children were shown.
    pub fn close(&self, session: &str) {
        let mut table = self.0.lock();
        table.shown.retain(|(of, _), _| !is_below(of, session));
        table.bytes = table.shown.values().map(HeldText::bytes).sum();
    }

    pub fn status(&self) -> MemoryUse {
        let table = self.0.lock();
        MemoryUse {
            count: table.shown.values().filter(|it| it.kept.is_some()).count(),
            bytes: table.bytes,
        }
    }
}

impl HeldText {
    fn bytes(&self) -> u64 {
        self.kept.as_ref().map_or(0, |it| it.bytes())
    }
}

impl KeptTable {
    fn make_room(&mut self) {
        if self.shown.len() > MAX_TEXTS {
            self.shown.retain(|_, it| it.at.elapsed() <= self.read_on);
        }
        while self.shown.len() > MAX_TEXTS {
            let oldest = self.shown.iter().min_by_key(|(_, it)| it.at);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            if let Some(gone) = self.shown.remove(&key) {
                self.bytes -= gone.bytes();
            }
        }
        while self.bytes > self.budget {
            let kept = self.shown.values_mut().filter(|it| it.kept.is_some());
            let Some(oldest) = kept.min_by_key(|it| it.at) else {
                return;
            };
            let bytes = oldest.bytes();
            oldest.kept = None;
            self.bytes -= bytes;
        }
    }
}

/// The identity of a text.
pub fn hash_of(text: &Text) -> u128 {
    let mut hash = Xxh3::new();
    for chunk in text.chunks() {
        hash.update(chunk.as_bytes());
    }
    hash.digest128()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(written: &str) -> Arc<KeptText> {
        Arc::new(KeptText {
            text: Text::new(written),
            details: InternalDetails::default(),
            notices: Vec::new(),
            fresh_until: None,
        })
    }

    #[test]
    fn sessions_read_on_in_their_own_and_the_oldest_goes() {
        let kept = KeptTexts::default();
        kept.show("A", "x://1", text("one"));
        kept.show("A/b", "x://1", text("two"));
        let is_kept = |session: &str, url: &str| match kept.shown::<KeptText>(session, url) {
            Prior::Kept(text) => Some(text.text.line(0).into_owned()),
            Prior::Dropped(_) | Prior::Never => None,
        };
        assert_eq!(is_kept("A", "x://1").as_deref(), Some("one"));
        assert_eq!(is_kept("A/b", "x://1").as_deref(), Some("two"));
        assert_eq!(is_kept("B", "x://1"), None);
        kept.show("B", "x://2", text(&"x".repeat(MAX_BYTES as usize)));
        assert!(
            matches!(kept.shown::<KeptText>("A", "x://1"), Prior::Dropped(hash) if hash == hash_of(&Text::new("one")))
        );
        assert_eq!(kept.status().count, 1);
        kept.close("A");
        assert!(matches!(
            kept.shown::<KeptText>("A/b", "x://1"),
            Prior::Never
        ));
    }
}
