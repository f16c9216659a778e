//! The part of the protocol that is the LSP's own: lifecycle, documents, configuration. Each
//! notification has its effect at its first poll, which is before the next message is looked at.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tower_lsp::ls_types as lsp;
use tower_lsp::{LanguageServer, jsonrpc};

use super::client::Client;
use super::engine::Engine;
use super::{documents, lifecycle, recovery, watched_files};

/// How long `shutdown` waits for edits.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// The handlers.
pub struct Lsp {
    pub engine: Arc<Engine>,
    pub client: Arc<Client>,
}

impl LanguageServer for Lsp {
    async fn initialize(
        &self,
        params: lsp::InitializeParams,
    ) -> jsonrpc::Result<lsp::InitializeResult> {
        lifecycle::initialize(&self.engine, &self.client, params)
    }

    async fn initialized(&self, _: lsp::InitializedParams) {
        self.client.report_problems().await;
        recovery::report_when_done(&self.engine, &self.client);
    }

    async fn shutdown(&self) -> jsonrpc::Result<()> {
        self.client.shut_down.store(true, Ordering::Relaxed);
        self.engine.edit_queue.drain(DRAIN_LIMIT).await;
        self.engine.reader.buffers.stop_watching();
        self.engine.edit_queue.drain(DRAIN_LIMIT).await;
        Ok(())
    }

    async fn did_open(&self, params: lsp::DidOpenTextDocumentParams) {
        documents::open(&self.engine, &self.client, params);
    }

    async fn did_change(&self, params: lsp::DidChangeTextDocumentParams) {
        documents::change(&self.engine, &self.client, params);
    }

    async fn did_save(&self, params: lsp::DidSaveTextDocumentParams) {
        documents::save(&self.engine, &self.client, &params);
    }

    async fn did_close(&self, params: lsp::DidCloseTextDocumentParams) {
        documents::close(&self.engine, &self.client, &params);
    }

    async fn did_change_configuration(&self, params: lsp::DidChangeConfigurationParams) {
        lifecycle::change_configuration(&self.engine, &self.client, params).await;
    }

    async fn did_change_watched_files(&self, params: lsp::DidChangeWatchedFilesParams) {
        watched_files::changed(&self.engine, params);
    }

    async fn did_change_workspace_folders(&self, params: lsp::DidChangeWorkspaceFoldersParams) {
        lifecycle::change_folders(&self.engine, &self.client, params);
        self.client.report_problems().await;
        recovery::report_when_done(&self.engine, &self.client);
    }
}
