//! What an edit plans for a file's name: the types alone, `names` and `gone` plan them.

use crate::workspace::{LinkPlace, NewPlace, RealPath};

use super::disk::Attributes;

/// What a patch says of a file's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameOp {
    MoveTo(String),
    Delete,
}

/// What is to become of a file's name.
#[derive(Debug)]
pub struct PlannedName {
    /// As headers called it before.
    pub from: String,
    /// Its own place: that of the link, where it is one.
    pub real: RealPath,
    pub link: Option<LinkPlace>,
    /// `None` where it is deleted.
    pub to: Option<PlannedPlace>,
}

/// Where a file is to be moved to.
#[derive(Debug, Clone)]
pub struct PlannedPlace {
    pub place: NewPlace,
    /// As headers will call it.
    pub name: String,
}

/// What an undone deletion is made with.
#[derive(Debug, Clone, Copy)]
pub struct Restored(pub Attributes);
