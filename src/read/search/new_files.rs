//! Files that only the editor has so far: open documents whose addresses lead to where there is nothing, in folders that are there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::buffer::Overlays;
use crate::workspace::{At, Scope, TreeEntry, TreeFolder};

/// The names of all documents that have an address, by their folders. Nothing was judged so far.
#[derive(Debug, Default)]
pub(super) struct NewFiles(BTreeMap<PathBuf, Vec<OsString>>);

impl NewFiles {
    /// Does no I/O.
    pub(super) fn of(overlays: &Overlays) -> NewFiles {
        let mut all = NewFiles::default();
        for address in overlays.addresses() {
            if let (Some(folder), Some(name)) = (address.parent(), address.file_name()) {
                let names = all.0.entry(folder.to_path_buf()).or_default();
                names.push(name.to_owned());
            }
        }
        all
    }

    /// Adds those that would be in a folder, if they may be read and are not on disk.
    pub(super) fn add(&self, folder: &TreeFolder, scope: &Scope, entries: &mut Vec<TreeEntry>) {
        let Some(names) = self.0.get(folder.real()) else {
            return;
        };
        let mut added = false;
        for name in names {
            let path = folder.real().join(name);
            if !is_hidden(name) && is_nowhere(&path, scope) && folder.shows(name) {
                added = true;
                entries.push(TreeEntry {
                    name: name.clone(),
                    is_folder: false,
                });
            }
        }
        if added {
            entries.sort_unstable();
            entries.dedup();
        }
    }
}

fn is_hidden(name: &OsString) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn is_nowhere(path: &Path, scope: &Scope) -> bool {
    match scope.look_at(path) {
        Ok(At::Nothing(real)) => real.as_path() == path,
        Ok(At::Here(_)) | Err(_) => false,
    }
}
