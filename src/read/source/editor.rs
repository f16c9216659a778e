//! Documents as the editor holds them; the disk is never asked what they say.

use std::sync::Arc;

use crate::buffer::{Buffer, DocumentKey, Overlay};
use crate::protocol::read::{Cache, MoreDetails, Origin, ResourceKind};
use crate::session::{self, Actor, AsOf, Form, Site};
use crate::text::label;
use crate::view::{Document, Extras, Style};
use crate::workspace::RealPath;

use super::{Opened, Snapshot};

/// The open document of a file with unsaved changes. `disk` is what the file itself holds, where
/// that is known and is text: its encoding is what the document will be saved in.
pub fn of_file(overlay: &Arc<Overlay>, real: &RealPath, disk: Option<&Buffer>) -> Opened {
    let mut opened = open(overlay, Site::File(real.clone()));
    let details = &mut opened.document.details;
    let path = real.as_path().display().to_string();
    opened.document.source = path.clone();
    details.resolved_path = Some(path);
    let encoding = overlay.encoding.or(disk.map(|disk| disk.encoding));
    details.encoding = encoding.map(label);
    details.encoding_confidence = match overlay.encoding {
        Some(_) => Some("certain"),
        None => disk.map(|disk| disk.confidence.as_str()),
    };
    details.bom = disk.map(|disk| disk.bom);
    opened
}

/// A document that is in no file yet.
pub fn unsaved(overlay: &Arc<Overlay>) -> Opened {
    open(overlay, site_of_unsaved(overlay))
}

/// Where such a document is.
pub fn site_of_unsaved(overlay: &Overlay) -> Site {
    Site::Editor(match &overlay.key {
        DocumentKey::File(path) => path.display().to_string(),
        DocumentKey::Other(uri) => uri.clone(),
    })
}

fn open(overlay: &Arc<Overlay>, site: Site) -> Opened {
    let text = overlay.text();
    let document = Document {
        kind: ResourceKind::File,
        style: Style::Lines,
        source: overlay.uri.clone(),
        text: text.clone().into(),
        cache: Cache::Hit,
        notices: Vec::new(),
        details: MoreDetails {
            uri: Some(overlay.uri.clone()),
            origin: Some(Origin::Editor),
            document_version: Some(overlay.version),
            dirty: Some(true),
            line_ending: Some(text.line_ending().as_str()),
            total_lines: Some(text.len_lines() as u64),
            total_bytes: Some(text.len_bytes() as u64),
            ..MoreDetails::default()
        },
        extras: Extras::default(),
    };
    Opened {
        document,
        snapshot: Some(Snapshot {
            document: session::Document {
                site,
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
