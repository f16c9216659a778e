//! Overlays: the documents that the editor has open, as it holds them; the map of them is replaced on each notification and never changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
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
use crate::workspace::{RealPath, decode_file_uri};

use super::Buffer;
use super::change_log::{ChangeLog, Place};

/// What a document's URI names, decoded: two URIs that differ only in escapes are one document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DocumentKey {
    /// A `file:` URI, as a path without `.` and `..`.
    File(PathBuf),
    /// Any other scheme.
    Other(String),
}

impl DocumentKey {
    /// The key of a URI, or of a path string that may be one.
    pub fn of(uri: &str) -> DocumentKey {
        match decode_file_uri(uri) {
            Ok(Some(path)) => DocumentKey::File(path.components().collect()),
            Ok(None) | Err(_) => DocumentKey::Other(percent_decoded(uri)),
        }
    }
}

fn percent_decoded(uri: &str) -> String {
    let bytes = uri.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = (bytes[at] == b'%')
            .then(|| uri.get(at + 1..at + 3))
            .flatten();
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// One document at one version. Immutable but for what is worked out of it once.
#[derive(Debug)]
pub struct Overlay {
    /// The client's own spelling.
    pub uri: String,
    pub key: DocumentKey,
    pub version: i32,
    /// What the client calls its language, if it does.
    pub language_id: String,
    /// The encoding the editor has for the file, if it said.
    pub encoding: Option<&'static Encoding>,
    /// Where this version stands in the record of changes.
    pub place: Place,
    /// Since when it is so.
    pub since: Instant,
    rope: Rope,
    /// The client's word on whether this very version has unsaved changes.
    dirty: Option<bool>,
    text: OnceLock<Text>,
    fingerprint: OnceLock<Fingerprint>,
    /// The last comparison with the disk: with which buffer, and whether it was dirty.
    compared: Mutex<Option<(Weak<Buffer>, bool)>>,
    /// The real path of a file's URI, once it was looked up.
    leads: Mutex<Option<PathBuf>>,
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

    /// Whether the name that the editor has leads to this file by way of a link.
    fn leads_to(&self, real: &RealPath) -> bool {
        let DocumentKey::File(path) = &self.key else {
            return false;
        };
        let mut leads = self.leads.lock();
        if leads.is_none() {
            *leads = std::fs::canonicalize(path).ok();
        }
        leads.as_deref() == Some(real.as_path())
    }

    /// This document with another state or text.
    fn with(&self, version: i32, rope: Rope, place: Place) -> Overlay {
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
            leads: Mutex::new(self.leads.lock().clone()),
        }
    }
}

/// One change of a `didChange`: of a range, or of everything.
#[derive(Debug, Clone)]
pub struct Change {
    pub splice: Option<Splice>,
    pub text: String,
}

/// All open documents. A clone is the state of one moment.
#[derive(Debug, Clone, Default)]
pub struct Overlays {
    open: Arc<HashMap<DocumentKey, Arc<Overlay>>>,
    /// When this state was taken to go by; `None` for one that cannot change.
    pub taken_at: Option<Instant>,
}

impl Overlays {
    /// Whether nothing was opened, changed or closed between the two moments.
    pub fn is_same(&self, other: &Overlays) -> bool {
        Arc::ptr_eq(&self.open, &other.open)
    }

    pub fn get(&self, key: &DocumentKey) -> Option<&Arc<Overlay>> {
        self.open.get(key)
    }

    /// The open document of a file, under whichever of its names the editor has it.
    pub fn of_file(&self, real: &RealPath) -> Option<&Arc<Overlay>> {
        if self.open.is_empty() {
            return None;
        }
        let by_name = self.at_path(real.as_path());
        by_name.or_else(|| self.open.values().find(|overlay| overlay.leads_to(real)))
    }

    /// The open document at an absolute path, as it is spelled.
    pub fn at_path(&self, path: &Path) -> Option<&Arc<Overlay>> {
        match self.open.is_empty() {
            true => None,
            false => self
                .open
                .get(&DocumentKey::File(path.components().collect())),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub fn len(&self) -> usize {
        self.open.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Overlay>> {
        self.open.values()
    }

    /// A document was opened, or opened again.
    pub fn open(&mut self, uri: String, version: i32, language_id: String, text: &str) {
        let key = DocumentKey::of(&uri);
        let overlay = Overlay {
            key: key.clone(),
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
            leads: Mutex::new(None),
        };
        Arc::make_mut(&mut self.open).insert(key, Arc::new(overlay));
    }

    /// A document was changed, by several changes one after the other. Whether it was open.
    pub fn change(
        &mut self,
        uri: &str,
        version: i32,
        changes: &[Change],
        positions: PositionEncoding,
    ) -> bool {
        let key = DocumentKey::of(uri);
        let Some(before) = self.open.get(&key) else {
            return false;
        };
        let mut rope = before.rope.clone();
        let mut place = before.place.clone();
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
        let after = before.with(version, rope, place);
        Arc::make_mut(&mut self.open).insert(key, Arc::new(after));
        true
    }

    /// The client's word on a version. A word on another version than the one at hand is late
    /// and counts for nothing; an encoding holds for the document.
    pub fn set_state(
        &mut self,
        uri: &str,
        version: Option<i32>,
        dirty: Option<bool>,
        encoding: Option<&'static Encoding>,
    ) {
        self.update(uri, |overlay| {
            if version.is_none_or(|version| version == overlay.version) {
                overlay.dirty = dirty.or(overlay.dirty);
            }
            overlay.encoding = encoding.or(overlay.encoding);
        });
    }

    /// A document was saved: whether it is dirty now must be seen or said anew.
    pub fn saved(&mut self, uri: &str) {
        self.update(uri, |overlay| overlay.dirty = None);
    }

    fn update(&mut self, uri: &str, change: impl FnOnce(&mut Overlay)) {
        let key = DocumentKey::of(uri);
        if let Some(before) = self.open.get(&key) {
            let mut after = before.with(before.version, before.rope.clone(), before.place.clone());
            after.dirty = before.dirty;
            change(&mut after);
            Arc::make_mut(&mut self.open).insert(key, Arc::new(after));
        }
    }

    /// A document was closed.
    pub fn close(&mut self, uri: &str) {
        Arc::make_mut(&mut self.open).remove(&DocumentKey::of(uri));
    }
}
