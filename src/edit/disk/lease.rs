//! Whether some program has a file open for writing, asked of the system by a lease; a lease is given back at once, since whoever opens the file for writing waits for it.

use std::fs::File;
use std::io;
use std::sync::Once;
use std::time::Duration;

use rustix::io::Errno;

use super::error::{attempt, errno_of};
use super::write_step::WriteStep;

/// Pauses between looks. A program that is just being started holds, for the moment until its own
/// code runs, whatever the one that starts it had open.
const PAUSES: [Duration; 4] = [
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_millis(2),
];

/// Whether a file is open for writing anywhere, and stays so for longer than a start of a program
/// takes. `file` is open for reading alone.
pub(super) fn stays_open_for_writing(file: &File) -> bool {
    for pause in PAUSES {
        if !is_open_for_writing(file) {
            return false;
        }
        std::thread::sleep(pause);
    }
    is_open_for_writing(file)
}

/// Whether a file is open for writing anywhere, this process included. `false` also where it cannot
/// be known: files of other users, file systems without leases, other systems than Linux.
pub(super) fn is_open_for_writing(file: &File) -> bool {
    let looked = attempt(WriteStep::Lease, || look(file));
    looked.is_err_and(|error| errno_of(&error) == Some(Errno::AGAIN))
}

#[cfg(target_os = "linux")]
fn look(file: &File) -> io::Result<()> {
    ignore_breaks();
    set_lease(file, libc::F_RDLCK)?;
    set_lease(file, libc::F_UNLCK)
}

#[cfg(not(target_os = "linux"))]
fn look(_: &File) -> io::Result<()> {
    Err(Errno::NOSYS.into())
}

/// fcntl(2): a read lease is refused with `EAGAIN` while the file is open for writing.
#[cfg(target_os = "linux")]
fn set_lease(file: &File, kind: libc::c_int) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: The descriptor is open for as long as the call takes, and no memory is handed over.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Whoever opens a file while it is leased makes the system send SIGIO, which ends a process that
/// does not say what else is to become of it.
#[cfg(target_os = "linux")]
fn ignore_breaks() {
    static IGNORED: Once = Once::new();
    // SAFETY: To ignore a signal needs no handler, and nothing else here makes use of this one.
    IGNORED.call_once(|| unsafe {
        libc::signal(libc::SIGIO, libc::SIG_IGN);
    });
}
