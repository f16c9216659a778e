//! Folders outside the roots whose files have addresses (`local://notes/plan.md`): what one is, and how a name is written in an address.
//!
//! Such a folder is judged by itself ([`super::access`]): no rule of the workspace holds in it, and no
//! link leads out of it. Its files are named by their addresses in headers and messages, and those
//! lead back to them, so that reads and edits need not know that they are in no workspace folder.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::protocol::Refusal;

use super::spelling::percent_decoded;

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
    pub(super) fn rest_of<'a>(&self, written: &'a str) -> Option<&'a str> {
        let (head, rest) = written.split_at_checked(self.url.len())?;
        let scheme = self.url.find(':').unwrap_or(0);
        let is_it = head[..scheme].eq_ignore_ascii_case(&self.url[..scheme])
            && head[scheme..] == self.url[scheme..];
        is_it.then_some(rest)
    }

    /// The address of what lies in it.
    pub(super) fn url_of(&self, below: &Path) -> String {
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
