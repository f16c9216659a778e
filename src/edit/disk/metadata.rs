//! Mode, owner, extended attributes and inode flags, kept from the old file to the new; what cannot be kept is said, never dropped.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::{Gid, Mode, Stat, Uid, XattrFlags};
use rustix::io::Errno;

use crate::workspace::Stamp;

use super::content::Planned;
use super::error::{FileError, attempt, errno_of, is_unsupported, step};
use super::write_step::WriteStep;

/// What a file is but for its bytes, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileMetadata {
    pub(super) inode: Inode,
    pub(super) kind: rustix::fs::FileType,
    pub(super) mode: Mode,
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) names: u64,
    size: i128,
    changed_ns: (i128, i128),
}

/// The file that is to be changed, open for reading.
#[derive(Debug)]
pub(super) struct Old {
    pub(super) file: Arc<File>,
    pub(super) look: FileMetadata,
    pub(super) planned: Planned,
}

/// Which file it is, whatever its name.
pub(super) type Inode = (i128, i128);

impl FileMetadata {
    pub(super) fn at(file: impl AsFd) -> io::Result<FileMetadata> {
        Ok(FileMetadata::of(&rustix::fs::fstat(file)?))
    }

    pub(super) fn of(stat: &Stat) -> FileMetadata {
        // The fields' widths and signs differ between systems.
        let time = |s: i128, ns: i128| s * 1_000_000_000 + ns;
        FileMetadata {
            inode: (i128::from(stat.st_dev), i128::from(stat.st_ino)),
            kind: rustix::fs::FileType::from_raw_mode(stat.st_mode),
            mode: Mode::from_raw_mode(stat.st_mode),
            user: stat.st_uid,
            group: stat.st_gid,
            names: u64::try_from(i128::from(stat.st_nlink)).unwrap_or(u64::MAX),
            size: i128::from(stat.st_size),
            changed_ns: (
                time(i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec)),
                time(i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec)),
            ),
        }
    }

    /// Whether the inode was touched between the two looks, as far as times can tell.
    pub(super) fn was_touched(&self, later: &FileMetadata) -> bool {
        (self.size, self.changed_ns) != (later.size, later.changed_ns) || self.differs(later)
    }

    /// Whether it is the inode of that stamp, untouched since as far as times can tell.
    pub(super) fn is_of(&self, stamp: &Stamp) -> bool {
        let inode = (i128::from(stamp.dev), i128::from(stamp.ino));
        let times = (stamp.mtime_ns, stamp.ctime_ns);
        (self.inode, self.size, self.changed_ns) == (inode, i128::from(stamp.size), times)
    }

    /// Whether owner or mode differ.
    fn differs(&self, other: &FileMetadata) -> bool {
        (self.user, self.group, self.mode) != (other.user, other.group, other.mode)
    }
}

/// Whether the new file is now like the old one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Preserved {
    All,
    /// This user, or this file system, may not: only the old inode itself still has all of it.
    NotAll,
}

/// Gives `new` the owner, mode, attributes and inode flags of `old`. To be done after its bytes are written,
/// since the system takes privileges from a file that is written to.
pub(super) fn keep(old: &File, look: &FileMetadata, new: &File) -> Result<Preserved, FileError> {
    let mut now = step(WriteStep::Owner, || FileMetadata::at(new))?;
    if (now.user, now.group) != (look.user, look.group) {
        let (user, group) = (Uid::from_raw(look.user), Gid::from_raw(look.group));
        let chown = || rustix::fs::fchown(new, Some(user), Some(group));
        if refused(attempt(WriteStep::Owner, chown), WriteStep::Owner)? == Preserved::NotAll {
            return Ok(Preserved::NotAll);
        }
        now = step(WriteStep::Owner, || FileMetadata::at(new))?;
    }
    if now.mode != look.mode {
        let chmod = || rustix::fs::fchmod(new, look.mode);
        if refused(attempt(WriteStep::Mode, chmod), WriteStep::Mode)? == Preserved::NotAll {
            return Ok(Preserved::NotAll);
        }
        // A set-group-ID bit for a group that one is not in is dropped without a word.
        if step(WriteStep::Mode, || FileMetadata::at(new))?.differs(look) {
            return Ok(Preserved::NotAll);
        }
    }
    let kept = match keep_attributes(old, new) {
        Err(FileError::Io(step, error)) => refused(Err(error), step),
        kept => kept,
    };
    match kept? {
        Preserved::All => keep_flags(old, new),
        Preserved::NotAll => Ok(Preserved::NotAll),
    }
}

/// The inode flags that are a user's choice, ioctl_iflags(2): secure deletion, undeletion,
/// compression, synchronous writes, no dump, no access times, no compression, journalled data, no
/// tail merging, no copying on write, direct access, inherited project.
const CHOSEN_FLAGS: u32 = 0x1
    | 0x2
    | 0x4
    | 0x8
    | 0x40
    | 0x80
    | 0x400
    | 0x4000
    | 0x8000
    | 0x80_0000
    | 0x200_0000
    | 0x2000_0000;

/// Those of a file that nothing may be taken from: immutable and append-only.
const GUARDING_FLAGS: u32 = 0x10 | 0x20;

/// Gives `new` the flags of `old`, and takes those that it has from its directory.
fn keep_flags(old: &File, new: &File) -> Result<Preserved, FileError> {
    let wanted = step(WriteStep::Flags, || flags_of(old))? & CHOSEN_FLAGS;
    let now = step(WriteStep::Flags, || flags_of(new))?;
    if now & CHOSEN_FLAGS == wanted {
        return Ok(Preserved::All);
    }
    let set = attempt(WriteStep::Flags, || {
        set_flags(new, now & !CHOSEN_FLAGS | wanted)
    });
    if refused(set, WriteStep::Flags)? == Preserved::NotAll {
        return Ok(Preserved::NotAll);
    }
    // Some are only taken by a file that is empty, and dropped without a word.
    let now = step(WriteStep::Flags, || flags_of(new))?;
    Ok(match now & CHOSEN_FLAGS == wanted {
        true => Preserved::All,
        false => Preserved::NotAll,
    })
}

/// Errors with `EPERM` for a file that may not be changed but at its end, or not at all.
pub(super) fn refuse_guarded(file: &File) -> io::Result<()> {
    match flags_of(file)? & GUARDING_FLAGS {
        0 => Ok(()),
        _ => Err(Errno::PERM.into()),
    }
}

/// A file's inode flags; none where the file system has none.
#[cfg(target_os = "linux")]
fn flags_of(file: &File) -> io::Result<u32> {
    match rustix::fs::ioctl_getflags(file) {
        Ok(flags) => Ok(flags.bits()),
        Err(Errno::NOTTY) => Ok(0),
        Err(error) if is_unsupported(&error.into()) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

#[cfg(target_os = "linux")]
fn set_flags(file: &File, flags: u32) -> io::Result<()> {
    let flags = rustix::fs::IFlags::from_bits_retain(flags);
    Ok(rustix::fs::ioctl_setflags(file, flags)?)
}

#[cfg(not(target_os = "linux"))]
fn flags_of(_: &File) -> io::Result<u32> {
    Ok(0)
}

#[cfg(not(target_os = "linux"))]
fn set_flags(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

/// What the system does not let us do is another answer than that it failed.
fn refused(outcome: io::Result<()>, step: WriteStep) -> Result<Preserved, FileError> {
    let Err(error) = outcome else {
        return Ok(Preserved::All);
    };
    match errno_of(&error) {
        Some(Errno::PERM | Errno::ACCESS) => Ok(Preserved::NotAll),
        _ if is_unsupported(&error) => Ok(Preserved::NotAll),
        _ => Err(FileError::Io(step, error)),
    }
}

/// Copies extended attributes, of which POSIX ACLs are some, and removes an ACL that the new file
/// took over from its directory.
fn keep_attributes(old: &File, new: &File) -> Result<Preserved, FileError> {
    let wanted = step(WriteStep::Attributes, || names_of(old))?;
    let present = step(WriteStep::Attributes, || names_of(new))?;
    for name in &present {
        if name.starts_with(b"system.") && !wanted.contains(name) {
            step(WriteStep::Attributes, || {
                rustix::fs::fremovexattr(new, &name[..])
            })?;
        }
    }
    for name in wanted.iter().filter(|name| is_copied(name)) {
        let value = step(WriteStep::Attributes, || value_of(old, name))?;
        if present.contains(name) && value_of(new, name).is_ok_and(|now| now == value) {
            continue;
        }
        let flags = XattrFlags::empty();
        let set = attempt(WriteStep::Attributes, || {
            rustix::fs::fsetxattr(new, &name[..], &value, flags)
        });
        // Any write to a file takes its capabilities, so writing in place would not keep them.
        if name != b"security.capability"
            && refused(set, WriteStep::Attributes)? == Preserved::NotAll
        {
            return Ok(Preserved::NotAll);
        }
    }
    Ok(Preserved::All)
}

/// These sign the bytes, and the bytes are others.
fn is_copied(name: &[u8]) -> bool {
    name != b"security.ima" && name != b"security.evm"
}

/// The names of a file's attributes; none where the file system has none.
fn names_of(file: &File) -> io::Result<Vec<Vec<u8>>> {
    let mut list = vec![0; 1024];
    let count = loop {
        match rustix::fs::flistxattr(file, &mut list[..]) {
            Ok(count) => break count,
            Err(Errno::RANGE) => {
                let wanted = rustix::fs::flistxattr(file, &mut [0u8; 0][..])?;
                list = vec![0; wanted.max(list.len() * 2)];
            }
            Err(error) if is_unsupported(&error.into()) => break 0,
            Err(error) => return Err(error.into()),
        }
    };
    let names = list[..count].split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    Ok(names.map(<[u8]>::to_vec).collect())
}

/// An attribute's value; xattr(7): on Linux at most 64 KiB.
fn value_of(file: &File, name: &[u8]) -> io::Result<Vec<u8>> {
    let mut value = vec![0; 64 * 1024];
    loop {
        match rustix::fs::fgetxattr(file, name, &mut value[..]) {
            Ok(count) => {
                value.truncate(count);
                return Ok(value);
            }
            Err(Errno::RANGE) if value.len() < 64 * 1024 * 1024 => value = vec![0; value.len() * 4],
            Err(error) => return Err(error.into()),
        }
    }
}
