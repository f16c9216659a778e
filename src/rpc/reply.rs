//! The answer to one call, owed from its arrival on. It is written by the thread that has it.

use std::sync::Arc;

use serde::Serialize;
use tower_lsp::jsonrpc::{Error, Id, Response};

use crate::task::CancelToken;

use super::in_flight::{Answering, InFlightRequest};
use super::writer::Outbox;

/// Answers a call once. Dropped without that, it answers a request with -32603: whoever panicked
/// or forgot owes one all the same. A notification has no answer, and nothing is sent for it.
#[derive(Debug)]
pub struct Reply {
    outbox: Arc<Outbox>,
    /// Of a request, until it is answered.
    place: Option<InFlightRequest>,
}

/// A response as it stands on the wire, around a result that is not copied.
#[derive(Serialize)]
struct Success<'a, T> {
    jsonrpc: &'static str,
    result: &'a T,
    id: &'a Id,
}

impl Reply {
    /// The answer to a request, which has a place in flight, or that to a notification.
    pub fn new(outbox: Arc<Outbox>, place: Option<InFlightRequest>) -> Reply {
        Reply { outbox, place }
    }

    /// Gives the place back without an answer: another one has answered, or nobody is to.
    pub fn leave(mut self) {
        if let Some(place) = self.place.take() {
            drop(place.give_back());
        }
    }

    /// Whether an answer is waited for.
    pub fn is_owed(&self) -> bool {
        self.place.is_some()
    }

    /// Is cancelled when the client calls the request off.
    pub fn cancel_token(&self) -> CancelToken {
        let place = self.place.as_ref();
        place
            .map(|place| place.cancel().clone())
            .unwrap_or_default()
    }

    /// Answers with a result; nothing where nobody asked for an answer.
    pub fn result(mut self, result: &impl Serialize) {
        if let Some(place) = self.place.take() {
            let answering = place.give_back();
            let success = Success {
                jsonrpc: "2.0",
                result,
                id: answering.id(),
            };
            send(&self.outbox, &success, &answering);
        }
    }

    /// Sends a message that is of use before the answer alone.
    pub fn send_before(&self, message: &impl Serialize) {
        self.outbox.send(message);
    }

    /// Answers with an error, as [`Reply::result`] does.
    pub fn error(mut self, error: Error) {
        self.send_error(error);
    }

    /// What a service of the LSP library has answered.
    pub fn response(mut self, response: &Response) {
        if let Some(place) = self.place.take() {
            send(&self.outbox, response, &place.give_back());
        }
    }

    fn send_error(&mut self, error: Error) {
        if let Some(place) = self.place.take() {
            let answering = place.give_back();
            let response = Response::from_error(answering.id().clone(), error);
            send(&self.outbox, &response, &answering);
        }
    }
}

fn send(outbox: &Outbox, answer: &impl Serialize, answering: &Answering) {
    // Answers that come by the dozen are better written many at a time.
    match answering.is_among_few() {
        true => outbox.send_at_once(answer),
        false => outbox.send(answer),
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.send_error(Error::internal_error());
    }
}
