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
use super::in_flight::{InFlight, InFlightRequest, NoPlace};
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

/// A frame that came, as it is to be taken.
enum Arrival {
    /// With its place in flight, if it is a request.
    Call(Request, Option<InFlightRequest>),
    Answer(Response),
    Refused(Response),
}

/// The reader with its input: one job after the other, a frame each.
struct ReadLoop<S, R> {
    reader: MessageReader<S>,
    frames: Frames<R>,
    _ending: EndOnDrop,
}

impl<S: Service, R: Read + Send + 'static> ReadLoop<S, R> {
    fn go_on(mut self) {
        let threads = self.reader.threads.clone();
        let is_here = self.frames.has_more();
        let read = move || self.next().map(|arrival| (self, arrival));
        threads.run_input(is_here, read, |read| {
            if let Some((mut this, arrival)) = read {
                this.reader.take(arrival);
                this.go_on();
            }
        });
    }

    /// Waits for room, for a frame and for a place in flight; `None` at the end.
    fn next(&mut self) -> Option<Arrival> {
        let MessageReader {
            outbox, shutdown, ..
        } = &self.reader;
        if !outbox.wait_for_room() || shutdown.ending().is_some() {
            return None;
        }
        match self.frames.next() {
            Ok(Some(frame)) if shutdown.ending().is_none() => {
                let parsed = parsed(&frame);
                if self.frames.has_more() {
                    self.reader.threads.call_ahead();
                }
                Some(self.reader.judged(parsed))
            }
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(%error, "the input cannot be read");
                None
            }
        }
    }
}

fn parsed(frame: &Frame<'_>) -> Result<Message, Response> {
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
        let read_loop = ReadLoop {
            frames: Frames::new(input, frame_bytes),
            _ending: EndOnDrop(self.shutdown.clone(), Ending::EndOfInput),
            reader: self,
        };
        read_loop.go_on();
    }

    /// Waits where no place in flight is free.
    fn judged(&self, parsed: Result<Message, Response>) -> Arrival {
        let request = match parsed {
            Ok(Message::Call(request)) => request,
            Ok(Message::Answer(response)) => return Arrival::Answer(response),
            Err(refusal) => return Arrival::Refused(refusal),
        };
        if let Some(id) = cancelled_by(&request) {
            self.in_flight.cancel(&id);
        }
        let Some(id) = request.id() else {
            return Arrival::Call(request, None);
        };
        match self.in_flight.enter(id) {
            Ok(place) => Arrival::Call(request, Some(place)),
            Err(why) => {
                let error = match why {
                    NoPlace::Full => (self.busy)(),
                    NoPlace::IdInUse => Error::invalid_request(),
                };
                Arrival::Refused(Response::from_error(id.clone(), error))
            }
        }
    }

    /// Does not wait.
    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Call(request, place) => self.call(request, place),
            Arrival::Answer(response) => self.client.answered(response),
            Arrival::Refused(refusal) => self.outbox.send(&refusal),
        }
    }

    fn call(&mut self, request: Request, place: Option<InFlightRequest>) {
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
