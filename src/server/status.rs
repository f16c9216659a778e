//! `agent/status`: what the daemon holds and did; never a file's content.

use std::sync::Arc;

use crate::protocol::PROTOCOL_VERSION;
use crate::protocol::status::{
    Buffers, CacheCounts, Confinement, MemoryUse, Status, Summaries, WatchesStatus, Workers,
    WorkersOfKind,
};
use crate::rpc;
use crate::worker::{self, Landlock};

use super::call::Call;
use super::client::Client;
use super::engine::Engine;

pub fn begin(engine: &Arc<Engine>, client: &Arc<Client>, call: Call) -> rpc::CallFuture {
    let status = of(engine, client);
    call.answer(None, async move { Ok(status) })
}

/// What an engine holds, and what its client was told.
pub fn of(engine: &Engine, client: &Client) -> Status {
    let config = client.config();
    let store = engine.reader.buffers.status();
    let watching = engine.reader.buffers.watch_status();
    let outlines = engine.reader.outlines.status();
    let snapshots = engine.reader.sessions.snapshot_status();
    let names = config.scope.names_status();
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
        buffers: Buffers {
            count: store.count,
            bytes: store.bytes,
            budget_bytes: store.budget_bytes,
        },
        snapshots: MemoryUse {
            count: snapshots.count,
            bytes: snapshots.bytes,
        },
        summaries: Summaries {
            count: outlines.count,
            bytes: outlines.bytes,
            hits: outlines.hits,
            misses: outlines.misses,
        },
        names: MemoryUse {
            count: names.count,
            bytes: names.bytes,
        },
        watches: WatchesStatus {
            count: watching.count,
            limit: config.settings.watch.max_directories,
            degraded: watching.problem.is_some(),
            overflows: watching.overflows,
        },
        cache: CacheCounts {
            hits: store.hits,
            misses: store.misses,
            stale_avoided: store.stale_avoided,
        },
        workers: Workers {
            convert: of_kind(engine.reader.converters.status()),
            syntax: of_kind(engine.reader.parsers.status()),
            query: of_kind(engine.reader.queriers.status()),
        },
        scans: engine.scans(),
        log: client.log.lock().clone(),
        problems,
        uptime_ms: client.started.elapsed().as_millis() as u64,
        stuck: engine.stuck(),
    }
}

fn of_kind(status: worker::Status) -> WorkersOfKind {
    WorkersOfKind {
        alive: status.alive,
        jobs: status.jobs,
        replaced: status.replaced,
        confinement: status.confinement.map(|walls| Confinement {
            landlock: match walls.landlock {
                Landlock::Full => "full",
                Landlock::Partial => "partial",
                Landlock::None => "none",
            },
            seccomp: walls.seccomp,
        }),
    }
}
