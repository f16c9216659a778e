//! `agent/edit`: its place in the order is taken at the first poll, and nothing is written before its turn.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::jsonrpc;

use crate::edit::{Change, EditRequest, Faults, Found, Job, Planner, name_places};
use crate::protocol::Refusal;
use crate::protocol::edit::EditResult;
use crate::task::CancelToken;

use super::Server;
use super::carry_out::Plan;
use super::handler::answer;
use super::in_one_job::{Resolved, Submitted};
use super::read_many::DEFAULT_SESSION;
use super::state::{Moment, State, World};

impl Server {
    pub async fn edit(&self, params: Value) -> jsonrpc::Result<EditResult> {
        let moment = self.state.engine.moment();
        let cancel = self.state.cancels.of(&params);
        let submitted = EditRequest::parse(&params, DEFAULT_SESSION)
            .and_then(|request| self.state.submit_patch(request, &moment, cancel));
        answer(
            "agent/edit",
            None,
            async move { submitted?.carried_out().await },
        )
        .await
    }
}

impl State {
    /// Takes the edit in; its patch is parsed where its paths are resolved, since it can be long.
    fn submit_patch(
        self: &Arc<State>,
        request: EditRequest,
        moment: &Moment,
        cancel: CancelToken,
    ) -> Result<Submitted, Refusal> {
        refuse_where_off(&moment.world)?;
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
        let (state, moment) = (self.clone(), moment.clone());
        let world = moment.world.clone();
        let resolve = move |work: &_| {
            let Moment { world, overlays } = &moment;
            let sessions = &state.engine.reader.sessions;
            let (sections, mut faults) = patch.sections();
            let (named, found) = name_places(
                sections,
                (&session, sessions),
                &world.scope,
                overlays,
                work,
                &mut faults,
            )?;
            if named.is_empty() {
                return Err(Faults::new(faults).refusal().unwrap_or(Refusal::Internal));
            }
            let places = named.iter().map(|named| named.place.clone()).collect();
            let plan: Plan =
                Arc::new(move |job: &Job| Planner::of(job).plan(named.clone(), &faults));
            Ok(Resolved {
                places,
                plan,
                found: Found::new(found, overlays.clone()),
            })
        };
        self.submit_change(change, world, Arc::new(resolve))
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
