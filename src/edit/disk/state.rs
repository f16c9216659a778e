//! The daemon's own directory: where writes are noted and locked; nothing of the user's is ever put beside its own files.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::error::errno_of;

/// What is kept apart in the state directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// One file for each write that is under way, and some for those that come.
    Journals,
    /// The files that are locked, by a number.
    Locks,
    /// Texts of files that are being overwritten.
    Copies,
}

impl Room {
    fn name(self) -> &'static str {
        match self {
            Room::Journals => "writes",
            Room::Locks => "locks",
            Room::Copies => "copies",
        }
    }
}

/// The state directory, made when it is first needed.
#[derive(Debug)]
pub(super) struct StateDirectory {
    wanted: Option<PathBuf>,
    /// Journals of writes that are done, which say nothing now, for the next ones: making a file and
    /// removing it costs as much as the flush of a small text.
    idle_journals: Mutex<Vec<JournalFile>>,
}

/// A journal's file, which this process has locked.
#[derive(Debug)]
pub(super) struct JournalFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
}

/// Idle journals that are kept.
const IDLE_NOTES: usize = 4;

impl StateDirectory {
    pub(super) fn new(wanted: Option<PathBuf>) -> StateDirectory {
        StateDirectory {
            wanted,
            idle_journals: Mutex::default(),
        }
    }

    /// A journal's file that no write uses any more and that is still in its place.
    pub(super) fn take_idle_journal(&self) -> Option<JournalFile> {
        let mut idle = self.idle_journals.lock();
        std::iter::from_fn(|| idle.pop()).find(|journal| {
            let metadata = journal.file.metadata();
            // Another user of this process could not flush the directory that it is in.
            let user = rustix::process::geteuid().as_raw();
            metadata.is_ok_and(|metadata| metadata.nlink() > 0 && metadata.uid() == user)
        })
    }

    /// Keeps one for a later write; gives it back where there are enough.
    pub(super) fn keep_idle_journal(&self, journal: JournalFile) -> Option<JournalFile> {
        let mut idle = self.idle_journals.lock();
        if idle.len() >= IDLE_NOTES {
            return Some(journal);
        }
        idle.push(journal);
        None
    }

    /// Where state may be: the place that was asked for and, for a home that cannot be written
    /// to, a private one among the temporary files.
    pub(super) fn places(&self) -> impl Iterator<Item = PathBuf> {
        let user = rustix::process::geteuid().as_raw();
        let spare = std::env::temp_dir().join(format!("pilcrow-{user}"));
        self.wanted.clone().into_iter().chain([spare])
    }

    /// Opens or makes a file of a room, for this user alone; also gives its path.
    ///
    /// Errors with those of the place that was asked for.
    pub(super) fn open(
        &self,
        room: Room,
        name: &str,
        flags: OFlags,
    ) -> io::Result<(File, PathBuf)> {
        let mut first = None;
        for (number, place) in self.places().enumerate() {
            let is_spare = number > 0 || self.wanted.is_none();
            match open_at(&place, is_spare, room, name, flags) {
                Ok(opened) => return Ok(opened),
                Err(error) if is_closed(&error) => first = first.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        Err(first.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    /// The files of a room in every place, none where there is none.
    pub(super) fn list(&self, room: Room) -> Vec<PathBuf> {
        let in_place = |place: PathBuf| {
            let entries = std::fs::read_dir(place.join(room.name())).ok();
            entries.into_iter().flatten().flatten()
        };
        let mut files: Vec<PathBuf> = self
            .places()
            .filter(|place| is_ours(place))
            .flat_map(in_place)
            .map(|entry| entry.path())
            .collect();
        files.sort();
        files
    }
}

impl Drop for StateDirectory {
    fn drop(&mut self) {
        for journal in self.idle_journals.get_mut().drain(..) {
            // One that stays says nothing, and goes with the next start.
            let _ = std::fs::remove_file(&journal.path);
        }
    }
}

fn open_at(
    place: &Path,
    is_spare: bool,
    room: Room,
    name: &str,
    flags: OFlags,
) -> io::Result<(File, PathBuf)> {
    // Anybody may make a directory of that name among the temporary files.
    if is_spare && !is_ours(place) {
        make(place)?;
        if !is_ours(place) {
            return Err(Errno::ACCESS.into());
        }
    }
    let folder = place.join(room.name());
    let path = folder.join(name);
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let open = || rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600));
    let file = match open() {
        Err(Errno::NOENT) if flags.contains(OFlags::CREATE) => {
            make(&folder)?;
            open()
        }
        outcome => outcome,
    }?;
    Ok((file.into(), path))
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Whether it is a directory of this user's that nobody else can change.
fn is_ours(place: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    std::fs::symlink_metadata(place).is_ok_and(|metadata| {
        metadata.is_dir() && metadata.uid() == user && metadata.mode() & 0o022 == 0
    })
}

/// Whether nothing can be made there at all, as in a home that is only for reading.
fn is_closed(error: &io::Error) -> bool {
    matches!(
        errno_of(error),
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::NOTDIR | Errno::NOENT)
    )
}

/// Flushes the directory that holds `path`, so that a power cut does not take the name along.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}
