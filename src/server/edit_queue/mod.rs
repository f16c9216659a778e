//! The order of edits, and what reads wait for.
//!
//! An edit goes through three phases. [`EditQueue::submit`], when it begins, puts it behind those
//! that came before. [`Submission::granted`], when its files are found, waits until the files of all
//! of those are known, takes its tickets, one in the line of each file, and waits until it is first
//! in every line; who drops it there has done nothing. [`Grant::commit`] is the point of no return:
//! what runs there is a task of its own, which neither a cancel nor an `exit` interrupts.
//!
//! Everybody waits only for what came before, so nobody waits in a circle. Every edit knows its
//! files or is gone within the time that finding them may take, so that wait needs no limit here.

mod file_locks;
mod pending;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{join, join_all};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::protocol::Refusal;
use crate::read::Whereabouts;
use crate::task::Threads;
use crate::workspace::ResourceId;

use file_locks::{FileLocks, Tickets};
use pending::{Pending, Reads};

/// How long everybody waits for everybody else.
#[derive(Debug, Clone, Copy)]
pub struct WaitLimits {
    /// A read for all edits before it; an edit for any movement in front of it.
    pub for_edits: Duration,
    /// An edit for the reads before it.
    pub for_reads: Duration,
    /// An edit from its arrival to its turn.
    pub in_all: Duration,
}

impl WaitLimits {
    /// As `protocol.md` has them, Order.
    pub const PROTOCOL: WaitLimits = WaitLimits {
        for_edits: Duration::from_secs(6),
        for_reads: Duration::from_secs(2),
        in_all: Duration::from_secs(60),
    };
}

/// What edits and reads know of each other. It holds as many as there are calls in flight, and the
/// commits that outlive theirs.
#[derive(Debug)]
pub struct EditQueue {
    locks: Arc<FileLocks>,
    now: watch::Sender<Now>,
    reads: Reads,
    limits: WaitLimits,
}

#[derive(Debug, Default)]
struct Now {
    /// Edits that are not yet committed, in the order of their arrival.
    pending: Arc<Vec<Arc<Pending>>>,
    /// Commits that have begun and not ended.
    committing: usize,
    /// No commit begins any more.
    closed: bool,
}

impl EditQueue {
    pub fn new(limits: WaitLimits) -> Arc<EditQueue> {
        Arc::new(EditQueue {
            locks: Arc::default(),
            now: watch::Sender::new(Now::default()),
            reads: Reads::default(),
            limits,
        })
    }

    /// Takes an edit in, in the order of the calls of this. It is to know its files soon, or to be
    /// dropped: those that come later wait for that.
    pub fn submit(self: &Arc<EditQueue>, session: &str) -> Submission {
        let pending = Pending::new(session);
        let mut before = Arc::default();
        self.now.send_modify(|now| {
            before = now.pending.clone();
            Arc::make_mut(&mut now.pending).push(pending.clone());
        });
        let queue = self.clone();
        Submission {
            entry: PendingGuard { queue, pending },
            before,
            reads: self.reads.of(session),
        }
    }

    /// Registers a read, in the order of the calls of this.
    pub fn begin_read(self: &Arc<EditQueue>, session: &str) -> Reading {
        let pending = Pending::new(session);
        Reading {
            number: self.reads.begin(pending.clone()),
            pending,
            before: self.now.borrow().pending.clone(),
            queue: self.clone(),
        }
    }

    /// Waits until no edit is waiting or being committed, `limit` at most. From then on no commit
    /// begins, and one that has begun has [`EditQueue::settled`] to wait for it.
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

fn busy() -> Refusal {
    Refusal::Busy {
        message: "An earlier edit of the same file is not done.".to_owned(),
    }
}

/// The entry of an edit in the list of those not yet committed; dropping it takes it off.
#[derive(Debug)]
struct PendingGuard {
    queue: Arc<EditQueue>,
    pending: Arc<Pending>,
}

impl Drop for PendingGuard {
    fn drop(&mut self) {
        self.pending.finish();
        self.queue.now.send_modify(|now| {
            Arc::make_mut(&mut now.pending).retain(|other| !Arc::ptr_eq(other, &self.pending));
        });
    }
}

/// An edit that has its place in the order. Dropping it withdraws the edit.
#[derive(Debug)]
pub struct Submission {
    entry: PendingGuard,
    /// The edits that came before.
    before: Arc<Vec<Arc<Pending>>>,
    /// What its session was reading when it came.
    reads: Vec<Arc<Pending>>,
}

impl Submission {
    /// Waits until it is first at all of `places` and what its session read of them before is on
    /// record. Refuses with `busy`.
    pub async fn granted(self, places: Vec<ResourceId>) -> Result<Grant, Refusal> {
        let Submission {
            entry,
            before,
            reads,
        } = self;
        let limits = entry.queue.limits;
        let turn = async {
            let mut at_once = before.iter().all(|edit| edit.is_decided());
            join_all(before.iter().map(|edit| edit.decided())).await;
            let tickets = entry.queue.locks.join(places.clone());
            // Its tickets come first: who hears of its places takes its own behind them.
            entry.pending.publish(places);
            at_once &= tickets.are_first() && reads.is_empty();
            let before = reads
                .iter()
                .map(|read| read.out_of_the_way(tickets.places()));
            // Past its limit a read is not waited for, but that is no reason to refuse the edit.
            let (_, first) = join(
                timeout(limits.for_reads, join_all(before)),
                tickets.first(limits.for_edits),
            )
            .await;
            first.map(|()| (tickets, at_once)).map_err(|_| busy())
        };
        let (tickets, at_once) = timeout(limits.in_all, turn).await.map_err(|_| busy())??;
        Ok(Grant {
            entry,
            tickets,
            at_once,
        })
    }
}

/// An edit whose turn it is: nobody else changes its places. Dropping it ends the turn.
#[derive(Debug)]
pub struct Grant {
    entry: PendingGuard,
    tickets: Tickets,
    at_once: bool,
}

impl Grant {
    /// Whether nobody was in front of it: what was found for it right before still counts.
    pub fn came_at_once(&self) -> bool {
        self.at_once
    }

    /// Runs the commit as a task of its own, which goes on when the returned future is dropped. The
    /// turn ends when the [`Commit`] is dropped, so that a blocking job which is left behind by its
    /// deadline still keeps others out. `run` limits its own waits.
    pub async fn commit<T, Running>(
        self,
        threads: &Threads,
        run: impl FnOnce(Commit) -> Running,
    ) -> Result<T, Refusal>
    where
        T: Send + 'static,
        Running: Future<Output = Result<T, Refusal>> + Send + 'static,
    {
        let begun = BegunCommit::new(&self.entry.queue)?;
        let commit = Commit {
            grant: self,
            _begun: begun,
        };
        // It has dropped the commit when it is done: who has the answer may rely on the turn being
        // over.
        let running = AssertUnwindSafe(run(commit)).catch_unwind();
        let (tell, done) = oneshot::channel();
        threads.start(async move {
            let outcome = running.await.unwrap_or(Err(Refusal::Internal));
            // Nobody waits any more where the call was dropped.
            let _ = tell.send(outcome);
        });
        done.await.unwrap_or(Err(Refusal::Internal))
    }
}

/// A commit that has begun. Its fields are dropped in this order: reads and edits go on first, and
/// the end of the process last.
#[derive(Debug)]
pub struct Commit {
    grant: Grant,
    _begun: BegunCommit,
}

impl Commit {
    /// The places it may change, each once.
    pub fn places(&self) -> &[ResourceId] {
        self.grant.tickets.places()
    }
}

/// Counts among the commits that have begun.
#[derive(Debug)]
struct BegunCommit(Arc<EditQueue>);

impl BegunCommit {
    fn new(queue: &Arc<EditQueue>) -> Result<BegunCommit, Refusal> {
        let open = queue.now.send_if_modified(|now| {
            now.committing += usize::from(!now.closed);
            !now.closed
        });
        match open {
            true => Ok(BegunCommit(queue.clone())),
            false => Err(Refusal::Cancelled),
        }
    }
}

impl Drop for BegunCommit {
    fn drop(&mut self) {
        self.0.now.send_modify(|now| now.committing -= 1);
    }
}

/// A read that has begun. Dropping it says that it is done: what it showed is on record.
#[derive(Debug)]
pub struct Reading {
    queue: Arc<EditQueue>,
    number: u64,
    pending: Arc<Pending>,
    /// The edits it comes after.
    before: Arc<Vec<Arc<Pending>>>,
}

impl Reading {
    /// Whether no edit before it is still pending, so that it need not know its places to go on.
    pub fn is_free(&self) -> bool {
        self.before.iter().all(|edit| edit.is_done())
    }

    /// Tells the edits after it what it reads.
    #[cfg(test)]
    pub fn reads(&self, place: ResourceId) {
        self.is_known(Whereabouts::At(place));
    }

    /// Tells the edits after it that it is of no file: none waits for it.
    pub fn is_of_no_file(&self) {
        self.pending.publish(Vec::new());
    }

    /// Tells the edits after it as much as is known of what it reads.
    pub fn is_known(&self, whereabouts: Whereabouts) {
        match whereabouts {
            Whereabouts::At(place) => self.pending.publish(vec![place]),
            Whereabouts::OnMount(point) => self.pending.publish_mount(point),
        }
    }

    /// Waits for the edits before it that concern any of `places`; `busy` when that takes too long.
    pub async fn turn(&self, places: &[ResourceId]) -> Result<(), Refusal> {
        let edits = self.before.iter();
        let edits = join_all(edits.map(|edit| edit.out_of_the_way(places)));
        let waited = timeout(self.queue.limits.for_edits, edits).await;
        waited.map(drop).map_err(|_| busy())
    }

    /// Waits for all edits before it, whatever they concern; `busy` when that takes too long.
    pub async fn last_turn(&self) -> Result<(), Refusal> {
        let edits = join_all(self.before.iter().map(|edit| edit.ended()));
        let waited = timeout(self.queue.limits.for_edits, edits).await;
        waited.map(drop).map_err(|_| Refusal::Busy {
            message: "Earlier edits are not done.".to_owned(),
        })
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.queue.reads.end(self.number);
    }
}

#[cfg(test)]
mod tests;
