//! An edit of a notebook's text as changes of the JSON that its home holds; what is written is read back before anybody writes it.

use crate::hashline::apply::new_text;
use crate::hashline::changed::{Outcome, gaps_of};
use crate::hashline::line_map::LineMap;
use crate::hashline::replace_text::TextPosition;
use crate::hashline::splice::TextChange;
use crate::notebook::{CannotWrite, Rewrite, Splice, parse, render, rewrite};
use crate::protocol::{EditRefusal, Refusal};
use crate::read::Converted;
use crate::task::Work;
use crate::text::Text;

use super::LiveDocument;

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
    work: &Work,
) -> Result<(NotebookEdit, Outcome), Refusal> {
    let markers = notebook.markers.iter();
    let kept: Vec<Option<usize>> = markers
        .map(|line| {
            let now = outcome.map.carry(*line as u64 + 1)?;
            usize::try_from(now - 1).ok()
        })
        .collect();
    let Rewrite { splices, rendered } = rewrite(
        &notebook.json,
        &notebook.notebook,
        &outcome.written(),
        &kept,
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

fn change(json: &Text, splice: &Splice) -> TextChange {
    let spot = |at: usize| {
        let line = json.rope().byte_to_line(at);
        TextPosition {
            line,
            column: at - json.rope().line_to_byte(line),
        }
    };
    TextChange {
        start: spot(splice.place.start),
        end: spot(splice.place.end),
        text: splice.text.clone(),
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
