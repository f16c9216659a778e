//! Names that a killed process was changing, by its journal: which of them are changed, and the way back; nothing is moved that is another file by now.

use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;

use super::error::FileError;
use super::journal::JournalEntry;
use super::metadata::Inode;
use super::recovery::{Recovery, Whereabouts};
use super::rename::{inode_at, rename};
use super::write_step::WriteStep;

/// One name of a write, by the journal.
#[derive(Debug)]
pub(super) struct NoteOfName<'a> {
    pub(super) path: &'a Path,
    pub(super) to: &'a Path,
    inode: Inode,
    is_deletion: bool,
    pub(super) is_done: bool,
    /// It has neither of the names that it should have.
    pub(super) is_elsewhere: bool,
}

impl Recovery<'_> {
    /// What became of the names that a journal is about, in its order; `None` where that cannot be
    /// seen from these roots.
    pub(super) fn names<'a>(&mut self, entries: &'a [JournalEntry]) -> Option<Vec<NoteOfName<'a>>> {
        let mut names: Vec<NoteOfName> = Vec::new();
        for entry in entries.iter().rev() {
            let (path, to, inode, is_deletion) = match entry {
                JournalEntry::Moved { path, to, inode } => (path, to, *inode, false),
                JournalEntry::Deleted { path, to, inode } => (path, to, *inode, true),
                _ => continue,
            };
            let at = |path: &Path| self.inode_at(path);
            let before = at(path)? == Some(inode);
            let mut after = at(to)? == Some(inode);
            if before && after && !is_one_name(path, to) {
                // It was to lose the first of two names; nobody was told that it has the second.
                self.remove(to, AtFlags::empty());
                after = false;
            }
            // What went on from there was there.
            let went_on = names.iter().any(|next| next.path == to && next.is_done);
            names.push(NoteOfName {
                path,
                to,
                inode,
                is_deletion,
                is_done: after || went_on,
                is_elsewhere: !before && !after && !went_on,
            });
        }
        names.reverse();
        for at in 0..names.len() {
            let path = names[at].path;
            if names.iter().any(|first| first.to == path) {
                // Its turn comes when the file is there.
                names[at].is_elsewhere = false;
            } else if names[at].is_elsewhere {
                names[at].is_done = true;
                // What was deleted went when all was done.
                names[at].is_elsewhere = !names[at].is_deletion;
            }
        }
        Some(names)
    }

    /// `None` where it cannot be reached, or not in these roots.
    fn inode_at(&self, path: &Path) -> Option<Option<Inode>> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Some(None);
        };
        match self.folder(parent) {
            Whereabouts::Here(folder) => inode_at(&folder, name).ok(),
            Whereabouts::Gone => Some(None),
            Whereabouts::Closed => None,
        }
    }

    /// Where a file is now that had this path before the write.
    pub(super) fn place_now(&self, path: &Path, names: &[NoteOfName]) -> PathBuf {
        let mut at = path;
        for name in names
            .iter()
            .filter(|name| !name.is_deletion && name.is_done)
        {
            if name.path == at {
                at = name.to;
            }
        }
        at.to_path_buf()
    }

    /// Gives back the names that were changed, the last first.
    ///
    /// Errors with why that could not be.
    pub(super) fn names_back(&self, names: &[NoteOfName]) -> Result<(), String> {
        let mut changed = names.iter().rev();
        changed.try_for_each(|name| match name.is_done && !name.is_elsewhere {
            true => self.name_back(name),
            false => Ok(()),
        })
    }

    fn name_back(&self, note: &NoteOfName) -> Result<(), String> {
        // A deleted file that is nowhere went when the write was done.
        if self.inode_at(note.to).flatten() != Some(note.inode) {
            return Err(format!("{} is gone", note.to.display()));
        }
        let parts =
            |path: &'_ Path| Some((path.parent()?.to_path_buf(), path.file_name()?.to_owned()));
        let (Some((from, name)), Some((to, old))) = (parts(note.to), parts(note.path)) else {
            return Ok(());
        };
        let folder = |path: &Path| match self.folder(path) {
            Whereabouts::Here(folder) => Ok(folder),
            Whereabouts::Gone | Whereabouts::Closed => {
                Err(format!("{} cannot be reached", path.display()))
            }
        };
        let (from, to) = (folder(&from)?, folder(&to)?);
        let back = rename((&from, &name), (&to, &old), WriteStep::Rollback);
        back.map_err(|fault| match fault {
            FileError::Exists => format!("something else is at {}", note.path.display()),
            fault => fault.of(0).to_string(),
        })
    }

    /// Removes what was deleted by a write that is done, and still has the name of a temporary.
    pub(super) fn remove_deleted(&mut self, entries: &[JournalEntry]) {
        for entry in entries {
            let JournalEntry::Deleted { to, inode, .. } = entry else {
                continue;
            };
            match self.inode_at(to) {
                Some(Some(now)) if now == *inode => self.remove_temporary(to),
                Some(_) => {}
                None => self.is_left = true,
            }
        }
    }
}

/// Whether the two may be one name to a file system that tells no case.
fn is_one_name(path: &Path, other: &Path) -> bool {
    let folded = |path: &Path| path.to_string_lossy().to_lowercase();
    folded(path) == folded(other)
}
