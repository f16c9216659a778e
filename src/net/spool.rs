//! Bodies that are too long for memory, in files of this process alone.
//!
//! Each process has a directory of its own below the root (mode 0700), which it holds locked for as long as it lives. It is
//! removed at the end; what a killed process left behind is free of its lock, and the next one removes it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, flock};

/// How often a directory is made anew that another process took for a dead one's, or whose name is taken.
const ATTEMPTS: u32 = 16;

/// The files of this process. Does no I/O before the first one is made.
#[derive(Debug)]
pub struct Spool {
    root: PathBuf,
    directory: Mutex<Option<OwnDirectory>>,
    /// For names of files.
    made: AtomicU64,
    bytes: Arc<AtomicU64>,
}

/// A directory whose lock this process holds.
#[derive(Debug)]
struct OwnDirectory {
    path: PathBuf,
    _lock: File,
}

/// A file of the spool, removed when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct SpooledFile(Arc<Spooled>);

#[derive(Debug)]
struct Spooled {
    path: PathBuf,
    bytes: AtomicU64,
    in_all: Arc<AtomicU64>,
}

/// A body as it was sent, but decompressed. Clones share it.
#[derive(Debug, Clone)]
pub enum Body {
    /// Up to [`Body::IN_MEMORY`].
    Memory(Arc<[u8]>),
    File(SpooledFile),
}

impl Body {
    pub const IN_MEMORY: usize = 256 * 1024;

    pub fn bytes(&self) -> u64 {
        match self {
            Body::Memory(bytes) => bytes.len() as u64,
            Body::File(file) => file.bytes(),
        }
    }
}

impl Spool {
    pub fn new(root: PathBuf) -> Spool {
        Spool {
            root,
            directory: Mutex::default(),
            made: AtomicU64::new(0),
            bytes: Arc::default(),
        }
    }

    /// Bytes in all files there are.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Makes an empty file, for this user alone, and opens it for writing. Blocks.
    pub fn create(&self) -> io::Result<SpoolWriter> {
        self.create_named("")
    }

    fn create_named(&self, name: &str) -> io::Result<SpoolWriter> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let mut directory = self.directory.lock();
        let made = match directory.take() {
            // Somebody may have tidied up behind our back.
            Some(made) if made.path.is_dir() => made,
            _ => own_directory(&self.root)?,
        };
        let path = directory.insert(made).path.join(format!("{number}-{name}"));
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        Ok(SpoolWriter {
            file,
            spooled: SpooledFile(Arc::new(Spooled {
                path,
                bytes: AtomicU64::new(0),
                in_all: self.bytes.clone(),
            })),
        })
    }

    /// A body as a file whose name ends in `name`, which is one part of a path. Blocks.
    pub fn keep(&self, body: &Body, name: &str) -> io::Result<SpooledFile> {
        let mut kept = self.create_named(name)?;
        match body {
            Body::Memory(bytes) => kept.write(bytes)?,
            Body::File(file) => {
                // One more name of it: it holds no further byte.
                let path = &kept.spooled.0.path;
                std::fs::remove_file(path)?;
                std::fs::hard_link(file.path(), path)?;
            }
        }
        Ok(kept.finish())
    }

    /// Removes the directory and all that is in it: the process ends.
    pub fn remove(&self) {
        if let Some(made) = self.directory.lock().take() {
            // What stays goes with the next start.
            let _ = std::fs::remove_dir_all(&made.path);
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Makes a directory for this process, after what dead ones left is removed.
fn own_directory(root: &Path) -> io::Result<OwnDirectory> {
    DirBuilder::new().recursive(true).mode(0o700).create(root)?;
    remove_abandoned(root);
    let mut refused = io::Error::from(io::ErrorKind::AlreadyExists);
    for attempt in 0..ATTEMPTS {
        let path = root.join(format!("{}-{attempt}", std::process::id()));
        match DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .and_then(|()| locked(&path))
        {
            Ok(lock) => return Ok(OwnDirectory { path, _lock: lock }),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Locks a directory, if nobody else has it locked and it is still there.
fn locked(path: &Path) -> io::Result<File> {
    let directory = File::open(path)?;
    flock(directory.as_fd(), FlockOperation::NonBlockingLockExclusive)?;
    // A process that had the lock a moment ago may have removed it.
    let (ours, there) = (directory.metadata()?, std::fs::symlink_metadata(path)?);
    match (ours.dev(), ours.ino()) == (there.dev(), there.ino()) {
        true => Ok(directory),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Removes the directories that nobody holds.
fn remove_abandoned(root: &Path) {
    let Ok(entries) = std::fs::read_dir(root) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if let (true, Ok(_lock)) = (is_directory, locked(&path)) {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

/// A file of the spool while it is written.
#[derive(Debug)]
pub struct SpoolWriter {
    file: File,
    spooled: SpooledFile,
}

impl SpoolWriter {
    /// Appends. Blocks.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        io::Write::write_all(&mut self.file, bytes)?;
        let added = bytes.len() as u64;
        self.spooled.0.bytes.fetch_add(added, Ordering::Relaxed);
        self.spooled.0.in_all.fetch_add(added, Ordering::Relaxed);
        Ok(())
    }

    pub fn finish(self) -> SpooledFile {
        self.spooled
    }
}

impl SpooledFile {
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Opens it for reading. Blocks.
    pub fn open(&self) -> io::Result<File> {
        File::open(&self.0.path)
    }
}

impl Drop for Spooled {
    fn drop(&mut self) {
        self.in_all
            .fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
        // What stays goes with the directory.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn a_file_is_private_counted_and_goes_with_its_last_owner() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("fetched");
        let spool = Spool::new(root.clone());
        assert!(!root.exists());
        let mut writer = spool.create().expect("a file");
        writer.write(b"one ").expect("written");
        writer.write(b"two").expect("written");
        let file = writer.finish();
        let path = file.path().to_owned();
        assert_eq!(std::fs::read(&path).expect("there"), b"one two");
        assert_eq!((file.bytes(), spool.bytes()), (7, 7));
        let mode =
            |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
        let own = path.parent().expect("a folder");
        assert_eq!((mode(&path), mode(own), mode(&root)), (0o600, 0o700, 0o700));
        let clone = file.clone();
        drop(file);
        assert!(path.exists());
        drop(clone);
        assert!(!path.exists() && spool.bytes() == 0);
        drop(spool);
        assert_eq!(names(&root), Vec::<String>::new());
    }

    #[test]
    fn what_dead_processes_left_is_removed_and_what_is_held_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().to_owned();
        let abandoned = root.join("4000000-0");
        std::fs::create_dir(&abandoned).expect("a folder");
        std::fs::write(abandoned.join("7"), "left").expect("a file");
        let first = Spool::new(root.clone());
        let held = first.create().expect("a file").finish();
        assert!(!abandoned.exists());
        let second = Spool::new(root.clone());
        let other = second.create().expect("a file").finish();
        assert!(held.path().exists() && other.path().exists() && names(&root).len() == 2);
        // Somebody's tidying up costs the files that were there, and no later one.
        std::fs::remove_dir_all(held.path().parent().expect("a folder")).expect("removed");
        assert!(
            first
                .create()
                .expect("a file")
                .finish()
                .path()
                .starts_with(&root)
        );
    }
}
