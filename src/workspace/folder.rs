//! A judged directory in which files are made and replaced; no link in it is ever followed, and nothing in it is made twice.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::protocol::Refusal;

use super::handle::{FileType, Handle, RealPath, platform};
use super::resolve::Scope;

/// A directory that was opened without being read, and allowed. Its descriptor is a place to make,
/// rename and remove names at; it cannot be listed or flushed.
#[derive(Debug)]
pub struct Folder {
    file: File,
    real: PathBuf,
}

impl Scope {
    /// Opens the directory at `real`, a path without symlinks; `None` where there is none, or where
    /// the path now leads elsewhere. Refuses as [`Scope::find_exact`] does.
    pub fn folder(&self, real: &Path) -> Result<Option<Folder>, Refusal> {
        let handle = match self.open(real) {
            Ok(handle) => handle,
            Err(Refusal::NotFound { .. }) => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let is_it = handle.file_type() == FileType::Directory && handle.real().as_path() == real;
        Ok(is_it.then(|| Folder {
            file: handle.into_file(),
            real: real.to_path_buf(),
        }))
    }
}

impl Folder {
    /// Where the directory was when it was judged.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// Whether the opened directory still has that path: one that was moved meanwhile may be
    /// outside by now.
    pub fn still_there(&self) -> bool {
        platform::real_path(&self.file).is_ok_and(|now| now == self.real)
    }

    /// Opens what has this judged path, which must be right in this directory; a link is opened as
    /// itself, and is no regular file.
    ///
    /// Errors with `NotFound`, with `InvalidInput` for a path that is elsewhere, and with the
    /// system's errors.
    pub fn open(&self, real: &RealPath) -> io::Result<Handle> {
        let name = match real.as_path().file_name() {
            Some(name) if real.as_path().parent() == Some(&*self.real) => name,
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let file = File::from(rustix::io::retry_on_intr(|| {
            platform::open_in(&self.file, name)
        })?);
        Handle::in_folder(file, real.clone())
    }

    /// Opens a directory right in this one, on the way to a judged path; not through a link
    /// (`NotADirectory`).
    pub fn enter(&self, name: &OsStr) -> io::Result<Folder> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        #[cfg(target_os = "linux")]
        let flags = flags | OFlags::PATH;
        let file = rustix::io::retry_on_intr(|| {
            rustix::fs::openat(&self.file, name, flags, Mode::empty())
        })?;
        Ok(Folder {
            file: file.into(),
            real: self.real.join(name),
        })
    }

    /// Makes a directory on the way to a judged path, as the umask has it. `false` when something
    /// of that name is there by now.
    pub fn make(&self, name: &OsStr) -> io::Result<bool> {
        match rustix::fs::mkdirat(&self.file, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
