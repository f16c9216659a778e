//! An edit from its place in the order to its answer: in one blocking job where nobody is in front of it, else step by step; it is never written before its turn.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use crate::edit::{Begun, Change, Found};
use crate::protocol::Refusal;
use crate::protocol::edit::EditResult;
use crate::read::Place;
use crate::session::Notice;
use crate::task::{CancelToken, Detour, Lane, Work};

use super::carry_out::Plan;
use super::intake::{Alone, Commit, Grant, Submission, too_slow};
use super::state::{State, World};

/// Finds the places of an edit, and what will plan it.
pub type Resolve = Arc<dyn Fn(Lane, &Work) -> Result<Resolved, Detour> + Send + Sync + 'static>;

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
enum Came {
    /// To the end.
    Done(EditResult, Unsent),
    /// The editor has to be asked.
    AsksEditor(Arc<Commit>, Begun, Plan),
    /// Somebody is writing there after all.
    HasToWait(Submission, Plan),
    /// Its files take long to find.
    TakesLong(Alone),
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
                let submission = self.submit_resolved(&change.session, move |lane, work| {
                    let resolved = resolve(lane, work)?;
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
    /// Waits for the turn, plans the change and writes it.
    pub async fn carried_out(self) -> Result<EditResult, Refusal> {
        let Submitted {
            state,
            change,
            world,
            resolve,
            way,
        } = self;
        let (submission, plan) = match way {
            Way::Alone(alone) => {
                let came = in_one_job(&state, alone, &change, &world, &resolve).await?;
                match came {
                    Came::Done(result, unsent) => {
                        unsent.send().await;
                        return Ok(result);
                    }
                    Came::AsksEditor(commit, begun, plan) => {
                        let run = |commit| async move {
                            let begun = Some(begun);
                            state.carry_out(commit, change, world, plan, begun).await
                        };
                        return Grant::carry_on(commit, run).await;
                    }
                    Came::HasToWait(submission, plan) => (submission, plan),
                    Came::TakesLong(alone) => found_slowly(&state, alone, resolve).await?,
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
/// thread. Who cancels it before it is planned has nothing written; later it is written all the
/// same.
async fn in_one_job(
    state: &Arc<State>,
    alone: Alone,
    change: &Change,
    world: &Arc<World>,
    resolve: &Resolve,
) -> Result<Came, Refusal> {
    let cancel = CancelToken::new();
    let _guard = cancel.cancel_on_drop();
    let pass_over = alone.pass_over();
    let runtime = Handle::current();
    let (job_state, change, world) = (state.clone(), change.clone(), world.clone());
    let resolve = resolve.clone();
    let limit = state.resolving_limit();
    let job = move |work: &Work| {
        let finding = Work::new(cancel.clone(), limit);
        let Resolved {
            places,
            plan,
            found,
        } = match resolve(Lane::Short, &finding) {
            Err(Detour::TakesLong) => return Ok(Came::TakesLong(alone)),
            Err(Detour::Refused(refusal)) => return Err(refusal),
            Ok(found) => found,
        };
        let submission = alone.take_tickets(places)?;
        finding.check()?;
        let commit = match submission.granted_now() {
            Ok(grant) => Arc::new(grant.begin()?),
            Err(submission) => return Ok(Came::HasToWait(submission, plan)),
        };
        let change = (&change, found);
        let begun = job_state.job_of(&commit, change, &world, work, |job| job.begin(&*plan))?;
        Ok(match begun {
            Begun::Done(answer) => {
                // Before the answer: who has it may rely on the turn being over.
                drop(commit);
                let (result, notices) = *answer;
                let unsent = Unsent {
                    state: job_state,
                    runtime,
                    notices,
                };
                Came::Done(result, unsent)
            }
            begun @ Begun::AsksEditor(..) => Came::AsksEditor(commit, begun, plan),
        })
    };
    let mut running = std::pin::pin!(state.in_free_commit_lane(job));
    tokio::select! {
        biased;
        came = &mut running => return came?,
        () = sleep(limit) => {}
    }
    match pass_over() {
        // It does not have its tickets by now, and will not be given them.
        true => Err(too_slow()),
        false => running.await?,
    }
}

/// The submission of an edit whose files took too long to find for the short lane.
async fn found_slowly(
    state: &Arc<State>,
    alone: Alone,
    resolve: Resolve,
) -> Result<(Submission, Plan), Refusal> {
    let slot = Slot::default();
    let filled = slot.clone();
    let limit = state.resolving_limit();
    let find = state.in_lanes_within(limit, move |lane, work| {
        let resolved = resolve(lane, work)?;
        *filled.lock() = Some(resolved.plan);
        Ok(resolved.places)
    });
    let places = timeout(limit, find).await.map_err(|_| too_slow())??;
    let submission = alone.take_tickets(places)?;
    let plan = slot.lock().take().ok_or(Refusal::Internal)?;
    Ok((submission, plan))
}

/// Notices of a change that is written: they are sent even if nobody waits for the answer any more.
struct Unsent {
    state: Arc<State>,
    runtime: Handle,
    notices: Vec<Notice>,
}

impl Unsent {
    /// Sends them, and waits until that is done.
    async fn send(mut self) {
        if let Some(sending) = self.begin() {
            // It does not panic, and the runtime outlives it.
            let _ = sending.await;
        }
    }

    fn begin(&mut self) -> Option<tokio::task::JoinHandle<()>> {
        let notices = std::mem::take(&mut self.notices);
        if notices.is_empty() {
            return None;
        }
        let state = self.state.clone();
        Some(self.runtime.spawn(async move { state.send(notices).await }))
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.begin();
    }
}
