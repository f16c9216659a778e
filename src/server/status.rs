//! `agent/status`: what the daemon holds and did; never a file's content.

use std::sync::Arc;

use crate::protocol::PROTOCOL_VERSION;
use crate::protocol::status::{
    Buffers, CacheCounts, Confinement, Held, Status, Summaries, Watches, Workers, WorkersOfKind,
};
use crate::rpc;
use crate::worker::{self, Landlock};

use super::call::Call;
use super::state::{Engine, State};

pub fn begin(state: &Arc<State>, call: Call) -> rpc::Call {
    let mut status = of_engine(&state.engine);
    status.log = state.log.lock().clone();
    status.problems = state.problems.lock().all();
    let watching = state.engine.reader.buffers.watch_status();
    status.problems.extend(watching.problem);
    status.uptime_ms = state.started.elapsed().as_millis() as u64;
    status.stuck = state.stuck();
    call.answer(None, async move { Ok(status) })
}

/// What an engine holds; log, problems and uptime belong to the process around it.
pub fn of_engine(engine: &Engine) -> Status {
    let world = engine.world();
    let store = engine.reader.buffers.status();
    let watching = engine.reader.buffers.watch_status();
    let outlines = engine.reader.outlines.status();
    let snapshots = engine.reader.sessions.snapshot_status();
    let names = world.scope.names_status();
    Status {
        version: env!("CARGO_PKG_VERSION"),
        protocol: PROTOCOL_VERSION,
        roots: world
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
        snapshots: Held {
            count: snapshots.count,
            bytes: snapshots.bytes,
        },
        summaries: Summaries {
            count: outlines.count,
            bytes: outlines.bytes,
            hits: outlines.hits,
            misses: outlines.misses,
        },
        names: Held {
            count: names.count,
            bytes: names.bytes,
        },
        watches: Watches {
            count: watching.count,
            limit: world.settings.watch.max_directories,
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
        log: None,
        problems: Vec::new(),
        uptime_ms: 0,
        stuck: 0,
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
