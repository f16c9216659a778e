//! Tar: one pass over its headers, by seeking where the file allows it, and its members; a member's bytes are never kept by the pass.

mod header;
mod pax;
mod sparse;
mod walk;

pub use header::is_header;
pub use sparse::expand;
pub use walk::{Plain, index};

/// Tar is made of these.
pub const BLOCK: usize = 512;
