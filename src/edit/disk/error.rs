//! Why a write did not happen, or how far it came; nothing here says that a file was written which was not.

use std::io;

use rustix::io::Errno;

use crate::protocol::Refusal;
use crate::task::Stopped;

use super::fail;
use super::write_step::WriteStep;

/// Why a write failed. But for [`WriteError::Partly`], every file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// One of the request's files could not be written.
    #[error("{fault}")]
    File { index: usize, fault: FileError },
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
    /// Nobody waits for it any more, or it took too long; only before the first file was touched.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// What went wrong with one file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is no longer what was planned on.
    #[error("the file has changed since the edit was planned")]
    Changed,
    /// There is something where a new file was to be made.
    #[error("the file exists by now")]
    Exists,
    /// There is nothing any more where a file was to be changed.
    #[error("the file is gone")]
    Gone,
    /// Another process held its lock for too long.
    #[error("another process is writing the file")]
    Busy,
    /// The system refused a step.
    #[error("could not {0} the file: {1}")]
    Io(WriteStep, #[source] io::Error),
    /// Access says no to the place.
    #[error("{0}")]
    Refused(Refusal),
    #[error(transparent)]
    Stopped(Stopped),
}

impl FileError {
    /// That of the file that is the request's `index`th.
    pub(super) fn of(self, index: usize) -> WriteError {
        match self {
            FileError::Stopped(stopped) => WriteError::Stopped(stopped),
            fault => WriteError::File { index, fault },
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
    fail::at(step)?;
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
