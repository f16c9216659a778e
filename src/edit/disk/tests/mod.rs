//! Writes to real directories; no test here depends on another, on the machine, or on time.

mod faults;
mod keeps;
mod kills;
mod names;
mod plain;
mod races;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::protocol::Settings;
use crate::task::{CancelToken, Work};
use crate::workspace::Scope;

use super::{
    DiskWriter, FileChange, FileError, FileWrite, Planned, Target, WriteError, WrittenFile,
};

/// An ordinary user, for tests that root runs.
const NOBODY: u32 = 65534;

/// A workspace `ws` and a state directory, in a temporary directory or one that outlives it.
struct Scratch {
    _temp: Option<tempfile::TempDir>,
    top: PathBuf,
    scope: Scope,
    writer: DiskWriter,
}

impl Scratch {
    fn new() -> Scratch {
        Scratch::in_directory(&std::env::temp_dir())
    }

    fn in_directory(parent: &Path) -> Scratch {
        let temp = tempfile::tempdir_in(parent).expect("a temporary directory");
        let top = temp.path().canonicalize().expect("it exists");
        fs::create_dir(top.join("ws")).expect("made");
        Scratch {
            _temp: Some(temp),
            ..Scratch::at(top)
        }
    }

    /// A place that was made before, perhaps by another process.
    fn at(top: PathBuf) -> Scratch {
        let settings = Arc::new(Settings::default());
        let scans = Arc::new(AtomicU64::new(0));
        Scratch {
            _temp: None,
            scope: Scope::new(vec![top.join("ws")], settings, scans),
            writer: DiskWriter::new(Some(top.join("state"))),
            top,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.join("ws").join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("written");
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a text")
    }

    fn is_there(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    fn metadata(&self, name: &str) -> fs::Metadata {
        self.path(name).metadata().expect("it is there")
    }

    /// A change of a file that is planned on what it holds now.
    fn change(&self, name: &str, text: &str) -> FileWrite {
        let handle = self.scope.open(&self.path(name)).expect("it may be read");
        let old = fs::read(handle.real().as_path()).expect("its bytes");
        FileWrite {
            target: Target::opened(&handle, Planned::of(&old)),
            bytes: text.as_bytes().into(),
        }
    }

    fn creation(&self, name: &str, text: &str) -> FileWrite {
        let path = self.scope.destination(name).expect("it may be made");
        FileWrite {
            target: Target::New { path },
            bytes: text.as_bytes().into(),
        }
    }

    fn write(&self, files: Vec<FileWrite>) -> Result<Vec<WrittenFile>, WriteError> {
        self.writer.write(&self.scope, files, &work())
    }

    fn carry_out(&self, changes: Vec<FileChange>) -> Result<Vec<WrittenFile>, WriteError> {
        self.writer.change_and(&self.scope, changes, &work(), || {})
    }

    /// Names below the top that are the writer's own: temporaries, journals that say something, copies.
    fn left_behind(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.top.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a directory") {
                let path = entry.expect("an entry").path();
                let is_state = folder.ends_with("state/writes") || folder.ends_with("state/copies");
                let is_idle = fs::read(&path).is_ok_and(|bytes| bytes == b"pilcrow write 1\0");
                if path.to_string_lossy().contains(".pilcrow-") || (is_state && !is_idle) {
                    found.push(path.clone());
                }
                if path.symlink_metadata().expect("it is there").is_dir() {
                    folders.push(path);
                }
            }
        }
        found
    }

    fn assert_clean(&self) {
        assert_eq!(self.left_behind(), Vec::<PathBuf>::new());
    }

    /// Gives everything to an ordinary user, when root runs the tests.
    fn give_away(&self) {
        fs::create_dir_all(self.top.join("state")).expect("made");
        for path in [".", "ws", "state"] {
            chown(&self.top.join(path), NOBODY);
        }
    }
}

fn work() -> Work {
    Work::new(CancelToken::new(), Duration::from_secs(60))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Changes the owner where the tests may; what an ordinary user makes is an ordinary user's.
fn chown(path: &Path, user: u32) {
    if is_root() {
        std::os::unix::fs::lchown(path, Some(user), Some(user)).expect("root may");
    }
}

/// Runs `act` on a thread that has no more rights than an ordinary user.
fn as_ordinary_user<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    use rustix::process::{Gid, Uid};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    std::thread::scope(|threads| {
        let thread = threads.spawn(|| {
            if is_root() {
                let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
                set_thread_groups(&[]).expect("root may");
                set_thread_res_gid(group, group, group).expect("root may");
                set_thread_res_uid(user, user, user).expect("root may");
            }
            act()
        });
        thread.join().expect("the thread's assertions hold")
    })
}

/// The system's name for why a step failed.
fn errno(error: &WriteError) -> Option<rustix::io::Errno> {
    match error {
        WriteError::File {
            fault: FileError::Io(_, source),
            ..
        } => rustix::io::Errno::from_io_error(source),
        _ => None,
    }
}

fn inode(place: &Scratch, name: &str) -> u64 {
    place.metadata(name).ino()
}

fn mode_of(place: &Scratch, name: &str) -> u32 {
    place.metadata(name).mode() & 0o7777
}
