//! Warm outlines, one for each document; an outline is never served for other content than it was made of.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::Weighter;
use quick_cache::sync::Cache as Bounded;

use crate::buffer::Buffer;
use crate::outline::{self, Outline, Rules};
use crate::protocol::settings::Summarize;
use crate::session::{Document, Form, Site};
use crate::syntax::{self, Language};
use crate::task::{CancelToken, Detour, Lane, Stopped, Work};
use crate::text::Text;
use crate::workspace::RealPath;

use super::trees::Trees;

/// Larger texts have no outline (seed 000, guards).
const MAX_BYTES: usize = 2 * 1024 * 1024;
const MAX_LINES: usize = 20_000;

/// What parsing and folding may take; past it there is no outline.
const TIME_BUDGET: Duration = Duration::from_millis(100);

/// So often an outline of the same content is tried that ran out of time: a busy machine is no
/// reason to give up for good, a slow parse is.
const TRIES: u8 = 2;

/// Texts over this many bytes are parsed in the long lane.
const SHORT_LANE_BYTES: usize = 1024 * 1024;

/// What was made of one content.
#[derive(Debug, Clone)]
struct Made {
    /// 128-bit hash of the normalised text.
    content: u128,
    language: &'static Language,
    rules: Rules,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Outline(Arc<Outline>),
    /// Nothing in it is worth folding.
    Nothing,
    /// So often time ran out.
    Late(u8),
}

/// The outlines of all sessions, bounded by bytes.
pub struct Outlines {
    made: Bounded<Document, Made, ByBytes>,
    /// What is parsed here is kept there as well: who reads a summary may go on to an edit.
    trees: Arc<Trees>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Document, Made> for ByBytes {
    fn weight(&self, _document: &Document, made: &Made) -> u64 {
        let rows = match &made.what {
            What::Outline(outline) => outline.weight(),
            What::Nothing | What::Late(_) => 0,
        };
        (rows + 256) as u64
    }
}

/// What the store holds and did, for `agent/status`.
#[derive(Debug, Clone, Copy)]
pub struct OutlineStatus {
    pub count: usize,
    pub bytes: u64,
    pub hits: u64,
    pub misses: u64,
}

impl Outlines {
    /// A store of at most `budget` bytes.
    pub fn new(budget: u64, trees: Arc<Trees>) -> Outlines {
        Outlines {
            made: Bounded::with_weighter(256, budget, ByBytes),
            trees,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    pub fn set_budget(&self, budget: u64) {
        if self.made.capacity() != budget {
            self.made.set_capacity(budget);
        }
    }

    pub fn status(&self) -> OutlineStatus {
        OutlineStatus {
            count: self.made.len(),
            bytes: self.made.weight(),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
    }

    /// The outline of `text`, which is `document`'s and is called `file_name`. `None` where the
    /// settings, the size, the language or the time it would take are against one.
    pub fn of(
        &self,
        document: &Document,
        (file_name, said): (&str, Option<&'static Language>),
        (text, content): (&Text, u128),
        settings: &Summarize,
        lane: Lane,
        work: &Work,
    ) -> Result<Option<Arc<Outline>>, Detour> {
        if !settings.enabled || !has_outline_size(text, settings.min_total_lines) {
            return Ok(None);
        }
        let Some(language) = said.or_else(|| syntax::detect(file_name, text)) else {
            return Ok(None);
        };
        let rules = Rules {
            min_body_lines: settings.min_body_lines,
            prose: settings.prose,
        };
        let known = self.made.get(document).filter(|made| {
            made.content == content
                && made.rules == rules
                && made.language.name() == language.name()
        });
        let tries = match known.map(|made| made.what) {
            Some(What::Outline(outline)) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(outline));
            }
            Some(What::Nothing | What::Late(TRIES..)) => return Ok(None),
            Some(What::Late(tries)) => tries,
            None => 0,
        };
        if lane == Lane::Short && text.len_bytes() > SHORT_LANE_BYTES {
            return Err(Detour::TakesLong);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let what = self.make(document, text, (language, rules, tries), work)?;
        let outline = match &what {
            What::Outline(outline) => Some(outline.clone()),
            What::Nothing | What::Late(_) => None,
        };
        let made = Made {
            content,
            language,
            rules,
            what,
        };
        self.made.insert(document.clone(), made);
        Ok(outline)
    }

    /// A warm file was found with other content, or without any: an outline that it had is made
    /// again, or dropped. Blocking; for a background thread.
    pub fn file_changed(&self, path: &RealPath, buffer: Option<&Arc<Buffer>>) {
        let document = Document {
            site: Site::File(path.clone()),
            form: Form::Text,
        };
        let Some((document, old)) = self.made.remove(&document) else {
            return;
        };
        let Some(buffer) = buffer.filter(|buffer| has_outline_size(&buffer.text, 1)) else {
            return;
        };
        let work = Work::new(CancelToken::new(), TIME_BUDGET);
        let how = (old.language, old.rules, 0);
        if let Ok(what) = self.make(&document, &buffer.text, how, &work) {
            let made = Made {
                content: buffer.fingerprint().content,
                what,
                ..old
            };
            self.made.insert(document, made);
        }
    }

    /// Errors only where the request itself is cancelled or out of time.
    fn make(
        &self,
        document: &Document,
        text: &Text,
        (language, rules, tries): (&'static Language, Rules, u8),
        work: &Work,
    ) -> Result<What, Stopped> {
        if !rules.are_for(language) {
            return Ok(What::Nothing);
        }
        let budget = work.within(TIME_BUDGET);
        let folded = syntax::parse(text, language, &budget).and_then(|parsed| {
            let outline = outline::fold(&parsed, language, rules, &budget);
            self.trees.keep(document, parsed);
            outline
        });
        match folded {
            Ok(Some(outline)) => Ok(What::Outline(Arc::new(outline))),
            Ok(None) => Ok(What::Nothing),
            Err(_) => {
                work.check()?;
                tracing::debug!(language = language.name(), "an outline took too long");
                Ok(What::Late(tries + 1))
            }
        }
    }
}

impl std::fmt::Debug for Outlines {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Outlines({:?})", self.status())
    }
}

fn has_outline_size(text: &Text, min_lines: usize) -> bool {
    let lines = text.len_lines();
    text.len_bytes() <= MAX_BYTES && lines >= min_lines && lines <= MAX_LINES
}
