//! The server: what it is and has, as the protocol's library asks for it, and how a call of a tool begins,
//! of which the library does not know.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rmcp::model::{
    Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, RequestMetaObject,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value};

use crate::rpc::Reply;
use crate::task::CancelToken;
use crate::text::one_line;

use super::answer::DETAILS;
use super::arguments::mended;
use super::calls::{CallOutcome, Calls, RestOfCall, ToolCall};
use super::folders::WorkspaceFolders;
use super::list::ToolList;
use super::under_way::{CallUnderWay, ResultForm};

/// Whose calls name no session.
const SESSION: &str = "mcp";

/// Characters that are said again of a name that no tool has.
const MOST_NAME: usize = 100;

/// Bytes of a session's name; a longer one is none.
const SESSION_BYTES: usize = 256;

/// Clones are the same server.
#[derive(Clone)]
pub struct McpHandler(Arc<McpHandlerParts>);

struct McpHandlerParts {
    list: Arc<ToolList>,
    calls: Calls,
    folders: WorkspaceFolders,
    has_shaken_hands: AtomicBool,
}

impl McpHandler {
    pub fn new(list: Arc<ToolList>, calls: Calls, folders: WorkspaceFolders) -> McpHandler {
        McpHandler(Arc::new(McpHandlerParts {
            list,
            calls,
            folders,
            has_shaken_hands: AtomicBool::new(false),
        }))
    }

    pub fn folders(&self) -> &WorkspaceFolders {
        &self.0.folders
    }

    /// Hears, in the order of arrival, that the client shakes hands, and how.
    pub fn client_begins(&self, params: &Value) {
        self.0.has_shaken_hands.store(true, Ordering::Release);
        self.0.folders.client_begins(params);
    }

    /// Begins a call of a tool that was read at `since`, and has it answered. Called in the order of
    /// arrival. Does not wait.
    ///
    /// # Errors
    ///
    /// Where it is none of a tool that there is, or the protocol does not let it be answered.
    pub fn begin(
        &self,
        mut params: Map<String, Value>,
        since: Instant,
        reply: Reply,
    ) -> Result<(), (Reply, ErrorData)> {
        let meta = match params.remove("_meta") {
            Some(Value::Object(meta)) => RequestMetaObject::from(JsonObject::from(meta)),
            _ => RequestMetaObject::new(),
        };
        let has_shaken_hands = self.0.has_shaken_hands.load(Ordering::Acquire);
        let form = match ResultForm::of(&meta, has_shaken_hands) {
            Ok(form) => form,
            Err(error) => return Err((reply, error)),
        };
        let Some(name) = params.get("name").and_then(Value::as_str) else {
            let error = ErrorData::invalid_params("'name' must name a tool.", None);
            return Err((reply, error));
        };
        let Some((kind, tool)) = self.0.list.find(name) else {
            let message = format!("There is no tool '{}'.", one_line(name, MOST_NAME));
            return Err((reply, ErrorData::invalid_params(message, None)));
        };
        let session = session(&meta);
        let stop = CancelToken::new();
        let arguments = params.remove("arguments").unwrap_or_default();
        let rest: RestOfCall = match mended(kind, tool, arguments) {
            Err(refusal) => Box::pin(async move { CallOutcome::Read(Err(refusal)) }),
            Ok(params) => self.0.calls.begin(ToolCall {
                kind,
                params,
                session: session.clone(),
                cancel: stop.clone(),
            }),
        };
        let call = CallUnderWay {
            calls: self.0.calls.clone(),
            kind,
            tool: tool.name,
            session,
            since,
            form,
            wants_details: meta.get(DETAILS).is_some_and(|wanted| wanted == true),
            progress: meta.get_progress_token(),
            stop,
        };
        call.go_on(reply, rest);
        Ok(())
    }
}

/// Whose call it is, as far as its `_meta` says.
fn session(meta: &RequestMetaObject) -> String {
    let named = ["pilcrow/session", "threadId"]
        .into_iter()
        .filter_map(|key| meta.get(key)?.as_str())
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

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.0.folders.ask(&context.peer, false).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.0.folders.ask(&context.peer, true).await;
    }
}
