//! Where a thing is that can be read: one name for it, whatever it is called by and whatever it turns out to hold.

use super::{Handle, RealPath};

/// Two ways to call one thing lead to one id: links, spellings and escapes are resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ResourceId {
    /// A file that is there, or where it would be.
    File(RealPath),
    /// An open document that is in no file, under its decoded URI.
    Document(String),
}

impl From<&Handle> for ResourceId {
    fn from(handle: &Handle) -> ResourceId {
        ResourceId::File(handle.real().clone())
    }
}
