//! Reads, parses and begins calls in arrival order; it never waits for one to finish.
//!
//! A call is polled once by who reads: what it does before it first waits has happened before the
//! next frame is looked at. To read the next frame is then a new job for whichever thread is free,
//! and who has read so far goes on with the call, which need not wait until another thread is awake.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
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

/// What a frame says, or how it is refused.
type Came = Result<Message, Response>;

/// The reader with its input.
struct Reading<S, R> {
    reader: MessageReader<S>,
    frames: Frames<R>,
    _ending: EndOnDrop,
}

impl<S: Service, R: Read + Send + 'static> Reading<S, R> {
    fn go_on(mut self) {
        let threads = self.reader.threads.clone();
        let read = move || self.next().map(|came| (self, came));
        threads.run_input(read, |read| {
            if let Some((mut reading, came)) = read {
                reading.reader.take(came);
                reading.go_on();
            }
        });
    }

    /// Waits for a frame; `None` at the end.
    fn next(&mut self) -> Option<Came> {
        let MessageReader {
            outbox, shutdown, ..
        } = &self.reader;
        if !outbox.wait_for_room() || shutdown.ending().is_some() {
            return None;
        }
        match self.frames.next() {
            Ok(Some(frame)) if shutdown.ending().is_none() => Some(parsed(&frame)),
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(%error, "the input cannot be read");
                None
            }
        }
    }
}

fn parsed(frame: &Frame<'_>) -> Came {
    match frame {
        Frame::BadHeader => Err(Response::from_error(Id::Null, Error::parse_error())),
        Frame::TooLarge => Err(Response::from_error(Id::Null, Error::invalid_request())),
        Frame::Body(body) => message::parse(body),
    }
}

impl<S: Service> MessageReader<S> {
    /// Starts to read. It ends with the input, with the shutdown, or with the service; a thread
    /// that waits for input cannot be called back and is left to the end of the process.
    pub fn start(self, input: impl Read + Send + 'static, frame_bytes: u64) {
        let reading = Reading {
            frames: Frames::new(input, frame_bytes),
            _ending: EndOnDrop(self.shutdown.clone(), Ending::EndOfInput),
            reader: self,
        };
        reading.go_on();
    }

    fn take(&mut self, came: Came) {
        match came {
            Ok(Message::Call(request)) => self.call(request),
            Ok(Message::Answer(response)) => self.client.answered(response),
            Err(refusal) => self.outbox.send(&refusal),
        }
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
