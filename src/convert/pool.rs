//! The children: at most two, started when they are needed, used again, replaced when they die; nothing waits for one without a limit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::picture::Written;
use crate::task::Work;

use super::Limits;
use super::wire::{Format, Picture};
use super::worker::{Answer, Input, Job, Stop, Worker};

/// Children at a time.
const PLACES: usize = 2;

/// Between two looks at the cancel token while every child is at work.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// The converters of one engine. Dropping them ends their processes.
#[derive(Debug)]
pub struct Converters {
    limits: Limits,
    places: Mutex<Places>,
    freed: Condvar,
    jobs: AtomicU64,
    replaced: AtomicU64,
}

#[derive(Debug, Default)]
struct Places {
    idle: Vec<Worker>,
    at_work: usize,
}

/// What the converters hold and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Processes that are alive.
    pub alive: usize,
    /// Documents that were handed to one.
    pub jobs: u64,
    /// Processes that died or were killed at work.
    pub replaced: u64,
}

impl Converters {
    pub fn new(limits: Limits) -> Converters {
        Converters {
            limits,
            places: Mutex::default(),
            freed: Condvar::new(),
            jobs: AtomicU64::new(0),
            replaced: AtomicU64::new(0),
        }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Hands a document to a child and waits for what it says of it. Blocking; the work's token and
    /// deadline and the limits of a job end the wait, and the child with it.
    pub fn open(
        &self,
        format: Format,
        input: &Input,
        work: &Work,
    ) -> Result<(Job<'_>, Answer), Stop> {
        let lease = self.lease(work)?;
        self.jobs.fetch_add(1, Ordering::Relaxed);
        Job::open(lease, &self.limits, format, input, work)
    }

    /// Has a child decode a picture, and write it anew where that is wanted; the inner error says in
    /// a few words why it does not decode. Waits as [`Converters::open`] does.
    pub fn picture(
        &self,
        picture: Picture,
        input: &Input,
        work: &Work,
    ) -> Result<Result<Option<Written>, String>, Stop> {
        let lease = self.lease(work)?;
        self.jobs.fetch_add(1, Ordering::Relaxed);
        Job::picture(lease, &self.limits, picture, input, work)
    }

    pub fn status(&self) -> Status {
        let mut places = self.places.lock();
        places.idle.retain_mut(Worker::is_alive);
        Status {
            alive: places.idle.len() + places.at_work,
            jobs: self.jobs.load(Ordering::Relaxed),
            replaced: self.replaced.load(Ordering::Relaxed),
        }
    }

    fn lease(&self, work: &Work) -> Result<Lease<'_>, Stop> {
        let begun = Instant::now();
        let mut places = self.places.lock();
        while places.at_work == PLACES {
            work.check()?;
            if begun.elapsed() > self.limits.wait {
                return Err(Stop::Busy);
            }
            self.freed.wait_for(&mut places, LOOK_EVERY);
        }
        places.at_work += 1;
        let mut worker = places.idle.pop();
        drop(places);
        // From here on the place is given back whatever happens.
        let mut lease = Lease {
            pool: self,
            worker: None,
        };
        if !worker.as_mut().is_some_and(Worker::is_alive) {
            worker = Some(Worker::start(&self.limits).map_err(Stop::Start)?);
        }
        lease.worker = worker;
        Ok(lease)
    }
}

/// The right to one place, with the child in it.
#[derive(Debug)]
pub(super) struct Lease<'p> {
    pool: &'p Converters,
    /// There from the end of [`Converters::lease`] until it is condemned.
    worker: Option<Worker>,
}

impl Lease<'_> {
    pub(super) fn worker(&self) -> &Worker {
        // A job that condemned its child asks for nothing more of it.
        self.worker.as_ref().expect("a child that is not condemned")
    }

    pub(super) fn worker_mut(&mut self) -> &mut Worker {
        self.worker.as_mut().expect("a child that is not condemned")
    }

    /// Puts a new child in the place of one that has ended well.
    pub(super) fn replace(&mut self) -> Result<(), Stop> {
        self.worker = Some(Worker::start(&self.pool.limits).map_err(Stop::Start)?);
        Ok(())
    }

    pub(super) fn is_condemned(&self) -> bool {
        self.worker.is_none()
    }

    /// Ends the child: it died, or is at something that nobody wants.
    pub(super) fn condemn(&mut self) {
        if self.worker.take().is_some() {
            self.pool.replaced.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let worker = self.worker.take();
        let worker = worker.filter(|worker| !worker.is_bloated(&self.pool.limits));
        let mut places = self.pool.places.lock();
        places.at_work -= 1;
        places.idle.extend(worker);
        drop(places);
        self.pool.freed.notify_one();
    }
}
