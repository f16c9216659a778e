//! The trees of texts as they last parsed, one for each document, to parse later texts from; none is ever shown, or taken for a later text's.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache as Bounded;

use crate::hashline::{first_error, may_be_checked};
use crate::session::Document;
use crate::syntax::{self, Language, Parsed, Sound};
use crate::task::Work;
use crate::text::Text;

/// The trees of all sessions, bounded by bytes.
pub struct Trees(Bounded<Document, Arc<Sound>, ByBytes>);

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Document, Arc<Sound>> for ByBytes {
    fn weight(&self, _document: &Document, sound: &Arc<Sound>) -> u64 {
        (sound.weight() + 256) as u64
    }
}

impl Trees {
    /// A store of at most `budget` bytes.
    pub fn new(budget: u64) -> Trees {
        Trees(Bounded::with_weighter(64, budget, ByBytes))
    }

    pub fn set_budget(&self, budget: u64) {
        if self.0.capacity() != budget {
            self.0.set_capacity(budget);
        }
    }

    /// Keeps the tree of what was parsed, if it is one without an error.
    pub fn keep(&self, document: &Document, parsed: Parsed) {
        if let Some(sound) = Sound::of(parsed) {
            self.0.insert(document.clone(), Arc::new(sound));
        }
    }

    /// The line, from 1, at which `text` first does not parse. `None` where it parses, and where
    /// nobody can tell: it is too large, or there was no time.
    pub fn first_error(
        &self,
        document: &Document,
        text: &Text,
        language: &'static Language,
        work: &Work,
    ) -> Option<u64> {
        if !may_be_checked(text) {
            return None;
        }
        if let Some(earlier) = self.of(document, language)
            && let Some(sound) = earlier.parse_again(text, work).ok()?
        {
            self.0.insert(document.clone(), Arc::new(sound));
            return None;
        }
        let parsed = syntax::parse(text, language, work).ok()?;
        let error = first_error(&parsed);
        self.keep(document, parsed);
        error
    }

    fn of(&self, document: &Document, language: &'static Language) -> Option<Arc<Sound>> {
        let kept = self.0.get(document)?;
        (kept.language().name() == language.name()).then_some(kept)
    }
}

impl std::fmt::Debug for Trees {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Trees({} bytes)", self.0.weight())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::session::{Form, Site};
    use crate::syntax::named;
    use crate::task::CancelToken;

    fn first_error(trees: &Trees, text: &str, limit: Duration) -> Option<u64> {
        let document = Document {
            site: Site::Editor("untitled:a".to_owned()),
            form: Form::Text,
        };
        let work = Work::new(CancelToken::new(), limit);
        let language = named("javascript").expect("a language");
        trees.first_error(&document, &Text::new(text), language, &work)
    }

    #[test]
    fn an_error_is_told_by_its_line_where_there_is_time_and_the_text_is_short() {
        let minute = Duration::from_secs(60);
        let trees = Trees::new(1 << 20);
        for text in ["f();\n", "f();\ng();\n", "g();\n"] {
            assert_eq!(first_error(&trees, text, minute), None, "{text}");
            let broken = format!("{text}f(;\n");
            let line = broken.lines().count() as u64;
            assert_eq!(first_error(&trees, &broken, minute), Some(line), "{text}");
            assert_eq!(first_error(&trees, &broken, Duration::ZERO), None, "{text}");
        }
        let long = "f(;\n".repeat(20_001);
        assert_eq!(first_error(&trees, &long, minute), None);
        let wide = format!("f({};\n", " ".repeat(2 << 20));
        assert_eq!(first_error(&trees, &wide, minute), None);
    }
}
