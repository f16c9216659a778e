//! Which lines of a text a pattern matches, by ripgrep's own crates; the text is at hand, and nothing here knows where it is from.

mod find;
mod pattern;

pub use find::{Finder, Found, MatchesWanted};
pub use pattern::{Matching, Pattern};
