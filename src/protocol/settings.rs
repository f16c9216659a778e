//! The settings object of `protocol.md` with its defaults; nothing here is ever read from the workspace.

mod github;
mod mcp;

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

pub use github::{Github, GithubCache, GithubHost};
pub use mcp::{Mcp, McpServerSettings};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Settings {
    pub read: Read,
    pub edit: Edit,
    pub access: Access,
    pub images: Images,
    pub web: Web,
    pub internal: Internal,
    pub artifacts: Artifacts,
    pub mcp: Mcp,
    pub github: Github,
    pub memory: Memory,
    pub watch: Watch,
    pub log: Log,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Read {
    pub dialect: String,
    /// Lines of an open-ended read; clamped to 1..=3000.
    pub default_limit: usize,
    pub context_lines: ContextLines,
    /// Characters after which a numbered row is cut.
    pub max_columns: usize,
    pub summarize: Summarize,
    pub roo: Roo,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextLines {
    pub leading: usize,
    pub trailing: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summarize {
    pub enabled: bool,
    pub prose: bool,
    pub min_total_lines: usize,
    pub min_body_lines: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Roo {
    pub max_read_file_line: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Edit {
    /// `false`: no snapshot headers, no edits.
    pub enabled: bool,
    pub require_seen: bool,
}

/// What is outside the roots: refused, readable, or readable and editable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outside {
    Deny,
    Read,
    Allow,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    pub outside_workspace: Outside,
    pub additional_roots: Vec<String>,
    pub deny: Vec<String>,
    pub ignore_files: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Images {
    pub inline: bool,
    /// Pixels of the longer side, and bytes. `None` where nobody set them: then a dialect whose tool
    /// passes images on as they are has its own limit, and the others have these defaults.
    pub max_dimension: Option<u32>,
    pub max_inline_bytes: Option<usize>,
}

impl Images {
    pub const MAX_DIMENSION: u32 = 2000;
    pub const MAX_INLINE_BYTES: usize = 307_200;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Web {
    /// `false`: no web address is resolved or asked.
    pub enabled: bool,
    pub allow_loopback: bool,
    pub allow_private_network: bool,
    /// Patterns of hosts: `docs.rs`, `*.example.com`, `localhost:8443`. Empty: every host.
    pub allow: Vec<String>,
    /// It beats `allow`.
    pub deny: Vec<String>,
    /// Names that may lead to this machine or the private network.
    pub local_names: Vec<String>,
    /// From the request to the text; clamped to [`Web::TIMEOUTS_MS`].
    pub timeout_ms: u64,
    /// Of a body as it is decoded.
    pub max_bytes: u64,
    pub proxy: Proxy,
    /// A file of certificates (PEM) that are trusted beside the system's.
    pub ca_file: Option<String>,
    pub user_agent: Option<String>,
    pub accept_language: String,
    /// Whether site rules apply.
    pub sites: bool,
}

impl Web {
    pub const TIMEOUTS_MS: RangeInclusive<u64> = 1000..=25_000;
}

/// Which proxy is asked for web addresses: a word or a URL.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Proxy {
    /// What the environment names.
    System,
    None,
    Url(Box<Url>),
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Proxy::System => "System",
            Proxy::None => "None",
            // It may hold a password.
            Proxy::Url(_) => "Url(…)",
        })
    }
}

impl TryFrom<String> for Proxy {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Proxy, &'static str> {
        match text.as_str() {
            "system" => Ok(Proxy::System),
            "none" => Ok(Proxy::None),
            // The words would say the URL, which may hold a password.
            text => match Url::parse(text) {
                Ok(url) if url.has_host() => Ok(Proxy::Url(Box::new(url))),
                _ => Err("not system, none or a URL"),
            },
        }
    }
}

impl From<Proxy> for String {
    fn from(proxy: Proxy) -> String {
        match proxy {
            Proxy::System => "system".to_owned(),
            Proxy::None => "none".to_owned(),
            Proxy::Url(url) => url.to_string(),
        }
    }
}

/// What is behind internal addresses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Internal {
    /// `false`: no skill, rule or memory of the workspace.
    pub workspace: bool,
    /// The same of the home directory.
    pub user: bool,
    pub roots: Vec<InternalRoot>,
    /// Where sessions' stores are kept, to be found again by the next daemon.
    pub session_directory: Option<String>,
    /// How long a client may take to answer for an address.
    pub resolve_timeout_ms: u64,
}

/// A folder that the settings name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InternalRoot {
    pub scheme: RootScheme,
    pub name: String,
    /// Absolute, or below `~`.
    pub path: String,
    #[serde(default)]
    pub writable: bool,
}

/// What is in such a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RootScheme {
    Skill,
    Rule,
    Memory,
}

/// Bytes of what sessions put away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifacts {
    /// Of one.
    pub max_bytes: u64,
    /// Of a session, with its scratch files.
    pub session_bytes: u64,
    /// Of all sessions.
    pub total_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    pub budget_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Watch {
    pub max_directories: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Log {
    pub level: String,
    pub directory: Option<String>,
}

impl Default for Read {
    fn default() -> Self {
        Read {
            dialect: "hashline".into(),
            default_limit: 3000,
            context_lines: ContextLines {
                leading: 1,
                trailing: 3,
            },
            max_columns: 2000,
            summarize: Summarize {
                enabled: true,
                prose: true,
                min_total_lines: 100,
                min_body_lines: 4,
            },
            roo: Roo {
                max_read_file_line: 500,
            },
        }
    }
}

impl Default for Edit {
    fn default() -> Self {
        Edit {
            enabled: true,
            require_seen: true,
        }
    }
}

impl Default for Access {
    fn default() -> Self {
        let list = |items: &[&str]| items.iter().map(|item| item.to_string()).collect();
        Access {
            outside_workspace: Outside::Deny,
            additional_roots: Vec::new(),
            deny: list(&[".env", ".env.*", "!.env.example"]),
            ignore_files: list(&[".agentignore", ".rooignore"]),
        }
    }
}

impl Default for Images {
    fn default() -> Self {
        Images {
            inline: true,
            max_dimension: None,
            max_inline_bytes: None,
        }
    }
}

impl Default for Web {
    fn default() -> Self {
        Web {
            enabled: true,
            allow_loopback: true,
            allow_private_network: false,
            allow: Vec::new(),
            deny: Vec::new(),
            local_names: Vec::new(),
            timeout_ms: 20_000,
            max_bytes: 50 * 1024 * 1024,
            proxy: Proxy::System,
            ca_file: None,
            user_agent: None,
            accept_language: "en, *;q=0.5".into(),
            sites: true,
        }
    }
}

impl Default for Internal {
    fn default() -> Self {
        Internal {
            workspace: true,
            user: true,
            roots: Vec::new(),
            session_directory: None,
            resolve_timeout_ms: 10_000,
        }
    }
}

impl Internal {
    /// Leaves out a directory that would be another one for each working directory; says so.
    fn leave_out(&mut self) -> Option<String> {
        let is_place = |named: &str| {
            let below_home = named == "~" || named.starts_with("~/");
            below_home || std::path::Path::new(named).is_absolute()
        };
        let named = self.session_directory.take_if(|named| !is_place(named))?;
        Some(format!(
            "Pilcrow setting 'internal.sessionDirectory' is ignored: '{}' is neither absolute nor below ~/.",
            crate::protocol::shortened(&named)
        ))
    }
}

impl Default for Artifacts {
    fn default() -> Self {
        Artifacts {
            max_bytes: 64 * 1024 * 1024,
            session_bytes: 256 * 1024 * 1024,
            total_bytes: 1024 * 1024 * 1024,
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            budget_bytes: 268_435_456,
        }
    }
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            max_directories: 4096,
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Log {
            level: "info".into(),
            directory: None,
        }
    }
}

impl Settings {
    /// Reads a client's settings object over the defaults. What is unknown or of a wrong type is
    /// left out and described, one sentence each, naming the key.
    pub fn read(given: &Value) -> (Settings, Vec<String>) {
        let defaults = serde_json::to_value(Settings::default())
            .expect("the defaults are plain data and serialize");
        let mut merged = defaults.clone();
        let mut problems = Vec::new();
        match given {
            Value::Null => {}
            Value::Object(_) => merge(
                given,
                &defaults,
                &mut Vec::new(),
                &mut merged,
                &mut problems,
            ),
            other => problems.push(format!(
                "Pilcrow settings must be an object, not {}; the defaults are used.",
                type_name(other)
            )),
        }
        let mut settings: Settings =
            serde_json::from_value(merged).expect("every leaf was tried before it was merged");
        settings.read.default_limit = settings.read.default_limit.clamp(1, 3000);
        settings.read.max_columns = settings.read.max_columns.max(1);
        let timeouts = Web::TIMEOUTS_MS;
        let timeout = settings.web.timeout_ms;
        settings.web.timeout_ms = timeout.clamp(*timeouts.start(), *timeouts.end());
        settings.web.max_bytes = settings.web.max_bytes.max(1);
        let (timeouts, timeout) = (Mcp::TIMEOUTS_MS, settings.mcp.timeout_ms);
        settings.mcp.timeout_ms = timeout.clamp(*timeouts.start(), *timeouts.end());
        problems.extend(settings.mcp.leave_out());
        settings.github.cache.stale_wait_ms = settings
            .github
            .cache
            .stale_wait_ms
            .min(GithubCache::LONGEST_WAIT_MS);
        let (timeouts, timeout) = (Mcp::TIMEOUTS_MS, settings.internal.resolve_timeout_ms);
        settings.internal.resolve_timeout_ms = timeout.clamp(*timeouts.start(), *timeouts.end());
        problems.extend(settings.internal.leave_out());
        (settings, problems)
    }

    /// Sets one dotted key (`access.deny`) to a JSON value, as `--set` of the command line does.
    pub fn set(object: &mut Value, key: &str, value: Value) {
        let mut place = object;
        for part in key.split('.') {
            if !place.is_object() {
                *place = Value::Object(Default::default());
            }
            place = &mut place[part];
        }
        *place = value;
    }
}

/// Merges `given` into `merged` leaf by leaf; a leaf counts only if the whole still deserializes.
fn merge(
    given: &Value,
    defaults: &Value,
    at: &mut Vec<String>,
    merged: &mut Value,
    problems: &mut Vec<String>,
) {
    let (Value::Object(given), Value::Object(known)) = (given, defaults) else {
        return;
    };
    for (key, value) in given {
        at.push(key.clone());
        let name = at.join(".");
        match known.get(key) {
            // A table of what has names of the client's own.
            None if known.is_empty() && !at[..at.len() - 1].is_empty() => {
                let mut trial = merged.clone();
                let place = at
                    .iter()
                    .fold(&mut trial, |place, part| &mut place[part.as_str()]);
                *place = value.clone();
                match serde_json::from_value::<Settings>(trial.clone()) {
                    Ok(_) => *merged = trial,
                    Err(error) => {
                        problems.push(format!("Pilcrow setting '{name}' is ignored: {error}."))
                    }
                }
            }
            None => {
                let nearest = nearest(key, known.keys());
                let hint = nearest.map(|near| format!(" Did you mean '{near}'?"));
                problems.push(format!(
                    "Unknown Pilcrow setting '{name}' is ignored.{}",
                    hint.unwrap_or_default()
                ));
            }
            Some(_) if value.is_null() => {}
            Some(inner @ Value::Object(_)) => {
                if value.is_object() {
                    merge(value, inner, at, merged, problems);
                } else {
                    problems.push(wrong_type(&name, value));
                }
            }
            Some(_) => {
                let mut trial = merged.clone();
                Settings::set(&mut trial, &name, value.clone());
                match serde_json::from_value::<Settings>(trial.clone()) {
                    Ok(_) => *merged = trial,
                    Err(_) => problems.push(wrong_type(&name, value)),
                }
            }
        }
        at.pop();
    }
}

fn wrong_type(name: &str, value: &Value) -> String {
    format!(
        "Pilcrow setting '{name}' cannot be {}; the default is used.",
        type_name(value)
    )
}

/// The JSON type of a value, with its article, for messages.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "this number",
        Value::String(_) => "this string",
        Value::Array(_) => "this list",
        Value::Object(_) => "an object",
    }
}

/// The name nearest to `asked`, if one is near enough to be meant.
pub fn nearest<'a>(asked: &str, names: impl IntoIterator<Item = &'a String>) -> Option<&'a String> {
    let asked = asked.to_lowercase();
    names
        .into_iter()
        .map(|name| (strsim::levenshtein(&asked, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= 2.max(name.len() / 3))
        .min()
        .map(|(_, name)| name)
}
