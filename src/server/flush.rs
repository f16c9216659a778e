//! `agent/flush`: the editor saves what our edits left unsaved in documents that were clean before; what the user has typed is never saved for them.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;
use tower_lsp::ls_types::request::Request;

use crate::buffer::{DocumentId, EncodingHints};
use crate::protocol::Refusal;
use crate::protocol::edit::{Flushed, Left};
use crate::protocol::params::Fields;
use crate::rpc;
use crate::text::differs_beyond_normalisation;

use super::call::Call;
use super::client::Client;
use super::engine::Engine;

/// How long the editor has to save one document.
const SAVED_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, Serialize, Deserialize)]
pub struct SaveDocumentParams {
    uri: String,
}

enum SaveDocument {}

impl Request for SaveDocument {
    type Params = SaveDocumentParams;
    type Result = Value;
    const METHOD: &'static str = "agent/saveDocument";
}

pub fn begin(engine: &Arc<Engine>, client: &Arc<Client>, call: Call) -> rpc::CallFuture {
    let (engine, client) = (engine.clone(), client.clone());
    let wanted = wanted(&call.params);
    call.answer(None, async move {
        let wanted = wanted?;
        let mut flushed = Flushed::default();
        for (key, path) in unsaved(&client, wanted.as_deref()) {
            match save(&engine, &client, &key).await {
                Ok(()) => flushed.saved.push(path),
                Err(reason) => flushed.left.push(Left { path, reason }),
            }
        }
        Ok(flushed)
    })
}

/// The paths that are to be saved; all where none are named.
fn wanted(params: &Value) -> Result<Option<Vec<String>>, Refusal> {
    // No parameters at all is the same as none of them.
    if params.is_null() {
        return Ok(None);
    }
    let Some(paths) = Fields::of(params, "")?.list("paths")? else {
        return Ok(None);
    };
    let path = |path: &Value| {
        let path = path.as_str().map(str::to_owned);
        path.ok_or_else(|| Refusal::bad_params("paths", "'paths' holds strings."))
    };
    paths.iter().map(path).collect::<Result<_, _>>().map(Some)
}

/// What we left unsaved, each with its path as headers name it, in the order of those paths.
fn unsaved(client: &Client, wanted: Option<&[String]>) -> Vec<(DocumentId, String)> {
    let snapshot = client.snapshot();
    let scope = &snapshot.config.scope;
    let name = |key: &DocumentId| match key {
        DocumentId::File(path) => scope.display_of(path),
        DocumentId::Other(uri) => uri.clone(),
    };
    let keys = client.unsaved_by_us.lock().clone();
    let named = keys.into_iter().map(|key| {
        let name = name(&key);
        (key, name)
    });
    // Each is taken apart once, however many documents it may name.
    let wanted = wanted.map(|paths| -> Vec<(&str, DocumentId)> {
        let paths = paths.iter();
        paths
            .map(|path| (path.as_str(), DocumentId::of(path)))
            .collect()
    });
    let is_wanted = |(key, name): &(DocumentId, String)| {
        let names_it = |(path, meant): &(&str, DocumentId)| match key {
            _ if path == name || meant == key => true,
            DocumentId::File(file) => file.as_os_str() == *path,
            DocumentId::Other(_) => false,
        };
        let wanted = wanted.as_ref();
        wanted.is_none_or(|wanted| wanted.iter().any(names_it))
    };
    let mut unsaved: Vec<_> = named.filter(is_wanted).collect();
    unsaved.sort_by(|(_, one), (_, other)| one.cmp(other));
    unsaved
}

/// Has the editor save a document; the error says why it is not saved.
async fn save(engine: &Arc<Engine>, client: &Client, key: &DocumentId) -> Result<(), String> {
    let offered = client.facts().save;
    if !offered {
        return Err("the editor does not save on request; ask the user to save it".to_owned());
    }
    let overlay = client.snapshot().overlays.unjudged(key).cloned();
    let Some(overlay) = overlay else {
        client.unsaved_by_us.lock().remove(key);
        return Err("it is not open any more".to_owned());
    };
    let params = SaveDocumentParams {
        uri: overlay.uri.clone(),
    };
    let asked = client.ask::<SaveDocument>(params);
    match timeout(SAVED_WITHIN, asked).await {
        Err(_) => return Err("the editor did not answer within 5 seconds".to_owned()),
        Ok(Err(error)) => return Err(format!("the editor refused: {}", error.message)),
        Ok(Ok(said)) if said == false || said["saved"] == false => {
            return Err("the editor did not save it".to_owned());
        }
        Ok(Ok(_)) => {}
    }
    match is_on_disk(engine, client, key).await {
        true => {
            client.unsaved_by_us.lock().remove(key);
            Ok(())
        }
        false => Err("the editor said that it saved it, but the file does not show it".to_owned()),
    }
}

/// Whether the file of an open document holds its text.
async fn is_on_disk(engine: &Arc<Engine>, client: &Client, key: &DocumentId) -> bool {
    let DocumentId::File(path) = key.clone() else {
        return false;
    };
    let snapshot = client.snapshot();
    let Some(overlay) = snapshot.overlays.unjudged(key).cloned() else {
        return false;
    };
    let buffers = engine.reader.buffers.clone();
    let looked = engine.run(move |work| {
        let handle = snapshot.config.scope.of_job(work).open(&path)?;
        let hints = EncodingHints {
            declared: None,
            editor: overlay.encoding,
        };
        let spelled = path.to_string_lossy();
        let disk = buffers.load(&handle, &spelled, hints, work)?;
        let disk = &disk.buffer.text;
        Ok(!differs_beyond_normalisation(overlay.text(), disk))
    });
    looked.await.unwrap_or(false)
}
