//! What is asked, what of it is shown, and how it is written down; nothing here touches a file or a clock.

pub mod conflicts;
pub mod dialect;
pub mod document;
pub mod excerpt;
mod fill;
pub mod folded;
pub mod large;
pub mod lines;
pub mod listing;
pub mod members;
mod name;
pub mod selector;
pub mod size;
pub mod table;
pub mod window;

use serde::{Deserialize, Serialize};

pub use document::{Attachment, Document, Extras, Parts, Style, WebHeader, WholeFile};
pub use excerpt::{Content, Excerpt};
pub use lines::LineSet;
pub use name::{in_header, in_listing};
pub use selector::{Own, Selector};

/// What a path string names, as the caller wrote it.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// One string that may end in a selector; a literal path that exists wins.
    Spelled(String),
    /// A path with its selector given apart: no splitting, no decoding.
    Literal(String, Selector),
}

impl Target {
    /// The path as written, for messages.
    pub fn as_written(&self) -> &str {
        match self {
            Target::Spelled(path) | Target::Literal(path, _) => path,
        }
    }
}

/// What else a name may stand for that is nowhere under its exact spelling. Its look-alikes (another
/// Unicode form, other apostrophes and spaces) are the same name in every case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Guess {
    /// The only path in the roots that ends in it; else near names are told.
    #[default]
    Suffix,
    /// Nothing, and near names are told.
    NearNames,
    /// Nothing: a model that is told so makes the file.
    Nothing,
}

/// How a directory is listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListingStyle {
    /// Two deep, newest first, with sizes and ages.
    #[default]
    Tree,
    /// The names in it, in the order of the alphabet.
    Names,
}

/// What a tool does not read where nothing but a path is given to it, though we could.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusedByDefault {
    /// Files whose names end so; in lower case, with the dot.
    pub extensions: &'static [&'static str],
    pub directories: bool,
    /// Text of which so many percent of the first bytes are control characters, or more.
    pub controls: Option<usize>,
}

/// The limits of one answer: lines and UTF-8 bytes (of the lines plus one each, without prefixes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    pub lines: u64,
    pub bytes: u64,
}

impl Budget {
    /// What an answer may hold when nothing else is said (`formats.md`, Limits).
    pub const DEFAULT: Budget = Budget {
        lines: 3000,
        bytes: 50 * 1024,
    };
    /// What no caller can exceed.
    pub const CAP: Budget = Budget {
        lines: 20_000,
        bytes: 1024 * 1024,
    };
}
