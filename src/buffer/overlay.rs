//! One document that the editor has open, as it holds it at one version; it is never changed, only followed by another.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use encoding_rs::Encoding;
use parking_lot::Mutex;
use ropey::Rope;

use crate::hashline::LineMap;
use crate::hashline::tag::{Fingerprint, fingerprint};
use crate::text::{
    LineSplice, Position, PositionEncoding, Splice, Text, differs_beyond_normalisation, splice,
};
use crate::workspace::{decode_file_uri, percent_decoded};

use super::Buffer;
use super::change_log::{ChangeLog, LogPosition};

/// What a document's URI names, decoded: two URIs that differ only in escapes are one document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DocumentId {
    /// A `file:` URI, as a path without `.`.
    File(PathBuf),
    /// Any other URI. One that has the scheme `file:` all the same names no file of this machine.
    Other(String),
}

impl DocumentId {
    /// The key of a URI, or of a path string that may be one.
    pub fn of(uri: &str) -> DocumentId {
        match decode_file_uri(uri) {
            Ok(Some(path)) => DocumentId::File(path.components().collect()),
            Ok(None) | Err(_) => DocumentId::Other(decoded(uri)),
        }
    }

    /// Whether the scheme says that it is a file, wherever.
    pub fn is_of_files(&self) -> bool {
        match self {
            DocumentId::File(_) => true,
            DocumentId::Other(uri) => {
                let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
                scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("file"))
            }
        }
    }
}

/// The path, or the decoded URI.
impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            DocumentId::File(path) => path.display().fmt(f),
            DocumentId::Other(uri) => f.write_str(uri),
        }
    }
}

fn decoded(uri: &str) -> String {
    let bytes = percent_decoded(uri.as_bytes());
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// One document at one version. Immutable but for what is worked out of it once.
#[derive(Debug)]
pub struct Overlay {
    /// The client's own spelling.
    pub uri: String,
    pub key: DocumentId,
    pub version: i32,
    /// What the client calls its language, if it does.
    pub language_id: String,
    /// The encoding the editor has for the file, if it said.
    pub encoding: Option<&'static Encoding>,
    /// Where this version stands in the record of changes.
    pub place: LogPosition,
    /// Since when it is so.
    pub since: Instant,
    rope: Rope,
    /// The client's word on whether this very version has unsaved changes.
    dirty: Option<bool>,
    text: OnceLock<Text>,
    fingerprint: OnceLock<Fingerprint>,
    /// The last comparison with the disk: with which buffer, and whether it was dirty.
    compared: Mutex<Option<(Weak<Buffer>, bool)>>,
}

impl Overlay {
    /// The text without a BOM, which is no part of a file's text.
    pub fn text(&self) -> &Text {
        self.text.get_or_init(|| {
            let mut rope = self.rope.clone();
            if rope.get_char(0) == Some('\u{feff}') {
                rope.remove(..1);
            }
            Text::from_rope(rope)
        })
    }

    /// A place of [`Overlay::text`], a line from 0 and UTF-8 bytes into it, as the client counts it.
    pub fn position(&self, line: usize, column: usize, encoding: PositionEncoding) -> Position {
        let text = self.text().line(line);
        let before = text.get(..column).unwrap_or(&text);
        let bom = line == 0 && self.rope.get_char(0) == Some('\u{feff}');
        let (own, mark) = match encoding {
            PositionEncoding::Utf8 => (before.len(), 3),
            PositionEncoding::Utf16 => (before.encode_utf16().count(), 1),
        };
        Position {
            line,
            character: own + if bom { mark } else { 0 },
        }
    }

    pub fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| fingerprint(self.text()))
    }

    /// The client's word for this version; `None` where it gave none.
    pub fn client_says_dirty(&self) -> Option<bool> {
        self.dirty
    }

    /// Whether it holds changes that the disk does not: by the client's word, else by comparing
    /// the texts in all that an editor does not normalise.
    pub fn is_dirty(&self, disk: &Arc<Buffer>) -> bool {
        if let Some(dirty) = self.dirty {
            return dirty;
        }
        let mut compared = self.compared.lock();
        if let Some((buffer, dirty)) = &*compared
            && buffer.as_ptr() == Arc::as_ptr(disk)
        {
            return *dirty;
        }
        let dirty = differs_beyond_normalisation(self.text(), &disk.text);
        *compared = Some((Arc::downgrade(disk), dirty));
        dirty
    }

    /// A document that was just opened.
    pub(super) fn opened(uri: String, version: i32, language_id: String, text: &str) -> Overlay {
        Overlay {
            key: DocumentId::of(&uri),
            uri,
            version,
            language_id,
            encoding: None,
            place: ChangeLog::begin(),
            since: Instant::now(),
            rope: Rope::from_str(text),
            dirty: None,
            text: OnceLock::new(),
            fingerprint: OnceLock::new(),
            compared: Mutex::new(None),
        }
    }

    /// This document after several changes, one after the other.
    pub(super) fn changed(
        &self,
        version: i32,
        changes: &[Change],
        positions: PositionEncoding,
    ) -> Overlay {
        let mut rope = self.rope.clone();
        let mut place = self.place.clone();
        for change in changes {
            place = match &change.splice {
                Some(range) => {
                    let LineSplice {
                        total,
                        start,
                        removed,
                        added,
                    } = splice(&mut rope, range, &change.text, positions);
                    place.then(LineMap::of_splice(total, start, removed, added))
                }
                None => {
                    rope = Rope::from_str(&change.text);
                    ChangeLog::begin()
                }
            };
        }
        self.with(version, rope, place)
    }

    /// This document with the client's word on it, for this version: `dirty` where it said so, and
    /// `encoding` where it named one.
    pub(super) fn said(&self, dirty: Option<bool>, encoding: Option<&'static Encoding>) -> Overlay {
        let mut after = self.with(self.version, self.rope.clone(), self.place.clone());
        after.dirty = dirty;
        after.encoding = encoding.or(self.encoding);
        after
    }

    /// This document with another state or text.
    fn with(&self, version: i32, rope: Rope, place: LogPosition) -> Overlay {
        Overlay {
            uri: self.uri.clone(),
            key: self.key.clone(),
            version,
            language_id: self.language_id.clone(),
            encoding: self.encoding,
            place,
            since: Instant::now(),
            rope,
            dirty: None,
            text: OnceLock::new(),
            fingerprint: OnceLock::new(),
            compared: Mutex::new(None),
        }
    }
}

/// One change of a `didChange`: of a range, or of everything.
#[derive(Debug, Clone)]
pub struct Change {
    pub splice: Option<Splice>,
    pub text: String,
}
