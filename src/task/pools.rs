//! Bounded pools of blocking jobs, and how a job that takes long gets out of the way of short ones.
//!
//! Every job begins in a short place. One that finds that it will take long says so
//! ([`Work::takes_long`]): it gives its short place back at once, waits in its own thread for one
//! of the few long places, and goes on from where it is. Nothing runs twice.
//!
//! Who waits so keeps a thread, of which there are 512 at most ([`Threads`]). So that short jobs and
//! commits always find one, no more than [`MOST_WAITING`] wait without a place; any further one
//! keeps its short place until it has a long one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{Stopped, Threads, Work};

/// How long a job past its deadline is waited for that can no longer be called off.
const CARRIED_THROUGH: Duration = Duration::from_secs(30);

/// Jobs of one pool that may wait for a long place without holding a short one.
const MOST_WAITING: usize = 400;

/// Blocking jobs, so many at a time, on threads that may block.
///
/// A job past its deadline (a stat on a hung mount cannot be interrupted) is left behind: its
/// waiter is answered and its place given away, whichever that is by then, and it counts as stuck
/// until it returns. It can do no more then than [`Work::no_return`] lets it; one that is past
/// that point is waited for once more, [`CARRIED_THROUGH`] at most.
#[derive(Debug)]
pub struct Pool {
    places: Arc<Places>,
    threads: Threads,
}

#[derive(Debug)]
struct Places {
    short: Arc<Semaphore>,
    /// `None` where no job is too long for its place.
    long: Option<Arc<Semaphore>>,
    /// For those that wait without a place.
    waiting: Semaphore,
    stuck: AtomicUsize,
}

impl Pool {
    /// A pool in which every job stays in its place, however long it takes.
    pub fn new(places: usize, threads: Threads) -> Pool {
        Pool::of(places, None, threads)
    }

    /// A pool in which a job that takes long moves to one of the `long` places.
    pub fn with_long_places(short: usize, long: usize, threads: Threads) -> Pool {
        Pool::of(short, Some(long), threads)
    }

    fn of(short: usize, long: Option<usize>, threads: Threads) -> Pool {
        let places = |count| Arc::new(Semaphore::new(count));
        Pool {
            places: Arc::new(Places {
                short: places(short),
                long: long.map(places),
                waiting: Semaphore::new(MOST_WAITING),
                stuck: AtomicUsize::new(0),
            }),
            threads,
        }
    }

    /// Jobs that did not return by their deadline and still run.
    pub fn stuck(&self) -> usize {
        self.places.stuck.load(Ordering::Relaxed)
    }

    /// Runs `job` on a thread that may block. Waits for a place and for the job until the work's
    /// deadline; errors with [`Stopped`] when that passes, when the work is cancelled before it
    /// begins, or when the job panics.
    pub async fn run<T: Send + 'static>(
        &self,
        work: Work,
        job: impl FnOnce(&Work) -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        let deadline = tokio::time::Instant::from_std(work.deadline());
        let short = &self.places.short;
        let permit = match short.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => tokio::time::timeout_at(deadline, short.clone().acquire_owned())
                .await
                .map_err(|_| Stopped::TimedOut)?
                .map_err(|_| Stopped::Cancelled)?,
        };
        work.check()?;
        let place = Arc::new(Place::new(self.places.clone(), permit));
        let returned = Returned(place.clone());
        let (sender, mut receiver) = oneshot::channel();
        let asked = work.clone();
        let work = work.in_place(place.clone());
        let (done_with, threads) = (work.clone(), self.threads.clone());
        let job = move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| job(&work)));
            // The place is free before the waiter goes on: it may ask for one again.
            drop(returned);
            outcome
        };
        let then = move |outcome| {
            // Nobody waits any more for a job that was left behind.
            let _ = sender.send(outcome);
            if done_with.has_leavings() {
                threads.run(move || done_with.let_go(), |()| {});
            }
        };
        self.threads.run(job, then);
        let mut outcome = tokio::time::timeout_at(deadline, &mut receiver).await;
        if outcome.is_err() && !asked.call_off() {
            outcome = tokio::time::timeout(CARRIED_THROUGH, &mut receiver).await;
        }
        match outcome {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(_))) => Err(Stopped::Panicked),
            // It was never begun: the runtime ends.
            Ok(Err(_)) => Err(Stopped::Cancelled),
            Err(_) => {
                place.leave_behind();
                Err(Stopped::TimedOut)
            }
        }
    }
}

/// What one job holds of its pool.
#[derive(Debug)]
pub(super) struct Place {
    of: Arc<Places>,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    stage: Stage,
    /// Of a short or of a long place; none while the job waits between the two, and when it
    /// was left behind or has returned.
    permit: Option<OwnedSemaphorePermit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Short,
    /// It waits for a long place.
    Moving,
    Long,
    LeftBehind,
    Returned,
}

impl Place {
    fn new(of: Arc<Places>, permit: OwnedSemaphorePermit) -> Place {
        let held = Held {
            stage: Stage::Short,
            permit: Some(permit),
        };
        Place {
            of,
            held: Mutex::new(held),
        }
    }

    /// See [`Work::takes_long`]. Where another thread of the job waits already, this one goes on.
    pub(super) fn takes_long(&self, work: &Work) -> Result<bool, Stopped> {
        let Some(long) = &self.of.long else {
            return Ok(false);
        };
        if !self.begins_to_move() {
            return Ok(false);
        }
        let waiting = self.of.waiting.try_acquire();
        if waiting.is_ok() {
            self.held.lock().permit = None;
        }
        let wait = async {
            tokio::select! {
                biased;
                () = work.cancel.cancelled() => Err(Stopped::Cancelled),
                permit = long.clone().acquire_owned() => permit.map_err(|_| Stopped::Cancelled),
            }
        };
        let outcome = wait_until(work.deadline, wait).unwrap_or(Err(Stopped::TimedOut));
        let mut held = self.held.lock();
        if held.stage != Stage::Moving {
            return Err(outcome.err().unwrap_or(Stopped::TimedOut));
        }
        match outcome {
            Ok(permit) => {
                held.stage = Stage::Long;
                held.permit = Some(permit);
                Ok(true)
            }
            Err(stopped) => {
                held.stage = Stage::Short;
                Err(stopped)
            }
        }
    }

    fn begins_to_move(&self) -> bool {
        let mut held = self.held.lock();
        let is_short = held.stage == Stage::Short;
        if is_short {
            held.stage = Stage::Moving;
        }
        is_short
    }

    /// Takes the place away from a job that has not returned, which is stuck from now on.
    fn leave_behind(&self) {
        let mut held = self.held.lock();
        held.permit = None;
        if held.stage != Stage::Returned {
            held.stage = Stage::LeftBehind;
            self.of.stuck.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Gives the place back when the job ends, however it ends.
struct Returned(Arc<Place>);

impl Drop for Returned {
    fn drop(&mut self) {
        let mut held = self.0.held.lock();
        held.permit = None;
        if held.stage == Stage::LeftBehind {
            self.0.of.stuck.fetch_sub(1, Ordering::Relaxed);
        }
        held.stage = Stage::Returned;
    }
}

/// Waits in this thread for something that needs no runtime; `None` where it is too late first.
fn wait_until<T>(deadline: Instant, future: impl Future<Output = T>) -> Option<T> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Some(value);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        thread::park_timeout(left);
    }
}

/// Wakes a thread that waits in [`wait_until`].
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::task::CancelToken;

    const MINUTE: Duration = Duration::from_secs(60);

    fn threads() -> Threads {
        Threads::new(tokio::runtime::Handle::current())
    }

    fn work() -> Work {
        Work::new(CancelToken::new(), MINUTE)
    }

    /// Waits in its drop until it is told to go on.
    struct Slow(mpsc::Receiver<()>, mpsc::Sender<()>);

    impl Drop for Slow {
        fn drop(&mut self) {
            let _ = self.0.recv();
            let _ = self.1.send(());
        }
    }

    #[tokio::test]
    async fn a_result_does_not_wait_for_what_its_job_lets_go_of() {
        let pool = Pool::new(1, threads());
        let (go_on, told) = mpsc::channel();
        let (gone, is_gone) = mpsc::channel();
        let job = move |work: &Work| {
            work.let_go_later(Slow(told, gone));
            7
        };
        assert_eq!(pool.run(work(), job).await, Ok(7));
        assert!(is_gone.try_recv().is_err());
        // Its place is free.
        assert_eq!(pool.run(work(), |_| 8).await, Ok(8));
        drop(go_on);
        assert_eq!(is_gone.recv(), Ok(()));
    }

    type Running = tokio::task::JoinHandle<Result<Result<(), Stopped>, Stopped>>;

    /// A job that takes long, and runs until `told` hears something or nobody can tell it any more.
    async fn long_job(pool: &Arc<Pool>, work: Work) -> (Running, mpsc::Sender<()>) {
        let (go_on, told) = mpsc::channel::<()>();
        let (begun, has_begun) = oneshot::channel();
        let pool = pool.clone();
        let running = tokio::spawn(async move {
            let job = move |work: &Work| {
                let _ = begun.send(());
                assert!(work.takes_long()?);
                // It is long already.
                assert_eq!(work.within(Duration::ZERO).takes_long(), Ok(false));
                let _ = told.recv();
                Ok(())
            };
            pool.run(work, job).await
        });
        assert_eq!(has_begun.await, Ok(()));
        (running, go_on)
    }

    #[tokio::test]
    async fn who_takes_long_leaves_its_short_place_to_others() {
        let pool = Arc::new(Pool::with_long_places(1, 1, threads()));
        let (first, end_first) = long_job(&pool, work()).await;
        // It runs in the long place.
        assert_eq!(pool.run(work(), |_| 1).await, Ok(1));
        let (second, end_second) = long_job(&pool, work()).await;
        // It waits for the long place.
        assert_eq!(pool.run(work(), |_| 2).await, Ok(2));
        drop(end_second);
        assert!(!second.is_finished());
        drop(end_first);
        assert_eq!(first.await.ok(), Some(Ok(Ok(()))));
        assert_eq!(second.await.ok(), Some(Ok(Ok(()))));
        assert_eq!(pool.run(work(), Work::takes_long).await, Ok(Ok(true)));
        assert_eq!(pool.stuck(), 0);
    }

    #[tokio::test]
    async fn a_wait_for_a_long_place_ends_when_it_is_cancelled_or_too_late() {
        let pool = Arc::new(Pool::with_long_places(1, 1, threads()));
        let (first, end_first) = long_job(&pool, work()).await;
        let cancel = CancelToken::new();
        let (second, _end) = long_job(&pool, Work::new(cancel.clone(), MINUTE)).await;
        assert_eq!(pool.run(work(), |_| 1).await, Ok(1));
        assert!(cancel.cancel());
        assert_eq!(second.await.ok(), Some(Ok(Err(Stopped::Cancelled))));
        let late = |work: &Work| work.within(Duration::from_millis(1)).takes_long();
        assert_eq!(pool.run(work(), late).await, Ok(Err(Stopped::TimedOut)));
        drop(end_first);
        assert_eq!(first.await.ok(), Some(Ok(Ok(()))));
        // Nobody who gave up has a place, or stands in line for one.
        assert_eq!(pool.run(work(), Work::takes_long).await, Ok(Ok(true)));
    }

    #[tokio::test]
    async fn a_job_that_is_left_behind_loses_its_long_place() {
        let pool = Arc::new(Pool::with_long_places(1, 1, threads()));
        let brief = Work::new(CancelToken::new(), Duration::from_millis(500));
        let (hangs, end) = long_job(&pool, brief).await;
        assert_eq!(hangs.await.ok(), Some(Err(Stopped::TimedOut)));
        assert_eq!(pool.stuck(), 1);
        assert_eq!(pool.run(work(), Work::takes_long).await, Ok(Ok(true)));
        drop(end);
        while pool.stuck() > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn without_long_places_a_job_stays_where_it_is() {
        let pool = Pool::new(1, threads());
        assert_eq!(pool.run(work(), Work::takes_long).await, Ok(Ok(false)));
        assert_eq!(work().takes_long(), Ok(false));
    }
}
