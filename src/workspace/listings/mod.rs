//! What directories list, in the form in which names are compared; kept where a name was missing, for the next that is missing there. No listing is ever as old as the last change of a name in it.
//!
//! A directory that is listed here is watched from before it is read. The system puts what happens
//! to a name into the watch's queue before whoever did it goes on, and every look at what is kept
//! reads that queue first: a directory in which anything came, went or was renamed is listed again.
//! Names are kept as they are listed, unjudged. Where the system does not tell, and where somebody
//! else looks at the same moment, the directory is read as it always was.

#[cfg(not(target_os = "linux"))]
mod unwatched;
#[cfg(target_os = "linux")]
mod watched;

use std::sync::Arc;

use parking_lot::Mutex;

use crate::task::{Stopped, Work};

use super::handle::{FileType, Handle};
use super::near_names::PlainName;

#[cfg(not(target_os = "linux"))]
use unwatched::Watches;
#[cfg(target_os = "linux")]
use watched::Watches;

/// Entries of one directory that are looked at; a name past these is not found.
const MAX_ENTRIES: usize = 100_000;

/// Directories whose names are kept, of one scope.
const MAX_DIRECTORIES: usize = 64;

/// Bytes that all that is kept may take: some 60,000 names.
const MAX_BYTES: usize = 8 << 20;

/// The names in one directory that are UTF-8, in no order. None of them is judged.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) names: Vec<ListedName>,
}

/// One of them, as it is listed and as it is compared.
#[derive(Debug)]
pub(super) struct ListedName {
    pub(super) listed: String,
    pub(super) plain: PlainName,
}

impl Listing {
    pub(super) fn of(names: impl IntoIterator<Item = String>) -> Listing {
        let name = |listed: String| ListedName {
            plain: PlainName::of(&listed),
            listed,
        };
        Listing {
            names: names.into_iter().map(name).collect(),
        }
    }

    fn bytes(&self) -> usize {
        let texts = self.names.iter();
        let texts: usize = texts.map(|name| 2 * name.listed.len()).sum();
        texts + self.names.len() * size_of::<ListedName>()
    }
}

/// The directories that were listed last.
#[derive(Debug)]
pub(super) struct Listings {
    may_watch: bool,
    kept: Mutex<KeptListings>,
}

#[derive(Debug, Default)]
struct KeptListings {
    watches: Watches,
    /// The one that was asked for last is the last.
    directories: Vec<Directory>,
}

#[derive(Debug)]
struct Directory {
    /// Device and inode, which no other directory has while this one is watched.
    identity: (u64, u64),
    watch: i32,
    bytes: usize,
    listing: Arc<Listing>,
}

impl Listings {
    /// Does no I/O.
    pub(super) fn new(may_watch: bool) -> Listings {
        Listings {
            may_watch,
            kept: Mutex::default(),
        }
    }

    /// The names in an opened directory; none where it cannot be listed. Errors when the work is
    /// stopped.
    pub(super) fn of(&self, directory: &Handle, work: &Work) -> Result<Arc<Listing>, Stopped> {
        if directory.file_type() != FileType::Directory {
            return Ok(Arc::default());
        }
        // Whoever holds it lists a directory, which may be a large one.
        let kept = self.may_watch.then(|| self.kept.try_lock()).flatten();
        let Some(mut kept) = kept else {
            return Ok(Arc::new(read(directory, work)?.unwrap_or_default()));
        };
        kept.take_news();
        let stamp = directory.stamp();
        let identity = (stamp.dev, stamp.ino);
        if let Some(listing) = kept.find(identity) {
            return Ok(listing);
        }
        let watch = kept.watches.add(directory);
        let read = read(directory, work);
        let fits = |it: &Listing| it.names.len() < MAX_ENTRIES && it.bytes() <= MAX_BYTES;
        let is_kept = matches!(&read, Ok(Some(listing)) if fits(listing));
        let listing = read.map(|listing| Arc::new(listing.unwrap_or_default()));
        match (watch, &listing) {
            (Some(watch), Ok(listing)) if is_kept => kept.keep(identity, watch, listing.clone()),
            (Some(watch), _) => kept.watches.remove(watch),
            (None, _) => {}
        }
        listing
    }
}

impl KeptListings {
    /// Drops what is not so any more.
    fn take_news(&mut self) {
        match self.watches.changed() {
            Some(changed) => {
                for watch in changed {
                    self.directories.retain(|it| it.watch != watch);
                    self.watches.remove(watch);
                }
            }
            None => *self = KeptListings::default(),
        }
    }

    fn find(&mut self, identity: (u64, u64)) -> Option<Arc<Listing>> {
        let directories = self.directories.iter();
        let at = directories
            .into_iter()
            .position(|it| it.identity == identity)?;
        let found = self.directories.remove(at);
        let listing = found.listing.clone();
        self.directories.push(found);
        Some(listing)
    }

    fn keep(&mut self, identity: (u64, u64), watch: i32, listing: Arc<Listing>) {
        let bytes = listing.bytes();
        self.directories.push(Directory {
            identity,
            watch,
            bytes,
            listing,
        });
        let held = |kept: &KeptListings| kept.directories.iter().map(|it| it.bytes).sum::<usize>();
        while self.directories.len() > MAX_DIRECTORIES || held(self) > MAX_BYTES {
            let oldest = self.directories.remove(0);
            self.watches.remove(oldest.watch);
        }
    }
}

/// `None` where it cannot be listed.
fn read(directory: &Handle, work: &Work) -> Result<Option<Listing>, Stopped> {
    let names = directory.names(MAX_ENTRIES, || work.check().is_ok());
    work.check()?;
    let utf8 = |names: Vec<std::ffi::OsString>| {
        let names = names.into_iter().filter_map(|name| name.into_string().ok());
        Listing::of(names)
    };
    Ok(names.ok().map(utf8))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::time::Duration;

    use crate::task::CancelToken;

    use super::super::handle::Unjudged;
    use super::*;

    fn list(listings: &Listings, directory: &Path) -> Arc<Listing> {
        let opened = Unjudged::open(directory).expect("it is there");
        let work = Work::new(CancelToken::new(), Duration::from_secs(60));
        let listing = listings.of(&opened.allowed(directory), &work);
        listing.expect("nothing stops it")
    }

    fn names(listing: &Listing) -> Vec<&str> {
        let mut names: Vec<&str> = listing.names.iter().map(|it| &*it.listed).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn a_directory_is_listed_again_when_a_name_in_it_changed_and_only_then() {
        let tree = tempfile::tempdir().expect("a directory");
        let at = |name: &str| tree.path().join(name);
        let write = |name: &str| fs::write(at(name), "text").expect("written");
        for name in ["a", "b", "d/x", "e/y"] {
            fs::create_dir_all(at(name).parent().expect("one")).expect("made");
            write(name);
        }
        let listings = Listings::new(true);
        let here = || list(&listings, tree.path());
        let mut before = here();
        let changes: [(&dyn Fn(), &[&str]); 6] = [
            (&|| write("c"), &["a", "b", "c", "d", "e"]),
            (
                &|| fs::remove_file(at("b")).expect("removed"),
                &["a", "c", "d", "e"],
            ),
            (
                &|| fs::rename(at("c"), at("f")).expect("renamed"),
                &["a", "d", "e", "f"],
            ),
            (
                &|| fs::rename(at("f"), at("d/f")).expect("moved out"),
                &["a", "d", "e"],
            ),
            (
                &|| fs::rename(at("d"), at("g")).expect("renamed"),
                &["a", "e", "g"],
            ),
            (
                &|| fs::create_dir(at("h")).expect("made"),
                &["a", "e", "g", "h"],
            ),
        ];
        for (change, expected) in changes {
            // What becomes of a file but for its name is no news, nor is anything elsewhere.
            write("a");
            fs::set_permissions(at("a"), fs::Permissions::from_mode(0o600)).expect("set");
            write("e/z");
            assert!(Arc::ptr_eq(&before, &here()), "{expected:?}");
            change();
            let now = here();
            assert_eq!(names(&now), expected);
            before = now;
        }
        // Another directory under the same name, and the first under another.
        assert_eq!(names(&list(&listings, &at("g"))), ["f", "x"]);
        fs::rename(at("g"), at("i")).expect("renamed");
        fs::rename(at("e"), at("g")).expect("renamed");
        assert_eq!(names(&list(&listings, &at("g"))), ["y", "z"]);
        assert_eq!(names(&list(&listings, &at("i"))), ["f", "x"]);
    }

    #[test]
    fn few_directories_are_kept_and_none_where_none_may_be_watched() {
        let tree = tempfile::tempdir().expect("a directory");
        let at = |number: usize| tree.path().join(number.to_string());
        for number in 0..3 * MAX_DIRECTORIES {
            fs::create_dir(at(number)).expect("made");
        }
        let (listings, without) = (Listings::new(true), Listings::new(false));
        let first = list(&listings, &at(0));
        for number in 0..3 * MAX_DIRECTORIES {
            list(&listings, &at(number));
            list(&without, &at(number));
            assert!(Arc::ptr_eq(&first, &list(&listings, &at(0))), "used last");
        }
        assert_eq!(listings.kept.lock().directories.len(), MAX_DIRECTORIES);
        assert_eq!(without.kept.lock().directories.len(), 0);
    }
}
