//! Overwriting a file that must stay the same inode, with a recovery copy; never begun before that copy is on the disk.
//!
//! Other programs may have the file open and add to its end meanwhile. So what is ours is its
//! beginning, of a length that is known, and what follows is theirs: bytes before the end are
//! written where they are, further ones are appended as anybody appends, and what somebody else
//! appended before them is put behind them. Only cutting a file off cannot be told apart from what
//! is appended in that very moment, so the end is looked for right before.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::OFlags;

use super::cleanup::Cleanup;
use super::content::{CHUNK, Planned, fill, read_all};
use super::error::{FileError, step};
use super::fail::halves;
use super::journal::{JournalEntry, name_of_write, next_number};
use super::metadata::{FileMetadata, Old};
use super::state::{Room, StateDirectory, sync_parent};
use super::write_step::WriteStep;

/// A file that is about to be overwritten.
#[derive(Debug)]
pub(super) struct InPlace {
    target: Overwritten,
    old: Vec<u8>,
    new: Arc<[u8]>,
    /// Another program has it open for writing, and may add to it at any time.
    pub(super) is_open_elsewhere: bool,
}

impl InPlace {
    /// Keeps a recovery copy of `old`, flushed and noted. `target` is the same inode, opened for
    /// writing. Errors with [`FileError::Changed`] when it no longer holds what was planned on.
    pub(super) fn prepare(
        state: &StateDirectory,
        cleanup: &mut Cleanup,
        path: PathBuf,
        (old, is_open_elsewhere): (&Old, bool),
        target: File,
        new: Arc<[u8]>,
    ) -> Result<InPlace, FileError> {
        let planned = &old.planned;
        let mut bytes = step(WriteStep::Copy, || read_all(&old.file))?;
        if is_open_elsewhere {
            bytes.truncate(planned.len() as usize);
        }
        if Planned::of(&bytes) != *planned {
            return Err(FileError::Changed);
        }
        // The old bytes and then the new ones, so that a half-written file can be told from one that
        // somebody else has changed since.
        let name = name_of_write(next_number());
        cleanup.note(&JournalEntry::Overwritten {
            path,
            copy: name.clone(),
            old: *planned,
            new: Planned::of(&new),
        })?;
        let (copy, copy_path) = step(WriteStep::Copy, || {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
            state.open(Room::Copies, &name, flags)
        })?;
        cleanup.made_copy(copy_path.clone());
        step(WriteStep::Copy, || {
            copy.write_all_at(&bytes, 0)?;
            copy.write_all_at(&new, bytes.len() as u64)?;
            copy.sync_all()?;
            sync_parent(&copy_path)
        })?;
        cleanup.sync_journal()?;
        Ok(InPlace {
            target: Overwritten::new(old.file.clone(), target, planned.len()),
            old: bytes,
            new,
            is_open_elsewhere,
        })
    }

    /// Whether the file still holds what was planned on. One that somebody has open may have grown:
    /// whole lines behind the last one change none of those.
    pub(super) fn is_as_planned(&self, old: &Old) -> io::Result<bool> {
        match self.is_open_elsewhere && self.old.ends_with(b"\n") {
            true => old.planned.begins(&old.file),
            false => old.planned.is_in(&old.file),
        }
    }

    /// Overwrites the file with the new bytes and flushes it.
    pub(super) fn overwrite(&self) -> Result<(), FileError> {
        let target = &self.target.write;
        let look = step(WriteStep::Overwrite, || FileMetadata::at(target))?;
        reserve(target, self.new.len() as u64)?;
        self.target.put(&self.new, WriteStep::Overwrite)?;
        self.keep_mode(&look);
        Ok(())
    }

    /// Puts the old bytes back.
    pub(super) fn restore(&self) -> Result<(), FileError> {
        self.target.put(&self.old, WriteStep::Rollback)
    }

    /// The system takes the set-ID bits from a file that is written to; its owner can give them
    /// back, and for others that is how it is with every write.
    fn keep_mode(&self, before: &FileMetadata) {
        let target = &self.target.write;
        let now = FileMetadata::at(target);
        if now.is_ok_and(|now| now.mode != before.mode) {
            let _ = rustix::fs::fchmod(target, before.mode);
        }
    }
}

/// A file whose beginning is replaced, by descriptors of one inode.
#[derive(Debug)]
pub(super) struct Overwritten {
    read: Arc<File>,
    write: File,
    /// Bytes from the beginning that are ours; others may have put more behind them.
    ours: Cell<u64>,
}

impl Overwritten {
    pub(super) fn new(read: Arc<File>, write: File, ours: u64) -> Overwritten {
        Overwritten {
            read,
            write,
            ours: Cell::new(ours),
        }
    }

    /// Puts `bytes` in the place of what is ours, and flushes the file.
    pub(super) fn put(&self, bytes: &[u8], doing: WriteStep) -> Result<(), FileError> {
        let in_the_file = bytes.len().min(self.ours.get() as usize);
        let (over, more) = bytes.split_at(in_the_file);
        let mut at = 0;
        for part in halves(over) {
            step(doing, || self.write.write_all_at(part, at))?;
            at += part.len() as u64;
        }
        for part in halves(more) {
            step(doing, || self.append(part))?;
        }
        step(doing, || {
            self.cut(bytes.len() as u64)?;
            self.write.sync_all()
        })
    }

    /// Adds to what is ours, before what others put behind it. Nothing is done twice if it is called
    /// again after a part of it was.
    fn append(&self, part: &[u8]) -> io::Result<()> {
        let mut left = part;
        while !left.is_empty() {
            // The system finds the end and writes there in one step.
            rustix::fs::fcntl_setfl(&self.write, OFlags::APPEND)?;
            let written = (&self.write).write(left);
            // With that flag, a place to write at would count for nothing.
            rustix::fs::fcntl_setfl(&self.write, OFlags::empty())?;
            let count = match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                written => written?,
            };
            let end = (&self.write).stream_position()?;
            let (start, ours) = (end - count as u64, self.ours.get());
            if start > ours {
                let mut theirs = vec![0; (start - ours) as usize];
                let read = fill(&self.read, &mut theirs, ours)?;
                let both = [&left[..count], &theirs[..read]].concat();
                self.write.write_all_at(&both, ours)?;
            }
            self.ours.set(ours + count as u64);
            left = &left[count..];
        }
        Ok(())
    }

    /// Makes what is ours end at `length`; what others put behind it moves up.
    fn cut(&self, length: u64) -> io::Result<()> {
        let (mut from, mut to) = (self.ours.get(), length);
        if to >= from {
            return Ok(());
        }
        let mut chunk = Vec::new();
        loop {
            let end = self.write.metadata()?.len();
            if end <= from {
                // Somebody may have emptied it; it is never made longer.
                if end > to {
                    rustix::fs::ftruncate(&self.write, to)?;
                }
                break;
            }
            chunk.resize((end - from).min(CHUNK as u64) as usize, 0);
            let count = fill(&self.read, &mut chunk, from)?;
            self.write.write_all_at(&chunk[..count], to)?;
            (from, to) = (from + count as u64, to + count as u64);
        }
        self.ours.set(length);
        Ok(())
    }
}

/// Asks for the room before anything is overwritten; where the file system cannot say, the write
/// itself will, and the old bytes are put back.
#[cfg(target_os = "linux")]
fn reserve(target: &File, bytes: u64) -> Result<(), FileError> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    if bytes == 0 {
        return Ok(());
    }
    step(WriteStep::Overwrite, || {
        match fallocate(target, FallocateFlags::KEEP_SIZE, 0, bytes) {
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
            _ => Ok::<_, io::Error>(()),
        }
    })
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64) -> Result<(), FileError> {
    Ok(())
}
