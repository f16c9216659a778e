//! Why an edit was refused, and what `data` adds to that; where text is given, it is that of the lines which the caller needs to go on.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::read::LineSpan;
use super::{Refusal, RefusalKind};

/// What only edits refuse. Nothing is written where one of these is answered, but for `Partly` and
/// `Unconfirmed`, which say so.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EditRefusal {
    #[error("{message}")]
    PatchSyntax {
        message: String,
        path: Option<String>,
        /// 1-indexed; the structured form has none.
        patch_line: Option<u64>,
        expected: &'static str,
        /// The header to use.
        header: Option<String>,
    },
    #[error("{message}")]
    Overlap {
        message: String,
        path: String,
        /// The lines of the patch; empty for the structured form.
        patch_lines: Vec<u64>,
    },
    /// Edits that name lines which are others now, or were never shown.
    #[error("{message}")]
    Outdated {
        why: Outdated,
        message: String,
        path: String,
        files: Vec<LiveFile>,
    },
    #[error("{message}")]
    NoMatch {
        message: String,
        path: String,
        /// Lines where the text is, or where it is but for blanks.
        candidates: Vec<LineSpan>,
        /// Line and byte (1-indexed) at which the longest part that is there diverges.
        diverges: Option<(u64, u64)>,
    },
    /// Everything that is wrong with one edit.
    #[error("{message}")]
    Faults {
        /// All of it in words, with the live lines.
        message: String,
        /// The one that is written first: what the client goes by.
        first: Box<Refusal>,
        /// In the order written.
        faults: Vec<FaultData>,
        files: Vec<LiveFile>,
        retryable: bool,
    },
    /// A text with the line numbers of a reader in it.
    #[error("{message}")]
    ReaderPrefixes {
        message: String,
        path: String,
        cleaned: String,
    },
    #[error("{message}")]
    NoChange { message: String, path: String },
    #[error("{message}")]
    Exists {
        message: String,
        path: String,
        tag: Option<String>,
    },
    /// It was begun, and nothing shows what came of it.
    #[error("{message}")]
    Unconfirmed {
        message: String,
        path: Option<String>,
    },
    /// Some files are written and others are not.
    #[error("{message}")]
    Partly {
        message: String,
        path: String,
        written: Vec<String>,
        not_written: Vec<String>,
    },
}

/// Why lines cannot be edited by the numbers that were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outdated {
    Stale,
    UnknownTag,
    ExpiredTag,
    NotShown,
}

/// One thing that is wrong with an edit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultData {
    pub kind: RefusalKind,
    /// As it was written, or as headers name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// 1-indexed; the structured form has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_line: Option<u64>,
    pub message: String,
}

/// The live tag of a file and the lines that matter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LiveFile {
    pub path: String,
    pub tag: String,
    pub lines: Vec<LiveLine>,
    /// Whether there were more, for which there was no room.
    #[serde(skip)]
    pub is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LiveLine {
    pub line: u64,
    pub text: String,
}

impl EditRefusal {
    /// The editor did not show the edit of a document in time; of no document, the disk did not
    /// return from it.
    pub fn unconfirmed(path: Option<&str>) -> EditRefusal {
        let what = match path {
            Some(path) => format!("The editor did not show the edit of '{path}' within 5 seconds"),
            None => "The disk did not return from the edit in time".to_owned(),
        };
        EditRefusal::Unconfirmed {
            message: format!(
                "{what}, so it is not known whether it was made. Read the file before you go on; do not send the edit again unseen."
            ),
            path: path.map(str::to_owned),
        }
    }

    pub fn kind(&self) -> RefusalKind {
        match self {
            EditRefusal::PatchSyntax { .. } => RefusalKind::PatchSyntax,
            EditRefusal::Overlap { .. } => RefusalKind::Overlap,
            EditRefusal::Outdated { why, .. } => match why {
                Outdated::Stale => RefusalKind::Stale,
                Outdated::UnknownTag => RefusalKind::UnknownTag,
                Outdated::ExpiredTag => RefusalKind::ExpiredTag,
                Outdated::NotShown => RefusalKind::NotShown,
            },
            EditRefusal::NoMatch { .. } => RefusalKind::NoMatch,
            EditRefusal::ReaderPrefixes { .. } => RefusalKind::BadParams,
            EditRefusal::Faults { first, .. } => first.kind(),
            EditRefusal::NoChange { .. } => RefusalKind::NoChange,
            EditRefusal::Exists { .. } => RefusalKind::Exists,
            EditRefusal::Unconfirmed { .. } => RefusalKind::Timeout,
            EditRefusal::Partly { .. } => RefusalKind::Io,
        }
    }

    pub fn path(&self) -> Option<&str> {
        match self {
            EditRefusal::PatchSyntax { path, .. } | EditRefusal::Unconfirmed { path, .. } => {
                path.as_deref()
            }
            EditRefusal::Faults { first, .. } => first.path(),
            EditRefusal::Overlap { path, .. }
            | EditRefusal::Outdated { path, .. }
            | EditRefusal::NoMatch { path, .. }
            | EditRefusal::ReaderPrefixes { path, .. }
            | EditRefusal::NoChange { path, .. }
            | EditRefusal::Exists { path, .. }
            | EditRefusal::Partly { path, .. } => Some(path),
        }
    }

    /// Whether the same edit may succeed when it is sent again unchanged.
    pub(super) fn retryable(&self) -> bool {
        matches!(
            self,
            EditRefusal::Faults {
                retryable: true,
                ..
            }
        )
    }

    /// What the kind adds to `data`.
    pub(super) fn add_to(&self, data: &mut Map<String, Value>) {
        let mut add = |key: &str, value: Value| {
            if !value.is_null() {
                data.insert(key.to_owned(), value);
            }
        };
        match self {
            EditRefusal::PatchSyntax {
                patch_line,
                expected,
                header,
                ..
            } => {
                add("patchLine", json!(patch_line));
                add("expected", json!(expected));
                add("header", json!(header));
            }
            EditRefusal::Overlap { patch_lines, .. } => add("patchLines", json!(patch_lines)),
            EditRefusal::Outdated { files, .. } => add("files", json!(files)),
            EditRefusal::Faults {
                first,
                faults,
                files,
                ..
            } => {
                let own = first.data();
                let own = own.as_object().into_iter().flatten();
                let own = own.filter(|(key, _)| *key != "retryable");
                own.for_each(|(key, value)| add(key, value.clone()));
                add("faults", json!(faults));
                add("files", some_or_null(files));
            }
            EditRefusal::NoMatch {
                candidates,
                diverges,
                ..
            } => {
                add("candidates", json!(candidates));
                if let Some((line, byte)) = diverges {
                    add("line", json!(line));
                    add("byte", json!(byte));
                }
            }
            EditRefusal::Exists { tag, .. } => add("tag", json!(tag)),
            EditRefusal::Unconfirmed { .. } => add("outcome", json!("unknown")),
            EditRefusal::Partly {
                written,
                not_written,
                ..
            } => {
                add("written", json!(written));
                add("notWritten", json!(not_written));
            }
            EditRefusal::ReaderPrefixes { cleaned, .. } => {
                add("key", json!("text"));
                add("suggestions", json!([cleaned]));
            }
            EditRefusal::NoChange { .. } => {}
        }
    }
}

fn some_or_null(files: &[LiveFile]) -> Value {
    match files.is_empty() {
        true => Value::Null,
        false => json!(files),
    }
}
