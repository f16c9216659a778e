//! Lines in and lines out. Calls of tools are begun here, in the order of arrival, by the thread that reads;
//! the library has the rest. To read is one job after the other, a line each; what waits (for input, for a
//! place in flight, for room in the library's queue) is done in it.
//!
//! What the library would drop in silence is answered: what cannot be read, with its id where one can
//! be found; lone surrogates are mended. Nothing here waits for a call.

use std::convert::Infallible;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use rmcp::RoleServer;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, mpsc};
use tower_lsp::jsonrpc::{Error, Id, Request, Response};

use crate::rpc::{
    EndOnDrop, Ending, InFlight, InputLine, InputLines, Message, NoPlace, Outbox, Reply, Shutdown,
    found_id, parse,
};
use crate::task::Threads;

use super::handler::McpHandler;
use super::under_way::as_error;

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
}

impl Transport<RoleServer> for LineTransport {
    type Error = Infallible;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
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
    Other(Request, QueuePermit),
    Answer(Response, QueuePermit),
}

/// A call of a tool as it came, in flight.
struct ToolRequest {
    params: Option<Value>,
    since: Instant,
    reply: Reply,
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
        let read = move || self.next().map(|arrival| (self, arrival));
        threads.run_input(is_here, read, |read| {
            if let Some((this, arrival)) = read {
                this.reader.take(arrival);
                this.go_on();
            }
        });
    }

    /// Waits for room in the outbox, for a line, for a place in flight and for one in the library's
    /// queue; `None` at the end.
    fn next(&mut self) -> Option<Arrival> {
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
            return Some(arrival);
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
                _ => Some(Arrival::Other(request, self.place_in_queue()?)),
            },
            Ok(Message::Answer(response)) => {
                Some(Arrival::Answer(response, self.place_in_queue()?))
            }
            Err(response) => {
                self.refuse_unread(response, body);
                None
            }
        }
    }

    /// Waits for a place in the library's queue. Once that has hung up, nothing more is read.
    fn place_in_queue(&self) -> Option<QueuePermit> {
        let place = self.library.clone().reserve_owned();
        let place = self.threads.runtime().block_on(place).ok();
        if place.is_none() {
            self.shutdown.end(Ending::EndOfInput);
        }
        place
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
                params,
                since,
                reply: Reply::new(self.outbox.clone(), Some(place)),
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
    fn take(&self, arrival: Arrival) {
        match arrival {
            Arrival::ToolCall(request) => self.call_tool(request),
            Arrival::Other(request, place) => self.call(request, place),
            Arrival::Answer(response, place) => self.pass(json!(response), place),
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

    fn call_tool(&self, request: ToolRequest) {
        let ToolRequest {
            params,
            since,
            reply,
        } = request;
        let params = match params {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        let begin = || self.handler.begin(params, since, reply);
        // A fault of our own costs this call, which is answered so, and none that comes after it.
        if let Ok(Err((reply, error))) = catch_unwind(AssertUnwindSafe(begin)) {
            reply.error(as_error(error));
        }
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

fn as_id(value: &Value) -> Option<Id> {
    match value {
        Value::Number(number) => number.as_i64().map(Id::Number),
        Value::String(text) => Some(Id::String(text.clone())),
        _ => None,
    }
}
