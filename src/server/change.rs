//! The one way of an edit and of a write: find its files, wait for its turn, commit.
//!
//! Finding is work of its own that many edits may be at; the turn comes in the order of arrival;
//! from the beginning of the commit on nothing interrupts it. Where nobody is in front, each of
//! the waits is over at once.

use std::sync::Arc;
use std::time::Duration;

use crate::edit::{Change, Found};
use crate::protocol::Refusal;
use crate::protocol::edit::EditResult;
use crate::task::Work;
use crate::workspace::ResourceId;

use super::carry_out::Plan;
use super::edit_queue::Submission;
use super::state::{State, World};

/// How long an edit may take to find its files.
const FOUND_WITHIN: Duration = Duration::from_secs(2);

/// Finds the places of an edit, and what will plan it.
pub type Locate = Box<dyn FnOnce(&Work) -> Result<Located, Refusal> + Send>;

/// What is known of an edit before its turn.
pub struct Located {
    pub places: Vec<ResourceId>,
    pub plan: Plan,
    /// For a turn that comes at once: it holds files open.
    pub found: Found,
}

/// An edit that has its place in the order.
pub struct Submitted {
    state: Arc<State>,
    change: Change,
    world: Arc<World>,
    locate: Locate,
    submission: Submission,
}

impl State {
    /// Takes an edit in, behind those that came before.
    pub fn submit_change(
        self: &Arc<State>,
        change: Change,
        world: Arc<World>,
        locate: Locate,
    ) -> Submitted {
        Submitted {
            submission: self.edit_queue.submit(&change.session),
            state: self.clone(),
            change,
            world,
            locate,
        }
    }

    /// Finds the files of an edit, for so long as one may take for that.
    pub async fn found<T: Send + 'static>(
        &self,
        find: impl FnOnce(&Work) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        match self.run_within(FOUND_WITHIN, find).await {
            Err(Refusal::Timeout { .. }) => Err(too_slow()),
            found => found,
        }
    }
}

impl Submitted {
    /// Finds the files, waits for the turn, plans the change and writes it. Dropped before the
    /// commit begins, nothing is done; after that the commit goes on.
    pub async fn carried_out(self) -> Result<EditResult, Refusal> {
        let Submitted {
            state,
            change,
            world,
            locate,
            submission,
        } = self;
        let Located {
            places,
            plan,
            found,
        } = state.found(locate).await?;
        let grant = submission.granted(places).await?;
        let found = match grant.came_at_once() && state.is_cleaned() {
            true => found,
            // Others may have been there since.
            false => Found::default(),
        };
        let threads = state.threads.clone();
        let run = |commit| async move { state.carry_out(commit, change, world, plan, found).await };
        grant.commit(&threads, run).await
    }
}

fn too_slow() -> Refusal {
    Refusal::Timeout {
        path: None,
        message: "Finding the files to edit took too long; nothing was written.".to_owned(),
    }
}
