//! Text files; an undecodable byte is never dropped, it is shown as U+FFFD and said, and so is what may be torn.

use std::sync::Arc;

use encoding_rs::Encoding;

use crate::buffer::{Buffer, EncodingHints, Loaded, Looked, Overlay, Overlays, Store};
use crate::protocol::Refusal;
use crate::protocol::read::{Cache, MoreDetails, Origin, ResourceKind};
use crate::session::{self, Actor, AsOf, Form};
use crate::task::Work;
use crate::text::label;
use crate::view::{Document, Extras, Style};
use crate::workspace::{Handle, Scope};

use super::{Opened, ReadContext, Snapshot, editor, huge, location};

/// What a regular file holds for who reads or edits it.
#[derive(Debug)]
pub enum Held {
    /// The editor's text, which has unsaved changes or is believed to have; and what the disk
    /// holds, where that is known and is text.
    Editor {
        overlay: Arc<Overlay>,
        disk: Option<Arc<Buffer>>,
    },
    /// The disk's text, and the open document that is a clean copy of it.
    Disk {
        overlay: Option<Arc<Overlay>>,
        loaded: Loaded,
    },
    /// What was read of a file that is written all the while: it may never have held this text.
    Torn {
        overlay: Option<Arc<Overlay>>,
        buffer: Arc<Buffer>,
    },
    /// Too large to be held as one text.
    Huge {
        overlay: Option<Arc<Overlay>>,
        hints: EncodingHints,
    },
}

/// Which text a regular file holds: the editor's where that has unsaved changes, else the disk's. Over
/// so many bytes it is too large.
pub fn held(
    handle: &Handle,
    spelled: &str,
    declared: Option<&'static Encoding>,
    (overlays, scope): (&Overlays, &Scope),
    (buffers, held_up_to): (&Store, u64),
    work: &Work,
) -> Result<Held, Refusal> {
    let overlay = overlays.of_file(handle.real(), scope).cloned();
    let said = overlay
        .as_ref()
        .and_then(|overlay| overlay.client_says_dirty());
    let is_huge = handle.stamp().size > held_up_to;
    // Whether the editor's text of a huge file is but a clean copy would take loading it to know;
    // where the client does not say, a lost keystroke would be worse than a normalised line end.
    let believed = said == Some(true) || (is_huge && said.is_none());
    let hints = EncodingHints {
        declared,
        editor: overlay.as_ref().and_then(|overlay| overlay.encoding),
    };
    match overlay {
        Some(overlay) if believed => Ok(Held::Editor {
            overlay,
            disk: None,
        }),
        overlay if is_huge => Ok(Held::Huge { overlay, hints }),
        overlay => match (overlay, buffers.load_or_torn(handle, spelled, hints, work)) {
            (Some(overlay), Ok(Looked::Sound(disk))) if overlay.is_dirty(&disk.buffer) => {
                Ok(Held::Editor {
                    overlay,
                    disk: Some(disk.buffer),
                })
            }
            // No two looks at it would tell the same.
            (Some(overlay), Ok(Looked::Torn(_))) if said.is_none() => Ok(Held::Editor {
                overlay,
                disk: None,
            }),
            (overlay, Ok(Looked::Torn(buffer))) => Ok(Held::Torn { overlay, buffer }),
            // There is no text on disk that the editor's could be a clean copy of.
            (Some(overlay), Err(Refusal::Binary { .. })) if said.is_none() => Ok(Held::Editor {
                overlay,
                disk: None,
            }),
            (overlay, Ok(Looked::Sound(loaded))) => Ok(Held::Disk { overlay, loaded }),
            (_, Err(refusal)) => Err(refusal),
        },
    }
}

/// The text of a regular file as a document, with the identity of its snapshot.
pub fn open(
    handle: &Handle,
    spelled: &str,
    declared: Option<&'static Encoding>,
    means: ReadContext,
) -> Result<Opened, Refusal> {
    match held(
        handle,
        spelled,
        declared,
        (means.overlays, means.scope),
        (means.buffers, means.held_up_to),
        means.work,
    )? {
        Held::Editor { overlay, disk } => {
            Ok(editor::of_file(&overlay, handle.real(), disk.as_deref()))
        }
        Held::Disk { overlay, loaded } => {
            Ok(of_disk(handle, overlay.as_ref(), loaded, means.overlays))
        }
        Held::Torn { overlay, buffer } => Ok(torn(handle, overlay.as_ref(), &buffer)),
        Held::Huge { overlay, hints } => {
            huge::open(handle, spelled, hints, overlay.as_ref(), means)
        }
    }
}

fn of_disk(
    handle: &Handle,
    overlay: Option<&Arc<Overlay>>,
    loaded: Loaded,
    overlays: &Overlays,
) -> Opened {
    let clean = overlay.map(|overlay| &**overlay);
    let as_of = AsOf::of_disk(handle.opened_at(), clean, overlays);
    let Loaded { buffer, cache, .. } = loaded;
    Opened {
        document: document(handle, overlay, &buffer, cache),
        snapshot: Some(Snapshot {
            document: session::Document {
                id: handle.into(),
                form: Form::Text,
            },
            fingerprint: buffer.fingerprint(),
            // Its later changes will be seen by the editor's record of them.
            place: overlay
                .filter(|overlay| *overlay.text() == buffer.text)
                .map(|overlay| overlay.place.clone()),
            as_of,
            actor: Actor::Disk,
        }),
        selector: None,
        name: None,
        web: None,
        spills: false,
    }
}

const TORN: &str = "The file was being written all the while it was read: these lines may never have stood in it together, and cannot be edited. Read it again";

/// What may never have been in the file is not recorded as a text of it.
fn torn(handle: &Handle, overlay: Option<&Arc<Overlay>>, buffer: &Buffer) -> Opened {
    let mut document = document(handle, overlay, buffer, Cache::Miss);
    document.notices.push(TORN.to_owned());
    document.extras.footers.push(TORN.to_owned());
    Opened::read_only(document)
}

fn document(
    handle: &Handle,
    overlay: Option<&Arc<Overlay>>,
    buffer: &Buffer,
    cache: Cache,
) -> Document {
    Document {
        kind: ResourceKind::File,
        style: Style::Lines,
        location: location(&handle.into(), overlay.map(|it| it.uri.as_str())),
        text: buffer.text.clone().into(),
        cache,
        notices: lossy_notice(buffer).into_iter().collect(),
        details: MoreDetails {
            encoding: Some(label(buffer.encoding)),
            encoding_confidence: Some(buffer.confidence.as_str()),
            line_ending: Some(buffer.text.line_ending().as_str()),
            bom: Some(buffer.bom),
            total_lines: Some(buffer.text.len_lines() as u64),
            total_bytes: Some(buffer.total_bytes),
            ..editor::details_of_origin(Origin::Disk, overlay)
        },
        extras: Extras::default(),
    }
}

fn lossy_notice(buffer: &Buffer) -> Option<String> {
    lossy(buffer.bad_bytes, buffer.encoding)
}

/// What is said of a text in which so many sequences meant nothing in its encoding.
pub fn lossy(bad_bytes: usize, encoding: &'static Encoding) -> Option<String> {
    let places = match bad_bytes {
        0 => return None,
        1 => "1 place is".to_owned(),
        count => format!("{count} places are"),
    };
    Some(format!(
        "{places} not valid {} and shown as U+FFFD; if this is another encoding, name it with the encoding parameter",
        label(encoding)
    ))
}
