//! What `agent/status` returns; counts and sizes only, never a path's content.

use serde::{Deserialize, Serialize};

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
    pub workers: WorkersStatus,
    pub web: WebStatus,
    pub resources: ResourcesStatus,
    /// The MCP servers of the settings.
    pub mcp: Vec<McpServerStatus>,
    pub artifacts: ArtifactsStatus,
    pub github: GithubStatus,
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

/// What was found in folders for skills, rules and memories.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ResourcesStatus {
    pub skills: usize,
    pub rules: usize,
    pub memories: usize,
    /// What has a name that something else goes by.
    pub shadowed: usize,
    /// What was left out, and why: a sentence each.
    pub problems: Vec<String>,
}

/// Web pages that are kept, and how reads of them were answered.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebStatus {
    pub entries: usize,
    pub bytes: u64,
    pub disk_bytes: u64,
    /// Without a byte over the network.
    pub hits: u64,
    pub misses: u64,
    /// The server said that what is kept still holds.
    pub revalidated: u64,
    pub in_flight: usize,
    /// A proxy was asked: it resolves names, so that only names and literal addresses were judged.
    pub proxied: bool,
}

/// What is known of GitHub and kept of its answers.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GithubStatus {
    /// `on` or `off`.
    pub cache: &'static str,
    /// Why it is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// At the last write of this daemon.
    pub rows: u64,
    pub bytes: u64,
    /// Those that were asked.
    pub hosts: Vec<GithubHostStatus>,
}

/// One of them.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GithubHostStatus {
    pub host: String,
    /// From where the login is: `client`, `env`, `gh` or `none`.
    pub login: &'static str,
    /// Requests that are left.
    pub remaining: Option<u64>,
    /// When there are more, in seconds since 1970.
    pub reset_at: Option<u64>,
}

/// One MCP server of the settings.
#[derive(Debug, Clone, Serialize)]
pub struct McpServerStatus {
    pub name: String,
    pub state: McpServerState,
    /// Its last words on stderr, at most 2 KiB.
    pub stderr: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum McpServerState {
    /// Not started yet, or ended; the next read that needs it starts it.
    Stopped,
    Starting,
    Running,
    /// It ended three times within a minute.
    Failing,
}

/// What sessions put away, all together.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactsStatus {
    pub count: usize,
    pub bytes: u64,
    pub budget_bytes: u64,
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
pub struct WorkersStatus {
    pub convert: WorkersOfKind,
    pub syntax: WorkersOfKind,
    pub query: WorkersOfKind,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct WorkersOfKind {
    /// Processes that are alive.
    pub alive: usize,
    /// Documents or questions that were handed to one.
    pub jobs: u64,
    /// Processes that died or were killed at work.
    pub replaced: u64,
    /// How they are confined; absent before the first one began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Confinement>,
}

/// Which walls keep a worker from doing more than computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    pub landlock: Landlock,
    pub seccomp: bool,
}

/// How much of Landlock the kernel knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Landlock {
    /// All that is asked for: files, TCP, signals.
    Full,
    /// An older kernel's part of it.
    Partial,
    None,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheCounts {
    pub hits: u64,
    pub misses: u64,
    /// Reads where the file had changed behind a warm buffer.
    pub stale_avoided: u64,
}
