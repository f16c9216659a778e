//! A document: what a source found, ready to be shown; it never says how much of it fits.

use crate::protocol::read::{Cache, MoreDetails, ResourceKind};

use super::Content;

/// How the lines of a document are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Source lines under their numbers.
    Lines,
    /// Rows made by us (a directory): no numbers, no header.
    Listing,
}

/// What a resource holds, in lines.
#[derive(Debug, Clone)]
pub struct Document {
    pub kind: ResourceKind,
    pub style: Style,
    /// Backing path.
    pub source: String,
    pub text: Content,
    pub cache: Cache,
    /// The details known before a window is opened.
    pub details: MoreDetails,
    /// Damage and lossy decoding, one sentence each.
    pub notices: Vec<String>,
}
