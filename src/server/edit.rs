//! `agent/edit`: a patch.

use std::sync::Arc;

use crate::edit::{Change, EditRequest, Faults, Found, Job, Planner, name_places};
use crate::protocol::Refusal;
use crate::rpc;
use crate::task::CancelToken;

use super::call::Call;
use super::carry_out::Plan;
use super::change::{Located, Submitted};
use super::read_many::DEFAULT_SESSION;
use super::state::{Moment, State, World};

pub fn begin(state: &Arc<State>, call: Call) -> rpc::Call {
    let moment = state.engine.moment();
    let cancel = call.cancel.clone();
    let submitted = EditRequest::parse(&call.params, DEFAULT_SESSION)
        .and_then(|request| state.submit_patch(request, &moment, cancel));
    call.answer(None, async move { submitted?.carried_out().await })
}

impl State {
    /// Takes the edit in; its patch is parsed where its files are found, since it can be long.
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
        let locate = move |work: &_| {
            let Moment { world, overlays } = &moment;
            let scope = &world.scope.of_job(work);
            let sessions = &state.engine.reader.sessions;
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
            let plan: Plan =
                Arc::new(move |job: &Job| Planner::of(job).plan(named.clone(), &faults));
            Ok(Located {
                places,
                plan,
                found: Found::new(found, overlays.clone()),
            })
        };
        Ok(self.submit_change(change, world, Box::new(locate)))
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
