//! The two lanes of blocking work, each with a bounded number of jobs at a time, and what a job says that belongs in the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::protocol::Refusal;

use super::{Stopped, Work};

/// How long a job past its deadline is waited for that can no longer be called off.
const CARRIED_THROUGH: Duration = Duration::from_secs(30);

/// Which lane a job runs in; some work is refused in the short one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Short,
    Long,
}

/// Why a job did not give its result.
#[derive(Debug, Clone, PartialEq)]
pub enum Detour {
    /// It would take long: the same job belongs in the long lane.
    TakesLong,
    Refused(Refusal),
}

impl From<Refusal> for Detour {
    fn from(refusal: Refusal) -> Detour {
        Detour::Refused(refusal)
    }
}

impl From<Stopped> for Detour {
    fn from(stopped: Stopped) -> Detour {
        Detour::Refused(stopped.into())
    }
}

/// At most `places` blocking jobs at a time, on threads that may block.
///
/// A job past its deadline (a stat on a hung mount cannot be interrupted) is left behind: its
/// waiter is answered and its place given away, and it counts as stuck until it returns. It can do
/// no more then than [`Work::no_return`] lets it; one that is past that point is waited for once
/// more, [`CARRIED_THROUGH`] at most.
#[derive(Debug)]
pub struct Pool {
    places: Arc<Semaphore>,
    stuck: Arc<AtomicUsize>,
}

/// The place of a running job; taken away from it when it is left behind.
type Place = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

impl Pool {
    pub fn new(places: usize) -> Pool {
        Pool {
            places: Arc::new(Semaphore::new(places)),
            stuck: Arc::new(AtomicUsize::new(0)),
        }
    }

    /// Jobs that did not return by their deadline and still run.
    pub fn stuck(&self) -> usize {
        self.stuck.load(Ordering::Relaxed)
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
        let permit = match self.places.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => tokio::time::timeout_at(deadline, self.places.clone().acquire_owned())
                .await
                .map_err(|_| Stopped::TimedOut)?
                .map_err(|_| Stopped::Cancelled)?,
        };
        work.check()?;
        let place: Place = Arc::new(Mutex::new(Some(permit)));
        let returned = Returned {
            place: place.clone(),
            stuck: self.stuck.clone(),
        };
        let (sender, mut receiver) = oneshot::channel();
        let asked = work.clone();
        tokio::task::spawn_blocking(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| job(&work)));
            // The place is free before the waiter goes on: it may ask for one again.
            drop(returned);
            // Nobody waits any more for a job that was left behind.
            let _ = sender.send(outcome);
            work.let_go();
        });
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
                if place.lock().take().is_some() {
                    self.stuck.fetch_add(1, Ordering::Relaxed);
                }
                Err(Stopped::TimedOut)
            }
        }
    }
}

/// Gives the place back when the job ends, however it ends.
struct Returned {
    place: Place,
    stuck: Arc<AtomicUsize>,
}

impl Drop for Returned {
    fn drop(&mut self) {
        if self.place.lock().take().is_none() {
            self.stuck.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::task::CancelToken;

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
        let pool = Pool::new(1);
        let work = Work::new(CancelToken::new(), Duration::from_secs(60));
        let (go_on, told) = mpsc::channel();
        let (gone, is_gone) = mpsc::channel();
        let job = move |work: &Work| {
            work.let_go_later(Slow(told, gone));
            7
        };
        assert_eq!(pool.run(work.clone(), job).await, Ok(7));
        assert!(is_gone.try_recv().is_err());
        // Its place is free.
        assert_eq!(pool.run(work, |_| 8).await, Ok(8));
        drop(go_on);
        assert_eq!(is_gone.recv(), Ok(()));
    }
}
