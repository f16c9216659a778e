//! Resources of MCP servers that the settings name, by a client of our own.
//!
//! [`McpServers`] has them all, none of which runs before a read needs it ([`server`]): a process in an environment and a
//! directory of its own ([`process`]), messages as lines within limits ([`lines`]), a handshake in the newest revision that
//! both know ([`connection`]). Everything runs on the runtime that [`McpServers::new`] is given, whoever polls the futures;
//! dropping one calls its request off and nothing else. What a server lists is kept as long as the server says that it holds.

mod connection;
mod error;
mod lines;
mod process;
mod server;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::protocol::resources::ResourceContents;
use crate::protocol::settings;
use crate::protocol::status::McpServerStatus;

pub use connection::Catalogue;
pub use error::McpError;
use server::McpServer;

/// After so long without a read a server is ended.
const IDLE: Duration = Duration::from_secs(600);

/// What each server that was asked has, or why that is not known.
pub type Catalogues = Vec<(String, Result<Arc<Catalogue>, McpError>)>;

/// The servers of one engine.
#[derive(Debug)]
pub struct McpServers {
    runtime: Handle,
    idle: Duration,
    table: Mutex<ServerTable>,
}

#[derive(Debug, Default)]
struct ServerTable {
    servers: BTreeMap<String, Arc<McpServer>>,
    /// For a start, and for each request.
    limit: Duration,
}

impl McpServers {
    /// None yet: they come with the settings.
    pub fn new(runtime: Handle) -> Arc<McpServers> {
        Arc::new(McpServers {
            runtime,
            idle: idle(),
            table: Mutex::default(),
        })
    }

    /// Takes over what the settings say. What they no longer name, or name otherwise, is ended.
    pub fn heed(&self, settings: &settings::Mcp) {
        let mut table = self.table.lock();
        table.limit = Duration::from_millis(settings.timeout_ms);
        let mut before = std::mem::take(&mut table.servers);
        for (name, settings) in &settings.servers {
            let same = before.remove(name).filter(|it| it.settings == *settings);
            let server =
                same.unwrap_or_else(|| McpServer::new(name, settings, &self.runtime, self.idle));
            table.servers.insert(name.clone(), server);
        }
        before.values().for_each(|server| server.retire());
    }

    pub fn status(&self) -> Vec<McpServerStatus> {
        let table = self.table.lock();
        table
            .servers
            .values()
            .map(|server| server.status())
            .collect()
    }

    /// Whether there is one of that name.
    pub fn has(&self, name: &str) -> bool {
        self.table.lock().servers.contains_key(name)
    }

    pub fn names(&self) -> Vec<String> {
        self.table.lock().servers.keys().cloned().collect()
    }

    /// What all of them have, asked side by side.
    pub async fn catalogues(&self) -> Catalogues {
        let (servers, limit) = self.all();
        let each = servers.iter().map(|server| async move {
            let catalogue = server.catalogue(limit).await;
            (server.name.clone(), catalogue)
        });
        join_all(each).await
    }

    /// What one of them has.
    pub async fn catalogue(&self, name: &str) -> Result<Arc<Catalogue>, McpError> {
        let (server, limit) = self.one(name)?;
        server.catalogue(limit).await
    }

    /// What all of them have listed so far; none is asked.
    pub fn known(&self) -> Catalogues {
        let (servers, _) = self.all();
        let known = servers.iter().filter_map(|server| {
            let catalogue = server.known()?;
            Some((server.name.clone(), Ok(catalogue)))
        });
        known.collect()
    }

    /// A resource of one of them, by its URI as it is.
    pub async fn read(&self, name: &str, uri: &str) -> Result<ResourceContents, McpError> {
        let (server, limit) = self.one(name)?;
        server.read(uri, limit).await
    }

    /// Ends all processes, because this one ends: they are asked to, and soon after killed.
    pub async fn end(&self) {
        let (servers, _) = self.all();
        if !servers.iter().any(|server| server.ask_to_end()) {
            return;
        }
        for _ in 0..LAST_LOOKS {
            tokio::time::sleep(LAST_LOOK).await;
            if !servers.iter().any(|server| server.runs()) {
                return;
            }
        }
        servers.iter().for_each(|server| server.kill());
    }

    fn all(&self) -> (Vec<Arc<McpServer>>, Duration) {
        let table = self.table.lock();
        (table.servers.values().cloned().collect(), table.limit)
    }

    fn one(&self, name: &str) -> Result<(Arc<McpServer>, Duration), McpError> {
        let table = self.table.lock();
        // Else the settings changed in between.
        let server = table.servers.get(name).cloned();
        server.map(|it| (it, table.limit)).ok_or(McpError::Ended)
    }
}

/// How long servers are given at the end of this process.
const LAST_LOOK: Duration = Duration::from_millis(10);
const LAST_LOOKS: usize = 20;

/// Which of the servers have a resource of that URI: those that list it, else those with a template that it fits.
pub fn who_has<'a>(uri: &str, catalogues: &'a Catalogues) -> Vec<&'a str> {
    let listings = || {
        catalogues.iter().filter_map(|(name, catalogue)| {
            let catalogue = catalogue.as_ref().ok()?;
            Some((name.as_str(), &catalogue.listing))
        })
    };
    let exactly =
        listings().filter(|(_, listing)| listing.resources.iter().any(|it| it.uri == uri));
    let exactly: Vec<&str> = exactly.map(|(name, _)| name).collect();
    if !exactly.is_empty() {
        return exactly;
    }
    let by_template = listings().filter(|(_, listing)| {
        let mut templates = listing.templates.iter();
        templates.any(|it| template::fits(&it.uri_template, uri))
    });
    by_template.map(|(name, _)| name).collect()
}

/// After how long an unused server is ended; in builds for tests lowered by `PILCROW_MCP=idleMs=100`.
fn idle() -> Duration {
    #[cfg(any(feature = "failpoints", debug_assertions))]
    if let Ok(text) = std::env::var("PILCROW_MCP")
        && let Some(millis) = text.strip_prefix("idleMs=").and_then(|it| it.parse().ok())
    {
        return IDLE.min(Duration::from_millis(millis));
    }
    IDLE
}
