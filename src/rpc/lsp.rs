//! A service of the LSP library behind [`Service`]: it routes what it knows and keeps the order of
//! `initialize`, `shutdown` and `exit`.

use std::future::{Ready, poll_fn, ready};
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use tower::Service as _;
use tower_lsp::jsonrpc::{Error, Request};
use tower_lsp::{LanguageServer, LspService};

use super::reply::Reply;
use super::{CallFuture, Service};

impl<S: LanguageServer> Service for LspService<S> {
    fn begin(&mut self, request: Request, reply: Reply) -> CallFuture {
        let ready = poll_fn(|context| self.poll_ready(context)).now_or_never();
        let Some(Ok(())) = ready else {
            return refused(reply, Error::invalid_request()).boxed();
        };
        let answer = self.call(request);
        Box::pin(async move {
            match answer.await {
                Ok(Some(response)) => reply.response(&response),
                // It keeps silent about unknown methods that begin with `$/`. Right for
                // notifications, but every request has an answer.
                Ok(None) => reply.error(Error::method_not_found()),
                Err(_) => reply.error(Error::invalid_request()),
            }
        })
    }

    fn has_exited(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        matches!(self.poll_ready(&mut context), Poll::Ready(Err(_)))
    }
}

fn refused(reply: Reply, error: Error) -> Ready<()> {
    reply.error(error);
    ready(())
}
