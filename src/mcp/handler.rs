//! The server as the protocol's library sees it: what it is, its tools, and the rest of each call
//! that has begun.

use std::collections::HashMap;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelledNotificationParam, Implementation,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, RequestId,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value};
use tokio::time::{interval_at, sleep_until};

use crate::protocol::Refusal;
use crate::protocol::edit::EditResult;
use crate::rpc::InFlightRequest;
use crate::task::CancelToken;
use crate::text::one_line;

use super::ANSWERED_WITHIN;
use super::answer::{DETAILS, ToolAnswer};
use super::arguments::mended;
use super::calls::{CallOutcome, Calls, RestOfCall, ToolCall};
use super::folders::WorkspaceFolders;
use super::list::{ToolKind, ToolList};

/// Whose calls name no session.
const SESSION: &str = "mcp";

/// Characters that are said again of a name that no tool has.
const MOST_NAME: usize = 100;

/// Bytes of a session's name; a longer one is none.
const SESSION_BYTES: usize = 256;

/// How often a call that takes long tells that it is still at work.
const PROGRESS: Duration = Duration::from_secs(1);

/// Clones are the same server.
#[derive(Clone)]
pub struct McpHandler(Arc<McpHandlerParts>);

struct McpHandlerParts {
    list: Arc<ToolList>,
    calls: Calls,
    folders: WorkspaceFolders,
    /// Edits that were made and whose answers are not sent: a cancel may come before that.
    unsent: Mutex<HashMap<RequestId, (String, EditResult)>>,
}

/// A call that has begun, on its way to who goes on with it. Clones share it; it is taken once.
#[derive(Clone)]
pub struct BegunCall(Arc<Mutex<Option<CallUnderWay>>>);

struct CallUnderWay {
    since: Instant,
    tool: &'static str,
    kind: ToolKind,
    session: String,
    wants_details: bool,
    body: RestOfCall,
    cancel: CancelToken,
    place: PlaceInFlight,
}

/// Gives the place of a call back when it is dropped.
struct PlaceInFlight(Option<InFlightRequest>);

impl Drop for PlaceInFlight {
    fn drop(&mut self) {
        if let Some(place) = self.0.take() {
            drop(place.give_back());
        }
    }
}

impl McpHandler {
    pub fn new(list: Arc<ToolList>, calls: Calls, folders: WorkspaceFolders) -> McpHandler {
        McpHandler(Arc::new(McpHandlerParts {
            list,
            calls,
            folders,
            unsent: Mutex::default(),
        }))
    }

    pub fn folders(&self) -> &WorkspaceFolders {
        &self.0.folders
    }

    /// Begins a call of a tool that was read at `since`; its parameters but for the arguments. Called in the
    /// order of arrival.
    ///
    /// # Errors
    ///
    /// Where there is no such tool.
    pub fn begin(
        &self,
        params: &mut Map<String, Value>,
        since: Instant,
        place: InFlightRequest,
    ) -> Result<(CallToolRequestParams, BegunCall), ErrorData> {
        let place = PlaceInFlight(Some(place));
        let name = params.get("name").and_then(Value::as_str);
        let Some(name) = name else {
            return Err(ErrorData::invalid_params("'name' must name a tool.", None));
        };
        let Some((kind, tool)) = self.0.list.find(name) else {
            let message = format!("There is no tool '{}'.", one_line(name, MOST_NAME));
            return Err(ErrorData::invalid_params(message, None));
        };
        let cancel = match &place.0 {
            Some(place) => place.cancel().clone(),
            None => CancelToken::new(),
        };
        let meta = params.get("_meta");
        let session = session(meta);
        let wants_details = meta.is_some_and(|meta| meta[DETAILS] == true);
        let arguments = params.remove("arguments").unwrap_or_default();
        let body: RestOfCall = match mended(kind, tool, arguments) {
            Err(refusal) => Box::pin(async move { CallOutcome::Read(Err(refusal)) }),
            Ok(params) => self.0.calls.begin(ToolCall {
                kind,
                params,
                session: session.clone(),
                cancel: cancel.clone(),
            }),
        };
        let begun = CallUnderWay {
            since,
            tool: tool.name,
            kind,
            session,
            wants_details,
            body,
            cancel,
            place,
        };
        let call = BegunCall(Arc::new(Mutex::new(Some(begun))));
        Ok((CallToolRequestParams::new(tool.name), call))
    }

    /// Hears that an answer is sent.
    pub fn sent(&self, id: &RequestId) {
        self.0.unsent.lock().remove(id);
    }

    /// Goes on with a call until it is answered.
    async fn finish(
        &self,
        begun: CallUnderWay,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallUnderWay {
            since,
            tool,
            kind,
            session,
            wants_details,
            body,
            cancel,
            // Given back when the answer is made.
            place: _place,
        } = begun;
        let until = since + ANSWERED_WITHIN;
        let outcome = self
            .outcome((kind, &session), (body, until), &cancel, context)
            .await?;
        if let CallOutcome::Edit(Ok(result)) = &outcome {
            let made = (session.clone(), result.clone());
            self.0.unsent.lock().insert(context.id.clone(), made);
            if context.ct.is_cancelled() {
                // It was called off in the moment in which it was done: nobody hears its answer.
                self.tell_of(&context.id);
                return Err(cancelled());
            }
        }
        let calls = &self.0.calls;
        let most = calls.most_chars();
        let answer = ToolAnswer::of(outcome, most, wants_details)?;
        let tags = calls.agent().settings().read.dialect == "hashline";
        let told = calls.told().take(&session, &answer.shows, tags);
        let result = answer.result(&told, most);
        let micros = since.elapsed().as_micros() as u64;
        tracing::info!(tool, micros, error = result.is_error, "answered");
        Ok(result.into())
    }

    /// What a call comes to, unless it is called off, or takes too long.
    async fn outcome(
        &self,
        (kind, session): (ToolKind, &str),
        (body, until): (RestOfCall, Instant),
        cancel: &CancelToken,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallOutcome, ErrorData> {
        let mut body = AssertUnwindSafe(body).catch_unwind().boxed();
        tokio::select! {
            biased;
            outcome = &mut body => {
                let panicked = |_| ErrorData::internal_error(Refusal::Internal.to_string(), None);
                outcome.map_err(panicked)
            }
            () = context.ct.cancelled() => {
                self.call_off((kind, session), cancel, body);
                Err(cancelled())
            }
            () = sleep_until(until.into()) => {
                self.call_off((kind, session), cancel, body);
                Ok(CallOutcome::Read(Err(too_long(kind))))
            }
            never = report(context) => match never {},
        }
    }

    /// Has an edit whose answer is not heard told of with the next one.
    fn tell_of(&self, id: &RequestId) {
        let made = self.0.unsent.lock().remove(id);
        if let Some((session, result)) = made {
            self.0.calls.told().made(&session, &result);
        }
    }

    /// Calls off what can be called off. A commit that has begun is finished, and its session is told
    /// of it with its next answer.
    fn call_off(
        &self,
        (kind, session): (ToolKind, &str),
        cancel: &CancelToken,
        body: impl Future<Output = Result<CallOutcome, Box<dyn std::any::Any + Send>>> + Send + 'static,
    ) {
        cancel.cancel();
        if kind.only_reads() {
            return;
        }
        let (calls, session) = (self.0.calls.clone(), session.to_owned());
        self.0.calls.agent().threads().start(async move {
            if let Ok(CallOutcome::Edit(Ok(result))) = body.await {
                calls.told().made(&session, &result);
            }
        });
    }
}

/// The library drops it: who has cancelled a call is not answered.
fn cancelled() -> ErrorData {
    ErrorData::internal_error(Refusal::Cancelled.to_string(), None)
}

/// Tells every second that a call is still at work, where its client wants to hear that. Never ends.
async fn report(context: &RequestContext<RoleServer>) -> Infallible {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    let begun = tokio::time::Instant::now();
    let mut ticks = interval_at(begun + PROGRESS, PROGRESS);
    loop {
        ticks.tick().await;
        let seconds = begun.elapsed().as_secs();
        let mut said = ProgressNotificationParam::new(token.clone(), seconds as f64);
        said.message = Some(format!("still at work after {seconds} s"));
        if context.peer.notify_progress(said).await.is_err() {
            return std::future::pending().await;
        }
    }
}

fn too_long(kind: ToolKind) -> Refusal {
    let seconds = ANSWERED_WITHIN.as_secs();
    Refusal::Timeout {
        path: None,
        message: match kind {
            ToolKind::Read | ToolKind::ReadMany | ToolKind::Search => {
                format!(
                    "This took longer than {seconds} s and was stopped. Ask for less, or again later."
                )
            }
            ToolKind::Edit | ToolKind::Write => format!(
                "This took longer than {seconds} s, so it is not known whether it was made. Read the file before you go on; do not send the edit again unseen."
            ),
        },
    }
}

/// Whose call it is, as far as its `_meta` says.
fn session(meta: Option<&Value>) -> String {
    let named = ["pilcrow/session", "threadId"]
        .into_iter()
        .filter_map(|key| meta?[key].as_str())
        .find(|name| (1..=SESSION_BYTES).contains(&name.len()));
    named.unwrap_or(SESSION).to_owned()
}

const READS_AND_EDITS: &str = "Read and change the files of this project with these tools: they show source files folded, read archives, databases, documents and images by path, and refuse an edit that does not fit what is there. The header of a read, ¶PATH#TAG, is what an edit begins with.";
const READS: &str = "Read the files of this project with these tools: they show source files folded, and read archives, databases, documents and images by path. Nothing can be changed with them.";

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let version = env!("CARGO_PKG_VERSION");
        let instructions = match self.0.list.edits() {
            true => READS_AND_EDITS,
            false => READS,
        };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("pilcrow", version).with_title("Pilcrow"))
            .with_instructions(instructions)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            let message = "There is no such cursor: all tools are in one page.";
            return Err(ErrorData::invalid_params(message, None));
        }
        let web = self.0.calls.agent().settings().web.enabled;
        Ok(ListToolsResult::with_all_items(self.0.list.listed(web)))
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let begun = context.extensions.get::<BegunCall>();
        match begun.and_then(|call| call.0.lock().take()) {
            Some(begun) => self.finish(begun, &context).await,
            None => Err(ErrorData::internal_error(
                Refusal::Internal.to_string(),
                None,
            )),
        }
    }

    async fn on_cancelled(
        &self,
        cancelled: CancelledNotificationParam,
        _: NotificationContext<RoleServer>,
    ) {
        let Some(id) = cancelled.request_id else {
            return;
        };
        self.tell_of(&id);
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.0.folders.ask(&context.peer, false).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.0.folders.ask(&context.peer, true).await;
    }
}
