//! The line indexes that are kept, bounded by count and bytes; the one unused for longest goes first, and the newest stays.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::workspace::RealPath;

use super::HugeFile;

/// Files whose index is kept.
const MAX_ENTRIES: usize = 64;

/// The indexes by file.
#[derive(Debug, Default)]
pub struct IndexCache {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: HashMap<RealPath, CachedFile>,
    /// Counts uses, to know which entry was unused for longest.
    clock: u64,
}

#[derive(Debug)]
struct CachedFile {
    entry: Arc<HugeFile>,
    used_at: u64,
}

impl IndexCache {
    pub(super) fn get(&self, path: &RealPath) -> Option<Arc<HugeFile>> {
        let mut inner = self.inner.lock();
        inner.clock += 1;
        let now = inner.clock;
        let kept = inner.entries.get_mut(path)?;
        kept.used_at = now;
        Some(kept.entry.clone())
    }

    pub(super) fn insert(&self, path: RealPath, entry: Arc<HugeFile>) {
        let mut inner = self.inner.lock();
        inner.clock += 1;
        let used_at = inner.clock;
        inner.entries.insert(path, CachedFile { entry, used_at });
    }

    /// Whether there was one.
    pub(super) fn remove(&self, path: &RealPath) -> bool {
        self.inner.lock().entries.remove(path).is_some()
    }

    /// Drops what is over the bounds.
    pub(super) fn trim(&self, budget: u64) {
        let mut inner = self.inner.lock();
        while inner.entries.len() > 1
            && (inner.entries.len() > MAX_ENTRIES || inner.bytes() > budget)
        {
            let oldest = inner.entries.iter().min_by_key(|(_, kept)| kept.used_at);
            let Some(oldest) = oldest.map(|(path, _)| path.clone()) else {
                return;
            };
            inner.entries.remove(&oldest);
        }
    }

    /// How many are kept, and their bytes in memory.
    pub fn status(&self) -> (usize, u64) {
        let inner = self.inner.lock();
        (inner.entries.len(), inner.bytes())
    }
}

impl Inner {
    fn bytes(&self) -> u64 {
        let entries = self.entries.values();
        entries
            .map(|kept| kept.entry.state.lock().index.weight())
            .sum()
    }
}
