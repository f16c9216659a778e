//! The engine and its client: the LSP's own messages, and one file for each `agent/*` method.
//!
//! A call has two parts. `begin` runs before the next frame is looked at, in the order of arrival: it
//! takes the call's place in the order of edits and looks up settings, roots and open documents,
//! without any I/O. What it returns is a future that reads from top to bottom: it waits for its turn
//! ([`edit_queue`]), has its blocking work done by a pool ([`Engine::run`]), asks the editor, and
//! answers.

mod agent;
mod call;
mod carry_out;
mod change;
mod client;
mod close_session;
mod command_line;
mod config;
mod credential;
mod documents;
mod edit;
mod edit_queue;
mod editor;
mod engine;
mod flush;
mod follow;
mod front;
#[cfg(any(feature = "failpoints", debug_assertions))]
#[allow(clippy::disallowed_methods, reason = "for tests alone")]
mod hold;
mod lifecycle;
mod lsp;
mod notices;
mod obtain;
mod problems;
mod progress;
mod put_artifact;
mod puts;
mod read;
mod read_many;
mod recovery;
mod resolve;
mod resolver;
mod search;
mod status;
mod tools;
mod turn;
mod watched_files;
mod write;

use std::sync::Arc;
use std::time::Duration;

use crate::protocol::{Refusal, Settings};
use crate::rpc::{self, Ending, Shutdown, TransportLimits};
use crate::session::Stores;
use crate::task::Threads;
use crate::workspace::sessions_directory;

pub use agent::{Agent, EditAnswer};
pub use command_line::CommandLine;
pub use front::{Front, METHODS};
pub use read_many::ReadResults;

use client::{Client, Listener};
use config::WorkspaceConfig;
use engine::Engine;

/// What the process around the server provides.
pub struct Options {
    pub shutdown: Shutdown,
    pub threads: Threads,
    pub on_settings: OnSettings,
}

/// Called with the settings whenever they are set; returns where the log is written, or why it
/// cannot be.
pub type OnSettings = Box<dyn Fn(&Settings) -> Result<String, String> + Send + Sync>;

/// The server of the client at this connection.
pub fn build(options: Options, connection: rpc::Client) -> Front {
    let Options {
        shutdown,
        threads,
        on_settings,
    } = options;
    let stores = Stores::new(Some(sessions_directory()));
    let engine = Arc::new(Engine::new(threads, stores));
    let config = WorkspaceConfig::new(Vec::new(), Settings::default(), &engine.scans);
    let listener = Listener::Editor(connection);
    let client = Arc::new(Client::new(listener, config, shutdown, on_settings));
    watch(&engine, &client);
    Front::new(engine, client)
}

/// Has the engine watch what its client reads, and the client hear of it. Called once.
fn watch(engine: &Arc<Engine>, client: &Arc<Client>) {
    client.start_watching(engine);
    let told = (Arc::downgrade(engine), Arc::downgrade(client));
    // Set once, here: nobody else sets it.
    engine
        .reader
        .buffers
        .on_change(Box::new(move |path, buffer| {
            if let (Some(engine), Some(client)) = (told.0.upgrade(), told.1.upgrade()) {
                engine.reader.outlines.file_changed(path, buffer);
                documents::found_changed(&engine, &client, path, buffer.is_none());
            }
        }));
}

/// What the transport bears of one client (`protocol.md`, Transport and lifecycle).
pub fn limits() -> TransportLimits {
    TransportLimits {
        frame_bytes: 64 * 1024 * 1024,
        in_flight: 512,
        unsent_bytes: 64 * 1024 * 1024,
        busy: || {
            let message = "512 requests are in flight.".to_owned();
            Refusal::Busy { message }.into()
        },
    }
}

/// Outlives the front: the commits that have begun.
pub struct Commits(Arc<Engine>);

impl Commits {
    fn of(engine: Arc<Engine>) -> Commits {
        Commits(engine)
    }

    /// Lets no commit begin any more, and waits for those that have as long as an ending leaves
    /// time: the process is to be gone within a second, except when the client says `exit`. Ends the MCP
    /// servers, and removes what was fetched into files and what sessions have of their own.
    pub async fn settled(&self, ending: Ending) {
        let limit = match ending {
            Ending::Exit => Duration::from_secs(5),
            Ending::EndOfInput => Duration::from_millis(100),
            Ending::Signal | Ending::ParentDied | Ending::BrokenOutput => {
                Duration::from_millis(500)
            }
        };
        // Side by side: servers that are slow to end leave no less time for edits.
        tokio::join!(self.0.edit_queue.settled(limit), self.0.mcp.end());
        self.0.web.spool().remove();
        self.0.reader.stores.remove();
    }
}
