//! What goes wrong with a database, as refusals; SQLite's own words are kept where a query is at fault.

use rusqlite::ffi;
use rusqlite::{Error, ErrorCode};

use crate::protocol::Refusal;
use crate::task::{Stopped, Work};
use crate::view::table::plain;

use super::ask::AskError;
use super::connection::LOCK_WAIT;

/// Characters of what a message quotes.
const BRIEF_CHARS: usize = 300;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error(transparent)]
    Sqlite(#[from] Error),
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It takes more memory than one of several may have.
    #[error("it is too large to be read beside others")]
    Large,
}

impl From<AskError> for Fault {
    fn from(error: AskError) -> Fault {
        Fault::Refused(Refusal::bad_params("path", error.to_string()))
    }
}

impl Fault {
    /// As SQLite says it where it was interrupted.
    pub fn stopped() -> Fault {
        let interrupted = ffi::Error::new(ffi::SQLITE_INTERRUPT);
        Fault::Sqlite(Error::SqliteFailure(interrupted, None))
    }

    pub fn bad_params(message: String) -> Fault {
        Fault::Refused(Refusal::bad_params("path", message))
    }
}

/// The result of SQLite behind an error, where there is one.
fn code(error: &Error) -> Option<ffi::Error> {
    match error {
        Error::SqliteFailure(error, _) | Error::SqlInputError { error, .. } => Some(*error),
        _ => None,
    }
}

/// Whether bytes of the file are not what they must be.
pub fn is_damage(error: &Error) -> bool {
    let Some(error) = code(error) else {
        return false;
    };
    matches!(
        error.code,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase
    ) || matches!(
        error.extended_code,
        ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS
    )
}

/// Whether there was not enough memory for it.
pub fn is_memory(error: &Error) -> bool {
    code(error).is_some_and(|error| error.code == ErrorCode::OutOfMemory)
}

/// Whether it was stopped by us: out of time, or cancelled.
pub fn is_stop(error: &Error) -> bool {
    code(error).is_some_and(|error| error.code == ErrorCode::OperationInterrupted)
}

/// Whether rows that came before it stand: what fails is only what would have come next.
pub fn ends_rows(error: &Error) -> bool {
    let too_big = code(error).is_some_and(|error| error.code == ErrorCode::TooBig);
    is_damage(error) || is_stop(error) || too_big
}

/// Whether the log's index could not be used as it is.
pub fn is_about_index(error: &Error) -> bool {
    let Some(error) = code(error) else {
        return false;
    };
    matches!(error.code, ErrorCode::CannotOpen)
        || matches!(
            error.extended_code,
            ffi::SQLITE_READONLY_RECOVERY
                | ffi::SQLITE_READONLY_CANTLOCK
                | ffi::SQLITE_READONLY_CANTINIT
                | ffi::SQLITE_BUSY_RECOVERY
        )
}

/// SQLite's own words, in one line; it repeats names of any length.
pub fn words(error: &Error) -> String {
    match error {
        Error::SqliteFailure(error, message) => match message {
            Some(message) => brief(message),
            None => ffi::code_to_str(error.extended_code).to_owned(),
        },
        Error::SqlInputError { msg, .. } => brief(msg),
        other => brief(&other.to_string()),
    }
}

/// A text as a message quotes it: in one line, and not all of a long one.
pub fn brief(text: &str) -> String {
    match plain(text, BRIEF_CHARS) {
        (text, true) => text,
        (text, false) => text + "…",
    }
}

/// The refusal for what happened while `spelled` was read. `work` is that of the whole request.
pub fn refusal(fault: Fault, spelled: &str, work: &Work) -> Refusal {
    let error = match fault {
        Fault::Refused(refusal) => return refusal,
        Fault::Sqlite(error) => error,
        // Only who reads beside others says so, and is then asked alone.
        Fault::Large => {
            let no_memory = ffi::Error::new(ffi::SQLITE_NOMEM);
            Error::SqliteFailure(no_memory, None)
        }
    };
    let spelled = &*brief(spelled);
    if is_damage(&error) {
        return Refusal::Damaged {
            path: spelled.to_owned(),
            what: format!("SQLite says \"{}\"", words(&error)),
            instead: "Read another table of it, or ask the user for a sound copy.".to_owned(),
        };
    }
    let Some(result) = code(&error) else {
        return Refusal::bad_params("path", format!("{}.", sentence(&words(&error))));
    };
    match result.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Refusal::Busy {
            message: format!(
                "another program holds '{spelled}' locked, and {} s were not enough.",
                LOCK_WAIT.as_secs()
            ),
        },
        ErrorCode::OperationInterrupted => match work.check() {
            Err(Stopped::Cancelled) => Refusal::Cancelled,
            _ => Refusal::Timeout {
                path: Some(spelled.to_owned()),
                message: format!(
                    "The query was stopped after {} s. Ask for less: a where on a key or an indexed column, or fewer tables at once.",
                    super::QUERY_TIME.as_secs()
                ),
            },
        },
        ErrorCode::OutOfMemory => Refusal::TooLarge {
            path: spelled.to_owned(),
            what: "the query needs more memory than it is given".to_owned(),
            instead: "Ask for fewer or shorter values, with substr(column, 1, 1000).".to_owned(),
        },
        ErrorCode::TooBig => Refusal::TooLarge {
            path: spelled.to_owned(),
            what: "a value or a row of more than 32 MiB".to_owned(),
            instead: "Ask for other columns with ?q=SELECT ….".to_owned(),
        },
        ErrorCode::ReadOnly if result.extended_code == ffi::SQLITE_READONLY_ROLLBACK => {
            Refusal::Damaged {
                path: spelled.to_owned(),
                what: "its last change was cut off, and what was there before is still in its -journal".to_owned(),
                instead: "Open it once with the program it belongs to, which takes the change back."
                    .to_owned(),
            }
        }
        ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::PermissionDenied => {
            Refusal::Io {
                path: spelled.to_owned(),
                message: words(&error),
            }
        }
        _ => Refusal::bad_params("path", format!("{}.", sentence(&words(&error)))),
    }
}

/// Words as the beginning of a sentence of ours.
fn sentence(words: &str) -> String {
    format!("SQLite says \"{words}\"")
}
