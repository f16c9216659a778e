//! Files that are moved and deleted: the name becomes another one in one step, under the file's lock, and never one that something has.
//!
//! A file that is moved keeps its inode, and with it all that it is. One that is deleted has the name
//! of a temporary until the whole write is done, so that it can be taken back as anything else. To
//! another file system a file is copied with all that it is, and then deleted.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

use crate::protocol::Refusal;
use crate::workspace::{Folder, NewPlace, RealPath, Stamp};

use super::cleanup::Cleanup;
use super::content::Planned;
use super::error::{FileError, attempt, errno_of, is_unsupported, step};
use super::failed_write::{FailedWrite, Left, has_no_links};
use super::metadata::{FileMetadata, Inode, Old};
use super::write_step::WriteStep;

/// What is to become of the name of a file.
#[derive(Debug)]
pub struct NameChange {
    pub from: NameOf,
    /// `None` where it is deleted.
    pub to: Option<NewPlace>,
}

/// What a name is of.
#[derive(Debug)]
pub enum NameOf {
    /// A regular file, what it was when it was opened, and what it held.
    File {
        real: RealPath,
        stamp: Stamp,
        planned: Planned,
    },
    /// A link and where it leads, as it is written.
    Link { real: RealPath, leads_to: PathBuf },
}

impl NameOf {
    /// The judged path that has the name.
    pub fn real(&self) -> &RealPath {
        match self {
            NameOf::File { real, .. } | NameOf::Link { real, .. } => real,
        }
    }
}

/// A name of which everything is ready but that it becomes another one.
#[derive(Debug)]
pub(super) struct Renaming {
    pub(super) what: Renamed,
    /// What has the name when it is its turn.
    pub(super) inode: Inode,
    pub(super) to: (Arc<Folder>, OsString),
    /// A name on the way, where the file system takes the old name and the new one for the same.
    pub(super) by: Option<OsString>,
    pub(super) is_deletion: bool,
}

/// What has the name before the write.
#[derive(Debug)]
pub(super) enum Renamed {
    File(Old),
    Link {
        look: FileMetadata,
        leads_to: PathBuf,
    },
    /// What a write of the same change put there, which looks after it.
    Written,
}

/// What a deleted file was besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    pub mode: u32,
    pub user: u32,
    pub group: u32,
}

impl Renamed {
    /// `None` for what is yet to be written.
    pub(super) fn inode(&self) -> Option<Inode> {
        match self {
            Renamed::File(old) => Some(old.look.inode),
            Renamed::Link { look, .. } => Some(look.inode),
            Renamed::Written => None,
        }
    }

    pub(super) fn planned(&self) -> Planned {
        match self {
            Renamed::File(old) => old.planned,
            Renamed::Link { leads_to, .. } => Planned::of(leads_to.as_os_str().as_bytes()),
            Renamed::Written => Planned::of(&[]),
        }
    }
}

impl Renaming {
    /// The folder in which the name is then.
    pub(super) fn target(&self) -> &Arc<Folder> {
        &self.to.0
    }

    /// The file, where it is one that this step looks after itself.
    pub(super) fn old(&self) -> Option<&Old> {
        match &self.what {
            Renamed::File(old) => Some(old),
            Renamed::Link { .. } | Renamed::Written => None,
        }
    }

    /// What had the name, if a write of the same change does not tell that.
    pub(super) fn inode(&self) -> Option<Inode> {
        self.what.inode()
    }

    /// What a deleted file was besides its bytes.
    pub(super) fn deleted(&self) -> Option<Attributes> {
        let old = self.old().filter(|_| self.is_deletion)?;
        Some(Attributes {
            mode: old.look.mode.as_raw_mode() & 0o7777,
            user: old.look.user,
            group: old.look.group,
        })
    }

    /// Whether the name still is of what was planned on. Under its lock.
    pub(super) fn recheck(&mut self, folder: &Folder, name: &OsStr) -> Result<(), FileError> {
        let (target, _) = &self.to;
        if !target.still_there() {
            return Err(FileError::Changed);
        }
        match &mut self.what {
            Renamed::Written => Ok(()),
            Renamed::File(old) => {
                let now = looked_at(folder, name, WriteStep::Recheck)?;
                let is_same = now.inode == old.look.inode;
                if !is_same || !step(WriteStep::Recheck, || old.planned.is_in(&old.file))? {
                    return Err(FileError::Changed);
                }
                old.look = now;
                Ok(())
            }
            Renamed::Link { look, leads_to } => {
                let now = looked_at(folder, name, WriteStep::Recheck)?;
                match now.inode == look.inode && leads(folder, name)? == *leads_to {
                    true => Ok(()),
                    false => Err(FileError::Changed),
                }
            }
        }
    }

    /// Gives it its new name. What it errors with also says how the file was left.
    pub(super) fn put(
        &self,
        folder: &Folder,
        name: &OsStr,
        cleanup: &mut Cleanup,
    ) -> Result<(), FailedWrite> {
        let doing = match self.is_deletion {
            true => WriteStep::Delete,
            false => WriteStep::Move,
        };
        let (target, to) = &self.to;
        let mut at = (folder, name);
        if let Some(by) = &self.by {
            rename(at, (folder, by), doing)?;
            at = (folder, by);
        }
        if let Err(fault) = rename(at, (target, to), doing) {
            let left = match &self.by {
                Some(by) => back((folder, by), (folder, name)),
                None => Left::AsItWas,
            };
            return Err(FailedWrite { fault, left });
        }
        if self.is_deletion {
            cleanup.put_aside(target.clone(), to.clone());
        }
        let fault = match self.is_what_was_planned() {
            Ok(true) => return Ok(()),
            Ok(false) => FileError::Changed,
            Err(fault) => fault,
        };
        let left = self.take_back(folder, name, cleanup);
        Err(FailedWrite { fault, left })
    }

    /// Gives it its old name again, if nothing else has that by now.
    pub(super) fn take_back(&self, folder: &Folder, name: &OsStr, cleanup: &mut Cleanup) -> Left {
        let (target, to) = &self.to;
        let left = match &self.by {
            None => back((target, to), (folder, name)),
            Some(by) => match back((target, to), (folder, by)) {
                Left::AsItWas => back((folder, by), (folder, name)),
                left => left,
            },
        };
        if self.is_deletion {
            // What nobody has seen yet is not thrown away.
            let is_known = self.is_what_was_planned().unwrap_or(false);
            match left == Left::AsItWas || !is_known {
                true => cleanup.leave_aside(to),
                false => cleanup.go_with_the_rest(to),
            }
        }
        left
    }

    /// Whether what has the new name is what was planned on. The bytes are of no account for what is
    /// moved: it keeps them.
    fn is_what_was_planned(&self) -> Result<bool, FileError> {
        let (target, to) = &self.to;
        let now = looked_at(target, to, WriteStep::Recheck)?;
        if now.inode != self.inode {
            return Ok(false);
        }
        match &self.what {
            Renamed::File(old) if self.is_deletion => {
                step(WriteStep::Recheck, || old.planned.is_in(&old.file))
            }
            _ => Ok(true),
        }
    }
}

/// Undoes a renaming.
fn back(from: (&Folder, &OsStr), to: (&Folder, &OsStr)) -> Left {
    match rename(from, to, WriteStep::Rollback) {
        Ok(()) => Left::AsItWas,
        Err(_) => Left::Written,
    }
}

/// Gives what has one name another one that nothing has.
pub(super) fn rename(
    (folder, name): (&Folder, &OsStr),
    (target, to): (&Folder, &OsStr),
    doing: WriteStep,
) -> Result<(), FileError> {
    step(doing, || Ok::<_, io::Error>(()))?;
    let renamed = attempt(WriteStep::Claim, || {
        rustix::fs::renameat_with(folder, name, target, to, RenameFlags::NOREPLACE)
    });
    let renamed = match renamed {
        Err(error) if is_unsupported(&error) => by_link((folder, name), (target, to)),
        renamed => renamed,
    };
    renamed.map_err(|error| match errno_of(&error) {
        Some(Errno::EXIST | Errno::NOTEMPTY) => FileError::Exists,
        Some(Errno::NOENT) => FileError::Gone,
        Some(Errno::XDEV) => unsupported(
            &folder.real().join(name).display().to_string(),
            "its new place is on another mount",
        ),
        _ => FileError::Io(doing, error),
    })
}

/// Where a name cannot be taken only if nothing has it: a link never replaces anything.
fn by_link((folder, name): (&Folder, &OsStr), (target, to): (&Folder, &OsStr)) -> io::Result<()> {
    let linked = attempt(WriteStep::Link, || {
        rustix::fs::linkat(folder, name, target, to, AtFlags::empty())
    });
    match linked {
        Ok(()) => {
            let removed = attempt(WriteStep::Remove, || {
                rustix::fs::unlinkat(folder, name, AtFlags::empty())
            });
            if removed.is_err() {
                // It has both names; the first one is the one that it had.
                let _ = rustix::fs::unlinkat(target, to, AtFlags::empty());
            }
            removed
        }
        Err(error) if has_no_links(&error) => {
            // Nothing better is to be had there; the moment between the two is short.
            match rustix::fs::statat(target, to, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(Errno::EXIST.into()),
                Err(_) => Ok(rustix::fs::renameat(folder, name, target, to)?),
            }
        }
        Err(error) => Err(error),
    }
}

pub(super) fn inode_at(folder: &Folder, name: &OsStr) -> io::Result<Option<Inode>> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileMetadata::of(&stat).inode)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn looked_at(
    folder: &Folder,
    name: &OsStr,
    doing: WriteStep,
) -> Result<FileMetadata, FileError> {
    let look = || rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    match attempt(doing, look) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(FileError::Gone),
        looked => {
            let stat = looked.map_err(|error| FileError::Io(doing, error))?;
            Ok(FileMetadata::of(&stat))
        }
    }
}

pub(super) fn leads(folder: &Folder, name: &OsStr) -> Result<PathBuf, FileError> {
    let read = rustix::fs::readlinkat(folder, name, Vec::new());
    match read {
        Ok(leads_to) => Ok(Path::new(OsStr::from_bytes(leads_to.as_bytes())).to_path_buf()),
        // Something else has the name by now.
        Err(_) => Err(FileError::Changed),
    }
}

/// Gives a file that is made again what it was besides its bytes, as far as this user may.
pub(super) fn give(file: &File, attributes: Attributes) -> Result<(), FileError> {
    use rustix::fs::{Gid, Mode, Uid};
    let now = step(WriteStep::Owner, || FileMetadata::at(file))?;
    if (now.user, now.group) != (attributes.user, attributes.group) {
        let owner = Uid::from_raw(attributes.user);
        let group = Gid::from_raw(attributes.group);
        // Who may not give files away has it as their own.
        let _ = rustix::fs::fchown(file, Some(owner), Some(group));
    }
    let mode = Mode::from_raw_mode(attributes.mode);
    step(WriteStep::Mode, || rustix::fs::fchmod(file, mode))
}

pub(super) fn unsupported(path: &str, why: &str) -> FileError {
    FileError::Refused(Refusal::Unsupported {
        path: Some(path.to_owned()),
        message: format!("'{path}' cannot be moved: {why}. Nothing was written."),
    })
}
