//! What a write made on its way and must take along when it ends, well or badly; never a file that it did not note.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::workspace::Folder;

use super::error::{FileError, attempt, errno_of};
use super::journal::{Journal, JournalEntry};
use super::write_step::WriteStep;

/// The journal of a write and all that it says. Cleared when dropped, should a step panic.
#[derive(Debug)]
pub(super) struct Cleanup {
    journal: Journal,
    temporaries: Vec<(Arc<Folder>, OsString)>,
    directories: Vec<(Arc<Folder>, OsString)>,
    copies: Vec<PathBuf>,
    /// Files that are deleted, under names of temporaries: they go when all is done, and not before.
    aside: Vec<(Arc<Folder>, OsString)>,
    /// Something is left for the next start, so the journal is too.
    is_left: bool,
    is_cleared: bool,
}

impl Cleanup {
    pub(super) fn new(journal: Journal) -> Cleanup {
        Cleanup {
            journal,
            temporaries: Vec::new(),
            directories: Vec::new(),
            copies: Vec::new(),
            aside: Vec::new(),
            is_left: false,
            is_cleared: false,
        }
    }

    /// Writes down what is about to be done.
    pub(super) fn note(&mut self, entry: &JournalEntry) -> Result<(), FileError> {
        self.journal.add(entry)
    }

    /// Makes the journal outlive a power cut.
    pub(super) fn sync_journal(&mut self) -> Result<(), FileError> {
        self.journal.sync()
    }

    pub(super) fn made_temporary(&mut self, folder: Arc<Folder>, name: OsString) {
        self.temporaries.push((folder, name));
    }

    pub(super) fn made_directory(&mut self, folder: Arc<Folder>, name: OsString) {
        self.directories.push((folder, name));
    }

    pub(super) fn made_copy(&mut self, path: PathBuf) {
        self.copies.push(path);
    }

    /// The directories that were made, by their parents.
    pub(super) fn parents_of_directories(&self) -> Vec<Arc<Folder>> {
        let parents = self.directories.iter();
        parents.map(|(parent, _)| parent.clone()).collect()
    }

    /// A temporary that holds what somebody else wrote meanwhile stays where it is.
    pub(super) fn leave_temporary(&mut self, name: &OsStr) {
        self.temporaries.retain(|(_, known)| known != name);
    }

    /// A file that is deleted has this name now.
    pub(super) fn put_aside(&mut self, folder: Arc<Folder>, name: OsString) {
        self.aside.push((folder, name));
    }

    /// It is not there any more, or somebody else's.
    pub(super) fn leave_aside(&mut self, name: &OsStr) {
        self.aside.retain(|(_, known)| known != name);
    }

    /// It could not be put back, and is what was to go.
    pub(super) fn go_with_the_rest(&mut self, name: &OsStr) {
        let (gone, aside) = self.aside.drain(..).partition(|(_, known)| known == name);
        self.aside = aside;
        let mut gone: Vec<_> = gone;
        self.temporaries.append(&mut gone);
    }

    /// After a write that went well: what is deleted goes with the temporaries.
    pub(super) fn let_deleted_go(&mut self) {
        self.temporaries.append(&mut self.aside);
    }

    /// The journal and the copies stay, for the next start to put a file right.
    pub(super) fn leave_for_next_start(&mut self) {
        self.is_left = true;
        self.copies.clear();
    }

    /// After a write that went well: the directories stay.
    pub(super) fn keep_directories(&mut self) {
        self.directories.clear();
    }

    /// Removes it all. What cannot be removed stays noted, for the next start.
    pub(super) fn clear(&mut self) {
        self.is_cleared = true;
        // A step has panicked between two files: the next start knows what is to become of them.
        self.is_left |= !self.aside.is_empty();
        for (folder, name) in self.temporaries.drain(..) {
            let removed = attempt(WriteStep::Remove, || {
                rustix::fs::unlinkat(&folder, &name, AtFlags::empty())
            });
            self.is_left |= is_failure(removed);
        }
        for (folder, name) in self.directories.drain(..).rev() {
            let removed = attempt(WriteStep::Remove, || {
                rustix::fs::unlinkat(&folder, &name, AtFlags::REMOVEDIR)
            });
            self.is_left |= is_failure(removed);
        }
        for copy in self.copies.drain(..) {
            let removed = attempt(WriteStep::Remove, || std::fs::remove_file(&copy));
            self.is_left |= is_failure(removed);
        }
        if !self.is_left {
            // A journal of nothing does no harm.
            let _ = self.journal.end();
        }
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        if !self.is_cleared {
            self.clear();
        }
    }
}

/// Gone by now is as good, and a directory in which somebody made something is not ours alone.
pub(super) fn is_failure(removed: io::Result<()>) -> bool {
    let Err(error) = removed else {
        return false;
    };
    !matches!(
        errno_of(&error),
        Some(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR)
    )
}
