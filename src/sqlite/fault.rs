//! What goes wrong with a database, within the worker; SQLite's own words are kept where a query is at fault.

use rusqlite::ffi;
use rusqlite::{Error, ErrorCode};

use super::ask::AskError;
use super::failure::{QueryFailure, Refused, Trouble, brief};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    #[error(transparent)]
    Sqlite(#[from] Error),
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl From<AskError> for QueryError {
    fn from(error: AskError) -> QueryError {
        QueryError::bad_params(error.to_string())
    }
}

impl QueryError {
    pub fn bad_params(message: String) -> QueryError {
        QueryError::Refused(Refused::BadParams(message))
    }
}

impl From<QueryError> for QueryFailure {
    fn from(fault: QueryError) -> QueryFailure {
        match fault {
            QueryError::Refused(refused) => QueryFailure::Refused(refused),
            QueryError::Sqlite(error) => QueryFailure::Sqlite {
                trouble: trouble(&error),
                words: words(&error),
            },
        }
    }
}

/// The result of SQLite behind an error, where there is one.
fn code(error: &Error) -> Option<ffi::Error> {
    match error {
        Error::SqliteFailure(error, _) | Error::SqlInputError { error, .. } => Some(*error),
        _ => None,
    }
}

fn trouble(error: &Error) -> Trouble {
    if is_damage(error) {
        return Trouble::Damage;
    }
    let Some(result) = code(error) else {
        return Trouble::Query;
    };
    match (result.code, result.extended_code) {
        (_, ffi::SQLITE_BUSY_RECOVERY) => Trouble::Recovery,
        (
            _,
            ffi::SQLITE_READONLY_RECOVERY
            | ffi::SQLITE_READONLY_CANTLOCK
            | ffi::SQLITE_READONLY_CANTINIT,
        ) => Trouble::Index,
        (_, ffi::SQLITE_READONLY_ROLLBACK) => Trouble::Rollback,
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => Trouble::Lock,
        (ErrorCode::OperationInterrupted, _) => Trouble::Stop,
        (ErrorCode::OutOfMemory, _) => Trouble::Memory,
        (ErrorCode::TooBig, _) => Trouble::TooBig,
        (ErrorCode::CannotOpen, _) => Trouble::Open,
        (ErrorCode::SystemIoFailure | ErrorCode::PermissionDenied, _) => Trouble::Io,
        _ => Trouble::Query,
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

/// Whether it was stopped by us for its time.
pub fn is_stop(error: &Error) -> bool {
    trouble(error) == Trouble::Stop
}

/// Whether rows that came before it stand: what fails is only what would have come next.
pub fn ends_rows(error: &Error) -> bool {
    matches!(
        trouble(error),
        Trouble::Damage | Trouble::Stop | Trouble::TooBig
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
