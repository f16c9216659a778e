//! Languages as data, and parsing with a deadline; nothing here ever does I/O or decides what is shown.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod again;
mod captures;
mod detect;
mod grammars;
mod item_head;
mod languages;
mod parse;
mod query;
mod scanners;
mod source;

#[cfg(test)]
mod tests;

pub use captures::{Capture, Captures, PathNode, Role};
pub use detect::{detect, named};
pub use item_head::ItemHead;
pub use languages::{Language, languages};
pub use parse::{Parsed, ParsedPiece, parse};
pub use source::Source;
