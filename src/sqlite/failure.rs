//! Why there is no answer, as a worker says it, and the refusal for it.

use serde::{Deserialize, Serialize};

use crate::protocol::Refusal;
use crate::task::{Stopped, Work};
use crate::view::table::plain;

use super::{LOCK_WAIT, QUERY_TIME};

/// Characters of what a message quotes.
const BRIEF_CHARS: usize = 300;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueryFailure {
    /// SQLite's, in its own words.
    Sqlite {
        trouble: Trouble,
        words: String,
    },
    Refused(Refused),
}

/// What of SQLite's results makes a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trouble {
    /// Bytes of the file are not what they must be.
    Damage,
    /// Another program holds it locked.
    Lock,
    /// Another program is making the log's index anew.
    Recovery,
    /// The log's index cannot be used as it is.
    Index,
    /// Out of time.
    Stop,
    Memory,
    /// A value or a row is too long.
    TooBig,
    /// A change that was cut off is still to be taken back.
    Rollback,
    /// A file could not be opened.
    Open,
    /// Reading failed.
    Io,
    /// The query is at fault.
    Query,
}

/// What is refused before SQLite is asked, or in other words than its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Refused {
    #[error("{0}")]
    BadParams(String),
    #[error("{0}")]
    BadSelector(String),
    #[error("{message}")]
    NoSuchPart {
        message: String,
        suggestions: Vec<String>,
    },
    #[error("{what}")]
    TooLarge { what: String, instead: String },
    #[error("out of time")]
    OutOfTime,
}

impl QueryFailure {
    /// SQLite's result, where it is one.
    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            QueryFailure::Sqlite { trouble, .. } => Some(*trouble),
            QueryFailure::Refused(_) => None,
        }
    }

    /// The refusal for what happened while `spelled` was read. `work` is that of the whole request.
    pub fn refusal(self, spelled: &str, work: &Work) -> Refusal {
        match self {
            QueryFailure::Refused(refused) => refused.refusal(spelled),
            QueryFailure::Sqlite { trouble, words } => {
                trouble.refusal(&words, &brief(spelled), work)
            }
        }
    }
}

impl Trouble {
    /// Whether the log's index could not be used as it is.
    pub fn is_about_index(self) -> bool {
        matches!(self, Trouble::Open | Trouble::Index | Trouble::Recovery)
    }

    /// Whether it may be for a file that came, went or was replaced just then.
    pub fn is_about_files(self) -> bool {
        matches!(
            self,
            Trouble::Open | Trouble::Io | Trouble::Index | Trouble::Rollback
        )
    }

    fn refusal(self, words: &str, spelled: &str, work: &Work) -> Refusal {
        let path = spelled.to_owned();
        match self {
            Trouble::Damage => Refusal::Damaged {
                path,
                what: format!("SQLite says \"{words}\""),
                instead: "Read another table of it, or ask the user for a sound copy.".to_owned(),
            },
            Trouble::Lock | Trouble::Recovery => Refusal::Busy {
                message: format!(
                    "another program holds '{spelled}' locked, and {} s were not enough.",
                    LOCK_WAIT.as_secs()
                ),
            },
            Trouble::Stop => stopped(spelled, work),
            Trouble::Memory => Refusal::TooLarge {
                path,
                what: "the query needs more memory than it is given".to_owned(),
                instead: "Ask for fewer or shorter values, with substr(column, 1, 1000)."
                    .to_owned(),
            },
            Trouble::TooBig => Refusal::TooLarge {
                path,
                what: "a value or a row of more than 32 MiB".to_owned(),
                instead: "Ask for other columns with ?q=SELECT ….".to_owned(),
            },
            Trouble::Rollback => Refusal::Damaged {
                path,
                what: "its last change was cut off, and what was there before is still in its -journal".to_owned(),
                instead: "Open it once with the program it belongs to, which takes the change back."
                    .to_owned(),
            },
            Trouble::Open | Trouble::Io => Refusal::Io {
                path,
                message: words.to_owned(),
            },
            Trouble::Index | Trouble::Query => {
                Refusal::bad_params("path", format!("SQLite says \"{words}\"."))
            }
        }
    }
}

impl Refused {
    fn refusal(self, spelled: &str) -> Refusal {
        let path = spelled.to_owned();
        match self {
            Refused::BadParams(message) => Refusal::bad_params("path", message),
            Refused::BadSelector(message) => Refusal::BadSelector {
                path: Some(path),
                message,
            },
            Refused::NoSuchPart {
                message,
                suggestions,
            } => Refusal::NoSuchPart {
                path,
                message,
                suggestions,
            },
            Refused::TooLarge { what, instead } => Refusal::TooLarge {
                path,
                what,
                instead,
            },
            Refused::OutOfTime => Stopped::TimedOut.into(),
        }
    }
}

/// The refusal where a query was stopped, or its worker was ended for its time.
pub fn stopped(spelled: &str, work: &Work) -> Refusal {
    match work.check() {
        Err(Stopped::Cancelled) => Refusal::Cancelled,
        _ => Refusal::Timeout {
            path: Some(brief(spelled)),
            message: format!(
                "The query was stopped after {} s. Ask for less: a where on a key or an indexed column, or fewer tables at once.",
                QUERY_TIME.as_secs()
            ),
        },
    }
}

/// A text as a message quotes it: in one line, and not all of a long one.
pub fn brief(text: &str) -> String {
    match plain(text, BRIEF_CHARS) {
        (text, true) => text,
        (text, false) => text + "…",
    }
}
