//! The search of whole trees for the one path that ends as asked; it never runs unless a name is missing, and walks none whose names are known.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ignore::{WalkBuilder, WalkState};
use parking_lot::Mutex;

use crate::task::{Stopped, Work};

use super::access::{Access, Opened};
use super::file_system::is_remote;
use super::handle::{Handle, RealPath};
use super::names::{Collector, Names};
use super::near_names::MAX_SUGGESTIONS;
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
    names: &Names,
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
    let Some(last) = wanted.len().checked_sub(1) else {
        return Ok(Suffix::Nothing);
    };
    let search = SuffixSearch {
        access,
        wanted,
        only_directories: asked.ends_with('/'),
        work: work.within(LIMIT),
        hits: Hits::default(),
    };
    let mut complete = true;
    for (index, root) in access.roots.iter().enumerate() {
        let crossing = &access.crossing;
        let real = root.real(false, crossing);
        // Who asks has looked into it already, unless it is not to be touched.
        if !crossing.stays(&real) || is_remote(&real) {
            continue;
        }
        let mut names = names.of_root(index, work)?;
        let ends = |below: &Path| search.ends_as_asked(below);
        if let Some(places) = names.ending_in(&real, &search.wanted[last], ends, work) {
            drop(names);
            for below in places.iter().take_while(|_| search.goes_on()) {
                search.visit(below, root.spelled(), &real);
            }
        } else {
            scans.fetch_add(1, Ordering::Relaxed);
            let collector = names.collect(&real);
            search.walk(root.spelled(), &real, &collector);
            if search.work.check().is_ok() {
                names.keep(&real, collector);
            }
        }
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

struct SuffixSearch<'a> {
    access: &'a Access,
    /// The folded names of the asked path.
    wanted: Vec<Cow<'a, str>>,
    only_directories: bool,
    work: Work,
    hits: Hits,
}

impl SuffixSearch<'_> {
    fn is_full(&self) -> bool {
        self.hits.lock().len() >= MAX_SUGGESTIONS
    }

    fn goes_on(&self) -> bool {
        self.work.check().is_ok() && !self.is_full()
    }

    fn walk(&self, spelled: &Path, real: &Arc<Path>, collector: &Arc<Collector>) {
        let in_repository = real.ancestors().any(|above| above.join(".git").exists());
        let entered = collector.clone();
        let crossing = self.access.crossing.clone();
        let walk = WalkBuilder::new(real)
            .hidden(false)
            // Rules above the root count where git would read them. Elsewhere those in the root do.
            .parents(in_repository)
            .require_git(in_repository)
            .follow_links(false)
            .same_file_system(true)
            .threads(THREADS)
            // Asked of each entry before anything in it is read.
            .filter_entry(move |entry| {
                let is_noise = entry.file_name() == ".git" || entry.file_name() == "node_modules";
                if entry.depth() > 0 && is_noise {
                    return false;
                }
                if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                    // To ask which file system it is would touch it.
                    if crossing.mount_at(entry.path()).is_some() {
                        return false;
                    }
                    entered.enter(entry.path());
                }
                true
            })
            .build_parallel();
        walk.run(|| {
            Box::new(|entry| {
                // Names that are to be kept are collected to the end.
                let goes_on = self.goes_on();
                let collects = collector.is_of_use() && self.work.check().is_ok();
                if !goes_on && !collects {
                    return WalkState::Quit;
                }
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) => {
                        collector.miss(error.io_error());
                        return WalkState::Continue;
                    }
                };
                if let Ok(below) = entry.path().strip_prefix(&**real) {
                    collector.add(below);
                    if goes_on && self.ends_as_asked(below) {
                        self.visit(below, spelled, real);
                    }
                }
                WalkState::Continue
            })
        });
    }

    /// Takes an entry that ends as asked, by its path below the root, if it may be named.
    fn visit(&self, below: &Path, spelled: &Path, real: &Path) {
        let path = real.join(below);
        if !self.access.crossing.stays(&path) {
            return;
        }
        let Ok(Opened::Here(handle)) = self.access.open(&path, "") else {
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
