//! An edit of a notebook's text as changes of the JSON that its home holds; what is written is read back before anybody writes it.

use std::collections::BTreeSet;

use crate::hashline::apply::new_text;
use crate::hashline::block::Action;
use crate::hashline::changed::{Outcome, gaps_of};
use crate::hashline::line_map::LineMap;
use crate::hashline::replace_text::TextPosition;
use crate::hashline::splice::TextChange;
use crate::hashline::{MoveTarget, Origin, PatchError, PlainBatch, Syntax};
use crate::notebook::{CannotWrite, Rewrite, Splice, is_marker, parse, render, rewrite};
use crate::protocol::read::LineSpan;
use crate::protocol::{EditRefusal, Refusal};
use crate::read::Converted;
use crate::task::Work;
use crate::text::Text;

use super::LiveDocument;
use super::judge::Judge;

/// The change of the JSON.
#[derive(Debug, Clone)]
pub struct NotebookEdit {
    /// In order and apart.
    pub changes: Vec<TextChange>,
    /// All of it afterwards.
    pub text: Text,
}

/// What `outcome`, which is of a notebook's text, makes of its JSON, and the text that the notebook
/// then has: its markers are numbered anew.
pub fn notebook_edit(
    live: &LiveDocument,
    notebook: &Converted,
    json: &Text,
    outcome: Outcome,
    moved: &[(LineSpan, u64)],
    work: &Work,
) -> Result<(NotebookEdit, Outcome), Refusal> {
    let moved_to = |line: u64| {
        let mut moved = moved.iter();
        let (span, first) = moved.find(|(span, _)| span.start <= line && line <= span.end)?;
        Some(first + (line - span.start))
    };
    let mut kept = Vec::with_capacity(notebook.markers.len());
    let mut moved_cells = BTreeSet::new();
    for (index, line) in notebook.markers.iter().enumerate() {
        let line = *line as u64 + 1;
        let elsewhere = moved_to(line);
        if elsewhere.is_some() {
            moved_cells.insert(index);
        }
        let now = elsewhere.or_else(|| outcome.map.carry(line));
        kept.push(now.and_then(|now| usize::try_from(now - 1).ok()));
    }
    let Rewrite { splices, rendered } = rewrite(
        &notebook.json,
        &notebook.notebook,
        &outcome.written(),
        &kept,
        &moved_cells,
    )
    .map_err(|error| refuse(&error, live))?;
    let changes: Vec<TextChange> = splices.iter().map(|splice| change(json, splice)).collect();
    let after = new_text(json, &changes);
    let reads_back = parse(&after, work).is_ok_and(|after| {
        let cells = after.cells();
        render(cells.map(|cell| (cell.kind.as_str(), cell.source.as_str()))) == rendered
    });
    if !reads_back {
        work.check()?;
        tracing::error!(
            name = live.name,
            "a notebook would not read back as it was to"
        );
        return Err(Refusal::Internal);
    }
    let text = Text::new(&rendered.text);
    let notebook_edit = NotebookEdit {
        changes,
        text: Text::new(&after),
    };
    Ok((notebook_edit, named_anew(live.text(), outcome, text)))
}

/// The change of the JSON that is known already, and the outcome with the text that the notebook
/// then has.
pub(super) fn put_back(
    live: &LiveDocument,
    json: &Text,
    outcome: Outcome,
    changes: Vec<TextChange>,
    work: &Work,
) -> Result<(NotebookEdit, Outcome), Refusal> {
    let after = new_text(json, &changes);
    let Ok(notebook) = parse(&after, work) else {
        work.check()?;
        return Err(Refusal::Internal);
    };
    let cells = notebook.cells();
    let rendered = render(cells.map(|cell| (cell.kind.as_str(), cell.source.as_str())));
    let notebook_edit = NotebookEdit {
        changes,
        text: Text::new(&after),
    };
    let text = Text::new(&rendered.text);
    Ok((notebook_edit, named_anew(live.text(), outcome, text)))
}

/// The outcome with the text as it is written down from the cells. A marker with another number is
/// the same line; where rows went, the lines are compared.
fn named_anew(old: &Text, outcome: Outcome, text: Text) -> Outcome {
    if text == outcome.text {
        return outcome;
    }
    if text.len_lines() == outcome.text.len_lines() {
        return Outcome { text, ..outcome };
    }
    let map = LineMap::of_diff(old, &text);
    Outcome {
        changed: gaps_of(&map, old, &text),
        is_exact: false,
        text,
        map,
    }
}

/// Finds the moves of anything but whole cells to a place between cells, and new rows of a cell
/// that would become the end of the one before it.
pub(super) fn check_cells(live: &LiveDocument, plain: &PlainBatch, judge: &mut Judge) {
    let Some(notebook) = &live.notebook else {
        return;
    };
    let mut refuse = |what: Syntax, origin: Origin| {
        let error = PatchError {
            what,
            origin,
            path: Some(live.name.clone()),
            tag: Some(live.version.tag),
        };
        judge.syntax(&error, &[]);
    };
    let total = live.text().len_lines() as u64;
    // Whether a cell begins there, or the text ends.
    let begins = |line: u64| {
        let index = usize::try_from(line - 1).ok();
        let is_marker = index.is_some_and(|index| notebook.markers.binary_search(&index).is_ok());
        is_marker || line == total + 1
    };
    for hunk in &plain.hunks {
        let (lines, to) = match &hunk.action {
            Action::Move { lines, to } => (lines, *to),
            Action::Replace { rows, .. } if hunk.block_line.is_some() => {
                if rows.first().is_some_and(|row| !is_marker(row)) {
                    refuse(Syntax::NoMarkerRow, hunk.origin);
                }
                continue;
            }
            Action::Replace { .. } | Action::Insert { .. } => continue,
        };
        let place = match to {
            MoveTarget::Before(line) => line,
            MoveTarget::After(line) => line + 1,
        };
        if ![lines.start, lines.end + 1, place].into_iter().all(begins) {
            refuse(Syntax::NotWholeCells, hunk.origin);
        }
    }
}

fn change(json: &Text, splice: &Splice) -> TextChange {
    let start = position(json, splice.place.start);
    let end = position(json, splice.place.end);
    TextChange::new(start, end, splice.text.clone())
}

/// Where a byte of the JSON is.
pub(super) fn position(json: &Text, at: usize) -> TextPosition {
    let line = json.rope().byte_to_line(at);
    TextPosition {
        line,
        column: at - json.rope().line_to_byte(line),
    }
}

fn refuse(error: &CannotWrite, live: &LiveDocument) -> Refusal {
    match error {
        CannotWrite::Lossy { .. } => Refusal::Encoding {
            path: live.name.clone(),
            message: error.to_string(),
        },
        CannotWrite::BeforeFirst { .. } | CannotWrite::Kind { .. } => EditRefusal::PatchSyntax {
            message: format!("{error} Nothing was written."),
            path: Some(live.name.clone()),
            patch_line: None,
            expected: "a marker such as '# %% [code]' before the rows of a new cell",
            header: None,
        }
        .into(),
    }
}
