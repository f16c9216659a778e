//! Directories; a name that access denies is never listed.

mod walk;

use std::time::SystemTime;

use crate::buffer::{Detour, Lane};
use crate::protocol::read::{Cache, MoreDetails, ResourceKind};
use crate::text::Text;
use crate::view::listing::{self, Listing};
use crate::view::{Document, Extras, Style};
use crate::workspace::Handle;

use super::{Means, Opened, file_uri};

/// A directory and the directories in it, as rows.
pub fn open(handle: &Handle, spelled: &str, means: Means) -> Result<Opened, Detour> {
    if means.lane == Lane::Short {
        return Err(Detour::TakesLong);
    }
    let listing = Listing {
        path: means.display.to_owned(),
        inside: walk::contents(handle, spelled, means.scope, means.work)?,
    };
    let text = Text::new(&listing::rows(&listing, now_ns()));
    let path = handle.real().as_path().display().to_string();
    Ok(Opened::read_only(Document {
        kind: ResourceKind::Directory,
        style: Style::Listing,
        source: path.clone(),
        cache: Cache::Miss,
        notices: Vec::new(),
        details: MoreDetails {
            uri: Some(file_uri(handle.real().as_path())),
            resolved_path: Some(path),
            is_directory: Some(true),
            total_lines: Some(text.len_lines() as u64),
            ..MoreDetails::default()
        },
        text: text.into(),
        extras: Extras::default(),
    }))
}

/// Nanoseconds since the epoch; 0 for a clock before it.
fn now_ns() -> i128 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as i128)
}
