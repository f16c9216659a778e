//! The answer to an edit: the new header, the rows around each change, the warnings; a line that is gone is never given.

use std::fmt::Write;

use crate::protocol::edit::{Block, EditDetails, EditResult, EditedFile, Remapped, Via, Warning};
use crate::protocol::read::{ContentBlock, LineSpan};
use crate::session::Version;
use crate::text::Text;
use crate::view::{LineSet, in_header};

use super::Planned;
use super::plan::Removed;

/// Unchanged rows on each side of a change.
const CONTEXT: u64 = 2;
/// Written rows that are given whole; of more, this many less one from each end.
const WHOLE_RUN: u64 = 5;
const RUN_ENDS: u64 = 2;
/// Rows of one file, and bytes of one answer, after which only the numbers are told.
const MAX_ROWS: usize = 400;
const MAX_BYTES: usize = 50 * 1024;
/// Notes of one kind on one file.
const MAX_NOTES: usize = 20;
/// Characters of a line that a note names.
const EXCERPT: usize = 60;

/// A file as it is after the edit.
#[derive(Debug)]
pub struct Done {
    pub planned: Planned,
    pub outcome: Outcome,
}

/// What came of a plan.
#[derive(Debug)]
pub enum Outcome {
    /// Nothing was to be written.
    NoChange,
    /// Nothing was written because only a trial was asked for.
    Tried,
    Written {
        /// What is really there now.
        now: Version,
        /// In its line numbers.
        changed: Vec<LineSpan>,
        persisted: bool,
    },
}

impl Done {
    fn version(&self) -> &Version {
        match &self.outcome {
            Outcome::NoChange | Outcome::Tried => &self.planned.live.version,
            Outcome::Written { now, .. } => now,
        }
    }

    fn changed(&self) -> &[LineSpan] {
        match &self.outcome {
            Outcome::NoChange => &[],
            Outcome::Tried => &self.planned.outcome.changed,
            Outcome::Written { changed, .. } => changed,
        }
    }
}

/// The answer, and for each file the lines of its version that the answer shows.
pub fn reply(files: &[Done], dry_run: bool, columns: usize) -> (EditResult, Vec<LineSet>) {
    let mut text = String::new();
    let mut shown = Vec::new();
    for (index, file) in files.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        shown.push(write_file(file, columns, &mut text));
    }
    text.pop();
    let result = EditResult {
        content: vec![ContentBlock::Text { text }],
        details: EditDetails {
            dry_run,
            files: files.iter().map(details).collect(),
        },
    };
    (result, shown)
}

fn write_file(file: &Done, columns: usize, out: &mut String) -> LineSet {
    let Planned { live, warnings, .. } = &file.planned;
    let version = file.version();
    let _ = writeln!(out, "¶{}#{}", in_header(&live.name), version.tag);
    write_notes(&file.planned, out);
    let shown = match &file.outcome {
        Outcome::NoChange => {
            out.push_str("[No change: the file already reads so. Nothing was written.]\n");
            LineSet::new()
        }
        Outcome::Tried => {
            out.push_str(file.planned.beside.diff());
            out.push_str("[Dry run: nothing was written.]\n");
            LineSet::new()
        }
        Outcome::Written { changed, .. } => write_rows(&version.text, changed, columns, out),
    };
    for warning in warnings {
        let _ = writeln!(out, "warning: {}", warning.message);
    }
    shown
}

/// What an edit did beyond the lines that it names: where it went, and what went with a block.
fn write_notes(planned: &Planned, out: &mut String) {
    let tag = planned
        .tag_before
        .map_or_else(String::new, |tag| tag.to_string());
    for moved in planned.remapped.iter().take(MAX_NOTES) {
        let LineSpan { start, end } = moved.named;
        let more = end - start;
        let (was, now) = match more {
            0 => (format!("line {start} is"), moved.named_now.to_string()),
            _ => (
                format!("lines {start}-{end} are"),
                format!("{}-{}", moved.named_now, moved.named_now + more),
            ),
        };
        let _ = writeln!(out, "[#{tag} is an older version: {was} now {now}]");
    }
    more_notes(planned.remapped.len(), "lines that moved", out);
    for Removed { lines, first } in planned.removed.iter().take(MAX_NOTES) {
        let LineSpan { start, end } = *lines;
        let count = end - start + 1;
        let first = excerpt(first);
        let _ = writeln!(
            out,
            "[Removed {start}-{end}: {count} lines, from \"{first}\"]"
        );
    }
    more_notes(planned.removed.len(), "blocks that went", out);
}

fn more_notes(count: usize, what: &str, out: &mut String) {
    if count > MAX_NOTES {
        let _ = writeln!(out, "[{} more {what}]", count - MAX_NOTES);
    }
}

/// The start of a line, without its indentation.
fn excerpt(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The rows around changes; blocks that do not touch are set apart by `…`.
fn write_rows(text: &Text, changed: &[LineSpan], columns: usize, out: &mut String) -> LineSet {
    if text.len_lines() == 0 {
        out.push_str("(empty file)\n");
        return LineSet::new();
    }
    let wanted = rows_around(changed, text.len_lines() as u64);
    let mut shown = LineSet::new();
    let (mut rows, mut last) = (0, None);
    for line in wanted.spans().iter().flat_map(|span| span.start..=span.end) {
        if rows == MAX_ROWS || out.len() > MAX_BYTES {
            out.push_str("[Further changes are not shown; read the file to see them.]\n");
            break;
        }
        if last.is_some_and(|last| last + 1 < line) {
            out.push_str("…\n");
        }
        let row = text.line((line - 1) as usize);
        match row.char_indices().nth(columns) {
            Some((cut, _)) => {
                let _ = writeln!(out, "{line}:{}…", &row[..cut]);
            }
            None => {
                let _ = writeln!(out, "{line}:{row}");
                shown.insert(line, line);
            }
        }
        (rows, last) = (rows + 1, Some(line));
    }
    shown
}

fn rows_around(changed: &[LineSpan], total: u64) -> LineSet {
    let mut rows = LineSet::new();
    for span in changed {
        let first = span.start.saturating_sub(CONTEXT).max(1);
        let last = (span.end + CONTEXT).min(total);
        if span.end - span.start < WHOLE_RUN {
            rows.insert(first, last);
        } else {
            rows.insert(first, span.start + RUN_ENDS - 1);
            rows.insert(span.end - RUN_ENDS + 1, last);
        }
    }
    rows
}

fn details(file: &Done) -> EditedFile {
    let planned = &file.planned;
    let live = &planned.live;
    EditedFile {
        path: live.name.clone(),
        resolved_path: live.resolved_path(),
        wrote_to: live.linked_to.clone(),
        tag_before: planned.tag_before.map(|tag| tag.to_string()),
        tag: file.version().tag.to_string(),
        changed: file.changed().to_vec(),
        blocks: planned
            .blocks
            .iter()
            .map(|block| Block {
                line: block.line,
                start: block.lines.start,
                end: block.lines.end,
            })
            .collect(),
        remapped: planned
            .remapped
            .iter()
            .map(|moved| Remapped {
                from: moved.from,
                to: moved.to,
            })
            .collect(),
        via: match live.is_editors() {
            true => Via::Editor,
            false => Via::Disk,
        },
        persisted: match &file.outcome {
            Outcome::Written { persisted, .. } => *persisted,
            Outcome::NoChange | Outcome::Tried => !live.is_editors(),
        },
        warnings: planned.warnings.clone(),
        diff: planned.beside.diff().to_owned(),
    }
}

/// The file is not what was written any more.
pub fn changed_since(name: &str) -> Warning {
    Warning {
        code: "changedSince",
        message: format!(
            "'{name}' was changed right after it was written, perhaps by a formatter; the tag and the rows are those of what is there now."
        ),
    }
}
