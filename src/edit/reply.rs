//! The answer to an edit: the new header, the rows around each change, the warnings; a line that is gone is never given.
//!
//! The rows are made first, as long as the edit has its turn: they count as shown. The rest is
//! told later.

use std::fmt::Write;

use crate::hashline::changed::Outcome;
use crate::hashline::line_map::LineMap;
use crate::protocol::edit::{Block, EditDetails, EditResult, EditedFile, Remapped, Via, Warning};
use crate::protocol::read::{ContentBlock, LineSpan};
use crate::read::cut;
use crate::session::Version;
use crate::text::Text;
use crate::view::{LineSet, in_header};

use super::Planned;
use super::planned::{Removed, ReplacedText};
use super::planned_name::PlannedName;

/// Unchanged rows on each side of a change, and of one line that took the place of one.
const CONTEXT: u64 = 2;
const CONTEXT_OF_LINE: u64 = 1;
/// Written rows that are given whole; of more, this many less one from each end.
const WHOLE_RUN: u64 = 5;
const RUN_ENDS: u64 = 2;
/// Rows of one file, and bytes of one answer, after which only the numbers are told.
const MAX_ROWS: usize = 400;
const MAX_BYTES: usize = 50 * 1024;
/// Rows of one file for texts that were replaced wherever they were.
const MAX_REPLACED_ROWS: usize = 20;
/// Notes of one kind on one file.
const MAX_NOTES: usize = 20;
/// Characters of a line that a note names.
const EXCERPT: usize = 60;

/// A file as it is after the edit.
#[derive(Debug)]
pub struct Done {
    pub planned: Planned,
    pub outcome: FileOutcome,
}

/// What came of a plan.
#[derive(Debug)]
pub enum FileOutcome {
    /// Nothing was to be written.
    NoChange,
    /// The same request has written it before.
    Applied,
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
    /// A file that the same request has written before.
    pub fn applied(planned: Planned) -> Done {
        let mut planned = planned;
        planned.warnings.push(Warning {
            code: "alreadyApplied",
            message: format!(
                "This very edit was made before, and '{}' is still what it made of it; nothing was written.",
                planned.live.name
            ),
        });
        Done {
            planned,
            outcome: FileOutcome::Applied,
        }
    }

    fn version(&self) -> &Version {
        match &self.outcome {
            FileOutcome::NoChange | FileOutcome::Applied | FileOutcome::Tried => {
                &self.planned.live.version
            }
            FileOutcome::Written { now, .. } => now,
        }
    }

    fn changed(&self) -> &[LineSpan] {
        match &self.outcome {
            FileOutcome::NoChange | FileOutcome::Applied => &[],
            FileOutcome::Tried => &self.planned.outcome.changed,
            FileOutcome::Written { changed, .. } => changed,
        }
    }
}

/// What the answer shows of a file that was written.
#[derive(Debug, Default)]
pub struct Rows {
    text: String,
    /// In the numbers of its version.
    pub shown: LineSet,
}

/// The rows of all files, for an answer of at most so many characters.
pub fn rows(files: &[Done], columns: usize, chars: usize) -> Vec<Rows> {
    // What stands beside the rows has the rest.
    let most = MAX_BYTES.min(chars / 2);
    let mut bytes = 0;
    let rows = |file: &Done| match &file.outcome {
        FileOutcome::Written { changed, .. } => {
            let changed = with_context(&file.planned, changed);
            let wanted = rows_around(&changed, &file.planned.replaced, &file.version().text);
            let rows = write_rows(&file.version().text, &wanted, columns, (bytes, most));
            bytes += rows.text.len();
            rows
        }
        FileOutcome::NoChange | FileOutcome::Applied | FileOutcome::Tried => Rows::default(),
    };
    files.iter().map(rows).collect()
}

/// The answer. What is told beside the rows is left out where it would make it longer than that.
pub fn reply(files: &[Done], rows: &[Rows], dry_run: bool, chars: usize) -> EditResult {
    let mut text = written(files, rows, true);
    // A text has no more characters than bytes.
    if text.len() > chars && text.chars().count() > chars {
        text = written(files, rows, false);
        text.push_str("\n[There is no room for what else is to be said of this edit.]");
    }
    let mut content = vec![ContentBlock::Text { text }];
    cut(&mut content, chars as u64);
    EditResult {
        content,
        details: EditDetails {
            dry_run,
            files: files.iter().map(details).collect(),
        },
    }
}

fn written(files: &[Done], rows: &[Rows], notes: bool) -> String {
    let mut text = String::new();
    for (index, (file, rows)) in files.iter().zip(rows).enumerate() {
        let is_applied = |at: usize| matches!(files[at].outcome, FileOutcome::Applied);
        if index > 0 && !(is_applied(index - 1) && is_applied(index)) {
            text.push('\n');
        }
        write_file(file, rows, notes, &mut text);
    }
    text.pop();
    text
}

/// With what is told beside the rows, or without.
fn write_file(file: &Done, rows: &Rows, notes: bool, out: &mut String) {
    let Planned { live, warnings, .. } = &file.planned;
    let name = in_header(&live.name);
    let tag = file.version().tag;
    if let FileOutcome::Applied = &file.outcome {
        let _ = match file.planned.is_deletion() {
            true => writeln!(out, "[Already applied: {name} is deleted]"),
            false => writeln!(out, "[Already applied: {name} is #{tag}]"),
        };
        return;
    }
    if let (FileOutcome::Written { .. }, true) = (&file.outcome, file.planned.is_deletion()) {
        write_name(file, out);
        return;
    }
    let _ = writeln!(out, "¶{name}#{tag}");
    write_name(file, out);
    if notes {
        write_notes(&file.planned, out);
    }
    match &file.outcome {
        FileOutcome::NoChange | FileOutcome::Applied => {
            out.push_str("[No change: the file already reads so. Nothing was written.]\n");
        }
        FileOutcome::Tried => {
            if notes {
                out.push_str(file.planned.deferred.diff());
            }
            out.push_str("[Dry run: nothing was written.]\n");
        }
        FileOutcome::Written { .. } => out.push_str(&rows.text),
    }
    for warning in warnings.iter().filter(|_| notes) {
        let _ = writeln!(out, "warning: {}", warning.message);
    }
}

/// What became of the file's name, or would become of it.
fn write_name(file: &Done, out: &mut String) {
    let planned = &file.planned;
    let is_tried = matches!(file.outcome, FileOutcome::Tried);
    let Some(PlannedName { from, to, link, .. }) = &planned.name else {
        if planned.restored.is_some() && !is_tried {
            let _ = writeln!(out, "[{} is there again]", planned.live.name);
        }
        return;
    };
    let _ = match (to, is_tried) {
        (Some(to), false) => writeln!(out, "[{from} is {} now]", to.name),
        (Some(to), true) => writeln!(out, "[{from} would be {}]", to.name),
        (None, true) => writeln!(out, "[{from} would be deleted]"),
        (None, false) => match link {
            None => writeln!(out, "[{from} is deleted]"),
            Some(link) => writeln!(
                out,
                "[{from} is deleted: a link to {}, which stays]",
                link.leads_to.display()
            ),
        },
    };
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
    write_replaced(&planned.replaced, out);
}

fn more_notes(count: usize, what: &str, out: &mut String) {
    if count > MAX_NOTES {
        let _ = writeln!(out, "[{} more {what}]", count - MAX_NOTES);
    }
}

/// How often a text was replaced of which all were to be.
fn write_replaced(replaced: &[ReplacedText], out: &mut String) {
    for ReplacedText { old, times, .. } in replaced.iter().take(MAX_NOTES) {
        let times = match times {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        let old = serde_json::Value::from(excerpt(old)).to_string();
        let _ = writeln!(out, "[Replaced {times}: {old}]");
    }
    more_notes(replaced.len(), "texts", out);
}

/// The start of a line, without its indentation.
fn excerpt(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The rows around changes; blocks that do not touch are set apart by `…`. With them the bytes of
/// the rows that come before them, and what all may have.
fn write_rows(
    text: &Text,
    wanted: &WantedRows,
    columns: usize,
    (before, most): (usize, usize),
) -> Rows {
    let mut out = String::new();
    if text.len_lines() == 0 {
        return Rows {
            text: "(empty file)\n".to_owned(),
            shown: LineSet::new(),
        };
    }
    let mut shown = LineSet::new();
    let (mut rows, mut last) = (0, None);
    let mut is_cut = wanted.is_cut;
    for line in wanted.lines.lines() {
        if rows == MAX_ROWS || before + out.len() > most {
            is_cut = true;
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
    if is_cut {
        out.push_str("[Further changes are not shown; read the file to see them.]\n");
    }
    Rows { text: out, shown }
}

/// The lines that an answer gives of a file.
struct WantedRows {
    lines: LineSet,
    /// There are more that were changed.
    is_cut: bool,
}

/// What was changed, each with as many rows as are shown on each side of it.
fn with_context(planned: &Planned, changed: &[LineSpan]) -> Vec<(LineSpan, u64)> {
    let Outcome {
        map,
        text,
        changed: planned_at,
        ..
    } = &*planned.outcome;
    let totals = (
        planned.live.version.text.len_lines() as u64,
        text.len_lines() as u64,
    );
    let context = |index: usize| {
        let is_one = planned_at.get(index).is_some_and(|span| {
            span.start == span.end && took_place_of_one(map, span.start, totals)
        });
        if is_one { CONTEXT_OF_LINE } else { CONTEXT }
    };
    let changed = changed.iter().enumerate();
    changed
        .map(|(index, span)| (*span, context(index)))
        .collect()
}

/// Whether a new line stands alone where one line stood before.
fn took_place_of_one(map: &LineMap, line: u64, (old_total, new_total): (u64, u64)) -> bool {
    let end = (old_total + 1, new_total + 1, 0);
    let (mut old_at, mut new_at) = (1, 1);
    for (old, new, length) in map.runs().chain([end]) {
        if new > line {
            return new_at == line && new == line + 1 && old == old_at + 1;
        }
        (old_at, new_at) = (old + length, new + length);
    }
    false
}

/// Of a text that was replaced wherever it was, a row for each line is enough.
fn rows_around(changed: &[(LineSpan, u64)], replaced: &[ReplacedText], text: &Text) -> WantedRows {
    let total = text.len_lines() as u64;
    let is_replaced = |line: u64| replaced.iter().any(|it| it.lines.contains(line));
    let (mut rows, mut left, mut is_cut) = (LineSet::new(), MAX_REPLACED_ROWS, false);
    for (span, context) in changed {
        if is_replaced(span.start) {
            let mut lines = span.lines().filter(|line| is_replaced(*line));
            for line in lines.by_ref().take(left) {
                left -= 1;
                rows.insert(line, line);
            }
            is_cut |= lines.next().is_some();
            continue;
        }
        let first = span.start.saturating_sub(*context).max(1);
        let last = (span.end + context).min(total);
        if span.end - span.start < WHOLE_RUN {
            rows.insert(first, last);
        } else {
            rows.insert(first, span.start + RUN_ENDS - 1);
            rows.insert(span.end - RUN_ENDS + 1, last);
        }
    }
    WantedRows {
        lines: rows,
        is_cut,
    }
}

fn details(file: &Done) -> EditedFile {
    let planned = &file.planned;
    let live = &planned.live;
    let is_written = matches!(file.outcome, FileOutcome::Written { .. });
    EditedFile {
        path: live.name.clone(),
        resolved_path: live.resolved_path(),
        wrote_to: live.linked_to.clone(),
        moved_from: planned
            .name
            .as_ref()
            .filter(|name| is_written && name.to.is_some())
            .map(|name| name.from.clone()),
        moves_to: planned
            .name
            .as_ref()
            .filter(|_| !is_written)
            .and_then(|name| Some(name.to.as_ref()?.name.clone())),
        deleted: planned.is_deletion(),
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
            FileOutcome::Written { persisted, .. } => *persisted,
            FileOutcome::NoChange | FileOutcome::Applied | FileOutcome::Tried => !live.is_editors(),
        },
        warnings: planned.warnings.clone(),
        diff: planned.deferred.diff().to_owned(),
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
