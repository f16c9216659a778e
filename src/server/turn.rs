//! How a read waits for the edits that came before it.

use std::sync::Arc;

use crate::protocol::Refusal;
use crate::read::{Ask, go_on_mount, places_to_read};

use super::client::Client;
use super::config::ClientSnapshot;
use super::edit_queue::Reading;
use super::engine::Engine;

/// Waits for the edits that came before a read and concern what it reads. Who had to wait sees the
/// open documents as the edits left them.
pub async fn in_turn(
    engine: &Arc<Engine>,
    client: &Client,
    reading: &Arc<Reading>,
    ask: &Arc<Ask>,
    snapshot: ClientSnapshot,
) -> Result<ClientSnapshot, Refusal> {
    if reading.is_free() || ask.is_of_no_file(&snapshot.overlays) {
        return Ok(snapshot);
    }
    let (jobs_ask, jobs_snapshot) = (ask.clone(), snapshot.clone());
    let (jobs_engine, jobs_reading) = (engine.clone(), reading.clone());
    let places = engine
        .run(move |work| {
            let ClientSnapshot { config, overlays } = &jobs_snapshot;
            let scope = &jobs_engine.scope(config, &jobs_ask.session, work);
            go_on_mount(&jobs_ask, scope, &|it| jobs_reading.is_known(it))?;
            let reader = &jobs_engine.reader;
            let context = reader.context(&jobs_ask, (scope, overlays), None, work);
            places_to_read(&jobs_ask, &context)
        })
        .await?;
    reading.turn(&places).await?;
    let overlays = client.snapshot().overlays;
    Ok(ClientSnapshot {
        overlays,
        ..snapshot
    })
}
