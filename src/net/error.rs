//! Why a fetch gave nothing, and what the protocol calls it.

use std::time::Duration;

use crate::protocol::Refusal;

use super::judge::Denied;

/// `url` is as errors repeat it: without credentials.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NetError {
    #[error(transparent)]
    Denied(Denied),
    /// No address, no connection, no TLS, no HTTP, or a body that broke off. `message` has no full stop.
    #[error("'{url}' cannot be fetched: {message}.")]
    Network {
        url: String,
        message: String,
        /// Whether a second try can help.
        retryable: bool,
    },
    #[error("'{url}' took too long: {}.", phase.words())]
    Timeout { url: String, phase: Phase },
    #[error("{message}")]
    Busy { message: &'static str },
    /// What is no text is fetched whole or not at all.
    #[error("'{url}' is too large: it has {}; web.maxBytes is {limit} bytes.", size_words(*of))]
    TooLarge {
        url: String,
        /// What the server said of its length.
        of: Option<u64>,
        limit: u64,
    },
    /// A setting that cannot be heeded, or what the environment says in its place.
    #[error("{message}")]
    Setting { message: String },
    /// The body cannot be kept in a file.
    #[error("a fetched body cannot be kept: {message}")]
    Spool { message: String },
    #[error("the fetch was cancelled")]
    Cancelled,
    #[error("a fault of the client's own")]
    Internal,
}

/// What was waited for when the time was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Resolving(Duration),
    Connecting(Duration),
    FirstByte(Duration),
    Between(Duration),
    /// The deadline of the whole.
    Whole(Duration),
}

impl Phase {
    fn words(self) -> String {
        let seconds = |limit: Duration| limit.as_millis() as f64 / 1000.0;
        match self {
            Phase::Resolving(limit) => {
                format!("no address of the name came within {} s", seconds(limit))
            }
            Phase::Connecting(limit) => format!("no connection within {} s", seconds(limit)),
            Phase::FirstByte(limit) => {
                format!("no answer within {} s of the connection", seconds(limit))
            }
            Phase::Between(limit) => {
                format!("nothing more came for {} s", seconds(limit))
            }
            Phase::Whole(limit) => format!(
                "it was not there after {} s (web.timeoutMs allows up to 25 s)",
                ((limit.as_millis() + 50) / 100) as f64 / 10.0
            ),
        }
    }
}

fn size_words(of: Option<u64>) -> String {
    match of {
        Some(of) => format!("{of} bytes"),
        None => "more bytes than that".to_owned(),
    }
}

impl NetError {
    /// Whether the same fetch may succeed when it is tried again.
    pub fn retryable(&self) -> bool {
        match self {
            NetError::Network { retryable, .. } => *retryable,
            NetError::Timeout { .. } | NetError::Busy { .. } | NetError::Spool { .. } => true,
            _ => false,
        }
    }

    /// For the log, which has no words of others.
    pub(super) fn name(&self) -> &'static str {
        match self {
            NetError::Denied(_) => "denied",
            NetError::Network { .. } => "network",
            NetError::Timeout { .. } => "timeout",
            NetError::Busy { .. } => "busy",
            NetError::TooLarge { .. } => "too large",
            NetError::Setting { .. } => "setting",
            NetError::Spool { .. } => "spool",
            NetError::Cancelled => "cancelled",
            NetError::Internal => "internal",
        }
    }

    /// As the protocol says it; `path` is the address as the caller wrote it.
    pub fn into_refusal(self, path: &str) -> Refusal {
        let path = path.to_owned();
        let message = self.to_string();
        match self {
            NetError::Denied(denied) => Refusal::NotAsked {
                path,
                message,
                rule: denied.rule(),
                setting: denied.setting(),
            },
            NetError::Network { retryable, .. } => Refusal::Network {
                path,
                message,
                retryable,
            },
            NetError::Setting { .. } => Refusal::Network {
                path,
                message,
                retryable: false,
            },
            NetError::Timeout { .. } => Refusal::Timeout {
                path: Some(path),
                message,
            },
            NetError::Busy { message } => Refusal::Busy {
                message: message.to_owned(),
            },
            NetError::TooLarge { of, limit, .. } => Refusal::TooLarge {
                path,
                what: size_words(of),
                instead: format!("The setting web.maxBytes allows {limit} bytes."),
            },
            NetError::Spool { message } => Refusal::Io { path, message },
            NetError::Cancelled => Refusal::Cancelled,
            NetError::Internal => Refusal::Internal,
        }
    }
}
