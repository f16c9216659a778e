//! How names and paths may be spelled: folding, lexical forms, `file://`; nothing here ever touches the file system.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use crate::protocol::Refusal;

/// Bytes of the longest path that the system takes, its final NUL included.
pub const MAX_PATH_BYTES: usize = if cfg!(target_os = "linux") {
    4096
} else {
    1024
};

/// Whether the system answers `ENAMETOOLONG` whatever the path is relative to: then nothing can be
/// there, and nothing is looked for.
pub fn is_too_long(path: &str) -> bool {
    path.len() >= MAX_PATH_BYTES
}

/// The form in which two names are the same to a reader: NFC, with typographic apostrophes and
/// spaces made plain. macOS writes U+202F into screenshot names and some tools write NFD; models
/// write neither.
pub(super) fn fold(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        return Cow::Borrowed(name);
    }
    let plain = |c: char| match c {
        '\u{2019}' | '\u{2018}' | '\u{02BC}' => '\'',
        '\u{202F}' | '\u{00A0}' | '\u{2009}' | '\u{2007}' => ' ',
        other => other,
    };
    Cow::Owned(name.nfc().map(plain).collect())
}

/// The form in which access rules and names are compared: without case, NFC, and without the
/// characters that some file systems skip when they compare names (git's CVE-2014-9390).
///
/// It is wider than any file system's own folding, so a denied name has no second spelling.
pub(super) fn fold_for_rules(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Cow::Owned(name.to_ascii_lowercase());
        }
        return Cow::Borrowed(name);
    }
    // Upper first: it is what takes `ſ` to `s` and `ß` to `ss`, as a case-folding file system does.
    let folded = name
        .nfd()
        .filter(|c| !is_skipped(*c))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfc();
    Cow::Owned(folded.collect())
}

/// Default-ignorable code points (Unicode 16, those that occur in names).
fn is_skipped(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
        | '\u{FFA0}' | '\u{FFF0}'..='\u{FFF8}' | '\u{E0000}'..='\u{E0FFF}')
}

/// `path` without `.`, empty components and `..`, by its text alone. `..` at the top stays there.
pub(super) fn normalise(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Whether any component is `..`.
pub(super) fn climbs(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// The path that a `file:` URI names; `None` when `text` is no such URI.
///
/// Percent escapes are decoded to bytes, so a name that is not UTF-8 can be named too; an escape
/// that is none is kept as it is, as are `?` and `#`, which are legal in names. Refuses with
/// `badParams` another host than this one, a relative path, and NUL.
pub fn decode_file_uri(text: &str) -> Result<Option<PathBuf>, Refusal> {
    let Some(scheme) = text.get(..5) else {
        return Ok(None);
    };
    if !scheme.eq_ignore_ascii_case("file:") {
        return Ok(None);
    }
    let rest = &text[5..];
    let path = match rest.strip_prefix("//") {
        Some(after) => {
            let (host, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                let message =
                    format!("'{text}' names a file on the host '{host}', not on this one.");
                return Err(Refusal::bad_params("path", message));
            }
            path
        }
        // Without slashes it is more likely a file of that name than a URI.
        None if !rest.starts_with('/') => return Ok(None),
        None => rest,
    };
    if !path.starts_with('/') {
        let message = format!("'{text}' names no file: a file URI is file:///absolute/path.");
        return Err(Refusal::bad_params("path", message));
    }
    let bytes = percent_decoded(path.as_bytes());
    if bytes.contains(&0) {
        return Err(Refusal::bad_params("path", "A path cannot contain NUL."));
    }
    Ok(Some(PathBuf::from(OsString::from_vec(bytes))))
}

/// The bytes that percent escapes stand for; one that is none is kept as it is.
pub fn percent_decoded(mut text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    while let Some(at) = memchr::memchr(b'%', text) {
        let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        bytes.extend_from_slice(&text[..at]);
        let (byte, escape) = match (digit(at + 1), digit(at + 2)) {
            (Some(high), Some(low)) => ((high * 16 + low) as u8, 3),
            _ => (b'%', 1),
        };
        bytes.push(byte);
        text = &text[at + escape..];
    }
    bytes.extend_from_slice(text);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn look_alike_names_fold_to_one() {
        assert_eq!(fold("cafe\u{301}"), "caf\u{e9}");
        assert_eq!(
            fold("Capture d\u{2019}e\u{301}cran"),
            "Capture d'\u{e9}cran"
        );
        assert_eq!(fold("4.05\u{202F}PM"), "4.05 PM");
        assert_eq!(fold("README"), "README");
    }

    #[test]
    fn rules_see_no_case_no_form_and_no_ignorable_characters() {
        for spelling in [".env", ".ENV", ".e\u{200C}nv", ".En\u{FE0F}V"] {
            assert_eq!(fold_for_rules(spelling), ".env");
        }
        assert_eq!(fold_for_rules("E\u{301}TE\u{301}"), "\u{e9}t\u{e9}");
        assert_eq!(fold_for_rules("\u{17F}ecret"), "secret");
        assert_eq!(fold_for_rules("con\u{FB01}g"), "config");
    }

    #[test]
    fn file_uris() {
        let decoded = |text| decode_file_uri(text).map_err(|refusal| refusal.to_string());
        let path = |text: &str| Ok(Some(PathBuf::from(text)));
        assert_eq!(decoded("file:///a%20b/%C3%A9"), path("/a b/\u{e9}"));
        assert_eq!(decoded("FILE://localhost/a"), path("/a"));
        assert_eq!(decoded("file:/a#L1%zz%"), path("/a#L1%zz%"));
        assert_eq!(decoded("file:notes"), Ok(None));
        assert_eq!(decoded("/file:///a"), Ok(None));
        assert_eq!(decoded("é"), Ok(None));
        assert!(decoded("file://server/a").is_err());
        assert!(decoded("file://").is_err());
        assert!(decoded("file:///a%00").is_err());
        let bytes = decoded("file:///%FF")
            .expect("decodes")
            .expect("is a file URI");
        assert_eq!(bytes.as_os_str().as_bytes(), b"/\xFF");
    }
}
