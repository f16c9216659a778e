//! `agent/write`: a whole file.

use std::sync::Arc;

use serde_json::Value;

use crate::buffer::Overlays;
use crate::edit::{Change, FoundFiles, Plan, Planner, WriteRequest};
use crate::protocol::edit::EditResult;
use crate::protocol::{Refusal, shortened};
use crate::read::place_to_edit;
use crate::rpc;
use crate::task::{CancelToken, Work};
use crate::workspace::Scope;

use super::call::Call;
use super::change::{Located, Submitted};
use super::client::Client;
use super::engine::Engine;
use super::read_many::DEFAULT_SESSION;

pub fn begin(engine: &Arc<Engine>, client: &Arc<Client>, call: Call) -> rpc::CallFuture {
    let (path, answer) = answer(engine, client, &call.params, call.cancel.clone());
    call.answer(path, answer)
}

/// Takes a write in; its path as messages repeat it, and its answer.
pub fn answer(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    params: &Value,
    cancel: CancelToken,
) -> (
    Option<String>,
    impl Future<Output = Result<EditResult, Refusal>> + use<>,
) {
    let request = WriteRequest::parse(params, DEFAULT_SESSION);
    let path = request.as_ref().ok();
    let path = path.map(|request| shortened(&request.path).into_owned());
    let submitted = request.and_then(|request| submit(engine, client, request, cancel));
    (path, async move { submitted?.carried_out().await })
}

fn submit(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    request: WriteRequest,
    cancel: CancelToken,
) -> Result<Submitted, Refusal> {
    let change = Change {
        session: request.session.clone(),
        dry_run: request.dry_run,
        names_own: request.path.to_ascii_lowercase().starts_with("local://"),
        chars: request.chars,
        cancel,
    };
    let locate = move |scope: &Scope, overlays: &Overlays, work: &Work| {
        // The file may have to be made: look-alikes of its name are other files.
        let place = place_to_edit(&request.path, true, scope, overlays, work)?;
        let plan: Arc<Plan> = Arc::new(move |planner: &Planner| planner.plan_write(&request));
        Ok(Located {
            places: vec![place],
            plan,
            found: FoundFiles::default(),
        })
    };
    Submitted::new(engine, client, client.snapshot(), change, locate)
}
