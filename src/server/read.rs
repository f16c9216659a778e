//! `agent/read`.

use std::sync::Arc;

use crate::protocol::read::ReadResult;
use crate::protocol::{Refusal, shortened};
use crate::read::Ask;
use crate::rpc;
use crate::session::Notice;

use super::call::Call;
use super::edit_queue::Reading;
use super::read_many::DEFAULT_SESSION;
use super::state::{Moment, State};

pub fn begin(state: &Arc<State>, call: Call) -> rpc::Call {
    let moment = state.engine.moment();
    let ask = Ask::parse(&call.params, DEFAULT_SESSION, &moment.world.settings);
    let path = ask.as_ref().ok();
    let path = path.map(|ask| shortened(ask.path()).into_owned());
    let begun = ask.map(|ask| (state.edit_queue.begin_read(&ask.session), ask));
    let state = state.clone();
    call.answer(path, async move {
        let (reading, ask) = begun?;
        let (reading, ask) = (Arc::new(reading), Arc::new(ask));
        let world = moment.world.clone();
        let answered = read(&state, reading, ask.clone(), moment).await;
        let (answer, notices) = match answered {
            Ok(answered) => answered,
            // The wait for its turn, or for a place to run: nothing that was looked for.
            Err(refusal) => (ask.refused(refusal, &world.scope.of_nobody())?, Vec::new()),
        };
        state.send(notices).await;
        Ok(answer)
    })
}

/// The answer, and what other sessions must hear; also where it is refused in words of the dialect.
async fn read(
    state: &Arc<State>,
    reading: Arc<Reading>,
    ask: Arc<Ask>,
    moment: Moment,
) -> Result<(ReadResult, Vec<Notice>), Refusal> {
    let moment = state.in_turn(&reading, &ask, moment).await?;
    let jobs_state = state.clone();
    let answered = state.run(move |work| {
        let reader = &jobs_state.engine.reader;
        let Moment { world, overlays } = &moment;
        let scope = &world.scope.of_job(work);
        let found = |place| reading.is_known(place);
        let prepared = reader.prepare(&ask, scope, overlays, work, &found);
        let answered = prepared.and_then(|prepared| reader.finish(&ask, &prepared, None));
        match answered {
            Err(refusal) => Ok((ask.refused(refusal, scope)?, Vec::new())),
            answered => answered,
        }
    });
    answered.await
}
