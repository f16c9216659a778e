//! A thin service in front of the LSP service that mends what its router is too strict about; it never answers a method itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::{Map, Value};
use tower::Service;
use tower_lsp::jsonrpc::{Request, Response};
use tower_lsp::{ExitedError, LspService};

use crate::rpc::Ending;

use super::Server;
use super::state::State;

/// The server as the transport sees it.
pub struct Face {
    service: LspService<Server>,
    state: Arc<State>,
}

impl Face {
    pub(super) fn new(service: LspService<Server>, state: Arc<State>) -> Face {
        Face { service, state }
    }

    /// The commits that must not be cut off by the end of the process.
    pub fn commits(&self) -> Commits {
        Commits(self.state.clone())
    }

    /// Tells, also after the transport has taken the face, whether `shutdown` was answered.
    pub fn was_shut_down(&self) -> impl Fn() -> bool + Send + 'static {
        let state = self.state.clone();
        move || state.shut_down.load(Ordering::Relaxed)
    }
}

/// Outlives the face: the commits that have begun.
pub struct Commits(Arc<State>);

impl Commits {
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
        self.0.intake.settled(limit).await;
    }
}

impl Service<Request> for Face {
    type Response = Option<Response>;
    type Error = ExitedError;
    type Future = <LspService<Server> as Service<Request>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ExitedError>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let cancels = &self.state.cancels;
        if cancels.cancel(&request) {
            return Box::pin(std::future::ready(Ok(None)));
        }
        let (request, begun) = cancels.begin(mended(request));
        let answer = self.service.call(request);
        match begun {
            None => answer,
            Some(begun) => Box::pin(async move {
                let answer = answer.await;
                drop(begun);
                answer
            }),
        }
    }
}

/// `agent/*` methods may come without params, and `shutdown` and `exit` with empty ones; the router
/// would refuse both.
fn mended(request: Request) -> Request {
    let is_ours = request.method().starts_with("agent/");
    let ends = matches!(request.method(), "shutdown" | "exit");
    if !((is_ours && request.params().is_none()) || (ends && request.params().is_some())) {
        return request;
    }
    let (method, id, _) = request.into_parts();
    let mut mended = Request::build(method);
    if let Some(id) = id {
        mended = mended.id(id);
    }
    if is_ours {
        mended = mended.params(Value::Object(Map::new()));
    }
    mended.finish()
}
