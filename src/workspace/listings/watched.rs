//! The watches of listed directories: what happens to a name in one, or to who may list it, is in their queue before whoever did it goes on.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

use super::super::file_system::is_ours_alone;
use super::Handle;

/// Bytes for events that are read at once.
const BUFFER: usize = 4 * 1024;

const NAMES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// None, until there is one.
#[derive(Debug, Default)]
pub(super) struct Watches {
    inotify: Option<OwnedFd>,
}

impl Watches {
    /// Watches an opened directory that is to be read next; `None` where that would not tell of
    /// everything.
    pub(super) fn add(&mut self, directory: &Handle) -> Option<i32> {
        if !is_ours_alone(directory.file()) {
            return None;
        }
        if self.inotify.is_none() {
            self.inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        }
        // This very directory, whatever has its name by now.
        let link = format!("/proc/self/fd/{}", directory.file().as_raw_fd());
        add_watch(self.inotify.as_ref()?, link, NAMES).ok()
    }

    /// Of a directory that is not there any more the system has removed it already.
    pub(super) fn remove(&mut self, watch: i32) {
        if let Some(inotify) = &self.inotify {
            let _ = rustix::fs::inotify::remove_watch(inotify, watch);
        }
    }

    /// The watches of directories that are not as they were, each at least once; `None` where that
    /// is not known. Takes all news there is.
    pub(super) fn changed(&mut self) -> Option<Vec<i32>> {
        let mut changed = Vec::new();
        let Some(inotify) = &self.inotify else {
            return Some(changed);
        };
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(inotify.as_fd(), &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::WOULDBLOCK) => return Some(changed),
                Err(Errno::INTR) => continue,
                Err(_) => return None,
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                return None;
            }
            // What becomes of a file but for its name is no news.
            let is_of_names = event.file_name().is_none()
                || event.events() - ReadFlags::ISDIR != ReadFlags::ATTRIB;
            if is_of_names && !changed.contains(&event.wd()) {
                changed.push(event.wd());
            }
        }
    }
}
