//! The workers of one kind: a bounded number, started when they are needed, used again, replaced when they die. Nothing waits for one without a limit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::task::Work;

use super::call::{Call, Input, Stop};
use super::process::Process;
use super::{Confinement, Limits};

/// Between two looks at the cancel token while every worker is at work.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// The workers of one engine and kind. Dropping them ends their processes.
#[derive(Debug)]
pub struct Workers {
    /// The kind, as the hidden command `worker` takes it.
    kind: &'static str,
    /// Processes at a time.
    places: usize,
    limits: Limits,
    state: Mutex<State>,
    freed: Condvar,
    jobs: AtomicU64,
    replaced: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Process>,
    at_work: usize,
    /// What the last one to begin said of itself.
    confinement: Option<Confinement>,
}

/// What the workers of a kind hold and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Processes that are alive.
    pub alive: usize,
    /// Jobs that were handed to one.
    pub jobs: u64,
    /// Processes that died or were killed at work.
    pub replaced: u64,
    /// How they are confined; `None` before the first one began.
    pub confinement: Option<Confinement>,
}

impl Workers {
    pub fn new(kind: &'static str, places: usize, limits: Limits) -> Workers {
        Workers {
            kind,
            places,
            limits,
            state: Mutex::default(),
            freed: Condvar::new(),
            jobs: AtomicU64::new(0),
            replaced: AtomicU64::new(0),
        }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Hands a request and its bytes to a worker and waits for the answer. Blocking; the work's
    /// token and deadline and the limits of a job end the wait, and the worker with it. The worker
    /// is kept for further requests of the same job until the call is dropped.
    pub fn call<A: DeserializeOwned>(
        &self,
        request: &impl Serialize,
        input: &Input,
        work: &Work,
    ) -> Result<(Call<'_>, A, Vec<u8>), Stop> {
        let worker = self.take(work)?;
        self.jobs.fetch_add(1, Ordering::Relaxed);
        Call::begin(worker, &self.limits, request, input, work)
    }

    pub fn status(&self) -> Status {
        let mut state = self.state.lock();
        state.idle.retain_mut(Process::is_alive);
        Status {
            alive: state.idle.len() + state.at_work,
            jobs: self.jobs.load(Ordering::Relaxed),
            replaced: self.replaced.load(Ordering::Relaxed),
            confinement: state.confinement,
        }
    }

    fn take(&self, work: &Work) -> Result<PooledWorker<'_>, Stop> {
        let begun = Instant::now();
        let mut state = self.state.lock();
        while state.at_work == self.places {
            work.check()?;
            if begun.elapsed() > self.limits.wait {
                return Err(Stop::Busy);
            }
            self.freed.wait_for(&mut state, LOOK_EVERY);
        }
        state.at_work += 1;
        let mut process = state.idle.pop();
        drop(state);
        // From here on the place is given back whatever happens.
        let mut worker = PooledWorker {
            pool: self,
            process: None,
        };
        if !process.as_mut().is_some_and(Process::is_alive) {
            process = Some(Process::start(self.kind, &self.limits).map_err(Stop::Start)?);
        }
        worker.process = process;
        Ok(worker)
    }
}

/// One of the places, with the process in it.
#[derive(Debug)]
pub(super) struct PooledWorker<'p> {
    pool: &'p Workers,
    /// There from the end of [`Workers::take`] until it is condemned.
    process: Option<Process>,
}

impl PooledWorker<'_> {
    pub(super) fn process(&self) -> &Process {
        // A job that condemned its worker asks for nothing more of it.
        self.process
            .as_ref()
            .expect("a worker that is not condemned")
    }

    pub(super) fn process_mut(&mut self) -> &mut Process {
        self.process
            .as_mut()
            .expect("a worker that is not condemned")
    }

    /// Puts a new process in the place of one that has ended well.
    pub(super) fn replace(&mut self) -> Result<(), Stop> {
        let Workers { kind, limits, .. } = self.pool;
        self.process = Some(Process::start(kind, limits).map_err(Stop::Start)?);
        Ok(())
    }

    /// What the process said of itself.
    pub(super) fn is_confined(&mut self, confinement: Confinement) {
        self.process_mut().confinement = Some(confinement);
        self.pool.state.lock().confinement = Some(confinement);
    }

    pub(super) fn is_condemned(&self) -> bool {
        self.process.is_none()
    }

    /// Ends the process: it died, or is at something that nobody wants.
    pub(super) fn condemn(&mut self) {
        if self.process.take().is_some() {
            self.pool.replaced.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for PooledWorker<'_> {
    fn drop(&mut self) {
        let process = self.process.take();
        let process = process.filter(|process| !process.is_bloated(&self.pool.limits));
        let mut state = self.pool.state.lock();
        state.at_work -= 1;
        state.idle.extend(process);
        drop(state);
        self.pool.freed.notify_one();
    }
}
