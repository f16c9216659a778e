//! The client as somebody to talk to: notifications of ours, and requests of ours with their
//! answers.
//!
//! They go into the outbox at once, so what is said before an answer is written before it. Ids of
//! our requests have a prefix, so that they are never mistaken for the client's own in a log.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Id, Response};
use tower_lsp::ls_types::notification::Notification;
use tower_lsp::ls_types::request::Request;

use super::writer::Outbox;

/// Says things to the client. Clones share it.
#[derive(Debug, Clone)]
pub struct Client {
    outbox: Arc<Outbox>,
    asked: Arc<PendingRequests>,
}

/// Requests of ours that are not answered. Who asks limits its own wait, and its entry goes when
/// it no longer waits; so there are never more than there are calls in flight.
#[derive(Debug, Default)]
struct PendingRequests {
    next: AtomicU64,
    waiting: Mutex<HashMap<Id, oneshot::Sender<Result<Value, Error>>>>,
}

/// Takes a question off the list when nobody waits for its answer any more; where that is to be told,
/// the client hears that it is called off, unless it has answered.
struct Question<'a> {
    client: &'a Client,
    id: Id,
    tells: bool,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let waited = self.client.asked.waiting.lock().remove(&self.id);
        if waited.is_some() && self.tells {
            let message =
                json!({ "jsonrpc": "2.0", "method": CANCEL, "params": { "id": self.id } });
            self.client.outbox.send(&message);
        }
    }
}

const CANCEL: &str = "$/cancelRequest";

impl Client {
    pub(super) fn new(outbox: Arc<Outbox>) -> Client {
        Client {
            outbox,
            asked: Arc::default(),
        }
    }

    /// Sends a notification, as soon as there is room for it among what is not yet written.
    pub async fn notify<N: Notification>(&self, params: N::Params)
    where
        N::Params: Serialize,
    {
        self.outbox.room().await;
        let message = json!({ "jsonrpc": "2.0", "method": N::METHOD, "params": params });
        self.outbox.send(&message);
    }

    /// Asks and waits for the answer, without a limit. An answer of another form than `R::Result`
    /// is an error as those are that the client sends.
    pub async fn ask<R: Request>(&self, params: R::Params) -> Result<R::Result, Error>
    where
        R::Params: Serialize,
        R::Result: DeserializeOwned,
    {
        self.question::<R>(params, false).await
    }

    /// As [`Client::ask`]; where the future is dropped before the answer, the client hears
    /// `$/cancelRequest`.
    pub async fn ask_or_cancel<R: Request>(&self, params: R::Params) -> Result<R::Result, Error>
    where
        R::Params: Serialize,
        R::Result: DeserializeOwned,
    {
        self.question::<R>(params, true).await
    }

    async fn question<R: Request>(&self, params: R::Params, tells: bool) -> Result<R::Result, Error>
    where
        R::Params: Serialize,
        R::Result: DeserializeOwned,
    {
        self.outbox.room().await;
        let number = self.asked.next.fetch_add(1, Ordering::Relaxed);
        let id = Id::String(format!("pilcrow:{number}"));
        let (answer, answered) = oneshot::channel();
        self.asked.waiting.lock().insert(id.clone(), answer);
        let question = Question {
            client: self,
            id,
            tells,
        };
        let message =
            json!({ "jsonrpc": "2.0", "id": question.id, "method": R::METHOD, "params": params });
        self.outbox.send(&message);
        let answer = answered
            .await
            .unwrap_or_else(|_| Err(Error::internal_error()))?;
        serde_json::from_value(answer).map_err(|error| Error::invalid_params(error.to_string()))
    }

    /// Takes the client's answer to a request of ours; one that nobody waits for is let go.
    pub(super) fn answered(&self, response: Response) {
        let (id, outcome) = response.into_parts();
        let waiting = self.asked.waiting.lock().remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(outcome);
        }
    }
}
