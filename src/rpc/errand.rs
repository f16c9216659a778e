//! A blocking job that the thread which began its call may run itself; none is ever run while that thread still leads the reading.

use std::cell::RefCell;

/// A job for the thread that took it on.
pub struct Errand(Box<dyn FnOnce() + Send>);

thread_local! {
    static SLOT: RefCell<Slot> = const { RefCell::new(Slot::Closed) };
}

enum Slot {
    /// This thread takes on no job.
    Closed,
    /// It takes on one, and has none yet.
    Open,
    Taken(Errand),
}

impl Errand {
    /// Runs `begin`; where `ready`, the first job that [`run_soon`] is given meanwhile in this
    /// thread comes back to be run.
    pub fn offered<T>(ready: bool, begin: impl FnOnce() -> T) -> (T, Option<Errand>) {
        if ready {
            SLOT.set(Slot::Open);
        }
        let result = begin();
        match SLOT.replace(Slot::Closed) {
            Slot::Taken(errand) => (result, Some(errand)),
            Slot::Open | Slot::Closed => (result, None),
        }
    }

    pub fn run(self) {
        (self.0)();
    }
}

/// Runs a short blocking job soon: in this thread when it has begun what it is at, if it offers
/// itself, else on one of the runtime's blocking threads.
pub fn run_soon(job: Box<dyn FnOnce() + Send>) {
    let turned_down = SLOT.with_borrow_mut(|slot| match slot {
        Slot::Open => {
            *slot = Slot::Taken(Errand(job));
            None
        }
        Slot::Closed | Slot::Taken(_) => Some(job),
    });
    if let Some(job) = turned_down {
        tokio::task::spawn_blocking(job);
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
        let ((), errand) = Errand::offered(true, || {
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
        let ((), none) = Errand::offered(false, || run_soon(job("not offered")));
        assert!(none.is_none());
        assert_ne!(told.recv().expect("it runs").1, thread::current().id());
    }
}
