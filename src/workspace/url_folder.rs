//! Folders outside the roots whose files have addresses (`local://notes/plan.md`): a scope has those of whoever asks, and nobody else's.
//!
//! Such a folder is judged by itself ([`super::access`]): no rule of the workspace holds in it, and no
//! link leads out of it. Its files are named by their addresses in headers and messages, and those
//! lead back to them, so that reads and edits need not know that they are in no workspace folder.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::protocol::Refusal;

use super::handle::{FileType, Handle};
use super::resolve::Scope;
use super::spelling::{normalise, percent_decoded};
use super::variants::PathReading;

/// One such folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlFolder {
    /// What the addresses of its files begin with: `local://`, `memory://notes/`.
    pub url: String,
    /// An absolute path without symlinks. It need not be there.
    pub real: PathBuf,
    /// Whether the setting `access.deny` holds in it.
    pub heeds_deny: bool,
    /// Whether edits and writes may be of its files.
    pub writable: bool,
    /// What its files may have in all, where that is limited.
    pub most_bytes: Option<u64>,
}

impl UrlFolder {
    /// What of an address stands behind that of the folder, if it is one of its files.
    fn rest_of<'a>(&self, written: &'a str) -> Option<&'a str> {
        let (head, rest) = written.split_at_checked(self.url.len())?;
        let scheme = self.url.find(':').unwrap_or(0);
        let is_it = head[..scheme].eq_ignore_ascii_case(&self.url[..scheme])
            && head[scheme..] == self.url[scheme..];
        is_it.then_some(rest)
    }

    /// The address of what lies in it.
    fn url_of(&self, below: &Path) -> String {
        format!("{}{}", self.url, encoded(&below.to_string_lossy()))
    }
}

/// The path of a file behind `scheme://`, or behind a name, as it is written in an address: decoded once.
///
/// # Errors
///
/// `badParams` for what leads elsewhere: `..`, `\\`, NUL, an encoded `/`, an absolute path.
pub fn decoded_file_part(written: &str) -> Result<String, Refusal> {
    let bad = |what: &str| {
        let message = format!(
            "A file is named by a path below what stands before it: {what} cannot be part of it."
        );
        Err(Refusal::bad_params("path", message))
    };
    if written.to_ascii_lowercase().contains("%2f") {
        return bad("an encoded '/'");
    }
    let decoded = percent_decoded(written.as_bytes());
    let Ok(decoded) = String::from_utf8(decoded) else {
        return bad("what is not UTF-8");
    };
    match () {
        () if decoded.starts_with('/') => bad("a '/' at its beginning"),
        () if decoded.contains('\\') => bad("a backslash"),
        () if decoded.contains('\0') => bad("NUL"),
        () if decoded.split('/').any(|part| part == "..") => bad("'..'"),
        () => Ok(decoded),
    }
}

/// A name as it stands in an address: what would be taken for an escape is one.
pub fn encoded(name: &str) -> Cow<'_, str> {
    if percent_decoded(name.as_bytes()) == name.as_bytes() {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.replace('%', "%25"))
}

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
}

/// Entries of a folder that are looked at for its size.
const MAX_ENTRIES: usize = 20_000;

/// Bytes of the files below a folder; links are not followed.
pub fn bytes_below(folder: &Path) -> u64 {
    let mut folders = vec![folder.to_path_buf()];
    let (mut bytes, mut seen) = (0, 0);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MAX_ENTRIES {
                return bytes;
            }
            match entry.metadata() {
                Ok(it) if it.is_dir() => folders.push(entry.path()),
                Ok(it) => bytes += it.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

impl Scope {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_and_nothing_leads_elsewhere() {
        for name in ["plan.md", "a b/c%d.md", "100%25", "50%", "ü%2x"] {
            let written = encoded(name);
            assert_eq!(decoded_file_part(&written).expect(name), name);
        }
        for bad in ["/etc", "../x", "a/%2e%2e/b", "a%2Fb", "a\\b", "a%00", "%ff"] {
            let refusal = decoded_file_part(bad).expect_err(bad);
            assert!(matches!(refusal, Refusal::BadParams { .. }), "{bad}");
        }
        assert_eq!(decoded_file_part("a..b/..c").expect("a name"), "a..b/..c");
    }
}
