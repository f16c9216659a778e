//! Text files too large to hold; no snapshot is ever made of one, so none can be edited.

use std::sync::Arc;

use encoding_rs::Encoding;

use crate::buffer::{EncodingHints, ExcerptRequest, Overlay};
use crate::protocol::Refusal;
use crate::protocol::read::{MoreDetails, Origin, ResourceKind};
use crate::text::label;
use crate::view::{Content, Document, Extras, Style};
use crate::workspace::Handle;

use super::{Opened, ReadContext, editor, location};

/// The lines that this request can show, read without loading the file.
pub fn open(
    handle: &Handle,
    spelled: &str,
    hints: EncodingHints,
    overlay: Option<&Arc<Overlay>>,
    means: ReadContext,
) -> Result<Opened, Refusal> {
    let asked = ExcerptRequest {
        selector: means.selector,
        limits: means.limits,
        counts_lines: means.counts_lines,
        hints,
    };
    let taken = means.buffers.excerpt(handle, spelled, asked, means.work)?;
    let head = taken.head;
    Ok(Opened::read_only(Document {
        kind: ResourceKind::File,
        style: Style::Lines,
        location: location(&handle.into(), overlay.map(|it| it.uri.as_str())),
        cache: taken.cache,
        // Of these lines only: nobody looks at the others.
        notices: taken
            .lossy
            .then(|| lossy_notice(head.encoding))
            .into_iter()
            .collect(),
        details: MoreDetails {
            encoding: Some(label(head.encoding)),
            encoding_confidence: Some(head.confidence.as_str()),
            line_ending: head.line_ending,
            bom: Some(head.bom_bytes > 0),
            total_lines: taken.excerpt.total_lines,
            total_bytes: Some(taken.excerpt.total_bytes),
            ..editor::details_of_origin(Origin::Disk, overlay)
        },
        text: Content::Excerpt(taken.excerpt),
        extras: Extras::default(),
    }))
}

pub fn lossy_notice(encoding: &'static Encoding) -> String {
    format!(
        "Bytes of these lines that are not valid {} are shown as U+FFFD; if this is another encoding, name it with the encoding parameter",
        label(encoding)
    )
}
