//! A call that waits for something, and the thread that polls it on; it is never polled by two at once.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime::Handle;

thread_local! {
    /// Whether calls that are woken in this thread now may go on in it.
    static OFFERED: Cell<bool> = const { Cell::new(false) };
    /// What is to be done when the call that is polled in this thread has had its turn.
    static LATER: RefCell<Option<Later>> = const { RefCell::new(None) };
}

type Later = Vec<Box<dyn FnOnce()>>;

/// Does something that the answer of a call need not wait for: after the turn in which the call
/// says so, and so after its answer where that is its last one. At once where no call is polled.
pub fn afterwards(something: impl FnOnce() + 'static) {
    let something: Box<dyn FnOnce()> = Box::new(something);
    let now = LATER.with_borrow_mut(|later| match later {
        Some(later) => {
            later.push(something);
            None
        }
        None => Some(something),
    });
    if let Some(now) = now {
        now();
    }
}

/// Runs `turn`, and then what it left for afterwards.
fn and_afterwards(turn: impl FnOnce()) {
    let before = LATER.replace(Some(Later::new()));
    turn();
    let left = LATER.replace(before);
    left.into_iter().flatten().for_each(|it| it());
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
        and_afterwards(|| self.poll_once());
    }

    fn poll_once(self: &Arc<Flight>) {
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

    #[tokio::test]
    async fn what_is_left_for_afterwards_comes_after_the_turn() {
        let (tell, mut told) = mpsc::unbounded_channel();
        let later = tell.clone();
        Flight::begin(async move {
            afterwards(move || {
                let _ = later.send("afterwards");
            });
            let _ = tell.send("answer");
        });
        afterwards(|| {});
        assert_eq!(told.recv().await, Some("answer"));
        assert_eq!(told.recv().await, Some("afterwards"));
        assert_eq!(told.recv().await, None);
        // Nobody has a turn.
        let done = std::rc::Rc::new(Cell::new(false));
        let does = done.clone();
        afterwards(move || does.set(true));
        assert!(done.get());
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
