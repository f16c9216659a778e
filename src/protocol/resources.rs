//! Resources in the shapes of the Model Context Protocol: what `agent/resolve` is answered with, and what servers list.

use serde::Deserialize;
use serde_json::Value;

/// What was answered to a question for a URI.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceAnswer {
    Contents(ResourceContents),
    Listing(ResourceListing),
}

/// What a resource holds.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    pub contents: Vec<ResourcePart>,
    pub title: Option<String>,
    /// How long it may be shown without another question.
    pub ttl_ms: Option<u64>,
    pub trusted: Option<bool>,
}

/// One of several contents of a resource.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "WrittenPart")]
pub struct ResourcePart {
    pub uri: String,
    pub mime_type: Option<String>,
    pub body: PartBody,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartBody {
    Text(String),
    /// Base64.
    Blob(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenPart {
    #[serde(default)]
    uri: String,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
}

impl TryFrom<WrittenPart> for ResourcePart {
    type Error = &'static str;

    fn try_from(written: WrittenPart) -> Result<ResourcePart, &'static str> {
        let body = match (written.text, written.blob) {
            (Some(text), _) => PartBody::Text(text),
            (None, Some(blob)) => PartBody::Blob(blob),
            (None, None) => return Err("neither text nor blob"),
        };
        Ok(ResourcePart {
            uri: written.uri,
            mime_type: written.mime_type,
            body,
        })
    }
}

/// What there is to be read.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct ResourceListing {
    pub resources: Vec<ListedResource>,
    #[serde(default)]
    pub templates: Vec<ListedTemplate>,
    /// There are more than are listed.
    #[serde(skip)]
    pub is_cut: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedResource {
    pub uri: String,
    #[serde(default)]
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
    pub size: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTemplate {
    pub uri_template: String,
    #[serde(default)]
    pub name: String,
    pub description: Option<String>,
}

impl ResourceAnswer {
    /// Bytes that a resource may hold.
    pub const MAX_BYTES: u64 = 16 * 1024 * 1024;

    /// Reads an answer; `None` is `null`: the resource is not the answerer's.
    ///
    /// # Errors
    ///
    /// What is wrong with an answer of another form.
    pub fn read(answer: Value) -> Result<Option<ResourceAnswer>, String> {
        let said = |error: serde_json::Error| error.to_string();
        match answer {
            Value::Null => Ok(None),
            Value::Object(fields) if fields.contains_key("contents") => {
                let contents = ResourceContents::deserialize(Value::Object(fields));
                contents
                    .map(ResourceAnswer::Contents)
                    .map(Some)
                    .map_err(said)
            }
            Value::Object(fields) if fields.contains_key("resources") => {
                let listing = ResourceListing::deserialize(Value::Object(fields));
                listing.map(ResourceAnswer::Listing).map(Some).map_err(said)
            }
            _ => Err("it has neither contents nor resources".to_owned()),
        }
    }

    /// Bytes of what it holds, decoded, as near as matters for a limit.
    pub fn bytes(&self) -> u64 {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let bytes: usize = match self {
            ResourceAnswer::Contents(contents) => {
                let parts = contents.contents.iter().map(|part| match &part.body {
                    PartBody::Text(text) => text.len(),
                    PartBody::Blob(base64) => base64.len() / 4 * 3,
                });
                parts.sum()
            }
            ResourceAnswer::Listing(listing) => {
                let resources = listing.resources.iter().map(|it| {
                    it.uri.len()
                        + it.name.len()
                        + text(&it.title)
                        + text(&it.description)
                        + text(&it.mime_type)
                });
                let templates = listing.templates.iter();
                let templates = templates
                    .map(|it| it.uri_template.len() + it.name.len() + text(&it.description));
                resources.chain(templates).sum()
            }
        };
        bytes as u64
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_read_in_each_form_and_nothing_else() {
        assert_eq!(ResourceAnswer::read(Value::Null), Ok(None));
        let contents = json!({ "contents": [
            { "uri": "a:1", "mimeType": "text/plain", "text": "x", "_meta": {} },
            { "uri": "a:2", "blob": "AAAA" },
        ], "ttlMs": 5, "trusted": true, "more": 1 });
        let Ok(Some(ResourceAnswer::Contents(read))) = ResourceAnswer::read(contents) else {
            panic!("contents");
        };
        assert_eq!(
            (read.ttl_ms, read.trusted, read.contents.len()),
            (Some(5), Some(true), 2)
        );
        assert_eq!(read.contents[1].body, PartBody::Blob("AAAA".to_owned()));
        let answer = ResourceAnswer::Contents(read);
        assert_eq!(answer.bytes(), 4);
        let listing = json!({ "resources": [{ "uri": "a:1", "name": "a" }], "templates": [{ "uriTemplate": "a:{x}", "name": "t" }] });
        let listing = ResourceAnswer::read(listing);
        assert!(
            matches!(listing, Ok(Some(ResourceAnswer::Listing(it))) if it.templates.len() == 1)
        );
        for garbage in [
            json!(7),
            json!("text"),
            json!([]),
            json!({}),
            json!({ "contents": "text" }),
            json!({ "contents": [{ "uri": "a:1" }] }),
            json!({ "contents": [{ "uri": "a:1", "text": 5 }] }),
            json!({ "resources": [{ "name": "a" }] }),
        ] {
            assert!(ResourceAnswer::read(garbage.clone()).is_err(), "{garbage}");
        }
    }
}
