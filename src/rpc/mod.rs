//! Framing and transport of JSON-RPC over a pair of streams; it knows no method. Messages are frames with a
//! header (LSP, [`Connection`]) or lines (MCP, whose room takes [`InputLines`] and [`Outbox`] from here).
//!
//! One thread reads, parses and begins calls in arrival order; a call is a future, which is polled
//! once there and then by other threads ([`Threads`]). Cancels, notifications and answers overtake all that is
//! in flight. One thread writes what the thread that made an answer could not write without a
//! wait. Both may block on their streams; nothing else does.
//!
//! Of a call's panic only its own request hears (-32603).

#![warn(missing_docs)]

mod at_once;
mod client;
mod frame;
mod in_flight;
mod lines;
mod lsp;
mod message;
mod process;
mod reader;
mod reply;
mod shutdown;
mod surrogates;
mod writer;

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tower_lsp::jsonrpc::{Error, Request};

use crate::task::Threads;

pub use at_once::Output;
pub use client::Client;
#[cfg(any(test, fuzzing))]
pub(crate) use frame::{Frame, Frames};
pub use in_flight::{Answering, InFlight, InFlightRequest, NoPlace};
pub use lines::{InputLine, InputLines, found_id};
pub use message::{Message, parse};
pub use process::{end_on_signals, watch_parent, watch_process};
use reader::MessageReader;
pub use reply::Reply;
pub use shutdown::{EndOnDrop, Ending, Shutdown};
pub use surrogates::mend as mend_surrogates;
pub use writer::{Framing, Outbox};

/// A call that has begun; it answers by its [`Reply`].
pub type CallFuture = BoxFuture<'static, ()>;

/// What answers the calls of one client.
pub trait Service: Send + 'static {
    /// Begins a call: a request or a notification. Called in the order of arrival, in a runtime,
    /// by a thread that must not be held up: what has to hold for all later calls is done on
    /// return, or by the first poll of the call.
    fn begin(&mut self, call: Request, reply: Reply) -> CallFuture;

    /// Whether the client has said `exit`. Asked after each call.
    fn has_exited(&mut self) -> bool;
}

/// What one client may ask of the transport.
#[derive(Debug, Clone)]
pub struct TransportLimits {
    /// A frame with a larger body is skipped and answered -32600.
    pub frame_bytes: u64,
    /// Requests begun and not answered; one more is answered with `busy`.
    pub in_flight: usize,
    /// At this many bytes of unsent messages nothing is read any more.
    pub unsent_bytes: usize,
    /// What a request over `in_flight` is answered.
    pub busy: fn() -> Error,
}

/// How long the reader waits for a place in flight: what is sent by the thousand is paced.
const PATIENCE: Duration = Duration::from_millis(100);

/// Writes what is sent, a line each, until the outbox is closed.
///
/// # Errors
///
/// Where no thread can be started.
pub fn write_lines(
    output: Output,
    unsent_bytes: usize,
    shutdown: Shutdown,
) -> std::io::Result<Arc<Outbox>> {
    let Output { stream, at_once } = output;
    let outbox = Outbox::new(Framing::Line, unsent_bytes, at_once);
    writer::start(outbox.clone(), stream, shutdown)?;
    Ok(outbox)
}

/// The way to the client: made before the service, which speaks to the client by it.
pub struct Connection {
    outbox: Arc<Outbox>,
    client: Client,
    stream: Box<dyn Write + Send>,
    limits: TransportLimits,
}

impl Connection {
    /// Sends nothing before it is served.
    pub fn new(output: Output, limits: TransportLimits) -> Connection {
        let Output { stream, at_once } = output;
        let outbox = Outbox::new(Framing::Header, limits.unsent_bytes, at_once);
        Connection {
            client: Client::new(outbox.clone()),
            outbox,
            stream,
            limits,
        }
    }

    /// Clones speak to the same client.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Serves the client until the shutdown ends: by the end of the input, `exit`, an output that
    /// cannot be written to, or from outside. Then requests in flight have a moment to finish and
    /// their answers to be written.
    ///
    /// It returns, but a thread that is blocked on its stream stays: leave the process soon after.
    pub async fn serve(
        self,
        service: impl Service,
        input: impl Read + Send + 'static,
        threads: Threads,
        shutdown: Shutdown,
    ) -> Ending {
        let Connection {
            outbox,
            client,
            stream,
            limits,
        } = self;
        let in_flight = InFlight::new(limits.in_flight, PATIENCE);
        let reader = MessageReader {
            service,
            client,
            in_flight: in_flight.clone(),
            busy: limits.busy,
            outbox: outbox.clone(),
            shutdown: shutdown.clone(),
            threads,
        };
        if let Err(error) = writer::start(outbox.clone(), stream, shutdown.clone()) {
            tracing::error!(%error, "the writer cannot be started");
            shutdown.end(Ending::BrokenOutput);
        }
        reader.start(input, limits.frame_bytes);
        let ending = shutdown.ended().await;
        if ending == Ending::Exit {
            in_flight.cancel_all();
        }
        let finished = async {
            in_flight.idle().await;
            outbox.empty().await;
        };
        if tokio::time::timeout(grace(ending), finished).await.is_err() {
            tracing::warn!(?ending, "left with requests in flight or answers unsent");
        }
        outbox.close();
        ending
    }
}

/// How long requests in flight may take to finish after an ending. The process is to be gone
/// within a second of the end of its input; who sends a signal or has died waits for no answer.
pub fn grace(ending: Ending) -> Duration {
    match ending {
        Ending::Exit | Ending::EndOfInput => Duration::from_millis(800),
        Ending::Signal | Ending::ParentDied | Ending::BrokenOutput => Duration::from_millis(300),
    }
}

#[cfg(test)]
mod tests;
