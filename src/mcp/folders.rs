//! Which folders are the workspace: those that the user named, else those that the client names,
//! else the process's own directory.
//!
//! A client that has roots is asked for them; until it has answered, or a moment later, calls are
//! held back.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::Peer;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use crate::server::Agent;
use crate::workspace::{current_project, decode_file_uri};

use super::calls::Calls;

/// How long a client may take to name its roots.
const NAMED_WITHIN: Duration = Duration::from_secs(1);

/// How long calls are held back at most, whatever the client does.
const HELD_AT_MOST: Duration = Duration::from_secs(2);

/// Roots that are looked at, at most.
const MOST: usize = 64;

/// Clones share what is known.
#[derive(Clone)]
pub struct WorkspaceFolders {
    agent: Agent,
    calls: Calls,
    /// Whether the user named them: then nobody is asked.
    are_given: bool,
    /// The time at which calls were held back last; 0 where the client has no roots.
    shut: Arc<AtomicU64>,
    runtime: Handle,
}

impl WorkspaceFolders {
    /// Takes the given folders, or the process's own for now. To be called in a runtime.
    pub fn new(agent: Agent, given: Option<Vec<PathBuf>>, calls: Calls) -> WorkspaceFolders {
        let are_given = given.is_some();
        agent.set_folders(given.unwrap_or_else(own));
        WorkspaceFolders {
            agent,
            calls,
            are_given,
            shut: Arc::default(),
            runtime: Handle::current(),
        }
    }

    /// Hears the parameters of `initialize`, in the order of arrival.
    pub fn client_begins(&self, params: &Value) {
        if !self.are_given && params["capabilities"]["roots"].is_object() {
            self.hold_back();
        }
    }

    /// Hears, in the order of arrival, that the client has other roots now.
    pub fn client_changes(&self) {
        if self.has_roots() {
            self.hold_back();
        }
    }

    fn has_roots(&self) -> bool {
        self.shut.load(Ordering::Acquire) > 0
    }

    fn hold_back(&self) {
        let shut = self.calls.shut();
        self.shut.store(shut, Ordering::Release);
        let calls = self.calls.clone();
        self.runtime.spawn(async move {
            sleep(HELD_AT_MOST).await;
            calls.open(shut);
        });
    }

    /// Asks the client for its roots, where it has any, and takes those that are projects. `again`
    /// says that it was asked before: where it does not answer, those roots stay.
    pub async fn ask(&self, peer: &Peer<RoleServer>, again: bool) {
        if !self.has_roots() {
            return;
        }
        let shut = self.shut.load(Ordering::Acquire);
        let named = match timeout(NAMED_WITHIN, named_roots(peer)).await {
            Ok(Some(named)) => Some(self.agent.projects(named, NAMED_WITHIN).await),
            Ok(None) | Err(_) => None,
        };
        match named {
            Some(named) if !named.is_empty() => self.agent.set_folders(named),
            Some(_) => self.agent.set_folders(own()),
            None if again => tracing::info!("the client does not name its roots"),
            None => self.agent.set_folders(own()),
        }
        self.calls.open(shut);
    }
}

/// The process's own directory, unless that is too wide for a project.
fn own() -> Vec<PathBuf> {
    current_project().into_iter().collect()
}

/// `None` where it refuses.
#[expect(deprecated, reason = "clients of the handshake have them")]
async fn named_roots(peer: &Peer<RoleServer>) -> Option<Vec<PathBuf>> {
    let roots = peer.list_roots().await.ok()?.roots;
    let paths = roots
        .iter()
        .take(MOST)
        .filter_map(|root| decode_file_uri(&root.uri).ok().flatten());
    Some(paths.collect())
}
