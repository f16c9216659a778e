//! What clients and MCP servers have is asked for by this: the servers, and a place for answers that are no text.

use std::sync::Arc;

use crate::mcp_client::McpServers;
use crate::net::Spool;

/// See the module.
#[derive(Debug)]
pub struct Provided {
    pub mcp: Arc<McpServers>,
    spool: Arc<Spool>,
}

impl Provided {
    pub fn new(mcp: Arc<McpServers>, spool: Arc<Spool>) -> Provided {
        Provided { mcp, spool }
    }

    pub(super) fn spool(&self) -> &Spool {
        &self.spool
    }
}
