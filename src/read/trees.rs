//! The trees of texts as they last parsed, one for each document, to parse later texts from, and the errors of those that did not; none is ever shown, or taken for a later text's.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache as Bounded;

use crate::hashline::{SyntaxErrors, may_be_checked, syntax_errors};
use crate::session::Document;
use crate::syntax::{self, Language, Parsed, Sound};
use crate::task::{Stopped, Work};
use crate::text::Text;

/// The trees of all sessions, bounded by bytes.
pub struct Trees {
    sound: Bounded<Document, Arc<Sound>, ByBytes>,
    /// The last text of a document that had errors.
    broken: Bounded<Document, Arc<Broken>>,
}

/// Documents whose errors are kept; each has some kilobytes of them at the most.
const BROKEN: usize = 256;

#[derive(Debug)]
struct Broken {
    /// Hash of the text.
    content: u128,
    language: &'static Language,
    errors: Arc<SyntaxErrors>,
}

/// A text whose errors are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Checked<'a> {
    pub document: &'a Document,
    pub text: &'a Text,
    /// The hash of that text.
    pub content: u128,
    pub language: &'static Language,
}

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
        Trees {
            sound: Bounded::with_weighter(64, budget, ByBytes),
            broken: Bounded::new(BROKEN),
        }
    }

    pub fn set_budget(&self, budget: u64) {
        if self.sound.capacity() != budget {
            self.sound.set_capacity(budget);
        }
    }

    /// Keeps the tree of what was parsed, if it is one without an error.
    pub fn keep(&self, document: &Document, parsed: Parsed) {
        if let Some(sound) = Sound::of(parsed) {
            self.sound.insert(document.clone(), Arc::new(sound));
        }
    }

    /// Where a text does not parse. `None` where nobody can tell, because it is too large.
    ///
    /// # Errors
    ///
    /// `Stopped` when `work` is cancelled or out of time.
    pub fn errors(
        &self,
        checked: Checked,
        work: &Work,
    ) -> Result<Option<Arc<SyntaxErrors>>, Stopped> {
        let Checked {
            document,
            text,
            content,
            language,
        } = checked;
        if !may_be_checked(text) {
            return Ok(None);
        }
        let known = self.broken.get(document);
        if let Some(known) = known.filter(|it| it.content == content && it.is_in(language)) {
            return Ok(Some(known.errors.clone()));
        }
        if let Some(earlier) = self.of(document, language)
            && let Some(sound) = earlier.parse_again(text, work)?
        {
            self.sound.insert(document.clone(), Arc::new(sound));
            return Ok(Some(Arc::default()));
        }
        let parsed = syntax::parse(text, language, work)?;
        let errors = Arc::new(syntax_errors(&parsed));
        self.keep(document, parsed);
        if !errors.lines.is_empty() {
            let broken = Broken {
                content,
                language,
                errors: errors.clone(),
            };
            self.broken.insert(document.clone(), Arc::new(broken));
        }
        Ok(Some(errors))
    }

    fn of(&self, document: &Document, language: &'static Language) -> Option<Arc<Sound>> {
        let kept = self.sound.get(document)?;
        (kept.language().name() == language.name()).then_some(kept)
    }
}

impl Broken {
    fn is_in(&self, language: &Language) -> bool {
        self.language.name() == language.name()
    }
}

impl std::fmt::Debug for Trees {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Trees({} bytes)", self.sound.weight())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::hashline::fingerprint;
    use crate::session::{Form, Site};
    use crate::syntax::named;
    use crate::task::CancelToken;

    /// The first line with an error; 0 where nobody can tell.
    fn first_error(trees: &Trees, text: &str, limit: Duration) -> Result<Option<u64>, Stopped> {
        let document = Document {
            site: Site::Editor("untitled:a".to_owned()),
            form: Form::Text,
        };
        let work = Work::new(CancelToken::new(), limit);
        let text = Text::new(text);
        let checked = Checked {
            document: &document,
            content: fingerprint(&text).content,
            text: &text,
            language: named("javascript").expect("a language"),
        };
        let errors = trees.errors(checked, &work)?;
        Ok(errors.map_or(Some(0), |errors| errors.lines.first().copied()))
    }

    #[test]
    fn an_error_is_told_by_its_line_where_there_is_time_and_the_text_is_short() {
        let minute = Duration::from_secs(60);
        let trees = Trees::new(1 << 20);
        for text in ["f();\n", "f();\ng();\n", "g();\n"] {
            assert_eq!(first_error(&trees, text, minute), Ok(None), "{text}");
            let broken = format!("{text}f(;\n");
            let line = Some(broken.lines().count() as u64);
            let late = first_error(&trees, &broken, Duration::ZERO);
            assert_eq!(late, Err(Stopped::TimedOut), "{text}");
            assert_eq!(first_error(&trees, &broken, minute), Ok(line), "{text}");
            // By now it is known.
            assert_eq!(
                first_error(&trees, &broken, Duration::ZERO),
                Ok(line),
                "{text}"
            );
        }
        let long = "f(;\n".repeat(20_001);
        assert_eq!(first_error(&trees, &long, minute), Ok(Some(0)));
        let wide = format!("f({};\n", " ".repeat(2 << 20));
        assert_eq!(first_error(&trees, &wide, minute), Ok(Some(0)));
    }
}
