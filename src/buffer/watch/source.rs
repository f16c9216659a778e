//! Where events come from: the system's watcher, or a stub of a broken one; nothing here knows which files are warm.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{ErrorKind, RecursiveMode, Watcher};

/// What was seen in a watched directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The file of that name has other content or metadata.
    Changed(PathBuf),
    /// The name came, went, or leads elsewhere, and with it all that is below it: the rename of a
    /// directory does not list its children.
    Replaced(PathBuf),
    /// Events were lost: anything may have changed.
    Lost,
}

/// Why a directory is not watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwatchable {
    /// The system gives no more watches, or no watcher at all; with its words.
    Exhausted(String),
    /// This directory only: it is gone, or cannot be watched.
    Here,
}

/// Takes events on the source's own thread; must be quick.
pub type Sink = Box<dyn Fn(Event) + Send>;

/// Something that watches directories, without what is in their subdirectories.
pub trait Source: Send {
    /// Errors when the directory is not watched now.
    fn watch(&mut self, directory: &Path) -> Result<(), Unwatchable>;
    /// What is not watched may be unwatched.
    fn unwatch(&mut self, directory: &Path);
}

/// Names the stub of a broken watcher, in builds that are tested.
const STUB: &str = "PILCROW_WATCH_STUB";

/// The system's watcher, or the stub that the environment names. Release builds know no stubs.
pub fn open(sink: Sink) -> Result<Box<dyn Source>, Unwatchable> {
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

/// Inotify, `FSEvents` and the like.
struct System(notify::RecommendedWatcher);

impl System {
    fn open(sink: Sink) -> Result<Box<dyn Source>, Unwatchable> {
        let handler = move |event| translate(event, &*sink);
        let watcher = notify::recommended_watcher(handler).map_err(|error| unwatchable(&error));
        match watcher {
            Ok(watcher) => Ok(Box::new(System(watcher))),
            // Without a watcher no directory is watched, whatever the reason.
            Err(Unwatchable::Here) => Err(exhausted("there is none")),
            Err(exhausted) => Err(exhausted),
        }
    }
}

impl Source for System {
    fn watch(&mut self, directory: &Path) -> Result<(), Unwatchable> {
        let watched = self.0.watch(directory, RecursiveMode::NonRecursive);
        watched.map_err(|error| unwatchable(&error))
    }

    fn unwatch(&mut self, directory: &Path) {
        // It fails for a directory that vanished, whose watch went with it.
        let _ = self.0.unwatch(directory);
    }
}

/// Accepts everything and hears nothing, as network mounts do.
struct Deaf;

impl Source for Deaf {
    fn watch(&mut self, _: &Path) -> Result<(), Unwatchable> {
        Ok(())
    }

    fn unwatch(&mut self, _: &Path) {}
}

/// Has no watch left to give.
struct Full;

impl Source for Full {
    fn watch(&mut self, _: &Path) -> Result<(), Unwatchable> {
        Err(unwatchable(&notify::Error::new(ErrorKind::MaxFilesWatch)))
    }

    fn unwatch(&mut self, _: &Path) {}
}

fn exhausted(words: &str) -> Unwatchable {
    Unwatchable::Exhausted(format!(
        "No file watcher can be had ({words}); every read still looks at the file itself."
    ))
}

fn unwatchable(error: &notify::Error) -> Unwatchable {
    let code = match &error.kind {
        ErrorKind::MaxFilesWatch => {
            return Unwatchable::Exhausted(
                "The system's limit of file watches is reached (on Linux fs.inotify.max_user_watches); every read still looks at the file itself."
                    .to_owned(),
            );
        }
        ErrorKind::Io(error) => error.raw_os_error(),
        _ => None,
    };
    let out_of_descriptors = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
    match code {
        Some(code) if out_of_descriptors.iter().any(|e| e.raw_os_error() == code) => {
            exhausted("Too many open files")
        }
        _ => Unwatchable::Here,
    }
}

/// Opens and reads of files are most of what the system reports, and dropped before anything else.
fn translate(event: notify::Result<notify::Event>, sink: &dyn Fn(Event)) {
    let Ok(event) = event else {
        return sink(Event::Lost);
    };
    if event.need_rescan() {
        return sink(Event::Lost);
    }
    let wrap = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Event::Changed,
        EventKind::Access(_) => return,
        // A rename may be of a directory, and may put one file in the place of another.
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => {
            Event::Replaced
        }
        EventKind::Modify(_) | EventKind::Any | EventKind::Other => Event::Changed,
    };
    for path in event.paths {
        if !is_temporary(&path) {
            sink(wrap(path));
        }
    }
}

/// Whether a name is that of a temporary of our own (`hashline.md`, Writing), which nobody reads.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| name.starts_with('.') && name.contains(".pilcrow-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{DataChange, Flag, RenameMode};
    use parking_lot::Mutex;

    fn check(event: notify::Event, expect: &[Event]) {
        let seen = Mutex::new(Vec::new());
        translate(Ok(event), &|event| seen.lock().push(event));
        assert_eq!(&*seen.lock(), expect);
    }

    #[test]
    fn reads_are_dropped_and_renames_name_both_ends() {
        let at = |kind, paths: &[&str]| {
            let event = notify::Event::new(kind);
            paths
                .iter()
                .fold(event, |event, path| event.add_path(path.into()))
        };
        let rename = |mode| EventKind::Modify(ModifyKind::Name(mode));
        let opened = EventKind::Access(AccessKind::Open(AccessMode::Any));
        check(at(opened, &["/a"]), &[]);
        let written = EventKind::Access(AccessKind::Close(AccessMode::Write));
        check(at(written, &["/a"]), &[Event::Changed("/a".into())]);
        let modified = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        check(at(modified, &["/a"]), &[Event::Changed("/a".into())]);
        let both = [Event::Replaced("/a".into()), Event::Replaced("/b".into())];
        check(at(rename(RenameMode::Both), &["/a", "/b"]), &both);
        check(at(rename(RenameMode::To), &["/b"]), &both[1..]);
        let rescan = notify::Event::new(EventKind::Other).set_flag(Flag::Rescan);
        check(rescan, &[Event::Lost]);
    }
}
