//! What `agent/status` returns; counts and sizes only, never a path's content.

use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub version: &'static str,
    pub protocol: u32,
    pub roots: Vec<String>,
    pub sessions: usize,
    pub buffers: Buffers,
    pub snapshots: MemoryUse,
    pub summaries: Summaries,
    /// Names of the roots, kept for paths that are not there.
    pub names: MemoryUse,
    pub watches: WatchesStatus,
    pub cache: CacheCounts,
    pub workers: Workers,
    /// Walks of the tree since the start.
    pub scans: u64,
    /// Where the log is written.
    pub log: Option<String>,
    pub problems: Vec<String>,
    pub uptime_ms: u64,
    /// Blocking jobs left behind by their deadline (a hung mount).
    pub stuck: usize,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Buffers {
    pub count: usize,
    pub bytes: u64,
    pub budget_bytes: u64,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct MemoryUse {
    pub count: usize,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Summaries {
    pub count: usize,
    pub bytes: u64,
    pub hits: u64,
    pub misses: u64,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct WatchesStatus {
    pub count: usize,
    pub limit: usize,
    /// The system refuses watches; why is said in `problems`.
    pub degraded: bool,
    /// How often the system lost events.
    pub overflows: u64,
}

/// The confined processes, by kind.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Workers {
    pub convert: WorkersOfKind,
    pub syntax: WorkersOfKind,
    pub query: WorkersOfKind,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct WorkersOfKind {
    pub alive: usize,
    /// Documents or questions that were handed to one.
    pub jobs: u64,
    /// Processes that died or were killed at work.
    pub replaced: u64,
    /// How they are confined; absent before the first one began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Confinement>,
}

/// What keeps a worker from doing more than computing.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Confinement {
    /// `full`, `partial` (an older kernel) or `none`.
    pub landlock: &'static str,
    pub seccomp: bool,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheCounts {
    pub hits: u64,
    pub misses: u64,
    /// Reads where the file had changed behind a warm buffer.
    pub stale_avoided: u64,
}
