//! Sources: one file for each kind of resource, each of which turns what was found into a document; a source never decides what is shown.

mod directory;
pub mod editor;
mod huge;
pub mod text;

use std::path::Path;

use encoding_rs::Encoding;

use crate::buffer::{Detour, Lane, Overlays, Place, Store};
use crate::hashline::tag::Fingerprint;
use crate::protocol::Refusal;
use crate::session::{self, Actor, AsOf, Current};
use crate::task::Work;
use crate::text::Text;
use crate::view::window::Limits;
use crate::view::{Document, Selector};
use crate::workspace::{FileType, Handle, Scope};

/// A document, and the snapshot it is of where it can be edited.
#[derive(Debug)]
pub struct Opened {
    pub document: Document,
    pub snapshot: Option<Snapshot>,
}

/// Which document's text this is, and the identity of that text.
#[derive(Debug)]
pub struct Snapshot {
    pub document: session::Document,
    pub fingerprint: Fingerprint,
    /// Where the text stands in the editor's record of changes, if it is the editor's.
    pub place: Option<Place>,
    /// When the text was looked at.
    pub as_of: AsOf,
    /// Who made the text what it is.
    pub actor: Actor,
}

impl Snapshot {
    /// This text, as the session store records it.
    pub fn current(&self, text: &Text) -> Current {
        Current {
            text: text.clone(),
            fingerprint: self.fingerprint,
            place: self.place.clone(),
            as_of: self.as_of,
        }
    }
}

/// What a source may use.
#[derive(Debug, Clone, Copy)]
pub struct Means<'a> {
    /// How what was found is called in headers.
    pub display: &'a str,
    pub scope: &'a Scope,
    pub overlays: &'a Overlays,
    pub buffers: &'a Store,
    /// What of it will be shown at most: files too large to hold are read only so far.
    pub selector: &'a Selector,
    pub limits: Limits,
    pub lane: Lane,
    pub work: &'a Work,
}

/// Opens what was found as the kind of resource that it is.
pub fn open(
    handle: &Handle,
    spelled: &str,
    encoding: Option<&'static Encoding>,
    means: Means,
) -> Result<Opened, Detour> {
    match handle.file_type() {
        FileType::Directory => directory::open(handle, spelled, means),
        FileType::Regular => text::open(handle, spelled, encoding, means),
        FileType::Other(what) => Err(Refusal::NotRegular {
            path: spelled.to_owned(),
            what: what.to_owned(),
        }
        .into()),
    }
}

/// An absolute path as a `file://` URI.
pub fn file_uri(path: &Path) -> String {
    use std::fmt::Write;
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}
