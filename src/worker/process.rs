//! One worker as its parent sees it: the process, its socket, what it did last and has used so far.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions, waitpid};

use crate::protocol::status::Confinement;

use super::{Death, Readable, WorkerLimits, wire};

/// How long a process may take to end after it was killed, or has closed its socket.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// Documents of which a process is known to have had them last.
const RECENT: usize = 32;

/// A running worker and our end of its socket, which never blocks.
#[derive(Debug)]
pub struct Process {
    child: Child,
    pub socket: UnixStream,
    /// What it said of itself first; `None` until that is read.
    pub confinement: Option<Confinement>,
    /// The files that it may read.
    pub reads: Vec<Readable>,
    /// Of the last request.
    number: u64,
    /// The keys of the documents of its last jobs, the latest last.
    recent: VecDeque<u64>,
}

impl Process {
    /// Starts one: this very program, even where another one has taken its place on disk.
    pub fn start(kind: &str, limits: &WorkerLimits, reads: &[Readable]) -> io::Result<Process> {
        #[cfg(target_os = "linux")]
        let program = "/proc/self/exe";
        #[cfg(not(target_os = "linux"))]
        let program = std::env::current_exe()?;
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        let mut command = Command::new(program);
        command
            .arg0("pilcrow")
            .args(["worker", kind])
            .args(["--input-bytes", &limits.input_bytes.to_string()])
            .args(["--memory-bytes", &limits.memory_bytes.to_string()])
            .args(["--idle-ms", &limits.idle.as_millis().to_string()]);
        for file in reads {
            command.arg("--reads").arg(file.to_argument());
        }
        let flags = [
            ("--misbehave", limits.misbehave),
            ("--without-landlock", limits.without.landlock),
            ("--without-seccomp", limits.without.seccomp),
        ];
        command.args(flags.iter().filter(|(_, set)| *set).map(|(flag, _)| flag));
        let child = command
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(nowhere()?)
            .stderr(nowhere()?)
            .spawn()?;
        Ok(Process {
            child,
            socket,
            confinement: None,
            reads: reads.to_vec(),
            number: wire::GREETING,
            recent: VecDeque::new(),
        })
    }

    /// The number of the next request.
    pub fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Whether the document of that key was among its last.
    pub fn had(&self, key: u64) -> bool {
        self.recent.contains(&key)
    }

    /// Notes that its next job is about the document of that key.
    pub fn takes(&mut self, key: u64) {
        self.recent.retain(|known| *known != key);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(key);
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// How it ended, when it has closed its socket.
    pub fn death(&mut self) -> Death {
        // Its socket is closed a moment before the process is gone.
        match self.end() {
            Some(status) => match (status.code(), status.signal()) {
                (Some(0), _) => Death::Retired,
                (_, Some(signal)) => Death::Signal(signal),
                _ => Death::Other,
            },
            None => Death::Other,
        }
    }

    /// Waits a little for its end.
    fn end(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + ENDS_WITHIN;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// Whether what is left of its address space may not do for the next job.
    pub fn is_bloated(&self, limits: &WorkerLimits) -> bool {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id()));
        let pages = statm
            .ok()
            .and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        pages.is_some_and(|pages| {
            pages * rustix::param::page_size() as u64 > limits.memory_bytes / 2
        })
    }

    /// Processor time that it has used so far; `None` where the system does not tell.
    pub fn cpu_time(&self) -> Option<Duration> {
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

/// Where what a worker prints is lost. A root that holds little more than the program has no
/// `/dev/null`; there it is a pipe that nobody reads.
fn nowhere() -> io::Result<Stdio> {
    if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
        return Ok(null.into());
    }
    let (_, unread) = io::pipe()?;
    Ok(unread.into())
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good; what was killed is gone at once, but for
        // one that the kernel holds in a read of a file system that does not answer.
        let _ = self.child.kill();
        if self.end().is_none() {
            let pid = Pid::from_child(&self.child);
            // Without a thread to wait for it nothing is lost but a line in the process table.
            let _ =
                std::thread::Builder::new().spawn(move || waitpid(Some(pid), WaitOptions::empty()));
        }
    }
}
