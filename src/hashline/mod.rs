//! Tags, patches and line maps: what an edit says and which bytes it changes; nothing here reads or writes a file.

mod anchors;
pub mod apply;
#[cfg(test)]
mod apply_laws;
#[cfg(test)]
mod apply_tests;
pub mod block;
mod body;
pub mod carry;
#[cfg(test)]
mod carry_laws;
pub mod changed;
pub mod diff;
pub mod diffed;
pub mod echo;
pub mod error;
#[cfg(test)]
mod fault_laws;
mod header;
pub mod line_map;
mod op_line;
pub mod ops;
pub mod patch;
#[cfg(test)]
mod patch_tests;
pub mod replace_text;
pub mod splice;
pub mod structured;
mod syntax_errors;
pub mod tag;

pub use block::{Action, BlockAt, BlockSpan, NoBlock, NoBlockReason, Place, PlainBatch, PlainHunk};
pub use carry::{Anchor, Moved, Remap, Stale, StaleReason, Step, carry};
pub use diffed::DiffedMap;
pub use error::{Faulty, Overlap, PatchError, Syntax};
pub use line_map::LineMap;
pub use ops::{Batch, Hunk, Op, Origin, Section, Warning, WarningCode};
pub use patch::Patch;
pub use syntax_errors::{SyntaxErrors, brought_in};
pub use tag::{Fingerprint, Tag, fingerprint};
