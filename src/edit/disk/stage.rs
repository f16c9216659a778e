//! The half of a write that touches no file of the user's: new texts beside the old ones, on their way to the disk; nothing is renamed here.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::workspace::{FileType, Folder, RealPath, Stamp};

use super::cleanup::Cleanup;
use super::content::Planned;
use super::error::{FileError, attempt, step};
use super::fail::halves;
use super::flush;
use super::folders::Folders;
use super::in_place::InPlace;
use super::journal::{JournalEntry, next_number};
use super::lease::stays_open_for_writing;
use super::lock::{HeldLock, LockAttempt, try_lock};
use super::metadata::{FileMetadata, Inode, Old, Preserved, keep, refuse_guarded};
use super::rename::{Renaming, give};
use super::state::StateDirectory;
use super::write_step::WriteStep;
use super::{FileWrite, Target};

/// Bytes of a name: what most file systems allow, and what eCryptfs does.
pub(super) const NAME_LIMITS: [usize; 2] = [255, 143];

/// Names that are tried before we give up: each was somebody else's.
const NAMES: usize = 16;

/// A file of which everything is ready but the last step.
#[derive(Debug)]
pub(super) struct Staged {
    pub(super) index: usize,
    pub(super) real: RealPath,
    pub(super) folder: Arc<Folder>,
    pub(super) name: OsString,
    pub(super) new: Planned,
    pub(super) way: Way,
}

/// How the new bytes get to where they belong.
#[derive(Debug)]
pub(super) enum Way {
    /// A name that is not there yet.
    Create { temporary: Temporary },
    /// Another inode takes the name.
    Replace { temporary: Temporary, old: Old },
    /// The inode stays: it has other names, somebody has it open for writing, or it has what only it
    /// can have.
    InPlace { old: Old, writer: InPlace },
    /// It gets another name, or goes.
    Rename(Renaming),
}

/// A new file beside the one that it is for.
#[derive(Debug)]
pub(super) struct Temporary {
    pub(super) name: OsString,
    /// Open for reading alone: while a descriptor of ours could write, nobody could tell whether
    /// another one can.
    pub(super) file: Arc<File>,
    pub(super) inode: Inode,
    /// Its lock, until that is among those of the write; `None` where only paths are locked.
    pub(super) held: Option<HeldLock>,
}

/// What staging needs besides the file.
pub(super) struct StageContext<'a, 'b> {
    pub(super) state: &'a StateDirectory,
    pub(super) folders: &'a mut Folders<'b>,
    pub(super) cleanup: &'a mut Cleanup,
}

/// The file that a temporary is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct For<'a> {
    pub(super) folder: &'a Arc<Folder>,
    pub(super) name: &'a OsStr,
    /// What it holds; `None` for a file that is not there.
    pub(super) old: Option<Planned>,
    /// What it is to hold.
    pub(super) new: Planned,
}

impl StageContext<'_, '_> {
    /// Makes everything ready to write one file; `index` is its place in the request.
    pub(super) fn file(&mut self, index: usize, write: FileWrite) -> Result<Staged, FileError> {
        let real = write.target.real().clone();
        let path = real.as_path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(FileError::Gone);
        };
        let new = Planned::of(&write.bytes);
        let name = name.to_owned();
        let (folder, way) = match write.target {
            Target::New { .. } | Target::Restored { .. } => {
                let folder = self.folders.made(parent, self.cleanup)?;
                let way = self.creation(&folder, &name, new, &write)?;
                (folder, way)
            }
            Target::Existing { planned, stamp, .. } => {
                let folder = self.folders.existing(parent)?;
                let way = self.change(&folder, &real, (planned, stamp, new), write.bytes)?;
                (folder, way)
            }
        };
        Ok(Staged {
            index,
            real,
            folder,
            name,
            new,
            way,
        })
    }

    fn creation(
        &mut self,
        folder: &Arc<Folder>,
        name: &OsStr,
        new: Planned,
        write: &FileWrite,
    ) -> Result<Way, FileError> {
        let there = attempt(WriteStep::Open, || {
            rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        });
        match there {
            Ok(_) => return Err(FileError::Exists),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(FileError::Io(WriteStep::Open, error)),
        }
        let target = For {
            folder,
            name,
            old: None,
            new,
        };
        let mode = match write.target {
            // Nobody may read it who may not read what it was.
            Target::Restored { .. } => 0o600,
            // The umask and the directory's default ACL have their say, as with any new file.
            _ => 0o666,
        };
        let temporary = create(
            self.cleanup,
            target,
            Mode::from_raw_mode(mode),
            &write.bytes,
        )?;
        if let Target::Restored { attributes, .. } = write.target {
            give(&temporary.file, attributes)?;
        }
        Ok(Way::Create { temporary })
    }

    fn change(
        &mut self,
        folder: &Arc<Folder>,
        real: &RealPath,
        (planned, stamp, new): (Planned, Stamp, Planned),
        bytes: Arc<[u8]>,
    ) -> Result<Way, FileError> {
        let handle = match attempt(WriteStep::Open, || folder.open(real)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(FileError::Gone),
            opened => opened.map_err(|error| FileError::Io(WriteStep::Open, error))?,
        };
        if handle.file_type() != FileType::Regular {
            return Err(FileError::Changed);
        }
        // Replacing a file takes no permission on the file itself, and changing it does.
        step(WriteStep::Open, || handle.may_write())?;
        let file = Arc::new(step(WriteStep::Open, || handle.open_read())?);
        let look = step(WriteStep::Open, || FileMetadata::at(&*file))?;
        step(WriteStep::Flags, || refuse_guarded(&file))?;
        let old = Old {
            file,
            look,
            planned,
        };
        let is_open_elsewhere = look.names == 1 && stays_open_for_writing(&old.file);
        // An equal stamp is no proof, but whoever takes the old file's place reads it again, and so
        // does whoever writes over it.
        if !is_open_elsewhere
            && !look.is_of(&stamp)
            && !step(WriteStep::Open, || planned.is_in(&old.file))?
        {
            return Err(FileError::Changed);
        }
        if look.names == 1 && !is_open_elsewhere {
            let target = For {
                folder,
                name: real.as_path().file_name().unwrap_or_default(),
                old: Some(planned),
                new,
            };
            if let Some(temporary) = like(self.cleanup, target, &old, &bytes)? {
                return Ok(Way::Replace { temporary, old });
            }
        }
        let target = step(WriteStep::Open, || handle.open_write())?;
        let path = real.as_path().to_path_buf();
        let kept = (&old, is_open_elsewhere);
        let writer = InPlace::prepare(self.state, self.cleanup, path, kept, target, bytes)?;
        Ok(Way::InPlace { old, writer })
    }
}

impl Staged {
    /// The inode that has the new bytes, or will have; `None` for a link, and for a name that changes
    /// after the bytes were written.
    pub(super) fn file(&self) -> Option<&File> {
        match &self.way {
            Way::Create { temporary } | Way::Replace { temporary, .. } => Some(&temporary.file),
            Way::InPlace { old, .. } => Some(&old.file),
            Way::Rename(renaming) => renaming.old().map(|old| &*old.file),
        }
    }

    /// Which inode has the name when this is done.
    pub(super) fn new_inode(&self) -> Option<Inode> {
        match &self.way {
            Way::Create { temporary } | Way::Replace { temporary, .. } => Some(temporary.inode),
            Way::InPlace { old, .. } => Some(old.look.inode),
            Way::Rename(_) => None,
        }
    }

    /// The inode that is there before.
    pub(super) fn old_inode(&self) -> Option<Inode> {
        match &self.way {
            Way::Create { .. } => None,
            Way::Replace { old, .. } | Way::InPlace { old, .. } => Some(old.look.inode),
            Way::Rename(renaming) => renaming.inode(),
        }
    }

    /// Whether a descriptor of ours can write to the file.
    pub(super) fn is_open_for_writing(&self) -> bool {
        matches!(self.way, Way::InPlace { .. })
    }

    /// Waits until a new file is on the disk; one that is overwritten has its copy there by now.
    pub(super) fn flush(&self) -> Result<(), FileError> {
        match &self.way {
            Way::Create { temporary } | Way::Replace { temporary, .. } => {
                flush::wait(&temporary.file)
            }
            Way::InPlace { .. } | Way::Rename(_) => Ok(()),
        }
    }
}

/// A temporary with these bytes and all else that `old` has, yet to be flushed; `None` where it
/// cannot have all of that.
pub(super) fn like(
    cleanup: &mut Cleanup,
    target: For<'_>,
    old: &Old,
    bytes: &[u8],
) -> Result<Option<Temporary>, FileError> {
    // Nobody may read it who may not read the old one.
    let temporary = create(cleanup, target, Mode::from_raw_mode(0o600), bytes)?;
    if keep(&old.file, &old.look, &temporary.file)? == Preserved::NotAll {
        return Ok(None);
    }
    Ok(Some(temporary))
}

/// Makes a temporary with these bytes beside a file, noted before, and locked.
fn create(
    cleanup: &mut Cleanup,
    target: For<'_>,
    mode: Mode,
    bytes: &[u8],
) -> Result<Temporary, FileError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut limits = NAME_LIMITS.into_iter();
    let mut limit = limits.next().unwrap_or(NAME_LIMITS[0]);
    for _ in 0..NAMES {
        let name = noted_name(cleanup, target, limit)?;
        let made = attempt(WriteStep::Create, || {
            rustix::fs::openat(target.folder, &name, flags, mode)
        });
        let error = match made {
            Ok(file) => {
                cleanup.made_temporary(target.folder.clone(), name.clone());
                if let Some(temporary) = filled(target.folder, &name, File::from(file), bytes)? {
                    return Ok(temporary);
                }
                continue;
            }
            Err(error) => error,
        };
        let next = limits.clone().next();
        match (error.kind(), next) {
            // Of a process with our number in another container, perhaps alive.
            (io::ErrorKind::AlreadyExists, _) => cleanup.note(&JournalEntry::NotMade {
                path: target.folder.real().join(&name),
            })?,
            (io::ErrorKind::InvalidFilename, Some(shorter)) => {
                limits.next();
                limit = shorter;
            }
            _ => return Err(FileError::Io(WriteStep::Create, error)),
        }
    }
    Err(FileError::Io(WriteStep::Create, Errno::EXIST.into()))
}

/// Locks a new temporary and writes its bytes; `None` where somebody took it for one that a dead
/// process left, in the moment before it was locked.
fn filled(
    folder: &Folder,
    name: &OsStr,
    mut made: File,
    bytes: &[u8],
) -> Result<Option<Temporary>, FileError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = attempt(WriteStep::Create, || {
        rustix::fs::openat(folder, name, flags, Mode::empty())
    });
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => File::from(opened.map_err(|error| FileError::Io(WriteStep::Create, error))?),
    };
    let file = Arc::new(file);
    let held = match try_lock(&file, WriteStep::LockNew)? {
        LockAttempt::Taken => return Ok(None),
        LockAttempt::ByPath => None,
        LockAttempt::Held(held) => Some(held),
    };
    let look = step(WriteStep::Create, || FileMetadata::at(&*file))?;
    if look.names == 0 {
        return Ok(None);
    }
    write_all(&mut made, bytes)?;
    Ok(Some(Temporary {
        name: name.to_owned(),
        file,
        inode: look.inode,
        held,
    }))
}

/// A name for a temporary, noted as about to be made.
pub(super) fn noted_name(
    cleanup: &mut Cleanup,
    target: For<'_>,
    limit: usize,
) -> Result<OsString, FileError> {
    let name = temporary_name(target.name, next_number(), limit);
    cleanup.note(&JournalEntry::Temporary {
        path: target.folder.real().join(&name),
        target: target.folder.real().join(target.name),
        old: target.old,
        new: target.new,
    })?;
    Ok(name)
}

/// `.NAME.pilcrow-PID-N` in at most `limit` bytes; a NAME that is too long loses its end.
pub(super) fn temporary_name(name: &OsStr, number: u64, limit: usize) -> OsString {
    temporary_name_of(name, (std::process::id(), number), limit)
}

/// The same of any process.
pub(super) fn temporary_name_of(
    name: &OsStr,
    (process, number): (u32, u64),
    limit: usize,
) -> OsString {
    let tail = format!("{}{number}", mark_of(process));
    let name = name.as_bytes();
    let mut room = name.len().min(limit.saturating_sub(tail.len() + 1));
    // Not in the middle of a character: some file systems take only whole ones.
    while room > 0 && name.get(room).is_some_and(|byte| byte & 0xc0 == 0x80) {
        room -= 1;
    }
    OsString::from_vec([b".", &name[..room], tail.as_bytes()].concat())
}

/// What the names of all temporaries hold.
pub(super) const MARK: &str = ".pilcrow-";

/// What the names of a process's temporaries hold.
pub(super) fn mark_of(process: u32) -> String {
    format!("{MARK}{process}-")
}

fn write_all(file: &mut File, bytes: &[u8]) -> Result<(), FileError> {
    for part in halves(bytes) {
        step(WriteStep::Write, || file.write_all(part))?;
    }
    flush::begin(file);
    Ok(())
}
