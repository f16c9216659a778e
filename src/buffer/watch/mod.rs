//! Watching the directories of warm files: what is heard makes buffers doubtful and warms them again; nothing is ever served on a watcher's word.
//!
//! One set of watches serves all sessions. Events come on the watcher's own thread and only mark
//! what is in the [`table`]; the one background thread (in [`worker`]) registers directories and
//! reads files again. A read takes the table's lock for a moment and waits for nothing else.

#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod native;
mod system;
mod table;
#[cfg(test)]
mod tests;
mod watcher;
mod worker;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::protocol::Refusal;
use crate::task::CancelToken;
use crate::workspace::{Handle, RealPath};

use super::{Buffer, Store};
use table::{NextTask, Task, WatchTable};

pub(super) use table::PriorState;
pub use table::WatchStatus;
pub use watcher::Event;

/// Opens a path under the roots and rules that hold at that moment.
pub type Opener = dyn Fn(&Path) -> Result<Handle, Refusal> + Send + Sync;

/// Told, on the background thread, that a warm file was found with other content, or that it is
/// not there any more as a text (`None`). Not of content that a request found.
pub type OnChange = dyn Fn(&RealPath, Option<&Arc<Buffer>>) + Send + Sync;

/// The watching of one store. Until it is started it does and knows nothing.
pub struct Watch(Arc<Shared>);

struct Shared {
    table: Mutex<WatchTable>,
    /// Signalled when the table may have a task.
    news: Condvar,
    started: AtomicBool,
    cancel: CancelToken,
    on_change: OnceLock<Box<OnChange>>,
}

impl Watch {
    pub(super) fn new() -> Watch {
        Watch(Arc::new(Shared {
            table: Mutex::new(WatchTable::default()),
            news: Condvar::new(),
            started: AtomicBool::new(false),
            cancel: CancelToken::new(),
            on_change: OnceLock::new(),
        }))
    }

    /// The other half, for the cache that tells what it evicts.
    pub(super) fn evictions(&self) -> Evictions {
        Evictions(self.0.clone())
    }

    fn is_on(&self) -> bool {
        self.0.started.load(Ordering::Relaxed)
    }

    /// Nobody but this process changes its own files (an artifact), and their directories are no place
    /// to be judged: to try would cost every read of one a wake-up.
    fn is_for(&self, handle: &Handle) -> bool {
        self.is_on() && !handle.is_own()
    }

    /// To be called before a file is read, with whether a request asks for it.
    pub(super) fn look(&self, handle: &Handle, asked: bool) -> PriorState {
        match self.is_for(handle) {
            true => {
                let mut table = self.0.table.lock();
                let seen = table.look(handle.real(), asked, Instant::now());
                // Only where the directory is to be watched: to wake the thread each time would
                // cost every warm read a wake-up.
                let woken = table.has_to_watch();
                drop(table);
                if woken {
                    self.0.news.notify_one();
                }
                seen
            }
            false => PriorState::default(),
        }
    }

    /// To be called after it was read, before it is put into the cache.
    pub(super) fn keep(&self, handle: &Handle, seen: PriorState) {
        if self.is_for(handle) {
            self.0
                .tell(|table| table.keep(handle.real(), seen, Instant::now()));
        }
    }

    /// A warm file was found to be another, or none; `news` is what nobody knows of yet.
    pub(super) fn found_changed(
        &self,
        path: &RealPath,
        seen: PriorState,
        news: Option<Option<Arc<Buffer>>>,
    ) {
        if self.is_on() {
            self.0.tell(|table| table.found_changed(path, seen, news));
        }
    }

    pub(super) fn forget(&self, path: &RealPath) {
        if self.is_on() {
            self.0.tell(|table| table.forget(path.as_path()));
        }
    }
}

impl Shared {
    /// Changes the table, and wakes the background thread where that gave it something to do.
    fn tell<T>(&self, change: impl FnOnce(&mut WatchTable) -> T) -> T {
        let mut table = self.table.lock();
        let result = change(&mut table);
        let has_tasks = table.has_tasks();
        drop(table);
        if has_tasks {
            self.news.notify_one();
        }
        result
    }

    fn heard(&self, event: &Event) -> bool {
        // Most events are of files that are not warm; nobody is woken for them.
        let warm = self.table.lock().heard(event, Instant::now());
        if warm {
            self.news.notify_one();
        }
        warm
    }

    fn next_task(&self) -> Task {
        let mut table = self.table.lock();
        loop {
            match table.next(Instant::now()) {
                NextTask::Task(task) => return task,
                NextTask::Wait(None) => self.news.wait(&mut table),
                NextTask::Wait(Some(moment)) => {
                    self.news.wait_until(&mut table, moment);
                }
            }
        }
    }
}

impl Store {
    /// Starts the background thread. `open` judges each path anew; a second start does nothing.
    pub fn start_watching(self: &Arc<Store>, open: Box<Opener>) {
        if !self.watch.0.started.swap(true, Ordering::Relaxed) {
            worker::start(self, open);
        }
    }

    /// Ends watching and warming, for good.
    pub fn stop_watching(&self) {
        self.watch.0.cancel.cancel();
        self.watch.0.tell(WatchTable::stop);
    }

    /// At most so many directories are watched; 0 for none.
    pub fn set_watch_limit(&self, directories: usize) {
        self.watch.0.tell(|table| table.set_limit(directories));
    }

    /// Other roots or rules hold from now on: files that they refuse are let go.
    pub fn judge_watched_again(&self) {
        self.watch.0.tell(WatchTable::judge_again);
    }

    /// Sets who is told of changes. It can be set once; returns whether this was the time.
    pub fn on_change(&self, told: Box<OnChange>) -> bool {
        self.watch.0.on_change.set(told).is_ok()
    }

    /// An event that somebody else saw, such as the editor. Its path may be spelled in any way.
    pub fn heard(&self, event: Event) {
        if self.watch.is_on() && !self.watch.0.heard(&event) {
            self.watch.0.tell(|table| table.resolve_later(event));
        }
    }

    /// For `agent/status`.
    pub fn watch_status(&self) -> WatchStatus {
        self.watch.0.table.lock().status()
    }

    /// Drops a buffer and what is known of its file. Returns whether it was warm.
    pub(super) fn forget(&self, path: &RealPath) -> bool {
        let was_warm = self.buffers.remove(path).is_some();
        self.watch.forget(path);
        was_warm
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.cancel.cancel();
        self.0.tell(WatchTable::stop);
    }
}

/// Takes what the cache evicts out of the table; the buffers die outside the cache's locks.
#[derive(Clone)]
pub(super) struct Evictions(Arc<Shared>);

/// What one insertion drove out.
#[derive(Debug, Default)]
pub(super) struct Evicted {
    /// The file whose buffer is replaced: it stays warm, and watched.
    by: Option<RealPath>,
    buffers: Vec<Arc<Buffer>>,
}

impl Evicted {
    pub(super) fn by(path: &RealPath) -> Evicted {
        Evicted {
            by: Some(path.clone()),
            buffers: Vec::new(),
        }
    }
}

impl quick_cache::Lifecycle<RealPath, Arc<Buffer>> for Evictions {
    type RequestState = Evicted;

    fn on_evict(&self, evicted: &mut Evicted, path: RealPath, buffer: Arc<Buffer>) {
        if evicted.by.as_ref() != Some(&path) {
            self.0.tell(|table| table.forget(path.as_path()));
        }
        evicted.buffers.push(buffer);
    }
}
