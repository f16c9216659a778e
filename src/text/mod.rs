//! Encodings, line ends and the rope behind our own type; nothing here does I/O.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod binary;
mod body;
mod compare;
mod decode;
mod encode;
mod lines;
mod one_line;
mod reader;
mod rivals;
mod splice;
mod terminal;
mod utf16;

#[cfg(test)]
mod tests;

pub use binary::percent_of_controls;
pub use body::{LineEnding, Text};
pub use compare::{differs_beyond_normalisation, same_lines};
pub use decode::{
    Confidence, Decoded, NotText, decode, encoding_for_editor, encoding_for_label, label,
};
pub use encode::{Unmappable, encode};
pub use lines::Lines;
pub use one_line::one_line;
pub use rivals::{Rival, disagreement, rivals};
pub use splice::{LineSplice, Position, PositionEncoding, Splice, splice};
pub use terminal::Terminal;
