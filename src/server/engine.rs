//! What works for a client and knows nothing of it: texts and what is kept of them, the one writer
//! of files, the order of edits, and the threads and pools of blocking work.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::edit::disk::DiskWriter;
use crate::edit::{Applied, DeletedFiles, NoOps, UndoLog};
use crate::github::Github;
use crate::mcp_client::McpServers;
use crate::net::{Net, Spool};
use crate::protocol::{EditRefusal, Refusal, Settings};
use crate::read::{Provided, Reader, Web, writable_folders};
use crate::session::Stores;
use crate::task::{CancelToken, Pool, Stopped, Threads, Work};
use crate::workspace::{Scope, cache_directory, spool_directory, state_directory, user_directory};

use super::config::WorkspaceConfig;
use super::edit_queue::{EditQueue, WaitLimits};
use super::puts::Puts;

/// Places for short jobs: more than cores, since they wait for the disk.
const SHORT_PLACES: usize = 16;
/// Places for jobs that take long.
const LONG_PLACES: usize = 4;
/// Places for commits, which no other job is to keep waiting.
const COMMIT_PLACES: usize = 8;
/// What a blocking job may take at most.
pub const WORK_LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Engine {
    pub reader: Reader,
    pub web: Arc<Web>,
    pub mcp: Arc<McpServers>,
    pub github: Arc<Github>,
    pub writer: DiskWriter,
    /// The order of edits, and of reads among them.
    pub edit_queue: Arc<EditQueue>,
    /// The order of what is put away for sessions, and of reads of it.
    pub puts: Puts,
    pub no_ops: Mutex<NoOps>,
    pub applied: Mutex<Applied>,
    pub deleted: Mutex<DeletedFiles>,
    pub undo: Mutex<UndoLog>,
    /// What edits wait for before they begin.
    pub recovery: Recoveries,
    pub threads: Threads,
    /// Walks of the tree since the start.
    pub scans: Arc<AtomicU64>,
    jobs: Pool,
    commits: Pool,
}

impl Engine {
    /// Does no I/O. Sessions have what they have of their own in `stores`.
    pub fn new(threads: Threads, stores: Stores) -> Engine {
        let budget = Settings::default().memory.budget_bytes;
        let jobs = Pool::with_long_places(SHORT_PLACES, LONG_PLACES, threads.clone());
        let commits = Pool::new(COMMIT_PLACES, threads.clone()).sharing_mounts_with(&jobs);
        let spool = Arc::new(Spool::new(spool_directory()));
        let mcp = McpServers::new(threads.runtime().clone());
        let provided = Provided::new(mcp.clone(), spool.clone());
        let runtime = threads.runtime();
        let of_github = Net::new(runtime.clone(), spool.clone());
        let github = Github::new(runtime.clone(), of_github, cache_directory());
        let net = Net::new(runtime.clone(), spool);
        Engine {
            reader: Reader::new(budget, stores, provided),
            web: Web::new(net, budget / 8),
            mcp,
            github,
            writer: DiskWriter::new(state_directory()),
            edit_queue: EditQueue::new(WaitLimits::PROTOCOL),
            puts: Puts::default(),
            no_ops: Mutex::default(),
            applied: Mutex::default(),
            deleted: Mutex::default(),
            undo: Mutex::default(),
            recovery: Recoveries::default(),
            scans: Arc::default(),
            jobs,
            commits,
            threads,
        }
    }

    /// Takes over what settings say of memory and watches; what is watched is judged anew.
    pub fn heed(&self, settings: &Settings) {
        self.reader.set_budget(settings.memory.budget_bytes);
        self.web.set_budget(settings.memory.budget_bytes / 8);
        self.mcp.heed(&settings.mcp);
        let lasting = settings.internal.session_directory.as_deref();
        let lasting = lasting.and_then(user_directory);
        self.reader.stores.heed(settings.artifacts, lasting);
        let buffers = &self.reader.buffers;
        buffers.set_watch_limit(settings.watch.max_directories);
        buffers.judge_watched_again();
    }

    /// What a session may reach, for one job of its own.
    pub fn scope(&self, config: &WorkspaceConfig, session: &str, work: &Work) -> Scope {
        let scope = config.scope.of_job(work);
        let mut folders = self.reader.stores.folders(session);
        folders.extend(writable_folders(&scope));
        scope.with_folders(folders)
    }

    /// The same for who edits: of the folders of sessions its own alone, which is made if `names_own`.
    pub fn scope_to_edit(
        &self,
        config: &WorkspaceConfig,
        (session, names_own): (&str, bool),
        work: &Work,
    ) -> Result<Scope, Refusal> {
        let stores = &self.reader.stores;
        let folder = match names_own {
            true => stores.folder_to_write(session)?,
            false => None,
        };
        let scope = config.scope.of_job(work);
        let mut folders = writable_folders(&scope);
        folders.extend(folder);
        Ok(scope.with_folders(folders))
    }

    /// What may be reached of a path, whichever session's it is: for looks of our own.
    pub fn scope_of_path(&self, config: &WorkspaceConfig, path: &Path) -> Scope {
        with_folders_over(&self.reader.stores, &config.scope, path)
    }

    /// Walks of the tree since the start.
    pub fn scans(&self) -> u64 {
        self.scans.load(Ordering::Relaxed)
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
        job: impl FnOnce(&Work) -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        let work = Work::new(CancelToken::new(), WORK_LIMIT);
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

    /// As [`Engine::run`], with a limit of its own for the wait and the job together.
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

/// The same scope with the folders that a path may be in and whose files have addresses.
pub fn with_folders_over(stores: &Stores, scope: &Scope, path: &Path) -> Scope {
    let mut folders = writable_folders(scope);
    folders.extend(stores.folder_over(path));
    scope.with_folders(folders)
}

/// How long an edit waits. After that it goes on: both lock what they write and look at it again,
/// so that neither undoes what the other did.
const RECOVERY_WAIT: Duration = Duration::from_secs(5);

/// The recoveries since the start.
#[derive(Debug)]
pub struct Recoveries {
    /// How many are wanted and not done.
    pub open: watch::Sender<usize>,
    /// One at a time: a journal that one works through is passed over by another.
    pub turn: Arc<Mutex<()>>,
}

impl Default for Recoveries {
    fn default() -> Recoveries {
        Recoveries {
            open: watch::Sender::new(0),
            turn: Arc::default(),
        }
    }
}

impl Recoveries {
    /// Whether nothing of that is left to do.
    pub fn is_done(&self) -> bool {
        *self.open.borrow() == 0
    }

    /// Waits until what dead processes left is cleaned up, or for a while.
    pub async fn done(&self) {
        let mut open = self.open.subscribe();
        let done = open.wait_for(|open| *open == 0);
        if timeout(RECOVERY_WAIT, done).await.is_err() {
            tracing::warn!("leftovers are still being cleaned up; edits go on");
        }
    }
}
