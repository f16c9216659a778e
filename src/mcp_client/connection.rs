//! One connection to a running server: its handshake, its lists, its resources.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents as WireContents, SubscriptionFilter,
};
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, NotificationContext, Peer,
    RoleClient, RunningService, ServiceError, serve_client_with_lifecycle,
};
use tokio::time::timeout;

use crate::protocol::ResourceAnswer;
use crate::protocol::resources::{
    ListedResource, ListedTemplate, PartBody, ResourceContents, ResourceListing, ResourcePart,
};

use super::error::{McpError, said};
use super::lines::{MISUNDERSTOOD, Patience, ServerLines, TOO_LONG};

/// Entries of a list, and pages that it may come in.
const MAX_LISTED: usize = 1000;
const MAX_PAGES: usize = 200;

/// What a server has, as it said when it was asked last.
#[derive(Debug, Default)]
pub struct Catalogue {
    pub listing: ResourceListing,
    asked_at: Option<Instant>,
    ttl: Option<Duration>,
    /// How often the list had changed before it was asked for.
    changes: u64,
}

/// A server that answered the handshake.
#[derive(Debug)]
pub(super) struct ServerConnection {
    peer: Peer<RoleClient>,
    has_resources: bool,
    /// It says when its list changes, and is heard.
    tells_changes: Arc<AtomicBool>,
    /// How often its list changed.
    changes: Arc<AtomicU64>,
    /// Requests in a row that were not answered in time.
    timeouts: AtomicU32,
}

/// Hears what a server says by itself. It offers nothing: what a server asks for is declined by the library.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    changes: Arc<AtomicU64>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("pilcrow", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }
}

/// The loop that serves a connection; dropping it closes the connection.
pub(super) type RunningServer = RunningService<RoleClient, Handler>;

impl ServerConnection {
    /// Agrees with a server on a revision, `limit` at most. In the runtime.
    pub(super) async fn open(
        output: tokio::process::ChildStdout,
        input: tokio::process::ChildStdin,
        patience: Patience,
        limit: Duration,
    ) -> Result<(ServerConnection, RunningServer), McpError> {
        let lines = ServerLines::new(output, input, patience);
        let handler = Handler {
            changes: Arc::default(),
        };
        let changes = handler.changes.clone();
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![
                ProtocolVersion::V_2026_07_28,
                ProtocolVersion::V_2025_11_25,
                ProtocolVersion::V_2025_06_18,
            ],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        };
        let opened = timeout(
            limit,
            serve_client_with_lifecycle(handler, lines, lifecycle),
        )
        .await;
        let service = match opened {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => return Err(McpError::NotStarted(in_words(&error))),
            Err(_) => {
                let why = format!("no handshake within {} ms", limit.as_millis());
                return Err(McpError::NotStarted(why));
            }
        };
        let peer = service.peer().clone();
        // What is kept is kept elsewhere, within limits.
        peer.set_response_cache_config(ClientCacheConfig::disabled())
            .await;
        let info = peer.peer_info();
        let offered = info.as_ref().map(|info| &info.capabilities);
        let resources = offered.and_then(|offered| offered.resources.as_ref());
        let tells_changes = resources.is_some_and(|it| it.list_changed == Some(true));
        let is_new = info
            .as_ref()
            .is_some_and(|info| !info.protocol_version.has_initialize());
        let is_heard = Arc::new(AtomicBool::new(tells_changes && !is_new));
        if tells_changes && is_new {
            tokio::spawn(listen(peer.clone(), changes.clone(), is_heard.clone()));
        }
        let connection = ServerConnection {
            has_resources: resources.is_some(),
            tells_changes: is_heard,
            changes,
            timeouts: AtomicU32::new(0),
            peer,
        };
        Ok((connection, service))
    }

    /// Whether it let two requests in a row time out.
    pub(super) fn hangs(&self) -> bool {
        self.timeouts.load(Ordering::Relaxed) >= 2
    }

    /// Whether what a server listed is what it would list now, as far as it said.
    pub(super) fn is_current(&self, catalogue: &Catalogue) -> bool {
        let Some(asked_at) = catalogue.asked_at else {
            return false;
        };
        let is_fresh = match catalogue.ttl {
            Some(ttl) => asked_at.elapsed() < ttl,
            None => self.tells_changes.load(Ordering::Relaxed),
        };
        is_fresh && catalogue.changes == self.changes.load(Ordering::Relaxed)
    }

    /// Asks for all lists.
    pub(super) async fn catalogue(&self, limit: Duration) -> Result<Catalogue, McpError> {
        let mut catalogue = Catalogue {
            asked_at: Some(Instant::now()),
            changes: self.changes.load(Ordering::Relaxed),
            ..Catalogue::default()
        };
        if !self.has_resources {
            catalogue.ttl = Some(Duration::MAX);
            return Ok(catalogue);
        }
        let (resources, templates) =
            futures::future::try_join(self.resources(limit), self.templates(limit)).await?;
        catalogue.ttl = match (resources.ttl_ms, templates.ttl_ms) {
            (Some(one), Some(other)) => Some(Duration::from_millis(one.min(other))),
            (one, other) => one.or(other).map(Duration::from_millis),
        };
        catalogue.listing = ResourceListing {
            is_cut: resources.is_cut || templates.is_cut,
            resources: resources.entries,
            templates: templates.entries,
        };
        match ResourceAnswer::Listing(catalogue.listing.clone()).bytes() > ResourceAnswer::MAX_BYTES
        {
            true => Err(McpError::TooLarge),
            false => Ok(catalogue),
        }
    }

    async fn resources(&self, limit: Duration) -> Result<PagedList<ListedResource>, McpError> {
        let mut list = PagedList::new();
        while let Some(page) = list.page() {
            let answer = self.within(limit, self.peer.list_resources(page)).await?;
            let entries = answer.resources.into_iter().map(|it| ListedResource {
                uri: it.uri,
                name: it.name,
                title: it.title,
                description: it.description,
                mime_type: it.mime_type,
                size: it.size,
            });
            list.add(entries, answer.next_cursor, answer.ttl_ms);
        }
        Ok(list)
    }

    async fn templates(&self, limit: Duration) -> Result<PagedList<ListedTemplate>, McpError> {
        let mut list = PagedList::new();
        while let Some(page) = list.page() {
            let asked = self.peer.list_resource_templates(page);
            let answer = match self.within(limit, asked).await {
                Ok(answer) => answer,
                // A server need not have any.
                Err(McpError::Refused(_)) => break,
                Err(error) => return Err(error),
            };
            let entries = answer.resource_templates.into_iter();
            let entries = entries.map(|it| ListedTemplate {
                uri_template: it.uri_template,
                name: it.name,
                description: it.description,
            });
            list.add(entries, answer.next_cursor, answer.ttl_ms);
        }
        Ok(list)
    }

    /// Asks for a resource.
    pub(super) async fn read(
        &self,
        uri: &str,
        limit: Duration,
    ) -> Result<ResourceContents, McpError> {
        let params = ReadResourceRequestParams::new(uri);
        let asked = self.peer.read_resource_once(params);
        match self.within(limit, asked).await? {
            ReadResourceResponse::Complete(result) => {
                let contents = contents(result);
                let answer = ResourceAnswer::Contents(contents);
                match (answer.bytes() > ResourceAnswer::MAX_BYTES, answer) {
                    (false, ResourceAnswer::Contents(contents)) => Ok(contents),
                    _ => Err(McpError::TooLarge),
                }
            }
            ReadResourceResponse::InputRequired(_) => Err(McpError::WantsInput),
            _ => Err(McpError::Misunderstood),
        }
    }

    /// Waits for an answer; dropped or too late, the server is told that nobody waits any more.
    async fn within<T>(
        &self,
        limit: Duration,
        asked: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, McpError> {
        match timeout(limit, asked).await {
            Ok(Ok(answer)) => {
                self.timeouts.store(0, Ordering::Relaxed);
                Ok(answer)
            }
            Ok(Err(error)) => Err(self.refused(error)),
            Err(_) => {
                self.timeouts.fetch_add(1, Ordering::Relaxed);
                Err(McpError::Timeout {
                    millis: limit.as_millis() as u64,
                })
            }
        }
    }

    fn refused(&self, error: ServiceError) -> McpError {
        let ServiceError::McpError(error) = error else {
            return match error {
                ServiceError::UnexpectedResponse => McpError::Misunderstood,
                _ => McpError::Ended,
            };
        };
        self.timeouts.store(0, Ordering::Relaxed);
        match error.code.0 {
            TOO_LONG => McpError::TooLarge,
            MISUNDERSTOOD => McpError::Misunderstood,
            -32002 | -32602 => McpError::NoSuchResource(said(&error.message)),
            _ => McpError::Refused(said(&error.message)),
        }
    }
}

/// A list while its pages come.
struct PagedList<T> {
    entries: Vec<T>,
    cursor: Option<String>,
    pages: usize,
    is_done: bool,
    is_cut: bool,
    ttl_ms: Option<u64>,
}

impl<T> PagedList<T> {
    fn new() -> PagedList<T> {
        PagedList {
            entries: Vec::new(),
            cursor: None,
            pages: 0,
            is_done: false,
            is_cut: false,
            ttl_ms: None,
        }
    }

    /// What asks for the next page; `None` where none is wanted.
    fn page(&self) -> Option<Option<PaginatedRequestParams>> {
        let cursor = self.cursor.clone();
        let params = cursor.map(|it| PaginatedRequestParams::default().with_cursor(Some(it)));
        (!self.is_done).then_some(params)
    }

    fn add(&mut self, entries: impl Iterator<Item = T>, next: Option<String>, ttl: Option<u64>) {
        self.pages += 1;
        self.entries
            .extend(entries.take(MAX_LISTED + 1 - self.entries.len()));
        self.ttl_ms = self.ttl_ms.into_iter().chain(ttl).min();
        let is_full = self.entries.len() > MAX_LISTED;
        self.entries.truncate(MAX_LISTED);
        let goes_round = next.is_some() && next == self.cursor;
        self.is_cut = is_full || (next.is_some() && self.pages == MAX_PAGES);
        self.is_done = self.is_cut || goes_round || next.is_none();
        self.cursor = next;
    }
}

/// Hears of changes of the list, where the revision wants that to be asked for.
async fn listen(peer: Peer<RoleClient>, changes: Arc<AtomicU64>, is_heard: Arc<AtomicBool>) {
    let filter = SubscriptionFilter::builder()
        .resources_list_changed()
        .build();
    let Ok(mut subscription) = peer.listen(filter).await else {
        return;
    };
    if subscription.acknowledged().resources_list_changed != Some(true) {
        return;
    }
    // What was listed before that may have changed since.
    changes.fetch_add(1, Ordering::Relaxed);
    is_heard.store(true, Ordering::Relaxed);
    while let Ok(Some(_)) = subscription.next().await {
        changes.fetch_add(1, Ordering::Relaxed);
    }
    is_heard.store(false, Ordering::Relaxed);
}

fn contents(result: ReadResourceResult) -> ResourceContents {
    let part = |part: WireContents| {
        let (uri, mime_type, body) = match part {
            WireContents::TextResourceContents {
                uri,
                mime_type,
                text,
                ..
            } => (uri, mime_type, PartBody::Text(text)),
            WireContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => (uri, mime_type, PartBody::Blob(blob)),
            // The library knows no other.
            _ => return None,
        };
        Some(ResourcePart {
            uri,
            mime_type,
            body,
        })
    };
    ResourceContents {
        contents: result.contents.into_iter().filter_map(part).collect(),
        title: None,
        ttl_ms: result.ttl_ms,
        trusted: None,
    }
}

/// Why there is no connection, without what the library would print of its own types.
fn in_words(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => {
            "it ended, or closed its output, before the handshake".to_owned()
        }
        ClientInitializeError::TransportError { .. } => {
            "it ended, or closed its input, before the handshake".to_owned()
        }
        ClientInitializeError::JsonRpcError(error) => said(&error.message),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => in_words(fallback),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no revision of the protocol that is known here".to_owned()
        }
        _ => "it does not speak the protocol".to_owned(),
    }
}
