//! Work that another thread may do while this one waits for the disk; nobody ever waits for it to be begun.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio::runtime::Handle;

/// Work for whoever comes to it first.
pub struct Aside<T> {
    work: Box<dyn Fn() -> T + Send + Sync>,
    result: OnceLock<T>,
}

impl<T: Send + Sync + 'static> Aside<T> {
    /// Work that ends soon. It is done when its result is asked for, or before, if it is offered.
    pub fn new(work: impl Fn() -> T + Send + Sync + 'static) -> Arc<Aside<T>> {
        Arc::new(Aside {
            work: Box::new(work),
            result: OnceLock::new(),
        })
    }

    /// Offers it to a thread that may block, if there is a runtime and one of its threads is free.
    pub fn offer(self: &Arc<Aside<T>>) {
        if let Ok(runtime) = Handle::try_current() {
            let offered = self.clone();
            runtime.spawn_blocking(move || {
                offered.result();
            });
        }
    }

    /// The result; worked out in this thread if no other has begun.
    pub fn result(&self) -> &T {
        self.result.get_or_init(|| (self.work)())
    }
}

impl<T> fmt::Debug for Aside<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Aside(done: {})", self.result.get().is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::{self, ThreadId};

    use super::*;

    /// Counts how often it is done, and tells where.
    fn counting() -> (
        Arc<AtomicUsize>,
        impl Fn() -> ThreadId + Send + Sync + 'static,
    ) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let work = move || {
            counted.fetch_add(1, Ordering::SeqCst);
            thread::current().id()
        };
        (count, work)
    }

    #[test]
    fn it_is_done_here_where_there_is_no_runtime() {
        let (count, work) = counting();
        let aside = Aside::new(work);
        aside.offer();
        assert_eq!(*aside.result(), thread::current().id());
        assert_eq!(*aside.result(), thread::current().id());
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn it_is_done_once_and_not_waited_for() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .build()
            .expect("a runtime");
        let _entered = runtime.enter();
        let (count, work) = counting();
        let elsewhere = Aside::new(work);
        elsewhere.offer();
        while elsewhere.result.get().is_none() {
            thread::yield_now();
        }
        assert_ne!(*elsewhere.result(), thread::current().id());
        // The only thread is taken until the end.
        let (go_on, told) = std::sync::mpsc::channel::<()>();
        runtime.spawn_blocking(move || told.recv());
        let (again, work) = counting();
        let here = Aside::new(work);
        here.offer();
        assert_eq!(*here.result(), thread::current().id());
        drop(go_on);
        drop(runtime);
        assert_eq!(count.load(Ordering::SeqCst), 1);
        assert_eq!(again.load(Ordering::SeqCst), 1);
    }
}
