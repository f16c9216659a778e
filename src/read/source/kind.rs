//! The registry of kinds: what, besides plain text and directories, a path may lead to; a kind never decides what of it is shown.

use std::fmt;
use std::io::Read;
use std::sync::Arc;

use encoding_rs::Encoding;

use crate::buffer::FileState;
use crate::protocol::Refusal;
use crate::protocol::read::{Location, ResourceKind};
use crate::task::Work;
use crate::view::Selector;
use crate::workspace::{Handle, MAX_PATH_BYTES, ResourceId};

use super::archive::Archive;
use super::document::Documents;
use super::image::IMAGE;
use super::notebook::NOTEBOOK;
use super::sqlite::Sqlite;
use super::{Opened, ReadContext, location};

/// One kind of resource.
pub trait Kind: Sync + fmt::Debug {
    /// Its name on the wire (`details.kind`).
    fn kind(&self) -> ResourceKind;

    /// Whether a file of this name, asked for by this selector, is looked at as one of this kind.
    fn claims(&self, name: &str, selector: &Selector) -> bool;

    /// Whether a file that is no text is of this kind, by its first bytes.
    fn claims_bytes(&self, _head: &[u8]) -> bool {
        false
    }

    /// Where in a path string that which is asked for within such a resource may begin: indexes of
    /// the character that parts it from the resource's own path, leftmost first.
    fn splits(&self, _path: &str) -> Vec<usize> {
        Vec::new()
    }

    /// Opens it; `None` where it is not of this kind after all.
    fn open(&self, asked: &Asked) -> Result<Option<Opened>, Refusal>;
}

/// Every kind, in the order in which they are asked. Plain text is what none of them claims.
pub static KINDS: &[&dyn Kind] = &[&Archive, &Documents, &Sqlite, &NOTEBOOK, &IMAGE];

/// The names of all kinds on the wire: text, directories, the registry's, what is in no file, and the web.
pub fn kinds() -> Vec<ResourceKind> {
    let plain = [ResourceKind::File, ResourceKind::Directory];
    let more = KINDS.iter().map(|kind| kind.kind());
    let more = more.chain([ResourceKind::Internal, ResourceKind::Url]);
    plain.into_iter().chain(more).collect()
}

/// Bytes by which a file that is no text is known.
pub const HEAD: usize = 4096;

/// What is to be opened.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub subject: Subject<'a>,
    /// The path as the caller wrote it, for refusals.
    pub spelled: &'a str,
    /// What follows the subject's own path, with the character that parts them (`:inner/path`,
    /// `?q=SELECT 1`): not yet told apart from a selector.
    pub inner: Option<&'a str>,
    /// Empty where there is an `inner`.
    pub selector: &'a Selector,
    pub encoding: Option<&'static Encoding>,
    pub means: ReadContext<'a>,
}

/// Where the bytes are.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    File(&'a Handle),
    /// A part of a file, already taken out of it.
    Member {
        /// The file it is in.
        outer: &'a Handle,
        /// The state of that file it was taken out of.
        state: &'a FileState,
        /// Its name in there.
        name: &'a str,
        bytes: &'a Arc<[u8]>,
    },
}

impl<'a> Subject<'a> {
    /// The last part of its name, by which kinds are told.
    pub fn file_name(&self) -> String {
        match self {
            Subject::File(handle) => {
                let name = handle.real().as_path().file_name();
                name.unwrap_or_default().to_string_lossy().into_owned()
            }
            Subject::Member { name, .. } => name.rsplit('/').next().unwrap_or(name).to_owned(),
        }
    }

    /// The state of the file that anything is made of from now on; the bytes of a small one are read.
    pub fn state(&self, spelled: &str) -> Result<FileState, Refusal> {
        match self {
            Subject::File(handle) => handle
                .current_stamp()
                .and_then(|stamp| FileState::of(handle, stamp))
                .map_err(|error| Refusal::io(spelled, &error)),
            Subject::Member { state, .. } => Ok(FileState::clone(state)),
        }
    }

    /// The file, and the part of it, by which what is made of the subject is kept warm.
    pub fn warm_key(&self) -> (&'a Handle, &'a str) {
        match self {
            Subject::File(handle) => (handle, ""),
            Subject::Member { outer, name, .. } => (outer, name),
        }
    }

    /// Where it is. A part of a file has the file's path, and no URI.
    pub fn location(&self) -> Location {
        match self {
            Subject::File(handle) => location(&ResourceId::from(*handle), None),
            Subject::Member { outer, .. } => {
                location(&ResourceId::from(*outer), None).without_uri()
            }
        }
    }

    /// Bytes, as far as is known before they are read.
    pub fn size(&self) -> u64 {
        match self {
            Subject::File(handle) => handle.stamp().size,
            Subject::Member { bytes, .. } => bytes.len() as u64,
        }
    }

    /// All bytes; `None` where there are more than `limit` of them.
    pub fn bytes(
        &self,
        limit: u64,
        spelled: &str,
        work: &Work,
    ) -> Result<Option<Arc<[u8]>>, Refusal> {
        if self.size() > limit {
            return Ok(None);
        }
        match self {
            Subject::Member { bytes, .. } => Ok(Some(Arc::clone(bytes))),
            Subject::File(handle) => read_all(handle, limit, spelled, work),
        }
    }

    /// The first bytes, at most `count`.
    pub fn head(&self, count: usize, spelled: &str) -> Result<Vec<u8>, Refusal> {
        match self {
            Subject::Member { bytes, .. } => Ok(bytes[..bytes.len().min(count)].to_vec()),
            Subject::File(handle) => {
                let mut head = Vec::with_capacity(count);
                let file = handle.open_read();
                let read = file.and_then(|file| file.take(count as u64).read_to_end(&mut head));
                read.map_err(|error| Refusal::io(spelled, &error))?;
                Ok(head)
            }
        }
    }
}

/// Bytes between two looks at the cancel token.
const READ_CHUNK: u64 = 1024 * 1024;

fn read_all(
    handle: &Handle,
    limit: u64,
    spelled: &str,
    work: &Work,
) -> Result<Option<Arc<[u8]>>, Refusal> {
    let refuse = |error: std::io::Error| Refusal::io(spelled, &error);
    let mut file = handle.open_read().map_err(refuse)?;
    let mut bytes = Vec::with_capacity(handle.stamp().size as usize);
    loop {
        work.check()?;
        let count = (&mut file)
            .take(READ_CHUNK)
            .read_to_end(&mut bytes)
            .map_err(refuse)?;
        if bytes.len() as u64 > limit {
            return Ok(None);
        }
        if (count as u64) < READ_CHUNK {
            return Ok(Some(bytes.into()));
        }
    }
}

/// Whether any kind looks at a file of this name, asked for by this selector.
pub fn is_claimed(name: &str, selector: &Selector) -> bool {
    KINDS.iter().any(|kind| kind.claims(name, selector))
}

/// Opens it as the first kind that knows it; `None` where none does.
pub fn open(asked: &Asked) -> Result<Option<Opened>, Refusal> {
    let name = asked.subject.file_name();
    for kind in KINDS {
        if kind.claims(&name, asked.selector)
            && let Some(opened) = kind.open(asked)?
        {
            return Ok(Some(opened));
        }
    }
    Ok(None)
}

/// Opens what was found to be no text, by its first bytes.
pub fn open_by_content(asked: &Asked) -> Result<Option<Opened>, Refusal> {
    let head = asked.subject.head(HEAD, asked.spelled)?;
    for kind in KINDS.iter().filter(|kind| kind.claims_bytes(&head)) {
        if let Some(opened) = kind.open(asked)? {
            return Ok(Some(opened));
        }
    }
    Ok(None)
}

/// Where a path string may be split into a resource and something within it, leftmost first.
pub fn splits(path: &str) -> Vec<usize> {
    // The resource's own path is before it, so that it cannot be any further on.
    let path = &path[..path.floor_char_boundary(MAX_PATH_BYTES)];
    let mut all: Vec<usize> = KINDS.iter().flat_map(|kind| kind.splits(path)).collect();
    all.sort_unstable();
    all.dedup();
    all
}
