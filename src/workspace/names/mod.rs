//! The names of whole trees, kept warm for paths that are not there: a name that exists nowhere is not looked for twice; no answer is ever as old as the last change of a name.
//!
//! A walk of a tree collects the path of every entry, and while it does so every directory on its
//! way is watched ([`proof`]). The system puts what happens to a name into the watch's queue before
//! whoever did it goes on; nobody reads that queue but the next request, before it believes the
//! names, so that nothing runs while nobody asks. What it finds there decides:
//!
//! - a directory came, went or changed, or rules did: the names are dropped and the tree is walked
//!   again;
//! - a file of some name came: that name alone is not answered from here any more;
//! - files that went are no news: what is found here is opened and judged before it is an answer.
//!
//! Where a tree cannot be watched (other systems, file systems that others change too, too many
//! directories, no watches left) it is walked each time.

#[cfg(target_os = "linux")]
mod proof;
#[cfg(not(target_os = "linux"))]
mod unwatched;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use xxhash_rust::xxh3::xxh3_64;

use crate::protocol::status::MemoryUse;
use crate::task::{Stopped, Work};

use super::spelling::fold;

#[cfg(target_os = "linux")]
use proof::NamesProof;
#[cfg(not(target_os = "linux"))]
use unwatched::NamesProof;

/// Bytes that the names of all roots together may take: some 400,000 files.
const MAX_BYTES: usize = 32 << 20;

/// Names that came since the walk; with more of them it is walked again.
const MAX_APPEARED: usize = 4096;

/// For how long a tree that could not be kept is only walked.
const HOPELESS_FOR: Duration = Duration::from_secs(60);

/// How often somebody who waits for another's walk looks at its own work.
const STEP: Duration = Duration::from_millis(10);

/// The names in each root of a scope.
#[derive(Debug)]
pub(super) struct Names {
    roots: Vec<Root>,
    /// Of each root.
    max_bytes: usize,
    /// Whether anything may be watched at all.
    may_watch: bool,
}

/// What is kept of one root. The counts are those of what is in the slot, for `agent/status`.
#[derive(Debug, Default)]
struct Root {
    slot: Mutex<Slot>,
    count: AtomicUsize,
    bytes: AtomicU64,
}

/// The names of one root, for as long as somebody asks them.
#[derive(Debug, Default)]
struct Slot {
    kept: Option<KeptNames>,
    hopeless_since: Option<Instant>,
}

#[derive(Debug)]
struct KeptNames {
    real: Arc<Path>,
    names: Collected,
    /// The hashes of names that came since the walk.
    appeared: HashSet<u64>,
    proof: NamesProof,
}

/// The paths below a root, by the hash of their last name, folded.
#[derive(Debug, Default)]
struct Collected {
    paths: Vec<u8>,
    entries: Vec<NameAt>,
}

#[derive(Debug, Clone, Copy)]
struct NameAt {
    hash: u64,
    start: u32,
    end: u32,
}

impl Names {
    /// For so many roots. Does no I/O.
    pub(super) fn new(roots: usize, may_watch: bool) -> Names {
        Names {
            roots: (0..roots).map(|_| Root::default()).collect(),
            max_bytes: MAX_BYTES / roots.max(1),
            may_watch,
        }
    }

    pub(super) fn status(&self) -> MemoryUse {
        let add = |sum: MemoryUse, root: &Root| MemoryUse {
            count: sum.count + root.count.load(Ordering::Relaxed),
            bytes: sum.bytes + root.bytes.load(Ordering::Relaxed),
        };
        self.roots.iter().fold(MemoryUse::default(), add)
    }

    /// The names of the root that is `index`th, once nobody else walks it. Errors when the work
    /// is stopped meanwhile.
    pub(super) fn of_root(&self, index: usize, work: &Work) -> Result<OfRoot<'_>, Stopped> {
        let root = &self.roots[index];
        loop {
            if let Some(slot) = root.slot.try_lock_for(STEP) {
                return Ok(OfRoot {
                    names: self,
                    root,
                    slot,
                });
            }
            work.check()?;
        }
    }
}

/// One root's names, held by one request.
pub(super) struct OfRoot<'a> {
    names: &'a Names,
    root: &'a Root,
    slot: MutexGuard<'a, Slot>,
}

impl OfRoot<'_> {
    /// The paths below `real` that end as `ends` says and whose last name is `last`, folded, in
    /// order; `None` where that is not known. They were there at some moment since the walk, so
    /// each must be opened; none that is there now and was not ignored is missing.
    pub(super) fn ending_in(
        &mut self,
        real: &Path,
        last: &str,
        ends: impl Fn(&Path) -> bool,
        work: &Work,
    ) -> Option<Vec<PathBuf>> {
        let kept = self.slot.kept.as_mut()?;
        let hash = hash_of(last);
        let holds = *kept.real == *real
            && kept.proof.holds(&mut kept.appeared)
            && kept.appeared.len() <= MAX_APPEARED
            && !kept.appeared.contains(&hash);
        if !holds {
            // To close thousands of watches takes a while.
            work.let_go_later(self.slot.kept.take());
            self.count();
            return None;
        }
        let paths = kept.names.with_hash(hash).map(Path::new);
        Some(
            paths
                .filter(|path| ends(path))
                .map(Path::to_path_buf)
                .collect(),
        )
    }

    /// Begins to collect the names in `real`; before anything in there is looked at.
    pub(super) fn collect(&mut self, real: &Path) -> Arc<Collector> {
        let rests = |since: Instant| since.elapsed() < HOPELESS_FOR;
        let may_try = self.names.may_watch && !self.slot.hopeless_since.is_some_and(rests);
        let proof = match may_try {
            true => NamesProof::begin(real),
            false => None,
        };
        if may_try && proof.is_none() {
            self.slot.hopeless_since = Some(Instant::now());
        }
        Arc::new(Collector {
            proof,
            names: Mutex::default(),
            max_bytes: self.names.max_bytes,
        })
    }

    /// Keeps what a walk of `real` collected that went to its end; unless something happened
    /// meanwhile that makes it doubtful.
    pub(super) fn keep(&mut self, real: &Arc<Path>, collector: Arc<Collector>) {
        let Some(Collector {
            proof: Some(mut proof),
            names,
            ..
        }) = Arc::into_inner(collector)
        else {
            return;
        };
        if proof.is_exhausted() {
            self.slot.hopeless_since = Some(Instant::now());
            return;
        }
        let mut names = names.into_inner();
        names.finish();
        let mut appeared = HashSet::new();
        if proof.holds(&mut appeared) {
            self.slot.kept = Some(KeptNames {
                real: real.clone(),
                names,
                appeared,
                proof,
            });
        }
        self.count();
    }

    fn count(&self) {
        let names = self.slot.kept.as_ref().map(|kept| &kept.names);
        let count = names.map_or(0, |names| names.entries.len());
        let bytes = names.map_or(0, |names| names.bytes() as u64);
        self.root.count.store(count, Ordering::Relaxed);
        self.root.bytes.store(bytes, Ordering::Relaxed);
    }
}

/// What one walk finds, for all of its threads.
#[derive(Debug)]
pub(super) struct Collector {
    proof: Option<NamesProof>,
    names: Mutex<Collected>,
    max_bytes: usize,
}

impl Collector {
    /// Whether the names may be kept after the walk.
    pub(super) fn is_of_use(&self) -> bool {
        self.proof
            .as_ref()
            .is_some_and(|proof| !proof.is_exhausted())
    }

    /// To be called for each directory before anything in it is read.
    pub(super) fn enter(&self, directory: &Path) {
        if let Some(proof) = &self.proof {
            proof.watch(directory);
        }
    }

    /// Something could not be read. What is not there or may not be read is none of the names;
    /// after anything else they are not all.
    pub(super) fn miss(&self, error: Option<&io::Error>) {
        use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
        let is_none =
            |error: &io::Error| matches!(error.kind(), NotFound | NotADirectory | PermissionDenied);
        if let (Some(proof), Some(error)) = (&self.proof, error)
            && !is_none(error)
        {
            proof.give_up();
        }
    }

    /// Takes an entry by its path below the root.
    pub(super) fn add(&self, below: &Path) {
        let Some(proof) = self.proof.as_ref().filter(|proof| !proof.is_exhausted()) else {
            return;
        };
        let last = below.file_name().and_then(OsStr::to_str);
        let Some(hash) = last.map(|last| hash_of(&fold(last))) else {
            return;
        };
        let mut names = self.names.lock();
        names.add(hash, below.as_os_str().as_bytes());
        if names.bytes() > self.max_bytes {
            proof.give_up();
            *names = Collected::default();
        }
    }
}

impl Collected {
    fn bytes(&self) -> usize {
        self.paths.len() + self.entries.len() * size_of::<NameAt>()
    }

    fn add(&mut self, hash: u64, path: &[u8]) {
        // Bounded by `MAX_BYTES`.
        let start = self.paths.len() as u32;
        self.paths.extend_from_slice(path);
        let end = self.paths.len() as u32;
        self.entries.push(NameAt { hash, start, end });
    }

    fn path(&self, entry: &NameAt) -> &OsStr {
        OsStr::from_bytes(&self.paths[entry.start as usize..entry.end as usize])
    }

    fn finish(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|one, other| {
            let by_path = || self.path(one).cmp(self.path(other));
            one.hash.cmp(&other.hash).then_with(by_path)
        });
        entries.shrink_to_fit();
        self.entries = entries;
        self.paths.shrink_to_fit();
    }

    fn with_hash(&self, hash: u64) -> impl Iterator<Item = &OsStr> {
        let first = self.entries.partition_point(|entry| entry.hash < hash);
        let same = self.entries[first..].iter();
        same.take_while(move |entry| entry.hash == hash)
            .map(|entry| self.path(entry))
    }
}

/// Of a name that is folded already.
fn hash_of(folded: &str) -> u64 {
    xxh3_64(folded.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_by_their_last_name_in_order() {
        let mut names = Collected::default();
        for path in ["b/x.rs", "a", "a/x.rs", "x.rs", "a/y.rs"] {
            let last = path.rsplit('/').next().expect("a name");
            names.add(hash_of(last), path.as_bytes());
        }
        names.finish();
        let found: Vec<&OsStr> = names.with_hash(hash_of("x.rs")).collect();
        assert_eq!(found, ["a/x.rs", "b/x.rs", "x.rs"]);
        assert_eq!(names.with_hash(hash_of("z")).count(), 0);
    }
}
