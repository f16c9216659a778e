//! The directories of one write, each judged and opened once; none is made that was not noted before.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::workspace::{Folder, Scope};

use super::cleanup::Cleanup;
use super::error::{FileError, WriteError, step};
use super::journal::JournalEntry;
use super::write_step::WriteStep;

/// The opened directories, by their real paths.
#[derive(Debug)]
pub(super) struct Folders<'a> {
    scope: &'a Scope,
    open: BTreeMap<PathBuf, Arc<Folder>>,
}

impl<'a> Folders<'a> {
    pub(super) fn new(scope: &'a Scope) -> Folders<'a> {
        Folders {
            scope,
            open: BTreeMap::new(),
        }
    }

    /// The directory at `real`; errors with [`FileError::Gone`] where it is none any more.
    pub(super) fn existing(&mut self, real: &Path) -> Result<Arc<Folder>, FileError> {
        self.look(real)?.ok_or(FileError::Gone)
    }

    /// The directory at `real`, made with all that is missing above it.
    pub(super) fn made(
        &mut self,
        real: &Path,
        cleanup: &mut Cleanup,
    ) -> Result<Arc<Folder>, FileError> {
        let mut missing: Vec<OsString> = Vec::new();
        let mut at = real;
        let mut folder = loop {
            if let Some(folder) = self.look(at)? {
                break folder;
            }
            let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
                return Err(FileError::Gone);
            };
            missing.push(name.to_owned());
            at = parent;
        };
        for name in missing.iter().rev() {
            let path = folder.real().join(name);
            cleanup.note(&JournalEntry::Directory { path: path.clone() })?;
            if step(WriteStep::MakeDirectory, || folder.make(name))? {
                cleanup.made_directory(folder.clone(), name.clone());
            }
            let child = Arc::new(step(WriteStep::MakeDirectory, || folder.enter(name))?);
            self.open.insert(path, child.clone());
            folder = child;
        }
        Ok(folder)
    }

    fn look(&mut self, real: &Path) -> Result<Option<Arc<Folder>>, FileError> {
        if let Some(folder) = self.open.get(real) {
            return Ok(Some(folder.clone()));
        }
        let found = self.scope.folder(real)?.map(Arc::new);
        if let Some(folder) = &found {
            self.open.insert(real.to_path_buf(), folder.clone());
        }
        Ok(found)
    }
}

/// A directory whose names can be flushed to the disk.
#[derive(Debug)]
pub(super) struct Flushable {
    pub(super) index: usize,
    /// One that may be written and not listed cannot be opened.
    directory: Option<OwnedFd>,
}

impl Flushable {
    /// `index` is the number of the file that errors are told of.
    pub(super) fn open(index: usize, folder: &Folder) -> Result<Flushable, WriteError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = step(WriteStep::Open, || {
            match rustix::fs::openat(folder, ".", flags, Mode::empty()) {
                Err(Errno::ACCESS) => Ok(None),
                opened => opened.map(Some),
            }
        });
        let directory = directory.map_err(|fault| fault.of(index))?;
        Ok(Flushable { index, directory })
    }

    /// `file` is one on the same file system, if there is one.
    pub(super) fn flush(&self, file: Option<&File>) -> Result<(), WriteError> {
        let flushed = step(WriteStep::SyncDirectory, || match &self.directory {
            Some(directory) => match rustix::fs::fsync(directory) {
                // Some file systems know no such thing for a directory.
                Ok(()) | Err(Errno::INVAL) => Ok(()),
                Err(error) => Err(error.into()),
            },
            None => file.map_or(Ok(()), sync_all_of),
        });
        flushed.map_err(|fault| fault.of(self.index))
    }
}

#[cfg(target_os = "linux")]
fn sync_all_of(file: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_all_of(file: &File) -> io::Result<()> {
    file.sync_all()
}
