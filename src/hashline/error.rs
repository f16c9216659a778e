//! Why a patch cannot be meant; an error never leaves out what to write instead.

use std::fmt;

use super::no_block::NoBlock;
use super::ops::{Op, Origin};
use super::tag::Tag;
use crate::protocol::read::LineSpan;

/// A patch, in text or structure, that cannot be meant: `patchSyntax` on the wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {what}")]
pub struct PatchError {
    pub what: Syntax,
    /// For `data.patchLine`.
    pub origin: Origin,
    /// The path of the section, as written, where it is known.
    pub path: Option<String>,
    /// The tag of the section, where it is known.
    pub tag: Option<Tag>,
}

impl PatchError {
    /// What was expected there, for `data.expected`.
    pub fn expected(&self) -> &'static str {
        self.what.expected()
    }
}

/// Something of which not everything can be meant: what can be, and every fault of the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faulty<T, E> {
    pub sound: T,
    /// At least one, in the order written.
    pub faults: Vec<E>,
}

impl<T, E> Faulty<T, E> {
    /// All of `sound` where there are no faults.
    pub(super) fn unless_sound(sound: T, faults: Vec<E>) -> Result<T, Faulty<T, E>> {
        match faults.is_empty() {
            true => Ok(sound),
            false => Err(Faulty { sound, faults }),
        }
    }

    /// What is sound, and the faults.
    pub fn parts(result: Result<T, Faulty<T, E>>) -> (T, Vec<E>) {
        match result {
            Ok(sound) => (sound, Vec::new()),
            Err(Faulty { sound, faults }) => (sound, faults),
        }
    }
}

impl<T, E: fmt::Display> fmt::Display for Faulty<T, E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.faults.first().map_or(Ok(()), |fault| fault.fmt(out))
    }
}

/// The longest excerpt of a patch in a message, in characters.
const EXCERPT: usize = 60;

/// The start of a patch's line, for messages.
pub(super) fn excerpt(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The last number of a range, as it was written: an insert takes no more.
fn last_number(range: &str) -> &str {
    let numbers = range.rsplit(|c: char| !c.is_ascii_digit());
    let mut numbers = numbers.filter(|number| !number.is_empty());
    numbers.next().unwrap_or(range)
}

/// What to write instead of `delete 1,4`, which elsewhere is a list and elsewhere a range.
fn one_range_each(numbers: &[u64]) -> String {
    let ops: Vec<String> = numbers.iter().map(|n| format!("delete {n}")).collect();
    match (numbers, ops.as_slice()) {
        ([start, end], [first, second]) if start <= end => format!(
            "One range for each op: delete {start}..{end}, or {first} and {second} as two ops."
        ),
        _ => format!(
            "One range for each op: {}, each as an op of its own.",
            ops.join(", ")
        ),
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Syntax {
    #[error("the patch has no sections. Begin with a header ¶PATH#TAG, copied from a read.")]
    Empty,
    #[error(
        "'{found}' stands before any header. Begin with ¶PATH#TAG, copied from a read of the file."
    )]
    BeforeHeader { found: String },
    #[error(
        "the header '{found}' has no tag. Copy the whole header ¶PATH#TAG from a read of the file; head and tail inserts need it too."
    )]
    MissingTag { found: String },
    #[error(
        "'{found}' is not a header. A header is ¶PATH#TAG with exactly four hex digits and nothing after them, copied from a read."
    )]
    BadHeader { found: String },
    #[error("the section of '{path}' has no edits. Put an op such as 'replace 2..3:' under it.")]
    NoHunks { path: String },
    #[error(
        "'{found}' belongs to another patch format. Use line numbers from a read: 'replace 2..3:', 'delete 4', 'insert after 5:', with rows that start with +."
    )]
    ForeignFormat { found: String },
    #[error(
        "'{found}' is a number without a verb. Write 'replace {found}:', 'delete {found}' or 'insert after {}:'.",
        last_number(found)
    )]
    BareNumber { found: String },
    #[error("'{found}' is not an op. {hint}")]
    NotAnOp { found: String, hint: &'static str },
    #[error(
        "the row '{found}' belongs to no op. Put the op that it is the text of, such as 'insert after 2:', above it."
    )]
    OrphanRow { found: String },
    #[error(
        "'{found}' stands under a deletion, which has no rows. Use 'replace' to put text there."
    )]
    RowUnderDelete { found: String },
    #[error(
        "'{found}' stands under '{verb}', which has no rows. Put the op that it is the text of, such as 'insert after 2:', above it."
    )]
    RowUnderOther { found: String, verb: &'static str },
    #[error(
        "'{found}' reads as an op, but the op above it has no rows yet. Begin the row with + if it is text, or give the op above its rows."
    )]
    OpOrRow { found: String },
    #[error(
        "'{verb}' stands alone: it takes the file as a whole. Send the other edits of this file in a request of their own."
    )]
    NotAlone { verb: &'static str },
    #[error("'move file to' comes last: put it below the other edits of this file.")]
    NotLast,
    #[error("'{verb}' has no rows. Put its text below it, each line with a + in front.")]
    NoRows { verb: &'static str },
    #[error(
        "all rows start with -. Removed lines are named by number, not repeated: use 'delete N..M', or 'replace N..M:' with the new lines, each with a + in front."
    )]
    OnlyMinusRows,
    #[error(
        "'{found}' has no + in front, but other rows of this op have. Every line of text needs one; a blank line is + alone."
    )]
    MixedRows { found: String },
    #[error(
        "'{found}' has blanks before its +. Put the + at the very start of each line of text, and the indentation after it."
    )]
    IndentedPlus { found: String },
    #[error(
        "'{found}' may be a removed line or text. Leave removed lines out, and put a + in front of every line of text."
    )]
    PerhapsRemoved { found: String },
    #[error(
        "the range {start}..{end} ends before it begins. The second number is a line, not a count: 3 lines from {start} are {start}..{}. If a block begins there, 'replace block {start}:' takes all of it.",
        start + 2
    )]
    Reversed { start: u64, end: u64 },
    #[error(
        "'{found}' is not an op. Write replace \"old\" with \"new\" on one line, both as JSON strings: \\n for a line end, \\\" for a quote, \\\\ for a backslash; the first is not empty."
    )]
    BadTexts { found: String },
    #[error("{}", one_range_each(numbers))]
    NumberList { numbers: Vec<u64> },
    #[error("{found} is no line number: lines are numbered from 1 up to at most 2147483648.")]
    BadNumber { found: String },
    #[error(
        "line {line} does not exist ({total} lines). Read the file again if you expected more; to add at the end use 'insert tail:'."
    )]
    NoSuchLine { line: u64, total: u64 },
    #[error("no block to take at line {line}: {why}")]
    NoBlock { line: u64, why: NoBlock },
    #[error(
        "a notebook's 'move' takes whole cells with their markers to a place between cells. To move some rows, put them in anew and delete the old ones."
    )]
    NotWholeCells,
    #[error(
        "the first row is no marker of a cell, and the marker goes with the block. Begin the rows with one such as '# %% [code]', or replace a range of lines."
    )]
    NoMarkerRow,
    #[error("a tag is needed for every op but replace_text. Read the file first.")]
    TagNeeded,
    #[error("'{found}' is no tag. A tag is the four hex digits after # in the header of a read.")]
    BadTag { found: String },
}

impl Syntax {
    fn expected(&self) -> &'static str {
        match self {
            Syntax::Empty
            | Syntax::BeforeHeader { .. }
            | Syntax::MissingTag { .. }
            | Syntax::BadHeader { .. } => "¶PATH#TAG",
            Syntax::TagNeeded | Syntax::BadTag { .. } => "four hex digits",
            Syntax::NoHunks { .. }
            | Syntax::ForeignFormat { .. }
            | Syntax::BareNumber { .. }
            | Syntax::NotAnOp { .. }
            | Syntax::BadTexts { .. }
            | Syntax::OrphanRow { .. } => OPS,
            Syntax::RowUnderDelete { .. } | Syntax::RowUnderOther { .. } => "no rows",
            Syntax::NotAlone { .. } => "no other op of the file",
            Syntax::NotLast => "no op of the file below it",
            Syntax::NoRows { .. }
            | Syntax::OnlyMinusRows
            | Syntax::OpOrRow { .. }
            | Syntax::MixedRows { .. }
            | Syntax::IndentedPlus { .. }
            | Syntax::PerhapsRemoved { .. } => "+TEXT",
            Syntax::Reversed { .. } => "N..M with N <= M",
            Syntax::NumberList { .. } => "one range",
            Syntax::BadNumber { .. } | Syntax::NoSuchLine { .. } => "a line that exists",
            Syntax::NotWholeCells => "whole cells",
            Syntax::NoMarkerRow => "a marker such as '# %% [code]'",
            Syntax::NoBlock { .. } => "the first line of a block of several lines",
        }
    }
}

const OPS: &str = "replace N..M: | replace block N: | delete N..M | delete block N | insert before N: | insert after N: | insert after block N: | insert head: | insert tail: | replace \"…\" with \"…\" | replace all \"…\" with \"…\" | move A..B after K | move A..B before K | move file to PATH | delete file | undo";

/// Two edits of one document that meet: `overlap` on the wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.words())]
pub struct Overlap {
    /// The one written first.
    pub first: Origin,
    pub first_lines: LineSpan,
    pub second: Origin,
    pub second_lines: LineSpan,
}

impl Overlap {
    fn words(&self) -> String {
        let (one, other) = (self.first_lines, self.second_lines);
        match self.first == self.second {
            true => format!(
                "{}: lines {}..{} cannot go beside line {}, which is one of them.",
                self.first, one.start, one.end, other.start
            ),
            false => format!(
                "The edits of {} (lines {}..{}) and {} (lines {}..{}) meet. Join them into one, or make their ranges disjoint.",
                self.first, one.start, one.end, self.second, other.start, other.end
            ),
        }
    }
}

/// The verb of an op, as patch text writes it.
pub(super) fn verb(op: &Op) -> &'static str {
    match op {
        Op::Replace { .. } => "replace",
        Op::Delete { .. } => "delete",
        Op::ReplaceBlock { .. } => "replace block",
        Op::DeleteBlock { .. } => "delete block",
        Op::InsertBefore { .. } => "insert before",
        Op::InsertAfter { .. } => "insert after",
        Op::InsertAfterBlock { .. } => "insert after block",
        Op::InsertHead { .. } => "insert head",
        Op::InsertTail { .. } => "insert tail",
        Op::ReplaceText { all: false, .. } => "replace",
        Op::ReplaceText { all: true, .. } => "replace all",
        Op::Move { .. } => "move",
        Op::MoveFile { .. } => "move file to",
        Op::DeleteFile => "delete file",
        Op::Undo => "undo",
    }
}
