//! Why a request was refused, and the one mapping from that to kind, code and `data`; a refusal is never a `bool`.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode};

use super::edit_refusal::EditRefusal;

/// Longest path, in bytes, that is repeated whole: what any system takes for one.
const MAX_REPEATED: usize = 4096;

/// Characters that are repeated of a longer one.
const KEPT: usize = 200;

/// A path as refusals, results and the log repeat it: one that is longer than any path can be is
/// cut, as an excerpt of a patch is, and its length is told.
pub fn shortened(path: &str) -> Cow<'_, str> {
    if path.len() <= MAX_REPEATED {
        return Cow::Borrowed(path);
    }
    let kept = path
        .char_indices()
        .nth(KEPT)
        .map_or(path, |(end, _)| &path[..end]);
    Cow::Owned(format!("{kept}… ({} bytes)", path.len()))
}

/// The rule that denied a path: where it is written and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// A pattern of the setting `access.deny`.
    Setting { pattern: String },
    /// A line of an ignore file; `file` is relative to its root.
    IgnoreFile { file: String, pattern: String },
    /// An ignore file that cannot be read denies everything below it.
    UnreadableIgnoreFile { file: String },
    /// Of a folder that no link may lead out of.
    LinkOut,
}

impl std::fmt::Display for Rule {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rule::Setting { pattern } => {
                write!(out, "the pattern '{pattern}' of the setting access.deny")
            }
            Rule::IgnoreFile { file, pattern } => write!(out, "the rule '{pattern}' in {file}"),
            Rule::UnreadableIgnoreFile { file } => {
                write!(out, "{file}, which cannot be read")
            }
            Rule::LinkOut => out.write_str("the rule that no link leads out of its folder"),
        }
    }
}

/// Everything that `agent/*` can refuse. `path` is always the path as the caller wrote it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("File not found: {path}.{}", did_you_mean(suggestions))]
    NotFound {
        path: String,
        suggestions: Vec<String>,
    },
    #[error(
        "File not found: {path}.{} An edit changes what is there; to make a new file, write it.",
        did_you_mean(suggestions)
    )]
    NothingToEdit {
        path: String,
        suggestions: Vec<String>,
    },
    /// The file is there; what is asked for within it is not. `message` says so in its words.
    #[error("{message}{}", did_you_mean(suggestions))]
    NoSuchPart {
        path: String,
        message: String,
        suggestions: Vec<String>,
    },
    #[error(
        "'{path}' is outside the workspace. Use a path inside the workspace, or ask the user to allow it with access.additionalRoots or access.outsideWorkspace."
    )]
    OutsideWorkspace { path: String, real_path: String },
    #[error(
        "Access to '{path}' is denied by {rule}. Continue without it, or ask the user to change the rule."
    )]
    Denied { path: String, rule: Rule },
    #[error("'{path}' is a binary file ({what}), not text. {instead}")]
    Binary {
        path: String,
        what: String,
        instead: String,
    },
    #[error("'{path}' is a directory.")]
    Directory { path: String },
    /// Only in dialects that define it.
    #[error("{message}")]
    OutOfRange { message: String },
    #[error("'{path}' is {what}, not a regular file, and was not opened.")]
    NotRegular { path: String, what: String },
    #[error("'{path}' is too large: {what}. {instead}")]
    TooLarge {
        path: String,
        what: String,
        instead: String,
    },
    #[error("'{path}' is damaged: {what}. {instead}")]
    Damaged {
        path: String,
        /// What could not be read.
        what: String,
        instead: String,
    },
    #[error("'{path}' is encrypted: {what}.")]
    Encrypted { path: String, what: String },
    #[error("{message}")]
    Unsupported {
        path: Option<String>,
        message: String,
    },
    #[error("{message}")]
    BadSelector {
        path: Option<String>,
        message: String,
    },
    #[error("{message}")]
    BadParams {
        /// The parameter at fault, as a dotted path (`budget.lines`).
        key: String,
        message: String,
    },
    #[error("The encoding of '{path}' is in the way: {message}")]
    Encoding { path: String, message: String },
    #[error("The daemon is busy: {message} Send the request again.")]
    Busy { message: String },
    #[error("{message}")]
    Timeout {
        path: Option<String>,
        message: String,
    },
    #[error("Cannot read '{path}': {message}.")]
    Io { path: String, message: String },
    /// A web address that may not be asked. `message` names it and the rule in full.
    #[error("{message}")]
    NotAsked {
        path: String,
        message: String,
        /// What in the settings, or in the nature of the address, forbids it.
        rule: String,
        /// The setting that would allow it, if one does.
        setting: Option<&'static str>,
    },
    #[error("{message}")]
    Network {
        path: String,
        message: String,
        retryable: bool,
    },
    /// Of a service on the network, which has words of its own for what to do.
    #[error("{}{}", .0.message, did_you_mean(&.0.suggestions))]
    Remote(Box<RemoteRefusal>),
    #[error("Cannot write '{path}': {message}. {state}")]
    Write {
        path: String,
        message: String,
        /// What is written and what is not, as a sentence.
        state: String,
    },
    #[error(transparent)]
    Edit(#[from] Box<EditRefusal>),
    /// The same in the words of a dialect.
    #[error("{text}")]
    Worded { text: String, refusal: Box<Refusal> },
    #[error("The request was cancelled.")]
    Cancelled,
    #[error("Internal error; the daemon goes on. Please report it with the log.")]
    Internal,
}

/// What a service refused, and what to do about it.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteRefusal {
    pub kind: RefusalKind,
    pub path: String,
    /// A sentence or more.
    pub message: String,
    pub suggestions: Vec<String>,
    /// A command that may mend it.
    pub command: Option<String>,
    /// When the service may be asked again.
    pub retry_after_ms: Option<u64>,
    pub retryable: bool,
}

/// The stable name of a refusal on the wire (`data.kind`). Its schema is the list of them all, by
/// which `tests/tidy.rs` judges `protocol.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RefusalKind {
    NotFound,
    OutsideWorkspace,
    Denied,
    Binary,
    NotRegular,
    TooLarge,
    Unsupported,
    BadSelector,
    BadParams,
    OutOfRange,
    PatchSyntax,
    Overlap,
    Stale,
    UnknownTag,
    ExpiredTag,
    NotShown,
    NoMatch,
    NoChange,
    Exists,
    Encoding,
    Damaged,
    Encrypted,
    Busy,
    Timeout,
    Io,
    Network,
    Cancelled,
    Internal,
}

impl Refusal {
    pub fn bad_params(key: impl Into<String>, message: impl Into<String>) -> Refusal {
        Refusal::BadParams {
            key: key.into(),
            message: message.into(),
        }
    }

    /// A file whose bytes were found to be no text.
    pub fn not_text(path: impl Into<String>, what: String) -> Refusal {
        Refusal::Binary {
            path: path.into(),
            what,
            instead: "If it is text after all, name its encoding with the encoding parameter."
                .to_owned(),
        }
    }

    /// The system's own words about `path`, without the code's number.
    pub fn io(path: impl Into<String>, error: &std::io::Error) -> Refusal {
        let text = error.to_string();
        let message = text.split(" (os error").next().unwrap_or(&text).to_owned();
        Refusal::Io {
            path: path.into(),
            message,
        }
    }

    pub fn kind(&self) -> RefusalKind {
        match self {
            Refusal::NotFound { .. }
            | Refusal::NothingToEdit { .. }
            | Refusal::NoSuchPart { .. } => RefusalKind::NotFound,
            Refusal::OutsideWorkspace { .. } => RefusalKind::OutsideWorkspace,
            Refusal::Denied { .. } | Refusal::NotAsked { .. } => RefusalKind::Denied,
            Refusal::Binary { .. } => RefusalKind::Binary,
            Refusal::NotRegular { .. } => RefusalKind::NotRegular,
            Refusal::TooLarge { .. } => RefusalKind::TooLarge,
            Refusal::Damaged { .. } => RefusalKind::Damaged,
            Refusal::Encrypted { .. } => RefusalKind::Encrypted,
            Refusal::Unsupported { .. } | Refusal::Directory { .. } => RefusalKind::Unsupported,
            Refusal::OutOfRange { .. } => RefusalKind::OutOfRange,
            Refusal::Worded { refusal, .. } => refusal.kind(),
            Refusal::BadSelector { .. } => RefusalKind::BadSelector,
            Refusal::BadParams { .. } => RefusalKind::BadParams,
            Refusal::Encoding { .. } => RefusalKind::Encoding,
            Refusal::Busy { .. } => RefusalKind::Busy,
            Refusal::Timeout { .. } => RefusalKind::Timeout,
            Refusal::Io { .. } | Refusal::Write { .. } => RefusalKind::Io,
            Refusal::Network { .. } => RefusalKind::Network,
            Refusal::Remote(refusal) => refusal.kind,
            Refusal::Edit(refusal) => refusal.kind(),
            Refusal::Cancelled => RefusalKind::Cancelled,
            Refusal::Internal => RefusalKind::Internal,
        }
    }

    /// JSON-RPC code, as `protocol.md` assigns them.
    pub fn code(&self) -> i64 {
        match self.kind() {
            RefusalKind::BadSelector | RefusalKind::BadParams | RefusalKind::PatchSyntax => -32602,
            RefusalKind::Cancelled => -32800,
            RefusalKind::Internal => -32603,
            _ => -32803,
        }
    }

    /// Whether the same request may succeed when it is sent again unchanged.
    pub fn retryable(&self) -> bool {
        match self {
            // Of some nobody knows what came of it: sending them again could do it twice.
            Refusal::Edit(refusal) => refusal.retryable(),
            Refusal::Worded { refusal, .. } => refusal.retryable(),
            Refusal::Network { retryable, .. } => *retryable,
            Refusal::Remote(refusal) => refusal.retryable,
            _ => matches!(
                self.kind(),
                RefusalKind::Busy | RefusalKind::Timeout | RefusalKind::Io
            ),
        }
    }

    /// The path that it is about, as the caller wrote it.
    pub fn path(&self) -> Option<&str> {
        match self {
            Refusal::NotFound { path, .. }
            | Refusal::NothingToEdit { path, .. }
            | Refusal::NoSuchPart { path, .. }
            | Refusal::OutsideWorkspace { path, .. }
            | Refusal::Denied { path, .. }
            | Refusal::Binary { path, .. }
            | Refusal::NotRegular { path, .. }
            | Refusal::TooLarge { path, .. }
            | Refusal::Damaged { path, .. }
            | Refusal::Encrypted { path, .. }
            | Refusal::Encoding { path, .. }
            | Refusal::Directory { path }
            | Refusal::Write { path, .. }
            | Refusal::Io { path, .. }
            | Refusal::NotAsked { path, .. }
            | Refusal::Network { path, .. } => Some(path),
            Refusal::Remote(refusal) => Some(&refusal.path),
            Refusal::Edit(refusal) => refusal.path(),
            Refusal::Worded { refusal, .. } => refusal.path(),
            Refusal::Unsupported { path, .. }
            | Refusal::BadSelector { path, .. }
            | Refusal::Timeout { path, .. } => path.as_deref(),
            Refusal::BadParams { .. }
            | Refusal::OutOfRange { .. }
            | Refusal::Busy { .. }
            | Refusal::Cancelled
            | Refusal::Internal => None,
        }
    }

    /// The `data` member of the error: kind, retryable, path, and what the kind adds.
    pub fn data(&self) -> Value {
        if let Refusal::Worded { refusal, .. } = self {
            return refusal.data();
        }
        let mut data = Map::new();
        data.insert("kind".into(), json!(self.kind()));
        data.insert("retryable".into(), json!(self.retryable()));
        if let Some(path) = self.path() {
            data.insert("path".into(), json!(shortened(path)));
        }
        match self {
            Refusal::NotFound { suggestions, .. }
            | Refusal::NothingToEdit { suggestions, .. }
            | Refusal::NoSuchPart { suggestions, .. } => {
                data.insert("suggestions".into(), json!(suggestions));
            }
            Refusal::OutsideWorkspace { real_path, .. } => {
                data.insert("realPath".into(), json!(real_path));
                data.insert("setting".into(), json!("access.outsideWorkspace"));
            }
            Refusal::Denied { rule, .. } => {
                data.insert("rule".into(), json!(rule.to_string()));
            }
            Refusal::NotAsked { rule, setting, .. } => {
                data.insert("rule".into(), json!(rule));
                if let Some(setting) = setting {
                    data.insert("setting".into(), json!(setting));
                }
            }
            Refusal::BadSelector { .. } => {
                data.insert("accepted".into(), json!(SELECTOR_FORMS));
            }
            Refusal::BadParams { key, .. } => {
                data.insert("key".into(), json!(key));
            }
            Refusal::Remote(refusal) => {
                if refusal.kind == RefusalKind::NotFound {
                    data.insert("suggestions".into(), json!(refusal.suggestions));
                }
                if let Some(command) = &refusal.command {
                    data.insert("command".into(), json!(command));
                }
                if let Some(wait) = refusal.retry_after_ms {
                    data.insert("retryAfterMs".into(), json!(wait));
                }
            }
            Refusal::Edit(refusal) => refusal.add_to(&mut data),
            _ => {}
        }
        Value::Object(data)
    }

    /// The wire form inside `agent/readMany` results: `{ code, message, data }`.
    pub fn to_tool_error(&self) -> Value {
        json!({ "code": self.code(), "message": self.to_string(), "data": self.data() })
    }
}

impl From<EditRefusal> for Refusal {
    fn from(refusal: EditRefusal) -> Refusal {
        Refusal::Edit(Box::new(refusal))
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error {
            code: ErrorCode::from(refusal.code()),
            message: refusal.to_string().into(),
            data: Some(refusal.data()),
        }
    }
}

/// The selector forms a caller may use, as `badSelector` lists them.
pub const SELECTOR_FORMS: &[&str] = &[
    ":N",
    ":N-",
    ":A-B",
    ":A+C",
    ":-N",
    ":A-B,C-D",
    ":raw",
    ":A-B:raw",
    ":full",
    ":outline",
    ":conflicts",
    ":outputs",
    ":crop=x,y,w,h",
    ":pN",
    ":pN-M",
    ":table",
];

fn did_you_mean(suggestions: &[String]) -> String {
    match suggestions {
        [] => String::new(),
        [one] => format!(" Did you mean {one}?"),
        [head @ .., last] => format!(" Did you mean {} or {last}?", head.join(", ")),
    }
}
