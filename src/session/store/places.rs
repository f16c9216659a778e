//! Where stores lie: a directory of this process, locked for as long as it lives, or for each session one that outlives it.
//!
//! A process' directory gets its name when its lock is held, so that whoever finds one whose lock is
//! free knows that its process is dead. What never got its name is removed once it is a minute old.

use std::fs::{DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, OFlags, flock};
use sha2::{Digest, Sha256};

/// The file in a directory that its lock is on.
const LOCK: &str = "lock";

/// What the name of a directory begins with before its lock is held, and when it is being removed.
const UNNAMED: &str = ".new-";
const GONE: &str = ".gone-";

/// How old one without its name must be to be a dead process'.
const UNNAMED_FOR: Duration = Duration::from_secs(60);

/// How often a name is looked for that nobody has.
const ATTEMPTS: usize = 16;

/// A directory whose lock this process holds.
#[derive(Debug)]
pub(super) struct LockedDirectory {
    pub(super) path: PathBuf,
    _lock: File,
}

/// Makes a directory for this process below `root`.
pub(super) fn of_process(root: &Path) -> io::Result<LockedDirectory> {
    private_directory(root)?;
    let mut refused = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..ATTEMPTS {
        let name = random_name();
        let unnamed = root.join(format!("{UNNAMED}{name}"));
        match make(&unnamed) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                refused = error;
                continue;
            }
            Err(error) => return Err(error),
        }
        let lock = locked(&unnamed)?.ok_or(io::ErrorKind::ResourceBusy)?;
        let path = root.join(name);
        std::fs::rename(&unnamed, &path)?;
        return Ok(LockedDirectory { path, _lock: lock });
    }
    Err(refused)
}

/// The directory of a session that outlives the process; `None` where another process has it.
pub(super) fn of_session(root: &Path, session: &str) -> io::Result<Option<LockedDirectory>> {
    private_directory(root)?;
    let path = lasting_place(root, session);
    private_directory(&path)?;
    let lock = locked(&path)?;
    Ok(lock.map(|lock| LockedDirectory { path, _lock: lock }))
}

/// Names may be long, and file systems fold case.
pub(super) fn lasting_place(root: &Path, session: &str) -> PathBuf {
    let hash = Sha256::digest(session.as_bytes());
    let digits: String = hash
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    root.join(digits)
}

/// Removes what dead processes left below `root`; errors are for the next one.
pub(super) fn remove_abandoned(root: &Path) {
    let Ok(entries) = std::fs::read_dir(root) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(metadata) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        if !metadata.is_dir() {
            continue;
        }
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_named = !name.starts_with(UNNAMED);
        let age = metadata
            .modified()
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        if !is_named && age.is_none_or(|age| age < UNNAMED_FOR) {
            continue;
        }
        if let Ok(Some(_lock)) = locked(&path) {
            remove(&path);
        }
    }
}

/// Removes a directory that nobody holds.
pub(super) fn remove_if_free(path: &Path) {
    if let Ok(Some(_lock)) = locked(path) {
        remove(path);
    }
}

/// Removes a directory with all that is in it. Under another name first: who still writes into it
/// finds it no more.
pub(super) fn remove(path: &Path) {
    let gone = path.with_file_name(format!("{GONE}{}", random_name()));
    let path = match std::fs::rename(path, &gone) {
        Ok(()) => &gone,
        Err(_) => path,
    };
    for _ in 0..ATTEMPTS {
        match std::fs::remove_dir_all(path) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            // Somebody made a file in it just now.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            Err(error) => {
                tracing::warn!(%error, "what a session left could not be removed");
                return;
            }
        }
    }
}

/// Makes a directory for this user alone; one that is there already must be one.
pub(super) fn private_directory(path: &Path) -> io::Result<()> {
    if let Some(above) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(above)?;
    }
    match make(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let metadata = std::fs::symlink_metadata(path)?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    match metadata.is_dir() && is_ours {
        true => Ok(()),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// Makes a directory that was not there, for this user alone.
pub(super) fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Makes a file that was not there, for this user alone; no link is followed to it.
pub(super) fn create_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    options.open(path)
}

/// Writes a small file beside its place and puts it there.
pub(super) fn write_small(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path);
    let mut file = create_file(&beside)?;
    io::Write::write_all(&mut file, bytes)?;
    std::fs::rename(&beside, path)
}

/// A name beside a file's that nobody has.
pub(super) fn beside(path: &Path) -> PathBuf {
    path.with_file_name(format!("{UNNAMED}{}", random_name()))
}

/// Locks a directory; `None` where somebody else has it locked.
fn locked(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let flags = OFlags::NOFOLLOW.bits() as i32;
    options
        .read(true)
        .write(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags);
    let lock = options.open(path.join(LOCK))?;
    match flock(lock.as_fd(), FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    // Who had it a moment ago may have removed it.
    let (ours, there) = (
        lock.metadata()?,
        std::fs::symlink_metadata(path.join(LOCK))?,
    );
    match (ours.dev(), ours.ino()) == (there.dev(), there.ino()) {
        true => Ok(Some(lock)),
        false => Ok(None),
    }
}

/// 32 hex digits that nobody guesses; a name that is taken is no harm.
fn random_name() -> String {
    let half = || RandomState::new().hash_one((SystemTime::now(), std::process::id()));
    format!("{:016x}{:016x}", half(), half())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dead_processes_left_is_removed_and_what_is_held_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("sessions");
        let held = of_process(&root).expect("a directory");
        let dead = of_process(&root).expect("another");
        let left = dead.path.clone();
        std::fs::write(left.join("1.txt"), "left").expect("a file");
        drop(dead);
        let young = root.join(format!("{UNNAMED}1"));
        make(&young).expect("a directory");
        std::os::unix::fs::symlink(folder.path(), root.join("link")).expect("a link");
        remove_abandoned(&root);
        assert!(held.path.is_dir() && !left.exists() && young.is_dir());
        assert!(root.join("link").exists() && folder.path().exists());
    }

    #[test]
    fn a_session_is_one_process_at_a_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("kept");
        let first = of_session(&root, "A/b")
            .expect("a directory")
            .expect("ours");
        let name = first.path.file_name().expect("a name").len();
        assert_eq!(name, 32);
        assert!(of_session(&root, "A/b").expect("a directory").is_none());
        assert!(of_session(&root, "a/b").expect("a directory").is_some());
        drop(first);
        assert!(of_session(&root, "A/b").expect("a directory").is_some());
    }
}
