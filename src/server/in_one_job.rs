//! An edit from its place in the order to its answer: in one blocking job where nobody is in front of it, else step by step; it is never written before its turn.

use std::sync::Arc;

use tokio::time::sleep;

use crate::edit::{Change, Found};
use crate::protocol::Refusal;
use crate::protocol::edit::EditResult;
use crate::read::Place;
use crate::task::Work;

use super::carry_out::{Came, Plan};
use super::intake::{Alone, Grant, Submission, too_slow};
use super::state::{State, World};

/// Finds the places of an edit, and what will plan it.
pub type Resolve = Arc<dyn Fn(&Work) -> Result<Resolved, Refusal> + Send + Sync + 'static>;

/// What is known of an edit before its turn.
pub struct Resolved {
    pub places: Vec<Place>,
    pub plan: Plan,
    /// For a turn that comes at once: it holds files open.
    pub found: Found,
}

/// An edit that has its place in the order.
pub struct Submitted {
    state: Arc<State>,
    change: Change,
    world: Arc<World>,
    resolve: Resolve,
    way: Way,
}

enum Way {
    /// Nobody is in front of it.
    Alone(Alone),
    /// The intake finds its places, and puts the plan here.
    Queued(Submission, Slot),
}

type Slot = Arc<parking_lot::Mutex<Option<Plan>>>;

/// How far the job came.
enum Went {
    /// As far as its blocking part goes.
    On(Came, Plan),
    /// Somebody is writing there after all.
    HasToWait(Submission, Plan),
}

impl State {
    /// Takes an edit in. To be called before the handler's first await.
    pub fn submit_change(
        self: &Arc<State>,
        change: Change,
        world: Arc<World>,
        resolve: Resolve,
    ) -> Result<Submitted, Refusal> {
        let alone = match self.is_cleaned() {
            true => self.intake.submit_alone(&change.session),
            false => None,
        };
        let way = match alone {
            Some(alone) => Way::Alone(alone),
            None => {
                let slot = Slot::default();
                let (resolve, filled) = (resolve.clone(), slot.clone());
                let submission = self.submit_resolved(&change.session, move |work| {
                    let resolved = resolve(work)?;
                    *filled.lock() = Some(resolved.plan);
                    Ok(resolved.places)
                })?;
                Way::Queued(submission, slot)
            }
        };
        Ok(Submitted {
            state: self.clone(),
            change,
            world,
            resolve,
            way,
        })
    }
}

impl Submitted {
    /// Waits for the turn, plans the change and writes it, unless it is cancelled in time.
    pub async fn carried_out(self) -> Result<EditResult, Refusal> {
        let cancel = self.change.cancel.clone();
        let _guard = cancel.cancel_on_drop();
        tokio::select! {
            biased;
            outcome = self.go() => outcome,
            () = cancel.cancelled() => Err(Refusal::Cancelled),
        }
    }

    async fn go(self) -> Result<EditResult, Refusal> {
        let Submitted {
            state,
            change,
            world,
            resolve,
            way,
        } = self;
        let (submission, plan) = match way {
            Way::Alone(alone) => {
                let went = in_one_job(&state, alone, &change, &world, &resolve).await?;
                match went {
                    Went::On(Came::Done(answer), _) => return Ok(state.answered(*answer).await),
                    Went::On(Came::AsksEditor(commit, plans), plan) => {
                        let run = |commit| async move {
                            let plans = Some(plans);
                            state.carry_out(commit, change, world, plan, plans).await
                        };
                        return Grant::carry_on(commit, run).await;
                    }
                    Went::HasToWait(submission, plan) => (submission, plan),
                }
            }
            Way::Queued(submission, slot) => {
                let grant = submission.granted().await?;
                let plan = slot.lock().take().ok_or(Refusal::Internal)?;
                return granted(state, grant, change, world, plan).await;
            }
        };
        let grant = submission.granted().await?;
        granted(state, grant, change, world, plan).await
    }
}

async fn granted(
    state: Arc<State>,
    grant: Grant,
    change: Change,
    world: Arc<World>,
    plan: Plan,
) -> Result<EditResult, Refusal> {
    let run = |commit| async move { state.carry_out(commit, change, world, plan, None).await };
    grant.commit(run).await
}

/// Finds the places, takes the tickets, plans and writes, without handing the edit from thread to
/// thread. What was written is told to others even if nobody waits for the answer any more.
async fn in_one_job(
    state: &Arc<State>,
    alone: Alone,
    change: &Change,
    world: &Arc<World>,
    resolve: &Resolve,
) -> Result<Went, Refusal> {
    let pass_over = alone.pass_over();
    let (job_state, change, world) = (state.clone(), change.clone(), world.clone());
    let cancel = change.cancel.clone();
    let resolve = resolve.clone();
    let limit = state.resolving_limit();
    let job = move |work: &Work| {
        let finding = work.within(limit);
        let Resolved {
            places,
            plan,
            found,
        } = resolve(&finding)?;
        let submission = alone.take_tickets(places)?;
        finding.check()?;
        let commit = match submission.granted_now() {
            Ok(grant) => grant.begin()?,
            Err(submission) => return Ok(Went::HasToWait(submission, plan)),
        };
        let came = job_state.begun(commit, (&change, found), &world, work, &*plan)?;
        Ok(Went::On(came, plan))
    };
    let mut running = std::pin::pin!(state.in_commit_lane(cancel, job));
    tokio::select! {
        biased;
        went = &mut running => return went,
        () = sleep(limit) => {}
    }
    match pass_over() {
        // It does not have its tickets by now, and will not be given them.
        true => Err(too_slow()),
        false => running.await,
    }
}
