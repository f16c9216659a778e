//! The part of the protocol that is the LSP's own: lifecycle, documents, configuration. Each
//! notification has its effect at its first poll, which is before the next message is looked at.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tower_lsp::ls_types as lsp;
use tower_lsp::{LanguageServer, jsonrpc};

use super::state::State;
use super::{documents, lifecycle, watched_files};

/// How long `shutdown` waits for edits.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// The handlers, over the shared state.
pub struct Lsp {
    pub state: Arc<State>,
}

impl LanguageServer for Lsp {
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
        self.state.edit_queue.drain(DRAIN_LIMIT).await;
        self.state.engine.reader.buffers.stop_watching();
        self.state.edit_queue.drain(DRAIN_LIMIT).await;
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
