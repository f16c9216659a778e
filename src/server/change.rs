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

use super::carry_out::{CarryOut, Plan};
use super::client::Client;
use super::config::WorkspaceConfig;
use super::edit_queue::Submission;
use super::engine::Engine;

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
    engine: Arc<Engine>,
    client: Arc<Client>,
    change: Change,
    config: Arc<WorkspaceConfig>,
    locate: Locate,
    submission: Submission,
}

impl Submitted {
    /// Takes an edit in, behind those that came before.
    pub fn new(
        engine: &Arc<Engine>,
        client: &Arc<Client>,
        change: Change,
        config: Arc<WorkspaceConfig>,
        locate: Locate,
    ) -> Submitted {
        Submitted {
            submission: engine.edit_queue.submit(&change.session),
            engine: engine.clone(),
            client: client.clone(),
            change,
            config,
            locate,
        }
    }

    /// Finds the files, waits for the turn, plans the change and writes it. Dropped before the
    /// commit begins, nothing is done; after that the commit goes on.
    pub async fn carried_out(self) -> Result<EditResult, Refusal> {
        let Submitted {
            engine,
            client,
            change,
            config,
            locate,
            submission,
        } = self;
        let Located {
            places,
            plan,
            found,
        } = engine.found(locate).await?;
        let grant = submission.granted(places).await?;
        let found = match grant.came_at_once() && engine.recovery.is_done() {
            true => found,
            // Others may have been there since.
            false => Found::default(),
        };
        let threads = engine.threads.clone();
        let change = CarryOut {
            engine,
            client,
            change,
            config,
        };
        let run = |commit| change.run(commit, plan, found);
        grant.commit(&threads, run).await
    }
}

impl Engine {
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

fn too_slow() -> Refusal {
    Refusal::Timeout {
        path: None,
        message: "Finding the files to edit took too long; nothing was written.".to_owned(),
    }
}
