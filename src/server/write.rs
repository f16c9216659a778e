//! `agent/write`: a whole file; its place in the order is taken at the first poll, as that of an edit is.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::jsonrpc;

use crate::edit::{Change, Job, Planner, WriteRequest};
use crate::protocol::edit::EditResult;

use super::Server;
use super::edit::refuse_where_off;
use super::handler::answer;
use super::intake::EditPath;
use super::read_many::DEFAULT_SESSION;

impl Server {
    pub async fn write(&self, params: Value) -> jsonrpc::Result<EditResult> {
        let state = self.state.clone();
        let moment = state.engine.moment();
        let submitted = WriteRequest::parse(&params, DEFAULT_SESSION).and_then(|request| {
            refuse_where_off(&moment.world)?;
            let path = EditPath {
                path: request.path.clone(),
                creates: true,
            };
            let submission = state.submit_edit(&request.session, vec![path], &moment)?;
            Ok((request, submission))
        });
        let path = submitted.as_ref().ok();
        let path = path.map(|(request, _)| request.path.clone());
        answer("agent/write", path, async move {
            let (request, submission) = submitted?;
            let grant = submission.granted().await?;
            let change = Change {
                session: request.session.clone(),
                identity: request.identity(),
                dry_run: request.dry_run,
            };
            let plan = move |job: &Job| Planner::of(job).plan_write(&request);
            let run = |commit| async move {
                let world = moment.world;
                state.carry_out(commit, change, world, Arc::new(plan)).await
            };
            grant.commit(run).await
        })
        .await
    }
}
