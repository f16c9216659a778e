//! The documents the editor has open: the notifications that keep the overlays; each takes effect before anything that was sent after it is looked at.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::ls_types as lsp;

use crate::buffer::{Change, DocumentKey};
use crate::protocol::Refusal;
use crate::protocol::params::Fields;
use crate::rpc;
use crate::session::{Actor, Site};
use crate::text::{Position, Splice, encoding_for_editor};
use crate::workspace::RealPath;

use super::call::Call;
use super::state::{Moment, State};

/// `textDocument/didOpen`.
pub fn open(state: &Arc<State>, params: lsp::DidOpenTextDocumentParams) {
    let document = params.text_document;
    let uri = document.uri.as_str().to_owned();
    state.engine.change_overlays(|overlays| {
        overlays.open(
            uri.clone(),
            document.version,
            document.language_id,
            &document.text,
        );
    });
    look_again(state, DocumentKey::of(&uri), Actor::Editor);
}

/// `textDocument/didChange`: several changes, one after the other.
pub fn change(state: &Arc<State>, params: lsp::DidChangeTextDocumentParams) {
    let changes: Vec<Change> = params.content_changes.into_iter().map(to_change).collect();
    let positions = state
        .client_facts
        .get()
        .copied()
        .unwrap_or_default()
        .positions;
    let document = params.text_document;
    let uri = document.uri.as_str();
    let was_open = state
        .engine
        .change_overlays(|overlays| overlays.change(uri, document.version, &changes, positions));
    match was_open {
        true => {
            let key = DocumentKey::of(uri);
            state.meet_expectations(&key);
            look_again(state, key, Actor::Editor);
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
pub fn save(state: &Arc<State>, params: &lsp::DidSaveTextDocumentParams) {
    let uri = params.text_document.uri.as_str();
    state.engine.change_overlays(|overlays| overlays.saved(uri));
    state.unsaved_by_us.lock().remove(&DocumentKey::of(uri));
    look_again(state, DocumentKey::of(uri), Actor::Editor);
}

/// `textDocument/didClose`.
pub fn close(state: &Arc<State>, params: &lsp::DidCloseTextDocumentParams) {
    let uri = params.text_document.uri.as_str();
    state.engine.change_overlays(|overlays| overlays.close(uri));
    let key = DocumentKey::of(uri);
    state.unsaved_by_us.lock().remove(&key);
    state.meet_expectations(&key);
    look_again(state, key, Actor::Editor);
}

/// `agent/documentState { uri, version, dirty, encoding? }`: what the LSP has no word for.
pub fn begin_state(state: &Arc<State>, call: Call) -> rpc::Call {
    if let Err(refusal) = set_state(state, &call.params) {
        tracing::warn!(%refusal, "agent/documentState");
        state
            .problems
            .lock()
            .add(format!("agent/documentState: {refusal}"));
    }
    let state = state.clone();
    call.answer(None, async move {
        super::lifecycle::report_problems(&state).await;
        Ok(())
    })
}

fn set_state(state: &Arc<State>, params: &Value) -> Result<(), Refusal> {
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
    state
        .engine
        .change_overlays(|overlays| overlays.set_state(uri, version, dirty, encoding));
    look_again(state, DocumentKey::of(uri), Actor::Editor);
    Ok(())
}

/// Looks, in the background, whether lines that were shown to a session have changed. Several
/// changes in a row may be looked at as one.
pub fn look_again(state: &Arc<State>, key: DocumentKey, actor: Actor) {
    let nobody_reads = state.engine.reader.sessions.count() == 0;
    let errand = (key, actor);
    if nobody_reads || !state.to_look_at.lock().insert(errand.clone()) {
        return;
    }
    let (threads, state) = (state.threads.clone(), state.clone());
    threads.start(async move {
        state.to_look_at.lock().remove(&errand);
        if state.asked.lock().contains(&errand.0) {
            // Who asked looks again when that is on record.
            return;
        }
        let moment = state.engine.moment();
        let jobs_state = state.clone();
        let looked = state
            .run(move |work| {
                let reader = &jobs_state.engine.reader;
                let Moment { world, overlays } = &moment;
                let scope = &world.scope.of_job(work);
                reader.look_again(&errand.0, &errand.1, scope, overlays, work)
            })
            .await;
        match looked {
            Ok(notices) => state.send(notices).await,
            Err(refusal) => tracing::debug!(%refusal, "a document could not be looked at again"),
        }
    });
}

/// What was found, by the watches or by a request, to hold other bytes than before, or none.
pub fn found_changed(state: &Arc<State>, path: &RealPath, is_gone: bool) {
    let key = DocumentKey::File(path.as_path().to_path_buf());
    let Moment { world, overlays } = state.engine.moment();
    let open = overlays.of_file(path, &world.scope).is_some();
    if !is_gone || open {
        return look_again(state, key, Actor::Disk);
    }
    let site = Site::File(path.clone());
    let notices = state.engine.reader.vanished(&site, &Actor::Disk);
    let telling = state.clone();
    state
        .threads
        .start(async move { telling.send(notices).await });
}
