//! What is written of a planned file, and whether its encoding can hold that; a character never becomes another one.

use crate::hashline::PlainBatch;
use crate::hashline::apply::{EncodingError, FileBytes, Repertoire, new_bytes};
use crate::hashline::block::Action;
use crate::hashline::splice::TextChange;
use crate::protocol::Refusal;
use crate::text::encode;

use super::judge::Judge;
use super::{LiveDocument, Owner, refuse};

/// The new bytes of a file that is written on disk.
pub(super) fn bytes_after(
    live: &LiveDocument,
    changes: &[TextChange],
) -> Result<Option<Vec<u8>>, Refusal> {
    if let Owner::Editor { .. } = &live.home {
        for change in changes {
            holds(live, &change.text).map_err(|error| refuse::encoding(&error, &live.name))?;
        }
    }
    let Some(file) = file_bytes(live) else {
        return Ok(None);
    };
    new_bytes(&file, changes)
        .map(Some)
        .map_err(|error| refuse::encoding(&error, &live.name))
}

/// A file that is on disk, and how it was read.
pub(super) fn file_bytes(live: &LiveDocument) -> Option<FileBytes<'_>> {
    let Owner::Disk { buffer, bytes, .. } = &live.home else {
        return None;
    };
    Some(FileBytes {
        bytes,
        text: &buffer.text,
        encoding: buffer.encoding,
        confidence: buffer.confidence,
        bom: buffer.bom,
    })
}

/// Whether an editor's document can have these characters. Saving is the editor's, which may write
/// another one where its encoding lacks one.
fn holds(live: &LiveDocument, text: &str) -> Result<(), EncodingError> {
    let Owner::Editor { overlay, disk } = &live.home else {
        return Ok(());
    };
    let encoding = overlay.encoding.or(disk.as_ref().map(|disk| disk.encoding));
    match encoding {
        Some(encoding) => Ok(encode(text, encoding).map(drop)?),
        None => Ok(()),
    }
}

/// Finds the hunks whose text the file's encoding cannot hold. What becomes of a notebook's JSON
/// is judged when that is made.
pub(super) fn check_characters(live: &LiveDocument, plain: &PlainBatch, judge: &mut Judge) {
    if live.notebook.is_some() {
        return;
    }
    let repertoire = file_bytes(live).map(Repertoire::of);
    let fits = |text: &str| match &repertoire {
        Some(repertoire) => repertoire.check(text),
        None => holds(live, text),
    };
    for hunk in &plain.hunks {
        let (Action::Replace { rows, .. } | Action::Insert { rows, .. }) = &hunk.action else {
            // What is moved is there already.
            continue;
        };
        if let Err(error) = rows.iter().try_for_each(|row| fits(row)) {
            judge.encoding(&error, hunk.origin);
        }
    }
    for text in &plain.texts {
        if let Err(error) = fits(&text.new) {
            judge.encoding(&error, text.origin);
        }
    }
}
