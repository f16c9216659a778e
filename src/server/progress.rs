//! `$/progress` of a wait for the network, for who gave a `workDoneToken`; quick ones say nothing.

use std::time::Duration;

use serde_json::Value;
use tokio::pin;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tower_lsp::ls_types as lsp;

use crate::net::Progress;
use crate::view::size::file_size;

use super::client::Client;

/// Waits shorter than this are not told of, and no two reports come closer.
const QUIET: Duration = Duration::from_millis(200);

/// What a client gave as a token, if it is one.
pub fn token(given: &Value) -> Option<lsp::ProgressToken> {
    serde_json::from_value(given.clone()).ok()
}

/// Waits for `fetching`, and tells the client how far it is.
pub async fn reported<T>(
    client: &Client,
    token: lsp::ProgressToken,
    mut told: watch::Receiver<Progress>,
    fetching: impl Future<Output = T>,
) -> T {
    pin!(fetching);
    if let Ok(done) = timeout(QUIET, &mut fetching).await {
        return done;
    }
    let say = |value: lsp::WorkDoneProgress| {
        client.notify::<lsp::notification::Progress>(lsp::ProgressParams {
            token: token.clone(),
            value: lsp::ProgressParamsValue::WorkDone(value),
        })
    };
    let begin = lsp::WorkDoneProgressBegin {
        title: "Fetching".to_owned(),
        message: Some(words(*told.borrow_and_update())),
        ..lsp::WorkDoneProgressBegin::default()
    };
    say(lsp::WorkDoneProgress::Begin(begin)).await;
    let done = loop {
        let next = async {
            sleep(QUIET).await;
            told.changed().await
        };
        tokio::select! {
            done = &mut fetching => break done,
            changed = next => match changed {
                Ok(()) => {
                    let report = lsp::WorkDoneProgressReport {
                        message: Some(words(*told.borrow_and_update())),
                        ..lsp::WorkDoneProgressReport::default()
                    };
                    say(lsp::WorkDoneProgress::Report(report)).await;
                }
                // There is nothing more to be told.
                Err(_) => break fetching.await,
            },
        }
    };
    let end = lsp::WorkDoneProgressEnd { message: None };
    say(lsp::WorkDoneProgress::End(end)).await;
    done
}

/// `connecting`, `12.0KB of 90.0KB`.
fn words(progress: Progress) -> String {
    match progress {
        Progress::Connecting => "connecting".to_owned(),
        Progress::Received { bytes, of: None } => file_size(bytes),
        Progress::Received {
            bytes,
            of: Some(of),
        } => {
            format!("{} of {}", file_size(bytes), file_size(of))
        }
    }
}
