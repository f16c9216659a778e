//! Sources: one file for each kind of resource, each of which turns what was found into a document; a source never decides what is shown.

mod archive;
mod directory;
mod document;
pub mod editor;
mod huge;
mod image;
pub mod internal;
mod json;
pub mod kind;
pub mod location;
mod memory;
pub mod notebook;
mod sqlite;
pub mod text;
pub mod web;

#[cfg(any(test, fuzzing))]
pub use archive::laws as archive_laws;

use std::sync::Arc;

use encoding_rs::Encoding;

use crate::buffer::{LogPosition, Overlays, Store, Warm};
use crate::convert::Converters;
use crate::hashline::tag::Fingerprint;
use crate::outline::Outline;
use crate::protocol::Refusal;
use crate::session::{self, Actor, AsOf, Current};
use crate::sqlite::Queriers;
use crate::task::Work;
use crate::text::Text;
use crate::view::selector::SelectorError;
use crate::view::window::Limits;
use crate::view::{Document, ListingStyle, Own, Selector};
use crate::workspace::{FileType, Handle, Scope};

use kind::{Asked, Subject};
use location::location;
pub use memory::Memory;

/// A document, and the snapshot it is of where it can be edited.
#[derive(Debug)]
pub struct Opened {
    pub document: Document,
    pub snapshot: Option<Snapshot>,
    /// What of it is asked for, where it took the kind of resource to tell that from its path.
    pub selector: Option<Selector>,
    /// How it is called in messages, where it is only a part of what was found.
    pub name: Option<String>,
    /// What only a web page has.
    pub web: Option<Box<WebPart>>,
    /// Where it is cut, the whole text becomes an artifact.
    pub spills: bool,
}

/// What the stages after opening need to know of a web page. It is no text that can be edited, so that
/// nothing of it is recorded.
#[derive(Debug)]
pub struct WebPart {
    /// Which tells the language that it is in, if it is in one.
    pub file_name: String,
    /// As which text its structure is kept, and the hash of that.
    pub code: Option<(session::Document, u128)>,
    /// Its headings, where it is too long to be shown whole.
    pub outline: Option<Arc<Outline>>,
    /// It has a summary only where it is too long to be shown whole, and whether it is.
    pub folds_only_if_long: bool,
    pub fits: bool,
}

impl Opened {
    /// A document that cannot be edited.
    pub fn read_only(document: Document) -> Opened {
        Opened {
            document,
            snapshot: None,
            selector: None,
            name: None,
            web: None,
            spills: false,
        }
    }
}

/// Which document's text this is, and the identity of that text.
#[derive(Debug)]
pub struct Snapshot {
    pub document: session::Document,
    pub fingerprint: Fingerprint,
    /// Where the text stands in the editor's record of changes, if it is the editor's.
    pub place: Option<LogPosition>,
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
pub struct ReadContext<'a> {
    /// How what was found is called in headers.
    pub display: &'a str,
    pub scope: &'a Scope,
    pub overlays: &'a Overlays,
    pub buffers: &'a Store,
    /// What other kinds than text keep of what they made.
    pub warm: &'a Warm,
    /// What large things are held in while they are converted.
    pub memory: &'a Memory,
    /// Processes that turn documents into text.
    pub converters: &'a Converters,
    /// Processes that ask databases.
    pub queriers: &'a Queriers,
    /// What of it will be shown at most: files too large to hold are read only so far.
    pub selector: &'a Selector,
    pub limits: Limits,
    /// How directories are listed.
    pub listing: ListingStyle,
    /// A document is given as the file that it is, of at most so many bytes, where a model may
    /// read that by itself (`Extras::whole_file`).
    pub whole_file: Option<u64>,
    /// An image is given as it is, of at most so many bytes, unless the settings allow less.
    pub image_bytes: Option<usize>,
    /// Bytes over which a text is read by lines, and not held.
    pub held_up_to: u64,
    /// All lines of a file too large to hold are counted.
    pub counts_lines: bool,
    pub work: &'a Work,
}

/// Opens what was found as the kind of resource that it is. `inner` is what follows its path,
/// where that may lead on within it.
pub fn open(
    handle: &Handle,
    spelled: &str,
    inner: Option<&str>,
    encoding: Option<&'static Encoding>,
    means: ReadContext,
) -> Result<Opened, Refusal> {
    match handle.file_type() {
        FileType::Directory => {
            refuse_own(means.selector, spelled, "a directory")?;
            directory::open(handle, spelled, means)
        }
        FileType::Regular => {
            let asked = Asked {
                subject: Subject::File(handle),
                spelled,
                inner,
                selector: means.selector,
                encoding,
                means,
            };
            match kind::open(&asked)? {
                Some(opened) => Ok(opened),
                None => plain(handle, &asked),
            }
        }
        FileType::Other(what) => Err(Refusal::NotRegular {
            path: spelled.to_owned(),
            what: what.to_owned(),
        }),
    }
}

/// A file that no kind knows by its name: text, or known by its bytes.
fn plain(handle: &Handle, asked: &Asked) -> Result<Opened, Refusal> {
    // There is nothing within it: what follows its path can only be a selector.
    let selector = match asked.inner.map(|inner| (inner, inner.strip_prefix(':'))) {
        None => None,
        Some((inner, tail)) => {
            let parsed = match tail {
                Some(tail) => Selector::parse(tail),
                None => Err(SelectorError::Unknown(inner.to_owned())),
            };
            Some(parsed.map_err(|error| Refusal::BadSelector {
                path: Some(asked.spelled.to_owned()),
                message: error.to_string(),
            })?)
        }
    };
    let means = ReadContext {
        selector: selector.as_ref().unwrap_or(asked.selector),
        ..asked.means
    };
    let opened = match text::open(handle, asked.spelled, asked.encoding, means) {
        Err(binary @ Refusal::Binary { .. }) => {
            return match kind::open_by_content(asked)? {
                Some(opened) => Ok(opened),
                None => Err(binary),
            };
        }
        opened => opened?,
    };
    // Whether it has an outline is told by who makes one.
    if means.selector.own != Some(Own::Outline) {
        refuse_own(means.selector, asked.spelled, "text")?;
    }
    Ok(Opened { selector, ..opened })
}

/// Refuses the forms of selectors that other kinds of resource have for themselves.
pub fn refuse_own(selector: &Selector, spelled: &str, what: &str) -> Result<(), Refusal> {
    match selector.own {
        None => Ok(()),
        Some(own) => Err(Refusal::BadSelector {
            path: Some(spelled.to_owned()),
            message: format!("{}, and this is {what}. Leave it out.", own.purpose()),
        }),
    }
}
