//! The dialects of the seeds, over the wire: what a model that was taught one of those tools gets; one file for each of them.

mod documents;
mod images;
mod laws;
mod llm_gateway;
mod opencode;
mod pikuri;
mod roo;
mod schemas;

use serde_json::{Value, json};

use crate::client::{Daemon, WireError};

/// All of them.
pub const DIALECTS: [&str; 7] = [
    "hashline",
    "numbered",
    "plain",
    "opencode",
    "pikuri",
    "llm-gateway",
    "roo",
];

/// A read in a dialect.
pub fn ask(daemon: &Daemon, dialect: &str, mut params: Value) -> Result<Value, WireError> {
    params["dialect"] = json!(dialect);
    daemon.read_with(params)
}

/// The text of the first block.
pub fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text block")
}

/// The lines of a text that page after page shows, by following `truncation.next`: each page's
/// `details.shown`, put together.
pub fn shown(result: &Value) -> Vec<u64> {
    let spans = result["details"]["shown"].as_array().expect("spans");
    let line = |span: &Value, key: &str| span[key].as_u64().expect("a line");
    let lines = spans
        .iter()
        .flat_map(|span| line(span, "start")..=line(span, "end"));
    lines.collect()
}
