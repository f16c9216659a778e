//! Encodings, line ends and the rope behind our own type; nothing here does I/O.

mod binary;
mod body;
mod decode;
mod lines;
mod utf16;

#[cfg(test)]
mod body_unit;
#[cfg(test)]
mod encodings_unit;

pub use body::{LineEnding, Text};
pub use decode::{Confidence, Decoded, NotText, decode, encoding_for_label, label};
pub use lines::Lines;
