//! What was made of files besides their text (indexes, conversions, pictures); it is never handed out once its file has changed.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::Cache;

use crate::workspace::{Handle, RealPath, Stamp, now_ns};

use super::proof::{COMPARED_BYTES_ELSEWHERE, Proof, hash_of, is_of_this_moment};

/// A file as a request found it, before anything is made of it.
#[derive(Debug, Clone)]
pub struct FileState {
    real: RealPath,
    told_by: ToldBy,
    /// Before it was looked at, in nanoseconds since the epoch.
    looked_at: i64,
}

/// What tells this state of the file from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ToldBy {
    /// The hash of the text that something is made of, which is at hand.
    Text(u128),
    /// xxh3-128 of its bytes.
    Bytes(u128),
    Stamp(Stamp),
    /// A stamp that is no proof: what is made is kept for a moment.
    Moment(Stamp),
}

impl FileState {
    /// The state of an opened file. `stamp` was taken in this very request.
    pub fn of(handle: &Handle, stamp: Stamp) -> io::Result<FileState> {
        let looked_at = now_ns();
        let told_by = match Proof::of(handle, stamp.size) {
            Proof::Bytes => match hash_of(handle, stamp.size)? {
                Some(hash) => ToldBy::Bytes(hash),
                // It has grown since.
                None => ToldBy::Moment(stamp),
            },
            Proof::Stamp => ToldBy::Stamp(stamp),
            Proof::Moment => ToldBy::Moment(stamp),
        };
        Ok(FileState {
            real: handle.real().clone(),
            told_by,
            looked_at,
        })
    }

    /// Of a text of a file that is at hand, by its hash: whatever is made is made of that.
    pub fn of_text(handle: &Handle, hash: u128) -> FileState {
        FileState {
            real: handle.real().clone(),
            told_by: ToldBy::Text(hash),
            looked_at: now_ns(),
        }
    }

    /// xxh3-128 of the file's bytes, where they were compared.
    pub fn hash(&self) -> Option<u128> {
        match self.told_by {
            ToldBy::Bytes(hash) => Some(hash),
            ToldBy::Text(_) | ToldBy::Stamp(_) | ToldBy::Moment(_) => None,
        }
    }

    /// Whether the file was in this state all the while, and every later change shows: what is
    /// made of it may be kept.
    pub fn still_holds(&self, handle: &Handle) -> bool {
        let has = |stamp: Stamp| handle.restamp().is_ok_and(|now| now == stamp);
        match self.told_by {
            ToldBy::Text(_) => true,
            ToldBy::Bytes(hash) => {
                let now = hash_of(handle, COMPARED_BYTES_ELSEWHERE);
                now.is_ok_and(|now| now == Some(hash))
            }
            ToldBy::Stamp(stamp) => stamp.is_settled(self.looked_at) && has(stamp),
            ToldBy::Moment(stamp) => is_of_this_moment(self.looked_at) && has(stamp),
        }
    }
}

/// Which thing it is: of which state of which file, made by whom, and which part of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct WarmKey {
    real: RealPath,
    told_by: ToldBy,
    maker: &'static str,
    part: Box<str>,
}

#[derive(Clone)]
struct WarmThing {
    value: Arc<dyn Any + Send + Sync>,
    bytes: u64,
    /// When its file was looked at, in nanoseconds since the epoch.
    looked_at: i64,
}

#[derive(Clone)]
struct WarmWeights;

impl quick_cache::Weighter<WarmKey, WarmThing> for WarmWeights {
    fn weight(&self, key: &WarmKey, entry: &WarmThing) -> u64 {
        entry.bytes + key.part.len() as u64 + 256
    }
}

/// So few that the cache does not part itself: of a part of the budget nothing larger could be kept,
/// and an index of a large archive alone may take a good deal of it.
const ESTIMATED_ENTRIES: usize = 32;

/// Things that were made of files, bounded by bytes. Shared by all sessions.
pub struct Warm {
    entries: Cache<WarmKey, WarmThing, WarmWeights>,
    budget: AtomicU64,
}

impl Warm {
    /// Holds at most `budget` bytes.
    pub fn new(budget: u64) -> Warm {
        Warm {
            entries: Cache::with_weighter(ESTIMATED_ENTRIES, budget, WarmWeights),
            budget: AtomicU64::new(budget),
        }
    }

    pub fn set_budget(&self, budget: u64) {
        if self.budget.swap(budget, Ordering::Relaxed) != budget {
            self.entries.set_capacity(budget);
        }
    }

    /// What `maker` kept of this `part` of the file in this state.
    pub fn get<T: Any + Send + Sync>(
        &self,
        state: &FileState,
        maker: &'static str,
        part: &str,
    ) -> Option<Arc<T>> {
        let entry = self.entries.get(&key(state, maker, part))?;
        let is_for_a_moment = matches!(state.told_by, ToldBy::Moment(_));
        if is_for_a_moment && !is_of_this_moment(entry.looked_at) {
            return None;
        }
        entry.value.downcast().ok()
    }

    /// Keeps what was made of the file in this state, if it still is in it; about `bytes` in
    /// memory. Told by its stamp, it is not kept where the file was changed so shortly before that
    /// a second change could bear the same one.
    pub fn keep<T: Any + Send + Sync>(
        &self,
        (state, handle): (&FileState, &Handle),
        maker: &'static str,
        part: &str,
        value: Arc<T>,
        bytes: u64,
    ) {
        if state.still_holds(handle) {
            let entry = WarmThing {
                value,
                bytes,
                looked_at: state.looked_at,
            };
            self.entries.insert(key(state, maker, part), entry);
        }
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

fn key(state: &FileState, maker: &'static str, part: &str) -> WarmKey {
    WarmKey {
        real: state.real.clone(),
        told_by: state.told_by,
        maker,
        part: part.into(),
    }
}
