//! The advisory locks that daemons and the command line respect, whatever their state directories; never two held in another order, never waited for without a limit.
//!
//! The lock of a file is `flock` on the file itself, so that all of its names are one lock and
//! every daemon that can open it sees it. A file that is put in the place of another is locked
//! before it gets the name: whoever plans on its text finds out under the lock whether it stayed.
//! Where that is no advisory lock for all (NFS wants a descriptor for writing, CIFS keeps readers
//! out) it is `flock` on a file in the state directory, named by the path.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use xxhash_rust::xxh3::xxh3_64;

use crate::task::Work;
use crate::workspace::RealPath;

use super::error::{FileError, WriteError, attempt, is_unsupported, step};
use super::metadata::Inode;
use super::state::{Room, StateDirectory};
use super::write_step::WriteStep;

/// Files in the state directory that a lock may be on; two paths with one number only wait for
/// each other.
const NUMBERS: u64 = 1024;

/// The pause between two attempts: it doubles from the first to the second.
const PAUSES: (Duration, Duration) = (Duration::from_micros(250), Duration::from_millis(10));

/// A file whose lock goes when this is dropped, also where a child that is just being started has
/// the same open file.
#[derive(Debug)]
pub(super) struct HeldLock(Arc<File>);

impl Drop for HeldLock {
    fn drop(&mut self) {
        // Closing it gives the lock up as well, but for such a child.
        let _ = rustix::fs::flock(&*self.0, FlockOperation::Unlock);
    }
}

/// What came of an attempt to lock a file.
#[derive(Debug)]
pub(super) enum LockAttempt {
    Held(HeldLock),
    /// Another open file of this inode has the lock.
    Taken,
    /// Files on this file system are locked by their paths.
    ByPath,
}

/// A file of a write, and what its lock is on.
#[derive(Debug)]
pub(super) struct LockTarget {
    /// The number of the file that errors are told of.
    pub(super) index: usize,
    pub(super) real: RealPath,
    /// The file itself, open for reading; `None` where only the path can be locked.
    pub(super) file: Option<(Inode, Arc<File>)>,
}

/// Locks that are held until they are dropped, or the process ends.
#[derive(Debug, Default)]
pub(super) struct Locks(Vec<HeldLock>);

impl Locks {
    /// Takes in the lock of a file that nobody else knew of when it was locked.
    pub(super) fn keep(&mut self, held: HeldLock) {
        self.0.push(held);
    }

    /// Locks files in an order that is one for all processes; no two of them are one inode.
    ///
    /// Errors with [`FileError::Busy`] when it takes longer than `limit` in all.
    pub(super) fn take(
        &mut self,
        state: &StateDirectory,
        mut files: Vec<LockTarget>,
        limit: Duration,
        work: &Work,
    ) -> Result<(), WriteError> {
        let deadline = Instant::now() + limit;
        files.sort_by_key(|wanted| wanted.file.as_ref().map(|(inode, _)| *inode));
        let mut by_path: BTreeMap<u64, usize> = BTreeMap::new();
        for wanted in &files {
            let held = match &wanted.file {
                Some((_, file)) => wait((deadline, work), || try_lock(file, WriteStep::Lock)),
                None => Ok(None),
            };
            match held.map_err(|fault| fault.of(wanted.index))? {
                Some(held) => self.keep(held),
                None => drop(by_path.insert(number_of(wanted.real.as_path()), wanted.index)),
            }
        }
        for (number, index) in by_path {
            let held = by_number(state, number, (deadline, work));
            self.0.extend(held.map_err(|fault| fault.of(index))?);
        }
        Ok(())
    }
}

/// The lock of a path, in the state directory.
fn by_number(
    state: &StateDirectory,
    number: u64,
    until: (Instant, &Work),
) -> Result<Option<HeldLock>, FileError> {
    let flags = OFlags::RDWR | OFlags::CREATE;
    let opened = step(WriteStep::LockFile, || {
        let opened = state.open(Room::Locks, &format!("{number:03x}"), flags);
        opened.map(|(file, _)| Arc::new(file))
    })?;
    match wait(until, || locked(&opened))? {
        None => Err(FileError::Io(WriteStep::LockFile, Errno::NOLCK.into())),
        held => Ok(held),
    }
}

/// Tries until it has the lock; `None` where the file itself cannot be locked.
fn wait(
    (deadline, work): (Instant, &Work),
    mut attempt: impl FnMut() -> Result<LockAttempt, FileError>,
) -> Result<Option<HeldLock>, FileError> {
    let mut pause = PAUSES.0;
    loop {
        match attempt()? {
            LockAttempt::Held(held) => return Ok(Some(held)),
            LockAttempt::ByPath => return Ok(None),
            LockAttempt::Taken if Instant::now() >= deadline => return Err(FileError::Busy),
            LockAttempt::Taken => {}
        }
        work.check()?;
        // flock(2) waits without a limit or not at all.
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Locks a file if nobody else has it locked.
pub(super) fn try_lock(file: &Arc<File>, doing: WriteStep) -> Result<LockAttempt, FileError> {
    if is_locked_by_path(file) {
        return Ok(LockAttempt::ByPath);
    }
    match attempt(doing, || Ok::<_, std::io::Error>(())) {
        Ok(()) => locked(file),
        Err(error) if is_unsupported(&error) => Ok(LockAttempt::ByPath),
        Err(error) => Err(FileError::Io(doing, error)),
    }
}

fn locked(file: &Arc<File>) -> Result<LockAttempt, FileError> {
    match rustix::fs::flock(&**file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(LockAttempt::Held(HeldLock(file.clone()))),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(LockAttempt::Taken),
        // A server without locks, or one that wants a descriptor for writing.
        Err(Errno::NOLCK | Errno::BADF) => Ok(LockAttempt::ByPath),
        Err(error) => match is_unsupported(&error.into()) {
            true => Ok(LockAttempt::ByPath),
            false => Err(FileError::Io(WriteStep::Lock, error.into())),
        },
    }
}

/// Whether `flock` on a file of this file system is no advisory lock that a reader can take.
#[cfg(target_os = "linux")]
fn is_locked_by_path(file: &File) -> bool {
    // statfs(2): NFS, SMB, CIFS, and SMB 2 and later.
    const NETWORKS: [u32; 4] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42];
    // The field is of another width and sign on other machines, and these fit into 32 bits.
    rustix::fs::fstatfs(file).is_ok_and(|stat| NETWORKS.contains(&(stat.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn is_locked_by_path(_: &File) -> bool {
    false
}

/// Which lock a path has. All daemons of a user must agree on it.
pub(super) fn number_of(real: &Path) -> u64 {
    xxh3_64(real.as_os_str().as_bytes()) % NUMBERS
}
