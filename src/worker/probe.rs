//! For tests: what a worker can still do, tried from inside. Not in releases.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Tries all that a worker must not be able to do, against the process that started it. A line for
/// each: what was tried, and the system's error or that it was allowed.
pub fn probe() -> String {
    let daemon = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let own = format!("/proc/{daemon}/mem");
    let environment = format!("/proc/{daemon}/environ");
    let created = Path::new("/tmp/pilcrow-probe");
    let mut create = OpenOptions::new();
    create.write(true).create_new(true);
    let tried: [(&str, io::Result<()>); 14] = [
        ("open", File::open("/etc/passwd").map(drop)),
        ("list", std::fs::read_dir("/").map(drop)),
        ("create", create.open(created).map(drop)),
        ("rename", std::fs::rename("/etc/hostname", created)),
        ("remove", std::fs::remove_file("/etc/hostname.absent")),
        ("memory of the daemon", File::open(own).map(drop)),
        (
            "environment of the daemon",
            File::open(environment).map(drop),
        ),
        ("connect", TcpStream::connect("127.0.0.1:9").map(drop)),
        (
            "connect locally",
            UnixStream::connect("/run/pilcrow-probe").map(drop),
        ),
        ("exec", exec()),
        ("fork", fork()),
        ("ptrace", ptrace(daemon)),
        ("signal", signal(daemon)),
        ("process_vm_readv", read_memory(daemon)),
    ];
    let mut report = String::new();
    for (what, outcome) in tried {
        let outcome = outcome.map_or_else(|error| error.to_string(), |()| "allowed".to_owned());
        // Writing to a string cannot fail.
        let _ = writeln!(report, "{what}: {outcome}");
    }
    report
}

fn checked(returned: libc::c_long) -> io::Result<()> {
    match returned {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Comes back only where it is refused.
fn exec() -> io::Result<()> {
    let path = c"/bin/true";
    let arguments = [path.as_ptr(), std::ptr::null()];
    // SAFETY: path and arguments end in zero and live to the end of the call.
    checked(unsafe { libc::execv(path.as_ptr(), arguments.as_ptr()) }.into())
}

fn fork() -> io::Result<()> {
    // SAFETY: the child, if there is one, does nothing but end.
    match unsafe { libc::fork() } {
        // SAFETY: it ends the process at once.
        0 => unsafe { libc::_exit(0) },
        returned => checked(returned.into()),
    }
}

fn ptrace(daemon: i32) -> io::Result<()> {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: to attach touches no memory of this process.
    checked(unsafe { libc::ptrace(libc::PTRACE_SEIZE, daemon, nothing, nothing) })
}

/// Signal 0 is nothing but the question whether one may be sent.
fn signal(daemon: i32) -> io::Result<()> {
    // SAFETY: a plain system call.
    checked(unsafe { libc::kill(daemon, 0) }.into())
}

fn read_memory(daemon: i32) -> io::Result<()> {
    let mut byte = 0u8;
    let here = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    // The same program lies at other addresses there; it is the right that is asked for, and
    // without it the answer comes before any address is looked at.
    // SAFETY: `here` is a byte of ours.
    checked(unsafe { libc::process_vm_readv(daemon, &here, 1, &here, 1, 0) } as libc::c_long)
}
