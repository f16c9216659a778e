//! The threads that poll futures and run blocking jobs, one kind of thread for both.
//!
//! Futures that are ready and jobs wait in two queues, and whichever thread is free takes from
//! them, futures first. A call is a short future around a short job or two: so that all of it can
//! run in one thread without waking another, a thread that ends a job counts as free before it
//! wakes whoever waits for the job, and then takes that future itself. (On tokio's threads each
//! job costs a wake-up to its thread and another one back: a warm read of 10 KB took 1.18 times as
//! long, sixteen at once 1.13 times.)
//!
//! Who has read a request does its first job for the same reason: reading goes on in another thread.
//!
//! A thread is woken only when there is more to take than threads that will come for it; one is
//! started when all are in jobs. Jobs leave some of the threads to futures, so no
//! number of jobs that hang keeps anybody from being answered. Timers and signals are tokio's.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::runtime::Handle;

/// Threads at most: the places of all pools, those who wait for a long one, and jobs that hang.
const MOST: usize = 512;

/// Of these, threads that never run a job.
const FOR_FUTURES: usize = 8;

/// Jobs at most that wait for a thread with nothing else to do; any further one waits its turn.
const MOST_WHEN_FREE: usize = 64;

/// Idle threads that stay.
const KEPT: usize = 2;

/// After so long without anything to do the others end.
const IDLE: Duration = Duration::from_secs(10);

/// Clones share the threads.
#[derive(Debug, Clone)]
pub struct Threads(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
    /// Entered by each thread: what it polls may use timers.
    runtime: Handle,
}

type Job = Box<dyn FnOnce(&Threads) + Send>;

#[derive(Default)]
struct Queue {
    futures: VecDeque<Arc<Task>>,
    jobs: VecDeque<Job>,
    /// Jobs that wait for input: few, and begun however many other jobs there are.
    inputs: VecDeque<Job>,
    /// Jobs for a thread that finds nothing else. None is called for them.
    when_free: VecDeque<Job>,
    /// Threads that will take something before they wait: awake, and not in a job.
    free: usize,
    in_jobs: usize,
    /// Threads that wait, and have not been called.
    idle: usize,
    /// Of the free ones, those that were called and are not here yet.
    called: usize,
    /// Of the free ones, those that are being started.
    starting: usize,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Queue")
            .field("futures", &self.futures.len())
            .field("jobs", &self.jobs.len())
            .field("free", &self.free)
            .field("in_jobs", &self.in_jobs)
            .finish_non_exhaustive()
    }
}

enum Next {
    Poll(Arc<Task>),
    Run(Job),
}

impl Queue {
    fn may_run_jobs(&self) -> bool {
        self.in_jobs < MOST - FOR_FUTURES
    }

    /// How much could be taken now that somebody waits for.
    fn ready(&self) -> usize {
        let jobs = match self.may_run_jobs() {
            true => self.jobs.len(),
            false => 0,
        };
        self.futures.len() + jobs + self.inputs.len()
    }

    fn take(&mut self) -> Option<Next> {
        if let Some(task) = self.futures.pop_front() {
            return Some(Next::Poll(task));
        }
        let job = self.next_job()?;
        self.free -= 1;
        self.in_jobs += 1;
        Some(Next::Run(job))
    }

    fn next_job(&mut self) -> Option<Job> {
        if !self.may_run_jobs() {
            return self.inputs.pop_front();
        }
        let job = self.jobs.pop_front();
        job.or_else(|| self.inputs.pop_front())
            .or_else(|| self.when_free.pop_front())
    }

    fn threads(&self) -> usize {
        self.free + self.in_jobs + self.idle
    }
}

impl Threads {
    /// Threads whose futures use the timers of this runtime. None is started yet.
    pub fn new(runtime: Handle) -> Threads {
        Threads(Arc::new(Shared {
            queue: Mutex::default(),
            filled: Condvar::new(),
            runtime,
        }))
    }

    /// The runtime of timers, signals and connections.
    pub fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    /// Polls a future until it is done, soon and never in this thread. A panic ends it.
    pub fn start(&self, future: impl Future<Output = ()> + Send + 'static) {
        Waker::from(self.task(future)).wake();
    }

    /// As [`Threads::start`], but polls it once before this returns. In the runtime.
    pub fn start_here(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.task(future).poll();
    }

    fn task(&self, future: impl Future<Output = ()> + Send + 'static) -> Arc<Task> {
        Arc::new(Task {
            future: Mutex::new(Some(Box::pin(future))),
            is_queued: AtomicBool::new(false),
            threads: self.clone(),
        })
    }

    /// Runs a job that may block and must not panic, soon and never in this thread. `then` is
    /// given what it returns: it is quick, and wakes whoever waits for it.
    pub fn run<T>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
        then: impl FnOnce(T) + Send + 'static,
    ) {
        let mut queue = self.0.queue.lock();
        queue.jobs.push_back(in_two_steps(job, then));
        self.call_one(&mut queue);
    }

    /// The same for a job that waits for input and begins what comes. A thread of those that are
    /// for futures runs it where all others are in jobs.
    pub fn run_input<T>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
        then: impl FnOnce(T) + Send + 'static,
    ) {
        let mut queue = self.0.queue.lock();
        queue.inputs.push_back(in_two_steps(job, then));
        self.call_one(&mut queue);
    }

    /// Runs a job that nobody waits for in a thread that has nothing else to do. To be called from a
    /// `then` of [`Threads::run`]: its thread is the next to be free, so none is woken. It must not
    /// panic.
    pub fn run_when_free(&self, job: impl FnOnce() + Send + 'static) {
        let job = in_two_steps(job, |()| {});
        let mut queue = self.0.queue.lock();
        if queue.when_free.len() < MOST_WHEN_FREE {
            queue.when_free.push_back(job);
        } else {
            queue.jobs.push_back(job);
            self.call_one(&mut queue);
        }
    }

    fn push(&self, task: Arc<Task>) {
        let mut queue = self.0.queue.lock();
        queue.futures.push_back(task);
        self.call_one(&mut queue);
    }

    /// Calls a thread if there is more than will be taken without, and none is on its way. Whoever
    /// is called looks again when it is here: so a burst of short jobs wakes few threads, and who
    /// hands on several requests goes on before all processors are taken.
    fn call_one(&self, queue: &mut Queue) {
        let on_its_way = queue.called + queue.starting > 0;
        if queue.ready() <= queue.free || on_its_way {
            return;
        }
        if queue.idle > 0 {
            queue.idle -= 1;
            queue.called += 1;
            queue.free += 1;
            self.0.filled.notify_one();
        } else if queue.threads() < MOST {
            let threads = self.clone();
            let thread = std::thread::Builder::new().name("pilcrow-task".to_owned());
            match thread.spawn(move || threads.work()) {
                Ok(_) => {
                    queue.starting += 1;
                    queue.free += 1;
                }
                // The next to end what it is at takes it.
                Err(error) => tracing::error!(%error, "a thread cannot be started"),
            }
        }
    }

    /// What a thread does, from its start to its end.
    fn work(&self) {
        let _entered = self.0.runtime.enter();
        let mut queue = self.0.queue.lock();
        queue.starting -= 1;
        loop {
            match queue.take() {
                Some(next) => {
                    self.call_one(&mut queue);
                    MutexGuard::unlocked(&mut queue, || match next {
                        Next::Poll(task) => task.poll(),
                        // It does not panic; if it does, the thread is none the worse for it.
                        Next::Run(job) => {
                            let _ = catch_unwind(AssertUnwindSafe(|| job(self)));
                        }
                    });
                }
                None if self.wait(&mut queue) => {}
                None => return,
            }
        }
    }

    /// Waits to be called; false where the thread is not needed any more.
    fn wait(&self, queue: &mut MutexGuard<'_, Queue>) -> bool {
        queue.free -= 1;
        queue.idle += 1;
        let nobody_calls = |queue: &mut Queue| queue.called == 0;
        match queue.idle > KEPT {
            true => drop(self.0.filled.wait_while_for(queue, nobody_calls, IDLE)),
            false => self.0.filled.wait_while(queue, nobody_calls),
        }
        // Whoever calls counts the thread as free already.
        let is_called = queue.called > 0;
        match is_called {
            true => queue.called -= 1,
            false => queue.idle -= 1,
        }
        is_called
    }
}

/// The thread is free again between the two.
fn in_two_steps<T>(
    job: impl FnOnce() -> T + Send + 'static,
    then: impl FnOnce(T) + Send + 'static,
) -> Job {
    Box::new(move |threads| {
        let back = Back(threads);
        let result = job();
        drop(back);
        then(result);
    })
}

/// A thread in a job. It is free again when this is dropped, however the job ends.
struct Back<'a>(&'a Threads);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.0.queue.lock();
        queue.in_jobs -= 1;
        queue.free += 1;
    }
}

/// A future until it is done.
struct Task {
    future: Mutex<Option<BoxFuture<'static, ()>>>,
    /// It is in the queue, and will be polled after this moment.
    is_queued: AtomicBool,
    threads: Threads,
}

impl Task {
    fn poll(self: Arc<Task>) {
        self.is_queued.store(false, Ordering::SeqCst);
        let waker = Waker::from(self.clone());
        // One that is woken while it is polled may be taken by another thread, which waits here
        // for no longer than one poll.
        let mut future = self.future.lock();
        let Some(pending) = future.as_mut() else {
            return;
        };
        let mut context = Context::from_waker(&waker);
        let poll = AssertUnwindSafe(|| pending.as_mut().poll(&mut context).is_ready());
        if catch_unwind(poll).unwrap_or(true) {
            *future = None;
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Task>) {
        if !self.is_queued.swap(true, Ordering::SeqCst) {
            let threads = self.threads.clone();
            threads.push(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread::{self, ThreadId};

    use tokio::sync::oneshot;

    use super::*;

    const HANG: Duration = Duration::from_secs(30);

    /// Runs a job from within a future and waits for it.
    async fn job<T: Send + 'static>(
        threads: &Threads,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (tell, told) = oneshot::channel();
        threads.run(job, move |result| drop(tell.send(result)));
        told.await.ok()
    }

    #[tokio::test]
    async fn what_follows_a_job_runs_in_its_thread() {
        let threads = Threads::new(Handle::current());
        for _ in 0..100 {
            let (tell, told) = oneshot::channel::<[Option<ThreadId>; 3]>();
            let shared = threads.clone();
            threads.start(async move {
                let first = job(&shared, || thread::current().id()).await;
                let between = thread::current().id();
                let second = job(&shared, || thread::current().id()).await;
                let _ = tell.send([first, Some(between), second]);
            });
            let [first, between, second] = told.await.expect("it is done");
            assert!(first.is_some() && first == between && between == second);
        }
        assert_eq!(threads.0.queue.lock().threads(), 1);
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_done_last_and_wakes_no_thread() {
        let threads = Threads::new(Handle::current());
        for _ in 0..100 {
            let (tell, told) = mpsc::channel();
            let (last, shared) = (tell.clone(), threads.clone());
            let then = move |()| {
                for _ in 0..2 * MOST_WHEN_FREE {
                    let last = last.clone();
                    shared.run_when_free(move || {
                        let _ = last.send("left behind");
                    });
                }
                shared.run(
                    || (),
                    move |()| {
                        let _ = tell.send("waited for");
                    },
                );
            };
            threads.run(|| (), then);
            let order: Vec<&str> = tokio::task::spawn_blocking(move || told.iter().collect())
                .await
                .expect("all are done");
            assert_eq!(order.len(), 2 * MOST_WHEN_FREE + 1);
            assert_eq!(order.last(), Some(&"left behind"));
        }
    }

    #[tokio::test]
    async fn jobs_that_hang_leave_threads_to_others() {
        let threads = Threads::new(Handle::current());
        let (go_on, told) = mpsc::channel::<()>();
        let told = Arc::new(Mutex::new(told));
        let mut hanging = Vec::new();
        for _ in 0..MOST {
            let (told, (tell, done)) = (told.clone(), oneshot::channel());
            let hang = move || {
                let _ = told.lock().recv();
            };
            threads.run(hang, move |()| {
                let _ = tell.send(());
            });
            hanging.push(done);
        }
        // No job more, but futures.
        let (tell, timer) = oneshot::channel();
        threads.start(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let _ = tell.send(());
        });
        let waited = tokio::time::timeout(HANG, timer).await;
        assert_eq!(waited.ok(), Some(Ok(())));
        // Nor does input wait for them.
        let (tell, input) = oneshot::channel();
        threads.run_input(
            || 7,
            move |came| {
                let _ = tell.send(came);
            },
        );
        let waited = tokio::time::timeout(HANG, input).await;
        assert_eq!(waited.ok(), Some(Ok(7)));
        assert!(threads.0.queue.lock().threads() <= MOST);
        drop(go_on);
        for done in hanging {
            assert_eq!(done.await, Ok(()));
        }
        assert_eq!(job(&threads, || 7).await, Some(7));
    }

    #[tokio::test]
    async fn a_panic_ends_what_panicked_and_nothing_else() {
        let threads = Threads::new(Handle::current());
        let panic = || std::panic::resume_unwind(Box::new("on purpose"));
        assert_eq!(job::<()>(&threads, panic).await, None);
        let (tell, told) = oneshot::channel::<()>();
        let shared = threads.clone();
        threads.start(async move {
            job(&shared, || ()).await;
            let _tell = tell;
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(told.await.is_err());
        assert_eq!(job(&threads, || 7).await, Some(7));
        let queue = threads.0.queue.lock();
        assert_eq!(queue.in_jobs, 0);
    }

    #[test]
    fn a_future_that_wakes_itself_is_polled_again() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let threads = Threads::new(Handle::current());
            let (tell, told) = oneshot::channel();
            threads.start_here(async move {
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                let _ = tell.send(());
            });
            assert_eq!(told.await, Ok(()));
        });
    }
}
