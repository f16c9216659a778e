//! One child as its parent sees it: frames there and back under the limits of a job; no wait of the parent is ever for the child alone.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::picture::Written;
use crate::task::{Stopped, Work};

use super::Limits;
use super::pool::Lease;
use super::wire::{self, Damage, Format, PageState, Picture, Request, Response, Whole, Why};

/// Why a job came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// Nobody waits any more, or the request is out of time.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// Every child was at work for too long.
    #[error("all converters are at work")]
    Busy,
    /// It crashed: out of memory, out of stack, or killed by somebody else.
    #[error(
        "the converter stopped, as it does when a document asks for too much memory or nests too deeply"
    )]
    Died,
    #[error("it took more than {} s of processor time", .0.as_secs_f32())]
    Cpu(Duration),
    #[error("it took longer than {} s", .0.as_secs_f32())]
    Wall(Duration),
    /// The document itself could not be read.
    #[error("{0}")]
    Input(io::Error),
    /// There is no child to be had.
    #[error("the converter cannot be started: {0}")]
    Start(io::Error),
}

/// Where the bytes of a document come from.
pub struct Input<'a> {
    /// How many there are.
    pub bytes: u64,
    /// Gives them from the first one on, each time it is called.
    pub open: &'a dyn Fn() -> io::Result<Box<dyn Read + 'a>>,
}

/// What a child made of a document.
#[derive(Debug)]
pub enum Answer {
    Whole(Whole, String),
    Pages(Pages),
    Failed(Why),
}

/// A PDF of which no page is converted yet.
#[derive(Debug)]
pub struct Pages {
    pub count: u32,
    pub damage: Option<Damage>,
    /// What is filled in in its form, as a list.
    pub fields: String,
}

/// A running child and its pipes.
#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
}

impl Worker {
    /// Starts one: this very program, even where another one has taken its place on disk.
    pub(super) fn start(limits: &Limits) -> io::Result<Worker> {
        #[cfg(target_os = "linux")]
        let program = "/proc/self/exe";
        #[cfg(not(target_os = "linux"))]
        let program = std::env::current_exe()?;
        let mut command = Command::new(program);
        command
            .arg0("pilcrow")
            .arg("convert")
            .args(["--input-bytes", &limits.input_bytes.to_string()])
            .args(["--memory-bytes", &limits.memory_bytes.to_string()])
            .args(["--idle-ms", &limits.idle.as_millis().to_string()]);
        if limits.misbehave {
            command.arg("--misbehave");
        }
        let mut child = command
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        let worker = Worker {
            child,
            stdin,
            stdout,
        };
        fcntl_setfl(
            &worker.stdin,
            fcntl_getfl(&worker.stdin)? | OFlags::NONBLOCK,
        )?;
        fcntl_setfl(
            &worker.stdout,
            fcntl_getfl(&worker.stdout)? | OFlags::NONBLOCK,
        )?;
        Ok(worker)
    }

    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Whether it has ended by itself, for want of anything to do.
    fn has_retired(&mut self) -> bool {
        // Its pipes are closed a moment before the process is gone.
        let deadline = Instant::now() + ENDS_WITHIN;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.code() == Some(0),
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(None) | Err(_) => return false,
            }
        }
    }

    /// Whether what is left of its address space may not do for the next document.
    pub(super) fn is_bloated(&self, limits: &Limits) -> bool {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id()));
        let pages = statm
            .ok()
            .and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        pages.is_some_and(|pages| {
            pages * rustix::param::page_size() as u64 > limits.memory_bytes / 2
        })
    }

    /// Processor time that it has used so far; `None` where the system does not tell.
    fn cpu_time(&self) -> Option<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // The name, in parentheses, may hold anything; utime and stime are fields 14 and 15.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<u64>().ok();
        let ticks = ticks()? + ticks()?;
        // USER_HZ is 100 wherever Rust and Linux meet.
        Some(Duration::from_millis(ticks * 10))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good; what was killed is gone at once.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One document in a child, and what is left of its limits.
#[derive(Debug)]
pub struct Job<'p> {
    lease: Lease<'p>,
    work: Work,
    begun: Instant,
    /// What the child had used before.
    cpu_before: Duration,
    limits: &'p Limits,
}

/// Between two looks at the clock, the token and the child's processor time.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// How long a process may take to end after it has closed its pipes.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// Bytes that are handed over at a time.
const CHUNK: usize = 256 * 1024;

/// Bytes that a page may have over what a document may.
const MAX_PAGE: u64 = 1024 * 1024;

/// Why an exchange ended before its end.
enum Break {
    Stop(Stop),
    /// The other end is closed.
    Closed,
}

impl From<Stop> for Break {
    fn from(stop: Stop) -> Break {
        Break::Stop(stop)
    }
}

impl<'p> Job<'p> {
    /// Hands a document to a child.
    pub(super) fn open(
        lease: Lease<'p>,
        limits: &'p Limits,
        format: Format,
        input: &Input,
        work: &Work,
    ) -> Result<(Job<'p>, Answer), Stop> {
        let request = Request::Open {
            format,
            output_bytes: limits.output_bytes,
        };
        let (mut job, response, body) = Job::begin(lease, limits, &request, input, work)?;
        let text = job.text(body)?;
        let answer = match response {
            Response::Whole(whole) => Answer::Whole(whole, text),
            Response::Pages { count, damage } => Answer::Pages(Pages {
                count,
                damage,
                fields: text,
            }),
            Response::Failed(why) => Answer::Failed(why),
            Response::Page(_) | Response::Picture(_) => return Err(job.give_up(Break::Closed)),
        };
        Ok((job, answer))
    }

    /// Has a child decode a picture: what it wrote anew, if it was to; the inner error says in a
    /// few words why it does not decode.
    pub(super) fn picture(
        lease: Lease<'p>,
        limits: &'p Limits,
        picture: Picture,
        input: &Input,
        work: &Work,
    ) -> Result<Result<Option<Written>, String>, Stop> {
        let request = Request::Picture(picture);
        let (mut job, response, data) = Job::begin(lease, limits, &request, input, work)?;
        match response {
            Response::Picture(painted) => Ok(Ok(painted.map(|painted| Written {
                format: painted.format,
                width: painted.width,
                height: painted.height,
                data,
            }))),
            Response::Failed(Why::Unreadable(what)) => Ok(Err(what)),
            _ => Err(job.give_up(Break::Closed)),
        }
    }

    /// The first exchange with a child. One that has retired in the meantime is replaced once.
    fn begin(
        lease: Lease<'p>,
        limits: &'p Limits,
        request: &Request,
        input: &Input,
        work: &Work,
    ) -> Result<(Job<'p>, Response, Vec<u8>), Stop> {
        let mut job = Job {
            cpu_before: lease.worker().cpu_time().unwrap_or_default(),
            lease,
            work: work.clone(),
            begun: Instant::now(),
            limits,
        };
        let first = job.exchange(request, Some(input));
        let (response, body) = match first {
            Err(Break::Closed) if job.lease.worker_mut().has_retired() => {
                job.lease.replace()?;
                job.cpu_before = Duration::ZERO;
                job.exchange(request, Some(input))
            }
            other => other,
        }
        .map_err(|broken| job.give_up(broken))?;
        Ok((job, response, body))
    }

    /// A body as the text that it must be.
    fn text(&mut self, body: Vec<u8>) -> Result<String, Stop> {
        String::from_utf8(body).map_err(|_| self.give_up(Break::Closed))
    }

    /// One page of a PDF that is open. After an error the job is over.
    pub fn page(&mut self, number: u32) -> Result<(PageState, String), Stop> {
        if self.lease.is_condemned() {
            return Err(Stop::Died);
        }
        match self.exchange(&Request::Page(number), None) {
            Ok((Response::Page(state), body)) => Ok((state, self.text(body)?)),
            Ok(_) => Err(self.give_up(Break::Closed)),
            Err(broken) => Err(self.give_up(broken)),
        }
    }

    /// The child is not to be used again: nobody knows what it is at.
    fn give_up(&mut self, broken: Break) -> Stop {
        self.lease.condemn();
        match broken {
            Break::Stop(stop) => stop,
            Break::Closed => Stop::Died,
        }
    }

    fn exchange(
        &mut self,
        request: &Request,
        input: Option<&Input>,
    ) -> Result<(Response, Vec<u8>), Break> {
        let bytes = input.map_or(0, |input| input.bytes);
        let head = wire::head(request, bytes).map_err(Stop::Input)?;
        self.send(&head)?;
        if let Some(input) = input {
            self.send_all(input)?;
        }
        // One page, or a text that was cut.
        let max_body = self.limits.output_bytes + MAX_PAGE;
        let mut from = Patient {
            job: self,
            stop: None,
        };
        let read = wire::read::<Response>(&mut from, max_body);
        match (from.stop.take(), read) {
            (Some(stop), _) => Err(stop.into()),
            (None, Ok(Some(answer))) => Ok(answer),
            (None, _) => Err(Break::Closed),
        }
    }

    fn send_all(&mut self, input: &Input) -> Result<(), Break> {
        let mut source = (input.open)().map_err(Stop::Input)?;
        let mut chunk = vec![0; CHUNK];
        let mut left = input.bytes;
        while left > 0 {
            let want = chunk.len().min(left as usize);
            let count = match source.read(&mut chunk[..want]) {
                Ok(0) => {
                    let short = io::Error::other("it became shorter while it was read");
                    return Err(Stop::Input(short).into());
                }
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Stop::Input(error).into()),
            };
            self.send(&chunk[..count])?;
            left -= count as u64;
        }
        Ok(())
    }

    fn send(&mut self, mut bytes: &[u8]) -> Result<(), Break> {
        while !bytes.is_empty() {
            match self.lease.worker_mut().stdin.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.check()?;
                    wait_for(&self.lease.worker().stdin, PollFlags::OUT);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Break::Closed),
            }
        }
        self.check().map_err(Break::from)
    }

    /// Whether the job may go on.
    fn check(&self) -> Result<(), Stop> {
        self.work.check()?;
        let elapsed = self.begun.elapsed();
        if elapsed > self.limits.wall {
            return Err(Stop::Wall(self.limits.wall));
        }
        // Where nobody counts it the clock has to do.
        let used = self.lease.worker().cpu_time();
        let used = used.map_or(elapsed, |used| used.saturating_sub(self.cpu_before));
        match used > self.limits.cpu {
            true => Err(Stop::Cpu(self.limits.cpu)),
            false => Ok(()),
        }
    }
}

/// Waits a little until the pipe can be used.
fn wait_for(pipe: &impl std::os::fd::AsFd, what: PollFlags) {
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: LOOK_EVERY.as_nanos() as i64,
    };
    // Whatever it says, the next read or write says it better.
    let _ = poll(&mut [PollFd::new(pipe, what)], Some(&wait));
}

/// The child's answers as they come, as long as the job may go on.
struct Patient<'j, 'p> {
    job: &'j mut Job<'p>,
    stop: Option<Stop>,
}

impl Read for Patient<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.job.lease.worker_mut().stdout.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            if let Err(stop) = self.job.check() {
                self.stop = Some(stop);
                return Err(io::ErrorKind::TimedOut.into());
            }
            wait_for(&self.job.lease.worker().stdout, PollFlags::IN);
        }
    }
}
