//! `agent/write`: a whole file; its place in the order is taken at the first poll, as that of an edit is.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::jsonrpc;

use crate::edit::{Change, Found, Job, Planner, WriteRequest};
use crate::protocol::edit::EditResult;
use crate::protocol::{Refusal, shortened};
use crate::read::place_to_edit;
use crate::task::CancelToken;

use super::Server;
use super::carry_out::Plan;
use super::edit::refuse_where_off;
use super::handler::answer;
use super::in_one_job::{Resolved, Submitted};
use super::read_many::DEFAULT_SESSION;
use super::state::{Moment, State};

impl Server {
    pub async fn write(&self, params: Value) -> jsonrpc::Result<EditResult> {
        let moment = self.state.engine.moment();
        let cancel = self.state.cancels.of(&params);
        let request = WriteRequest::parse(&params, DEFAULT_SESSION);
        let path = request.as_ref().ok();
        let path = path.map(|request| shortened(&request.path).into_owned());
        let submitted =
            request.and_then(|request| self.state.submit_write(request, &moment, cancel));
        answer("agent/write", path, async move {
            submitted?.carried_out().await
        })
        .await
    }
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
        let resolve = move |work: &_| {
            let Moment { world, overlays } = &moment;
            // The file may have to be made: look-alikes of its name are other files.
            let place = place_to_edit(&request.path, true, &world.scope, overlays, work)?;
            let request = request.clone();
            let plan: Plan = Arc::new(move |job: &Job| Planner::of(job).plan_write(&request));
            Ok(Resolved {
                places: vec![place],
                plan,
                found: Found::default(),
            })
        };
        self.submit_change(change, world, Arc::new(resolve))
    }
}
