//! Overwriting a file that must stay the same inode, with a recovery copy; never begun before that copy is on the disk.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::OFlags;

use super::content::{Planned, read_all};
use super::error::{Fault, Step, step};
use super::litter::Litter;
use super::metadata::Look;
use super::note::{Record, name_of_write, next_number};
use super::stage::halves;
use super::state::{Room, State, sync_parent};

/// A file that is about to be overwritten.
#[derive(Debug)]
pub(super) struct InPlace {
    target: File,
    old: Vec<u8>,
    new: Arc<[u8]>,
}

impl InPlace {
    /// Keeps a recovery copy of `old`, flushed and noted. `target` is the same inode, opened for
    /// writing. Errors with [`Fault::Changed`] when it no longer holds what was planned on.
    pub(super) fn prepare(
        state: &State,
        litter: &mut Litter,
        path: PathBuf,
        (old, planned): (&File, &Planned),
        target: File,
        new: Arc<[u8]>,
    ) -> Result<InPlace, Fault> {
        let old = step(Step::Copy, || read_all(old))?;
        if Planned::of(&old) != *planned {
            return Err(Fault::Changed);
        }
        // The old bytes and then the new ones, so that a half-written file can be told from one that
        // somebody else has changed since.
        let name = name_of_write(next_number());
        litter.note(&Record::Overwritten {
            path,
            copy: name.clone(),
            old: *planned,
            new: Planned::of(&new),
        })?;
        let (copy, copy_path) = step(Step::Copy, || {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
            state.open(Room::Copies, &name, flags)
        })?;
        litter.made_copy(copy_path.clone());
        step(Step::Copy, || {
            copy.write_all_at(&old, 0)?;
            copy.write_all_at(&new, old.len() as u64)?;
            copy.sync_all()?;
            sync_parent(&copy_path)
        })?;
        litter.sync_note()?;
        Ok(InPlace { target, old, new })
    }

    /// Overwrites the file with the new bytes and flushes it.
    pub(super) fn overwrite(&self) -> Result<(), Fault> {
        let look = step(Step::Overwrite, || Look::at(&self.target))?;
        reserve(&self.target, self.new.len() as u64)?;
        overwrite(&self.target, &self.new, Step::Overwrite)?;
        self.keep_mode(&look);
        Ok(())
    }

    /// Puts the old bytes back.
    pub(super) fn restore(&self) -> Result<(), Fault> {
        overwrite(&self.target, &self.old, Step::Rollback)
    }

    pub(super) fn target(&self) -> &File {
        &self.target
    }

    /// The system takes the set-ID bits from a file that is written to; its owner can give them
    /// back, and for others that is how it is with every write.
    fn keep_mode(&self, before: &Look) {
        let now = Look::at(&self.target);
        if now.is_ok_and(|now| now.mode != before.mode) {
            let _ = rustix::fs::fchmod(&self.target, before.mode);
        }
    }
}

/// Writes all bytes, then cuts off what is left of longer ones, then flushes.
pub(super) fn overwrite(target: &File, bytes: &[u8], doing: Step) -> Result<(), Fault> {
    let mut at = 0;
    for part in halves(bytes) {
        step(doing, || target.write_all_at(part, at))?;
        at += part.len() as u64;
    }
    step(doing, || {
        rustix::fs::ftruncate(target, bytes.len() as u64)?;
        target.sync_all()
    })
}

/// Asks for the room before anything is overwritten; where the file system cannot say, the write
/// itself will, and the old bytes are put back.
#[cfg(target_os = "linux")]
fn reserve(target: &File, bytes: u64) -> Result<(), Fault> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    if bytes == 0 {
        return Ok(());
    }
    step(Step::Overwrite, || {
        match fallocate(target, FallocateFlags::KEEP_SIZE, 0, bytes) {
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
            _ => Ok::<_, io::Error>(()),
        }
    })
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64) -> Result<(), Fault> {
    Ok(())
}
