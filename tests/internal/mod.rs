//! Addresses that are no files of the workspace: one file for each scheme, and what they share.

mod agents;
mod artifacts;
mod bounds;
mod client_limits;
mod clients;
mod dialects;
mod folders;
mod guide;
mod kept;
mod local;
#[cfg(target_os = "linux")]
mod mcp;
#[cfg(target_os = "linux")]
mod mcp_everything;
#[cfg(target_os = "linux")]
mod mcp_manners;
#[cfg(target_os = "linux")]
mod mcp_processes;
#[cfg(target_os = "linux")]
mod mcp_support;
mod members;
mod puts;
mod schemes;
mod sessions;
mod shell_day;
mod spilling;
mod stores;

use serde_json::{Value, json};

use crate::client::{Daemon, WireError};

/// The first block of a result.
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

/// Lines under their numbers, from 1 on.
pub fn numbered(text: &str) -> Vec<String> {
    let lines = (1..).zip(text.lines());
    lines.map(|(n, line)| format!("{n}:{line}")).collect()
}

/// `agent/putArtifact` that must succeed.
pub fn put(daemon: &Daemon, params: Value) -> Value {
    let put = daemon.call("agent/putArtifact", params.clone());
    put.unwrap_or_else(|error| panic!("{params}: {}", error.message))
}

/// One that must be refused.
pub fn refused_put(daemon: &Daemon, params: Value) -> WireError {
    let refused = daemon.call("agent/putArtifact", params.clone());
    refused.expect_err(&params.to_string())
}

/// A read of a session.
pub fn read_as(daemon: &Daemon, session: &str, path: &str) -> Result<Value, WireError> {
    daemon.read_with(json!({ "session": session, "path": path }))
}

/// The first part of a fixture's path.
pub fn fixture(name: &str) -> String {
    format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}
