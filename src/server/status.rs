//! `agent/status`: what the daemon holds and did; never a file's content.

use std::sync::Arc;
use std::time::Duration;

use crate::protocol::PROTOCOL_VERSION;
use crate::protocol::status::{Status, WatchesStatus, WorkersStatus};
use crate::rpc;

use super::call::Call;
use super::client::Client;
use super::engine::Engine;

pub fn begin(engine: &Arc<Engine>, client: &Arc<Client>, call: Call) -> rpc::CallFuture {
    let mut status = of(engine, client);
    let (engine, config) = (engine.clone(), client.config());
    call.answer(None, async move {
        let jobs_engine = engine.clone();
        let looked = engine.run_within(RESOURCES_LIMIT, move |work| {
            // Whoever wants to know how it goes does not wait for a mount that hangs.
            let scope = config.scope.of_nobody();
            jobs_engine.reader.folders.status(&scope, work)
        });
        if let Ok(resources) = looked.await {
            status.resources = resources;
        }
        Ok(status)
    })
}

/// What it may take to look through folders; where it takes longer, what was found last is told.
const RESOURCES_LIMIT: Duration = Duration::from_secs(1);

/// What an engine holds, and what its client was told.
pub fn of(engine: &Engine, client: &Client) -> Status {
    let config = client.config();
    let (buffers, cache) = engine.reader.buffers.status();
    let watching = engine.reader.buffers.watch_status();
    let mut problems = client.problems.lock().all();
    problems.extend(watching.problem.clone());
    Status {
        version: env!("CARGO_PKG_VERSION"),
        protocol: PROTOCOL_VERSION,
        roots: config
            .folders
            .iter()
            .map(|folder| folder.display().to_string())
            .collect(),
        sessions: engine.reader.sessions.count(),
        buffers,
        snapshots: engine.reader.sessions.snapshot_status(),
        summaries: engine.reader.outlines.status(),
        names: config.scope.names_status(),
        watches: WatchesStatus {
            count: watching.count,
            limit: config.settings.watch.max_directories,
            degraded: watching.problem.is_some(),
            overflows: watching.overflows,
        },
        cache,
        workers: WorkersStatus {
            convert: engine.reader.converters.status(),
            syntax: engine.reader.parsers.status(),
            query: engine.reader.queriers.status(),
        },
        web: engine.web.status(),
        resources: engine.reader.folders.last_status(),
        artifacts: engine.reader.stores.status(),
        mcp: engine.mcp.status(),
        github: engine.github.status(&config.settings.github.cache),
        scans: engine.scans(),
        log: client.log.lock().clone(),
        problems,
        uptime_ms: client.started.elapsed().as_millis() as u64,
        stuck: engine.stuck(),
    }
}
