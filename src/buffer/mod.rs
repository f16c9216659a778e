//! Warm text: what files held when they were last looked at; no buffer is ever served without a look at its file in this very request.
//!
//! What such a look must show is in `proof`, what is read of a file that changes meanwhile in `steady`.

mod change_log;
mod huge;
mod leads;
mod load;
mod offered;
mod overlay;
mod overlays;
mod proof;
mod steady;
mod warm;
mod watch;

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use encoding_rs::Encoding;
use quick_cache::DefaultHashBuilder;
use quick_cache::sync::Cache as Bounded;

use crate::hashline::tag::{Fingerprint, fingerprint};
use crate::protocol::read::Cache;
use crate::protocol::status::{Buffers, CacheCounts};
use crate::text::{Confidence, Text};
use crate::workspace::{RealPath, Stamp};

use watch::{Evictions, Watch};

pub use change_log::{ChangeLog, LogPosition};
pub use huge::{ExcerptRequest, Excerpted, Head};
pub use load::EncodingHints;
pub use offered::OfferedSchemes;
pub use overlay::{Change, DocumentId, Overlay};
pub use overlays::Overlays;
pub use proof::{COMPARED_BYTES, COMPARED_BYTES_ELSEWHERE, Proof};
pub use warm::{FileState, Warm};
pub use watch::{Event, OnChange, Opener, WatchStatus};

/// Files over this many bytes are never held as a buffer.
pub const MAX_BUFFER_BYTES: u64 = 32 * 1024 * 1024;

/// The text of a file at one moment, and the facts about its bytes. Immutable but for `looked_at`.
#[derive(Debug)]
pub struct Buffer {
    pub text: Text,
    pub encoding: &'static Encoding,
    pub confidence: Confidence,
    pub bom: bool,
    /// Undecodable sequences, shown as U+FFFD.
    pub bad_bytes: usize,
    pub total_bytes: u64,
    fingerprint: OnceLock<Fingerprint>,
    /// What was said about the encoding when it was decoded.
    declared: EncodingHints,
    stamp: Stamp,
    /// Identity of the bytes (xxh3-128).
    bytes_hash: u128,
    /// When the bytes were last known to be these, in nanoseconds since the epoch.
    looked_at: AtomicI64,
}

impl Buffer {
    /// xxh3-128 of the bytes that it was made of.
    pub fn bytes_hash(&self) -> u128 {
        self.bytes_hash
    }

    /// Tag and identity of the text; computed once.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| fingerprint(&self.text))
    }

    /// Bytes in memory, about.
    fn weight(&self) -> u64 {
        (self.text.len_bytes() as u64) * 9 / 8 + 1024
    }
}

/// A buffer and whether it was warm.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub buffer: Arc<Buffer>,
    pub cache: Cache,
    /// The bytes that it was decoded from, where the file had to be read.
    pub bytes: Option<Vec<u8>>,
}

/// What came of a look at a file.
#[derive(Debug)]
pub enum Looked {
    /// A text that the file held at one moment of the request.
    Sound(Loaded),
    /// The file was written all the while: it may never have held this text. It is kept nowhere.
    Torn(Arc<Buffer>),
}

/// The warm buffers, bounded by bytes. Shared by all sessions.
pub struct Store {
    buffers: Bounded<RealPath, Arc<Buffer>, ByBytes, DefaultHashBuilder, Evictions>,
    watch: Watch,
    /// Line indexes of files too large to hold.
    huge: huge::IndexCache,
    /// Encodings that callers declared, for the files they declared them for.
    declared: Bounded<RealPath, &'static Encoding>,
    budget: AtomicU64,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    stale_avoided: AtomicU64,
}

impl Counts {
    fn count(&self, cache: Cache) {
        let counter = match cache {
            Cache::Hit => &self.hits,
            Cache::Miss => &self.misses,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Clone)]
struct ByBytes;

impl quick_cache::Weighter<RealPath, Arc<Buffer>> for ByBytes {
    fn weight(&self, _path: &RealPath, buffer: &Arc<Buffer>) -> u64 {
        buffer.weight()
    }
}

/// Files whose declared encoding is remembered.
const DECLARED_ENTRIES: usize = 4096;

impl Store {
    /// A store of at most `budget` bytes.
    pub fn new(budget: u64) -> Store {
        let watch = Watch::new();
        let hasher = DefaultHashBuilder::default();
        Store {
            buffers: Bounded::with(1024, budget, ByBytes, hasher, watch.evictions()),
            watch,
            huge: huge::IndexCache::default(),
            declared: Bounded::new(DECLARED_ENTRIES),
            budget: AtomicU64::new(budget),
            counts: Counts::default(),
        }
    }

    /// Changes the bound; what no longer fits is dropped.
    pub fn set_budget(&self, budget: u64) {
        if self.budget.swap(budget, Ordering::Relaxed) != budget {
            self.buffers.set_capacity(budget);
        }
    }

    /// The encoding that a caller declared for a file.
    pub fn declared(&self, real: &RealPath) -> Option<&'static Encoding> {
        match self.declared.is_empty() {
            true => None,
            false => self.declared.get(real),
        }
    }

    pub fn status(&self) -> (Buffers, CacheCounts) {
        let (indexes, index_bytes) = self.huge.status();
        let buffers = Buffers {
            count: self.buffers.len() + indexes,
            bytes: self.buffers.weight() + index_bytes,
            budget_bytes: self.budget.load(Ordering::Relaxed),
        };
        let counts = CacheCounts {
            hits: self.counts.hits.load(Ordering::Relaxed),
            misses: self.counts.misses.load(Ordering::Relaxed),
            stale_avoided: self.counts.stale_avoided.load(Ordering::Relaxed),
        };
        (buffers, counts)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Store({:?})", self.status())
    }
}
