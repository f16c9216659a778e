//! What a patch asks for, whether written as text or as structure; nothing here knows the text it is meant for.

use std::fmt;

use super::tag::Tag;
use crate::protocol::read::LineSpan;

/// One thing to do, in line numbers of the section's original text (1-indexed, inclusive).
///
/// Rows are lines without their ends; none holds a line feed or ends in a carriage return.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Op {
    /// Without rows it deletes.
    Replace {
        lines: LineSpan,
        rows: Vec<String>,
    },
    Delete {
        lines: LineSpan,
    },
    ReplaceBlock {
        line: u64,
        rows: Vec<String>,
    },
    DeleteBlock {
        line: u64,
    },
    InsertBefore {
        line: u64,
        rows: Vec<String>,
    },
    InsertAfter {
        line: u64,
        rows: Vec<String>,
    },
    InsertAfterBlock {
        line: u64,
        rows: Vec<String>,
    },
    InsertHead {
        rows: Vec<String>,
    },
    InsertTail {
        rows: Vec<String>,
    },
    /// Replaces an exact text, wherever it stands; its line ends are LF here.
    ReplaceText {
        old: String,
        new: String,
        all: bool,
    },
    /// Takes lines, as they are, to another place.
    Move {
        lines: LineSpan,
        to: MoveTarget,
    },
    /// Gives the file another path.
    MoveFile {
        /// As the caller means it: without quotes.
        to: String,
    },
    DeleteFile,
    /// Puts back what the edit that made the tagged version replaced.
    Undo,
}

/// The line beside which moved lines go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MoveTarget {
    Before(u64),
    After(u64),
}

impl MoveTarget {
    pub fn line(self) -> u64 {
        let (MoveTarget::Before(line) | MoveTarget::After(line)) = self;
        line
    }
}

impl Op {
    /// The lines it names: none of head, tail, text and the file as a whole, two spans of a move.
    pub fn named_lines(&self) -> impl Iterator<Item = LineSpan> + use<> {
        let to = match self {
            Op::Move { to, .. } => Some(LineSpan::line(to.line())),
            _ => None,
        };
        self.own_lines().into_iter().chain(to)
    }

    fn own_lines(&self) -> Option<LineSpan> {
        match self {
            Op::Replace { lines, .. } | Op::Delete { lines } | Op::Move { lines, .. } => {
                Some(*lines)
            }
            Op::ReplaceBlock { line, .. }
            | Op::DeleteBlock { line }
            | Op::InsertBefore { line, .. }
            | Op::InsertAfter { line, .. }
            | Op::InsertAfterBlock { line, .. } => Some(LineSpan::line(*line)),
            Op::InsertHead { .. }
            | Op::InsertTail { .. }
            | Op::ReplaceText { .. }
            | Op::MoveFile { .. }
            | Op::DeleteFile
            | Op::Undo => None,
        }
    }

    /// Whether it changes the name of its file, or may bring a file back.
    pub fn is_of_name(&self) -> bool {
        matches!(self, Op::MoveFile { .. } | Op::DeleteFile | Op::Undo)
    }

    /// Whether it can do without a tag: it says itself what text it is meant for.
    pub fn needs_no_tag(&self) -> bool {
        matches!(self, Op::ReplaceText { .. })
    }
}

/// Where an op, or a header, was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A line of the patch text, 1-indexed.
    PatchLine(u64),
    /// A file of the structured form, counted from 0 as in JSON.
    File(usize),
    /// `files[file].edits[edit]` of the structured form.
    Edit { file: usize, edit: usize },
}

impl Origin {
    /// For the order of what was written: files and their edits are counted one after the other.
    pub fn order(self) -> (usize, usize) {
        match self {
            Origin::PatchLine(line) => (usize::try_from(line).unwrap_or(usize::MAX), 0),
            Origin::File(file) => (file, 0),
            Origin::Edit { file, edit } => (file, edit + 1),
        }
    }

    /// The line for `data.patchLine`; the structured form has none.
    pub fn patch_line(self) -> Option<u64> {
        match self {
            Origin::PatchLine(line) => Some(line),
            Origin::File(_) | Origin::Edit { .. } => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::PatchLine(line) => write!(out, "patch line {line}"),
            Origin::File(file) => write!(out, "files[{file}]"),
            Origin::Edit { file, edit } => write!(out, "files[{file}].edits[{edit}]"),
        }
    }
}

/// An op and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    pub op: Op,
    pub origin: Origin,
}

/// One header and its hunks, in the order written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The path as the caller means it: without quotes and without what stood around it.
    pub path: String,
    /// Absent only where every op is `replace_text`.
    pub tag: Option<Tag>,
    pub origin: Origin,
    pub hunks: Vec<Hunk>,
    pub warnings: Vec<Warning>,
}

/// What a warning is about; its name on the wire is [`WarningCode::as_str`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningCode {
    /// A replacement without rows, or a colon after `delete`: taken as a deletion.
    DeletesLines,
    /// Rows without `+` were taken literally.
    BareRows,
    /// `N:` prefixes were taken off rows without `+`.
    StrippedPrefixes,
    /// `-` rows were left out.
    DroppedRows,
    /// A blank line inside a body.
    BlankRow,
    /// A row of text that reads like an op or a header.
    LooksLikeOp,
    /// A separator without a second number.
    DanglingRange,
    /// One range was replaced twice; the last one holds.
    ReplacedTwice,
    /// `insert after block` on a closing line.
    NotABlock,
    /// A row repeats the line just outside.
    Echo,
    /// A text of no characters was taken as one blank line.
    EmptyText,
}

impl WarningCode {
    pub fn as_str(self) -> &'static str {
        match self {
            WarningCode::DeletesLines => "deletesLines",
            WarningCode::BareRows => "bareRows",
            WarningCode::StrippedPrefixes => "strippedPrefixes",
            WarningCode::DroppedRows => "droppedRows",
            WarningCode::BlankRow => "blankRow",
            WarningCode::LooksLikeOp => "looksLikeOp",
            WarningCode::DanglingRange => "danglingRange",
            WarningCode::ReplacedTwice => "replacedTwice",
            WarningCode::NotABlock => "notABlock",
            WarningCode::Echo => "echo",
            WarningCode::EmptyText => "emptyText",
        }
    }
}

/// Something that was accepted and should be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub code: WarningCode,
    /// One or two sentences; it names the patch line.
    pub message: String,
}

impl Warning {
    pub fn new(code: WarningCode, message: String) -> Warning {
        Warning { code, message }
    }
}

/// All sections of one document as one set of hunks against one original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// As the first section names it.
    pub path: String,
    pub tag: Option<Tag>,
    pub hunks: Vec<Hunk>,
    pub warnings: Vec<Warning>,
}

/// Why sections of one document cannot be one batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{path}' is named with two tags, #{} ({}) and #{} ({}): one request edits one version of a file. Number all its edits by one of them, or send two requests.",
    first.0, first.1, second.0, second.1
)]
pub struct TwoTags {
    pub path: String,
    pub first: (Tag, Origin),
    pub second: (Tag, Origin),
}

impl Batch {
    /// Joins sections that the caller knows to be of one document, in the order written. `None` for
    /// no sections.
    pub fn join(sections: impl IntoIterator<Item = Section>) -> Result<Option<Batch>, TwoTags> {
        let mut joined: Option<Batch> = None;
        let mut tagged: Option<(Tag, Origin)> = None;
        for section in sections {
            if let Some(tag) = section.tag {
                let second = (tag, section.origin);
                match tagged {
                    Some(first) if first.0 != tag => {
                        return Err(TwoTags {
                            path: section.path,
                            first,
                            second,
                        });
                    }
                    _ => tagged = Some(second),
                }
            }
            let batch = joined.get_or_insert_with(|| Batch {
                path: section.path.clone(),
                tag: None,
                hunks: Vec::new(),
                warnings: Vec::new(),
            });
            batch.tag = tagged.map(|(tag, _)| tag);
            batch.hunks.extend(section.hunks);
            batch.warnings.extend(section.warnings);
        }
        Ok(joined)
    }
}
