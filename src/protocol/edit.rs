//! What `agent/edit` and `agent/write` return, as `protocol.md` writes it; nothing here ever decides what is written.

use serde::Serialize;

use super::read::{ContentBlock, LineSpan};

#[derive(Debug, Clone, Serialize)]
pub struct EditResult {
    pub content: Vec<ContentBlock>,
    pub details: EditDetails,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EditDetails {
    pub dry_run: bool,
    pub files: Vec<EditedFile>,
}

/// What `agent/flush` returns.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Flushed {
    pub saved: Vec<String>,
    pub left: Vec<Left>,
}

/// A document that is still unsaved, and why.
#[derive(Debug, Clone, Serialize)]
pub struct Left {
    pub path: String,
    pub reason: String,
}

/// By which writer a file was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    Disk,
    Editor,
}

/// What was done to one file.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EditedFile {
    /// As headers name it.
    pub path: String,
    /// Absolute, symlinks resolved; the URI of what is in the editor alone.
    pub resolved_path: String,
    /// Where it was written, where the path as asked for is a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrote_to: Option<String>,
    /// How headers called it before it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// Of a dry run: where it would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves_to: Option<String>,
    /// It is not there any more, or, in a dry run, would not be.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag_before: Option<String>,
    /// Names what is really there now.
    pub tag: String,
    /// In new line numbers.
    pub changed: Vec<LineSpan>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remapped: Vec<Remapped>,
    pub via: Via,
    /// Whether it is on disk.
    pub persisted: bool,
    pub warnings: Vec<Warning>,
    /// Unified, at most 200 lines.
    pub diff: String,
}

/// The span of a block op, in the numbers of the tagged version.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Block {
    pub line: u64,
    pub start: u64,
    pub end: u64,
}

/// A line as it was addressed, and the line that the edit was applied to.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Remapped {
    pub from: u64,
    pub to: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    pub code: &'static str,
    pub message: String,
}
