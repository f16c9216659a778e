//! Open documents of files that were moved or deleted: the editor shows the file under its new name, and closes what is deleted; it never loses what the user has typed.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout_at;
use tower_lsp::ls_types::request::Request;

use crate::buffer::DocumentId;
use crate::edit::Followed;
use crate::read::file_uri;

use super::client::Client;

/// How long an answer waits for that. An editor that takes longer does it all the same.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize, Deserialize)]
pub struct FollowFileParams {
    /// As the editor called it.
    uri: String,
    /// `None` where the file is deleted.
    to: Option<String>,
}

enum FollowFile {}

impl Request for FollowFile {
    type Params = FollowFileParams;
    type Result = Value;
    const METHOD: &'static str = "agent/followFile";
}

/// Asks an editor that offers it to show those of these files that it has open where they are now.
pub async fn follow(client: &Client, files: Vec<Followed>) {
    if files.is_empty() || !client.facts().follow {
        return;
    }
    let deadline = tokio::time::Instant::now() + FOLLOWED_WITHIN;
    let overlays = client.snapshot().overlays;
    for Followed { from, to } in files {
        let key = DocumentId::File(from.as_path().to_path_buf());
        let Some(open) = overlays.unjudged(&key) else {
            continue;
        };
        let params = FollowFileParams {
            uri: open.uri.clone(),
            to: to.map(|to| file_uri(to.as_path())),
        };
        let asked = client.ask::<FollowFile>(params);
        if let Ok(Err(error)) = timeout_at(deadline, asked).await {
            tracing::debug!(error = %error.message, "a document did not follow its file");
        }
    }
}
