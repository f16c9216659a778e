//! The one thread that registers watches and warms files again; it opens nothing but through access, and no lock is held while it works.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::buffer::Store;
use crate::protocol::Refusal;
use crate::task::Work;
use crate::workspace::{FileType, Handle, RealPath};

use super::system;
use super::table::{Identity, Task, WatchTable, path_of};
use super::watcher::{DirectoryWatcher, Event, Unwatchable};
use super::{Opener, Shared};

/// What warming one file may take.
const WARMING_LIMIT: Duration = Duration::from_secs(30);

const NO_THREAD: &str = "Files are not watched, because the thread for it ended; every read still looks at the file itself.";

pub(super) fn start(store: &Arc<Store>, open: Box<Opener>) {
    let shared = store.watch.0.clone();
    let worker = Worker {
        ends: Ends(shared.clone()),
        store: Arc::downgrade(store),
        open,
        watcher: None,
    };
    let thread = std::thread::Builder::new().name("watch".to_owned());
    // When there can be no thread the worker is dropped, which is told as its end.
    let _ = thread.spawn(move || worker.run());
}

/// Tells that the thread ended, however it did.
struct Ends(Arc<Shared>);

impl Drop for Ends {
    fn drop(&mut self) {
        if !self.0.cancel.is_cancelled() {
            let mut table = self.0.table.lock();
            table.set_limit(0);
            table.refused(NO_THREAD.to_owned(), Instant::now());
        }
    }
}

struct Worker {
    ends: Ends,
    store: Weak<Store>,
    open: Box<Opener>,
    watcher: Option<Box<dyn DirectoryWatcher>>,
}

impl Worker {
    fn run(mut self) {
        loop {
            match self.shared().next_task() {
                Task::Stop => return,
                Task::Watch(directory) => self.watch(&directory),
                Task::Verify(directory, identity) => {
                    if self.identity(&directory) != Some(identity) {
                        self.tell(|table, now| table.mistaken(&directory, now));
                    }
                }
                Task::Unwatch(directory) => {
                    if let Some(watcher) = &mut self.watcher {
                        watcher.unwatch(&directory);
                    }
                }
                Task::Tell(path, buffer) => self.announce(&path, buffer.as_ref()),
                Task::Resolve(event) => self.resolve(&event),
                Task::Judge(directories) => self.judge(&directories),
                Task::Rewarm(path) => self.rewarm(&path),
            }
        }
    }

    fn shared(&self) -> &Shared {
        &self.ends.0
    }

    fn tell(&self, change: impl FnOnce(&mut WatchTable, Instant)) {
        change(&mut self.shared().table.lock(), Instant::now());
    }

    fn announce(&self, path: &RealPath, buffer: Option<&Arc<crate::buffer::Buffer>>) {
        if let Some(told) = self.shared().on_change.get() {
            told(path, buffer);
        }
    }

    fn watch(&mut self, directory: &Arc<Path>) {
        let Some(identity) = self.identity(directory) else {
            return self.tell(|table, _| table.not_watched(directory));
        };
        let outcome = self.register(directory);
        self.tell(|table, now| match outcome {
            Ok(()) => table.watched(directory, identity, now),
            Err(Unwatchable::Here) => table.not_watched(directory),
            Err(Unwatchable::Exhausted(problem)) => {
                table.not_watched(directory);
                table.refused(problem, now);
            }
        });
    }

    /// Makes the watcher with the first watch: a daemon that read nothing has none.
    fn register(&mut self, directory: &Path) -> Result<(), Unwatchable> {
        if self.watcher.is_none() {
            let shared = Arc::downgrade(&self.ends.0);
            let sink = move |event: Event| {
                if let Some(shared) = shared.upgrade() {
                    shared.heard(&event);
                }
            };
            self.watcher = Some(system::open(Box::new(sink))?);
        }
        match &mut self.watcher {
            Some(watcher) => watcher.watch(directory),
            None => Err(Unwatchable::Here),
        }
    }

    /// Which directory has that name and that real path, if it may be looked at.
    fn identity(&self, directory: &Path) -> Option<Identity> {
        let handle = self.opened(directory).ok().flatten()?;
        let stamp = handle.stamp();
        (handle.file_type() == FileType::Directory).then_some((stamp.dev, stamp.ino))
    }

    /// What has exactly that real path; `None` when nothing has. Errors when it may not or cannot
    /// be told.
    fn opened(&self, real: &Path) -> Result<Option<Handle>, Refusal> {
        match (self.open)(real) {
            Ok(handle) if handle.real().as_path() == real => Ok(Some(handle)),
            Ok(_) | Err(Refusal::NotFound { .. }) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// An event of a path that goes through a symlink is one of what the path leads to; of what
    /// is gone, its directory is still there.
    fn resolve(&self, event: &Event) {
        let Some(path) = path_of(event) else {
            return;
        };
        let real = match (self.open)(path) {
            Ok(handle) => handle.real().as_path().to_path_buf(),
            Err(_) => {
                let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                    return;
                };
                let Ok(parent) = (self.open)(parent) else {
                    return;
                };
                parent.real().as_path().join(name)
            }
        };
        if real != *path {
            let event = match event {
                Event::Changed(_) => Event::Changed(real),
                _ => Event::Replaced(real),
            };
            self.shared().heard(&event);
        }
    }

    /// Lets go of files that are outside or denied now. Nothing is told of them.
    fn judge(&self, directories: &[Arc<Path>]) {
        let Some(store) = self.store.upgrade() else {
            return;
        };
        for directory in directories {
            if self.shared().cancel.is_cancelled() {
                return;
            }
            let files = self.shared().table.lock().files_in(directory);
            for file in files {
                if let Err(refusal) = self.opened(file.as_path())
                    && is_access(&refusal)
                {
                    store.forget(&file);
                }
            }
        }
    }

    fn rewarm(&self, path: &RealPath) {
        let Some(store) = self.store.upgrade() else {
            return;
        };
        let handle = match self.opened(path.as_path()) {
            Ok(handle) => handle.filter(|handle| handle.file_type() == FileType::Regular),
            Err(refusal) => {
                if is_access(&refusal) {
                    store.forget(path);
                }
                return;
            }
        };
        let still_text = match handle {
            None => false,
            Some(handle) => {
                let work = Work::new(self.shared().cancel.clone(), WARMING_LIMIT);
                let outcome = store.rewarm(&handle, &work);
                // Trouble of the disk or of time says nothing about the file.
                let is_text = !matches!(
                    outcome,
                    Err(Refusal::Binary { .. } | Refusal::TooLarge { .. })
                );
                // What was told of its end, while it was read, found nothing to let go of.
                let is_gone =
                    !handle.still_there() && matches!(self.opened(path.as_path()), Ok(None));
                is_text && !is_gone
            }
        };
        if !still_text && store.forget(path) {
            self.announce(path, None);
        }
    }
}

fn is_access(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::Denied { .. } | Refusal::OutsideWorkspace { .. }
    )
}
