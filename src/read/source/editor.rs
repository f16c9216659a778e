//! Documents as the editor holds them; the disk is never asked what they say.

use std::sync::Arc;

use crate::buffer::{Buffer, Overlay};
use crate::protocol::read::{Cache, MoreDetails, Origin, ResourceKind};
use crate::session::{self, Actor, AsOf, Form};
use crate::text::label;
use crate::view::{Document, Extras, Style};
use crate::workspace::{RealPath, ResourceId};

use super::{Opened, Snapshot, location};

/// The open document of a file with unsaved changes. `disk` is what the file itself holds, where
/// that is known and is text: its encoding is what the document will be saved in.
pub fn of_file(overlay: &Arc<Overlay>, real: &RealPath, disk: Option<&Buffer>) -> Opened {
    let encoding = overlay.encoding.or(disk.map(|disk| disk.encoding));
    let encoding_confidence = match overlay.encoding {
        Some(_) => Some("certain"),
        None => disk.map(|disk| disk.confidence.as_str()),
    };
    let details = MoreDetails {
        encoding: encoding.map(label),
        encoding_confidence,
        bom: disk.map(|disk| disk.bom),
        ..details(overlay)
    };
    open(overlay, ResourceId::File(real.clone()), details)
}

/// A document that is in no file yet.
pub fn unsaved(overlay: &Arc<Overlay>) -> Opened {
    open(overlay, id_of_unsaved(overlay), details(overlay))
}

/// Where such a document is.
pub fn id_of_unsaved(overlay: &Overlay) -> ResourceId {
    ResourceId::Document(overlay.key.to_string())
}

/// What the document itself tells: not how it will be saved.
fn details(overlay: &Arc<Overlay>) -> MoreDetails {
    let text = overlay.text();
    MoreDetails {
        line_ending: Some(text.line_ending().as_str()),
        total_lines: Some(text.len_lines() as u64),
        total_bytes: Some(text.len_bytes() as u64),
        ..details_of_origin(Origin::Editor, Some(overlay))
    }
}

/// Whose text it is: the editor's, which is dirty, or the disk's, of which an open document is a
/// clean copy.
pub fn details_of_origin(origin: Origin, overlay: Option<&Arc<Overlay>>) -> MoreDetails {
    MoreDetails {
        origin: Some(origin),
        document_version: overlay.map(|overlay| overlay.version),
        dirty: overlay.map(|_| origin == Origin::Editor),
        ..MoreDetails::default()
    }
}

fn open(overlay: &Arc<Overlay>, id: ResourceId, details: MoreDetails) -> Opened {
    let document = Document {
        kind: ResourceKind::File,
        style: Style::Lines,
        location: location(&id, Some(&overlay.uri)),
        text: overlay.text().clone().into(),
        cache: Cache::Hit,
        notices: Vec::new(),
        details,
        extras: Extras::default(),
    };
    Opened {
        document,
        snapshot: Some(Snapshot {
            document: session::Document {
                id,
                form: Form::Text,
            },
            fingerprint: overlay.fingerprint(),
            place: Some(overlay.place.clone()),
            as_of: AsOf::of_editor(overlay.since),
            actor: Actor::Editor,
        }),
        selector: None,
        name: None,
        web: None,
        spills: false,
    }
}
