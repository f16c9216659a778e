//! Linux's own watcher, asked for changes alone: no event is ever made for an open or a read, which would wake a thread for each of ours.
//!
//! The crate `notify`, which watches on other systems, can be asked for the same since its version 9
//! (`Config::with_event_kinds`; 9.0.0-rc.7 was tried): it sleeps while nothing happens and while files
//! are read, as this does. But it hands on what comes as it comes. 2,000 files of 20 KB, each replaced
//! as an edit replaces it (tmpfs), woke its thread 800 to 2,400 times for 13 events each, and took
//! 16 to 27 µs of it; here events gather for 2 ms, a temporary is nobody's news, and one change of a
//! file is one event: 100 to 150 times, and 6 to 10 µs. It also has every directory watched by way
//! of its thread, which answers by a channel.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{
    CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch,
};
use rustix::io::Errno;

use super::watcher::{
    DirectoryWatcher, Event, Sink, Unwatchable, exhausted, is_temporary, no_watch_left,
};

/// What is asked for. A file that is written in place for long is told of before it is closed.
const CHANGES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// What changes the names in a directory.
const NAMES: ReadFlags = ReadFlags::CREATE
    .union(ReadFlags::DELETE)
    .union(ReadFlags::MOVED_FROM)
    .union(ReadFlags::MOVED_TO);

/// How long events gather before they are taken again: a write of ours makes a dozen, and the
/// system keeps 16,384.
const GATHER: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

/// Bytes for events that are read at once.
const BUFFER: usize = 16 * 1024;

/// The watched directories and the thread that hears of them.
pub struct Inotify {
    watches: Arc<InotifyWatches>,
    stop: Arc<OwnedFd>,
}

struct InotifyWatches {
    inotify: OwnedFd,
    known: Mutex<WatchedDirectories>,
}

/// Which directory has which number. One that was renamed keeps its number.
#[derive(Default)]
struct WatchedDirectories {
    directories: HashMap<i32, PathBuf>,
    numbers: HashMap<PathBuf, i32>,
}

impl WatchedDirectories {
    fn insert(&mut self, number: i32, directory: &Path) {
        self.forget(number);
        self.directories.insert(number, directory.to_path_buf());
        self.numbers.insert(directory.to_path_buf(), number);
    }

    fn forget(&mut self, number: i32) {
        if let Some(directory) = self.directories.remove(&number)
            && self.numbers.get(&directory) == Some(&number)
        {
            self.numbers.remove(&directory);
        }
    }
}

impl Inotify {
    /// Starts a watcher. Errors when the system gives none.
    pub fn open(sink: Sink) -> Result<Box<dyn DirectoryWatcher>, Unwatchable> {
        let out = |_| exhausted("Too many open files");
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(out)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(out)?;
        let watches = Arc::new(InotifyWatches {
            inotify,
            known: Mutex::default(),
        });
        let stop = Arc::new(stop);
        let (heard, stopped) = (watches.clone(), stop.clone());
        let thread = std::thread::Builder::new().name("inotify".to_owned());
        let started = thread.spawn(move || hear(&heard, &stopped, &*sink));
        match started {
            Ok(_) => Ok(Box::new(Inotify { watches, stop })),
            Err(_) => Err(exhausted("there can be no more threads")),
        }
    }
}

impl Drop for Inotify {
    fn drop(&mut self) {
        // The thread ends; it fails only if nobody could be told any more often.
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
    }
}

impl DirectoryWatcher for Inotify {
    fn watch(&mut self, directory: &Path) -> Result<(), Unwatchable> {
        // Held meanwhile: the first event may come before the number does.
        let mut known = self.watches.known.lock();
        match add_watch(&self.watches.inotify, directory, CHANGES) {
            Ok(number) => {
                known.insert(number, directory);
                Ok(())
            }
            Err(Errno::NOSPC) => Err(no_watch_left()),
            Err(Errno::MFILE | Errno::NFILE) => Err(exhausted("Too many open files")),
            Err(_) => Err(Unwatchable::Here),
        }
    }

    fn unwatch(&mut self, directory: &Path) {
        let mut known = self.watches.known.lock();
        if let Some(number) = known.numbers.get(directory).copied() {
            known.forget(number);
            // It fails for a directory that vanished, whose watch went with it.
            let _ = remove_watch(&self.watches.inotify, number);
        }
    }
}

/// Hands events on until it is told to stop.
fn hear(watches: &InotifyWatches, stop: &OwnedFd, sink: &dyn Fn(Event)) {
    loop {
        let mut both = [
            PollFd::new(&watches.inotify, PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
        ];
        match poll(&mut both, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return sink(Event::Lost),
        }
        if is_told(stop, None) {
            return;
        }
        if take(watches, sink).is_err() {
            return sink(Event::Lost);
        }
        if is_told(stop, Some(&GATHER)) {
            return;
        }
    }
}

/// Whether the thread is to stop, after at most so long.
fn is_told(stop: &OwnedFd, wait: Option<&Timespec>) -> bool {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut stop = [PollFd::new(stop, PollFlags::IN)];
    poll(&mut stop, Some(wait.unwrap_or(&at_once))).is_ok_and(|ready| ready > 0)
}

/// Takes the events that are there.
fn take(watches: &InotifyWatches, sink: &dyn Fn(Event)) -> Result<(), Errno> {
    let mut buffer = [MaybeUninit::uninit(); BUFFER];
    let mut reader = Reader::new(watches.inotify.as_fd(), &mut buffer);
    let mut last = None;
    loop {
        let entry = match reader.next() {
            Ok(entry) => entry,
            Err(Errno::WOULDBLOCK) => return Ok(()),
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
        };
        let name = entry.file_name().map(|name| name.to_bytes());
        let event = watches.translate(entry.wd(), entry.events(), name);
        // A file that is written in pieces is one that changed.
        if let Some(event) = event
            && last.as_ref() != Some(&event)
        {
            last = Some(event.clone());
            sink(event);
        }
    }
}

impl InotifyWatches {
    fn translate(&self, number: i32, what: ReadFlags, name: Option<&[u8]>) -> Option<Event> {
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            return Some(Event::Lost);
        }
        let mut known = self.known.lock();
        let directory = known.directories.get(&number).cloned();
        if what.contains(ReadFlags::IGNORED) {
            known.forget(number);
            return None;
        }
        let directory = directory?;
        if what.contains(ReadFlags::MOVE_SELF) {
            // It has another path now, under which nobody asked for it.
            known.forget(number);
            let _ = remove_watch(&self.inotify, number);
        }
        let itself = ReadFlags::MOVE_SELF | ReadFlags::DELETE_SELF | ReadFlags::UNMOUNT;
        if what.intersects(itself) {
            return Some(Event::Replaced(directory));
        }
        let path = match name {
            Some(name) => directory.join(std::ffi::OsStr::from_bytes(name)),
            None => directory,
        };
        match is_temporary(&path) {
            true => None,
            false if what.intersects(NAMES) => Some(Event::Replaced(path)),
            false => Some(Event::Changed(path)),
        }
    }
}
