//! What the daemon and a worker for a database say to each other.

use serde::{Deserialize, Serialize};

use crate::view::selector::Piece;
use crate::view::{Budget, Selector};

use super::failure::QueryFailure;

/// What the daemon asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum QueryRequest {
    /// What follows the database's path, in one state of the database.
    Ask(Box<Order>),
    /// The text of the answer that was given last, where it was too long to be given with it.
    Text,
    /// Close the connection: its files may have changed, or others are not to wait for it.
    Close,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The database as SQLite opens it; see [`super::uri`].
    pub uri: String,
    pub way: ConnectMode,
    /// The database is damaged: what of it can be read is to be had.
    pub salvage: bool,
    /// All that is known of the files. The connection of another state is never used again.
    pub state: String,
    /// The database as headers name it, for what continues.
    pub display: String,
    /// What follows its path, as the caller wrote it.
    pub inner: String,
    /// The lines that are asked for, where nothing follows.
    pub selector: Selector,
    pub budget: Budget,
    /// What is left of the time of the request, in milliseconds.
    pub time_ms: u64,
}

/// By what means a database is read, told from what is beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectMode {
    /// A rollback journal is its rule: SQLite's own locks hold while it is read.
    Locked,
    /// Another program has it open with a log and its index: both are read, the index through a
    /// descriptor that cannot write (`readonly_shm`). When nobody has it open after all, SQLite
    /// makes an index of its own in memory.
    Shared,
    /// A log without an index. To be read as SQLite usually does, the index would have to be made
    /// on the disk. A connection that believes to be alone keeps it in memory; that it believes so
    /// takes no lock on the disk (`unix-none`), so the stamps must show that nothing was changed.
    Alone,
    /// Its rule is a log, and there is none: all is in the file. Read as what never changes, which
    /// the stamps must show; else SQLite would make log and index.
    Fixed,
}

/// What a worker answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum QueryResponse {
    /// The text is the body.
    Answer(Answer),
    /// The text has so many bytes and waits to be asked for.
    Long(Answer, u64),
    /// The text that was asked for is the body.
    Text,
    Closed,
    Failed(QueryFailure),
}

/// What is written down of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    #[serde(skip)]
    pub text: String,
    pub notices: Vec<String>,
    pub footers: Vec<String>,
    /// What follows the database's path in the name of what is shown.
    pub name: String,
    /// The lines that are asked for.
    pub selector: Selector,
    pub rows_are: RowsAre,
    /// Lines that are shown where no end is named.
    pub open_lines: Option<u64>,
    /// Rows that are shown, where there are more.
    pub shown: Option<u64>,
}

/// What the lines of an answer are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowsAre {
    Tables,
    #[default]
    Lines,
}

impl RowsAre {
    /// As footers say it.
    pub fn words(self) -> &'static str {
        match self {
            RowsAre::Tables => "tables",
            RowsAre::Lines => "lines",
        }
    }
}

/// Bytes of all that is said around a text.
const MAX_SAID: usize = 1024 * 1024;

impl Answer {
    /// Whether no more is said around the text than fits.
    pub fn is_brief(&self) -> bool {
        let said = self.notices.iter().chain(&self.footers);
        said.map(String::len).sum::<usize>() + self.name.len() <= MAX_SAID
    }

    /// Whether it can be what a worker means that does as it should.
    pub fn makes_sense(&self) -> bool {
        let is_sound = |piece: &Piece| match *piece {
            Piece::From(line) => line > 0,
            Piece::Range(first, last) => 0 < first && first <= last,
            Piece::Tail(_) => true,
        };
        self.is_brief() && self.selector.own.is_none() && self.selector.pieces.iter().all(is_sound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_lines_that_no_text_has_makes_no_sense() {
        let of = |piece| Answer {
            selector: Selector {
                pieces: vec![piece],
                ..Selector::default()
            },
            ..Answer::default()
        };
        assert!(of(Piece::Range(1, 1)).makes_sense());
        assert!(!of(Piece::Range(2, 1)).makes_sense());
        assert!(!of(Piece::Range(0, 1)).makes_sense());
        assert!(!of(Piece::From(0)).makes_sense());
        let long = Answer {
            name: "x".repeat(MAX_SAID + 1),
            ..Answer::default()
        };
        assert!(!long.makes_sense());
    }
}
