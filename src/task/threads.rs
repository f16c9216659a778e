//! The threads that poll futures and run blocking jobs, one kind of thread for both.
//!
//! Futures that are ready and jobs wait in two queues, and whichever thread is free takes from
//! them, futures first. A call is a short future around a short job or two: so that all of it can
//! run in one thread without waking another, a thread that ends a job counts as free before it
//! wakes whoever waits for the job, and then takes that future itself. (On tokio's threads each
//! job costs a wake-up to its thread and another one back: a warm read of 10 KB took 1.18 times as
//! long, sixteen at once 1.13 times.)
//!
//! Who has read a request goes on reading as long as there is input already, and then does a first job
//! for the same reason. Most often that is done before the next request comes, so no other thread is
//! called to go on reading; one that has nothing to do looks after a moment whether nobody reads yet.
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

use super::{give_back_memory, let_go_of_program, lowered};

/// Threads at most: the places of all pools, those who wait for a long one, and jobs that hang.
const MOST: usize = 512;

/// Of these, threads that never run a job.
const FOR_FUTURES: usize = 8;

/// Jobs at most that wait for a thread with nothing else to do; any further one waits its turn.
const MOST_WHEN_FREE: usize = 64;

/// A job that would wait for input is not begun for so long while others may soon be done.
const PATIENCE: Duration = Duration::from_millis(1);

/// Idle threads that stay.
const KEPT: usize = 2;

/// Milliseconds without anything to do after which the others end. One of those that stay looks as often
/// whether anything was done since, and if not, gives back to the system what is held of memory and not needed.
const IDLE_MS: u64 = 10_000;

/// Clones share the threads.
#[derive(Debug, Clone)]
pub struct Threads(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
    /// Where the one waits that looks whether anybody reads.
    watched: Condvar,
    /// Entered by each thread: what it polls may use timers.
    runtime: Handle,
    /// See [`IDLE_MS`].
    idle: Duration,
}

type Job = Box<dyn FnOnce(&Threads) + Send>;

#[derive(Default)]
struct Queue {
    futures: VecDeque<Arc<Task>>,
    jobs: VecDeque<Job>,
    /// Jobs that wait for input: few, and begun however many other jobs there are.
    inputs: VecDeque<Job>,
    /// Of these, for how many there is input.
    inputs_here: usize,
    /// How many of these were ever begun.
    inputs_begun: u64,
    /// An idle thread looks after every moment whether that has changed.
    is_watched: bool,
    /// Jobs for a thread that finds nothing else. None is called for them.
    when_free: VecDeque<Job>,
    /// Threads that will take something before they wait: awake, and not in a job.
    free: usize,
    in_jobs: usize,
    /// Threads that wait, and have not been called.
    idle: usize,
    /// How much was ever taken.
    taken: u64,
    /// Nothing was taken since memory was given back.
    is_at_rest: bool,
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
        self.futures.len() + jobs + self.inputs_here
    }

    /// Whether somebody has to see to it that a job which would wait for input is begun.
    fn is_to_be_watched(&self) -> bool {
        !self.inputs.is_empty() && self.free == 0 && !self.is_watched
    }

    /// Whether nobody would see that the process comes to rest: its only thread waits for input.
    fn is_unattended(&self) -> bool {
        self.inputs_begun > 0 && self.threads() == 1 && self.free == 0
    }

    fn take(&mut self) -> Option<Next> {
        let next = match self.futures.pop_front() {
            Some(task) => Next::Poll(task),
            None => {
                let job = self.next_job()?;
                self.free -= 1;
                self.in_jobs += 1;
                Next::Run(job)
            }
        };
        self.taken += 1;
        self.is_at_rest = false;
        Some(next)
    }

    /// Whether memory is to be given back now: nothing was taken for so long as somebody has waited, who has seen
    /// `taken` before. It is so once.
    fn comes_to_rest(&mut self, taken: u64) -> bool {
        self.taken == taken && !std::mem::replace(&mut self.is_at_rest, true)
    }

    fn next_job(&mut self) -> Option<Job> {
        // What came together is begun together: a cancel waits for none of what it came with.
        if self.inputs_here > 0 {
            return self.next_input();
        }
        if self.may_run_jobs() {
            let job = self.jobs.pop_front();
            // Who would wait for input has time for what nobody waits for.
            if let Some(job) = job.or_else(|| self.when_free.pop_front()) {
                return Some(job);
            }
        }
        self.next_input()
    }

    fn next_input(&mut self) -> Option<Job> {
        let job = self.inputs.pop_front()?;
        self.inputs_begun += 1;
        self.inputs_here = self.inputs_here.min(self.inputs.len());
        Some(job)
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
            watched: Condvar::new(),
            runtime,
            idle: Duration::from_millis(lowered("idleMs", IDLE_MS)),
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

    /// The same for a job that takes input, waits for it unless it `is_here`, and begins what
    /// comes. A thread of those that are for futures runs it where all others are in jobs.
    pub fn run_input<T>(
        &self,
        is_here: bool,
        job: impl FnOnce() -> T + Send + 'static,
        then: impl FnOnce(T) + Send + 'static,
    ) {
        let mut queue = self.0.queue.lock();
        queue.inputs.push_back(in_two_steps(job, then));
        queue.inputs_here += usize::from(is_here);
        self.call_one(&mut queue);
    }

    /// Calls a thread for what the only job at work is about to hand on: being called takes longer.
    pub fn call_ahead(&self) {
        let mut queue = self.0.queue.lock();
        if queue.in_jobs == 1 && queue.free == 0 && queue.idle > 0 {
            self.call_idle(&mut queue);
        }
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
        let is_needed = queue.ready() > queue.free;
        if on_its_way || !(is_needed || queue.is_to_be_watched() || queue.is_unattended()) {
            return;
        }
        if queue.idle > 0 {
            match is_needed {
                true => self.call_idle(queue),
                false => drop(self.0.filled.notify_one()),
            }
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

    /// Calls one of those that have nothing to do; the one that watches only where it is the last,
    /// since another would have to be woken to watch.
    fn call_idle(&self, queue: &mut Queue) {
        let is_last = queue.is_watched && queue.idle == 1;
        let waits_at = if is_last {
            &self.0.watched
        } else {
            &self.0.filled
        };
        waits_at.notify_one();
        queue.idle -= 1;
        queue.called += 1;
        queue.free += 1;
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

    /// Waits for something to do; false where the thread is not needed any more.
    fn wait(&self, queue: &mut MutexGuard<'_, Queue>) -> bool {
        queue.free -= 1;
        queue.idle += 1;
        let rests = |queue: &mut Queue| queue.called == 0 && !queue.is_to_be_watched();
        loop {
            let taken = queue.taken;
            match queue.is_at_rest {
                false => drop(self.0.filled.wait_while_for(queue, rests, self.0.idle)),
                true => self.0.filled.wait_while(queue, rests),
            }
            // Whoever calls counts the thread as free already.
            if queue.called > 0 {
                queue.called -= 1;
                return true;
            }
            if !queue.is_to_be_watched() {
                if queue.idle > KEPT {
                    queue.idle -= 1;
                    return false;
                }
                if queue.comes_to_rest(taken) {
                    MutexGuard::unlocked(queue, || {
                        give_back_memory();
                        let_go_of_program();
                    });
                }
                continue;
            }
            if self.watch(queue) {
                queue.idle -= 1;
                queue.free += 1;
                return true;
            }
        }
    }

    /// Waits until it is called, or no job that takes input was begun for a moment; whether one is
    /// to be begun by this thread then.
    fn watch(&self, queue: &mut MutexGuard<'_, Queue>) -> bool {
        queue.is_watched = true;
        loop {
            let begun = queue.inputs_begun;
            let nobody_calls = |queue: &mut Queue| queue.called == 0;
            self.0.watched.wait_while_for(queue, nobody_calls, PATIENCE);
            if queue.called > 0 || queue.inputs_begun == begun {
                break;
            }
        }
        queue.is_watched = false;
        queue.called == 0 && queue.is_to_be_watched()
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
mod tests;
