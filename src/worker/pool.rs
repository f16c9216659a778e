//! The workers of one kind: a bounded number, started when they are needed, used again, replaced when they die. Nothing waits for one without a limit.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::protocol::status::{Confinement, WorkersOfKind};
use crate::task::Work;

use super::process::Process;
use super::stop::Stop;
use super::{Readable, WorkerLimits};

/// Between two looks at the cancel token while every worker is at work.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// For so long no other worker is started after one could not be.
const NO_START_FOR: Duration = Duration::from_secs(1);

/// Which of the workers is to do a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<'a> {
    /// Whichever is idle.
    Any,
    /// That which had the document of this key last, if it is idle; else any.
    Last(u64),
    /// One that may read exactly these files, else a new one. The first file is what it is for: an
    /// idle one for that path in another state is ended. Where there is no place the one that is
    /// idle longest makes room.
    Reader(&'a [Readable]),
}

impl<'a> Choice<'a> {
    /// What a new one may read.
    fn reads(self) -> &'a [Readable] {
        match self {
            Choice::Any | Choice::Last(_) => &[],
            Choice::Reader(files) => files,
        }
    }
}

/// The workers of one engine and kind. Dropping them ends their processes.
#[derive(Debug)]
pub struct Workers {
    /// The kind, as the hidden command `worker` takes it.
    kind: &'static str,
    /// Processes at a time.
    places: usize,
    limits: WorkerLimits,
    state: Mutex<PoolState>,
    freed: Condvar,
    jobs: AtomicU64,
    replaced: AtomicU64,
}

#[derive(Debug, Default)]
struct PoolState {
    /// The one that was busy last is the last.
    idle: Vec<Process>,
    at_work: usize,
    /// When one could not be started.
    no_start: Option<Instant>,
    /// What the last one to begin said of itself.
    confinement: Option<Confinement>,
}

impl Workers {
    /// At most `places` processes of a kind. None is started before there is a job.
    pub fn new(kind: &'static str, places: usize, limits: WorkerLimits) -> Workers {
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

    /// What one job may take.
    pub fn limits(&self) -> &WorkerLimits {
        &self.limits
    }

    /// Whether a job would have a worker at once.
    pub fn has_place(&self) -> bool {
        self.state.lock().at_work < self.places
    }

    /// Ends the idle ones whose first file is no longer what its path leads to: what they hold open
    /// takes its place on the disk.
    pub fn end_for_what_is_gone(&self) {
        let state = self.state.lock();
        let first = |process: &Process| process.reads.first().cloned();
        let files: Vec<Readable> = state.idle.iter().filter_map(first).collect();
        // A look at a disk is nothing to be waited for with the pool locked.
        drop(state);
        let gone: Vec<Readable> = files.into_iter().filter(|file| !file.is_there()).collect();
        if gone.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        let is_gone = |process: &Process| first(process).is_some_and(|file| gone.contains(&file));
        let (ended, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut state.idle)
            .into_iter()
            .partition(is_gone);
        state.idle = kept;
        drop(state);
        drop(ended);
    }

    /// How many there are and what they did.
    pub fn status(&self) -> WorkersOfKind {
        let mut state = self.state.lock();
        state.idle.retain_mut(Process::is_alive);
        WorkersOfKind {
            alive: state.idle.len() + state.at_work,
            jobs: self.jobs.load(Ordering::Relaxed),
            replaced: self.replaced.load(Ordering::Relaxed),
            confinement: state.confinement,
        }
    }

    /// A worker for one job, or none within the limit of the wait.
    pub(super) fn take(
        self: &Arc<Self>,
        choice: Choice,
        work: &Work,
    ) -> Result<PooledWorker, Stop> {
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
        let (mut process, ended) = state.choose(choice, self.places);
        drop(state);
        // Nobody else waits until they are gone.
        drop(ended);
        // From here on the place is given back whatever happens.
        let mut worker = PooledWorker {
            pool: self.clone(),
            reads: choice.reads().to_vec(),
            process: None,
        };
        if !process.as_mut().is_some_and(Process::is_alive) {
            process = Some(self.start(choice.reads())?);
        }
        if let (Some(process), Choice::Last(key)) = (&mut process, choice) {
            process.takes(key);
        }
        worker.process = process;
        self.jobs.fetch_add(1, Ordering::Relaxed);
        Ok(worker)
    }

    /// A new process. After one that could not be started none is tried for a while.
    fn start(&self, reads: &[Readable]) -> Result<Process, Stop> {
        let failed = self.state.lock().no_start;
        if failed.is_some_and(|failed| failed.elapsed() < NO_START_FOR) {
            let why = io::Error::other("it could not be started a moment ago");
            return Err(Stop::Start(why));
        }
        let started = Process::start(self.kind, &self.limits, reads);
        self.state.lock().no_start = started.is_err().then(Instant::now);
        started.map_err(Stop::Start)
    }
}

impl PoolState {
    /// An idle process for the job, and those that are to be ended for it.
    fn choose(&mut self, choice: Choice, places: usize) -> (Option<Process>, Vec<Process>) {
        let files = match choice {
            Choice::Any => return (self.idle.pop(), Vec::new()),
            Choice::Last(key) => {
                let last = self.idle.iter().rposition(|process| process.had(key));
                let chosen = last.map(|at| self.idle.remove(at));
                return (chosen.or_else(|| self.idle.pop()), Vec::new());
            }
            Choice::Reader(files) => files,
        };
        let reader = self.idle.iter().rposition(|process| process.reads == files);
        let chosen = reader.map(|at| self.idle.remove(at));
        let is_of_old = |process: &Process| {
            let path = |files: &[Readable]| files.first().map(|file| file.path.clone());
            process.reads != files && path(&process.reads) == path(files)
        };
        let (mut ended, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.idle)
            .into_iter()
            .partition(is_of_old);
        self.idle = kept;
        if chosen.is_none() && !self.idle.is_empty() && self.idle.len() + self.at_work > places {
            ended.push(self.idle.remove(0));
        }
        (chosen, ended)
    }
}

/// One of the places, with the process in it.
#[derive(Debug)]
pub(super) struct PooledWorker {
    pool: Arc<Workers>,
    /// What a new process in its place may read.
    reads: Vec<Readable>,
    /// There from the end of [`Workers::take`] until it is condemned.
    process: Option<Process>,
}

impl PooledWorker {
    pub(super) fn limits(&self) -> &WorkerLimits {
        &self.pool.limits
    }

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
        self.process = Some(self.pool.start(&self.reads)?);
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

    /// Ends the process, which did nothing wrong.
    pub(super) fn retire(&mut self) {
        self.process = None;
    }

    /// Ends the process: it died, or is at something that nobody wants.
    pub(super) fn condemn(&mut self) {
        if self.process.take().is_some() {
            self.pool.replaced.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for PooledWorker {
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
