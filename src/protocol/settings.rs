//! The settings object of `protocol.md` with its defaults; nothing here is ever read from the workspace.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Settings {
    pub read: Read,
    pub edit: Edit,
    pub access: Access,
    pub images: Images,
    pub web: Web,
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
    pub enabled: bool,
    pub allow_private_network: bool,
    pub allow_loopback: bool,
    pub timeout_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Github {
    pub cache: GithubCache,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GithubCache {
    pub soft_ttl_sec: u64,
    pub hard_ttl_sec: u64,
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
            allow_private_network: false,
            allow_loopback: true,
            timeout_ms: 20_000,
        }
    }
}

impl Default for GithubCache {
    fn default() -> Self {
        GithubCache {
            soft_ttl_sec: 300,
            hard_ttl_sec: 604_800,
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
