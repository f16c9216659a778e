//! `agent/search` on the wire: its parameters, its result, and the tool that a model is told of.

use std::fmt;
use std::ops::AddAssign;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::read::{ContentBlock, CutLine, Hashline, LineSpan};
use super::tools::Tool;
use super::typed::{self, PathText, Whole};

/// Other parameters are ignored (`protocol.md`, initialize). The comments are what models are told, who are
/// given little room for all tools (`mcp.md`).
#[derive(Debug, JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchParameters {
    /// A regex
    pub pattern: String,
    /// File or folder
    pub path: Option<PathText>,
    /// *.rs or !tests/**
    pub glob: Option<Globs>,
    /// Plain text
    pub literal: Option<bool>,
    /// Any case
    pub ignore_case: Option<bool>,
    /// No model is told of it: `\b` says the same.
    #[schemars(skip)]
    pub word: Option<bool>,
    /// Over lines
    pub multiline: Option<bool>,
    /// Rows around
    pub context: Option<Whole<0>>,
    /// By file
    pub count: Option<bool>,
    /// From the last line
    pub after: Option<String>,
}

/// One glob, or several. Its schema says the first: no provider knows both in one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Globs(pub Vec<String>);

impl JsonSchema for Globs {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Globs".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

impl<'de> Deserialize<'de> for Globs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Globs, D::Error> {
        deserializer.deserialize_any(GlobsVisitor)
    }
}

struct GlobsVisitor;

impl<'de> Visitor<'de> for GlobsVisitor {
    type Value = Globs;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a string or a list of strings")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Globs, E> {
        Ok(Globs(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Globs, A::Error> {
        let mut globs = Vec::new();
        while let Some(glob) = all.next_element()? {
            globs.push(glob);
        }
        Ok(Globs(globs))
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct SearchResult {
    pub content: Vec<ContentBlock>,
    pub details: SearchDetails,
}

/// What the program around the model needs to know of a search.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchDetails {
    /// In this answer. One is a line, or the lines of matches over several lines that touch.
    pub matches: u64,
    /// Nothing is left to be found.
    pub complete: bool,
    /// With which it goes on, where it is not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Files that were looked at.
    pub searched: u64,
    pub files: Vec<FoundFile>,
    pub left_out: LeftOut,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// A file with matches.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundFile {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hashline: Option<Hashline>,
    pub matches: u64,
    /// The lines of the matches; of a count none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LineSpan>,
    /// The lines wholly present in the content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<LineSpan>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut_lines: Vec<CutLine>,
}

/// How much of a tree is not looked at, and why: files, and folders with all that is in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    pub ignored: u64,
    pub hidden: u64,
    pub denied: u64,
    /// Links, devices and the like, mount points of file systems that may hang.
    pub not_followed: u64,
    pub binary: u64,
    pub too_large: u64,
    /// The system refuses them, or they cannot be shown as they are.
    pub not_readable: u64,
}

impl AddAssign for LeftOut {
    fn add_assign(&mut self, other: LeftOut) {
        self.ignored += other.ignored;
        self.hidden += other.hidden;
        self.denied += other.denied;
        self.not_followed += other.not_followed;
        self.binary += other.binary;
        self.too_large += other.too_large;
        self.not_readable += other.not_readable;
    }
}

impl LeftOut {
    /// `12 ignored, 3 hidden`; `None` where nothing is.
    pub fn in_words(&self) -> Option<String> {
        let parts = [
            (self.ignored, "ignored"),
            (self.hidden, "hidden"),
            (self.denied, "denied"),
            (self.not_followed, "links or special"),
            (self.binary, "binary"),
            (self.too_large, "over 32 MiB"),
            (self.not_readable, "not readable"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

const SEARCH: &str = "Searches files for a regex, without ignored and hidden ones. Unsaved changes in the editor are part of what you see. Its rows count as read: edit them at once. The last line says how to go on.";

const SEARCH_WITHOUT_HEADERS: &str = "Searches files for a regex, without ignored and hidden ones. Unsaved changes in the editor are part of what you see. Rows N:TEXT stand under the path of their file. The last line says how to go on.";

/// `agent/search`; `headers` says whether its rows stand under those by which edits name them.
pub fn search(headers: bool) -> Tool {
    Tool {
        name: "search",
        description: match headers {
            true => SEARCH,
            false => SEARCH_WITHOUT_HEADERS,
        }
        .into(),
        input_schema: typed::schema::<SearchParameters>(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_glob_is_a_string_or_several() {
        let globs = |value| {
            serde_json::from_value::<Globs>(value)
                .map(|globs| globs.0)
                .ok()
        };
        assert_eq!(globs(json!("*.rs")), Some(vec!["*.rs".to_owned()]));
        assert_eq!(globs(json!(["a", "b"])).map(|all| all.len()), Some(2));
        assert_eq!(globs(json!(7)), None);
    }

    #[test]
    fn what_is_left_out_is_said_in_one_order() {
        let mut left = LeftOut {
            binary: 2,
            ..LeftOut::default()
        };
        left += LeftOut {
            hidden: 1,
            binary: 1,
            ..LeftOut::default()
        };
        assert_eq!(left.in_words().as_deref(), Some("1 hidden, 3 binary"));
        assert_eq!(LeftOut::default().in_words(), None);
    }
}
