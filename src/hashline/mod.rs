//! Tags and line maps, by which patches find the lines they were written against; nothing here reads a file.

pub mod line_map;
pub mod tag;

pub use line_map::LineMap;
pub use tag::{Fingerprint, Tag, fingerprint};
