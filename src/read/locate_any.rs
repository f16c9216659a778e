//! Where a read leads, whoever has what is there: a provider, the disk, the editor, or a server that listed it.

use crate::buffer::Overlays;
use crate::protocol::Refusal;
use crate::task::Work;
use crate::workspace::Scope;

use super::ask::Ask;
use super::obtained::Obtained;
use super::plan::Reader;
use super::source::internal::{self, InternalContext};
use super::target::{Located, locate};

impl Reader {
    /// What a provider may use to answer a read.
    pub fn context<'a>(
        &'a self,
        ask: &'a Ask,
        (scope, overlays): (&'a Scope, &'a Overlays),
        obtained: Option<&'a Obtained>,
        work: &'a Work,
    ) -> InternalContext<'a> {
        InternalContext {
            session: &ask.session,
            scope,
            overlays,
            stores: &self.stores,
            folders: &self.folders,
            kept: &self.kept,
            provided: &self.provided,
            is_resolving: ask.is_resolving,
            names_lines: ask.request.lines.is_some(),
            tells_title: ask.tells_title,
            dialect: ask.dialect.name(),
            obtained,
            work,
        }
    }
}

/// Finds what a read is of: behind an internal address, else a file or what the editor has.
pub fn locate_any(ask: &Ask, context: &InternalContext) -> Result<Located, Refusal> {
    let target = &ask.request.target;
    if let Some(located) = internal::locate::locate(target, context)? {
        return Ok(located);
    }
    let InternalContext {
        scope, overlays, ..
    } = context;
    let found = locate(
        target,
        Some(ask.request.guess),
        scope,
        overlays,
        context.work,
    );
    // An address that nobody has, and no file.
    if let Err(Refusal::Unsupported { .. }) = &found
        && let Some(located) = internal::mcp::listed_so_far(target, context)?
    {
        return Ok(located);
    }
    found
}
