//! The worker's own half: it confines itself, then answers one request after another until its parent hangs up or has nothing more to do.
//!
//! The main thread watches the socket and the idle time, since the thread that works does not read
//! while it works and so would not see its parent go. No signal of the kernel does that for it: a
//! parent-death signal comes when the *thread* that started the worker ends.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::confine::{self, Confinement, Without};
use super::wire;

/// How the parent wants it.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes of what comes with a request.
    pub input_bytes: u64,
    pub memory_bytes: u64,
    pub idle: Duration,
    /// Whether a request can ask for an abort or an endless loop: for tests.
    pub misbehave: bool,
    pub without: Without,
}

/// The stack of the thread that works: parsers of nested things recurse.
const STACK: usize = 64 * 1024 * 1024;

/// Files that may be open: the three streams, the socket's second handle, and some to spare.
const FILES: u64 = 16;

/// Between two looks at whether there is anything left to do.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Since when there is nothing to do; `None` while there is.
type IdleSince = Arc<Mutex<Option<Instant>>>;

/// Serves the parent at the other end of `socket` with `work` until it hangs up or has nothing
/// more to do. The caller ends the process then, whatever still runs.
pub fn run(
    socket: File,
    options: Options,
    work: impl FnOnce(&mut WorkerLoop) -> Option<()> + Send + 'static,
) {
    let landlock = confine::before_threads(options.without);
    let idle: IdleSince = Arc::new(Mutex::new(Some(Instant::now())));
    let Ok(watched) = socket.try_clone() else {
        return;
    };
    let mut requests = WorkerLoop {
        socket,
        options,
        idle: idle.clone(),
    };
    let worker = std::thread::Builder::new().stack_size(STACK);
    let worker = worker.spawn(move || {
        limit_self(options.memory_bytes);
        let seccomp = confine::all_threads(options.without);
        let confinement = Confinement { landlock, seccomp };
        requests.answer(&confinement, "")?;
        work(&mut requests)
    });
    let Ok(worker) = worker else { return };
    while !worker.is_finished() && !has_hung_up(&watched) {
        // Held to the end: no job is begun after this decision.
        let since = idle.lock();
        if since.is_some_and(|since| since.elapsed() >= options.idle) {
            std::mem::forget(since);
            return;
        }
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

/// Waits a little for the other end to be closed.
fn has_hung_up(socket: &File) -> bool {
    let mut watched = [PollFd::new(socket, PollFlags::empty())];
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: LOOK_EVERY.as_nanos() as i64,
    };
    match poll(&mut watched, Some(&wait)) {
        Ok(_) => watched[0]
            .revents()
            .intersects(PollFlags::HUP | PollFlags::ERR),
        Err(rustix::io::Errno::INTR) => false,
        Err(_) => true,
    }
}

/// Requests as they come, and the way back for answers.
pub struct WorkerLoop {
    socket: File,
    options: Options,
    idle: IdleSince,
}

impl WorkerLoop {
    /// Whether a request can ask for an abort or an endless loop.
    pub fn may_misbehave(&self) -> bool {
        self.options.misbehave
    }

    /// The next request, with its body; `None` at the end.
    pub fn receive<Q: DeserializeOwned>(&mut self) -> Option<(Q, Vec<u8>)> {
        *self.idle.lock() = Some(Instant::now());
        let next = wire::read(&mut self.socket, self.options.input_bytes).ok()?;
        *self.idle.lock() = None;
        next
    }

    /// `None` where nobody listens any more.
    pub fn answer(&mut self, answer: &impl Serialize, body: impl AsRef<[u8]>) -> Option<()> {
        wire::write(&mut self.socket, answer, body.as_ref()).ok()
    }
}
