//! The warning that a payload may repeat the lines around it; the payload itself is never touched.

use std::collections::BTreeSet;

use super::block::{Action, InsertionPoint, PlainHunk};
use super::ops::{Warning, WarningCode};
use crate::text::Text;

/// Warnings for hunks, in live line numbers, whose first or last row repeats a line that stays: the
/// one just outside a range, or the one that rows are put next to.
pub fn echoes(text: &Text, hunks: &[PlainHunk]) -> Vec<Warning> {
    let total = text.len_lines() as u64;
    let gone: BTreeSet<(u64, u64)> = hunks
        .iter()
        .filter_map(|hunk| match &hunk.action {
            Action::Replace { lines, .. } | Action::Move { lines, .. } => {
                Some((lines.start, lines.end))
            }
            Action::Insert { .. } => None,
        })
        .collect();
    let stays = |line: u64| {
        let before = gone.range(..=(line, u64::MAX)).next_back();
        (1..=total).contains(&line) && before.is_none_or(|(_, end)| *end < line)
    };
    let mut warnings = Vec::new();
    for hunk in hunks {
        let (rows, above, below) = match &hunk.action {
            Action::Replace { lines, rows } => {
                (rows, lines.start.checked_sub(1), Some(lines.end + 1))
            }
            Action::Insert { place, rows } => match *place {
                InsertionPoint::Before(line) => (rows, None, Some(line)),
                InsertionPoint::After(line) => (rows, Some(line), None),
                InsertionPoint::Head => (rows, None, Some(1)),
                InsertionPoint::Tail => (rows, Some(total), None),
            },
            Action::Move { .. } => continue,
        };
        let sides = [("first", rows.first(), above), ("last", rows.last(), below)];
        for (which, row, line) in sides {
            if let (Some(row), Some(line)) = (row, line)
                && stays(line)
                && !row.trim().is_empty()
                && text.line((line - 1) as usize).trim_end() == row.trim_end()
            {
                let message = format!(
                    "{}: its {which} row '{row}' repeats line {line}, '{}', which stays: probably an echo. Both are there now.",
                    hunk.origin,
                    text.line((line - 1) as usize)
                );
                warnings.push(Warning::new(WarningCode::Echo, message));
            }
        }
    }
    warnings
}
