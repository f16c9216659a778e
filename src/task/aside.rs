//! Work that another thread may do while this one waits for the disk; nobody ever waits for it to be begun, or longer than it is worth.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::helper::Helper;
use super::{CancelToken, Work};

/// How long the other thread may take at most; whoever waits for it gives up long before.
const OFFERED: Duration = Duration::from_secs(30);

/// Work for whoever comes to it first.
pub struct Aside {
    work: Box<dyn Fn(&Work) + Send + Sync>,
    cancel: CancelToken,
    progress: Mutex<Progress>,
    ended: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    NotBegun,
    Begun,
    Ended,
}

impl Aside {
    /// Work that asks its [`Work`] now and then, and keeps its results by itself. A panic ends it
    /// and nothing else.
    pub fn new(work: impl Fn(&Work) + Send + Sync + 'static) -> Arc<Aside> {
        Arc::new(Aside {
            work: Box::new(work),
            cancel: CancelToken::new(),
            progress: Mutex::new(Progress::NotBegun),
            ended: Condvar::new(),
        })
    }

    /// Offers it to another thread, which has one lie there at the most.
    pub fn offer(self: &Arc<Aside>) {
        if let Some(helper) = Helper::shared() {
            let offered = self.clone();
            helper.offer(move || offered.begin(OFFERED));
        }
    }

    /// Does it in this thread if no other has begun, else waits for that one; whether it ended
    /// within `limit`. What has not by then is cancelled.
    pub fn finish(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        self.begin(limit);
        let mut progress = self.progress.lock();
        while *progress != Progress::Ended {
            if self.ended.wait_until(&mut progress, deadline).timed_out() {
                self.cancel.cancel();
                return *progress == Progress::Ended;
            }
        }
        true
    }

    /// Does it, unless somebody has begun it before.
    fn begin(&self, limit: Duration) {
        let mut progress = self.progress.lock();
        if *progress != Progress::NotBegun {
            return;
        }
        *progress = Progress::Begun;
        drop(progress);
        let work = Work::new(self.cancel.clone(), limit);
        let _ = catch_unwind(AssertUnwindSafe(|| (self.work)(&work)));
        *self.progress.lock() = Progress::Ended;
        self.ended.notify_all();
    }
}

impl fmt::Debug for Aside {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Aside({:?})", *self.progress.lock())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread::{self, ThreadId};

    use super::*;

    const HANG: Duration = Duration::from_secs(30);

    type Place = Arc<Mutex<Option<ThreadId>>>;

    /// Counts how often it is done, and tells where.
    fn counting() -> (Arc<AtomicUsize>, Place, impl Fn(&Work) + Send + Sync) {
        let (count, place) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None)));
        let (counted, there) = (count.clone(), place.clone());
        let work = move |_: &Work| {
            counted.fetch_add(1, Ordering::SeqCst);
            *there.lock() = Some(thread::current().id());
        };
        (count, place, work)
    }

    #[test]
    fn it_is_done_here_where_nobody_was_asked() {
        let (count, place, work) = counting();
        let aside = Aside::new(work);
        assert!(aside.finish(HANG) && aside.finish(HANG));
        assert_eq!(*place.lock(), Some(thread::current().id()));
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn it_is_done_elsewhere_where_it_is_offered_in_time() {
        let (count, place, work) = counting();
        let aside = Aside::new(work);
        while place.lock().is_none() {
            // Another test may have something lie there.
            aside.offer();
            thread::yield_now();
        }
        assert!(aside.finish(HANG));
        assert_ne!(*place.lock(), Some(thread::current().id()));
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn what_takes_too_long_elsewhere_is_given_up_and_cancelled() {
        let (tell, told) = mpsc::channel();
        let aside = Aside::new(move |work| {
            while work.check().is_ok() {
                thread::yield_now();
            }
            let _ = tell.send(());
        });
        while *aside.progress.lock() == Progress::NotBegun {
            aside.offer();
            thread::yield_now();
        }
        assert!(!aside.finish(Duration::ZERO));
        assert_eq!(told.recv_timeout(HANG), Ok(()));
    }

    #[test]
    fn a_panic_ends_it() {
        let aside = Aside::new(|_| {
            std::panic::resume_unwind(Box::new("on purpose, without the hook's output"));
        });
        assert!(aside.finish(HANG));
    }
}
