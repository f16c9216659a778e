//! Documents as the editor holds them; the disk is never asked what they say.

use std::sync::Arc;

use crate::buffer::{Buffer, Overlay};
use crate::protocol::read::{Cache, Origin, ResourceKind};
use crate::session::{self, Actor, AsOf, Form};
use crate::text::label;
use crate::view::{Document, Extras, Style};
use crate::workspace::{RealPath, ResourceId};

use super::text::{self, Facts};
use super::{Opened, Snapshot, location};

/// The open document of a file with unsaved changes. `disk` is what the file itself holds, where
/// that is known and is text: its encoding is what the document will be saved in.
pub fn of_file(overlay: &Arc<Overlay>, real: &RealPath, disk: Option<&Buffer>) -> Opened {
    let encoding = overlay.encoding.or(disk.map(|disk| disk.encoding));
    let confidence = match overlay.encoding {
        Some(_) => Some("certain"),
        None => disk.map(|disk| disk.confidence.as_str()),
    };
    let facts = Facts {
        encoding: encoding.map(label),
        confidence,
        bom: disk.map(|disk| disk.bom),
        ..facts(overlay)
    };
    open(overlay, ResourceId::File(real.clone()), facts)
}

/// A document that is in no file yet.
pub fn unsaved(overlay: &Arc<Overlay>) -> Opened {
    open(overlay, id_of_unsaved(overlay), facts(overlay))
}

/// Where such a document is.
pub fn id_of_unsaved(overlay: &Overlay) -> ResourceId {
    ResourceId::Document(overlay.key.to_string())
}

/// What the document itself tells: not how it will be saved.
fn facts(overlay: &Overlay) -> Facts {
    let text = overlay.text();
    Facts {
        encoding: None,
        confidence: None,
        line_ending: Some(text.line_ending().as_str()),
        bom: None,
        total_lines: Some(text.len_lines() as u64),
        total_bytes: text.len_bytes() as u64,
    }
}

fn open(overlay: &Arc<Overlay>, id: ResourceId, facts: Facts) -> Opened {
    let document = Document {
        kind: ResourceKind::File,
        style: Style::Lines,
        location: location(&id, Some(&overlay.uri)),
        text: overlay.text().clone().into(),
        cache: Cache::Hit,
        notices: Vec::new(),
        details: text::details(Origin::Editor, Some(overlay), facts),
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
    }
}
