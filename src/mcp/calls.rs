//! Calls of tools as calls of the engine: begun in the order of arrival, with session and limits
//! filled in.
//!
//! While it is not known which folders are the workspace, calls are held back, and begun in the same
//! order once it is.

use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::protocol::edit::EditResult;
use crate::protocol::read::ReadResult;
use crate::protocol::search::SearchResult;
use crate::protocol::settings::Outside;
use crate::protocol::{Refusal, RefusalKind};
use crate::server::{Agent, ReadResults};
use crate::task::CancelToken;

use super::AnswerBudget;
use super::list::ToolKind;
use super::told::{MOST_CHARS, Tidings};

/// A call as it came.
#[derive(Debug)]
pub struct ToolCall {
    pub kind: ToolKind,
    /// As the engine takes them, but for what is filled in.
    pub params: Value,
    pub session: String,
    /// By which an edit is called off.
    pub cancel: CancelToken,
}

/// What a call comes to.
#[derive(Debug)]
pub enum CallOutcome {
    Read(Result<Box<ReadResult>, Refusal>),
    /// With the paths that were asked for.
    ReadMany(Vec<String>, Result<ReadResults, Refusal>),
    Search(Result<Box<SearchResult>, Refusal>),
    Edit(Result<EditResult, Refusal>),
}

/// The rest of a call that has begun.
pub type RestOfCall = BoxFuture<'static, CallOutcome>;

/// Clones share everything.
#[derive(Clone)]
pub struct Calls(Arc<CallStarter>);

struct CallStarter {
    agent: Agent,
    budget: AnswerBudget,
    told: Arc<Tidings>,
    gate: Mutex<CallGate>,
}

/// Whether calls are begun, and those that wait for that.
#[derive(Default)]
struct CallGate {
    is_shut: bool,
    /// How often it was shut.
    shut: u64,
    held: Vec<(ToolCall, oneshot::Sender<RestOfCall>)>,
}

impl Calls {
    pub fn new(agent: Agent, budget: AnswerBudget, told: Arc<Tidings>) -> Calls {
        Calls(Arc::new(CallStarter {
            agent,
            budget,
            told,
            gate: Mutex::default(),
        }))
    }

    pub fn agent(&self) -> &Agent {
        &self.0.agent
    }

    pub fn told(&self) -> &Tidings {
        &self.0.told
    }

    /// Characters of any answer, at most.
    pub fn most_chars(&self) -> u64 {
        self.0.budget.most_chars()
    }

    /// Takes a call in: its place in the order is taken when this returns. Does not wait.
    pub fn begin(&self, call: ToolCall) -> RestOfCall {
        // Held as long as a call is begun, so that none overtakes another.
        let mut gate = self.0.gate.lock();
        if !gate.is_shut {
            return self.0.start(call);
        }
        let (tell, told) = oneshot::channel();
        gate.held.push((call, tell));
        Box::pin(async move {
            match told.await {
                Ok(body) => body.await,
                Err(_) => CallOutcome::Read(Err(Refusal::Internal)),
            }
        })
    }

    /// Holds calls back from here on; which time it is.
    pub fn shut(&self) -> u64 {
        let mut gate = self.0.gate.lock();
        gate.is_shut = true;
        gate.shut += 1;
        gate.shut
    }

    /// Begins what was held back, unless it was shut again since that time.
    pub fn open(&self, shut: u64) {
        let mut gate = self.0.gate.lock();
        if gate.shut != shut {
            return;
        }
        gate.is_shut = false;
        for (call, tell) in std::mem::take(&mut gate.held) {
            if !tell.is_closed() {
                let _ = tell.send(self.0.start(call));
            }
        }
    }
}

impl CallStarter {
    fn start(self: &Arc<CallStarter>, call: ToolCall) -> RestOfCall {
        let ToolCall {
            kind,
            mut params,
            session,
            cancel,
        } = call;
        let agent = &self.agent;
        let shared = self.clone();
        params["session"] = json!(session);
        match kind {
            ToolKind::Read => {
                self.limit(&mut params, 0);
                params["want"] = json!(["text"]);
                let read = agent.read(&params);
                Box::pin(async move { CallOutcome::Read(shared.read(read.await).map(Box::new)) })
            }
            ToolKind::ReadMany => {
                let paths = paths(&params);
                let headings: u64 = paths.iter().map(|path| path.chars().count() as u64).sum();
                self.limit(&mut params, headings + HEADING * paths.len() as u64);
                params["want"] = json!(["text"]);
                let read = agent.read_many(&params);
                Box::pin(async move {
                    let each = |one| shared.read(one);
                    let read = read.await;
                    let read = read.map(|all| all.into_iter().map(each).collect());
                    CallOutcome::ReadMany(paths, read)
                })
            }
            ToolKind::Search => {
                self.limit(&mut params, 0);
                // Of a search more rows are seldom of use.
                params["budget"]["lines"] = json!(self.budget.lines.min(SEARCH_ROWS));
                let search = agent.search(&params);
                Box::pin(async move {
                    let searched = search.await.map(Box::new);
                    CallOutcome::Search(searched.map_err(|refusal| shared.refused(refusal)))
                })
            }
            ToolKind::Edit => {
                self.limit(&mut params, 0);
                let edit = agent.edit(&params, cancel);
                Box::pin(async move {
                    let edited = edit.await;
                    CallOutcome::Edit(edited.map_err(|refusal| shared.refused(refusal)))
                })
            }
            ToolKind::Write => {
                self.limit(&mut params, 0);
                let write = agent.write(&params, cancel);
                Box::pin(async move {
                    let written = write.await;
                    CallOutcome::Edit(written.map_err(|refusal| shared.refused(refusal)))
                })
            }
        }
    }

    /// Fills in what an answer may hold; `beside` are characters that are not the engine's.
    fn limit(&self, params: &mut Value, beside: u64) {
        let AnswerBudget { lines, bytes } = self.budget;
        let chars = self.budget.most_chars() - MOST_CHARS;
        let chars = chars.saturating_sub(beside).max(1);
        params["budget"] = json!({ "lines": lines, "bytes": bytes, "chars": chars });
    }

    fn read(&self, read: Result<ReadResult, Refusal>) -> Result<ReadResult, Refusal> {
        read.map_err(|refusal| self.refused(refusal))
    }

    /// Where there is no workspace, nothing in it can be found: it is said what is missing.
    fn refused(&self, refusal: Refusal) -> Refusal {
        let is_missing = matches!(
            refusal.kind(),
            RefusalKind::NotFound | RefusalKind::OutsideWorkspace
        );
        let is_of_file = refusal.path().is_some_and(|path| !path.contains("://"));
        let access = &self.agent.settings().access;
        let is_nowhere = self.agent.folders().is_empty()
            && access.additional_roots.is_empty()
            && access.outside_workspace == Outside::Deny;
        if !(is_missing && is_of_file && is_nowhere) {
            return refusal;
        }
        Refusal::Unsupported {
            path: refusal.path().map(str::to_owned),
            message: "There is no workspace folder, so no file can be read or changed. Ask the user to start it as 'pilcrow mcp --root DIR', with the folder of the project.".to_owned(),
        }
    }
}

/// Rows of a search at most.
const SEARCH_ROWS: u64 = 200;

/// Characters of a heading beside its path: `[12 of 64: ]`, and the lines around it.
const HEADING: u64 = 16;

/// Characters of a path in a heading.
const HEADING_PATH: usize = 200;

/// The paths of a `read_many`, as its headings name them.
fn paths(params: &Value) -> Vec<String> {
    let listed = |key: &str| params[key].as_array().cloned();
    let all = listed("paths").or_else(|| listed("targets"));
    let path = |given: &Value| {
        let path = match given {
            Value::String(path) => path.as_str(),
            target => ["path", "filePath"]
                .iter()
                .find_map(|key| target[key].as_str())
                .unwrap_or_default(),
        };
        path.chars().take(HEADING_PATH).collect()
    };
    all.unwrap_or_default().iter().map(path).collect()
}
