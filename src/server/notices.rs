//! `agent/didChangeSnapshot`: telling the client that lines it was shown have changed; content is never sent.

use serde::{Deserialize, Serialize};
use tower_lsp::ls_types::notification::Notification;

use crate::protocol::read::LineSpan;
use crate::session::Notice;

use super::client::{Client, Listener};

/// The notification's parameters on the wire.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DidChangeSnapshotParams {
    session: String,
    path: String,
    tag: String,
    new_tag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_to: Option<String>,
    changed: Vec<LineSpan>,
    actor: String,
}

enum DidChangeSnapshot {}

impl Notification for DidChangeSnapshot {
    type Params = DidChangeSnapshotParams;
    const METHOD: &'static str = "agent/didChangeSnapshot";
}

impl Client {
    /// Sends notices to the client, which all sessions share.
    pub async fn send(&self, notices: Vec<Notice>) {
        if let Listener::Agent(tell) = self.listener() {
            return tell(notices);
        }
        for notice in notices {
            let params = DidChangeSnapshotParams {
                session: notice.session,
                path: notice.path,
                tag: notice.tag.to_string(),
                new_tag: notice.new_tag.map(|tag| tag.to_string()),
                moved_to: notice.moved_to,
                changed: notice.changed,
                actor: notice.actor.name(),
            };
            self.notify::<DidChangeSnapshot>(params).await;
        }
    }
}
