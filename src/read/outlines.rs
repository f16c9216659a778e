//! Warm outlines, one for each document; an outline is never served for other content than it was made of.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::Weighter;
use quick_cache::sync::Cache as Bounded;

use crate::buffer::Buffer;
use crate::outline::{Outline, Rules};
use crate::protocol::settings::Summarize;
use crate::protocol::status::Summaries;
use crate::session::{Document, Form};
use crate::structure::{Code, NoStructure, Parsers};
use crate::syntax::Language;
use crate::task::{CancelToken, LONG_FROM_BYTES, Work};
use crate::workspace::{RealPath, ResourceId};

use super::source_file::{Lack, SourceFile};
use super::syntax_checks::key;

/// How long an outline is waited for that is made before anybody asks.
const AHEAD: Duration = Duration::from_secs(4);

/// What was made of one content.
#[derive(Debug, Clone)]
struct KnownOutlines {
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
}

/// The outlines of all sessions, bounded by bytes.
pub struct Outlines {
    made: Bounded<Document, KnownOutlines, OutlineWeights>,
    parsers: Arc<Parsers>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug, Clone)]
struct OutlineWeights;

impl Weighter<Document, KnownOutlines> for OutlineWeights {
    fn weight(&self, _document: &Document, made: &KnownOutlines) -> u64 {
        let rows = match &made.what {
            What::Outline(outline) => outline.weight(),
            What::Nothing => 0,
        };
        (rows + 256) as u64
    }
}

impl Outlines {
    /// A store of at most `budget` bytes.
    pub fn new(budget: u64, parsers: Arc<Parsers>) -> Outlines {
        Outlines {
            made: Bounded::with_weighter(256, budget, OutlineWeights),
            parsers,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    pub fn set_budget(&self, budget: u64) {
        if self.made.capacity() != budget {
            self.made.set_capacity(budget);
        }
    }

    pub fn status(&self) -> Summaries {
        Summaries {
            count: self.made.len(),
            bytes: self.made.weight(),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
    }

    /// The outline of a text. `None` where the settings, few lines or the language are against one.
    ///
    /// # Errors
    ///
    /// `Lack` where it is no longer wanted, cannot be made, or has nothing to show.
    pub fn of(
        &self,
        source: &SourceFile,
        settings: &Summarize,
        work: &Work,
    ) -> Result<Option<Arc<Outline>>, Lack> {
        let SourceFile { document, text, .. } = *source;
        if !settings.enabled || text.len_lines() < settings.min_total_lines {
            return Ok(None);
        }
        let Some(code) = source.code_of_any_size() else {
            return Ok(None);
        };
        let rules = Rules {
            min_body_lines: settings.min_body_lines,
            prose: settings.prose,
        };
        if !rules.are_for(code.language) {
            return Ok(None);
        }
        if !code.may_be_parsed() {
            return Err(NoStructure::TooLarge.into());
        }
        let nothing = NoStructure::Nothing(code.language.title());
        let known = self.made.get(document).filter(|made| {
            made.content == code.content
                && made.rules == rules
                && made.language.name() == code.language.name()
        });
        match known.map(|made| made.what) {
            Some(What::Outline(outline)) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(outline));
            }
            Some(What::Nothing) => return Err(nothing.into()),
            None => {}
        }
        if text.len_bytes() as u64 > LONG_FROM_BYTES && work.takes_long()? {
            return self.of(source, settings, work);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let what = self.make(&code, rules, work)?;
        let outline = match &what {
            What::Outline(outline) => Ok(Some(outline.clone())),
            What::Nothing => Err(nothing.into()),
        };
        let made = KnownOutlines {
            content: code.content,
            language: code.language,
            rules,
            what,
        };
        self.made.insert(document.clone(), made);
        outline
    }

    /// A warm file was found with other content, or without any: an outline that it had is made
    /// again, or dropped. Blocking; for a background thread.
    pub fn file_changed(&self, path: &RealPath, buffer: Option<&Arc<Buffer>>) {
        let document = Document {
            id: ResourceId::File(path.clone()),
            form: Form::Text,
        };
        let Some((document, old)) = self.made.remove(&document) else {
            return;
        };
        let Some(buffer) = buffer else {
            return;
        };
        let code = Code {
            document: key(&document),
            text: &buffer.text,
            content: buffer.fingerprint().content,
            language: old.language,
        };
        if !code.may_be_parsed() || buffer.text.len_lines() == 0 {
            return;
        }
        let work = Work::new(CancelToken::new(), AHEAD);
        if let Ok(what) = self.make(&code, old.rules, &work) {
            let made = KnownOutlines {
                content: code.content,
                what,
                ..old
            };
            self.made.insert(document, made);
        }
    }

    fn make(&self, code: &Code, rules: Rules, work: &Work) -> Result<What, NoStructure> {
        let outline = self.parsers.outline(code, rules, work)?;
        Ok(outline.map_or(What::Nothing, |outline| What::Outline(Arc::new(outline))))
    }
}

impl std::fmt::Debug for Outlines {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Outlines({:?})", self.status())
    }
}
