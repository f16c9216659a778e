//! Work that another thread may do while this one waits for the disk; nobody ever waits for it to be begun.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::helper::Helper;

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

    /// Offers it to another thread, which has one lie there at the most.
    pub fn offer(self: &Arc<Aside<T>>) {
        if let Some(helper) = Helper::shared() {
            let offered = self.clone();
            helper.offer(move || {
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
    fn it_is_done_here_where_nobody_was_asked() {
        let (count, work) = counting();
        let aside = Aside::new(work);
        assert_eq!(*aside.result(), thread::current().id());
        assert_eq!(*aside.result(), thread::current().id());
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn it_is_done_elsewhere_where_it_is_offered_in_time() {
        let (count, work) = counting();
        let aside = Aside::new(work);
        while aside.result.get().is_none() {
            // Another test may have something lie there.
            aside.offer();
            thread::yield_now();
        }
        assert_ne!(*aside.result(), thread::current().id());
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}
