//! What a model is shown of an outcome: one text, and pictures behind it.
//!
//! One block of text, since agents join several in ways of their own; no structured content, which
//! some of them show in its place; and never more characters than all known agents pass on whole.

use rmcp::ErrorData;
use rmcp::model::ResultType;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::protocol::edit::EditResult;
use crate::protocol::read::{ContentBlock, ReadResult};
use crate::protocol::search::SearchResult;
use crate::protocol::{EditRefusal, Refusal};
use crate::read::{beside_rows, cut};
use crate::server::ReadResults;

use super::calls::CallOutcome;

/// The result of a call, as the protocol has it. The library's own form knows nothing of long texts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// Only since 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    content: Vec<ContentBlock>,
    pub is_error: bool,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Map<String, Value>>,
}

/// The answer to one call, so far.
#[derive(Debug, Default)]
pub struct ToolAnswer {
    text: String,
    images: Vec<ContentBlock>,
    is_error: bool,
    /// What its program wants to know more than the model.
    details: Option<Value>,
    /// The files that are shown, as headers name them.
    pub shows: Vec<String>,
}

/// What `_meta` of a call says where its program wants to know more than the model, and where that is
/// in the result's.
pub const DETAILS: &str = "pilcrow/details";

impl ToolAnswer {
    /// # Errors
    ///
    /// What is the daemon's own fault: of that no model is told.
    pub fn of(
        outcome: CallOutcome,
        most_chars: u64,
        details: bool,
    ) -> Result<ToolAnswer, ErrorData> {
        match outcome {
            CallOutcome::Read(Ok(result)) => Ok(ToolAnswer::of_read(*result, details)),
            CallOutcome::ReadMany(paths, Ok(results)) => {
                ToolAnswer::of_all(&paths, results, most_chars, details)
            }
            CallOutcome::Search(Ok(result)) => Ok(ToolAnswer::of_search(*result, details)),
            CallOutcome::Edit(Ok(result)) => Ok(ToolAnswer::of_edit(result, details)),
            CallOutcome::Read(Err(refusal))
            | CallOutcome::ReadMany(_, Err(refusal))
            | CallOutcome::Search(Err(refusal))
            | CallOutcome::Edit(Err(refusal)) => ToolAnswer::of_refusal(&refusal, details),
        }
    }

    fn of_read(result: ReadResult, details: bool) -> ToolAnswer {
        let more = &result.details.more;
        let is_line_cut = more.is_raw && more.cut_lines.is_some();
        let shows = more.hashline.iter().map(|header| header.path.clone());
        let mut answer = ToolAnswer {
            is_error: result.is_error.unwrap_or(false),
            details: details.then(|| json!(result.details)),
            shows: shows.collect(),
            ..ToolAnswer::default()
        };
        answer.add(result.content);
        if is_line_cut {
            answer
                .add_line("[More of one line has room after a start with a larger --budget-bytes]");
        }
        answer
    }

    /// One after the other, separated by a blank line; each under a line of its own, where it has no
    /// header.
    fn of_all(
        paths: &[String],
        results: ReadResults,
        most_chars: u64,
        details: bool,
    ) -> Result<ToolAnswer, ErrorData> {
        let count = results.len();
        let mut all = ToolAnswer {
            is_error: true,
            details: details.then(|| json!([])),
            ..ToolAnswer::default()
        };
        for (at, result) in results.into_iter().enumerate() {
            let one = match result {
                Ok(result) => ToolAnswer::of_read(result, details),
                Err(refusal) => {
                    let mut one = ToolAnswer::of_refusal(&refusal, details)?;
                    one.shorten(beside_rows(most_chars, count));
                    one
                }
            };
            if at > 0 {
                all.text.truncate(all.text.trim_end_matches('\n').len());
                all.text.push_str("\n\n");
            }
            if !has_header(&one.text) {
                let path = paths.get(at).map_or("", String::as_str);
                all.text
                    .push_str(&format!("[{} of {count}: {path}]\n", at + 1));
            }
            all.text.push_str(&one.text);
            all.images.extend(one.images);
            all.shows.extend(one.shows);
            all.is_error &= one.is_error;
            if let (Some(Value::Array(all)), Some(one)) = (&mut all.details, one.details) {
                all.push(one);
            }
        }
        Ok(all)
    }

    fn of_search(result: SearchResult, details: bool) -> ToolAnswer {
        let shown = result
            .details
            .files
            .iter()
            .filter(|file| !file.shown.is_empty());
        let mut answer = ToolAnswer {
            shows: shown.map(|file| file.path.clone()).collect(),
            details: details.then(|| json!(result.details)),
            ..ToolAnswer::default()
        };
        answer.add(result.content);
        answer
    }

    fn of_edit(result: EditResult, details: bool) -> ToolAnswer {
        let files = result.details.files.iter();
        let mut answer = ToolAnswer {
            shows: files.map(|file| file.path.clone()).collect(),
            details: details.then(|| json!(result.details)),
            ..ToolAnswer::default()
        };
        answer.add(result.content);
        answer
    }

    /// # Errors
    ///
    /// What is the daemon's own fault.
    fn of_refusal(refusal: &Refusal, details: bool) -> Result<ToolAnswer, ErrorData> {
        if *refusal == Refusal::Internal {
            return Err(ErrorData::internal_error(refusal.to_string(), None));
        }
        let mut text = refusal.to_string();
        if let Refusal::Edit(edit) = refusal
            && let EditRefusal::ReaderPrefixes { cleaned, .. } = edit.as_ref()
        {
            text = format!("{text}\n\nThe cleaned text:\n{cleaned}");
        }
        Ok(ToolAnswer {
            text,
            is_error: true,
            details: details.then(|| refusal.data()),
            ..ToolAnswer::default()
        })
    }

    fn add(&mut self, content: Vec<ContentBlock>) {
        for block in content {
            match block {
                ContentBlock::Text { text } if self.text.is_empty() => self.text = text,
                ContentBlock::Text { text } => self.add_line(&text),
                image @ ContentBlock::Image { .. } => self.images.push(image),
                // Documents are asked for as text.
                ContentBlock::Resource { resource } => {
                    self.add_line(&format!("[file: {}]", resource.mime_type));
                }
            }
        }
    }

    fn add_line(&mut self, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') && !text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    /// Cuts what is longer. The engine keeps to what it was told; this is for what it does not know.
    fn shorten(&mut self, most_chars: u64) {
        let text = std::mem::take(&mut self.text);
        let mut content = [ContentBlock::Text { text }];
        cut(&mut content, most_chars);
        let [ContentBlock::Text { text }] = content else {
            return;
        };
        self.text = text;
    }

    /// As the protocol has it, with what else is told to the session.
    pub fn result(mut self, told: &[String], most_chars: u64) -> ToolResult {
        let told_chars: usize = told.iter().map(|line| line.chars().count() + 1).sum();
        self.shorten(most_chars.saturating_sub(told_chars as u64 + 1));
        if !told.is_empty() {
            let end = self.text.trim_end_matches('\n').len();
            self.text.truncate(end);
            self.text.push_str("\n\n");
            self.text.push_str(&told.join("\n"));
        }
        let mut content = vec![ContentBlock::Text { text: self.text }];
        content.append(&mut self.images);
        let details = self.details.map(|details| (DETAILS.to_owned(), details));
        ToolResult {
            result_type: None,
            content,
            is_error: self.is_error,
            meta: details.map(|details| Map::from_iter([details])),
        }
    }
}

/// Whether a text says itself what it is of.
fn has_header(text: &str) -> bool {
    let first = text.lines().find(|line| !line.starts_with('['));
    let headers = ["¶", "<path>", "<file ", "URL: "];
    first.is_some_and(|line| headers.iter().any(|header| line.starts_with(header)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_found(path: &str) -> Refusal {
        Refusal::NotFound {
            path: path.to_owned(),
            suggestions: Vec::new(),
        }
    }

    fn as_sent(result: &ToolResult) -> Value {
        let json = crate::protocol::to_json(result).expect("JSON");
        serde_json::from_slice(&json).expect("JSON")
    }

    #[test]
    fn each_error_stands_in_its_place() {
        let paths = ["a".to_owned(), "b".to_owned()];
        let results = vec![Err(not_found("a")), Err(not_found("b"))];
        let answer = ToolAnswer::of_all(&paths, results, 38_000, true).expect("an answer");
        let result = answer.result(&["[told]".to_owned()], 38_000);
        let result = as_sent(&result);
        assert_eq!(
            result["content"][0]["text"],
            "[1 of 2: a]\nFile not found: a.\n\n[2 of 2: b]\nFile not found: b.\n\n[told]"
        );
        assert_eq!(result["isError"], true);
        assert_eq!(result["_meta"][DETAILS][1]["kind"], "notFound");
        assert!(result.get("structuredContent").is_none());
    }

    #[test]
    fn a_fault_of_our_own_is_told_to_no_model() {
        assert!(ToolAnswer::of_refusal(&Refusal::Internal, false).is_err());
    }

    #[test]
    fn no_text_is_too_long() {
        let path = "x\n".repeat(30_000);
        let refusal = Refusal::Binary {
            path,
            what: String::new(),
            instead: String::new(),
        };
        let answer = ToolAnswer::of_refusal(&refusal, false);
        let result = answer
            .expect("an answer")
            .result(&["[told]".to_owned()], 9_000);
        let result = as_sent(&result);
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(text.chars().count() <= 9_000 && text.ends_with("\n\n[told]"));
    }
}
