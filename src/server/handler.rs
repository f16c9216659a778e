//! What every `agent/*` handler has around it: a line in the log with method, path and duration, and a net for panics; content is never logged.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures::FutureExt;
use tower_lsp::jsonrpc;
use tracing::{info, warn};

use crate::protocol::Refusal;
use crate::rpc;

/// Runs a handler's body; `path` is as messages repeat it. A panic is an internal error of this request alone; it is caught here
/// because the LSP service would keep the request's id for ever.
pub async fn answer<T>(
    method: &'static str,
    path: Option<String>,
    body: impl Future<Output = Result<T, Refusal>>,
) -> jsonrpc::Result<T> {
    let begun = Instant::now();
    let outcome = AssertUnwindSafe(body).catch_unwind().await;
    let outcome = outcome.unwrap_or_else(|panic| {
        warn!(method, panic = panic_message(&*panic), "a handler panicked");
        Err(Refusal::Internal)
    });
    let micros = begun.elapsed().as_micros() as u64;
    let refused = outcome.as_ref().err().map(Refusal::kind);
    // Whoever waits for the answer does not wait for the line about it.
    rpc::afterwards(move || match refused {
        None => info!(method, path = path.as_deref(), micros, "answered"),
        Some(kind) => info!(method, path = path.as_deref(), micros, ?kind, "refused"),
    });
    outcome.map_err(jsonrpc::Error::from)
}

/// A panic's own words; they name a place in our code, never a file's content.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
