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
use crate::workspace::{FileType, Folder, NewPlace, RealPath, Stamp};

use super::FileWrite;
use super::cleanup::Cleanup;
use super::commit::{FailedWrite, Left, has_no_links};
use super::content::{Planned, read_all};
use super::error::{FileError, attempt, errno_of, is_unsupported, step};
use super::journal::{JournalEntry, next_number};
use super::lease::stays_open_for_writing;
use super::metadata::{FileMetadata, Inode, Old, refuse_guarded};
use super::stage::{For, NAME_LIMITS, StageContext, Staged, Way, like, temporary_name};
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
    what: Renamed,
    /// What has the name when it is its turn.
    inode: Inode,
    to: (Arc<Folder>, OsString),
    /// A name on the way, where the file system takes the old name and the new one for the same.
    by: Option<OsString>,
    pub(super) is_deletion: bool,
}

/// What has the name before the write.
#[derive(Debug)]
enum Renamed {
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

impl StageContext<'_, '_> {
    /// Makes everything ready for a name to become another one, after the bytes are written that
    /// come with it.
    pub(super) fn rename(
        &mut self,
        index: usize,
        write: Option<FileWrite>,
        change: NameChange,
    ) -> Result<Vec<Staged>, FileError> {
        let NameChange { from, to } = change;
        let real = from.real().clone();
        let (folder, name) = self.place_of(&real)?;
        let Some(to) = to else {
            let what = self.renamed(&folder, from)?;
            return Ok(vec![self.deletion(index, (real, folder, name), what)?]);
        };
        let target = self.new_folder(&to)?;
        if let NameOf::File { .. } = &from
            && device_of(&folder)? != device_of(&target.0)?
        {
            return self.across(index, write, (real, folder, name), from, (to, target));
        }
        let mut staged = Vec::new();
        if let Some(write) = write {
            staged.push(self.file(index, write)?);
        }
        let (what, inode) = match (&from, staged.first()) {
            (NameOf::File { .. }, Some(written)) => (Renamed::Written, written.new_inode()),
            _ => {
                let what = self.renamed(&folder, from)?;
                let inode = what.inode();
                (what, inode)
            }
        };
        let inode = inode.ok_or(FileError::Gone)?;
        let by = to.is_alias.then(|| self.free_name(&folder, &name));
        let by = by.transpose()?;
        let path = real.as_path().to_path_buf();
        let mut places = vec![path];
        places.extend(by.as_ref().map(|by| folder.real().join(by)));
        places.push(target.0.real().join(&target.1));
        for pair in places.windows(2) {
            self.cleanup.note(&JournalEntry::Moved {
                path: pair[0].clone(),
                to: pair[1].clone(),
                inode,
            })?;
        }
        let new = what.planned();
        staged.push(Staged {
            index,
            real,
            folder,
            name,
            new,
            way: Way::Rename(Renaming {
                what,
                inode,
                to: target,
                by,
                is_deletion: false,
            }),
        });
        Ok(staged)
    }

    fn deletion(
        &mut self,
        index: usize,
        (real, folder, name): (RealPath, Arc<Folder>, OsString),
        what: Renamed,
    ) -> Result<Staged, FileError> {
        let inode = what.inode().ok_or(FileError::Gone)?;
        let aside = self.free_name(&folder, &name)?;
        self.cleanup.note(&JournalEntry::Deleted {
            path: real.as_path().to_path_buf(),
            to: folder.real().join(&aside),
            inode,
        })?;
        Ok(Staged {
            index,
            real,
            folder: folder.clone(),
            name,
            new: what.planned(),
            way: Way::Rename(Renaming {
                what,
                inode,
                to: (folder, aside),
                by: None,
                is_deletion: true,
            }),
        })
    }

    /// To another file system: a copy there, and the file goes.
    fn across(
        &mut self,
        index: usize,
        write: Option<FileWrite>,
        place: (RealPath, Arc<Folder>, OsString),
        from: NameOf,
        (to, (target, name)): (NewPlace, (Arc<Folder>, OsString)),
    ) -> Result<Vec<Staged>, FileError> {
        let what = self.renamed(&place.1, from)?;
        let Renamed::File(old) = &what else {
            return Err(FileError::Gone);
        };
        let shown = place.0.as_path().display().to_string();
        if stays_open_for_writing(&old.file) {
            return Err(unsupported(
                &shown,
                "another program has it open for writing, and what that writes would be lost on the way to another file system. Close it there first",
            ));
        }
        let bytes = match write {
            Some(write) => write.bytes,
            None => step(WriteStep::Copy, || read_all(&old.file))?.into(),
        };
        let new = Planned::of(&bytes);
        let creation = For {
            folder: &target,
            name: &name,
            old: None,
            new,
        };
        let Some(temporary) = like(self.cleanup, creation, old, &bytes)? else {
            return Err(unsupported(
                &shown,
                "it would be on another file system, where it cannot have the owner, mode and attributes that it has",
            ));
        };
        let made = Staged {
            index,
            real: to.real,
            folder: target,
            name,
            new,
            way: Way::Create { temporary },
        };
        Ok(vec![made, self.deletion(index, place, what)?])
    }

    fn place_of(&mut self, real: &RealPath) -> Result<(Arc<Folder>, OsString), FileError> {
        let path = real.as_path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(FileError::Gone);
        };
        Ok((self.folders.existing(parent)?, name.to_owned()))
    }

    /// The folder of a new place, made where it is missing; nothing has the name there.
    fn new_folder(&mut self, to: &NewPlace) -> Result<(Arc<Folder>, OsString), FileError> {
        let path = to.real.as_path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(FileError::Gone);
        };
        let folder = self.folders.made(parent, self.cleanup)?;
        if !to.is_alias && is_taken(&folder, name)? {
            return Err(FileError::Exists);
        }
        Ok((folder, name.to_owned()))
    }

    /// What has the name now, if it is what was planned on.
    fn renamed(&self, folder: &Arc<Folder>, from: NameOf) -> Result<Renamed, FileError> {
        match from {
            NameOf::File {
                real,
                stamp,
                planned,
            } => {
                let handle = match attempt(WriteStep::Open, || folder.open(&real)) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        return Err(FileError::Gone);
                    }
                    opened => opened.map_err(|error| FileError::Io(WriteStep::Open, error))?,
                };
                if handle.file_type() != FileType::Regular {
                    return Err(FileError::Changed);
                }
                let file = Arc::new(step(WriteStep::Open, || handle.open_read())?);
                let look = step(WriteStep::Open, || FileMetadata::at(&*file))?;
                step(WriteStep::Flags, || refuse_guarded(&file))?;
                // An equal stamp is no proof, but it is read again before anything goes.
                if !look.is_of(&stamp) && !step(WriteStep::Open, || planned.is_in(&file))? {
                    return Err(FileError::Changed);
                }
                Ok(Renamed::File(Old {
                    file,
                    look,
                    planned,
                }))
            }
            NameOf::Link { real, leads_to } => {
                let name = real.as_path().file_name().unwrap_or_default();
                let look = looked_at(folder, name, WriteStep::Open)?;
                match leads(folder, name)? == leads_to {
                    true => Ok(Renamed::Link { look, leads_to }),
                    false => Err(FileError::Changed),
                }
            }
        }
    }

    /// A name of a temporary that nothing has.
    fn free_name(&self, folder: &Folder, name: &OsStr) -> Result<OsString, FileError> {
        let shortest = NAME_LIMITS.into_iter().min().unwrap_or_default();
        loop {
            let free = temporary_name(name, next_number(), shortest);
            if !is_taken(folder, &free)? {
                return Ok(free);
            }
        }
    }
}

impl Renamed {
    /// `None` for what is yet to be written.
    fn inode(&self) -> Option<Inode> {
        match self {
            Renamed::File(old) => Some(old.look.inode),
            Renamed::Link { look, .. } => Some(look.inode),
            Renamed::Written => None,
        }
    }

    fn planned(&self) -> Planned {
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

fn looked_at(folder: &Folder, name: &OsStr, doing: WriteStep) -> Result<FileMetadata, FileError> {
    let look = || rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    match attempt(doing, look) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(FileError::Gone),
        looked => {
            let stat = looked.map_err(|error| FileError::Io(doing, error))?;
            Ok(FileMetadata::of(&stat))
        }
    }
}

fn is_taken(folder: &Folder, name: &OsStr) -> Result<bool, FileError> {
    step(WriteStep::Open, || inode_at(folder, name)).map(|inode| inode.is_some())
}

fn leads(folder: &Folder, name: &OsStr) -> Result<PathBuf, FileError> {
    let read = rustix::fs::readlinkat(folder, name, Vec::new());
    match read {
        Ok(leads_to) => Ok(Path::new(OsStr::from_bytes(leads_to.as_bytes())).to_path_buf()),
        // Something else has the name by now.
        Err(_) => Err(FileError::Changed),
    }
}

fn device_of(folder: &Folder) -> Result<i128, FileError> {
    let look = step(WriteStep::Open, || FileMetadata::at(folder))?;
    Ok(look.inode.0)
}

fn unsupported(path: &str, why: &str) -> FileError {
    FileError::Refused(Refusal::Unsupported {
        path: Some(path.to_owned()),
        message: format!("'{path}' cannot be moved: {why}. Nothing was written."),
    })
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
