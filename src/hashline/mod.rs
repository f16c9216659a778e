//! Tags, patches and line maps: what an edit says and which bytes it changes; nothing here reads or writes a file.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod anchors;
pub mod apply;
pub mod block;
mod body;
pub mod carry;
pub mod changed;
pub mod diff;
pub mod diffed;
pub mod echo;
pub mod error;
mod header;
pub mod inverse;
pub mod line_map;
mod no_block;
mod op_line;
pub mod ops;
pub mod patch;
pub mod replace_text;
pub mod splice;
pub mod structured;
mod syntax_errors;
pub mod tag;

#[cfg(test)]
mod tests;

pub use block::{Action, BlockAt, BlockSpan, InsertionPoint, PlainBatch, PlainHunk};
pub use carry::{Anchor, Moved, Remap, Stale, StaleReason, Step, carry};
pub use diffed::DiffedMap;
pub use error::{Faulty, Overlap, PatchError, Syntax};
pub use inverse::Inverse;
pub use line_map::LineMap;
pub use no_block::{NoBlock, NoBlockReason};
pub use ops::{Batch, Hunk, MoveTarget, Op, Origin, Section, Warning, WarningCode};
pub use patch::Patch;
pub use syntax_errors::{SyntaxErrors, brought_in};
pub use tag::{Fingerprint, Tag, fingerprint};
