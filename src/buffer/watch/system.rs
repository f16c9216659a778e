//! The watcher that there is: the system's, or in builds for tests a stub of a broken one.

use std::path::Path;

#[cfg(target_os = "linux")]
use super::inotify::Inotify as System;
#[cfg(not(target_os = "linux"))]
use super::native::System;
use super::watcher::{DirectoryWatcher, Event, Sink, Unwatchable, exhausted, no_watch_left};

/// Names the stub of a broken watcher, in builds that are tested.
const STUB: &str = "PILCROW_WATCH_STUB";

/// The system's watcher, or the stub that the environment names. Release builds know no stubs.
#[expect(clippy::disallowed_methods, reason = "for tests alone")]
pub fn open(sink: Sink) -> Result<Box<dyn DirectoryWatcher>, Unwatchable> {
    let stub = match cfg!(any(feature = "failpoints", debug_assertions)) {
        true => std::env::var(STUB).ok(),
        false => None,
    };
    match stub.as_deref() {
        Some("drop") => Ok(Box::new(Deaf)),
        Some("limit") => Ok(Box::new(Full)),
        Some("emfile") => Err(exhausted("Too many open files")),
        Some("overflow") => System::open(Box::new(move |_| sink(Event::Lost))),
        _ => System::open(sink),
    }
}

/// Accepts everything and hears nothing, as network mounts do.
struct Deaf;

impl DirectoryWatcher for Deaf {
    fn watch(&mut self, _: &Path) -> Result<(), Unwatchable> {
        Ok(())
    }

    fn unwatch(&mut self, _: &Path) {}
}

/// Has no watch left to give.
struct Full;

impl DirectoryWatcher for Full {
    fn watch(&mut self, _: &Path) -> Result<(), Unwatchable> {
        Err(no_watch_left())
    }

    fn unwatch(&mut self, _: &Path) {}
}
