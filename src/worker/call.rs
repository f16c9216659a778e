//! One job of a worker: frames there and back under the job's limits; no wait of the parent is ever for the worker alone.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::protocol::status::Confinement;
use crate::task::Work;

use super::pool::{Choice, PooledWorker, Workers};
use super::stop::{Death, Stop};
use super::{WorkerLimits, wire};

/// Where the bytes that are handed over come from.
pub struct Input<'a> {
    /// How many there are.
    pub bytes: u64,
    /// Gives them from the first one on, each time it is called.
    pub open: &'a dyn Fn() -> io::Result<Box<dyn Read + 'a>>,
}

/// A worker at one job, and what is left of the job's limits. After an error the job is over.
#[derive(Debug)]
pub struct WorkerCall {
    worker: PooledWorker,
    work: Work,
    begun: Instant,
    /// What the process had used before.
    cpu_before: Duration,
    /// Of the request that is not answered yet.
    number: u64,
}

/// Between two looks at the clock, the token and the worker's processor time.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Bytes that are handed over at a time.
const CHUNK: usize = 256 * 1024;

/// Bytes that one answer may have over the limit for all of them.
const MAX_ANSWER: u64 = 1024 * 1024;

/// Why an exchange ended before its end.
enum Break {
    Stop(Stop),
    /// The other end is closed.
    Closed,
    /// What came makes no sense.
    Nonsense,
}

impl From<Stop> for Break {
    fn from(stop: Stop) -> Break {
        Break::Stop(stop)
    }
}

impl Workers {
    /// Hands a request and its bytes to a worker and waits for the answer. Blocking; the work's
    /// token and deadline and the limits of a job end the wait, and the worker with it. The worker
    /// is kept for further requests of the same job until the call is dropped.
    pub fn call<A: DeserializeOwned>(
        self: &Arc<Self>,
        request: &impl Serialize,
        input: &Input,
        choice: Choice,
        work: &Work,
    ) -> Result<(WorkerCall, A, Vec<u8>), Stop> {
        let mut call = self.begin(request, input, choice, work)?;
        match call.answer() {
            // It was idle for so long that it ended just then.
            Err(Stop::Died(Death::Retired)) => {
                drop(call);
                call = self.begin(request, input, choice, work)?;
                let (answer, body) = call.answer()?;
                Ok((call, answer, body))
            }
            answer => answer.map(|(answer, body)| (call, answer, body)),
        }
    }

    /// As [`Workers::call`], without waiting for the answer: see [`WorkerCall::answer`].
    pub fn begin(
        self: &Arc<Self>,
        request: &impl Serialize,
        input: &Input,
        choice: Choice,
        work: &Work,
    ) -> Result<WorkerCall, Stop> {
        let worker = self.take(choice, work)?;
        WorkerCall::begin(worker, request, input, work)
    }
}

impl WorkerCall {
    /// Hands over the first request of a job. A worker that has retired in the meantime is
    /// replaced once.
    pub(super) fn begin(
        worker: PooledWorker,
        request: &impl Serialize,
        input: &Input,
        work: &Work,
    ) -> Result<WorkerCall, Stop> {
        let mut call = WorkerCall {
            cpu_before: Duration::ZERO,
            worker,
            work: work.clone(),
            begun: Instant::now(),
            number: wire::GREETING,
        };
        if call.limits().cpu.is_some() {
            call.cpu_before = call.worker.process().cpu_time().unwrap_or_default();
        }
        match call.request(request, Some(input)) {
            Ok(()) => Ok(call),
            Err(broken) => match call.give_up(broken) {
                Stop::Died(Death::Retired) => {
                    call.worker.replace()?;
                    call.cpu_before = Duration::ZERO;
                    let sent = call.request(request, Some(input));
                    sent.map_err(|broken| call.give_up(broken))?;
                    Ok(call)
                }
                stop => Err(stop),
            },
        }
    }

    /// Waits for the answer to the request that was handed over last.
    pub fn answer<A: DeserializeOwned>(&mut self) -> Result<(A, Vec<u8>), Stop> {
        if self.worker.is_condemned() {
            return Err(Stop::Died(Death::Other));
        }
        self.receive_answer().map_err(|broken| self.give_up(broken))
    }

    /// One more request of the same job, and its answer.
    pub fn next<A: DeserializeOwned>(
        &mut self,
        request: &impl Serialize,
    ) -> Result<(A, Vec<u8>), Stop> {
        if self.worker.is_condemned() {
            return Err(Stop::Died(Death::Other));
        }
        self.request(request, None)
            .map_err(|broken| self.give_up(broken))?;
        self.answer()
    }

    fn limits(&self) -> &WorkerLimits {
        self.worker.limits()
    }

    /// The worker's answer makes no sense: it is not used again.
    pub fn nonsense(&mut self) -> Stop {
        self.give_up(Break::Nonsense)
    }

    /// Ends the worker, which did nothing wrong, and the job with it.
    pub fn retire(mut self) {
        self.worker.retire();
    }

    /// From now on `work` says how long the job may go on.
    pub fn set_work(&mut self, work: &Work) {
        self.work = work.clone();
    }

    /// The worker is not to be used again: nobody knows what it is at.
    fn give_up(&mut self, broken: Break) -> Stop {
        let stop = match broken {
            Break::Stop(stop) => stop,
            Break::Closed => Stop::Died(self.worker.process_mut().death()),
            Break::Nonsense => Stop::Died(Death::Other),
        };
        self.worker.condemn();
        stop
    }

    fn request(&mut self, request: &impl Serialize, input: Option<&Input>) -> Result<(), Break> {
        let bytes = input.map_or(0, |input| input.bytes);
        self.number = self.worker.process_mut().next_number();
        let head = wire::head(self.number, request, bytes).map_err(Stop::Input)?;
        self.send(&head)?;
        match input {
            Some(input) => self.send_all(input),
            None => Ok(()),
        }
    }

    fn receive_answer<A: DeserializeOwned>(&mut self) -> Result<(A, Vec<u8>), Break> {
        if self.worker.process().confinement.is_none() {
            let (confinement, _) = self.receive::<Confinement>(wire::GREETING, 0)?;
            self.worker.is_confined(confinement);
        }
        self.receive(self.number, self.limits().output_bytes + MAX_ANSWER)
    }

    fn receive<A: DeserializeOwned>(
        &mut self,
        number: u64,
        max_body: u64,
    ) -> Result<(A, Vec<u8>), Break> {
        let mut from = Patient {
            call: self,
            stop: None,
        };
        let read = wire::read(&mut from, max_body);
        if let Some(stop) = from.stop.take() {
            return Err(stop.into());
        }
        match read {
            Ok(Some(frame)) if frame.number == number => Ok((frame.head, frame.body)),
            Ok(Some(_)) => Err(Break::Nonsense),
            Ok(None) => Err(Break::Closed),
            Err(error) => Err(match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Break::Closed,
                _ => Break::Nonsense,
            }),
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
            match self.worker.process_mut().socket.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.check()?;
                    wait_for(&self.worker.process().socket, PollFlags::OUT);
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
        if elapsed > self.limits().wall {
            return Err(Stop::Wall(self.limits().wall));
        }
        let Some(most) = self.limits().cpu else {
            return Ok(());
        };
        // Where nobody counts it the clock has to do.
        let used = self.worker.process().cpu_time();
        let used = used.map_or(elapsed, |used| used.saturating_sub(self.cpu_before));
        match used > most {
            true => Err(Stop::Cpu(most)),
            false => Ok(()),
        }
    }
}

/// Waits a little until the socket can be used.
fn wait_for(socket: &impl AsFd, what: PollFlags) {
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: LOOK_EVERY.as_nanos() as i64,
    };
    // Whatever it says, the next read or write says it better.
    let _ = poll(&mut [PollFd::new(socket, what)], Some(&wait));
}

/// The worker's answers as they come, as long as the job may go on.
struct Patient<'c> {
    call: &'c mut WorkerCall,
    stop: Option<Stop>,
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.call.worker.process_mut().socket.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            if let Err(stop) = self.call.check() {
                self.stop = Some(stop);
                return Err(io::ErrorKind::TimedOut.into());
            }
            wait_for(&self.call.worker.process().socket, PollFlags::IN);
        }
    }
}
