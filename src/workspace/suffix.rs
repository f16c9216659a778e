//! The search of whole trees for the one path that ends as asked; it never runs unless a name is missing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;

use crate::task::{Stopped, Work};

use super::access::{Access, Opened};
use super::handle::{Handle, RealPath};
use super::resolve::MAX_SUGGESTIONS;
use super::spelling::{fold, normalise};

/// How long a search may take; the contract names this figure.
const LIMIT: Duration = Duration::from_secs(5);

/// Threads of one walk.
const THREADS: usize = 2;

/// What a search found, all of it judged. Places are below a root's spelling.
#[derive(Debug)]
pub(super) enum Suffix {
    Unique(Handle, PathBuf),
    /// More than one, or one that may not be the only one; at most three.
    Several(Vec<PathBuf>),
    Nothing,
}

/// The files found so far, each once, however many of its names match.
type Hits = Mutex<BTreeMap<RealPath, (Handle, PathBuf)>>;

/// Walks the roots for entries whose last names are those of `asked`, a relative path.
///
/// Errors when the work is cancelled or out of time; the search's own limit only makes what was
/// found a suggestion. `scans` is raised by one for each walk.
pub(super) fn search(
    access: &Access,
    asked: &str,
    work: &Work,
    scans: &AtomicU64,
) -> Result<Suffix, Stopped> {
    let plain = normalise(Path::new(asked));
    let wanted: Vec<Cow<'_, str>> = plain
        .iter()
        .filter_map(|name| name.to_str())
        .map(fold)
        .collect();
    if wanted.is_empty() {
        return Ok(Suffix::Nothing);
    }
    let search = Search {
        access,
        wanted,
        only_directories: asked.ends_with('/'),
        work: work.within(LIMIT),
        hits: Hits::default(),
    };
    let mut complete = true;
    for root in access.roots.iter() {
        let real = root.real(false);
        if is_remote(&real) {
            continue;
        }
        scans.fetch_add(1, Ordering::Relaxed);
        search.walk(root.spelled(), &real);
        work.check()?;
        complete &= search.work.check().is_ok();
        if search.is_full() {
            break;
        }
    }
    let mut hits: Vec<_> = search.hits.into_inner().into_values().collect();
    if hits.len() == 1
        && complete
        && let Some((handle, place)) = hits.pop()
    {
        return Ok(Suffix::Unique(handle, place));
    }
    let mut places: Vec<PathBuf> = hits.into_iter().map(|(_, place)| place).collect();
    places.sort();
    Ok(match places.is_empty() {
        true => Suffix::Nothing,
        false => Suffix::Several(places),
    })
}

struct Search<'a> {
    access: &'a Access,
    /// The folded names of the asked path.
    wanted: Vec<Cow<'a, str>>,
    only_directories: bool,
    work: Work,
    hits: Hits,
}

impl Search<'_> {
    fn is_full(&self) -> bool {
        self.hits.lock().len() >= MAX_SUGGESTIONS
    }

    fn walk(&self, spelled: &Path, real: &Arc<Path>) {
        let in_repository = real.ancestors().any(|above| above.join(".git").exists());
        let walk = WalkBuilder::new(real)
            .hidden(false)
            // Rules above the root count where git would read them. Elsewhere those in the root do.
            .parents(in_repository)
            .require_git(in_repository)
            .follow_links(false)
            .same_file_system(true)
            .threads(THREADS)
            .filter_entry(|entry| {
                entry.depth() == 0
                    || (entry.file_name() != ".git" && entry.file_name() != "node_modules")
            })
            .build_parallel();
        walk.run(|| {
            Box::new(|entry| {
                if self.work.check().is_err() || self.is_full() {
                    return WalkState::Quit;
                }
                if let Ok(entry) = entry {
                    self.visit(&entry, spelled, real);
                }
                WalkState::Continue
            })
        });
    }

    fn visit(&self, entry: &DirEntry, spelled: &Path, real: &Path) {
        let Ok(below) = entry.path().strip_prefix(real) else {
            return;
        };
        if !self.ends_as_asked(below) {
            return;
        }
        let Ok(Opened::Here(handle)) = self.access.open(entry.path(), "") else {
            return;
        };
        if self.only_directories && handle.file_type() != super::FileType::Directory {
            return;
        }
        let place = spelled.join(below);
        let mut hits = self.hits.lock();
        let shorter = |known: &(Handle, PathBuf)| {
            (known.1.as_os_str().len(), &known.1) <= (place.as_os_str().len(), &place)
        };
        if !hits.get(handle.real()).is_some_and(shorter) {
            hits.insert(handle.real().clone(), (handle, place));
        }
    }

    fn ends_as_asked(&self, below: &Path) -> bool {
        let mut names = below.iter().rev();
        self.wanted.iter().rev().all(|wanted| {
            let name = names.next().and_then(|name| name.to_str());
            name.is_some_and(|name| fold(name) == *wanted)
        })
    }
}

/// Whether a walk of this folder would go over a network.
#[cfg(target_os = "linux")]
fn is_remote(folder: &Path) -> bool {
    const FUSE: u32 = 0x6573_5546;
    // From linux/magic.h and the file systems' own headers: NFS, SMB, CIFS, SMB2, 9P, AFS, kAFS,
    // Coda, Ceph, NCP, Lustre, GPFS.
    const REMOTE: [u32; 12] = [
        0x6969,
        0x517B,
        0xFF53_4D42,
        0xFE53_4D42,
        0x0102_1997,
        0x5346_414F,
        0x6B41_4653,
        0x7375_7245,
        0x00C3_6400,
        0x564C,
        0x0BD0_0BD0,
        0x4750_4653,
    ];
    let Ok(system) = rustix::fs::statfs(folder) else {
        return false;
    };
    // The field's width differs between machines; magic numbers have 32 bits.
    let magic = (i128::from(system.f_type) & 0xFFFF_FFFF) as u32;
    REMOTE.contains(&magic) || (magic == FUSE && !is_local_fuse(folder))
}

/// FUSE has one magic number for sshfs and for the host folders of a virtual machine; the mount
/// table tells them apart.
#[cfg(target_os = "linux")]
fn is_local_fuse(folder: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounts = table.lines().filter_map(|line| {
        // https://docs.kernel.org/filesystems/proc.html#proc-pid-mountinfo
        let (place, kind) = line.split_once(" - ")?;
        let point = place.split(' ').nth(4)?;
        folder
            .starts_with(point)
            .then(|| (point.len(), kind.split(' ').next()))
    });
    let nearest = mounts.max_by_key(|(length, _)| *length);
    matches!(
        nearest,
        Some((_, Some("virtiofs" | "fuseblk" | "fuse.grpcfuse")))
    )
}

#[cfg(target_os = "macos")]
fn is_remote(folder: &Path) -> bool {
    const MNT_LOCAL: u32 = 0x1000;
    rustix::fs::statfs(folder).is_ok_and(|system| system.f_flags & MNT_LOCAL == 0)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn is_remote(_: &Path) -> bool {
    false
}
