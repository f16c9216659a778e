//! What a client's calls come to first: `agent/*` are begun here, the rest is the LSP library's.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tower_lsp::LspService;
use tower_lsp::jsonrpc::{Error, ErrorCode, Request};

use crate::rpc::{self, Reply, Service};

use super::call::Call;
use super::client::Client;
use super::engine::Engine;
#[cfg(any(feature = "failpoints", debug_assertions))]
use super::hold;
use super::lsp::Lsp;
use super::{
    close_session, documents, edit, flush, put_artifact, read, read_many, resolve, search, status,
    tools, write,
};

/// Every `agent/*` method, as `initialize` and the README list them.
pub const METHODS: &[&str] = &[
    "agent/read",
    "agent/readMany",
    "agent/search",
    "agent/edit",
    "agent/write",
    "agent/putArtifact",
    "agent/flush",
    "agent/tools",
    "agent/status",
    "agent/closeSession",
];

/// Begins a call of one method: its place in the order is taken, and everything that decides what
/// it means is looked up, before this returns. It does no I/O.
type Begin = fn(&Arc<Engine>, &Arc<Client>, Call) -> rpc::CallFuture;

/// The methods of ours, and the notifications.
fn method(name: &str) -> Option<(&'static str, Begin)> {
    Some(match name {
        "agent/read" => ("agent/read", read::begin),
        "agent/readMany" => ("agent/readMany", read_many::begin),
        "agent/search" => ("agent/search", search::begin),
        "agent/edit" => ("agent/edit", edit::begin),
        "agent/write" => ("agent/write", write::begin),
        "agent/putArtifact" => ("agent/putArtifact", put_artifact::begin),
        "agent/flush" => ("agent/flush", flush::begin),
        "agent/tools" => ("agent/tools", tools::begin),
        "agent/status" => ("agent/status", status::begin),
        "agent/closeSession" => ("agent/closeSession", close_session::begin),
        "agent/documentState" => ("agent/documentState", documents::begin_state),
        "agent/didChangeSchemes" => ("agent/didChangeSchemes", resolve::begin_change),
        #[cfg(any(feature = "failpoints", debug_assertions))]
        "agent/testEdit" if hold::is_wanted() => ("agent/testEdit", hold::begin),
        _ => return None,
    })
}

/// The server as the transport sees it.
pub struct Front {
    lsp: LspService<Lsp>,
    engine: Arc<Engine>,
    client: Arc<Client>,
}

impl Front {
    pub(super) fn new(engine: Arc<Engine>, client: Arc<Client>) -> Front {
        let (shared, clients) = (engine.clone(), client.clone());
        // The library's own way to the client stays unused: what is said to it goes by ours.
        let (lsp, _) = LspService::new(|_| Lsp {
            engine: shared,
            client: clients,
        });
        Front {
            lsp,
            engine,
            client,
        }
    }

    /// The commits that must not be cut off by the end of the process.
    pub fn commits(&self) -> super::Commits {
        super::Commits::of(self.engine.clone())
    }

    /// Tells, also after the transport has taken the front, whether `shutdown` was answered.
    pub fn was_shut_down(&self) -> impl Fn() -> bool + Send + 'static {
        let client = self.client.clone();
        move || client.shut_down.load(Ordering::Relaxed)
    }
}

impl Service for Front {
    fn begin(&mut self, call: Request, reply: Reply) -> rpc::CallFuture {
        let Some((method, begin)) = method(call.method()) else {
            return self.lsp.begin(mended(call), reply);
        };
        if let Some(error) = out_of_season(&self.client) {
            reply.error(error);
            return Box::pin(std::future::ready(()));
        }
        let (_, _, params) = call.into_parts();
        begin(&self.engine, &self.client, Call::new(method, params, reply))
    }

    fn has_exited(&mut self) -> bool {
        self.lsp.has_exited()
    }
}

/// Why nothing of ours is answered now: the LSP's own words for before and after.
fn out_of_season(client: &Client) -> Option<Error> {
    if client.shut_down.load(Ordering::Relaxed) {
        return Some(Error::invalid_request());
    }
    (!client.is_initialized()).then(|| Error {
        code: ErrorCode::ServerError(-32002),
        message: "Server not initialized".into(),
        data: None,
    })
}

/// `shutdown` and `exit` may come with empty params, which the LSP library would refuse.
fn mended(request: Request) -> Request {
    let ends = matches!(request.method(), "shutdown" | "exit");
    if !ends || request.params().is_none() {
        return request;
    }
    let (method, id, _) = request.into_parts();
    let mended = Request::build(method);
    match id {
        Some(id) => mended.id(id).finish(),
        None => mended.finish(),
    }
}
