//! `workspace/didChangeWatchedFiles`: what the editor saw counts like what our own watches see; it is never taken for the truth.

use tower_lsp::ls_types as lsp;

use crate::buffer::Event;
use crate::workspace::decode_file_uri;

use super::engine::Engine;

/// Takes the client's events. Does no I/O; what is no file is passed over.
pub fn changed(engine: &Engine, params: lsp::DidChangeWatchedFilesParams) {
    for change in params.changes {
        let Ok(Some(path)) = decode_file_uri(change.uri.as_str()) else {
            continue;
        };
        engine.reader.buffers.heard(match change.typ {
            lsp::FileChangeType::CHANGED => Event::Changed(path),
            _ => Event::Replaced(path),
        });
    }
}
