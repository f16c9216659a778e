//! What killed processes left behind, by their journals; nothing is removed that was not noted, and nothing that somebody else wrote since.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FlockOperation, OFlags};

use crate::protocol::Refusal;
use crate::task::{CancelToken, Work};
use crate::workspace::{FileType, Folder, Handle, Scope};

use super::cleanup::is_failure;
use super::content::{Planned, read_all};
use super::error::FileError;
use super::in_place::Overwritten;
use super::journal::{JournalEntry, WriterProcess, read_entries};
use super::lock::{LockTarget, Locks};
use super::metadata::FileMetadata;
use super::stage::mark_of;
use super::state::Room;
use super::write_step::WriteStep;
use super::{DiskWriter, LOCK_WAIT};

/// The unit in which a disk writes, at the least: after a power cut each is the old one or the new.
const SECTOR: usize = 512;

/// Works through the journals of dead processes; gives back what could not be done.
pub(super) fn clean(writer: &DiskWriter, scope: &Scope) -> Vec<String> {
    let mut problems = Vec::new();
    for path in writer.state.list(Room::Journals) {
        let Some(dead) = WriterProcess::of_journal(&path).filter(|process| !process.is_alive())
        else {
            continue;
        };
        let mut recovery = Recovery {
            writer,
            scope,
            dead,
            is_left: false,
            problems: Vec::new(),
        };
        if let Err(error) = recovery.journal(&path) {
            let path = path.display();
            problems.push(format!(
                "The note {path} could not be worked through: {error}"
            ));
        }
        problems.append(&mut recovery.problems);
    }
    problems
}

/// A journal that is being worked through.
pub(super) struct Recovery<'a> {
    pub(super) writer: &'a DiskWriter,
    pub(super) scope: &'a Scope,
    /// Whose journal it is.
    dead: WriterProcess,
    /// Something is in none of these roots, or could not be removed: the journal stays.
    pub(super) is_left: bool,
    pub(super) problems: Vec<String>,
}

/// What became of a place since it was noted.
pub(super) enum Whereabouts<T> {
    Here(T),
    Gone,
    /// It cannot be reached, or not in these roots.
    Closed,
}

impl Recovery<'_> {
    fn journal(&mut self, path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        // A living process in another container cannot be seen, but it holds its lock.
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        let entries = read_entries(&read_all(&file)?);
        let done = entries.map_or(Ok(()), |entries| self.entries(path, &entries));
        // A child that is just being started may have it open too.
        let _ = rustix::fs::flock(&file, FlockOperation::Unlock);
        done
    }

    fn entries(&mut self, journal: &Path, entries: &[JournalEntry]) -> io::Result<()> {
        let not_made: HashSet<&PathBuf> = entries
            .iter()
            .filter_map(|entry| match entry {
                JournalEntry::NotMade { path } => Some(path),
                _ => None,
            })
            .collect();
        let mut copies = Vec::new();
        for entry in entries {
            if let JournalEntry::Overwritten {
                path,
                copy,
                old,
                new,
            } = entry
            {
                copies.extend(self.overwritten(path, copy, (old, new)));
            }
        }
        if !self.settle(entries) {
            return Ok(());
        }
        for copy in copies {
            let _ = std::fs::remove_file(&copy);
        }
        for entry in entries {
            match entry {
                JournalEntry::Temporary { path, .. } if !not_made.contains(path) => {
                    self.temporary(entry, path);
                }
                _ => {}
            }
        }
        self.remove_deleted(entries);
        for entry in entries.iter().rev() {
            if let JournalEntry::Directory { path } = entry {
                self.remove(path, AtFlags::REMOVEDIR);
            }
        }
        match self.is_left {
            true => Ok(()),
            false => std::fs::remove_file(journal),
        }
    }

    fn temporary(&mut self, entry: &JournalEntry, path: &Path) {
        if !self.is_marked(path) {
            return;
        }
        if self.is_somebody_elses(entry) {
            self.problems.push(format!(
                "{} holds what another program wrote while its file was being edited; it was kept.",
                path.display()
            ));
            return;
        }
        self.remove(path, AtFlags::empty());
    }

    /// Whether a name is one that the dead process gave to temporaries.
    fn is_marked(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let mark = mark_of(self.dead.process);
        memchr::memmem::find(name, mark.as_bytes()).is_some() && name.first() == Some(&b'.')
    }

    /// Removes a file under a name of the dead process's temporaries.
    pub(super) fn remove_temporary(&mut self, path: &Path) {
        if self.is_marked(path) {
            self.remove(path, AtFlags::empty());
        }
    }

    /// Whether the process died between exchanging a file that had just been changed by somebody
    /// else and exchanging it back: the temporary is neither the old text nor a part of the new.
    fn is_somebody_elses(&self, entry: &JournalEntry) -> bool {
        let JournalEntry::Temporary {
            path,
            target,
            old: Some(old),
            new,
        } = entry
        else {
            return false;
        };
        let bytes = |path: &Path| match self.open(path) {
            Whereabouts::Here(handle) => read_all(&handle.open_read().ok()?).ok(),
            Whereabouts::Gone | Whereabouts::Closed => None,
        };
        let (Some(target), Some(temporary)) = (bytes(target), bytes(path)) else {
            return false;
        };
        Planned::of(&target) == *new
            && Planned::of(&temporary) != *old
            && !target.starts_with(&temporary)
    }

    pub(super) fn remove(&mut self, path: &Path, flags: AtFlags) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        match self.folder(parent) {
            Whereabouts::Gone => {}
            Whereabouts::Closed => self.is_left = true,
            Whereabouts::Here(folder) => {
                let removed = rustix::fs::unlinkat(&folder, name, flags);
                let removed = removed.map_err(io::Error::from);
                let text = removed.as_ref().map_err(ToString::to_string).err();
                if is_failure(removed) {
                    self.is_left = true;
                    let text = text.unwrap_or_default();
                    let path = path.display();
                    self.problems
                        .push(format!("{path} could not be removed: {text}"));
                }
            }
        }
    }

    /// Puts a file right that is neither wholly old nor wholly new. Gives the path of its copy when
    /// the file does not need that any more.
    fn overwritten(
        &mut self,
        path: &Path,
        copy: &str,
        planned: (&Planned, &Planned),
    ) -> Option<PathBuf> {
        // A copy that is not whole was never relied on.
        let (copy, old, new) = self.copy_of(copy, planned)?;
        let handle = match self.open(path) {
            Whereabouts::Here(handle) if handle.file_type() == FileType::Regular => Some(handle),
            Whereabouts::Here(_) | Whereabouts::Gone => None,
            Whereabouts::Closed => {
                self.is_left = true;
                return None;
            }
        };
        let restored = match &handle {
            Some(handle) => self.restore(handle, planned, (&old, &new)),
            None => Ok(true),
        };
        match restored {
            Ok(true) => return Some(copy),
            Ok(false) => {
                self.is_left = true;
                self.problems.push(format!(
                    "{} was changed after a write to it was cut short; what it held before is at the beginning of {}",
                    path.display(),
                    copy.display()
                ));
            }
            Err(fault) => {
                self.is_left = true;
                let error = fault.of(0);
                let path = path.display();
                self.problems
                    .push(format!("{path} could not be put right: {error}"));
            }
        }
        None
    }

    /// `false` for a file that holds something else altogether.
    fn restore(
        &self,
        handle: &Handle,
        (old, new): (&Planned, &Planned),
        (old_bytes, new_bytes): (&[u8], &[u8]),
    ) -> Result<bool, FileError> {
        let io = |error| FileError::Io(WriteStep::Open, error);
        let file = handle.open_read().map_err(io)?;
        let (file, _locks) = self.locked(handle, file)?;
        if old.is_in(&file).map_err(io)? || new.is_in(&file).map_err(io)? {
            return Ok(true);
        }
        let bytes = read_all(&file).map_err(io)?;
        if is_half_written(&bytes, old_bytes, new_bytes) {
            let target = handle.open_write().map_err(io)?;
            let target = Overwritten::new(file, target, bytes.len() as u64);
            target.put(old_bytes, WriteStep::Rollback)?;
            return Ok(true);
        }
        // Whole, and somebody added to it since. A longer old text may be left behind a new one.
        Ok(bytes.starts_with(old_bytes)
            || bytes.starts_with(new_bytes) && new_bytes.len() >= old_bytes.len())
    }

    /// Locks a file, opened from `handle`.
    pub(super) fn locked(
        &self,
        handle: &Handle,
        file: File,
    ) -> Result<(Arc<File>, Locks), FileError> {
        let look =
            FileMetadata::at(&file).map_err(|error| FileError::Io(WriteStep::Open, error))?;
        let file = Arc::new(file);
        let wanted = LockTarget {
            index: 0,
            real: handle.real().clone(),
            file: Some((look.inode, file.clone())),
        };
        let mut locks = Locks::default();
        let work = Work::new(CancelToken::new(), LOCK_WAIT * 2);
        let locked = locks.take(&self.writer.state, vec![wanted], LOCK_WAIT, &work);
        locked.map_err(|_| FileError::Busy)?;
        Ok((file, locks))
    }

    /// The recovery copy's path and both its texts, if it is whole.
    pub(super) fn copy_of(
        &self,
        name: &str,
        (old, new): (&Planned, &Planned),
    ) -> Option<(PathBuf, Vec<u8>, Vec<u8>)> {
        let state = &self.writer.state;
        let (file, path) = state.open(Room::Copies, name, OFlags::RDONLY).ok()?;
        let mut bytes = read_all(&file).ok()?;
        let is_whole = bytes.len() as u64 == old.len() + new.len();
        let at = match is_whole {
            true => old.len() as usize,
            false => bytes.len(),
        };
        let new_bytes = bytes.split_off(at);
        if Planned::of(&bytes) == *old && Planned::of(&new_bytes) == *new {
            return Some((path, bytes, new_bytes));
        }
        let _ = std::fs::remove_file(&path);
        None
    }

    pub(super) fn folder(&self, real: &Path) -> Whereabouts<Folder> {
        match self.scope.folder(real) {
            Ok(Some(folder)) => Whereabouts::Here(folder),
            Ok(None) => Whereabouts::Gone,
            Err(_) => Whereabouts::Closed,
        }
    }

    pub(super) fn open(&self, real: &Path) -> Whereabouts<Handle> {
        match self.scope.open(real) {
            Ok(handle) if handle.real().as_path() == real => Whereabouts::Here(handle),
            Ok(_) | Err(Refusal::NotFound { .. }) => Whereabouts::Gone,
            Err(_) => Whereabouts::Closed,
        }
    }
}

/// Whether `bytes` can be what overwriting `old` with `new` leaves when it is cut short: the
/// beginning of the new text and the rest of the old one, or, after a power cut, any sectors of
/// both, and of the growing end such as were never written.
fn is_half_written(bytes: &[u8], old: &[u8], new: &[u8]) -> bool {
    let same_until = common(bytes.iter().zip(new));
    let rest = |text: &'_ [u8]| -> bool {
        let same_from = common(bytes.iter().rev().zip(text.iter().rev()));
        bytes.len() == text.len() && same_until + same_from >= bytes.len()
    };
    let is_cut = rest(old) || bytes.len() >= old.len() && same_until == bytes.len();
    is_cut || {
        let lengths = [old.len(), new.len(), old.len().max(new.len())];
        let is_possible = |(number, sector): (usize, &[u8])| {
            let from = number * SECTOR;
            let of = |text: &[u8]| {
                let text = text.get(from..).unwrap_or_default();
                let text = &text[..text.len().min(sector.len())];
                sector.starts_with(text) && sector[text.len()..].iter().all(|byte| *byte == 0)
            };
            of(old) || of(new) || sector.iter().all(|byte| *byte == 0)
        };
        lengths.contains(&bytes.len()) && bytes.chunks(SECTOR).enumerate().all(is_possible)
    }
}

fn common<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
#[path = "tests/half_written.rs"]
mod half_written;
