//! The half of a write that changes the user's files, and takes it back; nothing is put in a place that was not looked at again under its lock.
//!
//! Old and new swap their names in one step where the file system can do that. What comes out is
//! looked at: if it is not what was planned on, somebody wrote it after the last look, and it goes
//! back. Taking a file back is the same step once more.

use std::ffi::{OsStr, OsString};
use std::io;

use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

use super::cleanup::Cleanup;
use super::content::{Planned, read_all};
use super::error::{FileError, attempt, is_unsupported, step};
use super::failed_write::{FailedWrite, Left, has_no_links};
use super::flush;
use super::lease::is_open_for_writing;
use super::lock::{HeldLock, LockTarget};
use super::metadata::{FileMetadata, Inode, Old, Preserved, keep};
use super::stage::{For, Staged, Temporary, Way, like, noted_name};
use super::write_step::WriteStep;

/// What was done to a file.
#[derive(Debug)]
pub(super) enum Done {
    /// The temporary's name now is the old file's.
    Exchanged,
    /// The old file has, or a copy of it is, another name.
    Renamed {
        backup: Backup,
    },
    Created,
    Overwritten,
    /// It has another name, or none.
    NameChanged,
}

/// The other name of an old file, or a copy under that name, which is locked.
#[derive(Debug)]
pub(super) struct Backup {
    name: OsString,
    #[expect(dead_code, reason = "held, not used")]
    held: Option<HeldLock>,
}

impl Staged {
    /// Whether the target is still what was planned on. Under its lock.
    pub(super) fn recheck(&mut self) -> Result<(), FileError> {
        if !self.folder.still_there() {
            return Err(FileError::Changed);
        }
        let (temporary, old) = match &mut self.way {
            // Its last step looks by itself.
            Way::Create { .. } => return Ok(()),
            Way::Replace { temporary, old } => (Ok(temporary), old),
            Way::InPlace { old, writer } => (Err(writer), old),
            Way::Rename(renaming) => return renaming.recheck(&self.folder, &self.name),
        };
        let look = || rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        let now = match attempt(WriteStep::Recheck, look) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(FileError::Gone),
            looked => {
                FileMetadata::of(&looked.map_err(|error| FileError::Io(WriteStep::Recheck, error))?)
            }
        };
        if now.inode != old.look.inode {
            return Err(FileError::Changed);
        }
        let was_touched = old.look.was_touched(&now);
        let is_as_planned = match &temporary {
            // What comes out of its place is read in any case.
            Ok(_) if !was_touched => true,
            Ok(_) => step(WriteStep::Recheck, || old.planned.is_in(&old.file))?,
            Err(writer) => step(WriteStep::Recheck, || writer.is_as_planned(old))?,
        };
        if !is_as_planned {
            return Err(FileError::Changed);
        }
        old.look = now;
        match temporary {
            Ok(temporary) if was_touched => keep_again(temporary, old),
            _ => Ok(()),
        }
    }

    /// What the lock of the file is on; a new one's is its temporary's.
    pub(super) fn wanted(&self) -> Option<LockTarget> {
        let file = match &self.way {
            Way::Create { temporary } if temporary.held.is_some() => return None,
            Way::Create { .. } => None,
            Way::Replace { old, .. } | Way::InPlace { old, .. } => {
                Some((old.look.inode, old.file.clone()))
            }
            Way::Rename(renaming) => {
                let old = renaming.old()?;
                Some((old.look.inode, old.file.clone()))
            }
        };
        Some(LockTarget {
            index: self.index,
            real: self.real.clone(),
            file,
        })
    }

    /// Hands over the lock of the new file.
    pub(super) fn take_held(&mut self) -> Option<HeldLock> {
        match &mut self.way {
            Way::Create { temporary } | Way::Replace { temporary, .. } => temporary.held.take(),
            Way::InPlace { .. } | Way::Rename(_) => None,
        }
    }

    /// Puts the new bytes where they belong. What it errors with also says how the file was left.
    pub(super) fn put(&mut self, cleanup: &mut Cleanup) -> Result<Done, FailedWrite> {
        match &self.way {
            Way::Create { temporary } => Ok(self.create(temporary)?),
            Way::Replace { temporary, old } => self.replace(temporary, old, cleanup),
            Way::InPlace { writer, .. } => match writer.overwrite() {
                Ok(()) => Ok(Done::Overwritten),
                Err(fault) => {
                    let left = self.take_back(&Done::Overwritten, cleanup);
                    Err(FailedWrite { fault, left })
                }
            },
            Way::Rename(renaming) => {
                renaming.put(&self.folder, &self.name, cleanup)?;
                Ok(Done::NameChanged)
            }
        }
    }

    /// Undoes what [`Staged::put`] did.
    pub(super) fn take_back(&self, done: &Done, cleanup: &mut Cleanup) -> Left {
        match (&self.way, done) {
            (Way::Replace { temporary, old }, Done::Exchanged) => {
                self.exchange_back(temporary, old, cleanup)
            }
            (Way::Replace { temporary, .. }, Done::Renamed { backup }) => self
                .if_ours(temporary.inode, || {
                    rustix::fs::renameat(&self.folder, &backup.name, &self.folder, &self.name)
                }),
            (Way::Create { temporary }, _) => self.if_ours(temporary.inode, || {
                rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())
            }),
            (Way::InPlace { writer, .. }, _) => match writer.restore() {
                Ok(()) => Left::AsItWas,
                Err(_) => {
                    cleanup.leave_for_next_start();
                    Left::Half
                }
            },
            (Way::Rename(renaming), _) => renaming.take_back(&self.folder, &self.name, cleanup),
            (Way::Replace { .. }, Done::Created | Done::Overwritten | Done::NameChanged) => {
                Left::AsItWas
            }
        }
    }

    fn create(&self, temporary: &Temporary) -> Result<Done, FileError> {
        let (folder, from, to) = (&self.folder, &temporary.name, &self.name);
        step(WriteStep::Rename, || Ok::<_, io::Error>(()))?;
        let renamed = attempt(WriteStep::Claim, || {
            rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE)
        });
        let linked = match renamed {
            // A link never replaces anything; the temporary's name goes with the rest.
            Err(error) if is_unsupported(&error) => attempt(WriteStep::Link, || {
                rustix::fs::linkat(folder, from, folder, to, AtFlags::empty())
            }),
            renamed => renamed,
        };
        match linked {
            Ok(()) => Ok(Done::Created),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(FileError::Exists),
            Err(error) => Err(FileError::Io(WriteStep::Rename, error)),
        }
    }

    fn replace(
        &self,
        temporary: &Temporary,
        old: &Old,
        cleanup: &mut Cleanup,
    ) -> Result<Done, FailedWrite> {
        step(WriteStep::Rename, || Ok::<_, io::Error>(()))?;
        if is_open_for_writing(&old.file) {
            return Err(FileError::Changed.into());
        }
        match attempt(WriteStep::Exchange, || self.exchange(&temporary.name)) {
            Ok(()) => {}
            Err(error) if is_unsupported(&error) => {
                return Ok(self.replace_by_link(temporary, old, cleanup)?);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(FileError::Gone.into());
            }
            Err(error) => return Err(FileError::Io(WriteStep::Rename, error).into()),
        }
        let fault = match self.is_what_was_planned(&temporary.name, old) {
            // By its name it cannot be opened any more; whoever did until now has not written yet.
            Ok(true) if is_open_for_writing(&old.file) => FileError::Changed,
            Ok(true) => return Ok(Done::Exchanged),
            Ok(false) => FileError::Changed,
            Err(fault) => fault,
        };
        let left = self.exchange_back(temporary, old, cleanup);
        Err(FailedWrite { fault, left })
    }

    /// Where names cannot be exchanged: the old file gets a second name first.
    fn replace_by_link(
        &self,
        temporary: &Temporary,
        old: &Old,
        cleanup: &mut Cleanup,
    ) -> Result<Done, FileError> {
        let target = For {
            folder: &self.folder,
            name: &self.name,
            old: Some(old.planned),
            new: self.new,
        };
        let name = noted_name(cleanup, target, temporary.name.len())?;
        let linked = attempt(WriteStep::Link, || {
            let (folder, flags) = (&self.folder, AtFlags::empty());
            rustix::fs::linkat(folder, &self.name, folder, &name, flags)
        });
        let backup = match linked {
            Ok(()) => {
                cleanup.made_temporary(self.folder.clone(), name.clone());
                if !self.is_what_was_planned(&name, old)? {
                    return Err(FileError::Changed);
                }
                Backup { name, held: None }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(FileError::Gone),
            Err(error) if has_no_links(&error) => {
                let backup = copy(target, old, cleanup)?;
                // Copying takes long enough for somebody to write.
                if !self.is_what_was_planned(&self.name, old)? {
                    return Err(FileError::Changed);
                }
                backup
            }
            Err(error) => return Err(FileError::Io(WriteStep::Link, error)),
        };
        if is_open_for_writing(&old.file) {
            return Err(FileError::Changed);
        }
        rustix::fs::renameat(&self.folder, &temporary.name, &self.folder, &self.name)
            .map_err(|error| FileError::Io(WriteStep::Rename, error.into()))?;
        Ok(Done::Renamed { backup })
    }

    /// The order of the names is that of the events which watchers get: they hear last that the
    /// file is there. Heard the other way round it was made and then went, and a watcher that joins
    /// the two, as VS Code's does, tells nobody that it has changed.
    fn exchange(&self, name: &OsStr) -> rustix::io::Result<()> {
        let (folder, flags) = (&self.folder, RenameFlags::EXCHANGE);
        rustix::fs::renameat_with(folder, &self.name, folder, name, flags)
    }

    /// Exchanges the names again. Whoever put another file in the place meanwhile keeps it there.
    fn exchange_back(&self, temporary: &Temporary, old: &Old, cleanup: &mut Cleanup) -> Left {
        let left = match step(WriteStep::Rollback, || self.exchange(&temporary.name)) {
            Ok(()) if self.inode_of(&temporary.name) == Some(temporary.inode) => Left::AsItWas,
            Ok(()) => {
                // It was written over. What came out goes in again; if that fails, see below.
                let _ = self.exchange(&temporary.name);
                Left::Written
            }
            Err(_) => Left::Written,
        };
        // What nobody has seen yet is not thrown away.
        let is_known = self.is_what_was_planned(&temporary.name, old);
        if left == Left::Written && !is_known.unwrap_or(false) {
            cleanup.leave_temporary(&temporary.name);
        }
        left
    }

    /// Undoes a rename or a link, unless the file is not the one that we put there.
    fn if_ours(&self, ours: Inode, undo: impl FnMut() -> rustix::io::Result<()>) -> Left {
        if self.inode_of(&self.name) != Some(ours) {
            return Left::Written;
        }
        match step(WriteStep::Rollback, undo) {
            Ok(()) => Left::AsItWas,
            Err(_) => Left::Written,
        }
    }

    fn inode_of(&self, name: &OsStr) -> Option<Inode> {
        let stat = rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.ok().map(|stat| FileMetadata::of(&stat).inode)
    }

    /// Whether the old file has this name now, and still holds what was planned on.
    fn is_what_was_planned(&self, name: &OsStr, old: &Old) -> Result<bool, FileError> {
        let is_same = self.inode_of(name) == Some(old.look.inode);
        Ok(is_same && step(WriteStep::Recheck, || old.planned.is_in(&old.file))?)
    }
}

/// Somebody changed the old file's mode, owner or attributes since it was staged.
fn keep_again(temporary: &Temporary, old: &Old) -> Result<(), FileError> {
    // A second name that came meanwhile would be torn off.
    if old.look.names != 1 || keep(&old.file, &old.look, &temporary.file)? == Preserved::NotAll {
        return Err(FileError::Changed);
    }
    flush::wait(&temporary.file)
}

/// A copy of the old file, where it cannot have a second name.
fn copy(target: For<'_>, old: &Old, cleanup: &mut Cleanup) -> Result<Backup, FileError> {
    let bytes = step(WriteStep::Copy, || read_all(&old.file))?;
    if Planned::of(&bytes) != old.planned {
        return Err(FileError::Changed);
    }
    match like(cleanup, target, old, &bytes)? {
        Some(temporary) => {
            flush::wait(&temporary.file)?;
            let Temporary { name, held, .. } = temporary;
            Ok(Backup { name, held })
        }
        None => Err(FileError::Io(WriteStep::Link, Errno::PERM.into())),
    }
}
