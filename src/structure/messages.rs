//! What the daemon and a worker of the kind `syntax` say to each other.
//!
//! The text is the body of the request. Strings of an answer stand one after the other in its body,
//! and the head has their lengths: so no text is ever escaped, and none makes a head too long.

use serde::{Deserialize, Serialize};

use crate::hashline::{BlockAt, NoBlock, SyntaxErrors};
use crate::outline::{Rank, SiblingKind};
use crate::protocol::read::LineSpan;

/// A question about the text in the body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StructureRequest {
    /// The name of the language.
    pub language: String,
    /// Tells one document from another, for the trees that are kept.
    pub document: u64,
    /// The two halves of the hash of the text.
    pub content: [u64; 2],
    pub ask: Ask,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    Outline { min_body_lines: usize, prose: bool },
    Definitions,
    Errors,
    Blocks(Vec<BlockAt>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum StructureResponse {
    /// Of each fold its head and its tail are in the body. Then what may fold further: the lines of
    /// each run, and how many of what they are.
    Folds(Vec<Folded>, Vec<(LineSpan, u64, SiblingKind)>),
    /// Of each definition its signature and its names are in the body.
    Definitions(Vec<Defined>),
    Errors(SyntaxErrors),
    /// As many as were asked for, in that order.
    Blocks(Vec<Result<LineSpan, NoBlock>>),
    /// It took more than its processor time, or a parser of ours panicked.
    NotFinished,
}

/// What is defined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defined {
    pub span: LineSpan,
    pub whole: LineSpan,
    pub rank: Rank,
    /// Bytes.
    pub signature: usize,
    pub names: Vec<usize>,
}

/// A folded range of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folded {
    pub span: LineSpan,
    /// Bytes.
    pub head: usize,
    pub tail: usize,
    pub shows_first: bool,
    pub shows_last: bool,
}
