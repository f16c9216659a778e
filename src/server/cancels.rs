//! Cancels of edits: each is heard until the edit is past calling off, and then no more; `$/cancelRequest` of other requests is none of this file's business.
//!
//! The LSP service drops the future of a request that is cancelled and answers -32800, whatever was
//! done by then. Of an edit that would be untrue as soon as a file has its new text. So the face
//! keeps the cancels of edits to itself, and gives each edit, by the id of its request, the token
//! that it looks at.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Id, Request};

use crate::task::CancelToken;

/// The methods whose cancels are heard here.
const EDITS: &[&str] = &["agent/edit", "agent/write"];

/// The parameter in which an edit is told the id of its request; a client's own is overwritten.
const ID: &str = "$id";

/// The edits that have begun and are not answered.
#[derive(Debug, Clone, Default)]
pub struct Cancels(Arc<Mutex<HashMap<Id, CancelToken>>>);

/// Takes an edit off the list when it is dropped.
#[derive(Debug)]
pub struct Begun(Cancels, Id);

impl Cancels {
    /// Puts an edit on the list, and gives it back as it is to be called. `None` beside it for
    /// other requests, and where another edit of that id is not answered.
    pub fn begin(&self, request: Request) -> (Request, Option<Begun>) {
        let is_edit = EDITS.contains(&request.method());
        let Some(id) = request.id().cloned().filter(|_| is_edit) else {
            return (request, None);
        };
        if self.0.lock().contains_key(&id) {
            return (request, None);
        }
        let (method, _, params) = request.into_parts();
        let mut params = params.unwrap_or_else(|| json!({}));
        if let Some(fields) = params.as_object_mut() {
            fields.insert(ID.to_owned(), json!(id));
        }
        self.0.lock().insert(id.clone(), CancelToken::new());
        let request = Request::build(method).id(id.clone()).params(params);
        (request.finish(), Some(Begun(self.clone(), id)))
    }

    /// Cancels the edit that a `$/cancelRequest` means; whether it is one.
    pub fn cancel(&self, request: &Request) -> bool {
        let id = (request.method() == "$/cancelRequest")
            .then(|| id_in(request.params()?, "id"))
            .flatten();
        let token = id.and_then(|id| self.0.lock().get(&id).cloned());
        // It may come too late, and then it is not heard.
        token.map(|token| token.cancel()).is_some()
    }

    /// The token of the edit with these parameters.
    pub fn of(&self, params: &Value) -> CancelToken {
        let id = id_in(params, ID);
        let token = id.and_then(|id| self.0.lock().get(&id).cloned());
        token.unwrap_or_default()
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let Begun(Cancels(begun), id) = self;
        begun.lock().remove(id);
    }
}

fn id_in(fields: &Value, key: &str) -> Option<Id> {
    match fields.get(key)? {
        Value::Number(number) => number.as_i64().map(Id::Number),
        Value::String(text) => Some(Id::String(text.clone())),
        _ => None,
    }
}
