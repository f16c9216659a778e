//! What is told of a planned file and takes a while to work out: its tag, its diff, whether it parses; nothing that a plan depends on, and nothing that an answer is kept back for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::hashline::changed::Outcome;
use crate::hashline::tag::Fingerprint;
use crate::hashline::{SyntaxErrors, brought_in, diff, fingerprint};
use crate::protocol::edit::Warning;
use crate::read::{Checked, SyntaxChecks};
use crate::session::Document;
use crate::structure::{NoStructure, PendingErrors};
use crate::syntax::Language;
use crate::task::{CancelToken, Stopped, Work};
use crate::text::Text;

use super::disk::{WriteStep, failpoint};
use super::live::{EditContext, LiveDocument, Naming};

/// How long an answer is kept back by what is only told, once all is written.
pub(super) const REPORTED_WITHIN: Duration = Duration::from_millis(100);

/// How long a worker may take to accept a text.
const BEGUN_WITHIN: Duration = Duration::from_secs(1);

/// That time. In builds for tests `PILCROW_TOLD_WITHIN`, in milliseconds, is another one.
#[expect(clippy::disallowed_methods, reason = "for tests alone")]
fn reported_within() -> Duration {
    if !cfg!(any(feature = "failpoints", debug_assertions)) {
        return REPORTED_WITHIN;
    }
    let wanted = std::env::var("PILCROW_TOLD_WITHIN").ok();
    let millis = wanted.and_then(|millis| millis.parse().ok());
    millis.map_or(REPORTED_WITHIN, Duration::from_millis)
}

/// Each is worked out once, when it is asked for or while the disk is waited for.
#[derive(Debug)]
pub struct DeferredReport {
    name: String,
    document: Document,
    naming: Naming,
    before: Text,
    /// The hash of that text.
    content_before: u128,
    outcome: Arc<Outcome>,
    language: OnceLock<Option<&'static Language>>,
    fingerprint: OnceLock<Fingerprint>,
    /// `None` where there was no time.
    diff: OnceLock<Option<String>>,
    parsed: OnceLock<Parses>,
}

/// Whether the new text parses.
#[derive(Debug, Clone)]
enum Parses {
    /// Or nobody can tell.
    AsBefore,
    Worse(Warning),
    NotChecked,
}

impl DeferredReport {
    pub fn new(live: &LiveDocument, outcome: Arc<Outcome>) -> Arc<DeferredReport> {
        Arc::new(DeferredReport {
            name: live.name.clone(),
            document: live.document.clone(),
            naming: live.naming(),
            before: live.text().clone(),
            content_before: live.version.content,
            outcome,
            language: OnceLock::new(),
            fingerprint: OnceLock::new(),
            diff: OnceLock::new(),
            parsed: OnceLock::new(),
        })
    }

    /// Of the text after the edit.
    pub fn fingerprint(&self) -> Fingerprint {
        let text = &self.outcome.text;
        *self.fingerprint.get_or_init(|| fingerprint(text))
    }

    /// From the text before the edit to the one after it; empty where there was no time for it.
    pub fn diff(&self) -> &str {
        let diff = self.diff.get().and_then(Option::as_deref);
        diff.unwrap_or_default()
    }

    fn work_out_diff(&self, work: &Work) {
        self.diff.get_or_init(|| {
            let diff = || diff::unified(&self.name, &self.before, &self.outcome, work).ok();
            catch_unwind(AssertUnwindSafe(diff)).unwrap_or_default()
        });
    }

    fn language(&self) -> Option<&'static Language> {
        *self
            .language
            .get_or_init(|| self.naming.language(&self.before))
    }

    /// The text after the edit, if it is in some language.
    fn checked(&self) -> Option<Checked<'_>> {
        Some(Checked {
            document: &self.document,
            text: &self.outcome.text,
            content: self.fingerprint().content,
            language: self.language()?,
        })
    }

    /// Looks whether the text parses as it did; `pending` is what was begun of that.
    fn check(&self, checks: &SyntaxChecks, pending: Option<PendingErrors>, work: &Work) {
        self.parsed.get_or_init(|| {
            // The file is written: whatever fails from here on is no reason to say that it is not.
            let parses = AssertUnwindSafe(|| self.parses(checks, pending, work));
            let parses = catch_unwind(parses).ok().and_then(Result::ok);
            parses.unwrap_or(Parses::NotChecked)
        });
    }

    fn parses(
        &self,
        checks: &SyntaxChecks,
        pending: Option<PendingErrors>,
        work: &Work,
    ) -> Result<Parses, NoStructure> {
        let Some(after) = self.checked() else {
            return Ok(Parses::AsBefore);
        };
        failpoint(WriteStep::Check).map_err(|_| Stopped::TimedOut)?;
        let new = match checks.errors(after, pending, work)? {
            Some(new) if !new.lines.is_empty() => new,
            _ => return Ok(Parses::AsBefore),
        };
        let before = Checked {
            text: &self.before,
            content: self.content_before,
            ..after
        };
        let Some(old) = checks.errors(before, None, work)? else {
            return Ok(Parses::AsBefore);
        };
        Ok(self.compared(after.language, &old, &new))
    }

    fn compared(&self, language: &Language, old: &SyntaxErrors, new: &SyntaxErrors) -> Parses {
        if let (true, Some(line)) = (old.lines.is_empty(), new.lines.first()) {
            return Parses::Worse(Warning {
                code: "noLongerParses",
                message: format!(
                    "'{}' parsed as {} before this edit and does not now; the first error is at line {line}.",
                    self.name,
                    language.name()
                ),
            });
        }
        if old.is_cut || new.is_cut {
            return Parses::NotChecked;
        }
        match brought_in(&self.before, old, &self.outcome, new) {
            None => Parses::AsBefore,
            Some(line) => Parses::Worse(Warning {
                code: "syntaxError",
                message: format!(
                    "'{}' did not parse as {} before this edit, and has a further syntax error now, at line {line}.",
                    self.name,
                    language.name()
                ),
            }),
        }
    }

    /// What is to be said of the file besides its diff.
    fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut unchecked = Vec::new();
        match self.parsed.get() {
            Some(Parses::AsBefore) => {}
            Some(Parses::Worse(warning)) => warnings.push(warning.clone()),
            Some(Parses::NotChecked) | None => {
                unchecked.push("it was not checked for syntax errors")
            }
        }
        if self.diff.get().is_none_or(Option::is_none) {
            unchecked.push("there is no diff of it");
        }
        if !unchecked.is_empty() {
            warnings.push(Warning {
                code: "notChecked",
                message: format!(
                    "There was no time to look at '{}' again: {}.",
                    self.name,
                    unchecked.join(", and ")
                ),
            });
        }
        warnings
    }
}

/// What is told of the files of one change.
#[derive(Debug)]
pub struct DeferredReports {
    files: Vec<Arc<DeferredReport>>,
    checks: Arc<SyntaxChecks>,
    /// The number of a file, and the look for its errors.
    pending: Option<(usize, PendingErrors)>,
}

impl DeferredReports {
    /// A worker is asked at once whether the first of them parses, so that it does while the disk
    /// is waited for.
    pub fn of(files: Vec<Arc<DeferredReport>>, means: EditContext) -> DeferredReports {
        let checks = means.checks.clone();
        let work = Work::new(CancelToken::new(), BEGUN_WITHIN);
        let begin = |(at, file): (usize, &Arc<DeferredReport>)| {
            let checked = file.checked()?;
            Some((at, checks.begin(checked, &work)?))
        };
        let pending = files.iter().enumerate().find_map(begin);
        DeferredReports {
            files,
            checks,
            pending,
        }
    }

    /// Works out what takes no longer than the disk needs for a few bytes.
    pub fn work_out(&self) {
        let work = Work::new(CancelToken::new(), reported_within());
        for file in &self.files {
            file.fingerprint();
            file.work_out_diff(&work);
        }
    }

    /// What is to be said of each file, given that all was done at `since`: what is not known soon
    /// after that is left out.
    pub fn warnings(mut self, since: Instant) -> Vec<Vec<Warning>> {
        let left = reported_within().saturating_sub(since.elapsed());
        let work = Work::new(CancelToken::new(), left);
        for file in &self.files {
            file.work_out_diff(&work);
        }
        for (at, file) in self.files.iter().enumerate() {
            let pending = self.pending.take_if(|(of, _)| *of == at);
            file.check(&self.checks, pending.map(|(_, pending)| pending), &work);
        }
        self.files.iter().map(|file| file.warnings()).collect()
    }
}
