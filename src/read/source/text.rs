//! Text files; an undecodable byte is never dropped, it is shown as U+FFFD and said.

use std::sync::Arc;

use encoding_rs::Encoding;

use crate::buffer::{Buffer, Detour, Loaded, MAX_BUFFER_BYTES, Overlay, Words};
use crate::protocol::Refusal;
use crate::protocol::read::{MoreDetails, Origin, ResourceKind};
use crate::session::{self, Actor, Form, Site};
use crate::text::label;
use crate::view::{Document, Style};
use crate::workspace::Handle;

use super::{Means, Opened, Snapshot, editor, file_uri, huge};

/// The text of a regular file as a document, with the identity of its snapshot: the editor's where
/// that has unsaved changes, else the disk's.
pub fn open(
    handle: &Handle,
    spelled: &str,
    declared: Option<&'static Encoding>,
    means: Means,
) -> Result<Opened, Detour> {
    let overlay = means.overlays.of_file(handle.real());
    let said = overlay.and_then(|overlay| overlay.client_says_dirty());
    if let (Some(overlay), Some(true)) = (overlay, said) {
        return Ok(editor::of_file(overlay, handle.real(), None));
    }
    if handle.stamp().size > MAX_BUFFER_BYTES {
        return huge::open(handle, spelled, declared, means);
    }
    let words = Words {
        declared,
        editor: overlay.and_then(|overlay| overlay.encoding),
    };
    let loaded = means
        .buffers
        .load(handle, spelled, words, means.lane, means.work);
    match (overlay, loaded) {
        (Some(overlay), Ok(disk)) if overlay.is_dirty(&disk.buffer) => {
            Ok(editor::of_file(overlay, handle.real(), Some(&disk.buffer)))
        }
        // There is no text on disk that the editor's could be a clean copy of.
        (Some(overlay), Err(Detour::Refused(Refusal::Binary { .. }))) if said.is_none() => {
            Ok(editor::of_file(overlay, handle.real(), None))
        }
        (overlay, loaded) => Ok(of_disk(handle, overlay, loaded?)),
    }
}

fn of_disk(handle: &Handle, overlay: Option<&Arc<Overlay>>, loaded: Loaded) -> Opened {
    let Loaded { buffer, cache } = loaded;
    let path = handle.real().as_path().display().to_string();
    let uri = match overlay {
        Some(overlay) => overlay.uri.clone(),
        None => file_uri(handle.real().as_path()),
    };
    let document = Document {
        kind: ResourceKind::File,
        style: Style::Lines,
        source: path.clone(),
        text: buffer.text.clone().into(),
        cache,
        notices: lossy_notice(&buffer).into_iter().collect(),
        details: MoreDetails {
            uri: Some(uri),
            resolved_path: Some(path),
            origin: Some(Origin::Disk),
            document_version: overlay.map(|overlay| overlay.version),
            dirty: overlay.map(|_| false),
            encoding: Some(label(buffer.encoding)),
            encoding_confidence: Some(buffer.confidence.as_str()),
            line_ending: Some(buffer.text.line_ending().as_str()),
            bom: Some(buffer.bom),
            total_lines: Some(buffer.text.len_lines() as u64),
            total_bytes: Some(buffer.total_bytes),
            ..MoreDetails::default()
        },
    };
    Opened {
        document,
        snapshot: Some(Snapshot {
            document: session::Document {
                site: Site::File(handle.real().clone()),
                form: Form::Text,
            },
            fingerprint: buffer.fingerprint(),
            place: None,
            as_of: handle.opened_at(),
            actor: Actor::Disk,
        }),
    }
}

fn lossy_notice(buffer: &Buffer) -> Option<String> {
    let places = match buffer.bad_bytes {
        0 => return None,
        1 => "1 place is".to_owned(),
        count => format!("{count} places are"),
    };
    Some(format!(
        "{places} not valid {} and shown as U+FFFD; if this is another encoding, name it with the encoding parameter",
        label(buffer.encoding)
    ))
}
