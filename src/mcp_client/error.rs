//! Why an MCP server gave nothing, and the refusal that this is for whoever reads.

use crate::protocol::{Refusal, ResourceAnswer};

/// Characters that are passed on of other people's words.
const MAX_SAID: usize = 300;

#[derive(Debug, Clone, PartialEq)]
pub enum McpError {
    /// It ended too often: so many seconds are left until it is started again.
    Failing {
        seconds: u64,
    },
    /// It could not be started, or did not speak the protocol.
    NotStarted(String),
    /// It did not answer within so many milliseconds.
    Timeout {
        millis: u64,
    },
    /// It ended before it answered.
    Ended,
    /// It has no resource of that URI.
    NoSuchResource(String),
    /// It answered with an error.
    Refused(String),
    /// It wants to ask its user something first.
    WantsInput,
    TooLarge,
    /// It answered something else than was asked for.
    Misunderstood,
}

impl McpError {
    /// What it means for a read of `path` at the server of that name.
    pub fn into_refusal(self, server: &str, path: &str) -> Refusal {
        let path = path.to_owned();
        let io = |message: String| Refusal::Io {
            path: path.clone(),
            message,
        };
        match self {
            McpError::Failing { seconds } => io(format!(
                "the MCP server '{server}' ended three times within a minute and is left alone for {seconds} s; its last words are in the status"
            )),
            McpError::NotStarted(why) => {
                io(format!("the MCP server '{server}' does not start: {why}"))
            }
            McpError::Timeout { millis } => Refusal::Timeout {
                message: format!(
                    "The MCP server '{server}' did not answer within {millis} ms (mcp.timeoutMs)."
                ),
                path: Some(path),
            },
            McpError::Ended => io(format!(
                "the MCP server '{server}' ended before it answered; the next read starts it again"
            )),
            McpError::NoSuchResource(said) => Refusal::NoSuchPart {
                message: format!("File not found: {path}. The MCP server '{server}' says: {said}"),
                path,
                suggestions: Vec::new(),
            },
            McpError::Refused(said) => io(format!("the MCP server '{server}' says: {said}")),
            McpError::WantsInput => Refusal::Unsupported {
                message: format!(
                    "The MCP server '{server}' wants to ask its user something before it gives '{path}', which is not supported here."
                ),
                path: Some(path),
            },
            McpError::TooLarge => Refusal::TooLarge {
                what: format!(
                    "the MCP server '{server}' sent more than the {} MiB of a resource",
                    ResourceAnswer::MAX_BYTES / 1024 / 1024
                ),
                path,
                instead: "Read a smaller resource of it.".to_owned(),
            },
            McpError::Misunderstood => io(format!(
                "the MCP server '{server}' answered something else than a resource"
            )),
        }
    }

    /// As a listing says it beside the server's name.
    pub fn in_short(&self) -> String {
        match self {
            McpError::Failing { .. } => "ended three times within a minute".to_owned(),
            McpError::NotStarted(why) => format!("does not start: {why}"),
            McpError::Timeout { .. } => "does not answer".to_owned(),
            McpError::Ended => "ended".to_owned(),
            McpError::NoSuchResource(said) | McpError::Refused(said) => format!("says: {said}"),
            McpError::WantsInput => "wants to ask its user something".to_owned(),
            McpError::TooLarge => "lists too much".to_owned(),
            McpError::Misunderstood => "answers something else".to_owned(),
        }
    }
}

/// Other people's words as one line: 300 characters at most, without any that cannot be seen.
pub fn said(text: &str) -> String {
    crate::text::one_line(text, MAX_SAID)
}
