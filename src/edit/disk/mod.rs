//! Files written to disk, all of a request or none; no file is ever seen half written, and none is changed that is not what was planned on.
//!
//! Each new text is staged beside its file, and all of them are flushed. Then the files are locked
//! and looked at again, and only then does one take the other's name. What is made on the way is
//! noted in the state directory first, so that the next start finds what a killed process left. A
//! file that somebody has open for writing is not replaced, which would leave them with one that
//! has no name, but overwritten.

mod cleanup;
mod commit;
mod content;
mod error;
mod fail;
mod failed_write;
mod flush;
mod folders;
mod half_done;
mod in_place;
mod journal;
mod lease;
mod lock;
mod metadata;
mod recovery;
mod rename;
mod renamed;
mod stage;
mod stage_rename;
mod state;
mod strays;
mod write_step;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::protocol::Refusal;
use crate::task::Work;
use crate::workspace::{Folder, Handle, RealPath, Scope, Stamp};

use cleanup::Cleanup;
use commit::Done;
use failed_write::{FailedWrite, Left};
use folders::{Flushable, Folders};
use journal::Journal;
use lock::Locks;
use metadata::Inode;
use stage::{StageContext, Staged, Way};
use state::StateDirectory;

pub use content::Planned;
pub use error::{FileError, WriteError};
pub use rename::{Attributes, NameChange, NameOf};
pub use write_step::WriteStep;

/// A step of an edit beside the writing itself, for failpoints alone: an error is what is to come of it.
pub fn failpoint(step: WriteStep) -> std::io::Result<()> {
    fail::at(step)
}

/// How long all locks of a write may take together.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// Writes files. Clones share the state directory; nothing is held between two writes.
#[derive(Debug, Clone)]
pub struct DiskWriter {
    state: Arc<StateDirectory>,
    lock_wait: Duration,
}

/// A file and all that it is to hold.
#[derive(Debug)]
pub struct FileWrite {
    pub target: Target,
    pub bytes: Arc<[u8]>,
}

/// What is to become of one file: new bytes, another name, or both in this order.
#[derive(Debug)]
pub struct FileChange {
    pub write: Option<FileWrite>,
    pub name: Option<NameChange>,
}

impl From<FileWrite> for FileChange {
    fn from(write: FileWrite) -> FileChange {
        FileChange {
            write: Some(write),
            name: None,
        }
    }
}

impl FileChange {
    /// The judged paths that it changes.
    fn places(&self) -> impl Iterator<Item = &RealPath> {
        let written = self.write.iter().map(|write| write.target.real());
        let from = self.name.iter().map(|name| name.from.real());
        let to = self.name.iter().filter_map(|name| name.to.as_ref());
        written.chain(from).chain(to.map(|to| &to.real))
    }
}

/// Where a file is, or is to be.
#[derive(Debug)]
pub enum Target {
    /// A regular file that is there.
    Existing {
        /// Where it was when it was opened and judged.
        real: RealPath,
        /// Its stamp before its bytes were read.
        stamp: Stamp,
        /// What it held.
        planned: Planned,
    },
    /// A file that must not be there; directories above it are made as the umask has it.
    New { path: RealPath },
    /// The same, for one that was deleted, with what it was besides its bytes.
    Restored {
        path: RealPath,
        attributes: Attributes,
    },
}

impl Target {
    /// A file as it was opened, and what was read of it then.
    pub fn opened(handle: &Handle, planned: Planned) -> Target {
        Target::Existing {
            real: handle.real().clone(),
            stamp: handle.stamp(),
            planned,
        }
    }

    /// The judged path that is written.
    pub fn real(&self) -> &RealPath {
        match self {
            Target::Existing { real, .. } => real,
            Target::New { path } | Target::Restored { path, .. } => path,
        }
    }
}

/// A file that was written, flushed, and is what it was to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    pub real: RealPath,
    /// As it was after the write; a later one means that somebody else changed it. `None` where the
    /// system does not tell.
    pub stamp: Option<Stamp>,
    /// xxh3-128 of its bytes.
    pub hash: u128,
    /// It is the same inode as before: it has other names, or an owner or attributes that no new
    /// file could be given, or another program has it open for writing.
    pub in_place: bool,
    /// Another program has it open for writing: what it holds may be more than was written, at the
    /// time of the stamp too.
    pub open_elsewhere: bool,
    /// Of a file that was deleted.
    pub deleted: Option<Attributes>,
}

impl DiskWriter {
    /// Does no I/O. `state` is [`state_directory`](crate::workspace::state_directory); without it,
    /// or where it cannot be written to, a private directory among the temporary files does.
    pub fn new(state: Option<PathBuf>) -> DiskWriter {
        DiskWriter {
            state: Arc::new(StateDirectory::new(state)),
            lock_wait: LOCK_WAIT,
        }
    }

    /// Removes what dead processes left in the roots of `scope`, puts right the files that they were
    /// overwriting, and undoes or completes a write of several files that they had half done. Nothing
    /// is touched that was not noted, or that a living process noted.
    ///
    /// Gives back what could not be done, and what was undone or completed, for the log and
    /// `agent/status`.
    pub fn recover(&self, scope: &Scope) -> Vec<String> {
        recovery::clean(self, scope)
    }

    /// Writes all files, or none; they come back in the same order. Blocks: for the disk, and at
    /// most two seconds for the locks of other processes.
    ///
    /// Errors as [`WriteError`] says; but for [`WriteError::Partly`], every file then is as it was.
    /// No two of `files` may have one path.
    pub fn write(
        &self,
        scope: &Scope,
        files: Vec<FileWrite>,
        work: &Work,
    ) -> Result<Vec<WrittenFile>, WriteError> {
        let changes = files.into_iter().map(FileChange::from).collect();
        self.change_and(scope, changes, work, || {})
    }

    /// As [`DiskWriter::write`], names too. `meanwhile` is called once the disk works on the new texts,
    /// before this thread sleeps until that is done.
    pub fn change_and(
        &self,
        scope: &Scope,
        files: Vec<FileChange>,
        work: &Work,
        meanwhile: impl FnOnce(),
    ) -> Result<Vec<WrittenFile>, WriteError> {
        for (index, file) in files.iter().enumerate() {
            if let Some(real) = file.places().find(|real| !scope.may_edit(real)) {
                return Err(FileError::Refused(outside(real)).of(index));
            }
        }
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let journal = Journal::begin(&self.state).map_err(|fault| fault.of(0))?;
        let transaction = Transaction {
            writer: self,
            cleanup: Cleanup::new(journal),
            staged: Vec::with_capacity(files.len()),
            locks: Locks::default(),
        };
        transaction.run(scope, files, work, meanwhile)
    }
}

/// One write that is under way. Whatever it made on its way goes when it is dropped, in the order of
/// the fields: nothing of it is open for writing any more when the locks go.
struct Transaction<'a> {
    writer: &'a DiskWriter,
    cleanup: Cleanup,
    staged: Vec<Staged>,
    locks: Locks,
}

impl Transaction<'_> {
    fn run(
        mut self,
        scope: &Scope,
        files: Vec<FileChange>,
        work: &Work,
        meanwhile: impl FnOnce(),
    ) -> Result<Vec<WrittenFile>, WriteError> {
        let count = files.len();
        let mut folders = Folders::new(scope);
        for (index, file) in files.into_iter().enumerate() {
            work.check()?;
            let mut stage = StageContext {
                state: &self.writer.state,
                folders: &mut folders,
                cleanup: &mut self.cleanup,
            };
            let staged = match (file.write, file.name) {
                (write, Some(name)) => stage.rename(index, write, name),
                (Some(write), None) => stage.file(index, write).map(|staged| vec![staged]),
                (None, None) => Ok(Vec::new()),
            };
            self.staged.extend(staged.map_err(|fault| fault.of(index))?);
        }
        self.refuse_two_names_of_one_file()?;
        // What needs no lock is done while the disk is at it.
        let directories = self.changed_directories()?;
        meanwhile();
        for staged in &self.staged {
            work.check()?;
            staged.flush().map_err(|fault| fault.of(staged.index))?;
        }
        self.lock(work)?;
        for staged in &mut self.staged {
            staged.recheck().map_err(|fault| fault.of(staged.index))?;
        }
        // From here on it is not stopped any more.
        work.no_return()?;
        self.commit(&directories)?;
        self.cleanup.keep_directories();
        self.cleanup.let_deleted_go();
        self.cleanup.clear();
        let written = (0..count).filter_map(|index| self.written(index)).collect();
        let folders = in_folders(&self.staged);
        // Whoever locks one next must not find it open for writing.
        self.staged.retain(|staged| !staged.is_open_for_writing());
        drop(self.locks);
        for (folder, names) in folders {
            strays::remove(&folder, &names);
        }
        // Nothing is left to do but to close what is open.
        work.let_go_later(self.staged);
        Ok(written)
    }

    /// Changes of one file under two names were planned on one text, and the second would undo the
    /// first.
    fn refuse_two_names_of_one_file(&self) -> Result<(), WriteError> {
        let mut known: BTreeMap<Inode, &Staged> = BTreeMap::new();
        for staged in &self.staged {
            let Some(inode) = staged.old_inode() else {
                continue;
            };
            if let Some(other) = known.insert(inode, staged) {
                let path = staged.real.as_path().display();
                let other = other.real.as_path().display();
                let refusal = Refusal::Unsupported {
                    path: Some(path.to_string()),
                    message: format!(
                        "'{other}' and '{path}' are two names of one file; nothing was written. Send all its changes under one of them."
                    ),
                };
                return Err(FileError::Refused(refusal).of(staged.index));
            }
        }
        Ok(())
    }

    /// Locks the files that are to be changed; those that are to take their names are locked by now.
    fn lock(&mut self, work: &Work) -> Result<(), WriteError> {
        let wanted = self.staged.iter().filter_map(Staged::wanted).collect();
        for held in self.staged.iter_mut().filter_map(Staged::take_held) {
            self.locks.keep(held);
        }
        let writer = self.writer;
        self.locks
            .take(&writer.state, wanted, writer.lock_wait, work)
    }

    fn commit(&mut self, directories: &[Flushable]) -> Result<(), WriteError> {
        let mut done = Vec::with_capacity(self.staged.len());
        for at in 0..self.staged.len() {
            let index = self.staged[at].index;
            match self.staged[at].put(&mut self.cleanup) {
                Ok(put) => done.push(put),
                Err(FailedWrite { fault, left }) => {
                    return Err(self.roll_back(
                        &done,
                        fault.of(index),
                        Some((at, left)),
                        directories,
                    ));
                }
            }
        }
        match self.flush(directories) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.roll_back(&done, error, None, directories)),
        }
    }

    /// Every directory in which a name will have changed.
    fn changed_directories(&self) -> Result<Vec<Flushable>, WriteError> {
        let mut changed: BTreeMap<&Path, (usize, &Folder)> = BTreeMap::new();
        let made_in = self.cleanup.parents_of_directories();
        for parent in &made_in {
            changed.insert(parent.real(), (0, parent));
        }
        for staged in &self.staged {
            if !matches!(staged.way, Way::InPlace { .. }) {
                changed.insert(staged.folder.real(), (staged.index, &staged.folder));
            }
            if let Way::Rename(renaming) = &staged.way {
                let target = renaming.target();
                changed.insert(target.real(), (staged.index, target));
            }
        }
        let directories = changed.into_values();
        directories
            .map(|(index, folder)| Flushable::open(index, folder))
            .collect()
    }

    fn flush(&self, directories: &[Flushable]) -> Result<(), WriteError> {
        let file_of = |index: usize| {
            let mut staged = self.staged.iter();
            staged.find_map(|staged| staged.file().filter(|_| staged.index == index))
        };
        let mut directories = directories.iter();
        directories.try_for_each(|directory| directory.flush(file_of(directory.index)))
    }

    /// Takes back what was done, the last first. `failed` is the step at fault, if it is one.
    fn roll_back(
        &mut self,
        done: &[Done],
        cause: WriteError,
        failed: Option<(usize, Left)>,
        directories: &[Flushable],
    ) -> WriteError {
        let mut left = vec![Left::AsItWas; self.staged.len()];
        if let Some((at, state)) = failed {
            left[at] = state;
        }
        for (at, done) in done.iter().enumerate().rev() {
            left[at] = self.staged[at].take_back(done, &mut self.cleanup);
        }
        if !done.is_empty() {
            // It failed once in this write; that it was tried is all that can be done.
            let _ = self.flush(directories);
        }
        // A file is what the worst of its steps left of it.
        let mut files: BTreeMap<usize, Left> = BTreeMap::new();
        for (staged, left) in self.staged.iter().zip(left) {
            let file = files.entry(staged.index).or_insert(Left::AsItWas);
            *file = (*file).max(left);
        }
        let all = |state: Left| {
            let files = files.iter().filter(move |(_, now)| **now == state);
            files.map(|(index, _)| *index).collect::<Vec<_>>()
        };
        let (written, half_written) = (all(Left::Written), all(Left::Half));
        if written.is_empty() && half_written.is_empty() {
            return cause;
        }
        WriteError::Partly {
            cause: Box::new(cause),
            written,
            not_written: all(Left::AsItWas),
            half_written,
        }
    }

    /// What became of a file. Nothing here fails any more: what cannot be looked at is not known.
    fn written(&self, index: usize) -> Option<WrittenFile> {
        let of_it = || self.staged.iter().filter(|staged| staged.index == index);
        // The bytes come before the name.
        let staged = of_it().next()?;
        let metadata = staged.file().and_then(|file| file.metadata().ok());
        let (in_place, open_elsewhere) = match &staged.way {
            Way::InPlace { writer, .. } => {
                let len = metadata.as_ref().map(|metadata| metadata.len());
                let has_grown = len.is_some_and(|len| len != staged.new.len());
                (true, writer.is_open_elsewhere || has_grown)
            }
            _ => (false, false),
        };
        Some(WrittenFile {
            real: staged.real.clone(),
            stamp: metadata.as_ref().map(Stamp::of),
            hash: staged.new.hash(),
            in_place,
            open_elsewhere,
            deleted: of_it().find_map(|staged| match &staged.way {
                Way::Rename(renaming) => renaming.deleted(),
                _ => None,
            }),
        })
    }
}

/// The names of the files in each directory.
fn in_folders(staged: &[Staged]) -> Vec<(Arc<Folder>, Vec<OsString>)> {
    let mut folders: BTreeMap<&Path, (Arc<Folder>, Vec<OsString>)> = BTreeMap::new();
    for staged in staged {
        let folder = folders.entry(staged.folder.real());
        let (_, names) = folder.or_insert_with(|| (staged.folder.clone(), Vec::new()));
        names.push(staged.name.clone());
    }
    folders.into_values().collect()
}

fn outside(real: &RealPath) -> Refusal {
    let path = real.as_path().to_string_lossy().into_owned();
    Refusal::OutsideWorkspace {
        real_path: path.clone(),
        path,
    }
}
