//! Lines in and lines out. The library starts each handler in a task of its own, in no order; so a
//! call is begun here, by the thread that reads, and travels with its request. To read is one job after
//! the other, a line each; what waits (for input, for a place in flight, for room in the library's
//! queue) is done in it.
//!
//! What the library would drop in silence is answered: what cannot be read, with its id where one can
//! be found; lone surrogates are mended. Nothing here waits for a call.

use std::convert::Infallible;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
use tower_lsp::jsonrpc::{Error, Id, Request, Response};

use crate::protocol::Refusal;
use crate::rpc::{
    EndOnDrop, Ending, InFlight, InFlightRequest, InputLine, InputLines, Message, NoPlace, Outbox,
    Shutdown, found_id, parse,
};
use crate::task::Threads;

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
    threads: Threads,
    library: mpsc::Sender<ClientJsonRpcMessage>,
}

/// A place in the library's queue.
type QueuePermit = mpsc::OwnedPermit<ClientJsonRpcMessage>;

/// What came in a line.
enum Arrival {
    ToolCall(ToolRequest),
    /// Any other request or notification.
    Other(Request),
    Answer(Response),
}

/// A call of a tool as it came, with its place in flight.
struct ToolRequest {
    id: Id,
    params: Option<Value>,
    since: Instant,
    place: InFlightRequest,
}

/// The reader with its input: one job after the other, a line each.
struct ReadLoop<R> {
    reader: LineReader,
    lines: InputLines<R>,
    _ending: EndOnDrop,
}

impl<R: Read + Send + 'static> ReadLoop<R> {
    fn go_on(mut self) {
        let threads = self.reader.threads.clone();
        let is_here = self.lines.has_more();
        let read = move || self.next().map(|(arrival, place)| (self, arrival, place));
        threads.run_input(is_here, read, |read| {
            if let Some((this, arrival, place)) = read {
                this.reader.take(arrival, place);
                this.go_on();
            }
        });
    }

    /// Waits for room in the outbox, for a line, for a place in flight and for one in the library's
    /// queue; `None` at the end.
    fn next(&mut self) -> Option<(Arrival, QueuePermit)> {
        let reader = &self.reader;
        loop {
            if !reader.outbox.wait_for_room() || reader.shutdown.ending().is_some() {
                return None;
            }
            let arrival = match self.lines.next_line() {
                Ok(Some(line)) if reader.shutdown.ending().is_none() => reader.arrival(&line),
                Ok(_) => return None,
                Err(error) => {
                    tracing::warn!(%error, "the input cannot be read");
                    return None;
                }
            };
            let Some(arrival) = arrival else {
                continue;
            };
            if self.lines.has_more() {
                reader.threads.call_ahead();
            }
            // The library hangs up at the end.
            let place = reader.library.clone().reserve_owned();
            let place = reader.threads.runtime().block_on(place).ok()?;
            return Some((arrival, place));
        }
    }
}

impl LineReader {
    /// A reader, and the library's end of what it reads.
    pub fn new(
        handler: McpHandler,
        in_flight: Arc<InFlight>,
        outbox: Arc<Outbox>,
        shutdown: Shutdown,
        threads: Threads,
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
            threads,
            library,
        };
        (reader, transport)
    }

    /// Starts to read. It ends with the input or with the shutdown; a thread that waits for input
    /// cannot be called back and is left to the end of the process.
    pub fn start(self, input: impl Read + Send + 'static, line_bytes: usize) {
        let read_loop = ReadLoop {
            lines: InputLines::new(input, line_bytes),
            _ending: EndOnDrop(self.shutdown.clone(), Ending::EndOfInput),
            reader: self,
        };
        read_loop.go_on();
    }

    /// What came, unless it is refused here. Waits where no place in flight is free.
    fn arrival(&self, line: &InputLine<'_>) -> Option<Arrival> {
        let body = match line {
            InputLine::Body(body) => body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body),
            InputLine::TooLong(start, end) => {
                let id = found_id(start, end).and_then(|id| serde_json::from_str(&id).ok());
                self.refuse(id, INVALID_REQUEST, "The line is longer than 64 MiB.");
                return None;
            }
        };
        let body = body.trim_ascii();
        if body.first()? == &b'[' {
            self.refuse_batch(body);
            return None;
        }
        match parse(body) {
            Ok(Message::Call(request)) => match (request.method(), request.id()) {
                ("tools/call", Some(_)) => self.tool_request(request).map(Arrival::ToolCall),
                _ => Some(Arrival::Other(request)),
            },
            Ok(Message::Answer(response)) => Some(Arrival::Answer(response)),
            Err(response) => {
                self.refuse_unread(response, body);
                None
            }
        }
    }

    /// Answers what is no message.
    fn refuse_unread(&self, response: Response, body: &[u8]) {
        let (id, outcome) = response.into_parts();
        let id = match json!(id) {
            Value::Null => found_id(body, body).and_then(|id| serde_json::from_str(&id).ok()),
            id => Some(id),
        };
        let code = outcome.err().map(|error: Error| error.code.code());
        let (code, why) = match code {
            Some(PARSE) | None => (PARSE, "A message is one line of JSON, in UTF-8."),
            Some(code) => (code, "This is no JSON-RPC 2.0 message."),
        };
        self.refuse(id, code, why);
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

    /// Waits for a place in flight.
    fn tool_request(&self, request: Request) -> Option<ToolRequest> {
        let since = Instant::now();
        let (_, id, params) = request.into_parts();
        let id = id?;
        match self.in_flight.enter(&id) {
            Ok(place) => Some(ToolRequest {
                id,
                params,
                since,
                place,
            }),
            Err(NoPlace::IdInUse) => {
                let why = "This id is that of a call which is not answered yet.";
                self.refuse(Some(json!(id)), INVALID_REQUEST, why);
                None
            }
            Err(NoPlace::Full) => {
                self.busy(&id);
                None
            }
        }
    }

    /// Does not wait.
    fn take(&self, arrival: Arrival, place: QueuePermit) {
        match arrival {
            Arrival::ToolCall(request) => self.call_tool(request, place),
            Arrival::Other(request) => self.call(request, place),
            Arrival::Answer(response) => self.pass(json!(response), place),
        }
    }

    fn call(&self, request: Request, place: QueuePermit) {
        let (method, id, params) = request.into_parts();
        match (method.as_ref(), &id) {
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
        self.pass(message, place);
    }

    fn call_tool(&self, request: ToolRequest, in_queue: QueuePermit) {
        let ToolRequest {
            id,
            params,
            since,
            place,
        } = request;
        let mut params = match params {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        let begin = || self.handler.begin(&mut params, since, place);
        // A fault of our own costs this call, and none that comes after it.
        let begun = catch_unwind(AssertUnwindSafe(begin)).unwrap_or_else(|_| Err(internal()));
        let (call, begun) = match begun {
            Ok(begun) => begun,
            Err(ErrorData { code, message, .. }) => {
                return self.refuse(Some(json!(id)), i64::from(code.0), &message);
            }
        };
        let mut request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
        if let Some(Value::Object(meta)) = params.remove("_meta") {
            *request.get_meta_mut() = RequestMetaObject::from(JsonObject::from(meta));
        }
        request.extensions_mut().insert(begun);
        let id = match id {
            Id::Number(number) => RequestId::Number(number),
            Id::String(text) => RequestId::String(text.as_str().into()),
            Id::Null => return,
        };
        in_queue.send(JsonRpcMessage::request(request, id));
    }

    /// Hands a message to the library as it came.
    fn pass(&self, message: Value, place: QueuePermit) {
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let is_request = message.get("method").is_some();
        match serde_json::from_value(message) {
            Ok(message) => drop(place.send(message)),
            Err(error) => {
                tracing::debug!(%error, "a message of no form that is known");
                if let (Some(id), true) = (id, is_request) {
                    let why = "The parameters are of another form.";
                    self.refuse(Some(id), INVALID_PARAMS, why);
                }
            }
        }
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

fn internal() -> ErrorData {
    ErrorData::internal_error(Refusal::Internal.to_string(), None)
}

fn as_id(value: &Value) -> Option<Id> {
    match value {
        Value::Number(number) => number.as_i64().map(Id::Number),
        Value::String(text) => Some(Id::String(text.clone())),
        _ => None,
    }
}
