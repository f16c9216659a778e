//! One client's face of the engine: the LSP's own messages, and one file for each `agent/*`
//! method.
//!
//! A call has two parts. `begin` runs on the reading thread, in the order of arrival: it takes the
//! call's place in the order of edits and looks up settings, roots and open documents, without any
//! I/O. What it returns is a future that reads from top to bottom: it waits for its turn
//! ([`edit_queue`]), has its blocking work done by a pool (`State::run`), asks the editor, and
//! answers.

mod call;
mod carry_out;
mod change;
mod close_session;
mod documents;
mod edit;
mod edit_queue;
mod editor;
mod flush;
mod front;
mod hold;
mod leftovers;
mod lifecycle;
mod lsp;
mod notices;
mod one_shot;
mod read;
mod read_many;
mod state;
mod status;
mod tools;
mod turn;
mod watched_files;
mod write;

use std::sync::Arc;
use std::time::Duration;

use tower_lsp::LspService;

use crate::protocol::{Refusal, Settings};
use crate::rpc::{Client, Ending, Lifeline, Limits};
use crate::task::Threads;

pub use front::{Front, METHODS};
pub use state::{Engine, World};
pub use status::of_engine as status_of;
pub use tools::tools_of;

use lsp::Lsp;
use state::State;

/// What the process around the server provides.
pub struct Options {
    pub lifeline: Lifeline,
    pub threads: Threads,
    pub on_settings: OnSettings,
}

/// Called with the settings whenever they are set; returns where the log is written, or why it
/// cannot be.
pub type OnSettings = Box<dyn Fn(&Settings) -> Result<String, String> + Send + Sync>;

/// The server of this client.
pub fn build(options: Options, client: Client) -> Front {
    let state = Arc::new(State::new(client, options));
    let shared = state.clone();
    // The library's own way to the client stays unused: what is said to it goes by ours.
    let (lsp, _) = LspService::new(|_| Lsp { state: shared });
    let told = Arc::downgrade(&state);
    // Set once, here: nobody else sets it.
    state
        .engine
        .reader
        .buffers
        .on_change(Box::new(move |path, buffer| {
            if let Some(state) = told.upgrade() {
                state.engine.reader.outlines.file_changed(path, buffer);
                documents::found_changed(&state, path, buffer.is_none());
            }
        }));
    Front::new(lsp, state)
}

/// What the transport bears of one client (`protocol.md`, Transport and lifecycle).
pub fn limits() -> Limits {
    Limits {
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
pub struct Commits(Arc<State>);

impl Commits {
    fn of(state: Arc<State>) -> Commits {
        Commits(state)
    }

    /// Lets no commit begin any more, and waits for those that have as long as an ending leaves
    /// time: the process is to be gone within a second, except when the client says `exit`.
    pub async fn settled(&self, ending: Ending) {
        let limit = match ending {
            Ending::Exit => Duration::from_secs(5),
            Ending::EndOfInput => Duration::from_millis(100),
            Ending::Signal | Ending::ParentDied | Ending::BrokenOutput => {
                Duration::from_millis(500)
            }
        };
        self.0.edit_queue.settled(limit).await;
    }
}
