//! `agent/edit`: a patch.

use std::sync::Arc;

use serde_json::Value;

use crate::edit::{Change, EditRequest, Faults, Found, Job, Planner, name_places};
use crate::protocol::Refusal;
use crate::protocol::edit::EditResult;
use crate::rpc;
use crate::task::CancelToken;

use super::call::Call;
use super::carry_out::Plan;
use super::change::{Located, Submitted};
use super::client::Client;
use super::config::{ClientSnapshot, WorkspaceConfig};
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
    let snapshot = client.snapshot();
    let submitted = EditRequest::parse(params, DEFAULT_SESSION)
        .and_then(|request| submit_patch(engine, client, request, &snapshot, cancel));
    async move { submitted?.carried_out().await }
}

/// Takes the edit in; its patch is parsed where its files are found, since it can be long.
fn submit_patch(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    request: EditRequest,
    snapshot: &ClientSnapshot,
    cancel: CancelToken,
) -> Result<Submitted, Refusal> {
    refuse_where_off(&snapshot.config)?;
    let EditRequest {
        session,
        patch,
        dry_run,
    } = request;
    let change = Change {
        session: session.clone(),
        dry_run,
        cancel,
    };
    let (jobs_engine, snapshot) = (engine.clone(), snapshot.clone());
    let config = snapshot.config.clone();
    let locate = move |work: &_| {
        let ClientSnapshot { config, overlays } = &snapshot;
        let scope = &config.scope.of_job(work);
        let sessions = &jobs_engine.reader.sessions;
        let (sections, mut faults) = patch.sections();
        let (named, found) = name_places(
            sections,
            (&session, sessions),
            scope,
            overlays,
            work,
            &mut faults,
        )?;
        if named.is_empty() {
            return Err(Faults::new(faults).refusal().unwrap_or(Refusal::Internal));
        }
        let places = named.iter().map(|named| named.place.clone()).collect();
        let plan: Plan = Arc::new(move |job: &Job| Planner::of(job).plan(named.clone(), &faults));
        Ok(Located {
            places,
            plan,
            found: Found::new(found, overlays.clone()),
        })
    };
    Ok(Submitted::new(
        engine,
        client,
        change,
        config,
        Box::new(locate),
    ))
}

/// `edit.enabled: false` is a promise to the user.
pub fn refuse_where_off(config: &WorkspaceConfig) -> Result<(), Refusal> {
    match config.settings.edit.enabled {
        true => Ok(()),
        false => Err(Refusal::Unsupported {
            path: None,
            message: "Edits are turned off by the setting edit.enabled. Describe the change to the user instead.".to_owned(),
        }),
    }
}
