//! What clients and MCP servers have, as far as it was asked for: the servers, the answers that sessions were shown, and files for those that are no text.

use std::sync::Arc;

use crate::mcp_client::McpServers;
use crate::net::Spool;

use super::kept::KeptResources;

#[derive(Debug)]
pub struct Provided {
    pub mcp: Arc<McpServers>,
    pub(super) kept: KeptResources,
    spool: Arc<Spool>,
}

impl Provided {
    pub fn new(mcp: Arc<McpServers>, spool: Arc<Spool>) -> Provided {
        Provided {
            mcp,
            kept: KeptResources::default(),
            spool,
        }
    }

    /// Forgets what a session was shown.
    pub fn close_session(&self, session: &str) {
        self.kept.close(session);
    }

    pub(super) fn spool(&self) -> &Spool {
        &self.spool
    }
}
