//! Warm lists of what documents define; a list is never served for other content than it was made of.

use std::sync::Arc;
use std::time::Duration;

use quick_cache::Weighter;
use quick_cache::sync::Cache as Bounded;

use crate::outline::{self, Definition};
use crate::session::Document;
use crate::syntax::{self, Language};
use crate::task::{Detour, Lane, Work};
use crate::text::Text;

use super::trees::Trees;

/// Larger texts are not parsed for it (seed 000, guards).
const MAX_BYTES: usize = 2 * 1024 * 1024;
const MAX_LINES: usize = 20_000;

/// What parsing and looking through may take; past it there is no list.
const TIME_BUDGET: Duration = Duration::from_millis(100);

/// So often a list of the same content is tried that ran out of time.
const TRIES: u8 = 2;

/// Texts over this many bytes are parsed in the long lane.
const SHORT_LANE_BYTES: usize = 1024 * 1024;

/// A text that may be in some language.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    pub document: &'a Document,
    /// By which the language is told, where `said` does not say it.
    pub file_name: &'a str,
    pub said: Option<&'static Language>,
    pub text: &'a Text,
    /// 128-bit hash of the normalised text.
    pub content: u128,
}

/// What was made of one content.
#[derive(Debug, Clone)]
struct Made {
    content: u128,
    language: &'static Language,
    /// `None` where time ran out.
    found: Option<Arc<[Definition]>>,
    tries: u8,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Document, Made> for ByBytes {
    fn weight(&self, _document: &Document, made: &Made) -> u64 {
        let of_definition = |it: &Definition| size_of::<Definition>() + it.signature.len();
        let found = made.found.iter().flat_map(|found| found.iter());
        (found.map(of_definition).sum::<usize>() + 256) as u64
    }
}

/// The lists of all sessions, bounded by bytes.
pub struct Definitions {
    made: Bounded<Document, Made, ByBytes>,
    /// What is parsed here is kept there as well.
    trees: Arc<Trees>,
}

impl Definitions {
    /// A store of at most `budget` bytes.
    pub fn new(budget: u64, trees: Arc<Trees>) -> Definitions {
        Definitions {
            made: Bounded::with_weighter(64, budget, ByBytes),
            trees,
        }
    }

    pub fn set_budget(&self, budget: u64) {
        if self.made.capacity() != budget {
            self.made.set_capacity(budget);
        }
    }

    /// What a text defines. `None` where the size, the language or the time it would take are
    /// against a list.
    pub fn of(
        &self,
        code: &Code,
        lane: Lane,
        work: &Work,
    ) -> Result<Option<Arc<[Definition]>>, Detour> {
        let Code {
            document,
            text,
            content,
            ..
        } = *code;
        if text.len_bytes() > MAX_BYTES || text.len_lines() > MAX_LINES {
            return Ok(None);
        }
        let language = code.said.or_else(|| syntax::detect(code.file_name, text));
        let Some(language) = language else {
            return Ok(None);
        };
        let known = self
            .made
            .get(document)
            .filter(|made| made.content == content && made.language.name() == language.name());
        let tries = match known {
            Some(Made {
                found: None, tries, ..
            }) if tries < TRIES => tries,
            Some(Made { found, .. }) => return Ok(found),
            None => 0,
        };
        if lane == Lane::Short && text.len_bytes() > SHORT_LANE_BYTES {
            return Err(Detour::TakesLong);
        }
        let budget = work.within(TIME_BUDGET);
        let found = syntax::parse(text, language, &budget).and_then(|parsed| {
            let found = outline::definitions(&parsed, &budget);
            self.trees.keep(document, parsed);
            found
        });
        if found.is_err() {
            work.check()?;
            tracing::debug!(language = language.name(), "definitions took too long");
        }
        let found: Option<Arc<[Definition]>> = found.ok().map(Arc::from);
        let made = Made {
            content,
            language,
            found: found.clone(),
            tries: tries + 1,
        };
        self.made.insert(document.clone(), made);
        Ok(found)
    }
}

impl std::fmt::Debug for Definitions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Definitions({} bytes)", self.made.weight())
    }
}
