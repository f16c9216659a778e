//! What is told of a planned file and takes a while to work out: its tag, its diff, whether it parses; nothing that a plan depends on.

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

    /// Tells where the text does not parse that did before.
    fn parse_warning(&self, trees: &Trees, work: &Work) -> Option<Warning> {
        let language = self.naming.language(&self.before)?;
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

/// Works everything out about `files`, to be offered while they are written; gives the warnings,
/// each file's own.
pub fn work_out(files: Vec<Arc<Beside>>, means: Means) -> Arc<Aside<Vec<Option<Warning>>>> {
    let (trees, work) = (means.trees.clone(), means.work.clone());
    Aside::new(move || {
        let told = files.iter().map(|file| {
            let warning = file.parse_warning(&trees, &work);
            file.fingerprint();
            file.diff();
            warning
        });
        told.collect()
    })
}
