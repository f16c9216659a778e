//! What died in the middle of a write is cleaned up after, in the background. No edit begins before
//! that is done, and no read waits for it.

use std::sync::Arc;

use crate::task::Work;

use super::client::Client;
use super::engine::Engine;

/// A recovery that is not done. It is when this is dropped, however it ended.
struct RecoveryGuard(Arc<Engine>);

impl RecoveryGuard {
    fn new(engine: &Arc<Engine>) -> RecoveryGuard {
        engine.recovery.open.send_modify(|open| *open += 1);
        RecoveryGuard(engine.clone())
    }
}

impl Drop for RecoveryGuard {
    fn drop(&mut self) {
        self.0.recovery.open.send_modify(|open| *open -= 1);
    }
}

/// Begins to remove what dead processes left in the client's roots as they are now.
pub fn begin(engine: &Arc<Engine>, client: &Arc<Client>) {
    let open = RecoveryGuard::new(engine);
    let (engine, client) = (engine.clone(), client.clone());
    let threads = engine.threads.clone();
    threads.start(async move {
        let (jobs_engine, turn) = (engine.clone(), engine.recovery.turn.clone());
        let config = client.config();
        let job = move |work: &Work| {
            let _turn = turn.lock();
            jobs_engine.writer.recover(&config.scope.of_job(work))
        };
        let left = engine.run_background(job).await;
        let left = left.unwrap_or_else(|stopped| {
            vec![format!(
                "What earlier processes left behind could not be cleaned up: {stopped}"
            )]
        });
        for problem in left {
            tracing::warn!(problem, "leftovers");
            client.problems.lock().add(problem);
        }
        drop(open);
    });
}

/// Begins to remove what sessions of dead processes had of their own.
pub fn remove_stores(engine: &Arc<Engine>) {
    let (threads, engine) = (engine.threads.clone(), engine.clone());
    threads.start(async move {
        let stores = engine.reader.stores.clone();
        let removed = engine.run_background(move |_| stores.remove_abandoned());
        if let Err(stopped) = removed.await {
            tracing::warn!(%stopped, "stores of dead processes stay");
        }
    });
}

/// Tells the client what could not be cleaned up, once that is known.
pub fn report_when_done(engine: &Arc<Engine>, client: &Arc<Client>) {
    let (engine, client) = (engine.clone(), client.clone());
    let threads = engine.threads.clone();
    threads.start(async move {
        engine.recovery.done().await;
        client.report_problems().await;
    });
}
