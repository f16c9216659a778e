//! The settings `mcp`: servers that the daemon may start. They come from the client alone.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mcp {
    /// By the names that stand in `mcp://NAME`.
    pub servers: BTreeMap<String, McpServerSettings>,
    /// For a start and for each request; clamped to [`Mcp::TIMEOUTS_MS`].
    pub timeout_ms: u64,
}

impl Mcp {
    pub const TIMEOUTS_MS: RangeInclusive<u64> = 100..=25_000;
    pub const MAX_SERVERS: usize = 8;
    const MAX_NAME: usize = 64;

    /// Leaves out servers that cannot be named in an address, and those that are too many; says so.
    pub(super) fn leave_out(&mut self) -> Vec<String> {
        let is_name = |name: &str| {
            let is_of_it = |c: u8| c.is_ascii_alphanumeric() || b"._-".contains(&c);
            (1..=Mcp::MAX_NAME).contains(&name.len()) && name.bytes().all(is_of_it)
        };
        let mut problems = Vec::new();
        let mut count = 0;
        self.servers.retain(|name, _| {
            if !is_name(name) {
                problems.push(format!(
                    "The MCP server '{name}' of mcp.servers is left out: a name has 1 to {} letters, digits, '.', '_' and '-'.",
                    Mcp::MAX_NAME
                ));
                return false;
            }
            count += 1;
            if count > Mcp::MAX_SERVERS {
                problems.push(format!(
                    "The MCP server '{name}' of mcp.servers is left out: there are more than {}.",
                    Mcp::MAX_SERVERS
                ));
            }
            count <= Mcp::MAX_SERVERS
        });
        problems
    }
}

/// An MCP server that the daemon starts.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpServerSettings {
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where it starts; `None` is the home directory.
    #[serde(default)]
    pub cwd: Option<String>,
}

impl std::fmt::Debug for McpServerSettings {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Arguments and environment may hold passwords.
        out.debug_struct("McpServerSettings")
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

impl Default for Mcp {
    fn default() -> Self {
        Mcp {
            servers: BTreeMap::new(),
            timeout_ms: 15_000,
        }
    }
}
