//! The functions that a text defines, by their signatures; what has no head of its own is never among them.

use tree_sitter::Node;

use crate::syntax::Source;

use super::candidate::{Candidate, Kind};
use super::{Definition, span};

/// Definitions that are kept of one text.
const MAX_DEFINITIONS: usize = 1000;

/// Lines of a signature, and characters of it that are kept.
const MAX_HEAD_LINES: usize = 20;
const MAX_SIGNATURE: usize = 200;

/// The outermost functions among what could be folded.
pub(super) fn of(folded: &[Candidate<'_>], source: &Source) -> Vec<Definition> {
    let functions = folded.iter().filter(|found| found.kind == Kind::Function);
    let definitions = functions.filter_map(|found| definition(found, source));
    definitions.take(MAX_DEFINITIONS).collect()
}

fn definition(found: &Candidate<'_>, source: &Source) -> Option<Definition> {
    let body = found.node;
    let body_line = source.line_of(body.start_byte());
    let head_line = found
        .node
        .parent()
        .and_then(|whole| head_line(whole, body_line, source));
    let first = head_line.unwrap_or(found.first);
    // The whole of the node where it is its own body (a macro); else what stands before that.
    let end = match head_line {
        Some(_) => body.start_byte(),
        None => source.line_start(found.first) + source.line(found.first).len(),
    };
    let head = source.text().get(source.line_start(first)..end)?;
    let mut signature = String::new();
    for word in head.split_whitespace() {
        if !signature.is_empty() {
            signature.push(' ');
        }
        signature.push_str(word);
    }
    let signature = signature.trim_end_matches(['{', ' ']);
    let cut = signature.char_indices().nth(MAX_SIGNATURE);
    let signature = match cut {
        Some((at, _)) => format!("{}…", &signature[..at]),
        None => signature.to_owned(),
    };
    (!signature.is_empty()).then(|| Definition {
        span: span(first, found.last),
        signature,
    })
}

/// The line, from 0, on which the signature of `whole` begins, below what only annotates it; `None`
/// where it is too far from the body to be one.
fn head_line(whole: Node<'_>, body_line: usize, source: &Source) -> Option<usize> {
    whole.parent()?;
    let first = source.line_of(whole.start_byte());
    if first > body_line || body_line - first > MAX_HEAD_LINES {
        return None;
    }
    let annotates = |line: &usize| {
        let line = source.line(*line).trim_start();
        line.starts_with('@') || line.starts_with("#[") || line.starts_with("[")
    };
    Some(
        (first..body_line)
            .find(|line| !annotates(line))
            .unwrap_or(body_line),
    )
}
