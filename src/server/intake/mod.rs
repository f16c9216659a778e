//! The one way in for edits: it decides their order and what reads wait for; it never looks at what an edit does.
//!
//! An edit goes through three phases. [`Intake::submit`], at the handler's first poll, gives it its
//! place in the order. [`Submission::granted`] waits until it is first at all of its places; who
//! drops it there has done nothing. [`Grant::commit`] is the point of no return: what runs there
//! is a task of its own, which neither a cancel nor an `exit` interrupts.
//!
//! Everybody waits only for what came before, so nobody waits in a circle.

mod alone;
mod flight;
mod paths;
mod tickets;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::StreamExt;
use futures::future::{BoxFuture, join, join_all};
use futures::stream;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::protocol::Refusal;
use crate::read::Place;

pub use alone::Alone;
use flight::{Flight, Reads};
pub use paths::EditPath;
use tickets::{Lines, Tickets};

/// Edits that wait to be looked at: more than there can be requests in flight, since one that is
/// cancelled keeps its place until it is its turn.
const QUEUE: usize = 2048;
/// Edits whose paths are resolved side by side; their tickets are taken in order all the same.
const RESOLVED_AT_ONCE: usize = 8;

/// How long everybody waits for everybody else.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// An edit for its paths.
    pub resolving: Duration,
    /// A read for all edits before it; an edit for any movement in front of it.
    pub for_edits: Duration,
    /// An edit for the reads before it.
    pub for_reads: Duration,
    /// An edit from its arrival to its turn.
    pub in_all: Duration,
}

impl Limits {
    /// As `protocol.md` has them, Order.
    pub const PROTOCOL: Limits = Limits {
        resolving: Duration::from_secs(2),
        for_edits: Duration::from_secs(6),
        for_reads: Duration::from_secs(2),
        in_all: Duration::from_secs(60),
    };
}

/// What edits and reads know of each other.
#[derive(Debug)]
pub struct Intake {
    queue: mpsc::Sender<Queued>,
    /// Where the queue comes out, until the first edit starts the task that takes it.
    outlet: Mutex<Option<mpsc::Receiver<Queued>>>,
    lines: Arc<Lines>,
    now: watch::Sender<Now>,
    reads: Reads,
    limits: Limits,
}

#[derive(Debug, Default)]
struct Now {
    /// Edits that are not yet committed, in the order of their arrival.
    pending: Arc<Vec<Arc<Flight>>>,
    /// Commits that have begun and not ended.
    committing: usize,
    /// No commit begins any more.
    closed: bool,
}

type Resolved = Result<Vec<Place>, Refusal>;

struct Queued {
    resolve: BoxFuture<'static, Resolved>,
    flight: Arc<Flight>,
    /// Those before it that take their tickets by themselves.
    alone: Vec<Arc<Flight>>,
    reply: oneshot::Sender<Result<Tickets, Refusal>>,
}

impl std::fmt::Debug for Queued {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Queued").field(&self.flight).finish()
    }
}

impl Intake {
    pub fn new(limits: Limits) -> Arc<Intake> {
        let (queue, outlet) = mpsc::channel(QUEUE);
        Arc::new(Intake {
            queue,
            outlet: Mutex::new(Some(outlet)),
            lines: Arc::default(),
            now: watch::Sender::new(Now::default()),
            reads: Reads::default(),
            limits,
        })
    }

    /// Takes an edit in. To be called before the handler's first await, in a runtime. `resolve`
    /// tells the edit's places; it is run later, beside those of other edits.
    pub fn submit(
        self: &Arc<Intake>,
        session: &str,
        resolve: impl Future<Output = Resolved> + Send + 'static,
    ) -> Result<Submission, Refusal> {
        if let Some(outlet) = self.outlet.lock().take() {
            let (lines, limit) = (self.lines.clone(), self.limits.resolving);
            tokio::spawn(give_tickets(outlet, lines, limit));
        }
        let flight = Flight::new(session);
        let (reply, tickets) = oneshot::channel();
        let pending = self.now.borrow().pending.clone();
        let undecided = pending
            .iter()
            .filter(|edit| edit.is_alone() && !edit.is_decided());
        let queued = Queued {
            resolve: resolve.boxed(),
            flight: flight.clone(),
            alone: undecided.cloned().collect(),
            reply,
        };
        self.queue.try_send(queued).map_err(|_| Refusal::Busy {
            message: "Too many edits are waiting.".to_owned(),
        })?;
        let reads = self.reads.of(session);
        self.now
            .send_modify(|now| Arc::make_mut(&mut now.pending).push(flight.clone()));
        let intake = self.clone();
        Ok(Submission {
            pending: PendingEdit { intake, flight },
            tickets,
            reads,
        })
    }

    /// Registers a read. To be called before the handler's first await.
    pub fn begin_read(self: &Arc<Intake>, session: &str) -> Reading {
        let flight = Flight::new(session);
        Reading {
            number: self.reads.begin(flight.clone()),
            flight,
            before: self.now.borrow().pending.clone(),
            intake: self.clone(),
        }
    }

    /// Waits until no edit is waiting or being committed, `limit` at most. From then on no commit
    /// begins, and one that has begun has [`Intake::settled`] to wait for it.
    pub async fn drain(&self, limit: Duration) {
        let mut now = self.now.subscribe();
        let empty = now.wait_for(|now| now.pending.is_empty() && now.committing == 0);
        if timeout(limit, empty).await.is_err() {
            tracing::warn!("edits are still waiting or being written at shutdown");
        }
        self.now.send_modify(|now| now.closed = true);
    }

    /// Lets no commit begin any more, and waits for those that have, `limit` at most.
    pub async fn settled(&self, limit: Duration) {
        self.now.send_modify(|now| now.closed = true);
        let mut now = self.now.subscribe();
        if timeout(limit, now.wait_for(|now| now.committing == 0))
            .await
            .is_err()
        {
            tracing::warn!("left while an edit was being written");
        }
    }
}

/// The intake task: resolves edits, and gives tickets in the order in which they came.
async fn give_tickets(outlet: mpsc::Receiver<Queued>, lines: Arc<Lines>, limit: Duration) {
    let arrivals = stream::unfold(outlet, |mut outlet| async {
        let queued = outlet.recv().await?;
        Some((queued, outlet))
    });
    let resolve = |queued: Queued| async move {
        let Queued {
            resolve,
            flight,
            alone,
            reply,
        } = queued;
        let came = Instant::now();
        let resolved = match reply.is_closed() {
            true => Err(Refusal::Cancelled),
            false => timeout(limit, AssertUnwindSafe(resolve).catch_unwind())
                .await
                .unwrap_or_else(|_| Ok(Err(too_slow())))
                .unwrap_or(Err(Refusal::Internal)),
        };
        (resolved, flight, (alone, came), reply)
    };
    let mut resolved = std::pin::pin!(arrivals.map(resolve).buffered(RESOLVED_AT_ONCE));
    while let Some((resolved, flight, (alone, came), reply)) = resolved.next().await {
        for before in alone {
            // Like everybody else it has so long to find its files, and then is refused.
            if timeout_at(came + limit, before.decided()).await.is_err() {
                before.publish(Vec::new());
            }
        }
        // Who is refused writes nowhere, and nobody need wait until its handler has noticed.
        flight.publish(resolved.as_ref().cloned().unwrap_or_default());
        // One that was cancelled meanwhile gets its tickets back in the error and drops them.
        let _ = reply.send(resolved.map(|places| lines.join(places)));
    }
}

pub fn too_slow() -> Refusal {
    Refusal::Timeout {
        path: None,
        message: "Finding the files to edit took too long; nothing was written.".to_owned(),
    }
}

fn busy() -> Refusal {
    Refusal::Busy {
        message: "An earlier edit of the same file is not done.".to_owned(),
    }
}

/// The entry of an edit in the list of those not yet committed; dropping it takes it off.
#[derive(Debug)]
struct PendingEdit {
    intake: Arc<Intake>,
    flight: Arc<Flight>,
}

impl Drop for PendingEdit {
    fn drop(&mut self) {
        self.flight.finish();
        self.intake.now.send_modify(|now| {
            Arc::make_mut(&mut now.pending).retain(|other| !Arc::ptr_eq(other, &self.flight));
        });
    }
}

/// An edit that has its place in the order. Dropping it withdraws the edit.
#[derive(Debug)]
pub struct Submission {
    pending: PendingEdit,
    tickets: oneshot::Receiver<Result<Tickets, Refusal>>,
    /// What its session was reading when it came.
    reads: Vec<Arc<Flight>>,
}

impl Submission {
    /// Waits until it is first at all of its places and what its session read of them before is
    /// on record. Refuses with what its paths were refused with, and with `busy`.
    pub async fn granted(self) -> Result<Grant, Refusal> {
        let limits = self.pending.intake.limits;
        let Submission {
            pending,
            tickets,
            reads,
        } = self;
        let turn = async {
            let tickets = tickets.await.map_err(|_| Refusal::Internal)??;
            let before = reads
                .iter()
                .map(|read| read.out_of_the_way(tickets.places()));
            // Past its limit a read is not waited for, but that is no reason to refuse the edit.
            let (_, first) = join(
                timeout(limits.for_reads, join_all(before)),
                tickets.first(limits.for_edits),
            )
            .await;
            first.map(|()| tickets).map_err(|_| busy())
        };
        let tickets = timeout(limits.in_all, turn).await.map_err(|_| busy())??;
        Ok(Grant { pending, tickets })
    }
}

/// An edit whose turn it is: nobody else changes its places. Dropping it ends the turn.
#[derive(Debug)]
pub struct Grant {
    pending: PendingEdit,
    tickets: Tickets,
}

impl Grant {
    /// The places it may change, each once.
    pub fn places(&self) -> &[Place] {
        self.tickets.places()
    }

    /// Runs the commit as a task of its own, which goes on when the returned future is dropped. The
    /// turn ends when the [`Commit`] is dropped, so that a blocking job which is left behind by its
    /// deadline still keeps others out. `run` limits its own waits.
    pub async fn commit<T, Running>(self, run: impl FnOnce(Commit) -> Running) -> Result<T, Refusal>
    where
        T: Send + 'static,
        Running: Future<Output = Result<T, Refusal>> + Send + 'static,
    {
        Grant::carry_on(self.begin()?, run).await
    }

    /// Begins the commit: what runs with it must go on when its handler does not.
    pub fn begin(self) -> Result<Commit, Refusal> {
        let begun = Begun::new(&self.pending.intake)?;
        Ok(Commit {
            grant: self,
            _begun: begun,
        })
    }

    /// As [`Grant::commit`], of one that has begun.
    pub async fn carry_on<T, Running>(
        commit: Commit,
        run: impl FnOnce(Commit) -> Running,
    ) -> Result<T, Refusal>
    where
        T: Send + 'static,
        Running: Future<Output = Result<T, Refusal>> + Send + 'static,
    {
        // It has dropped the commit when it is done: who has the answer may rely on the turn being
        // over.
        let running = AssertUnwindSafe(run(commit)).catch_unwind();
        let task = tokio::spawn(async move { running.await.unwrap_or(Err(Refusal::Internal)) });
        task.await.unwrap_or(Err(Refusal::Internal))
    }
}

/// A commit that has begun. Its fields are dropped in this order: reads and edits go on first, and
/// the end of the process last.
#[derive(Debug)]
pub struct Commit {
    grant: Grant,
    _begun: Begun,
}

impl Commit {
    /// The places it may change, each once.
    pub fn places(&self) -> &[Place] {
        self.grant.places()
    }
}

/// Counts among the commits that have begun.
#[derive(Debug)]
struct Begun(Arc<Intake>);

impl Begun {
    fn new(intake: &Arc<Intake>) -> Result<Begun, Refusal> {
        let open = intake.now.send_if_modified(|now| {
            now.committing += usize::from(!now.closed);
            !now.closed
        });
        match open {
            true => Ok(Begun(intake.clone())),
            false => Err(Refusal::Cancelled),
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.now.send_modify(|now| now.committing -= 1);
    }
}

/// A read that has begun. Dropping it says that it is done: what it showed is on record.
#[derive(Debug)]
pub struct Reading {
    intake: Arc<Intake>,
    number: u64,
    flight: Arc<Flight>,
    /// The edits it comes after.
    before: Arc<Vec<Arc<Flight>>>,
}

impl Reading {
    /// Whether no edit before it is still pending, so that it need not know its places to go on.
    pub fn is_free(&self) -> bool {
        self.before.iter().all(|edit| edit.is_done())
    }

    /// Tells the edits after it what it reads.
    pub fn reads(&self, place: Place) {
        self.flight.publish(vec![place]);
    }

    /// Waits for the edits before it that concern any of `places`; `busy` when that takes too long.
    pub async fn turn(&self, places: &[Place]) -> Result<(), Refusal> {
        let edits = self.before.iter();
        let edits = join_all(edits.map(|edit| edit.out_of_the_way(places)));
        let waited = timeout(self.intake.limits.for_edits, edits).await;
        waited.map(drop).map_err(|_| busy())
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.intake.reads.end(self.number);
    }
}

#[cfg(test)]
mod tests;
