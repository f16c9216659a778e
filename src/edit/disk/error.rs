//! Why a write did not happen, or how far it came; nothing here says that a file was written which was not.

use std::io;

use rustix::io::Errno;

use crate::protocol::Refusal;
use crate::task::Stopped;

/// A step of a write that can fail. Each is a failpoint too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriteStep {
    Note,
    Open,
    MakeDirectory,
    Create,
    Write,
    Owner,
    Mode,
    Attributes,
    /// Inode flags, those of chattr(1).
    Flags,
    Sync,
    Copy,
    /// Locks a file that is to be changed.
    Lock,
    /// Locks a file that is to take another's name.
    LockNew,
    /// Opens the file that is locked where the file itself cannot be.
    LockFile,
    /// Asks whether somebody has the file open for writing.
    Lease,
    Recheck,
    Exchange,
    /// Gives a name to a new file, if nothing has it.
    Claim,
    Link,
    Rename,
    Overwrite,
    SyncDirectory,
    Rollback,
    Remove,
    /// Looks at what was written.
    Record,
    /// Looks whether it parses, perhaps while it is written.
    Check,
    /// Makes the answer, when the turn is over.
    Answer,
}

impl WriteStep {
    /// How `PILCROW_FAIL` calls it.
    pub fn point(self) -> &'static str {
        match self {
            WriteStep::Note => "note",
            WriteStep::Open => "open",
            WriteStep::MakeDirectory => "mkdir",
            WriteStep::Create => "create",
            WriteStep::Write => "write",
            WriteStep::Owner => "chown",
            WriteStep::Mode => "chmod",
            WriteStep::Attributes => "xattr",
            WriteStep::Flags => "chattr",
            WriteStep::Sync => "fsync",
            WriteStep::Copy => "copy",
            WriteStep::Lock => "lock",
            WriteStep::LockNew => "locknew",
            WriteStep::LockFile => "lockfile",
            WriteStep::Lease => "lease",
            WriteStep::Recheck => "recheck",
            WriteStep::Exchange => "exchange",
            WriteStep::Claim => "claim",
            WriteStep::Link => "link",
            WriteStep::Rename => "rename",
            WriteStep::Overwrite => "overwrite",
            WriteStep::SyncDirectory => "fsyncdir",
            WriteStep::Rollback => "rollback",
            WriteStep::Remove => "remove",
            WriteStep::Record => "record",
            WriteStep::Check => "check",
            WriteStep::Answer => "answer",
        }
    }
}

/// What was being done, as in "could not … 'FILE'".
impl std::fmt::Display for WriteStep {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            WriteStep::Note => "note what is about to be done to",
            WriteStep::Open => "open for writing",
            WriteStep::MakeDirectory => "make the directory for",
            WriteStep::Create => "make a temporary file beside",
            WriteStep::Write => "write the new text of",
            WriteStep::Owner => "keep the owner of",
            WriteStep::Mode => "keep the mode of",
            WriteStep::Attributes => "keep the attributes of",
            WriteStep::Flags => "keep the inode flags of",
            WriteStep::Sync => "flush to the disk",
            WriteStep::Copy => "keep a recovery copy of",
            WriteStep::Lock | WriteStep::LockFile => "lock",
            WriteStep::LockNew => "lock the temporary file beside",
            WriteStep::Lease => "ask who has open",
            WriteStep::Recheck | WriteStep::Record => "look again at",
            WriteStep::Check => "parse",
            WriteStep::Answer => "tell of",
            WriteStep::Exchange | WriteStep::Claim | WriteStep::Rename => {
                "put the new text in the place of"
            }
            WriteStep::Link => "keep the old text of",
            WriteStep::Overwrite => "overwrite",
            WriteStep::SyncDirectory => "flush to the disk the directory of",
            WriteStep::Rollback => "put back the old text of",
            WriteStep::Remove => "remove the temporary file beside",
        })
    }
}

/// Why a write failed. `index` is that of the file in the request; where nothing else is said,
/// every file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file is no longer what was planned on.
    #[error("the file has changed since the edit was planned")]
    Changed { index: usize },
    /// There is something where a new file was to be made.
    #[error("the file exists by now")]
    Exists { index: usize },
    /// There is nothing any more where a file was to be changed.
    #[error("the file is gone")]
    Gone { index: usize },
    /// Another process held the file's lock for too long.
    #[error("another process is writing the file")]
    Busy { index: usize },
    /// The system refused a step.
    #[error("could not {step} the file: {source}")]
    Io {
        index: usize,
        step: WriteStep,
        source: io::Error,
    },
    /// Taking back what was done failed in its turn, so some files have the new text.
    #[error("{cause}; and not every file could be put back")]
    Partly {
        cause: Box<WriteError>,
        /// These have the new text, wholly.
        written: Vec<usize>,
        /// These are as they were.
        not_written: Vec<usize>,
        /// These files of several names are neither: they are put right at the next start, from a
        /// copy in the state directory.
        half_written: Vec<usize>,
    },
    /// Access says no to the place.
    #[error("{refusal}")]
    Refused { index: usize, refusal: Refusal },
    /// Nobody waits for it any more, or it took too long; only before the first file was touched.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl WriteError {
    /// The file at fault, if it is one.
    pub fn index(&self) -> Option<usize> {
        match self {
            WriteError::Changed { index }
            | WriteError::Exists { index }
            | WriteError::Gone { index }
            | WriteError::Busy { index }
            | WriteError::Io { index, .. }
            | WriteError::Refused { index, .. } => Some(*index),
            WriteError::Partly { cause, .. } => cause.index(),
            WriteError::Stopped(_) => None,
        }
    }
}

/// What went wrong with one file, before it is known which of the request's it is.
#[derive(Debug)]
pub(super) enum FileError {
    Changed,
    Exists,
    Gone,
    Busy,
    Io(WriteStep, io::Error),
    Refused(Refusal),
    Stopped(Stopped),
}

impl FileError {
    pub(super) fn of(self, index: usize) -> WriteError {
        match self {
            FileError::Changed => WriteError::Changed { index },
            FileError::Exists => WriteError::Exists { index },
            FileError::Gone => WriteError::Gone { index },
            FileError::Busy => WriteError::Busy { index },
            FileError::Io(step, source) => WriteError::Io {
                index,
                step,
                source,
            },
            FileError::Refused(refusal) => WriteError::Refused { index, refusal },
            FileError::Stopped(stopped) => WriteError::Stopped(stopped),
        }
    }
}

impl From<Refusal> for FileError {
    fn from(refusal: Refusal) -> FileError {
        FileError::Refused(refusal)
    }
}

impl From<Stopped> for FileError {
    fn from(stopped: Stopped) -> FileError {
        FileError::Stopped(stopped)
    }
}

/// Does a step, unless a failpoint is set on it; repeats it when a signal interrupts it.
pub(super) fn step<T, E: Into<io::Error>>(
    step: WriteStep,
    mut act: impl FnMut() -> Result<T, E>,
) -> Result<T, FileError> {
    attempt(step, &mut act).map_err(|error| FileError::Io(step, error))
}

/// Like [`step`], for where the error itself decides what is next.
pub(super) fn attempt<T, E: Into<io::Error>>(
    step: WriteStep,
    mut act: impl FnMut() -> Result<T, E>,
) -> io::Result<T> {
    super::fail::at(step)?;
    loop {
        match act().map_err(Into::into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// Whether the system says that it, or this file system, has no such operation at all.
pub(super) fn is_unsupported(error: &io::Error) -> bool {
    // The last two are one on Linux and not elsewhere.
    let errors = [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP];
    errno_of(error).is_some_and(|errno| errors.contains(&errno))
}

/// The system's number for an error; `None` for one that is not the system's.
pub(super) fn errno_of(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}
