//! Addresses that are no files of the workspace: one file for each scheme, and what they share.

mod clients;
mod guide;
#[cfg(target_os = "linux")]
mod mcp;
#[cfg(target_os = "linux")]
mod mcp_everything;
#[cfg(target_os = "linux")]
mod mcp_processes;
#[cfg(target_os = "linux")]
mod mcp_support;

use serde_json::Value;

/// The first block of a result.
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

/// Lines under their numbers, from 1 on.
pub fn numbered(text: &str) -> Vec<String> {
    let lines = (1..).zip(text.lines());
    lines.map(|(n, line)| format!("{n}:{line}")).collect()
}
