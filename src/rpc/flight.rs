//! A call that waits for something, and the thread that polls it on; it is never polled by two at once.

use std::cell::Cell;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime::Handle;

thread_local! {
    /// Whether calls that are woken in this thread now may go on in it.
    static OFFERED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `complete`; the calls that it wakes go on in this thread, before this returns, and not by
/// way of a worker. For threads that hold no lock and may block: a wake-up costs more than many a
/// call has left to do.
pub fn complete_here(complete: &mut dyn FnMut()) {
    let _offer = Offer::set(true);
    complete();
}

/// Sets the offer until it is dropped.
struct Offer {
    before: bool,
}

impl Offer {
    fn set(offered: bool) -> Offer {
        Offer {
            before: OFFERED.replace(offered),
        }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        OFFERED.set(self.before);
    }
}

/// A call that was begun, until it is done.
pub struct Flight {
    future: Mutex<Option<BoxFuture<'static, ()>>>,
    runtime: Handle,
}

impl Flight {
    /// Polls the call once, in this thread, and leaves the rest to whoever wakes it.
    pub fn begin(call: impl Future<Output = ()> + Send + 'static) {
        let flight = Arc::new(Flight {
            future: Mutex::new(Some(Box::pin(call))),
            runtime: Handle::current(),
        });
        flight.poll();
    }

    fn poll(self: &Arc<Flight>) {
        let waker = Waker::from(self.clone());
        // Whoever wakes it while it is polled waits here, for no longer than one poll.
        let mut future = self.future.lock();
        // What wakes it from inside of itself must not: that goes to a worker.
        let _offer = Offer::set(false);
        let mut context = Context::from_waker(&waker);
        let done = future
            .as_mut()
            .is_some_and(|call| call.as_mut().poll(&mut context).is_ready());
        if done {
            *future = None;
        }
    }
}

impl Wake for Flight {
    fn wake(self: Arc<Flight>) {
        if OFFERED.get() {
            self.poll();
        } else {
            // Whoever wakes may hold locks that the call will ask for.
            let runtime = self.runtime.clone();
            runtime.spawn(async move { self.poll() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;
    use std::thread;

    use tokio::sync::{mpsc, oneshot};

    use super::*;

    /// Begins a call that waits for a word, wakes itself once, and tells in which threads it went on.
    fn waiting(word: oneshot::Receiver<()>) -> mpsc::UnboundedReceiver<thread::ThreadId> {
        let (tell, told) = mpsc::unbounded_channel();
        Flight::begin(async move {
            let _ = word.await;
            let _ = tell.send(thread::current().id());
            let mut woken = false;
            let wake_once =
                std::future::poll_fn(|context| match std::mem::replace(&mut woken, true) {
                    true => Poll::Ready(()),
                    false => {
                        context.waker().wake_by_ref();
                        Poll::Pending
                    }
                });
            wake_once.await;
            let _ = tell.send(thread::current().id());
        });
        told
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn goes_on_where_it_is_completed_but_for_what_it_does_to_itself() {
        let (word, received) = oneshot::channel();
        let mut told = waiting(received);
        let completing = thread::spawn(move || {
            let mut word = Some(word);
            complete_here(&mut || {
                let _ = word.take().map(|word| word.send(()));
            });
            thread::current().id()
        });
        let there = completing.join().ok();
        assert_eq!(told.recv().await, there);
        assert!(
            told.recv()
                .await
                .is_some_and(|worker| Some(worker) != there)
        );
        assert_eq!(told.recv().await, None);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn goes_on_in_a_worker_where_no_thread_is_offered() {
        let (word, received) = oneshot::channel();
        let mut told = waiting(received);
        let sending = thread::spawn(move || {
            let _ = word.send(());
            thread::current().id()
        });
        let there = sending.join().ok();
        assert!(
            told.recv()
                .await
                .is_some_and(|worker| Some(worker) != there)
        );
        assert!(told.recv().await.is_some());
    }
}
