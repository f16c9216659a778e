//! `agent/edit`: a patch.

use std::sync::Arc;

use serde_json::Value;

use crate::buffer::Overlays;
use crate::edit::{Change, EditRequest, Faults, FoundFiles, Plan, Planner, name_places};
use crate::protocol::Refusal;
use crate::protocol::edit::EditResult;
use crate::rpc;
use crate::task::{CancelToken, Work};
use crate::workspace::Scope;

use super::call::Call;
use super::change::{Located, Submitted};
use super::client::Client;
use super::engine::Engine;
use super::read_many::DEFAULT_SESSION;

pub fn begin(engine: &Arc<Engine>, client: &Arc<Client>, call: Call) -> rpc::CallFuture {
    let answer = answer(engine, client, &call.params, call.cancel.clone());
    call.answer(None, answer)
}

/// Takes an edit in; its answer.
pub fn answer(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    params: &Value,
    cancel: CancelToken,
) -> impl Future<Output = Result<EditResult, Refusal>> + use<> {
    let submitted = EditRequest::parse(params, DEFAULT_SESSION)
        .and_then(|request| submit(engine, client, request, cancel));
    async move { submitted?.carried_out().await }
}

/// Its patch is parsed where its files are found, since it can be long.
fn submit(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    request: EditRequest,
    cancel: CancelToken,
) -> Result<Submitted, Refusal> {
    let EditRequest {
        session,
        patch,
        dry_run,
        chars,
    } = request;
    let change = Change {
        session: session.clone(),
        dry_run,
        names_own: patch.mentions("local://"),
        chars,
        cancel,
    };
    let jobs_engine = engine.clone();
    let locate = move |scope: &Scope, overlays: &Overlays, work: &Work| {
        let sessions = &jobs_engine.reader.sessions;
        let (sections, mut faults) = patch.sections();
        let session = (session.as_str(), sessions);
        let (named, found) = name_places(sections, session, scope, overlays, work, &mut faults)?;
        if named.is_empty() {
            return Err(Faults::new(faults, chars)
                .refusal()
                .unwrap_or(Refusal::Internal));
        }
        let places = named.iter();
        let places = places.flat_map(|named| [Some(named.place.clone()), named.to.clone()]);
        let places = places.flatten().collect();
        let plan: Arc<Plan> =
            Arc::new(move |planner: &Planner| planner.plan(named.clone(), &faults));
        Ok(Located {
            places,
            plan,
            found: FoundFiles::new(found, overlays.clone()),
        })
    };
    Submitted::new(engine, client, client.snapshot(), change, locate)
}
