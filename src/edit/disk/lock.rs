//! The advisory locks that daemons and the command line respect; never two held in another order, never waited for without a limit.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use xxhash_rust::xxh3::xxh3_64;

use crate::task::Work;

use super::error::{Fault, Step, WriteError, step};
use super::state::{Room, State};

/// Files that a lock may be on; two paths with one number only wait for each other.
const NUMBERS: u64 = 1024;

/// The pause between two attempts: it doubles from the first to the second.
const PAUSES: (Duration, Duration) = (Duration::from_micros(250), Duration::from_millis(10));

/// A file whose lock goes when this is dropped, also where a child that is just being started has
/// the same open file.
#[derive(Debug)]
pub(super) struct Held(pub(super) File);

impl Drop for Held {
    fn drop(&mut self) {
        // Closing it gives the lock up as well, but for such a child.
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

/// The files of a write's locks, in one order for all processes; none is locked yet.
#[derive(Debug)]
pub(super) struct LockFiles(Vec<(usize, File)>);

/// Locks that are held until they are dropped, or the process ends.
#[derive(Debug)]
pub(super) struct Locks(#[expect(dead_code, reason = "held, not used")] Vec<Held>);

impl LockFiles {
    /// Opens those of the files of a write, each with its index.
    pub(super) fn open<'a>(
        state: &State,
        files: impl Iterator<Item = (usize, &'a Path)>,
    ) -> Result<LockFiles, WriteError> {
        let numbered = files.map(|(index, real)| (number_of(real), index));
        let ordered: BTreeMap<u64, usize> = numbered.collect();
        let open = |number: u64| {
            let flags = OFlags::RDWR | OFlags::CREATE;
            step(Step::Lock, || {
                let opened = state.open(Room::Locks, &format!("{number:03x}"), flags);
                opened.map(|(file, _)| file)
            })
        };
        let opened = ordered.into_iter().map(|(number, index)| {
            let file = open(number).map_err(|fault| fault.of(index))?;
            Ok((index, file))
        });
        Ok(LockFiles(opened.collect::<Result<_, WriteError>>()?))
    }

    /// Errors with [`WriteError::Busy`] when it takes longer than `wait` in all.
    pub(super) fn lock(self, wait: Duration, work: &Work) -> Result<Locks, WriteError> {
        let deadline = Instant::now() + wait;
        let mut held = Vec::with_capacity(self.0.len());
        for (index, file) in self.0 {
            held.push(lock(file, deadline, work).map_err(|fault| fault.of(index))?);
        }
        Ok(Locks(held))
    }
}

fn lock(file: File, deadline: Instant, work: &Work) -> Result<Held, Fault> {
    let mut pause = PAUSES.0;
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Held(file)),
            Err(Errno::WOULDBLOCK) if Instant::now() >= deadline => return Err(Fault::Busy),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(error) => return Err(Fault::Io(Step::Lock, error.into())),
        }
        work.check()?;
        // flock(2) waits without a limit or not at all.
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Which lock a path has. All daemons of a user must agree on it.
pub(super) fn number_of(real: &Path) -> u64 {
    xxh3_64(real.as_os_str().as_bytes()) % NUMBERS
}
