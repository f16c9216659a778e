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
    engine: &Engine,
    client: &Client,
    reading: &Arc<Reading>,
    ask: &Arc<Ask>,
    snapshot: ClientSnapshot,
) -> Result<ClientSnapshot, Refusal> {
    if reading.is_free() || ask.is_of_web() {
        return Ok(snapshot);
    }
    let (jobs_ask, jobs_snapshot) = (ask.clone(), snapshot.clone());
    let jobs_reading = reading.clone();
    let places = engine
        .run(move |work| {
            let ClientSnapshot { config, overlays } = &jobs_snapshot;
            let scope = &config.scope.of_job(work);
            go_on_mount(&jobs_ask, scope, &|it| jobs_reading.is_known(it))?;
            places_to_read(&jobs_ask, scope, overlays, work)
        })
        .await?;
    reading.turn(&places).await?;
    let overlays = client.snapshot().overlays;
    Ok(ClientSnapshot {
        overlays,
        ..snapshot
    })
}
