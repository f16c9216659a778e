//! The folders of addresses in a scope ([`UrlFolder`]): it has those of whoever asks, and nobody else's.

use std::path::Path;

use crate::protocol::Refusal;

use super::handle::{FileType, Handle};
use super::resolve::Scope;
use super::spelling::normalise;
use super::url_folder::{UrlFolder, bytes_below, decoded_file_part};
use super::variants::PathReading;

impl Scope {
    /// The same with these folders besides; of those with one address the first that has a file goes
    /// first, and what is made is made in the first.
    pub fn with_folders(&self, folders: Vec<UrlFolder>) -> Scope {
        let mut scope = self.clone();
        if folders.is_empty() {
            return scope;
        }
        let known = scope.access.folders.iter().cloned();
        scope.access.folders = known.chain(folders).collect();
        scope
    }

    /// Whether a path string is the address of a file in such a folder, there or not.
    pub fn is_in_url_folder(&self, written: &str) -> bool {
        let mut folders = self.access.folders.iter();
        folders.any(|it| it.rest_of(written).is_some())
    }

    /// Whether a path string is the address of a file in such a folder, there or not, that may be
    /// changed.
    pub fn is_in_writable_folder(&self, written: &str) -> bool {
        let mut folders = self.access.folders.iter();
        folders.any(|it| it.writable && it.rest_of(written).is_some())
    }

    /// The directories that come after this one under its address: what is in them, and not in it, is
    /// read by the same addresses.
    pub fn directories_behind(&self, directory: &Handle) -> Vec<Handle> {
        let real = directory.real().as_path();
        let Some(own) = self.access.own_folder(real) else {
            return Vec::new();
        };
        let Ok(below) = real.strip_prefix(&own.real) else {
            return Vec::new();
        };
        let mut folders = self.access.folders.iter();
        let behind = folders.by_ref().skip_while(|it| *it != own).skip(1);
        let behind = behind.filter(|it| it.url == own.url);
        let handles = behind.filter_map(|it| self.open(&it.real.join(below)).ok());
        let directories = handles.filter(|it| it.file_type() == FileType::Directory);
        directories.collect()
    }

    /// Refuses to write so many bytes to a file where its folder has a limit that they would go over.
    pub fn refuse_overfull(&self, real: &Path, bytes: u64) -> Result<(), Refusal> {
        let Some(folder) = self.access.own_folder(real) else {
            return Ok(());
        };
        let Some(most) = folder.most_bytes else {
            return Ok(());
        };
        let replaced = std::fs::symlink_metadata(real).map_or(0, |it| it.len());
        let others = bytes_below(&folder.real).saturating_sub(replaced);
        if others + bytes <= most {
            return Ok(());
        }
        Err(Refusal::TooLarge {
            path: folder.url_of(real.strip_prefix(&folder.real).unwrap_or(real)),
            what: format!(
                "there is room for {} bytes in {}, and this is {bytes}",
                most.saturating_sub(others),
                folder.url
            ),
            instead: "Write less, or remove other files there.".to_owned(),
        })
    }

    /// What an address of a file in such a folder may mean, in order; `None` for all other path
    /// strings.
    ///
    /// # Errors
    ///
    /// As [`decoded_file_part`].
    pub(super) fn url_readings(&self, asked: &str) -> Result<Option<Vec<PathReading>>, Refusal> {
        let mut readings = Vec::new();
        for folder in self.access.folders.iter() {
            let Some(rest) = folder.rest_of(asked) else {
                continue;
            };
            readings.push(PathReading {
                base: folder.real.clone(),
                head: folder.url.clone(),
                rest: decoded_file_part(rest)?,
            });
        }
        Ok((!readings.is_empty()).then_some(readings))
    }

    /// The address of what lies in such a folder.
    pub(super) fn url_of(&self, real: &Path) -> Option<String> {
        let folder = self.access.own_folder(real)?;
        Some(folder.url_of(real.strip_prefix(&folder.real).ok()?))
    }

    /// A regular file of this user below the directory of temporary files, on whose path no link is;
    /// `None` where there is none. `access.deny` holds for it.
    pub fn temporary_file(&self, path: &Path) -> Result<Option<Handle>, Refusal> {
        let spelled = std::env::temp_dir();
        let Ok(temporary) = std::fs::canonicalize(&spelled) else {
            return Ok(None);
        };
        let path = normalise(path);
        let below = path
            .strip_prefix(&spelled)
            .or_else(|_| path.strip_prefix(&temporary));
        let Ok(below) = below else {
            return Ok(None);
        };
        let place = temporary.join(below);
        let folder = UrlFolder {
            // Nothing is asked for by it.
            url: "\0".to_owned(),
            real: temporary,
            heeds_deny: true,
            writable: false,
            most_bytes: None,
        };
        let handle = match self.with_folders(vec![folder]).open(&place) {
            Ok(handle) => handle,
            Err(Refusal::NotFound { .. }) => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let is_it = handle.real().as_path() == place
            && handle.file_type() == FileType::Regular
            && handle.owner() == rustix::process::geteuid().as_raw();
        Ok(is_it.then_some(handle))
    }
}
