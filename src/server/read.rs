//! `agent/read`.

use std::sync::Arc;

use serde_json::Value;

use crate::protocol::Refusal;
use crate::protocol::read::ReadResult;
use crate::read::{Ask, Obtained, StageResult};
use crate::rpc;
use crate::session::Notice;
use crate::task::Work;

use super::call::Call;
use super::client::Client;
use super::config::ClientSnapshot;
use super::edit_queue::Reading;
use super::engine::Engine;
use super::obtain::run_obtaining;
use super::read_many::DEFAULT_SESSION;
use super::turn::in_turn;

pub fn begin(engine: &Arc<Engine>, client: &Arc<Client>, call: Call) -> rpc::CallFuture {
    let (path, answer) = answer(engine, client, &call.params);
    call.answer(path, answer)
}

/// Registers a read; its path as messages repeat it, and its answer.
pub fn answer(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    params: &Value,
) -> (
    Option<String>,
    impl Future<Output = Result<ReadResult, Refusal>> + use<>,
) {
    let snapshot = client.snapshot();
    let ask = Ask::parse(params, DEFAULT_SESSION, &snapshot.config.settings);
    let path = ask.as_ref().ok();
    let path = path.map(Ask::logged_path);
    let begun = ask.map(|ask| {
        let puts = engine.puts.begin_read(&ask.session, ask.is_of_store());
        (engine.edit_queue.begin_read(&ask.session), puts, ask)
    });
    if let Ok((reading, _, ask)) = &begun
        && ask.is_of_no_file(&snapshot.overlays)
    {
        reading.is_of_no_file();
    }
    let (engine, client) = (engine.clone(), client.clone());
    let answer = async move {
        let (reading, mut puts, ask) = begun?;
        puts.come().await;
        answered(&engine, &client, reading, ask, snapshot).await
    };
    (path, answer)
}

/// The answer to a read that waits for nothing but the edits before it.
pub async fn answer_to(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    ask: Ask,
    snapshot: ClientSnapshot,
) -> Result<ReadResult, Refusal> {
    let reading = engine.edit_queue.begin_read(&ask.session);
    answered(engine, client, reading, ask, snapshot).await
}

async fn answered(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    reading: Reading,
    ask: Ask,
    snapshot: ClientSnapshot,
) -> Result<ReadResult, Refusal> {
    let (reading, ask) = (Arc::new(reading), Arc::new(ask));
    let config = snapshot.config.clone();
    let answered = read(engine, client, reading, ask.clone(), snapshot).await;
    let (answer, notices) = match answered {
        Ok(answered) => answered,
        // The wait for its turn, or for a place to run: nothing that was looked for.
        Err(refusal) => (ask.refused(refusal, &config.scope.of_nobody())?, Vec::new()),
    };
    client.send(notices).await;
    Ok(answer)
}

/// The answer, and what other sessions must hear; also where it is refused in words of the dialect.
async fn read(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    reading: Arc<Reading>,
    ask: Arc<Ask>,
    snapshot: ClientSnapshot,
) -> Result<(ReadResult, Vec<Notice>), Refusal> {
    let snapshot = in_turn(engine, client, &reading, &ask, snapshot).await?;
    let (jobs_engine, jobs_ask) = (engine.clone(), ask.clone());
    let settings = snapshot.config.settings.clone();
    let job = move |work: &Work, obtained: Option<&Obtained>| {
        let (reader, ask) = (&jobs_engine.reader, &jobs_ask);
        let ClientSnapshot { config, overlays } = &snapshot;
        let scope = &jobs_engine.scope(config, &ask.session, work);
        let found = |whereabouts| reading.is_known(whereabouts);
        let answered = match reader.prepare(ask, obtained, scope, overlays, work, &found) {
            Ok(StageResult::Lacks(lacking)) => return Ok(StageResult::Lacks(lacking)),
            Ok(StageResult::Ready(prepared)) => reader.finish(ask, &prepared, None, work),
            Err(refusal) => Err(refusal),
        };
        match answered {
            Err(refusal) => Ok(StageResult::Ready((
                ask.refused(refusal, scope)?,
                Vec::new(),
            ))),
            Ok(answered) => Ok(StageResult::Ready(answered)),
        }
    };
    run_obtaining(engine, client, &ask, &settings, job).await
}
