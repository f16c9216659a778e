//! Cancel tokens, deadlines and the two lanes of blocking work; nothing here ever waits without a limit.

mod aside;
mod helper;
mod lane;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

pub use aside::Aside;
pub use lane::{Detour, Lane, Pool, Threads};

/// Why a piece of work stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    #[error("cancelled")]
    Cancelled,
    #[error("out of time")]
    TimedOut,
    #[error("the work panicked")]
    Panicked,
}

/// A flag that says that nobody waits for the answer any more. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
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
    leavings: Leavings,
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
    pub fn new(cancel: CancelToken, limit: Duration) -> Work {
        Work {
            cancel,
            deadline: Instant::now() + limit,
            leavings: Leavings::default(),
        }
    }

    /// The same work with a deadline that is at most `limit` from now.
    pub fn within(&self, limit: Duration) -> Work {
        Work {
            cancel: self.cancel.clone(),
            deadline: self.deadline.min(Instant::now() + limit),
            leavings: self.leavings.clone(),
        }
    }

    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Takes what the job is done with. It is dropped in the job's thread, after its result was
    /// handed on where a pool runs it: whoever closes the last handle of a removed file waits
    /// until the disk has its blocks back.
    pub fn let_go_later(&self, leaving: impl Send + 'static) {
        self.leavings.0.lock().push(Box::new(leaving));
    }

    fn let_go(&self) {
        let leavings = std::mem::take(&mut *self.leavings.0.lock());
        drop(leavings);
    }

    /// Errors once the work is cancelled or out of time.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.cancel.is_cancelled() {
            Err(Stopped::Cancelled)
        } else if Instant::now() >= self.deadline {
            Err(Stopped::TimedOut)
        } else {
            Ok(())
        }
    }
}
