//! The tag of a text, by which patches name what they were written against; nothing here reads a file.

pub mod tag;

pub use tag::{Fingerprint, Tag, fingerprint};
