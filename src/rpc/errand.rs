//! A blocking job that the thread which began its call may run itself; none is ever run while that thread still leads the reading.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A job for the thread that took it on.
pub struct Errand(Box<dyn FnOnce() + Send>);

thread_local! {
    static SLOT: RefCell<Slot> = const { RefCell::new(Slot::Closed) };
}

enum Slot {
    /// This thread takes on no job.
    Closed,
    /// It takes on one while others stand ready, of whom this is the number; it has none yet.
    Open(Arc<AtomicUsize>),
    Taken(Errand),
}

impl Errand {
    /// Runs `begin`; the first job that [`run_soon`] is given meanwhile in this thread comes back
    /// to be run, if there are any `ready` at that moment to do what this thread does.
    pub fn offered<T>(ready: &Arc<AtomicUsize>, begin: impl FnOnce() -> T) -> (T, Option<Errand>) {
        SLOT.set(Slot::Open(ready.clone()));
        let result = begin();
        match SLOT.replace(Slot::Closed) {
            Slot::Taken(errand) => (result, Some(errand)),
            Slot::Open(_) | Slot::Closed => (result, None),
        }
    }

    pub fn run(self) {
        (self.0)();
    }

    /// Runs it on one of the runtime's blocking threads.
    pub fn run_elsewhere(self) {
        tokio::task::spawn_blocking(self.0);
    }
}

/// Runs a short blocking job soon: in this thread when it has begun what it is at, if it offers
/// itself, else on one of the runtime's blocking threads.
pub fn run_soon(job: Box<dyn FnOnce() + Send>) {
    let turned_down = SLOT.with_borrow_mut(|slot| match slot {
        Slot::Open(ready) if ready.load(Ordering::SeqCst) > 0 => {
            *slot = Slot::Taken(Errand(job));
            None
        }
        Slot::Open(_) | Slot::Closed | Slot::Taken(_) => Some(job),
    });
    if let Some(job) = turned_down {
        Errand(job).run_elsewhere();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn only_the_first_job_of_an_offer_is_kept() {
        let (tell, told) = mpsc::channel();
        let job = |name: &'static str| {
            let tell = tell.clone();
            Box::new(move || {
                let _ = tell.send((name, thread::current().id()));
            })
        };
        let ready = Arc::new(AtomicUsize::new(0));
        let ((), errand) = Errand::offered(&ready, || {
            // It comes while the call is read.
            ready.store(1, Ordering::SeqCst);
            run_soon(job("first"));
            run_soon(job("second"));
        });
        let (name, there) = told.recv().expect("the second runs elsewhere");
        assert_eq!(name, "second");
        assert_ne!(there, thread::current().id());
        errand.expect("the first is ours").run();
        assert_eq!(told.recv(), Ok(("first", thread::current().id())));
        run_soon(job("after the offer"));
        assert_ne!(told.recv().expect("it runs").1, thread::current().id());
        let nobody = Arc::default();
        let ((), none) = Errand::offered(&nobody, || run_soon(job("nobody is ready")));
        assert!(none.is_none());
        assert_ne!(told.recv().expect("it runs").1, thread::current().id());
    }
}
