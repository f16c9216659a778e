//! `agent/edit`: its place in the order is taken at the first poll, and nothing is written before its turn.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tower_lsp::jsonrpc;

use crate::edit::{Change, EditRequest, Job, Named, Planner, name_places};
use crate::protocol::Refusal;
use crate::protocol::edit::EditResult;

use super::Server;
use super::handler::answer;
use super::intake::Submission;
use super::read_many::DEFAULT_SESSION;
use super::state::{Moment, State, World};

/// The sections of a patch once their places are known.
type Slot = Arc<OnceLock<Vec<Named>>>;

impl Server {
    pub async fn edit(&self, params: Value) -> jsonrpc::Result<EditResult> {
        let state = self.state.clone();
        let moment = state.engine.moment();
        let submitted = EditRequest::parse(&params, DEFAULT_SESSION)
            .and_then(|request| state.submit_patch(request, &moment));
        answer("agent/edit", None, async move {
            let (request, submission, slot) = submitted?;
            let grant = submission.granted().await?;
            let named = slot.get().cloned().ok_or(Refusal::Internal)?;
            let change = Change {
                session: request.session,
                identity: request.patch.identity(),
                dry_run: request.dry_run,
            };
            let plan = move |job: &Job| Planner::of(job).plan(named.clone());
            let run = |commit| async move {
                state
                    .carry_out(commit, change, moment.world, Arc::new(plan))
                    .await
            };
            grant.commit(run).await
        })
        .await
    }
}

impl State {
    /// Takes the edit in; its patch is parsed where its paths are resolved, since it can be long.
    fn submit_patch(
        self: &Arc<State>,
        request: EditRequest,
        moment: &Moment,
    ) -> Result<(EditRequest, Submission, Slot), Refusal> {
        refuse_where_off(&moment.world)?;
        let slot = Slot::default();
        let (state, filled) = (self.clone(), slot.clone());
        let (session, patch) = (request.session.clone(), request.patch.clone());
        let job_moment = moment.clone();
        let submission = self.submit_resolved(&request.session, move |lane, work| {
            let Moment { world, overlays } = &job_moment;
            let sessions = &state.engine.reader.sessions;
            let sections = patch.sections()?;
            let lane = (lane, work);
            let named = name_places(sections, &session, sessions, &world.scope, overlays, lane)?;
            let places = named.iter().map(|named| named.place.clone()).collect();
            // The job runs again in the other lane only where it gave nothing in the first.
            let _ = filled.set(named);
            Ok(places)
        })?;
        Ok((request, submission, slot))
    }
}

/// `edit.enabled: false` is a promise to the user.
pub fn refuse_where_off(world: &World) -> Result<(), Refusal> {
    match world.settings.edit.enabled {
        true => Ok(()),
        false => Err(Refusal::Unsupported {
            path: None,
            message: "Edits are turned off by the setting edit.enabled. Describe the change to the user instead.".to_owned(),
        }),
    }
}
