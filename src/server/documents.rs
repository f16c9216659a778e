//! The documents the editor has open: the notifications that keep the overlays; each takes effect before anything that was sent after it is looked at.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::ls_types as lsp;

use crate::buffer::{Change, DocumentId};
use crate::protocol::Refusal;
use crate::protocol::params::Fields;
use crate::rpc;
use crate::session::Actor;
use crate::text::{Position, Splice, encoding_for_editor};
use crate::workspace::{RealPath, ResourceId};

use super::call::Call;
use super::client::Client;
use super::config::ClientSnapshot;
use super::engine::Engine;

/// The session of reads of our own; a client's has a name.
const NOBODY: &str = "";

/// `textDocument/didOpen`.
pub fn open(engine: &Arc<Engine>, client: &Arc<Client>, params: lsp::DidOpenTextDocumentParams) {
    let document = params.text_document;
    let uri = document.uri.as_str().to_owned();
    client.change_overlays(|overlays| {
        overlays.open(
            uri.clone(),
            document.version,
            document.language_id,
            &document.text,
        );
    });
    look_again(engine, client, DocumentId::of(&uri), Actor::Editor);
}

/// `textDocument/didChange`: several changes, one after the other.
pub fn change(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    params: lsp::DidChangeTextDocumentParams,
) {
    let changes: Vec<Change> = params.content_changes.into_iter().map(to_change).collect();
    let positions = client.facts().positions;
    let document = params.text_document;
    let uri = document.uri.as_str();
    let was_open = client
        .change_overlays(|overlays| overlays.change(uri, document.version, &changes, positions));
    match was_open {
        true => {
            let key = DocumentId::of(uri);
            client.meet_expectations(&key);
            look_again(engine, client, key, Actor::Editor);
        }
        false => tracing::warn!(uri, "a change of a document that is not open"),
    }
}

fn to_change(change: lsp::TextDocumentContentChangeEvent) -> Change {
    let position = |position: lsp::Position| Position {
        line: position.line as usize,
        character: position.character as usize,
    };
    Change {
        splice: change.range.map(|range| Splice {
            start: position(range.start),
            end: position(range.end),
        }),
        text: change.text,
    }
}

/// `textDocument/didSave`.
pub fn save(engine: &Arc<Engine>, client: &Arc<Client>, params: &lsp::DidSaveTextDocumentParams) {
    let uri = params.text_document.uri.as_str();
    client.change_overlays(|overlays| overlays.saved(uri));
    client.unsaved_by_us.lock().remove(&DocumentId::of(uri));
    look_again(engine, client, DocumentId::of(uri), Actor::Editor);
}

/// `textDocument/didClose`.
pub fn close(engine: &Arc<Engine>, client: &Arc<Client>, params: &lsp::DidCloseTextDocumentParams) {
    let uri = params.text_document.uri.as_str();
    client.change_overlays(|overlays| overlays.close(uri));
    let key = DocumentId::of(uri);
    client.unsaved_by_us.lock().remove(&key);
    client.meet_expectations(&key);
    look_again(engine, client, key, Actor::Editor);
}

/// `agent/documentState { uri, version, dirty, encoding? }`: what the LSP has no word for.
pub fn begin_state(engine: &Arc<Engine>, client: &Arc<Client>, call: Call) -> rpc::CallFuture {
    if let Err(refusal) = set_state(engine, client, &call.params) {
        tracing::warn!(%refusal, "agent/documentState");
        client
            .problems
            .lock()
            .add(format!("agent/documentState: {refusal}"));
    }
    let client = client.clone();
    call.answer(None, async move {
        client.report_problems().await;
        Ok(())
    })
}

fn set_state(engine: &Arc<Engine>, client: &Arc<Client>, params: &Value) -> Result<(), Refusal> {
    let fields = Fields::of(params, "")?;
    let uri = fields.required_string("uri")?;
    let dirty = match fields.get("dirty") {
        None => None,
        Some(Value::Bool(dirty)) => Some(*dirty),
        Some(_) => {
            return Err(Refusal::bad_params(
                "dirty",
                "'dirty' must be true or false.",
            ));
        }
    };
    let version = fields.get("version").and_then(Value::as_i64);
    let version = version.and_then(|version| i32::try_from(version).ok());
    let encoding = match fields.string("encoding")? {
        None => None,
        // A name we do not know is no reason to drop the rest of what was said.
        Some(name) => encoding_for_editor(name),
    };
    client.change_overlays(|overlays| overlays.set_state(uri, version, dirty, encoding));
    look_again(engine, client, DocumentId::of(uri), Actor::Editor);
    Ok(())
}

/// Looks, in the background, whether lines that were shown to a session have changed. Several
/// changes in a row may be looked at as one.
pub fn look_again(engine: &Arc<Engine>, client: &Arc<Client>, key: DocumentId, actor: Actor) {
    look(engine, client, (key, actor), None);
}

/// As [`look_again`]; what was found `written` on disk may be the work of an edit, which records
/// whose it is before its turn ends.
///
/// One look at a document is under way at a time: what changes meanwhile is for the one after it. Of
/// a large file that never stands still the looks would else be so many that no read gets on.
fn look(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    errand: (DocumentId, Actor),
    written: Option<RealPath>,
) {
    let nobody_reads = engine.reader.sessions.count() == 0;
    if nobody_reads || client.looks.lock().insert(errand.clone(), true).is_some() {
        return;
    }
    let (engine, client) = (engine.clone(), client.clone());
    let threads = engine.threads.clone();
    threads.start(async move {
        while is_to_be_looked_at(&client, &errand) {
            look_once(&engine, &client, &errand, written.as_ref()).await;
        }
    });
}

/// Whether there was a change that no look has begun to see; where there was none, looking ends.
fn is_to_be_looked_at(client: &Client, errand: &(DocumentId, Actor)) -> bool {
    let mut looks = client.looks.lock();
    let changed = looks.get_mut(errand).is_some_and(std::mem::take);
    if !changed {
        looks.remove(errand);
    }
    changed
}

async fn look_once(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    errand: &(DocumentId, Actor),
    written: Option<&RealPath>,
) {
    if client.asked.lock().contains(&errand.0) {
        // Who asked looks again when that is on record.
        return;
    }
    let reading = engine.edit_queue.begin_read(NOBODY);
    if let Some(path) = written.filter(|_| !reading.is_free()) {
        // Where that takes too long it is looked at all the same.
        let _ = reading.turn(&[ResourceId::File(path.clone())]).await;
    }
    let (snapshot, jobs_engine) = (client.snapshot(), engine.clone());
    let (key, actor) = errand.clone();
    let looked = engine
        .run(move |work| {
            let reader = &jobs_engine.reader;
            let ClientSnapshot { config, overlays } = &snapshot;
            let scope = match &key {
                DocumentId::File(path) => &jobs_engine.scope_of_path(config, path),
                DocumentId::Other(_) => &config.scope,
            };
            let scope = &scope.of_job(work);
            reader.look_again(&key, &actor, scope, overlays, work)
        })
        .await;
    match looked {
        Ok(notices) => client.send(notices).await,
        Err(refusal) => tracing::debug!(%refusal, "a document could not be looked at again"),
    }
}

/// What was found, by the watches or by a request, to hold other bytes than before, or none.
pub fn found_changed(engine: &Arc<Engine>, client: &Arc<Client>, path: &RealPath, is_gone: bool) {
    let key = DocumentId::File(path.as_path().to_path_buf());
    let ClientSnapshot { config, overlays } = client.snapshot();
    let open = overlays.of_file(path, &config.scope).is_some();
    if !is_gone || open {
        return look(engine, client, (key, Actor::Disk), Some(path.clone()));
    }
    let id = ResourceId::File(path.clone());
    let notices = engine.reader.vanished(&id, &Actor::Disk);
    let client = client.clone();
    let threads = &engine.threads;
    threads.start(async move { client.send(notices).await });
}
