//! Bounded pools of blocking jobs, and how a job that takes long gets out of the way of short ones.
//!
//! Every job begins in a short place. One that finds that it will take long says so
//! ([`Work::takes_long`]): it gives its short place back at once, waits in its own thread for one
//! of the few long places, and goes on from where it is. Nothing runs twice.
//!
//! Who waits so keeps a thread, of which there are 512 at most ([`Threads`]). So that short jobs and
//! commits always find one, no more than [`MOST_WAITING`] wait without a place; any further one
//! keeps its short place until it has a long one.
//!
//! A job that is about to touch a file system which may hang says that too ([`Work::on_mount`]),
//! and from then on has a place among the jobs of that one instead ([`MountJobs`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::mounts::{MountJobs, NoPlace, OnMount, Sign};
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
    places: Arc<PoolPlaces>,
    mounts: Arc<MountJobs>,
    threads: Threads,
}

#[derive(Debug)]
struct PoolPlaces {
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
            places: Arc::new(PoolPlaces {
                short: places(short),
                long: long.map(places),
                waiting: Semaphore::new(MOST_WAITING),
                stuck: AtomicUsize::new(0),
            }),
            mounts: Arc::default(),
            threads,
        }
    }

    /// The same pool, whose jobs have their places on mounts among those of another one.
    pub fn sharing_mounts_with(self, other: &Pool) -> Pool {
        Pool {
            mounts: other.mounts.clone(),
            ..self
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
        let place = Arc::new(JobPlace::new(self, permit));
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
                threads.run_when_free(move || done_with.let_go());
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
pub(super) struct JobPlace {
    of: Arc<PoolPlaces>,
    mounts: Arc<MountJobs>,
    /// Set once the job is one of a mount.
    sign: OnceLock<Arc<Sign>>,
    held: Mutex<PlaceState>,
}

#[derive(Debug)]
struct PlaceState {
    stage: Stage,
    /// Of a short or of a long place; none while the job waits between the two, and when it
    /// was left behind or has returned.
    permit: Option<OwnedSemaphorePermit>,
    /// Kept until the job returns, also when it was left behind.
    on_mounts: Vec<OnMount>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Short,
    /// It waits for a long place.
    Moving,
    Long,
    /// It is a job of a mount, or may not be one and will end.
    OnMount,
    LeftBehind,
    Returned,
}

impl JobPlace {
    fn new(pool: &Pool, permit: OwnedSemaphorePermit) -> JobPlace {
        let held = PlaceState {
            stage: Stage::Short,
            permit: Some(permit),
            on_mounts: Vec::new(),
        };
        JobPlace {
            of: pool.places.clone(),
            mounts: pool.mounts.clone(),
            sign: OnceLock::new(),
            held: Mutex::new(held),
        }
    }

    /// See [`Work::on_mount`].
    pub(super) fn on_mount(&self, device: u64, work: &Work) -> Result<(), NoPlace> {
        if self.is_on(device) {
            return Ok(());
        }
        let waiting = self.of.waiting.try_acquire();
        {
            let mut held = self.held.lock();
            match held.stage {
                Stage::LeftBehind | Stage::Returned => return Err(Stopped::TimedOut.into()),
                Stage::Short | Stage::Moving | Stage::Long | Stage::OnMount => {}
            }
            held.stage = Stage::OnMount;
            if waiting.is_ok() {
                held.permit = None;
            }
        }
        let sign = self.sign.get_or_init(Sign::new);
        let entered = self.mounts.enter(device, sign, work);
        let mut held = self.held.lock();
        held.permit = None;
        if held.stage != Stage::OnMount {
            return Err(Stopped::TimedOut.into());
        }
        held.on_mounts.push(entered?);
        Ok(())
    }

    /// Whether the job is one of that device.
    pub(super) fn is_on(&self, device: u64) -> bool {
        self.sign.get().is_some() && {
            let held = self.held.lock();
            held.on_mounts.iter().any(|on| on.device == device)
        }
    }

    /// The job is at work, and not in a call that hangs.
    pub(super) fn give_sign(&self) {
        if let Some(sign) = self.sign.get() {
            sign.give();
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
struct Returned(Arc<JobPlace>);

impl Drop for Returned {
    fn drop(&mut self) {
        let mut held = self.0.held.lock();
        held.permit = None;
        held.on_mounts.clear();
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

    /// A job that has a long place, and runs until `told` hears something or nobody can tell it any
    /// more.
    async fn long_job(pool: &Arc<Pool>, work: Work) -> (Running, mpsc::Sender<()>) {
        begun_long_job(pool, work, true).await
    }

    /// The same where a long place has to be waited for: it has begun, no more.
    async fn waiting_job(pool: &Arc<Pool>, work: Work) -> (Running, mpsc::Sender<()>) {
        begun_long_job(pool, work, false).await
    }

    async fn begun_long_job(
        pool: &Arc<Pool>,
        work: Work,
        has_place: bool,
    ) -> (Running, mpsc::Sender<()>) {
        let (go_on, told) = mpsc::channel::<()>();
        let (begun, has_begun) = oneshot::channel();
        let pool = pool.clone();
        let running = tokio::spawn(async move {
            let job = move |work: &Work| {
                let mut begun = Some(begun);
                if !has_place {
                    begun.take().map(|begun| begun.send(()));
                }
                assert!(work.takes_long()?);
                begun.take().map(|begun| begun.send(()));
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
        let (second, end_second) = waiting_job(&pool, work()).await;
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
        let (second, _end) = waiting_job(&pool, Work::new(cancel.clone(), MINUTE)).await;
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

    /// Jobs on a device that run until `told` hears something.
    async fn jobs_on(
        pool: &Arc<Pool>,
        device: u64,
        count: usize,
    ) -> Vec<(Running, mpsc::Sender<()>)> {
        let mut jobs = Vec::new();
        for _ in 0..count {
            let (go_on, told) = mpsc::channel::<()>();
            let (begun, has_begun) = oneshot::channel();
            let pool = pool.clone();
            let running = tokio::spawn(async move {
                let job = move |work: &Work| {
                    assert_eq!(work.on_mount(device), Ok(()));
                    assert!(work.is_on_mount(device));
                    // It is in no place that somebody else could need.
                    assert_eq!(work.takes_long(), Ok(false));
                    let _ = begun.send(());
                    let _ = told.recv();
                    Ok(())
                };
                pool.run(work(), job).await
            });
            assert_eq!(has_begun.await, Ok(()));
            jobs.push((running, go_on));
        }
        jobs
    }

    async fn end(jobs: Vec<(Running, mpsc::Sender<()>)>) {
        for (running, go_on) in jobs {
            drop(go_on);
            assert_eq!(running.await.ok(), Some(Ok(Ok(()))));
        }
    }

    #[tokio::test]
    async fn jobs_of_a_mount_that_hangs_take_no_place_and_others_of_it_are_turned_away() {
        let pool = Arc::new(Pool::with_long_places(1, 1, threads()));
        let commits = Pool::new(1, threads()).sharing_mounts_with(&pool);
        let hanging = jobs_on(&pool, 1, 16).await;
        let alive = jobs_on(&pool, 2, 3).await;
        assert_eq!(pool.run(work(), |_| 1).await, Ok(1));
        assert_eq!(pool.run(work(), Work::takes_long).await, Ok(Ok(true)));
        // As many as there may be; it waits, and hears that they hang.
        let one_more = |work: &Work| work.on_mount(1);
        assert_eq!(pool.run(work(), one_more).await, Ok(Err(NoPlace::Hangs)));
        assert_eq!(commits.run(work(), one_more).await, Ok(Err(NoPlace::Hangs)));
        assert_eq!(
            pool.run(work(), |work: &Work| work.on_mount(2)).await,
            Ok(Ok(()))
        );
        let mut hanging = hanging;
        // Of three nobody can tell whether they hang.
        let rest = hanging.split_off(13);
        end(hanging).await;
        assert_eq!(commits.run(work(), one_more).await, Ok(Ok(())));
        end(rest).await;
        end(alive).await;
        assert_eq!(pool.stuck(), 0);
        assert!(pool.mounts.is_empty());
    }

    #[tokio::test]
    async fn a_job_of_a_mount_that_is_left_behind_still_counts_among_its_jobs() {
        let pool = Arc::new(Pool::new(1, threads()));
        let (go_on, told) = mpsc::channel::<()>();
        let told = Arc::new(Mutex::new(told));
        for _ in 0..4 {
            let told = told.clone();
            let hang = move |work: &Work| {
                work.on_mount(1)?;
                let _ = told.lock().recv();
                Ok::<(), NoPlace>(())
            };
            let brief = Work::new(CancelToken::new(), Duration::from_millis(300));
            assert_eq!(pool.run(brief, hang).await, Err(Stopped::TimedOut));
        }
        assert_eq!(pool.stuck(), 4);
        let one_more = |work: &Work| work.on_mount(1);
        loop {
            match pool.run(work(), one_more).await {
                // The last one has not been silent for a second.
                Ok(Ok(())) => tokio::task::yield_now().await,
                other => break assert_eq!(other, Ok(Err(NoPlace::Hangs))),
            }
        }
        drop(go_on);
        while pool.stuck() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(pool.run(work(), one_more).await, Ok(Ok(())));
    }
}
