//! The warm state that reads share, and its budget.

use std::sync::Arc;

use crate::buffer::{Overlays, Store, Warm};
use crate::convert::Converters;
use crate::session::{KeptTexts, Sessions, Stores};
use crate::sqlite::Queriers;
use crate::structure::Parsers;
use crate::task::Work;
use crate::worker;
use crate::workspace::Scope;

use super::ask::Ask;
use super::definitions::Definitions;
use super::obtained::Obtained;
use super::outlines::Outlines;
use super::source::Memory;
use super::source::internal::{Folders, InternalContext, Provided};
use super::syntax_checks::SyntaxChecks;

/// The warm state that reads share.
#[derive(Debug)]
pub struct Reader {
    pub buffers: Arc<Store>,
    pub sessions: Sessions,
    pub outlines: Outlines,
    pub definitions: Definitions,
    pub checks: Arc<SyntaxChecks>,
    pub parsers: Arc<Parsers>,
    pub warm: Warm,
    pub memory: Memory,
    pub converters: Converters,
    pub queriers: Queriers,
    /// What sessions have of their own.
    pub stores: Arc<Stores>,
    /// Skills and rules, as they were found last.
    pub folders: Folders,
    /// What clients and MCP servers have.
    pub provided: Provided,
    /// What they were shown of what is in no file.
    pub kept: Arc<KeptTexts>,
}

impl Reader {
    /// Holds at most `budget` bytes: an eighth of it in outlines and definitions, as much in what
    /// other kinds than text keep warm, the rest in buffers and in snapshots alike.
    pub fn new(budget: u64, stores: Stores, provided: Provided) -> Reader {
        let (texts, eighth) = shares(budget);
        let parsers = Arc::new(Parsers::new(worker::WorkerLimits::of_syntax()));
        Reader {
            buffers: Arc::new(Store::new(texts)),
            sessions: Sessions::new(texts),
            outlines: Outlines::new(eighth / 2, parsers.clone()),
            definitions: Definitions::new(eighth / 2, parsers.clone()),
            checks: Arc::new(SyntaxChecks::new(parsers.clone())),
            parsers,
            warm: Warm::new(eighth),
            memory: Memory::default(),
            converters: Converters::new(worker::WorkerLimits::of_convert()),
            queriers: Queriers::new(worker::WorkerLimits::of_query()),
            stores: Arc::new(stores),
            folders: Folders::default(),
            provided,
            kept: Arc::default(),
        }
    }

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

    pub fn set_budget(&self, budget: u64) {
        let (texts, eighth) = shares(budget);
        self.buffers.set_budget(texts);
        self.sessions.set_budget(texts);
        self.outlines.set_budget(eighth / 2);
        self.definitions.set_budget(eighth / 2);
        self.warm.set_budget(eighth);
        self.kept.set_budget(eighth);
    }
}

/// Of a budget, what buffers and what snapshots may hold each, and an eighth.
fn shares(budget: u64) -> (u64, u64) {
    let eighth = budget / 8;
    ((budget - 2 * eighth) / 2, eighth)
}
