//! `agent/write`: a whole file.

use std::sync::Arc;

use crate::edit::{Change, Found, Job, Planner, WriteRequest};
use crate::protocol::{Refusal, shortened};
use crate::read::place_to_edit;
use crate::rpc;
use crate::task::CancelToken;

use super::call::Call;
use super::carry_out::Plan;
use super::change::{Located, Submitted};
use super::edit::refuse_where_off;
use super::read_many::DEFAULT_SESSION;
use super::state::{Moment, State};

pub fn begin(state: &Arc<State>, call: Call) -> rpc::Call {
    let moment = state.engine.moment();
    let cancel = call.cancel.clone();
    let request = WriteRequest::parse(&call.params, DEFAULT_SESSION);
    let path = request.as_ref().ok();
    let path = path.map(|request| shortened(&request.path).into_owned());
    let submitted = request.and_then(|request| state.submit_write(request, &moment, cancel));
    call.answer(path, async move { submitted?.carried_out().await })
}

impl State {
    fn submit_write(
        self: &Arc<State>,
        request: WriteRequest,
        moment: &Moment,
        cancel: CancelToken,
    ) -> Result<Submitted, Refusal> {
        refuse_where_off(&moment.world)?;
        let change = Change {
            session: request.session.clone(),
            dry_run: request.dry_run,
            cancel,
        };
        let moment = moment.clone();
        let world = moment.world.clone();
        let request = Arc::new(request);
        let locate = move |work: &_| {
            let Moment { world, overlays } = &moment;
            // The file may have to be made: look-alikes of its name are other files.
            let place = place_to_edit(
                &request.path,
                true,
                &world.scope.of_job(work),
                overlays,
                work,
            )?;
            let request = request.clone();
            let plan: Plan = Arc::new(move |job: &Job| Planner::of(job).plan_write(&request));
            Ok(Located {
                places: vec![place],
                plan,
                found: Found::default(),
            })
        };
        Ok(self.submit_change(change, world, Box::new(locate)))
    }
}
