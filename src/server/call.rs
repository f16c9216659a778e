//! One call of an `agent/*` method from its arrival to its answer: its cancel, a net for panics,
//! and a line in the log with method, path and duration. Content is never logged.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures::FutureExt;
use serde::Serialize;
use serde_json::{Map, Value};
use tower_lsp::jsonrpc;
use tracing::{info, warn};

use crate::protocol::Refusal;
use crate::rpc::{self, Reply};
use crate::task::CancelToken;

/// A call that has come and is not answered.
pub struct Call {
    method: &'static str,
    pub params: Value,
    reply: Reply,
    /// Cancelled when the client calls it off. Who closes it carries the call through.
    pub cancel: CancelToken,
}

impl Call {
    /// Parameters may be left out: that is an empty object.
    pub fn new(method: &'static str, params: Option<Value>, reply: Reply) -> Call {
        Call {
            method,
            params: params.unwrap_or_else(|| Value::Object(Map::new())),
            cancel: reply.cancel_token(),
            reply,
        }
    }

    /// Answers with what `body` comes to, or that it was cancelled, which drops `body`. `path` is
    /// for the log, as messages repeat it.
    pub fn answer<T: Serialize>(
        self,
        path: Option<String>,
        body: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> rpc::CallFuture {
        let begun = Instant::now();
        let Call {
            method,
            reply,
            cancel,
            ..
        } = self;
        Box::pin(async move {
            let outcome = tokio::select! {
                biased;
                outcome = AssertUnwindSafe(body).catch_unwind() => outcome,
                () = cancel.cancelled() => Ok(Err(Refusal::Cancelled)),
            };
            let outcome = outcome.unwrap_or_else(|panic| {
                warn!(method, panic = panic_message(&*panic), "a handler panicked");
                Err(Refusal::Internal)
            });
            let micros = begun.elapsed().as_micros() as u64;
            // Whoever waits for the answer does not wait for the line about it.
            match outcome {
                Ok(result) => {
                    reply.result(&result);
                    info!(method, path = path.as_deref(), micros, "answered");
                }
                Err(refusal) => {
                    let kind = refusal.kind();
                    reply.error(jsonrpc::Error::from(refusal));
                    info!(method, path = path.as_deref(), micros, ?kind, "refused");
                }
            }
        })
    }
}

/// A panic's own words; they name a place in our code, never a file's content.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
