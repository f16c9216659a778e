//! The least a server over this transport can do: a method that gives back what it was sent; it never reads a file.

use std::os::fd::AsFd;

use pilcrow::rpc::{self, Lifeline};
use pilcrow::server;
use serde_json::Value;
use tower_lsp::ls_types as lsp;
use tower_lsp::{LanguageServer, LspService, jsonrpc};

/// The variable that makes a benchmark serve instead.
pub const ASKED: &str = "PILCROW_BENCH_ECHO";
/// The method that echoes.
pub const METHOD: &str = "echo";

struct Echo;

impl LanguageServer for Echo {
    async fn initialize(&self, _: lsp::InitializeParams) -> jsonrpc::Result<lsp::InitializeResult> {
        Ok(lsp::InitializeResult::default())
    }

    async fn shutdown(&self) -> jsonrpc::Result<()> {
        Ok(())
    }
}

impl Echo {
    async fn echo(&self, params: Value) -> jsonrpc::Result<Value> {
        Ok(params)
    }
}

/// Serves an echo until its input ends, if this process was started for that. Whether it was.
pub fn serve_if_asked() -> std::io::Result<bool> {
    if std::env::var_os(ASKED).is_none() {
        return Ok(false);
    }
    let input = rpc::Input::of(std::io::stdin().as_fd().try_clone_to_owned()?.into());
    let output = rpc::Output::of(std::io::stdout().as_fd().try_clone_to_owned()?.into());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async move {
        let (service, socket) = LspService::build(|_| Echo)
            .custom_method(METHOD, Echo::echo)
            .finish();
        let (limits, lifeline) = (server::limits(), Lifeline::new());
        rpc::serve(service, socket, input, output, limits, lifeline).await
    });
    runtime.shutdown_background();
    Ok(true)
}
