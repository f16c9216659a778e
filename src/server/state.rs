//! The shared state behind the handlers; no lock of it is ever held across an await.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::buffer::{DocumentKey, Overlays};
use crate::edit::disk::DiskWriter;
use crate::edit::{Applied, NoOps};
use crate::protocol::{EditRefusal, Refusal, Settings};
use crate::read::Reader;
use crate::rpc::{Client, Lifeline};
use crate::session::Actor;
use crate::task::{CancelToken, Pool, Stopped, Threads, Work};
use crate::text::PositionEncoding;
use crate::workspace::{Scope, state_directory};

use super::edit_queue::{EditQueue, Limits};
use super::editor::Expectation;
use super::leftovers::Cleanings;
use super::{OnSettings, Options};

/// Places for short jobs: more than cores, since they wait for the disk.
const SHORT_PLACES: usize = 16;
/// Places for jobs that take long.
const LONG_PLACES: usize = 4;
/// Places for commits, which no other job is to keep waiting.
const COMMIT_PLACES: usize = 8;
/// What a blocking job may take at most.
pub(super) const WORK_LIMIT: Duration = Duration::from_secs(30);

/// Roots and settings as they were at one moment. Replaced as a whole, never changed.
#[derive(Debug)]
pub struct World {
    pub folders: Vec<PathBuf>,
    pub settings: Arc<Settings>,
    pub scope: Scope,
}

/// Roots, settings and open documents as they were when a request came.
#[derive(Debug, Clone)]
pub struct Moment {
    pub world: Arc<World>,
    pub overlays: Overlays,
}

/// Everything but the connection: what the daemon and the command line share.
#[derive(Debug)]
pub struct Engine {
    pub reader: Reader,
    pub writer: DiskWriter,
    world: Arc<Mutex<Arc<World>>>,
    overlays: Mutex<Overlays>,
    scans: Arc<AtomicU64>,
}

impl Engine {
    /// An engine over these folders. Does no I/O.
    pub fn new(folders: Vec<PathBuf>, settings: Settings) -> Engine {
        let settings = Arc::new(settings);
        let scans = Arc::new(AtomicU64::new(0));
        Engine {
            reader: Reader::new(settings.memory.budget_bytes),
            writer: DiskWriter::new(state_directory()),
            world: Arc::new(Mutex::new(Arc::new(World::new(folders, settings, &scans)))),
            overlays: Mutex::default(),
            scans,
        }
    }

    /// Roots and settings as of now.
    pub fn world(&self) -> Arc<World> {
        self.world.lock().clone()
    }

    /// Everything that decides what a request means, as of now: taken when it begins.
    pub fn moment(&self) -> Moment {
        let mut overlays = self.overlays.lock().clone();
        overlays.taken_at = Some(Instant::now());
        Moment {
            world: self.world(),
            overlays,
        }
    }

    /// Changes the open documents, for every request that comes later.
    pub fn change_overlays<T>(&self, change: impl FnOnce(&mut Overlays) -> T) -> T {
        change(&mut self.overlays.lock())
    }

    pub fn set_world(&self, folders: Vec<PathBuf>, settings: Arc<Settings>) {
        let directories = settings.watch.max_directories;
        self.reader.set_budget(settings.memory.budget_bytes);
        *self.world.lock() = Arc::new(World::new(folders, settings, &self.scans));
        self.reader.buffers.set_watch_limit(directories);
        self.reader.buffers.judge_watched_again();
    }

    /// Watches what is read from now on. Each path is judged by the world of its moment.
    pub fn start_watching(&self) {
        let world = self.world.clone();
        let open = move |path: &Path| {
            let world = world.lock().clone();
            world.scope.open(path)
        };
        self.reader.buffers.start_watching(Box::new(open));
    }

    /// Walks of the tree since the start.
    pub fn scans(&self) -> u64 {
        self.scans.load(Ordering::Relaxed)
    }
}

impl World {
    fn new(folders: Vec<PathBuf>, settings: Arc<Settings>, scans: &Arc<AtomicU64>) -> World {
        World {
            scope: Scope::new(folders.clone(), settings.clone(), scans.clone()),
            folders,
            settings,
        }
    }
}

/// What the client said it can do.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientFacts {
    /// Answers `workspace/configuration`.
    pub configuration: bool,
    /// What the characters of positions count.
    pub positions: PositionEncoding,
    /// Answers `workspace/applyEdit`, and heeds the versions in it.
    pub apply_edit: bool,
    /// Answers `agent/saveDocument`.
    pub save: bool,
}

pub struct State {
    pub client: Client,
    pub engine: Engine,
    pub lifeline: Lifeline,
    pub started: Instant,
    pub client_facts: OnceLock<ClientFacts>,
    pub problems: Mutex<Problems>,
    pub log: Mutex<Option<String>>,
    /// `shutdown` was answered: the process may end well.
    pub shut_down: AtomicBool,
    on_settings: OnSettings,
    /// Documents that are about to be looked at again for notices.
    pub to_look_at: Mutex<HashSet<(DocumentKey, Actor)>>,
    /// The order of edits, and of reads among them.
    pub edit_queue: Arc<EditQueue>,
    pub no_ops: Mutex<NoOps>,
    pub applied: Mutex<Applied>,
    /// What edits wait for before they begin.
    pub cleanings: Cleanings,
    /// Texts that open documents are to show.
    pub expected: Mutex<Vec<Expectation>>,
    /// Open documents that the editor is being asked to change: what becomes of them is recorded by
    /// who asked.
    pub asked: Mutex<HashSet<DocumentKey>>,
    /// Open documents that were clean until an edit of ours, which is not saved.
    pub unsaved_by_us: Mutex<HashSet<DocumentKey>>,
    pub threads: Threads,
    jobs: Pool,
    commits: Pool,
}

/// What went wrong outside any request; each is told to the client once.
#[derive(Debug, Default)]
pub struct Problems {
    untold: Vec<String>,
    told: HashSet<String>,
}

/// Problems that are kept for `agent/status`.
const MAX_PROBLEMS: usize = 100;

impl Problems {
    pub fn add(&mut self, problem: String) {
        let full = self.told.len() + self.untold.len() >= MAX_PROBLEMS;
        if !full && !self.told.contains(&problem) && !self.untold.contains(&problem) {
            self.untold.push(problem);
        }
    }

    /// Takes what the client has not been told yet.
    pub fn take_untold(&mut self) -> Vec<String> {
        let untold = std::mem::take(&mut self.untold);
        self.told.extend(untold.iter().cloned());
        untold
    }

    pub fn all(&self) -> Vec<String> {
        let mut all: Vec<String> = self.told.iter().chain(&self.untold).cloned().collect();
        all.sort();
        all
    }
}

impl State {
    pub fn new(client: Client, options: Options) -> State {
        let threads = options.threads;
        let jobs = Pool::with_long_places(SHORT_PLACES, LONG_PLACES, threads.clone());
        let commits = Pool::new(COMMIT_PLACES, threads.clone()).sharing_mounts_with(&jobs);
        let engine = Engine::new(Vec::new(), Settings::default());
        engine.start_watching();
        State {
            client,
            engine,
            lifeline: options.lifeline,
            started: Instant::now(),
            client_facts: OnceLock::new(),
            problems: Mutex::new(Problems::default()),
            log: Mutex::new(None),
            shut_down: AtomicBool::new(false),
            on_settings: options.on_settings,
            to_look_at: Mutex::default(),
            edit_queue: EditQueue::new(Limits::PROTOCOL),
            no_ops: Mutex::default(),
            applied: Mutex::default(),
            cleanings: Cleanings::default(),
            expected: Mutex::default(),
            asked: Mutex::default(),
            unsaved_by_us: Mutex::default(),
            jobs,
            commits,
            threads,
        }
    }

    /// Takes folders and settings over, all at once, for every request that comes later.
    pub fn apply(&self, folders: Vec<PathBuf>, settings: Settings) {
        match (self.on_settings)(&settings) {
            Ok(log) => *self.log.lock() = Some(log),
            Err(problem) => self.problems.lock().add(problem),
        }
        self.engine.set_world(folders, Arc::new(settings));
    }

    /// Runs the blocking part of a commit, or of all of it. It ends by its deadline or has put the
    /// first file in its place by then; where it hangs after that, nobody knows what comes of it.
    pub async fn run_commit<T: Send + 'static>(
        &self,
        cancel: CancelToken,
        job: impl FnOnce(&Work) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let work = Work::new(cancel.clone(), WORK_LIMIT);
        match self.commits.run(work, job).await {
            Ok(outcome) => outcome,
            Err(Stopped::TimedOut) if cancel.is_closed() => {
                Err(EditRefusal::unconfirmed(None).into())
            }
            Err(stopped) => Err(stopped.into()),
        }
    }

    /// Runs a blocking job of our own, which no request waits for, beside commits.
    pub async fn run_background<T: Send + 'static>(
        &self,
        work: Work,
        job: impl FnOnce(&Work) -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        self.commits.run(work, job).await
    }

    /// Blocking jobs that were left behind by their deadline.
    pub fn stuck(&self) -> usize {
        self.jobs.stuck() + self.commits.stuck()
    }

    /// Runs a blocking job. It is cancelled when the returned future is dropped.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Work) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.run_within(WORK_LIMIT, job).await
    }

    /// As [`State::run`], with a limit of its own for the wait and the job together.
    pub async fn run_within<T: Send + 'static>(
        &self,
        limit: Duration,
        job: impl FnOnce(&Work) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let cancel = CancelToken::new();
        let _guard = cancel.cancel_on_drop();
        self.jobs.run(Work::new(cancel, limit), job).await?
    }
}
