//! `agent/read`; parameters, roots and settings are taken at the first poll and never looked up again.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::jsonrpc;

use crate::protocol::read::ReadResult;
use crate::read::Ask;

use super::Server;
use super::handler::answer;
use super::read_many::DEFAULT_SESSION;

impl Server {
    pub async fn read(&self, params: Value) -> jsonrpc::Result<ReadResult> {
        let world = self.state.engine.world();
        let ask = Ask::parse(&params, DEFAULT_SESSION, &world.settings);
        let path = ask.as_ref().ok().map(|ask| ask.path().to_owned());
        let state = self.state.clone();
        answer("agent/read", path, async move {
            let ask = Arc::new(ask?);
            let jobs_state = state.clone();
            state
                .in_lanes(move |lane, work| {
                    let reader = &jobs_state.engine.reader;
                    let prepared = reader.prepare(&ask, &world.scope, lane, work)?;
                    Ok(reader.finish(&ask, &prepared, None))
                })
                .await
        })
        .await
    }
}
