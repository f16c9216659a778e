//! `agent/search`: the lines of files that a pattern matches, counted as shown.

use std::sync::Arc;

use serde_json::Value;

use crate::protocol::Refusal;
use crate::protocol::search::SearchResult;
use crate::read::SearchAsk;
use crate::rpc;

use super::call::Call;
use super::client::Client;
use super::config::ClientSnapshot;
use super::engine::Engine;
use super::read_many::DEFAULT_SESSION;

pub fn begin(engine: &Arc<Engine>, client: &Arc<Client>, call: Call) -> rpc::CallFuture {
    let (path, answer) = answer(engine, client, &call.params);
    call.answer(path, answer)
}

/// Registers a search; where is searched, as messages repeat it, and its answer.
pub fn answer(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    params: &Value,
) -> (
    Option<String>,
    impl Future<Output = Result<SearchResult, Refusal>> + use<>,
) {
    let snapshot = client.snapshot();
    let ask = SearchAsk::parse(params, DEFAULT_SESSION, &snapshot.config.settings);
    let path = ask.as_ref().ok().and_then(SearchAsk::logged_path);
    let begun = ask.map(|ask| {
        let puts = engine.puts.begin_read(&ask.session, ask.is_of_store());
        (engine.edit_queue.begin_read(&ask.session), puts, ask)
    });
    let (engine, client) = (engine.clone(), client.clone());
    let answer = async move {
        // An edit of this session that comes later waits until what is shown is on record.
        let (reading, mut puts, ask) = begun?;
        puts.come().await;
        let ClientSnapshot { config, overlays } = match reading.is_free() {
            true => snapshot,
            // It may find something in every file, so it waits for every edit.
            false => {
                reading.last_turn().await?;
                ClientSnapshot {
                    overlays: client.snapshot().overlays,
                    ..snapshot
                }
            }
        };
        let jobs_engine = engine.clone();
        let searched = engine.run(move |work| {
            let scope = &jobs_engine.scope(&config, &ask.session, work);
            jobs_engine.reader.search(&ask, scope, &overlays, work)
        });
        let (result, notices) = searched.await?;
        drop(reading);
        client.send(notices).await;
        Ok(result)
    };
    (path, answer)
}
