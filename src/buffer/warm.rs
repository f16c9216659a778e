//! What was made of files that are no text (indexes, conversions, pictures); it is never handed out once its file has changed.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::Cache;

use crate::workspace::{Handle, RealPath, Stamp};

use super::{TIMESTAMP_DOUBT_NS, now_ns};

/// Which thing it is: of which state of which file, made by whom, and which part of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    real: RealPath,
    stamp: Stamp,
    maker: &'static str,
    part: Box<str>,
}

#[derive(Clone)]
struct Entry {
    value: Arc<dyn Any + Send + Sync>,
    bytes: u64,
}

#[derive(Clone)]
struct ByBytes;

impl quick_cache::Weighter<Key, Entry> for ByBytes {
    fn weight(&self, key: &Key, entry: &Entry) -> u64 {
        entry.bytes + key.part.len() as u64 + 256
    }
}

/// So few that the cache does not part itself: of a part of the budget nothing larger could be kept,
/// and an index of a large archive alone may take a good deal of it.
const ESTIMATED_ENTRIES: usize = 32;

/// Things that were made of files, bounded by bytes. Shared by all sessions.
pub struct Warm {
    entries: Cache<Key, Entry, ByBytes>,
    budget: AtomicU64,
}

impl Warm {
    /// Holds at most `budget` bytes.
    pub fn new(budget: u64) -> Warm {
        Warm {
            entries: Cache::with_weighter(ESTIMATED_ENTRIES, budget, ByBytes),
            budget: AtomicU64::new(budget),
        }
    }

    pub fn set_budget(&self, budget: u64) {
        if self.budget.swap(budget, Ordering::Relaxed) != budget {
            self.entries.set_capacity(budget);
        }
    }

    /// What `maker` kept of this `part` of the file, if the file is still the one it was made of:
    /// `handle` was opened in this very request.
    pub fn get<T: Any + Send + Sync>(
        &self,
        handle: &Handle,
        maker: &'static str,
        part: &str,
    ) -> Option<Arc<T>> {
        let entry = self.entries.get(&key(handle, maker, part))?;
        entry.value.downcast().ok()
    }

    /// Keeps what was made of the file after `handle` was opened; about `bytes` in memory. What
    /// was changed so shortly before that a second change could bear the same time stamp is not
    /// kept: the stamp would not prove anything.
    pub fn keep<T: Any + Send + Sync>(
        &self,
        handle: &Handle,
        maker: &'static str,
        part: &str,
        value: Arc<T>,
        bytes: u64,
    ) {
        if !is_settled(handle) || handle.restamp().ok() != Some(handle.stamp()) {
            return;
        }
        self.entries
            .insert(key(handle, maker, part), Entry { value, bytes });
    }

    /// Entries and their bytes.
    pub fn status(&self) -> (usize, u64) {
        (self.entries.len(), self.entries.weight())
    }
}

impl fmt::Debug for Warm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Warm({:?})", self.status())
    }
}

fn key(handle: &Handle, maker: &'static str, part: &str) -> Key {
    Key {
        real: handle.real().clone(),
        stamp: handle.stamp(),
        maker,
        part: part.into(),
    }
}

/// Whether the file had its time stamp for so long, when it was opened, that every change since
/// bears another one.
pub fn is_settled(handle: &Handle) -> bool {
    let opened_at = i128::from(now_ns()) - handle.opened_at().elapsed().as_nanos() as i128;
    let stamp = handle.stamp();
    opened_at - stamp.mtime_ns.max(stamp.ctime_ns) > TIMESTAMP_DOUBT_NS
}
