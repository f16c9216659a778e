//! A write of one file that failed, and what it left.

use std::io;

use rustix::io::Errno;

use super::error::{FileError, errno_of, is_unsupported};

/// In what state a file was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Left {
    AsItWas,
    Written,
    Half,
}

/// A file that could not be written.
#[derive(Debug)]
pub(super) struct FailedWrite {
    pub(super) fault: FileError,
    pub(super) left: Left,
}

impl From<FileError> for FailedWrite {
    fn from(fault: FileError) -> FailedWrite {
        FailedWrite {
            fault,
            left: Left::AsItWas,
        }
    }
}

/// Whether the file system has no hard links, or no more for this file or this user.
pub(super) fn has_no_links(error: &io::Error) -> bool {
    is_unsupported(error)
        || matches!(
            errno_of(error),
            Some(Errno::PERM | Errno::ACCESS | Errno::MLINK)
        )
}
