//! The one way of an edit and of a write: find its files, wait for its turn, commit.
//!
//! Finding is work of its own that many edits may be at; the turn comes in the order of arrival;
//! from the beginning of the commit on nothing interrupts it. Where nobody is in front, each of
//! the waits is over at once.

use std::sync::Arc;
use std::time::Duration;

use crate::buffer::Overlays;
use crate::edit::{Change, FoundFiles, Plan};
use crate::protocol::Refusal;
use crate::protocol::edit::EditResult;
use crate::task::Work;
use crate::workspace::{ResourceId, Scope};

use super::carry_out::CarryOut;
use super::client::Client;
use super::config::{ClientSnapshot, WorkspaceConfig};
use super::edit_queue::Submission;
use super::engine::Engine;
use super::puts::PutTurn;

/// How long an edit may take to find its files.
const FOUND_WITHIN: Duration = Duration::from_secs(2);

/// Finds the places of an edit, and what will plan it.
type Locate = Box<dyn FnOnce(&Scope, &Overlays, &Work) -> Result<Located, Refusal> + Send>;

/// What is known of an edit before its turn.
pub struct Located {
    pub places: Vec<ResourceId>,
    pub plan: Arc<Plan>,
    /// For a turn that comes at once: it holds files open.
    pub found: FoundFiles,
}

/// An edit that has its place in the order.
pub struct Submitted {
    engine: Arc<Engine>,
    client: Arc<Client>,
    change: Change,
    snapshot: ClientSnapshot,
    locate: Locate,
    submission: Submission,
    /// Of one that may be of scratch files: whoever closes the session later waits for it.
    own: Option<PutTurn>,
}

impl Submitted {
    /// Takes an edit in, behind those that came before; refuses it where edits are turned off.
    pub fn new(
        engine: &Arc<Engine>,
        client: &Arc<Client>,
        snapshot: ClientSnapshot,
        change: Change,
        locate: impl FnOnce(&Scope, &Overlays, &Work) -> Result<Located, Refusal> + Send + 'static,
    ) -> Result<Submitted, Refusal> {
        refuse_where_off(&snapshot.config)?;
        Ok(Submitted {
            submission: engine.edit_queue.submit(&change.session),
            own: (change.names_own).then(|| engine.puts.begin_put(&change.session)),
            engine: engine.clone(),
            client: client.clone(),
            change,
            snapshot,
            locate: Box::new(locate),
        })
    }

    /// Finds the files, waits for the turn, plans the change and writes it. Dropped before the
    /// commit begins, nothing is done; after that the commit goes on.
    pub async fn carried_out(self) -> Result<EditResult, Refusal> {
        let Submitted {
            engine,
            client,
            change,
            snapshot,
            locate,
            submission,
            mut own,
        } = self;
        if let Some(own) = &mut own {
            own.come().await;
        }
        let ClientSnapshot { config, overlays } = snapshot;
        let finding = config.clone();
        let (finder, session) = (engine.clone(), change.session.clone());
        let names_own = change.names_own;
        let find = move |work: &Work| {
            let scope = finder.scope_to_edit(&finding, (&session, names_own), work)?;
            locate(&scope, &overlays, work)
        };
        let Located {
            places,
            plan,
            found,
        } = engine.found(find).await?;
        let grant = submission.granted(places).await?;
        let found = match grant.came_at_once() && engine.recovery.is_done() {
            true => found,
            // Others may have been there since.
            false => FoundFiles::default(),
        };
        let threads = engine.threads.clone();
        let change = CarryOut {
            engine,
            client,
            change,
            config,
        };
        let run = |commit| async move {
            let result = change.run(commit, plan, found).await;
            drop(own);
            result
        };
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

/// `edit.enabled: false` is a promise to the user.
fn refuse_where_off(config: &WorkspaceConfig) -> Result<(), Refusal> {
    match config.settings.edit.enabled {
        true => Ok(()),
        false => Err(Refusal::Unsupported {
            path: None,
            message: "Edits are turned off by the setting edit.enabled. Describe the change to the user instead.".to_owned(),
        }),
    }
}

fn too_slow() -> Refusal {
    Refusal::Timeout {
        path: None,
        message: "Finding the files to edit took too long; nothing was written.".to_owned(),
    }
}
