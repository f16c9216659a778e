//! Where a text does not parse.

use tree_sitter::Node;

use crate::hashline::SyntaxErrors;
use crate::syntax::{Parsed, ParsedPiece};

/// Errors that are told apart. Of a text with more nobody can say which are new.
pub(super) const MAX_ERRORS: usize = 1_000;

/// The errors of a text. Scripts of other languages inside of it are not looked at.
pub(super) fn syntax_errors(parsed: &Parsed) -> SyntaxErrors {
    let mut rows = Vec::new();
    // What no piece holds could not be parsed as anything.
    let mut next = 0;
    for piece in &parsed.pieces {
        if piece.lines.start < next {
            // A script, which lies inside of another piece.
            continue;
        }
        if piece.lines.start > next {
            rows.push(next);
        }
        next = piece.lines.end;
        broken_rows(piece, &mut rows);
        if rows.len() > MAX_ERRORS {
            break;
        }
    }
    let is_cut = rows.len() > MAX_ERRORS;
    if !is_cut && next < parsed.source.len_lines() {
        rows.push(next);
    }
    rows.truncate(MAX_ERRORS);
    rows.sort_unstable();
    // What is missing at the end is missing from the last line.
    let total = parsed.source.len_lines() as u64;
    SyntaxErrors {
        lines: rows
            .iter()
            .map(|row| (*row as u64 + 1).min(total))
            .collect(),
        is_cut,
    }
}

/// Adds the rows of the outermost errors in the lines of a piece.
fn broken_rows(piece: &ParsedPiece, rows: &mut Vec<usize>) {
    let root = piece.tree.root_node();
    if root.is_error() {
        // Something was never finished. What else is wrong stands below it, as below any other node.
        rows.push(piece.broken.unwrap_or(piece.lines.start));
    }
    let mut cursor = root.walk();
    // Only what has an error is gone into.
    let mut goes_in = root.has_error();
    while rows.len() <= MAX_ERRORS {
        if goes_in && cursor.goto_first_child() || cursor.goto_next_sibling() {
            let node = cursor.node();
            let is_error = node.is_error() || node.is_missing();
            if is_error && piece.lines.contains(&row_of(node)) {
                rows.push(row_of(node));
            }
            goes_in = !is_error && node.has_error();
        } else if cursor.goto_parent() {
            goes_in = false;
        } else {
            return;
        }
    }
}

fn row_of(node: Node<'_>) -> usize {
    node.start_position().row
}
