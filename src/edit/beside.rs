//! What is told of a planned file and takes a while to work out: its tag, its diff, whether it parses; nothing that a plan depends on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use crate::hashline::changed::Outcome;
use crate::hashline::tag::Fingerprint;
use crate::hashline::{diff, fingerprint};
use crate::protocol::edit::Warning;
use crate::read::Trees;
use crate::session::Document;
use crate::syntax::Language;
use crate::task::{Aside, Work};
use crate::text::Text;

use super::live::{Live, Means, Naming};

/// Each is worked out once, when it is asked for or while the disk is waited for.
#[derive(Debug)]
pub struct Beside {
    name: String,
    document: Document,
    naming: Naming,
    before: Text,
    outcome: Arc<Outcome>,
    language: OnceLock<Option<&'static Language>>,
    fingerprint: OnceLock<Fingerprint>,
    diff: OnceLock<String>,
}

impl Beside {
    pub fn new(live: &Live, outcome: Arc<Outcome>) -> Arc<Beside> {
        Arc::new(Beside {
            name: live.name.clone(),
            document: live.document.clone(),
            naming: live.naming(),
            before: live.text().clone(),
            outcome,
            language: OnceLock::new(),
            fingerprint: OnceLock::new(),
            diff: OnceLock::new(),
        })
    }

    /// Of the text after the edit.
    pub fn fingerprint(&self) -> Fingerprint {
        let text = &self.outcome.text;
        *self.fingerprint.get_or_init(|| fingerprint(text))
    }

    /// From the text before the edit to the one after it.
    pub fn diff(&self) -> &str {
        self.diff
            .get_or_init(|| diff::unified(&self.name, &self.before, &self.outcome))
    }

    fn language(&self) -> Option<&'static Language> {
        *self
            .language
            .get_or_init(|| self.naming.language(&self.before))
    }

    /// As [`Beside::parse_warning`]. A parser that panics is no reason to say that the file was not
    /// written.
    fn caught_warning(&self, trees: &Trees, work: &Work) -> Option<Warning> {
        let warning = || self.parse_warning(trees, work);
        catch_unwind(AssertUnwindSafe(warning)).unwrap_or_default()
    }

    /// Tells where the text does not parse that did before.
    fn parse_warning(&self, trees: &Trees, work: &Work) -> Option<Warning> {
        let language = self.language()?;
        let first_error = |text| trees.first_error(&self.document, text, language, work);
        let line = first_error(&self.outcome.text)?;
        match first_error(&self.before) {
            Some(_) => None,
            None => Some(self.no_longer_parses(language, line)),
        }
    }

    fn no_longer_parses(&self, language: &Language, line: u64) -> Warning {
        Warning {
            code: "noLongerParses",
            message: format!(
                "'{}' parsed as {} before this edit and does not now; the first error is at line {line}.",
                self.name,
                language.name()
            ),
        }
    }
}

/// What is told of the files of one change.
#[derive(Debug)]
pub struct Told {
    files: Vec<Arc<Beside>>,
    /// Each file's own.
    warnings: Arc<Aside<Vec<Option<Warning>>>>,
}

impl Told {
    /// The parsing is offered to another thread at once: where it is still under way when this one
    /// sleeps for the disk, they are in each other's way.
    pub fn of(files: Vec<Arc<Beside>>, means: Means) -> Told {
        let (trees, work) = (means.trees.clone(), means.work.clone());
        let parsed = files.clone();
        let warnings = Aside::new(move || {
            let warnings = parsed.iter().map(|file| file.caught_warning(&trees, &work));
            warnings.collect()
        });
        if files.iter().any(|file| file.language().is_some()) {
            warnings.offer();
        }
        Told { files, warnings }
    }

    /// Works out what takes no longer than the disk needs for a few bytes.
    pub fn work_out(&self) {
        for file in &self.files {
            file.fingerprint();
            file.diff();
        }
    }

    pub fn warnings(&self) -> &[Option<Warning>] {
        self.warnings.result()
    }
}
