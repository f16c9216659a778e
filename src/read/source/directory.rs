//! Directories; a name that access denies is never listed.

use std::fs;

use crate::buffer::{Detour, Lane};
use crate::protocol::Refusal;
use crate::protocol::read::{Cache, MoreDetails, ResourceKind};
use crate::text::Text;
use crate::view::{Document, Style};
use crate::workspace::Handle;

use super::{Means, Opened, file_uri};

/// The names in a directory: directories end in `/`, in order of name.
pub fn open(handle: &Handle, spelled: &str, means: Means) -> Result<Opened, Detour> {
    if means.lane == Lane::Short {
        return Err(Detour::TakesLong);
    }
    let refuse = |error: std::io::Error| Detour::Refused(Refusal::io(spelled, &error));
    let mut names = Vec::new();
    for entry in fs::read_dir(handle.real().as_path()).map_err(refuse)? {
        means.work.check()?;
        let entry = entry.map_err(refuse)?;
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if means.scope.permits(&entry.path(), is_dir) {
            let slash = if is_dir { "/" } else { "" };
            names.push(format!("{}{slash}\n", entry.file_name().to_string_lossy()));
        }
    }
    names.sort();
    let path = handle.real().as_path().display().to_string();
    let rows = match names.is_empty() {
        true => "(empty directory)\n".to_owned(),
        false => names.concat(),
    };
    Ok(Opened {
        document: Document {
            kind: ResourceKind::Directory,
            style: Style::Listing,
            source: path.clone(),
            text: Text::new(&rows).into(),
            cache: Cache::Miss,
            notices: Vec::new(),
            details: MoreDetails {
                uri: Some(file_uri(handle.real().as_path())),
                resolved_path: Some(path),
                is_directory: Some(true),
                total_lines: Some(names.len() as u64),
                ..MoreDetails::default()
            },
        },
        snapshot: None,
    })
}
