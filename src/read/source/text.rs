//! Text files; an undecodable byte is never dropped, it is shown as U+FFFD and said.

use crate::buffer::{Buffer, Detour, Lane, Loaded, Store};
use crate::protocol::read::{MoreDetails, Origin, ResourceKind};
use crate::session;
use crate::task::Work;
use crate::text::{Confidence, label};
use crate::view::{Document, Style};
use crate::workspace::Handle;

use super::{Opened, Snapshot, file_uri};

/// The text of a regular file as a document, with the identity of its snapshot.
pub fn open(
    handle: &Handle,
    spelled: &str,
    declared: Option<&'static encoding_rs::Encoding>,
    buffers: &Store,
    lane: Lane,
    work: &Work,
) -> Result<Opened, Detour> {
    let Loaded { buffer, cache } = buffers.load(handle, spelled, declared, lane, work)?;
    let path = handle.real().as_path().display().to_string();
    let document = Document {
        kind: ResourceKind::File,
        style: Style::Lines,
        source: path.clone(),
        text: buffer.text.clone().into(),
        cache,
        notices: lossy_notice(&buffer).into_iter().collect(),
        details: MoreDetails {
            uri: Some(file_uri(handle.real().as_path())),
            resolved_path: Some(path),
            origin: Some(Origin::Disk),
            encoding: Some(label(buffer.encoding)),
            encoding_confidence: Some(match buffer.confidence {
                Confidence::Certain => "certain",
                Confidence::Likely => "likely",
            }),
            line_ending: Some(buffer.text.line_ending().as_str()),
            bom: Some(buffer.bom),
            total_lines: Some(buffer.text.len_lines() as u64),
            total_bytes: Some(buffer.total_bytes),
            ..MoreDetails::default()
        },
    };
    Ok(Opened {
        document,
        snapshot: Some(Snapshot {
            document: session::Document {
                path: handle.real().clone(),
                form: session::Form::Text,
            },
            fingerprint: buffer.fingerprint(),
        }),
    })
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
