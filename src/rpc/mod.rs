//! Framing and transport over an LSP service; nothing in here knows a method.
//!
//! One thread at a time reads, parses and begins calls in arrival order, so that what a handler does before
//! its first await happens in that order, and cancels, notifications and answers overtake all
//! that is in flight. One thread writes. Both may block on their streams; nothing else does. The
//! answer to a call that is alone in flight is written by the thread that made it, as far as the
//! output takes it without a wait.
//!
//! Of a handler's panic only its own request hears (-32603). `LspService` does not forget the id
//! of a request whose future panicked and refuses it from then on, so handlers catch their own.

mod at_once;
mod errand;
mod flight;
mod frame;
mod gate;
mod lifeline;
mod message;
mod process;
mod reader;
mod surrogates;
mod writer;

use std::io::Read;
use std::time::Duration;

use tokio::runtime::Handle;
use tower::Service;
use tower_lsp::jsonrpc::{Error, Request, Response};
use tower_lsp::{ClientSocket, ExitedError};

pub use at_once::Output;
pub use errand::run_soon;
pub use flight::{afterwards, complete_here};
#[cfg(any(test, fuzzing))]
pub(crate) use frame::{Frame, Frames};
use gate::Gate;
pub use lifeline::{Ending, Lifeline};
pub use process::{end_on_signals, watch_process};
use reader::{Reader, Replies};
use writer::{Outbox, Pump};

/// What one client may ask of the transport.
#[derive(Debug, Clone)]
pub struct Limits {
    /// A frame with a larger body is skipped and answered -32600.
    pub frame_bytes: u64,
    /// Requests begun and not answered; one more is answered with `busy`.
    pub in_flight: usize,
    /// At this many bytes of unsent messages nothing is read any more.
    pub unsent_bytes: usize,
    /// What a request over `in_flight` is answered.
    pub busy: fn() -> Error,
}

/// Serves a client until the lifeline ends: by the end of the input, the service's exit, an output
/// that cannot be written to, or from outside. Then requests in flight have a moment to finish
/// and their answers to be written.
///
/// It returns, but a thread that is blocked on its stream stays: leave the process soon after.
pub async fn serve<S>(
    service: S,
    socket: ClientSocket,
    input: impl Read + Send + 'static,
    output: Output,
    limits: Limits,
    lifeline: Lifeline,
) -> Ending
where
    S: Service<Request, Response = Option<Response>, Error = ExitedError> + Send + 'static,
    S::Future: Send + 'static,
{
    let (requests, answers) = socket.split();
    let Output { stream, at_once } = output;
    let outbox = Outbox::new(limits.unsent_bytes, at_once);
    let gate = Gate::new(limits.in_flight);
    let pump = Pump::new(requests, outbox.clone());
    let reader = Reader {
        service,
        answers,
        gate: gate.clone(),
        busy: limits.busy,
        replies: Replies {
            outbox: outbox.clone(),
            pump: pump.clone(),
            lifeline: lifeline.clone(),
        },
    };
    if let Err(error) = writer::start(outbox.clone(), stream, lifeline.clone()) {
        tracing::error!(%error, "the writer cannot be started");
        lifeline.end(Ending::BrokenOutput);
    }
    if let Err(error) = reader.start(input, limits.frame_bytes, &Handle::current()) {
        tracing::error!(%error, "the reader cannot be started");
        lifeline.end(Ending::EndOfInput);
    }
    let pumping = tokio::spawn(async move { pump.run().await });
    let ending = lifeline.ended().await;
    let finished = async {
        gate.idle().await;
        outbox.empty().await;
    };
    if tokio::time::timeout(grace(ending), finished).await.is_err() {
        tracing::warn!(?ending, "left with requests in flight or answers unsent");
    }
    pumping.abort();
    outbox.close();
    ending
}

/// How long requests in flight may take to finish after an ending. The process is to be gone
/// within a second of the end of its input; who sends a signal or has died waits for no answer.
fn grace(ending: Ending) -> Duration {
    match ending {
        Ending::Exit | Ending::EndOfInput => Duration::from_millis(800),
        Ending::Signal | Ending::ParentDied | Ending::BrokenOutput => Duration::from_millis(300),
    }
}

#[cfg(test)]
mod tests;
