//! Unified diffs for people to look at; a diff never decides what is written.

use imara_diff::{Algorithm, Diff};

use super::changed::{Outcome, gaps};
use super::line_map::interned;
use crate::task::{Stopped, Work};
use crate::text::Text;

/// Lines of a diff, the note about those left out included.
pub const MAX_LINES: usize = 200;

/// Unchanged lines around a change.
const CONTEXT: u64 = 3;

/// Lines of a replacement, before and after together, that are looked through for equal ones.
const MAX_REFINED: u64 = 20_000;

/// A replacement by whole lines, counted from 0 in both texts.
#[derive(Clone, Copy)]
struct Edit {
    old: u64,
    removed: u64,
    new: u64,
    added: u64,
}

/// The diff from `old` to what became of it, at most [`MAX_LINES`] lines; empty for equal texts.
///
/// # Errors
///
/// `Stopped` when `work` is cancelled or out of time.
pub fn unified(path: &str, old: &Text, outcome: &Outcome, work: &Work) -> Result<String, Stopped> {
    let new = &outcome.text;
    let edits = edits(old, outcome, work)?;
    if edits.is_empty() {
        return Ok(String::new());
    }
    let mut lines = DiffLines {
        shown: vec![format!("--- a/{path}"), format!("+++ b/{path}")],
        left_out: 0,
    };
    let mut from = 0;
    while from < edits.len() {
        let mut to = from + 1;
        while to < edits.len() {
            let last = edits[to - 1];
            if edits[to].old - (last.old + last.removed) > 2 * CONTEXT {
                break;
            }
            to += 1;
        }
        lines.hunk(&edits[from..to], old, new);
        from = to;
    }
    Ok(lines.finish())
}

/// The least replacements: within what the map calls changed, lines may still be equal.
fn edits(old: &Text, outcome: &Outcome, work: &Work) -> Result<Vec<Edit>, Stopped> {
    let new = &outcome.text;
    let (old_total, new_total) = (old.len_lines() as u64, new.len_lines() as u64);
    let mut edits = Vec::new();
    for (start, removed, added) in gaps(&outcome.map, old_total, new_total) {
        work.check()?;
        let new_start = edits_shift(start, &edits);
        // A last line without an end gets one when something follows it.
        let joined = u64::from(
            removed == 0 && added > 0 && start > old_total && start > 1 && !old.ends_with_newline(),
        );
        let gap = Edit {
            old: start - 1 - joined,
            removed: removed + joined,
            new: new_start - 1 - joined,
            added: added + joined,
        };
        match removed + added <= MAX_REFINED {
            true => refine(gap, old, new, &mut edits),
            false => edits.push(gap),
        }
    }
    Ok(edits)
}

/// Where an old line, which follows these edits, is in the new text.
fn edits_shift(start: u64, edits: &[Edit]) -> u64 {
    match edits.last() {
        Some(last) => start - (last.old + last.removed) + (last.new + last.added),
        None => start,
    }
}

fn refine(gap: Edit, old: &Text, new: &Text, edits: &mut Vec<Edit>) {
    let raw = |text: &Text, from: u64, count: u64| -> Vec<String> {
        (from..from + count)
            .map(|line| text.raw_lines(line as usize, line as usize + 1))
            .collect()
    };
    let (before, after) = (raw(old, gap.old, gap.removed), raw(new, gap.new, gap.added));
    let diff = Diff::compute(Algorithm::Histogram, &interned(&before, &after));
    edits.extend(diff.hunks().map(|hunk| Edit {
        old: gap.old + u64::from(hunk.before.start),
        removed: u64::from(hunk.before.end - hunk.before.start),
        new: gap.new + u64::from(hunk.after.start),
        added: u64::from(hunk.after.end - hunk.after.start),
    }));
}

struct DiffLines {
    shown: Vec<String>,
    left_out: usize,
}

impl DiffLines {
    fn push(&mut self, line: String) {
        match self.shown.len() < MAX_LINES {
            true => self.shown.push(line),
            false => self.left_out += 1,
        }
    }

    fn finish(mut self) -> String {
        if self.left_out > 0 {
            self.shown.truncate(MAX_LINES - 1);
            let note = format!("[{} more lines of this diff]", self.left_out + 1);
            self.shown.push(note);
        }
        let mut text = self.shown.join("\n");
        text.push('\n');
        text
    }

    /// One hunk: edits that share their context.
    fn hunk(&mut self, edits: &[Edit], old: &Text, new: &Text) {
        let (Some(first), Some(last)) = (edits.first(), edits.last()) else {
            return;
        };
        let lead = first.old.min(CONTEXT);
        let old_end = (last.old + last.removed + CONTEXT).min(old.len_lines() as u64);
        let tail = old_end - (last.old + last.removed);
        let (old_from, new_from) = (first.old - lead, first.new - lead);
        let old_count = old_end - old_from;
        let new_count = last.new + last.added + tail - new_from;
        self.push(format!(
            "@@ -{} +{} @@",
            numbers(old_from, old_count),
            numbers(new_from, new_count)
        ));
        let mut at = old_from;
        for edit in edits {
            self.lines(' ', old, at, edit.old);
            self.lines('-', old, edit.old, edit.old + edit.removed);
            self.lines('+', new, edit.new, edit.new + edit.added);
            at = edit.old + edit.removed;
        }
        self.lines(' ', old, at, old_end);
    }

    /// The lines `from..to` with a mark before each.
    fn lines(&mut self, mark: char, text: &Text, from: u64, to: u64) {
        for line in from..to {
            if self.shown.len() >= MAX_LINES {
                self.left_out += (to - line) as usize;
                return;
            }
            self.push(format!("{mark}{}", text.line(line as usize)));
            if line + 1 == text.len_lines() as u64 && !text.ends_with_newline() {
                self.push("\\ No newline at end of file".to_owned());
            }
        }
    }
}

/// First line and count, as hunk headers write them: an empty side names the line before it.
fn numbers(from0: u64, count: u64) -> String {
    match count {
        0 => format!("{from0},0"),
        1 => format!("{}", from0 + 1),
        _ => format!("{},{count}", from0 + 1),
    }
}
