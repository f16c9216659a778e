//! The child: converts one document after another until its input ends; it never writes anything but frames, and nothing outlives its parent.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, setrlimit};

use super::wire::{self, Format, Request, Response, Why};
use super::{office, paint, pdf};

/// How the parent wants it.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes of a document.
    pub input_bytes: u64,
    pub memory_bytes: u64,
    pub idle: Duration,
    /// Whether a document can ask for an abort or an endless loop: for tests.
    pub misbehave: bool,
}

/// The stack of the thread that converts: parsers of nested things recurse.
const STACK: usize = 64 * 1024 * 1024;

/// Between two looks at whether there is anything left to do.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What a job that panicked is said to be.
pub(super) const STOPPED: &str = "the converter stopped";

/// Since when there is nothing to do; `None` while there is.
type IdleSince = Arc<Mutex<Option<Instant>>>;

/// Serves the parent at the other end of `input` and `output` until it hangs up or has nothing
/// more to do. The caller ends the process then, whatever still runs.
pub fn run(input: File, output: File, options: Options) {
    limit_self(options.memory_bytes);
    let idle: IdleSince = Arc::new(Mutex::new(Some(Instant::now())));
    let Ok(watched) = input.try_clone() else {
        return;
    };
    let mut bench = Bench {
        input,
        output,
        options,
        idle: idle.clone(),
    };
    let worker = std::thread::Builder::new().stack_size(STACK);
    let Ok(worker) = worker.spawn(move || bench.serve()) else {
        return;
    };
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

/// Address space, and no core dump of anybody's document.
fn limit_self(memory_bytes: u64) {
    let limit = |resource, bytes| {
        let limit = Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        };
        // A limit that cannot be set leaves the others and the parent's clock.
        let _ = setrlimit(resource, limit);
    };
    limit(Resource::Core, 0);
    limit(Resource::As, memory_bytes);
}

/// Waits a little for the other end to be closed: a thread in the middle of a conversion does not
/// read, and so would not see the end of the input.
fn has_hung_up(input: &File) -> bool {
    let mut watched = [PollFd::new(input, PollFlags::empty())];
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

/// Where the jobs are done.
pub(super) struct Bench {
    input: File,
    output: File,
    options: Options,
    idle: IdleSince,
}

impl Bench {
    /// The next request, with its body; `None` at the end.
    pub(super) fn next(&mut self) -> Option<(Request, Vec<u8>)> {
        *self.idle.lock() = Some(Instant::now());
        let next = wire::read(&mut self.input, self.options.input_bytes).ok()?;
        *self.idle.lock() = None;
        next
    }

    /// `None` where nobody listens any more.
    pub(super) fn answer(&mut self, response: &Response, body: impl AsRef<[u8]>) -> Option<()> {
        wire::write(&mut self.output, response, body.as_ref()).ok()
    }

    fn serve(&mut self) -> Option<()> {
        let mut next = None;
        loop {
            let (request, bytes) = match next.take() {
                Some(request) => request,
                None => self.next()?,
            };
            if self.options.misbehave {
                misbehave(&bytes);
            }
            let (format, output_bytes) = match request {
                Request::Open {
                    format,
                    output_bytes,
                } => (format, output_bytes),
                Request::Picture(picture) => {
                    match paint::paint(picture, bytes) {
                        Ok((painted, data)) => self.answer(&Response::Picture(painted), data)?,
                        Err(what) => self.answer(&failed(&what), "")?,
                    }
                    continue;
                }
                Request::Page(_) => {
                    self.answer(&failed("no document is open"), "")?;
                    continue;
                }
            };
            if format == Format::Pdf {
                next = Some(pdf::serve(self, bytes, output_bytes)?);
                continue;
            }
            let made = catch_unwind(AssertUnwindSafe(|| {
                office::convert(&bytes, format, output_bytes)
            }));
            drop(bytes);
            match made.unwrap_or_else(|_| Err(Why::Unreadable(STOPPED.to_owned()))) {
                Ok((whole, text)) => self.answer(&Response::Whole(whole), &text)?,
                Err(why) => self.answer(&Response::Failed(why), "")?,
            }
        }
    }
}

fn failed(why: &str) -> Response {
    Response::Failed(Why::Unreadable(why.to_owned()))
}

/// Does what a document for tests asks for.
fn misbehave(bytes: &[u8]) {
    let asks = |what: &[u8]| memchr::memmem::find(bytes, what).is_some();
    if asks(b"pilcrow:abort") {
        std::process::abort();
    }
    while asks(b"pilcrow:spin") {
        std::hint::spin_loop();
    }
    while asks(b"pilcrow:sleep") {
        std::thread::park();
    }
}
