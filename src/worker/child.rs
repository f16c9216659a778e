//! The worker's own half: it confines itself, then answers one request after another until its parent hangs up or has nothing more to do.
//!
//! The main thread watches whether the parent hangs up, since the thread that works does not read
//! while it works and so would not see it go. No signal of the kernel does that for it: a
//! parent-death signal comes when the *thread* that started the worker ends. The thread that works
//! waits for the next request, and ends the process when none comes for long enough. Nothing ticks
//! in between.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::protocol::status::Confinement;

use super::confine::{self, Without};
use super::{Readable, wire};

/// How the parent wants it.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bytes of what comes with a request.
    pub input_bytes: u64,
    /// Bytes of address space.
    pub memory_bytes: u64,
    /// It ends after so long without a job.
    pub idle: Duration,
    /// The files that it may read.
    pub reads: Vec<Readable>,
    /// Whether a request can ask for an abort or an endless loop: for tests.
    pub misbehave: bool,
    /// Walls that it does without.
    pub without: Without,
}

/// The stack of the thread that works: parsers of nested things recurse.
const STACK: usize = 64 * 1024 * 1024;

/// Files that may be open: the three streams, the socket's second handle, a database's four, and
/// some to spare.
const FILES: u64 = 16;

/// Serves the parent at the other end of `socket` with `work` until it hangs up or has nothing
/// more to do. The process has ended then, whatever still ran.
pub fn run(
    socket: File,
    options: Options,
    work: impl FnOnce(&mut WorkerLoop) -> Option<()> + Send + 'static,
) {
    let_the_timer_end_us();
    let landlock = confine::before_threads(options.without, &options.reads);
    let Ok(watched) = socket.try_clone() else {
        return;
    };
    let (without, memory_bytes) = (options.without, options.memory_bytes);
    let reads_files = !options.reads.is_empty();
    let mut requests = WorkerLoop {
        socket,
        options,
        number: wire::GREETING,
    };
    let worker = std::thread::Builder::new().stack_size(STACK);
    let worker = worker.spawn(move || {
        limit_self(memory_bytes);
        let seccomp = confine::all_threads(without, reads_files);
        let confinement = Confinement { landlock, seccomp };
        let served = catch_unwind(AssertUnwindSafe(|| {
            requests.answer(&confinement, "")?;
            work(&mut requests)
        }));
        // Nobody asks any more: by this code the parent tells it from a crash.
        exit(i32::from(served.is_err()))
    });
    if worker.is_ok() {
        wait_for_the_end(&watched);
    }
}

/// Closes whatever the process was given but its three streams: an editor may have left files open
/// for all its descendants. To be called before anything is opened.
#[cfg(target_os = "linux")]
pub fn close_inherited() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers: Vec<i32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // The listing itself was one of them.
        if std::fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok() {
            // SAFETY: this is called before the process opens anything, so nobody owns it.
            unsafe { rustix::io::close(number) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub fn close_inherited() {}

/// Address space, open files, and no core dump of anybody's document. Not the number of
/// processes, which counts threads, and some libraries bring their own.
fn limit_self(memory_bytes: u64) {
    let limit = |resource, most| {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        // A limit that cannot be set leaves the others and the parent's clock.
        let _ = setrlimit(resource, limit);
    };
    limit(Resource::Core, 0);
    limit(Resource::Nofile, FILES);
    limit(Resource::As, memory_bytes);
}

/// Waits until the other end is closed.
fn wait_for_the_end(socket: &File) {
    loop {
        let mut watched = [PollFd::new(socket, PollFlags::empty())];
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => {}
            // Nothing but its end was asked about.
            Ok(_) | Err(_) => return,
        }
    }
}

/// Requests as they come, and the way back for answers.
pub struct WorkerLoop {
    socket: File,
    options: Options,
    /// Of the request that is to be answered.
    number: u64,
}

impl WorkerLoop {
    /// Whether a request can ask for an abort or an endless loop.
    #[cfg(any(feature = "failpoints", debug_assertions))]
    pub(super) fn may_misbehave(&self) -> bool {
        self.options.misbehave
    }

    /// After so long without a request the process ends.
    pub fn may_be_idle_for(&self) -> Duration {
        self.options.idle
    }

    /// The next request, with its body; `None` at the end, or when none has come for too long.
    pub fn receive<Q: DeserializeOwned>(&mut self) -> Option<(Q, Vec<u8>)> {
        if self.is_quiet_for(self.options.idle) {
            return None;
        }
        let frame = wire::read(&mut self.socket, self.options.input_bytes).ok()??;
        self.number = frame.number;
        Some((frame.head, frame.body))
    }

    /// Answers the last request. `None` where nobody listens any more.
    pub fn answer(&mut self, answer: &impl Serialize, body: impl AsRef<[u8]>) -> Option<()> {
        wire::write(&mut self.socket, self.number, answer, body.as_ref()).ok()
    }

    /// For tests: says that the answers from here on are those to another request.
    #[cfg(any(feature = "failpoints", debug_assertions))]
    pub(super) fn mistake_the_request(&mut self) {
        self.number += 1;
    }

    /// For tests: writes bytes that are no frame.
    #[cfg(any(feature = "failpoints", debug_assertions))]
    pub(super) fn write_nonsense(&mut self, bytes: &[u8]) -> Option<()> {
        io::Write::write_all(&mut self.socket, bytes).ok()
    }

    /// Waits for a request. Whether none came within so long.
    pub fn is_quiet_for(&self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let wait = Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            };
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&wait)) {
                Ok(0) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Ok(_) | Err(_) => return false,
            }
        }
    }
}

/// Has the kernel end this process once it has used so much more processor time: what spins inside
/// one call of a parser hears of no deadline. Zero calls it off.
///
/// # Errors
///
/// Those of `setitimer`; then the parent's clock alone is left.
pub fn end_after(processor_time: Duration) -> io::Result<()> {
    let never = libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    let timer = libc::itimerval {
        it_interval: never,
        it_value: libc::timeval {
            tv_sec: processor_time.as_secs() as _,
            tv_usec: processor_time.subsec_micros() as _,
        },
    };
    // SAFETY: the timer lives to the end of the call, and nothing is asked back.
    match unsafe { libc::setitimer(libc::ITIMER_PROF, &timer, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has the allocator of C keep what it has: a parser that takes and frees megabytes for each text
/// would have the system clear them each time. For a process in which one thread works; to be
/// called before that begins. See [`crate::task::give_back_memory`].
pub fn hold_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, value) in [
        (libc::M_ARENA_MAX, 1),
        (libc::M_MMAP_THRESHOLD, HELD_BYTES),
        (libc::M_TRIM_THRESHOLD, HELD_BYTES),
    ] {
        // SAFETY: no other thread is there yet.
        unsafe { libc::mallopt(parameter, value) };
    }
}

/// What is over this goes back to the system at once.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HELD_BYTES: libc::c_int = 32 * 1024 * 1024;

/// Makes the end of [`end_after`] an end, whatever the process inherited for that signal.
fn let_the_timer_end_us() {
    // SAFETY: both calls are for this process alone, and the set is initialized by the first.
    unsafe {
        libc::signal(libc::SIGPROF, libc::SIG_DFL);
        let mut signals = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, libc::SIGPROF);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &signals, std::ptr::null_mut());
    }
}
