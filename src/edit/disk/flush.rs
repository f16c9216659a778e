//! The way of new bytes to the disk, begun before it is waited for; nothing counts as written that was only begun.

use std::fs::File;

use super::error::{FileError, step};
use super::write_step::WriteStep;

/// Lets the disk begin with what was written to `file`, while we do something else. A hint: where it
/// is none, [`wait`] does it all, and it is [`wait`] that tells of errors.
pub(super) fn begin(file: &File) {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        // SAFETY: The descriptor is open for as long as the call takes, and no memory is handed over.
        // sync_file_range(2): with this flag alone it waits for nothing, and it takes no error away
        // from a later fsync.
        unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

/// Waits until the bytes of `file` and all else of it are on the disk.
pub(super) fn wait(file: &File) -> Result<(), FileError> {
    step(WriteStep::Sync, || file.sync_all())
}
