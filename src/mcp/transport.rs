//! Lines in and lines out. The library starts each handler in a task of its own, in no order; so a
//! call is begun here, by the thread that reads, and travels with its request.
//!
//! What the library would drop in silence is answered: what cannot be read, with its id where one can
//! be found; lone surrogates are mended. Nothing here waits for a call.

use std::convert::Infallible;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Instant;

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, ClientJsonRpcMessage, ClientRequest, GetExtensions, GetMeta, JsonObject,
    JsonRpcMessage, RequestId, RequestMetaObject,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, mpsc};
use tower_lsp::jsonrpc::{Error, Id, Request};

use crate::rpc::{
    EndOnDrop, Ending, InFlight, InputLine, InputLines, Message, NoPlace, Outbox, Shutdown,
    found_id, parse,
};

use super::handler::McpHandler;

/// Messages that wait for the library, at most.
const WAITING: usize = 16;

/// Bytes of a batch of which each request is answered, and how many of them are.
const BATCH_BYTES: usize = 1 << 20;
const BATCH: usize = 1000;

const PARSE: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;

/// The library's end. Clones are the same.
#[derive(Clone)]
pub struct LineTransport {
    received: Arc<Mutex<mpsc::Receiver<ClientJsonRpcMessage>>>,
    outbox: Arc<Outbox>,
    handler: McpHandler,
}

impl Transport<RoleServer> for LineTransport {
    type Error = Infallible;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        if let JsonRpcMessage::Response(response) = &message {
            self.handler.sent(&response.id);
        }
        self.outbox.send_at_once(&message);
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.received.lock().await.recv().await
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Reads the input and begins what comes.
pub struct LineReader {
    handler: McpHandler,
    in_flight: Arc<InFlight>,
    outbox: Arc<Outbox>,
    shutdown: Shutdown,
    library: mpsc::Sender<ClientJsonRpcMessage>,
}

/// Nobody hears any more.
struct HungUp;

impl LineReader {
    /// A reader, and the library's end of what it reads.
    pub fn new(
        handler: McpHandler,
        in_flight: Arc<InFlight>,
        outbox: Arc<Outbox>,
        shutdown: Shutdown,
    ) -> (LineReader, LineTransport) {
        let (library, received) = mpsc::channel(WAITING);
        let transport = LineTransport {
            received: Arc::new(Mutex::new(received)),
            outbox: outbox.clone(),
            handler: handler.clone(),
        };
        let reader = LineReader {
            handler,
            in_flight,
            outbox,
            shutdown,
            library,
        };
        (reader, transport)
    }

    /// Starts the reading thread. It ends with the input or with the shutdown; one that waits for
    /// input cannot be called back and is left to the end of the process.
    pub fn start(self, input: impl Read + Send + 'static, line_bytes: usize) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("mcp-reader".to_owned());
        let read = move || {
            let _ending = EndOnDrop(self.shutdown.clone(), Ending::EndOfInput);
            let mut lines = InputLines::new(input, line_bytes);
            while self.take_next(&mut lines).is_ok() {}
        };
        thread.spawn(read).map(drop)
    }

    fn take_next(&self, lines: &mut InputLines<impl Read>) -> Result<(), HungUp> {
        if !self.outbox.wait_for_room() || self.shutdown.ending().is_some() {
            return Err(HungUp);
        }
        match lines.next_line() {
            Ok(Some(line)) if self.shutdown.ending().is_none() => self.take(&line),
            Ok(_) => Err(HungUp),
            Err(error) => {
                tracing::warn!(%error, "the input cannot be read");
                Err(HungUp)
            }
        }
    }

    fn take(&self, line: &InputLine<'_>) -> Result<(), HungUp> {
        let body = match line {
            InputLine::Body(body) => body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body),
            InputLine::TooLong(start, end) => {
                let id = found_id(start, end).and_then(|id| serde_json::from_str(&id).ok());
                self.refuse(id, INVALID_REQUEST, "The line is longer than 64 MiB.");
                return Ok(());
            }
        };
        let body = body.trim_ascii();
        match body.first() {
            None => return Ok(()),
            Some(b'[') => {
                self.refuse_batch(body);
                return Ok(());
            }
            Some(_) => {}
        }
        match parse(body) {
            Ok(Message::Call(request)) => self.call(request),
            Ok(Message::Answer(response)) => self.pass(json!(response)),
            Err(response) => {
                let (id, outcome) = response.into_parts();
                let id = match json!(id) {
                    Value::Null => {
                        found_id(body, body).and_then(|id| serde_json::from_str(&id).ok())
                    }
                    id => Some(id),
                };
                let code = outcome.err().map(|error: Error| error.code.code());
                let (code, why) = match code {
                    Some(PARSE) | None => (PARSE, "A message is one line of JSON, in UTF-8."),
                    Some(code) => (code, "This is no JSON-RPC 2.0 message."),
                };
                self.refuse(id, code, why);
                Ok(())
            }
        }
    }

    /// Later versions of the protocol have no batches. Who sends one waits for an answer to each
    /// request in it.
    fn refuse_batch(&self, body: &[u8]) {
        #[derive(Deserialize)]
        struct BatchMember {
            #[serde(default)]
            id: Value,
        }
        let why = "Batches are not taken: send one message a line.";
        let members: Vec<BatchMember> = match body.len() <= BATCH_BYTES {
            true => serde_json::from_slice(body).unwrap_or_default(),
            false => Vec::new(),
        };
        let ids = members.into_iter().map(|member| member.id);
        let ids: Vec<Value> = ids.filter(|id| id.is_string() || id.is_i64()).collect();
        if ids.is_empty() {
            return self.refuse(None, INVALID_REQUEST, why);
        }
        for id in ids.into_iter().take(BATCH) {
            self.refuse(Some(id), INVALID_REQUEST, why);
        }
    }

    fn call(&self, request: Request) -> Result<(), HungUp> {
        let (method, id, params) = request.into_parts();
        match (method.as_ref(), &id) {
            ("tools/call", Some(id)) => return self.call_tool(id, params),
            ("notifications/cancelled", None) => {
                let cancelled = params
                    .as_ref()
                    .and_then(|params| as_id(&params["requestId"]));
                if let Some(cancelled) = cancelled {
                    self.in_flight.cancel(&cancelled);
                }
            }
            ("initialize", Some(_)) => {
                self.handler
                    .folders()
                    .client_begins(params.as_ref().unwrap_or(&Value::Null));
            }
            ("notifications/roots/list_changed", None) => self.handler.folders().client_changes(),
            _ => {}
        }
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if let Some(id) = id {
            message["id"] = json!(id);
        }
        if let Some(params) = params {
            message["params"] = params;
        }
        self.pass(message)
    }

    fn call_tool(&self, id: &Id, params: Option<Value>) -> Result<(), HungUp> {
        let since = Instant::now();
        let place = match self.in_flight.enter(id) {
            Ok(place) => place,
            Err(why) => {
                match why {
                    NoPlace::IdInUse => {
                        let why = "This id is that of a call which is not answered yet.";
                        self.refuse(Some(json!(id)), INVALID_REQUEST, why);
                    }
                    NoPlace::Full => self.busy(id),
                }
                return Ok(());
            }
        };
        let mut params = match params {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        let (call, begun) = match self.handler.begin(&mut params, since, place) {
            Ok(begun) => begun,
            Err(ErrorData { message, .. }) => {
                self.refuse(Some(json!(id)), INVALID_PARAMS, &message);
                return Ok(());
            }
        };
        let mut request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
        if let Some(Value::Object(meta)) = params.remove("_meta") {
            *request.get_meta_mut() = RequestMetaObject::from(JsonObject::from(meta));
        }
        request.extensions_mut().insert(begun);
        let id = match id {
            Id::Number(number) => RequestId::Number(*number),
            Id::String(text) => RequestId::String(text.as_str().into()),
            Id::Null => return Ok(()),
        };
        self.send(JsonRpcMessage::request(request, id))
    }

    /// Hands a message to the library as it came.
    fn pass(&self, message: Value) -> Result<(), HungUp> {
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let is_request = message.get("method").is_some();
        match serde_json::from_value(message) {
            Ok(message) => self.send(message),
            Err(error) => {
                tracing::debug!(%error, "a message of no form that is known");
                if let (Some(id), true) = (id, is_request) {
                    self.refuse(
                        Some(id),
                        INVALID_PARAMS,
                        "The parameters are of another form.",
                    );
                }
                Ok(())
            }
        }
    }

    fn send(&self, message: ClientJsonRpcMessage) -> Result<(), HungUp> {
        self.library.blocking_send(message).map_err(|_| HungUp)
    }

    fn busy(&self, id: &Id) {
        let text = "The daemon is busy: 64 calls are under way. Send the call again.";
        self.outbox.send(&json!({
            "jsonrpc": "2.0",
            "id": id,
            "result": { "content": [{ "type": "text", "text": text }], "isError": true },
        }));
    }

    /// Answers with an error; without an id where there is none, as the protocol wants it.
    fn refuse(&self, id: Option<Value>, code: i64, why: &str) {
        let mut answer = json!({ "jsonrpc": "2.0", "error": { "code": code, "message": why } });
        if let Some(id) = id {
            answer["id"] = id;
        }
        self.outbox.send(&answer);
    }
}

fn as_id(value: &Value) -> Option<Id> {
    match value {
        Value::Number(number) => number.as_i64().map(Id::Number),
        Value::String(text) => Some(Id::String(text.clone())),
        _ => None,
    }
}
