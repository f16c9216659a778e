//! Where a thing is that can be read: one name for it, whatever it is called by and whatever it turns out to hold.

use std::fmt;
use std::path::Path;

use super::{Handle, RealPath};

/// Two ways to call one thing lead to one id: links, spellings and escapes are resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ResourceId {
    /// A file that is there, or where it would be.
    File(RealPath),
    /// An open document that is in no file, under its decoded URI.
    Document(String),
    /// What the daemon itself has a text of.
    Internal(InternalUrl),
    /// A web page, under its address as redirects led to it.
    Url(String),
}

impl ResourceId {
    /// Whether it is a file in that folder, or in one of its folders.
    pub fn is_below(&self, folder: &Path) -> bool {
        match self {
            ResourceId::File(real) => real.as_path().starts_with(folder),
            ResourceId::Document(_) | ResourceId::Internal(_) | ResourceId::Url(_) => false,
        }
    }
}

impl From<&Handle> for ResourceId {
    fn from(handle: &Handle) -> ResourceId {
        ResourceId::File(handle.real().clone())
    }
}

/// The address of what is in no file and no editor, `pilcrow://read`: with the canonical name of
/// its scheme, decoded, and without a selector.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InternalUrl {
    url: String,
    /// Bytes before the name.
    name_at: usize,
}

impl InternalUrl {
    /// The address of `name` under a scheme.
    pub fn new(scheme: &str, name: &str) -> InternalUrl {
        InternalUrl {
            url: format!("{scheme}://{name}"),
            name_at: scheme.len() + "://".len(),
        }
    }

    /// Of a whole address, `scheme://name`.
    pub fn of(url: &str) -> InternalUrl {
        InternalUrl {
            name_at: url.find("://").map_or(0, |at| at + "://".len()),
            url: url.to_owned(),
        }
    }

    /// The whole address, `scheme://name`.
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// What stands behind `scheme://`; empty for the scheme as a whole.
    pub fn name(&self) -> &str {
        &self.url[self.name_at..]
    }
}

impl fmt::Display for InternalUrl {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.url)
    }
}
