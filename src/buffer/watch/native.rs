//! The watcher of systems other than Linux, by way of a library that knows them; nothing here knows which files are warm.

use std::path::Path;

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{ErrorKind, RecursiveMode, Watcher};

use super::watcher::{
    DirectoryWatcher, Event, Sink, Unwatchable, exhausted, is_temporary, no_watch_left,
};

/// `FSEvents` and the like.
pub struct System(notify::RecommendedWatcher);

impl System {
    pub fn open(sink: Sink) -> Result<Box<dyn DirectoryWatcher>, Unwatchable> {
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

impl DirectoryWatcher for System {
    fn watch(&mut self, directory: &Path) -> Result<(), Unwatchable> {
        let watched = self.0.watch(directory, RecursiveMode::NonRecursive);
        watched.map_err(|error| unwatchable(&error))
    }

    fn unwatch(&mut self, directory: &Path) {
        // It fails for a directory that vanished, whose watch went with it.
        let _ = self.0.unwatch(directory);
    }
}

fn unwatchable(error: &notify::Error) -> Unwatchable {
    let code = match &error.kind {
        ErrorKind::MaxFilesWatch => {
            return no_watch_left();
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
