//! Cancel tokens, deadlines, and the threads, pools and mounts of blocking work. No wait here is without a
//! limit.

#![warn(missing_docs)]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod crew;
mod lowered;
mod memory;
mod mounts;
mod pools;
mod threads;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::Notify;

pub use crew::in_crew;
pub use lowered::lowered;
pub use memory::give_back_memory;
use memory::let_go_of_program;
pub use mounts::NoPlace;
pub use pools::Pool;
pub use threads::Threads;

use pools::JobPlace;

/// What takes more bytes than this to be gone through takes long ([`Work::takes_long`]).
pub const LONG_FROM_BYTES: u64 = 1024 * 1024;

/// Why a piece of work stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// Nobody wants the answer any more.
    #[error("cancelled")]
    Cancelled,
    /// Its deadline is over.
    #[error("out of time")]
    TimedOut,
    /// It panicked; what it said is in the log.
    #[error("the work panicked")]
    Panicked,
}

/// Whether somebody still wants the answer, and whether it can still be called off. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<Wish>);

#[derive(Debug, Default)]
struct Wish {
    state: AtomicU8,
    changed: Notify,
}

/// Nobody has cancelled.
const OPEN: u8 = 0;
const CANCELLED: u8 = 1;
/// What was begun is carried through: a cancel comes too late.
const CLOSED: u8 = 2;

impl CancelToken {
    /// One that nobody has cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Cancels, unless that comes too late. Whether it is cancelled now.
    pub fn cancel(&self) -> bool {
        match self.set(CANCELLED) {
            Ok(()) => {
                self.0.changed.notify_waiters();
                true
            }
            Err(state) => state == CANCELLED,
        }
    }

    /// Whether somebody has called it off in time.
    pub fn is_cancelled(&self) -> bool {
        self.state() == CANCELLED
    }

    /// From here on a cancel comes too late. Errors where one came before.
    pub fn close(&self) -> Result<(), Stopped> {
        match self.set(CLOSED) {
            Err(CANCELLED) => Err(Stopped::Cancelled),
            _ => Ok(()),
        }
    }

    /// Whether a cancel comes too late.
    pub fn is_closed(&self) -> bool {
        self.state() == CLOSED
    }

    /// Waits until it is cancelled; for ever where it never is.
    pub async fn cancelled(&self) {
        loop {
            // Made before the look, so that no change in between is missed.
            let changed = self.0.changed.notified();
            if self.is_cancelled() {
                return;
            }
            changed.await;
        }
    }

    fn state(&self) -> u8 {
        self.0.state.load(Ordering::Acquire)
    }

    /// Leaves the open state for another one; errors with the state where it was left before.
    fn set(&self, state: u8) -> Result<(), u8> {
        let order = Ordering::AcqRel;
        let set = self
            .0
            .state
            .compare_exchange(OPEN, state, order, Ordering::Acquire);
        set.map(drop)
    }

    /// Cancels when the guard is dropped: a handler's future that is dropped takes its work along.
    pub fn cancel_on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }
}

/// See [`CancelToken::cancel_on_drop`].
#[derive(Debug)]
pub struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What every loop that may be long carries along and asks from time to time.
#[derive(Debug, Clone)]
pub struct Work {
    cancel: CancelToken,
    deadline: Instant,
    processor: Option<ProcessorTime>,
    leavings: Leavings,
    /// Of the job in its pool, if it runs in one.
    place: Option<Arc<JobPlace>>,
}

/// What a job is done with and what takes time to let go of. Clones share it.
#[derive(Clone, Default)]
struct Leavings(Arc<Mutex<Vec<Box<dyn Send>>>>);

impl std::fmt::Debug for Leavings {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Leavings({})", self.0.lock().len())
    }
}

impl Work {
    /// Work that ends by then, and earlier when it is called off.
    pub fn new(cancel: CancelToken, limit: Duration) -> Work {
        Work {
            cancel,
            deadline: Instant::now() + limit,
            processor: None,
            leavings: Leavings::default(),
            place: None,
        }
    }

    /// Work of the calling thread that may take so much of its processor time, however long that
    /// takes by the clock (an hour at most): a busy machine stops it where an idle one does.
    pub fn of_processor_time(limit: Duration) -> Work {
        Work {
            processor: Some(ProcessorTime::new(limit)),
            ..Work::new(CancelToken::new(), Duration::from_secs(3600))
        }
    }

    /// The same work with a deadline that is at most `limit` from now.
    pub fn within(&self, limit: Duration) -> Work {
        Work {
            deadline: self.deadline.min(Instant::now() + limit),
            ..self.clone()
        }
    }

    /// The same work as that of a job that has this place.
    fn in_place(self, place: Arc<JobPlace>) -> Work {
        Work {
            place: Some(place),
            ..self
        }
    }

    /// To be said by a job where it finds that it will take long, before the long part and with no
    /// lock held: it goes on in a long place of its pool, for which it may have to wait. Does
    /// nothing where it has one, or runs in no pool that has long places.
    ///
    /// Whether it has moved: somebody else may meanwhile have done what was still to be done.
    ///
    /// # Errors
    ///
    /// When the wait is cancelled or too late.
    pub fn takes_long(&self) -> Result<bool, Stopped> {
        match &self.place {
            Some(place) => place.takes_long(self),
            None => Ok(false),
        }
    }

    /// To be said by a job before it touches a file system that may hang, with no lock held: it goes
    /// on as one of that device's jobs, for which it may have to wait, and has no place that anybody
    /// else could need. Does nothing where it is one, or runs in no pool.
    ///
    /// # Errors
    ///
    /// While the device hangs, and when the wait is cancelled or too late.
    pub fn on_mount(&self, device: u64) -> Result<(), NoPlace> {
        match &self.place {
            Some(place) => place.on_mount(device, self),
            None => Ok(()),
        }
    }

    /// Whether a job may touch that device: it is one of its jobs, or runs in no pool.
    pub fn is_on_mount(&self, device: u64) -> bool {
        self.place.as_ref().is_none_or(|place| place.is_on(device))
    }

    /// When its time is over.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Takes what the job is done with. Where a pool runs the job, it is dropped after the job's
    /// result was handed on: whoever closes the last handle of a removed file waits until the disk
    /// has its blocks back.
    pub fn let_go_later(&self, leaving: impl Send + 'static) {
        self.leavings.0.lock().push(Box::new(leaving));
    }

    fn has_leavings(&self) -> bool {
        !self.leavings.0.lock().is_empty()
    }

    fn let_go(&self) {
        let leavings = std::mem::take(&mut *self.leavings.0.lock());
        drop(leavings);
    }

    /// Begins what is carried through whoever cancels it from here on. Errors, like
    /// [`Work::check`], where it is too late to begin.
    pub fn no_return(&self) -> Result<(), Stopped> {
        self.check()?;
        self.cancel.close()
    }

    /// Calls it off because nobody waits any more, unless there was [`Work::no_return`]. Whether it
    /// is called off now.
    fn call_off(&self) -> bool {
        self.cancel.cancel()
    }

    /// Errors once the work is cancelled or out of time.
    pub fn check(&self) -> Result<(), Stopped> {
        if let Some(place) = &self.place {
            place.give_sign();
        }
        if self.cancel.is_cancelled() {
            Err(Stopped::Cancelled)
        } else if self.is_over() {
            Err(Stopped::TimedOut)
        } else {
            Ok(())
        }
    }

    fn is_over(&self) -> bool {
        match &self.processor {
            Some(processor) => processor.is_over(),
            None => Instant::now() >= self.deadline,
        }
    }
}

/// So much processor time of one thread. To ask for what it has used is a system call, and no thread
/// uses more than goes by on the clock: so it is asked when the clock says that it may be over.
#[derive(Debug, Clone)]
struct ProcessorTime {
    /// What the thread's own clock shows then.
    end: Duration,
    /// Before this it cannot be over.
    earliest: Arc<Mutex<Instant>>,
}

impl ProcessorTime {
    fn new(limit: Duration) -> ProcessorTime {
        ProcessorTime {
            end: used() + limit,
            earliest: Arc::new(Mutex::new(Instant::now() + limit)),
        }
    }

    fn is_over(&self) -> bool {
        let now = Instant::now();
        let mut earliest = self.earliest.lock();
        if now < *earliest {
            return false;
        }
        let left = self.end.saturating_sub(used());
        *earliest = now + left;
        left.is_zero()
    }
}

/// What the calling thread has used so far.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
