//! Places of files that are moved: where one may go, and where one went.

use crate::buffer::Overlays;
use crate::hashline::Tag;
use crate::protocol::Refusal;
use crate::read::{refuse_change, refuse_longer_than_a_path, refuse_making};
use crate::session::{Document, Form, Meaning, MovedTo, Sessions};
use crate::workspace::{NewPlace, RealPath, ResourceId, Scope, TakenPlace};

use super::live::refuse_read_only;

/// The place that a path names for what is at `from`, judged for editing.
pub fn new_place(
    to: &str,
    from: &RealPath,
    (scope, overlays): (&Scope, &Overlays),
) -> Result<Result<NewPlace, TakenPlace>, Refusal> {
    refuse_change(to, scope, overlays)?;
    refuse_longer_than_a_path(to)?;
    refuse_making(to, scope, overlays)?;
    let place = scope.new_place(&decoded(to)?, from)?;
    let real = match &place {
        Ok(place) => &place.real,
        Err(taken) => &taken.real,
    };
    refuse_read_only(real, to, scope)?;
    Ok(place)
}

/// Where the file is now that had a tag at a place, if an edit moved it from there.
pub fn was_moved(sessions: &Sessions, real: &RealPath, tag: Tag) -> Option<MovedTo> {
    [Form::Text, Form::Notebook].into_iter().find_map(|form| {
        let id = ResourceId::File(real.clone());
        match sessions.meaning(&Document { id, form }, tag) {
            Meaning::Moved(moved) => Some(moved),
            _ => None,
        }
    })
}

/// The path of a `file:` URI, else the path as it is.
pub(super) fn decoded(path: &str) -> Result<String, Refusal> {
    match crate::workspace::decode_file_uri(path)? {
        None => Ok(path.to_owned()),
        Some(decoded) => decoded.into_os_string().into_string().map_err(|_| {
            Refusal::bad_params("path", "A path that is not UTF-8 cannot be written to.")
        }),
    }
}
