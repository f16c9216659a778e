//! Why an op that names a block by a line cannot have one.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::protocol::read::LineSpan;

/// Why no block begins at a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoBlock {
    pub reason: NoBlockReason,
    /// The smallest block around the line.
    pub enclosing: Option<LineSpan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoBlockReason {
    Blank,
    /// The line closes a block that began above.
    Closing,
    /// The line is inside a statement or expression that began above.
    Inside,
    OneLine,
    /// The block that begins there holds a syntax error.
    Broken,
    /// Its last line holds more than the block, which an op on whole lines would take along.
    SharesLine,
    /// The line is of a notebook and no marker of a cell.
    InCell,
    /// No grammar for this language.
    NoGrammar,
    /// The parser did not come to an end with this text, or the text is too long for one.
    NotParsed,
    /// There was no parser to be had just then.
    NoParser,
}

impl NoBlockReason {
    /// Where nobody can tell what is around the line either.
    pub fn alone(self) -> NoBlock {
        NoBlock {
            reason: self,
            enclosing: None,
        }
    }
}

impl fmt::Display for NoBlock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.reason {
            NoBlockReason::Blank => "it is blank.",
            NoBlockReason::Closing => "it closes a block that begins above.",
            NoBlockReason::Inside => "it is inside something that begins above.",
            NoBlockReason::OneLine => {
                "what begins there is one line. Use the plain form, with the line number alone."
            }
            NoBlockReason::Broken => "what begins there has a syntax error. Use a range of lines.",
            NoBlockReason::SharesLine => {
                "what begins there ends in the midst of a line. Use a range of lines."
            }
            NoBlockReason::InCell => {
                "in a notebook a block is a cell, named by its marker. Use a range of lines for a part of one."
            }
            NoBlockReason::NoGrammar => "blocks are not known for this file. Use a range of lines.",
            NoBlockReason::NotParsed => {
                "blocks are not known, since the parser did not finish on this text. Use a range of lines."
            }
            NoBlockReason::NoParser => {
                "no parser is free to find its block. Send the edit again, or use a range of lines."
            }
        })?;
        match self.enclosing {
            Some(LineSpan { start, end }) => write!(out, " The block around it is {start}..{end}."),
            None => Ok(()),
        }
    }
}
