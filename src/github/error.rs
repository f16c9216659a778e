//! Why GitHub gave nothing, in words that say what to do next, and what the protocol calls it.

use std::time::Duration;

use crate::protocol::{Refusal, RefusalKind, RemoteRefusal};

/// Why there is no answer. Nothing of it holds a token, or what a server said at length.
#[derive(Debug, Clone, PartialEq)]
pub enum GithubError {
    /// The setting `github.enabled`.
    Off,
    /// No repository is known where a short form needs one; the reason as a sentence.
    NoRepository {
        why: String,
        example: String,
    },
    /// A host that nobody but the caller names.
    UnknownHost {
        host: String,
    },
    /// The login was refused.
    Unauthorized {
        host: String,
    },
    /// An organisation wants the login to be confirmed there.
    SingleSignOn {
        host: String,
        url: String,
    },
    Forbidden {
        host: String,
        said: String,
    },
    /// `what` as a noun phrase: "issue 7", "pull request 9"; empty for the repository itself.
    NotFound {
        repository: String,
        what: String,
        host: String,
        has_login: bool,
        /// What is there instead.
        instead: Option<String>,
    },
    /// No request to the host until then.
    Busy {
        host: String,
        wait: Duration,
    },
    /// No connection, or none that answers in time.
    Network {
        message: String,
        retryable: bool,
    },
    /// An answer that is none.
    Odd {
        host: String,
        message: String,
    },
    /// The setting is at fault.
    Setting {
        message: String,
    },
    /// A query that GitHub does not take.
    Refused {
        host: String,
        said: String,
    },
    TooLarge {
        host: String,
    },
    Cancelled,
}

impl GithubError {
    /// Whether GitHub could not be asked, so that what is kept may stand for it.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            GithubError::Network { .. } | GithubError::Busy { .. } | GithubError::Odd { .. }
        )
    }

    fn message(&self) -> String {
        match self {
            GithubError::Off => {
                "Issues and pull requests are not read: github.enabled is false.".to_owned()
            }
            GithubError::NoRepository { why, example } => {
                format!("No GitHub repository is known here: {why}. Use {example}.")
            }
            GithubError::UnknownHost { host } => format!(
                "{host} is not asked: it is no known GitHub host. Run: {} (or name it in the setting github.hosts).",
                login_command(host)
            ),
            GithubError::Unauthorized { host } => format!(
                "GitHub refused the login for {host}. Run: {} (or set GITHUB_TOKEN for the daemon).",
                login_command(host)
            ),
            GithubError::SingleSignOn { url, .. } => {
                format!("The organisation asks to confirm this login: open {url} in a browser.")
            }
            GithubError::Forbidden { host, said } => {
                format!(
                    "{host} does not allow this with the login that is used{}.",
                    tail(said)
                )
            }
            GithubError::NotFound {
                repository,
                what,
                host,
                has_login,
                ..
            } => {
                let what = match what.as_str() {
                    "" => format!("There is no repository {repository}"),
                    what => format!("{repository} has no {what}"),
                };
                match has_login {
                    true => format!("{what}, or this login may not see it."),
                    false => format!(
                        "{what}, or a login is needed to see it. Run: {} (or set GITHUB_TOKEN for the daemon).",
                        login_command(host)
                    ),
                }
            }
            GithubError::Busy { host, wait } => format!(
                "{host} takes no more requests for {} s.",
                wait.as_secs().max(1)
            ),
            GithubError::Network { message, .. } | GithubError::Setting { message } => {
                message.clone()
            }
            GithubError::Odd { host, message } => format!("{host} {message}."),
            GithubError::Refused { host, said } => {
                format!("{host} does not take this request{}.", tail(said))
            }
            GithubError::TooLarge { host } => format!("What {host} answered is over 32 MiB."),
            GithubError::Cancelled => "The request was cancelled.".to_owned(),
        }
    }

    fn kind(&self) -> RefusalKind {
        match self {
            GithubError::Off => RefusalKind::Unsupported,
            GithubError::NoRepository { .. } | GithubError::NotFound { .. } => {
                RefusalKind::NotFound
            }
            GithubError::UnknownHost { .. }
            | GithubError::Unauthorized { .. }
            | GithubError::SingleSignOn { .. }
            | GithubError::Forbidden { .. } => RefusalKind::Denied,
            GithubError::Busy { .. } => RefusalKind::Busy,
            GithubError::Network { .. } | GithubError::Odd { .. } | GithubError::Setting { .. } => {
                RefusalKind::Network
            }
            GithubError::Refused { .. } => RefusalKind::BadParams,
            GithubError::TooLarge { .. } => RefusalKind::TooLarge,
            GithubError::Cancelled => RefusalKind::Cancelled,
        }
    }

    /// As the protocol says it; `path` is the address as the caller wrote it.
    pub fn into_refusal(self, path: &str) -> Refusal {
        let command = match &self {
            GithubError::Unauthorized { host }
            | GithubError::UnknownHost { host }
            | GithubError::NotFound {
                host,
                has_login: false,
                ..
            } => Some(login_command(host)),
            _ => None,
        };
        let (retryable, retry_after_ms) = match &self {
            GithubError::Busy { wait, .. } => (true, Some(wait.as_millis() as u64)),
            GithubError::Network { retryable, .. } => (*retryable, None),
            GithubError::Odd { .. } => (true, None),
            _ => (false, None),
        };
        let suggestions = match &self {
            GithubError::NotFound { instead, .. } => instead.iter().cloned().collect(),
            _ => Vec::new(),
        };
        Refusal::Remote(Box::new(RemoteRefusal {
            kind: self.kind(),
            path: path.to_owned(),
            message: self.message(),
            suggestions,
            command,
            retry_after_ms,
            retryable,
        }))
    }
}

fn login_command(host: &str) -> String {
    format!("gh auth login --hostname {host}")
}

fn tail(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(": {}", said.trim_end_matches('.')),
    }
}
