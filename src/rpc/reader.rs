//! The thread that reads, parses and begins calls in arrival order; it never waits for one to
//! finish.
//!
//! A call is polled once in this thread: what it does before it first waits has happened before
//! the next frame is looked at. The rest happens in other threads.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::Handle;
use tower_lsp::jsonrpc::{Error, Id, Request, Response};

use crate::task::Threads;

use super::Service;
use super::client::Client;
use super::frame::{Frame, Frames};
use super::in_flight::{InFlight, NoPlace};
use super::message::{self, Message};
use super::reply::Reply;
use super::shutdown::{EndOnDrop, Ending, Shutdown};
use super::writer::Outbox;

/// Reads the input and begins what comes.
pub struct MessageReader<S> {
    pub service: S,
    pub client: Client,
    pub in_flight: Arc<InFlight>,
    pub busy: fn() -> Error,
    pub outbox: Arc<Outbox>,
    pub shutdown: Shutdown,
    pub threads: Threads,
}

impl<S: Service> MessageReader<S> {
    /// Starts the reading thread. It ends with the input, with the shutdown, or with the service;
    /// one that waits for input cannot be called back and is left to the end of the process.
    pub fn start(
        mut self,
        input: impl Read + Send + 'static,
        frame_bytes: u64,
        runtime: Handle,
    ) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("rpc-reader".to_owned());
        let read = move || {
            let _entered = runtime.enter();
            let _ending = EndOnDrop(self.shutdown.clone(), Ending::EndOfInput);
            let mut frames = Frames::new(input, frame_bytes);
            while self.take_next(&mut frames) {}
        };
        thread.spawn(read).map(drop)
    }

    /// Reads and takes one frame; false at the end.
    fn take_next(&mut self, frames: &mut Frames<impl Read>) -> bool {
        if !self.outbox.wait_for_room() || self.shutdown.ending().is_some() {
            return false;
        }
        match frames.next() {
            Ok(Some(frame)) if self.shutdown.ending().is_none() => {
                self.take(&frame);
                true
            }
            Ok(_) => false,
            Err(error) => {
                tracing::warn!(%error, "the input cannot be read");
                false
            }
        }
    }

    fn take(&mut self, frame: &Frame<'_>) {
        let refusal = match frame {
            Frame::BadHeader => Response::from_error(Id::Null, Error::parse_error()),
            Frame::TooLarge => Response::from_error(Id::Null, Error::invalid_request()),
            Frame::Body(body) => match message::parse(body) {
                Ok(Message::Call(request)) => return self.call(request),
                Ok(Message::Answer(response)) => return self.client.answered(response),
                Err(refusal) => refusal,
            },
        };
        self.outbox.send(&refusal);
    }

    fn call(&mut self, request: Request) {
        if let Some(id) = cancelled_by(&request) {
            self.in_flight.cancel(&id);
        }
        let place = match request.id() {
            None => None,
            Some(id) => match self.in_flight.enter(id) {
                Ok(place) => Some(place),
                Err(why) => {
                    let error = match why {
                        NoPlace::Full => (self.busy)(),
                        NoPlace::IdInUse => Error::invalid_request(),
                    };
                    let refusal = Response::from_error(id.clone(), error);
                    return self.outbox.send(&refusal);
                }
            },
        };
        let reply = Reply::new(self.outbox.clone(), place);
        // A panic drops the reply, which is the answer then.
        let begun = catch_unwind(AssertUnwindSafe(|| self.service.begin(request, reply)));
        if let Ok(call) = begun {
            self.threads.start_here(call);
        }
        if self.service.has_exited() {
            self.shutdown.end(Ending::Exit);
        }
    }
}

/// The id of the request that a `$/cancelRequest` means.
fn cancelled_by(request: &Request) -> Option<Id> {
    if request.method() != "$/cancelRequest" {
        return None;
    }
    match request.params()?.get("id")? {
        Value::Number(number) => number.as_i64().map(Id::Number),
        Value::String(text) => Some(Id::String(text.clone())),
        _ => None,
    }
}
