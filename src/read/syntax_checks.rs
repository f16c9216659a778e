//! The syntax errors of texts before and after an edit, warm for the last texts of each document.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use quick_cache::sync::Cache as Bounded;

use crate::hashline::SyntaxErrors;
use crate::session::Document;
use crate::structure::{Code, NoStructure, Parsers, PendingErrors};
use crate::syntax::Language;
use crate::task::Work;
use crate::text::Text;

/// Documents whose errors are kept; each has some kilobytes of them at the most.
const DOCUMENTS: usize = 256;

/// What is known of the errors of texts.
#[derive(Debug)]
pub struct SyntaxChecks {
    parsers: Arc<Parsers>,
    /// The last text of a document.
    known: Bounded<Document, Arc<KnownCheck>>,
}

#[derive(Debug)]
struct KnownCheck {
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

impl<'a> Checked<'a> {
    /// As parsers take it.
    pub fn code(&self) -> Code<'a> {
        Code {
            document: key(self.document),
            text: self.text,
            content: self.content,
            language: self.language,
        }
    }
}

/// Tells one document from another, for the workers that keep their trees.
pub fn key(document: &Document) -> u64 {
    let mut hasher = DefaultHasher::new();
    document.hash(&mut hasher);
    hasher.finish()
}

impl SyntaxChecks {
    pub fn new(parsers: Arc<Parsers>) -> SyntaxChecks {
        SyntaxChecks {
            parsers,
            known: Bounded::new(DOCUMENTS),
        }
    }

    pub fn parsers(&self) -> &Parsers {
        &self.parsers
    }

    /// Has somebody look for the errors of a text that is soon asked about; `None` where that is not
    /// needed, or nobody is free.
    pub fn begin(&self, checked: Checked, work: &Work) -> Option<PendingErrors> {
        let code = checked.code();
        if !code.may_be_parsed() || self.known_of(checked).is_some() {
            return None;
        }
        self.parsers.begin_errors(&code, work)
    }

    /// Where a text does not parse; `pending` is what was begun for it. `None` where nobody can
    /// tell, because it is too large.
    ///
    /// # Errors
    ///
    /// `NoStructure` where nobody can tell just now.
    pub fn errors(
        &self,
        checked: Checked,
        pending: Option<PendingErrors>,
        work: &Work,
    ) -> Result<Option<Arc<SyntaxErrors>>, NoStructure> {
        let code = checked.code();
        if !code.may_be_parsed() {
            return Ok(None);
        }
        if let Some(errors) = self.known_of(checked) {
            return Ok(Some(errors));
        }
        let errors = Arc::new(match pending {
            Some(pending) => self.parsers.finish_errors(pending, &code, work)?,
            None => self.parsers.errors(&code, work)?,
        });
        let known = KnownCheck {
            content: checked.content,
            language: checked.language,
            errors: errors.clone(),
        };
        self.known.insert(checked.document.clone(), Arc::new(known));
        Ok(Some(errors))
    }

    fn known_of(&self, checked: Checked) -> Option<Arc<SyntaxErrors>> {
        let known = self.known.get(checked.document)?;
        let is_same =
            known.content == checked.content && known.language.name() == checked.language.name();
        is_same.then(|| known.errors.clone())
    }
}
