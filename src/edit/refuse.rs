//! What the hashline engine refuses, as refusals on the wire; no message is written twice.

use crate::hashline::apply::EncodingError;
use crate::hashline::ops::TwoTags;
use crate::hashline::patch::header_text;
use crate::hashline::replace_text::NoMatch;
use crate::hashline::{Overlap, PatchError};
use crate::protocol::{EditRefusal, Refusal};

pub fn syntax(error: &PatchError) -> Refusal {
    EditRefusal::PatchSyntax {
        message: sentence(&error.to_string()),
        path: error.path.clone(),
        patch_line: error.origin.patch_line(),
        expected: error.expected(),
        header: error
            .tag
            .and_then(|tag| Some(header_text(error.path.as_ref()?, Some(tag)))),
    }
    .into()
}

pub fn two_tags(error: &TwoTags) -> Refusal {
    EditRefusal::PatchSyntax {
        message: sentence(&error.to_string()),
        path: Some(error.path.clone()),
        patch_line: error.second.1.patch_line(),
        expected: "one tag for each file",
        header: Some(header_text(&error.path, Some(error.first.0))),
    }
    .into()
}

pub fn overlap(error: &Overlap, path: &str) -> Refusal {
    let lines = [error.first, error.second];
    EditRefusal::Overlap {
        message: sentence(&error.to_string()),
        path: path.to_owned(),
        patch_lines: lines
            .iter()
            .filter_map(|origin| origin.patch_line())
            .collect(),
    }
    .into()
}

pub fn no_match(error: &NoMatch, path: &str) -> Refusal {
    EditRefusal::NoMatch {
        message: sentence(&error.to_string()),
        path: path.to_owned(),
        candidates: error.candidates.clone(),
        diverges: error.divergence.as_ref().map(|at| (at.line, at.byte)),
    }
    .into()
}

pub fn encoding(error: &EncodingError, path: &str) -> Refusal {
    Refusal::Encoding {
        path: path.to_owned(),
        message: error.to_string(),
    }
}

/// With a capital at its beginning, unless that is the name of a parameter.
pub fn sentence(message: &str) -> String {
    let first = message.split_whitespace().next().unwrap_or_default();
    if first.contains('[') {
        return message.to_owned();
    }
    let mut chars = message.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
