//! The blocks that the ops of an edit name by a line: cells of a notebook, else asked of a worker, all at once.

use std::collections::HashMap;

use crate::hashline::{BlockAt, NoBlock, NoBlockReason};
use crate::notebook::is_marker;
use crate::protocol::read::LineSpan;
use crate::read::Checked;
use crate::session::{Form, Version};
use crate::structure::NoStructure;
use crate::text::Text;

use super::live::{EditContext, LiveDocument};

/// What begins at lines of the tagged version.
///
/// # Errors
///
/// Why nothing is known of any of them.
pub(super) fn blocks_at(
    asked: &[BlockAt],
    tagged: &Version,
    live: &LiveDocument,
    means: EditContext,
) -> Result<HashMap<BlockAt, Result<LineSpan, NoBlock>>, NoBlockReason> {
    if asked.is_empty() {
        // Most edits name no block.
        return Ok(HashMap::new());
    }
    if live.document.form == Form::Notebook {
        let cells = asked.iter().map(|at| (*at, cell_at(&tagged.text, at.line)));
        return Ok(cells.collect());
    }
    let language = live.language(&tagged.text);
    let checked = Checked {
        document: &live.document,
        text: &tagged.text,
        content: tagged.content,
        language: language.ok_or(NoBlockReason::NoGrammar)?,
    };
    let code = checked.code();
    if !code.may_be_parsed() {
        return Err(NoBlockReason::NotParsed);
    }
    let blocks = means.checks.parsers().blocks(&code, asked, means.work);
    let blocks = blocks.map_err(|why| match why {
        NoStructure::NotFinished(_)
        | NoStructure::Stopped(_)
        | NoStructure::TooLarge
        | NoStructure::Nothing(_) => NoBlockReason::NotParsed,
        NoStructure::Busy | NoStructure::NoParser => NoBlockReason::NoParser,
    })?;
    Ok(asked.iter().copied().zip(blocks).collect())
}

/// The cell whose marker is that line (1-indexed): to the one before the next marker.
fn cell_at(text: &Text, line: u64) -> Result<LineSpan, NoBlock> {
    let is_marker = |line: &u64| is_marker(&text.line((line - 1) as usize));
    let total = text.len_lines() as u64;
    let end = (line + 1..=total).find(is_marker);
    let end = end.map_or(total, |next| next - 1);
    if is_marker(&line) {
        return Ok(LineSpan { start: line, end });
    }
    let start = (1..line).rev().find(is_marker);
    Err(NoBlock {
        reason: NoBlockReason::InCell,
        enclosing: start.map(|start| LineSpan { start, end }),
    })
}
