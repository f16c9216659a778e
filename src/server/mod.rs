//! The LSP face: lifecycle and one file per `agent/*` method; order is decided before the first await and nowhere else.

mod cancels;
mod carry_out;
mod close_session;
mod documents;
mod edit;
mod editor;
mod face;
mod flush;
mod handler;
mod hold;
mod in_one_job;
mod intake;
mod leftovers;
mod lifecycle;
mod notices;
mod one_shot;
mod read;
mod read_many;
mod state;
mod status;
mod tools;
mod watched_files;
mod write;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::runtime::Handle;
use tower_lsp::ls_types as lsp;
use tower_lsp::{ClientSocket, LanguageServer, LspService, jsonrpc};

use crate::protocol::{Refusal, Settings};
use crate::rpc::{Lifeline, Limits};

pub use face::{Commits, Face};
pub use state::{Engine, World};
pub use status::of_engine as status_of;
pub use tools::tools_of;

use state::State;

/// Every `agent/*` method, as `initialize` and the README list them.
pub const METHODS: &[&str] = &[
    "agent/read",
    "agent/readMany",
    "agent/edit",
    "agent/write",
    "agent/flush",
    "agent/tools",
    "agent/status",
    "agent/closeSession",
];

/// How long `shutdown` waits for edits.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// What the process around the server provides.
pub struct Options {
    pub lifeline: Lifeline,
    pub on_settings: OnSettings,
}

/// Called with the settings whenever they are set; returns where the log is written, or why it
/// cannot be.
pub type OnSettings = Box<dyn Fn(&Settings) -> Result<String, String> + Send + Sync>;

/// The server and the requests it will send to its client. To be called within a runtime.
pub fn build(options: Options) -> (Face, ClientSocket) {
    let builder = LspService::build(|client| Server {
        state: Arc::new(State::new(client, options)),
    })
    .custom_method("agent/read", Server::read)
    .custom_method("agent/readMany", Server::read_many)
    .custom_method("agent/edit", Server::edit)
    .custom_method("agent/write", Server::write)
    .custom_method("agent/flush", Server::flush)
    .custom_method("agent/tools", Server::tools)
    .custom_method("agent/status", Server::status)
    .custom_method("agent/closeSession", Server::close_session)
    .custom_method("agent/documentState", Server::document_state);
    let builder = match hold::is_wanted() {
        true => builder.custom_method("agent/testEdit", Server::test_edit),
        false => builder,
    };
    let (service, socket) = builder.finish();
    let state = service.inner().state.clone();
    let (told, runtime) = (Arc::downgrade(&state), Handle::current());
    // Set once, here: nobody else sets it.
    state
        .engine
        .reader
        .buffers
        .on_change(Box::new(move |path, buffer| {
            if let Some(state) = told.upgrade() {
                state.engine.reader.outlines.file_changed(path, buffer);
                documents::found_changed(&state, &runtime, path, buffer.is_none());
            }
        }));
    (Face::new(service, state), socket)
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

/// The handlers of every method, over the shared state.
pub struct Server {
    state: Arc<State>,
}

impl LanguageServer for Server {
    async fn initialize(
        &self,
        params: lsp::InitializeParams,
    ) -> jsonrpc::Result<lsp::InitializeResult> {
        lifecycle::initialize(&self.state, params)
    }

    async fn initialized(&self, _: lsp::InitializedParams) {
        lifecycle::report_problems(&self.state).await;
        self.state.report_when_cleaned();
    }

    async fn shutdown(&self) -> jsonrpc::Result<()> {
        self.state.shut_down.store(true, Ordering::Relaxed);
        self.state.intake.drain(DRAIN_LIMIT).await;
        self.state.engine.reader.buffers.stop_watching();
        self.state.intake.drain(DRAIN_LIMIT).await;
        Ok(())
    }

    async fn did_open(&self, params: lsp::DidOpenTextDocumentParams) {
        documents::open(&self.state, params);
    }

    async fn did_change(&self, params: lsp::DidChangeTextDocumentParams) {
        documents::change(&self.state, params);
    }

    async fn did_save(&self, params: lsp::DidSaveTextDocumentParams) {
        documents::save(&self.state, &params);
    }

    async fn did_close(&self, params: lsp::DidCloseTextDocumentParams) {
        documents::close(&self.state, &params);
    }

    async fn did_change_configuration(&self, params: lsp::DidChangeConfigurationParams) {
        lifecycle::change_configuration(&self.state, params).await;
    }

    async fn did_change_watched_files(&self, params: lsp::DidChangeWatchedFilesParams) {
        watched_files::changed(&self.state, params);
    }

    async fn did_change_workspace_folders(&self, params: lsp::DidChangeWorkspaceFoldersParams) {
        lifecycle::change_folders(&self.state, params);
        lifecycle::report_problems(&self.state).await;
        self.state.report_when_cleaned();
    }
}
