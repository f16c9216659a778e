//! The thread that does what may as well be done by another; it never takes the processor from the thread that woke it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use parking_lot::{Condvar, Mutex};

type Job = Box<dyn FnOnce() + Send>;

/// A thread, and where its next job lies until it takes it. One is enough: whoever finds one there
/// does without.
#[derive(Default)]
pub(super) struct Helper {
    next: Mutex<Option<Job>>,
    filled: Condvar,
}

impl Helper {
    /// The one of this process; `None` where there can be no further thread.
    pub(super) fn shared() -> Option<&'static Helper> {
        static SHARED: OnceLock<Option<Arc<Helper>>> = OnceLock::new();
        SHARED.get_or_init(Helper::start).as_deref()
    }

    fn start() -> Option<Arc<Helper>> {
        let helper = Arc::new(Helper::default());
        let this = helper.clone();
        let thread = std::thread::Builder::new().name("helper".to_owned());
        let started = thread.spawn(move || {
            yield_to_others();
            this.work();
        });
        started.ok().map(|_| helper)
    }

    /// Has the job done when there is a processor for it; drops it where one is waiting already.
    /// Whether it was taken.
    pub(super) fn offer(&self, job: impl FnOnce() + Send + 'static) -> bool {
        let mut next = self.next.lock();
        let is_free = next.is_none();
        if is_free {
            *next = Some(Box::new(job));
            // Who is woken must not find it locked.
            drop(next);
            self.filled.notify_one();
        }
        is_free
    }

    fn work(&self) {
        loop {
            let mut next = self.next.lock();
            self.filled.wait_while(&mut next, |next| next.is_none());
            let job = next.take();
            drop(next);
            // A panic is for whoever asks for the result to find out.
            let _ = catch_unwind(AssertUnwindSafe(|| job.map(|job| job())));
        }
    }
}

/// sched(7): a `SCHED_BATCH` thread has its full share of the processor, and does not interrupt the
/// thread that runs there when it is woken. Else it would often do that to the one that woke it,
/// even if another processor has nothing to do.
fn yield_to_others() {
    #[cfg(target_os = "linux")]
    {
        let priority = libc::sched_param { sched_priority: 0 };
        // SAFETY: 0 is the calling thread, and the parameter is only read. A refusal changes nothing.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &priority) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn one_job_waits_and_a_panic_ends_nothing() {
        let helper = Helper::start().expect("a thread");
        let (tell, told) = mpsc::channel();
        let (go_on, held) = mpsc::channel::<()>();
        let begun = tell.clone();
        let taken = helper.offer(move || {
            let _ = begun.send("begun");
            let _ = held.recv();
            std::panic::resume_unwind(Box::new("on purpose, without the hook's output"));
        });
        assert!(taken);
        assert_eq!(told.recv(), Ok("begun"));
        let saying = |what: &'static str| {
            let tell = tell.clone();
            move || {
                let _ = tell.send(what);
            }
        };
        assert!(helper.offer(saying("waited")));
        assert!(!helper.offer(saying("one too many")));
        drop(tell);
        drop(go_on);
        assert_eq!(told.recv(), Ok("waited"));
        assert!(told.recv().is_err(), "whoever could tell more is gone");
    }
}
