//! The jobs of file systems that may hang, so that one which does holds up nobody but those who
//! ask for its files.
//!
//! Such a job has no place of its pool, but one of the few of its file system's device. It waits
//! for that in its own thread, as one does for a long place. A job gives a sign of life wherever
//! it looks whether it is still wanted ([`Work::check`](super::Work::check)); once
//! [`STUCK_JOBS`] jobs of a device have given none for [`SILENT_FOR`], who comes to it or waits
//! for it is turned away at once. A job that was left behind by its deadline is still one of its
//! device until it returns, so that no device ever holds more threads than it has places.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::{Stopped, Work};

/// Jobs of one device at a time. As many as there are short places: a network that answers is to
/// be asked by as many as a disk.
const PLACES: usize = 16;

/// So many silent jobs tell that a device hangs.
const STUCK_JOBS: usize = 4;

/// After so long without a sign of life a job is silent.
const SILENT_FOR: Duration = Duration::from_secs(1);

/// How often one that waits looks whether it is still wanted.
const STEP: Duration = Duration::from_millis(20);

/// Why a job may not go on to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// Jobs that are there already do not come back.
    #[error("the file system does not answer")]
    Hangs,
    /// The job ended while it waited.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The jobs that are under way on each device. Pools may share it.
#[derive(Debug, Default)]
pub(super) struct MountJobs {
    under_way: Mutex<HashMap<u64, Vec<Arc<Sign>>>>,
    ended: Condvar,
}

/// When a job last gave a sign of life.
#[derive(Debug)]
pub(super) struct Sign {
    since: Instant,
    /// Milliseconds from then.
    last: AtomicU64,
}

impl Sign {
    pub(super) fn new() -> Arc<Sign> {
        Arc::new(Sign {
            since: Instant::now(),
            last: AtomicU64::new(0),
        })
    }

    pub(super) fn give(&self) {
        let now = self.since.elapsed().as_millis() as u64;
        self.last.store(now, Ordering::Relaxed);
    }

    fn is_silent(&self) -> bool {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.since.elapsed() > last + SILENT_FOR
    }
}

/// A job's place on a device; given back when dropped.
#[derive(Debug)]
pub(super) struct OnMount {
    of: Arc<MountJobs>,
    pub(super) device: u64,
    sign: Arc<Sign>,
}

impl MountJobs {
    /// Waits for a place on a device, which is refused while the device hangs.
    pub(super) fn enter(
        self: &Arc<MountJobs>,
        device: u64,
        sign: &Arc<Sign>,
        work: &Work,
    ) -> Result<OnMount, NoPlace> {
        let mut under_way = self.under_way.lock();
        loop {
            work.check()?;
            let jobs = under_way.entry(device).or_default();
            let silent = jobs.iter().filter(|sign| sign.is_silent());
            if silent.count() >= STUCK_JOBS {
                return Err(NoPlace::Hangs);
            }
            if jobs.len() < PLACES {
                sign.give();
                jobs.push(sign.clone());
                return Ok(OnMount {
                    of: self.clone(),
                    device,
                    sign: sign.clone(),
                });
            }
            self.ended.wait_for(&mut under_way, STEP);
        }
    }
}

#[cfg(test)]
impl MountJobs {
    pub(super) fn is_empty(&self) -> bool {
        self.under_way.lock().is_empty()
    }
}

impl Drop for OnMount {
    fn drop(&mut self) {
        let mut under_way = self.of.under_way.lock();
        if let Some(jobs) = under_way.get_mut(&self.device) {
            jobs.retain(|sign| !Arc::ptr_eq(sign, &self.sign));
            if jobs.is_empty() {
                under_way.remove(&self.device);
            }
        }
        drop(under_way);
        self.of.ended.notify_all();
    }
}
