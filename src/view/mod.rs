//! What is asked, what of it is shown, and how it is written down; nothing here touches a file or a clock.

pub mod conflicts;
pub mod dialect;
pub mod document;
pub mod excerpt;
pub mod folded;
pub mod lines;
pub mod listing;
mod name;
pub mod selector;
pub mod size;
pub mod window;

pub use document::{Attachment, Document, Extras, Parts, Style};
pub use excerpt::{Content, Excerpt};
pub use lines::LineSet;
pub use name::in_header;
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

/// The limits of one answer: lines and UTF-8 bytes (of the lines plus one each, without prefixes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
