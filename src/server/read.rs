//! `agent/read`; parameters, roots and settings are taken at the first poll and never looked up again.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::jsonrpc;

use crate::protocol::read::ReadResult;
use crate::read::Ask;

use super::Server;
use super::handler::answer;
use super::read_many::DEFAULT_SESSION;
use super::state::Moment;

impl Server {
    pub async fn read(&self, params: Value) -> jsonrpc::Result<ReadResult> {
        let moment = self.state.engine.moment();
        let ask = Ask::parse(&params, DEFAULT_SESSION, &moment.world.settings);
        let path = ask.as_ref().ok().map(|ask| ask.path().to_owned());
        let begun = ask.map(|ask| (self.state.intake.begin_read(&ask.session), ask));
        let state = self.state.clone();
        answer("agent/read", path, async move {
            let (reading, ask) = begun?;
            let (reading, ask) = (Arc::new(reading), Arc::new(ask));
            let moment = state.in_turn(&reading, &ask, moment).await?;
            let jobs_state = state.clone();
            let (answer, notices) = state
                .in_lanes(move |lane, work| {
                    let reader = &jobs_state.engine.reader;
                    let Moment { world, overlays } = &moment;
                    let found = |place| reading.reads(place);
                    let prepared =
                        reader.prepare(&ask, &world.scope, overlays, lane, work, &found)?;
                    Ok(reader.finish(&ask, &prepared, None))
                })
                .await?;
            state.send(notices).await;
            Ok(answer)
        })
        .await
    }
}
