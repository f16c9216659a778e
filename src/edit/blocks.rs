//! The blocks that the ops of an edit name by a line, all asked of a worker at once.

use std::collections::HashMap;

use crate::hashline::{BlockAt, NoBlock, NoBlockReason};
use crate::protocol::read::LineSpan;
use crate::read::Checked;
use crate::session::Version;
use crate::structure::NoStructure;

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
