//! A document: what a source found, ready to be shown; it never says how much of it fits.

use std::sync::Arc;

use crate::protocol::read::{Cache, Location, MoreDetails, ResourceKind};

use super::Content;

/// How the lines of a document are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Source lines under their numbers.
    Lines,
    /// Rows made by us (a directory): no numbers, no header.
    Listing,
    /// A few words of ours in the place of what cannot be shown as text: whole, whatever lines are
    /// asked for.
    Note,
}

/// What a resource holds, in lines.
#[derive(Debug, Clone)]
pub struct Document {
    pub kind: ResourceKind,
    pub style: Style,
    pub location: Location,
    pub text: Content,
    pub cache: Cache,
    /// The details known before a window is opened.
    pub details: MoreDetails,
    /// Damage and lossy decoding, one sentence each.
    pub notices: Vec<String>,
    pub extras: Extras,
}

/// What only some kinds of resource have.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// What stands beside the text.
    pub attachments: Vec<Attachment>,
    /// Footers of this kind alone, one sentence each, without brackets.
    pub footers: Vec<String>,
    /// Rows of a read that names no end, where a kind allows fewer than other limits do.
    pub open_lines: Option<u64>,
    /// What a row is, in the plural, where footers do not speak of lines.
    pub rows_are: Option<&'static str>,
    /// The file as it is, where a dialect asked for it so (`ReadContext::whole_file`) and it is not too
    /// large.
    pub whole_file: Option<WholeFile>,
    /// Why there is nothing to show but this note, in the words that dialects put in theirs
    /// (`encrypted`).
    pub unreadable: Option<String>,
    /// What stands above the text of a web page.
    pub web_header: Option<WebHeader>,
    /// Where the pages of a document begin: they stand for its length while its lines are not counted.
    pub parts: Option<Parts>,
}

/// What is said of a web page above its text; a line each, none of which is one of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebHeader {
    /// Where it was read from in the end.
    pub url: String,
    pub content_type: String,
    pub method: &'static str,
    pub notes: Vec<String>,
}

impl WebHeader {
    /// How it was read and what is to be said of that, as one sentence.
    pub fn sentence(&self) -> String {
        let mut said = format!("Method: {}", self.method);
        for note in &self.notes {
            said.push_str("; ");
            said.push_str(note);
        }
        said
    }
}

/// A file for a model that can read it by itself.
#[derive(Debug, Clone)]
pub struct WholeFile {
    pub mime_type: &'static str,
    pub data: Arc<[u8]>,
}

/// The parts that a document consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// What one is called.
    pub one: &'static str,
    pub total: u64,
    /// The line on which each begins, as far as they are known.
    pub starts: Vec<u64>,
}

impl Parts {
    /// The part that holds a line; counted from 1.
    pub fn of(&self, line: u64) -> u64 {
        self.starts.partition_point(|start| *start <= line).max(1) as u64
    }
}

/// An image that is shown with a document.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// The line that it belongs to: it is shown where that line is. `None`: always.
    pub line: Option<u64>,
    pub mime_type: &'static str,
    pub data: Arc<[u8]>,
    /// What it is and what it was made of, as a sentence, where it is not a file as it is.
    pub made_of: Option<String>,
}
