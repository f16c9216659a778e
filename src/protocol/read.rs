//! What `agent/read` returns, as `protocol.md` writes it; nothing here ever decides what is shown.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::long_text;

/// One part of what the model is to see, as in the Model Context Protocol.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ContentBlock {
    Text {
        #[serde(serialize_with = "long_text")]
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        /// Base64.
        data: String,
        mime_type: String,
    },
    Resource {
        resource: Blob,
    },
}

/// A file as a whole, for a model that can read it by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Blob {
    pub uri: String,
    pub mime_type: String,
    /// Base64.
    pub blob: String,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResult {
    pub content: Vec<ContentBlock>,
    pub details: ReadDetails,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceKind {
    File,
    Directory,
    Archive,
    Sqlite,
    Notebook,
    Image,
    Document,
    /// In no file: the text of a scheme of the daemon's own, or the list of them.
    Internal,
    /// On the web, whatever its body is.
    Url,
}

impl ResourceKind {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            ResourceKind::File => "file",
            ResourceKind::Directory => "directory",
            ResourceKind::Archive => "archive",
            ResourceKind::Sqlite => "sqlite",
            ResourceKind::Notebook => "notebook",
            ResourceKind::Image => "image",
            ResourceKind::Document => "document",
            ResourceKind::Internal => "internal",
            ResourceKind::Url => "url",
        }
    }

    /// As a sentence names it.
    pub fn with_article(self) -> &'static str {
        match self {
            ResourceKind::File => "a file",
            ResourceKind::Directory => "a directory",
            ResourceKind::Archive => "an archive",
            ResourceKind::Sqlite => "a database",
            ResourceKind::Notebook => "a notebook",
            ResourceKind::Image => "an image",
            ResourceKind::Document => "a document",
            ResourceKind::Internal => "a listing",
            ResourceKind::Url => "a web page",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    Hit,
    Miss,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Disk,
    Editor,
    Web,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    pub source: String,
}

/// Where what was read is: the part of the details that every kind of resource has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// The backing path, or the URI of what is in no file.
    #[serde(skip)]
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

impl Location {
    /// Of what has no address by itself: a part of a file.
    pub fn without_uri(self) -> Location {
        Location { uri: None, ..self }
    }
}

/// Source lines, 1-indexed and inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LineSpan {
    pub start: u64,
    pub end: u64,
}

impl LineSpan {
    /// One line.
    pub fn line(line: u64) -> LineSpan {
        LineSpan {
            start: line,
            end: line,
        }
    }

    /// The numbers of its lines.
    pub fn lines(self) -> RangeInclusive<u64> {
        self.start..=self.end
    }

    /// How many lines.
    pub fn count(self) -> u64 {
        self.end - self.start + 1
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct SuffixResolution {
    pub from: String,
    pub to: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Hashline {
    pub path: String,
    pub tag: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CutLine {
    pub line: u64,
    pub shown_chars: u64,
    /// Absent for a line so long that nobody counted to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_chars: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CutReason {
    Lines,
    Bytes,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncation {
    pub reason: CutReason,
    /// Complete, without the colon.
    pub next_selector: String,
    /// The same in the terms of a dialect that counts lines in parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// The whole text is `artifact://` with this behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<String>,
}

/// How such a dialect goes on: the first line in its own base, and how many lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Next {
    pub offset: u64,
    pub limit: u64,
}

/// What of a text its summary leaves out.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub language: &'static str,
    /// Lines of the text.
    pub lines: u64,
    pub elided_lines: u64,
    pub elided_spans: Vec<LineSpan>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListingLimits {
    pub result_limit: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DisplayContent {
    pub text: String,
    pub start_line: u64,
}

/// What the program around the model needs to know of a read.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadDetails {
    pub kind: ResourceKind,
    pub meta: Meta,
    pub cache: Cache,
    #[serde(flatten)]
    pub location: Location,
    #[serde(flatten)]
    pub more: MoreDetails,
}

impl ReadDetails {
    pub fn new(
        kind: ResourceKind,
        location: Location,
        cache: Cache,
        more: MoreDetails,
    ) -> ReadDetails {
        ReadDetails {
            kind,
            meta: Meta {
                source: location.source.clone(),
            },
            cache,
            location,
            more,
        }
    }
}

/// The details that depend on the kind of resource; absent ones are left out on the wire.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MoreDetails {
    /// Whether it is the text itself, without rows.
    #[serde(skip)]
    pub is_raw: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_directory: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suffix_resolution: Option<SuffixResolution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hashline: Option<Hashline>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_version: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding_confidence: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_ending: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bom: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Vec<LineSpan>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_lines: Option<Vec<CutLine>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<ListingLimits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_content: Option<DisplayContent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notices: Option<Vec<String>>,
    /// Who gives what is in no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<&'static str>,
    /// What a listing of addresses lists, whatever lines of it are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<NamedResource>>,
    #[serde(flatten)]
    pub web: Option<Box<WebDetails>>,
    #[serde(flatten)]
    pub internal: Option<Box<InternalDetails>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<Value>,
}

/// What is told of a web page.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebDetails {
    /// As it was asked for, without a fragment.
    pub url: String,
    /// Where redirects led.
    pub final_url: String,
    pub content_type: String,
    /// How its text came to be (`docs/formats.md`, Web pages).
    pub method: &'static str,
    pub status: u16,
    /// The addresses that led on, the first one first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirects: Option<Vec<String>>,
    /// RFC 3339.
    pub fetched_at: String,
    /// The section that a fragment named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<WebSection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_java_script: Option<bool>,
    /// Always `false`: somebody else's words.
    pub trusted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A section of a web page; lines as in [`LineSpan`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WebSection {
    pub id: String,
    pub start: u64,
    pub end: u64,
}

/// What is told of what is behind an internal address. Never beside [`WebDetails`], which has
/// members of the same names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InternalDetails {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Where a browser shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<bool>,
    /// `false`: strangers may have written it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted: Option<bool>,
}

/// Something that can be read by its address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedResource {
    pub uri: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    pub provider: &'static str,
    /// Of the file that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Globs of the paths that a rule is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applies_to: Option<Vec<String>>,
    /// It applies to every path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<bool>,
    /// The address of what goes before it under its plain name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowed_by: Option<String>,
}
