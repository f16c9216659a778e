//! A text that may be in some language, and why nothing is known of its structure.

use crate::protocol::Refusal;
use crate::session::Document;
use crate::structure::{Code, NoStructure};
use crate::syntax::{self, Language};
use crate::task::Stopped;
use crate::text::Text;

use super::syntax_checks::key;

/// A text that may be in some language.
#[derive(Debug, Clone, Copy)]
pub struct SourceFile<'a> {
    pub document: &'a Document,
    /// By which the language is told, where `said` does not say it.
    pub file_name: &'a str,
    pub said: Option<&'static Language>,
    pub text: &'a Text,
    /// 128-bit hash of the normalised text.
    pub content: u128,
}

impl<'a> SourceFile<'a> {
    /// As parsers take it; `None` where it is in no language or too large.
    pub fn code(&self) -> Option<Code<'a>> {
        self.code_of_any_size().filter(Code::may_be_parsed)
    }

    /// Whether it is in some language, and too large.
    pub fn is_too_large(&self) -> bool {
        self.code_of_any_size()
            .is_some_and(|code| !code.may_be_parsed())
    }

    /// As parsers would take it, were it not too large; `None` where it is in no language.
    pub fn code_of_any_size(&self) -> Option<Code<'a>> {
        let said = self.said;
        let language = said.or_else(|| syntax::detect(self.file_name, self.text));
        language.map(|language| Code {
            document: key(self.document),
            text: self.text,
            content: self.content,
            language,
        })
    }
}

/// Why there is no structure of a text.
#[derive(Debug)]
pub enum Lack {
    /// It is not to be asked for any more.
    Refused(Refusal),
    /// There is none to be had; the text is shown without it.
    NoStructure(NoStructure),
}

impl From<Stopped> for Lack {
    fn from(stopped: Stopped) -> Lack {
        Lack::Refused(stopped.into())
    }
}

impl From<NoStructure> for Lack {
    fn from(why: NoStructure) -> Lack {
        match why {
            NoStructure::Stopped(stopped) => stopped.into(),
            why => Lack::NoStructure(why),
        }
    }
}
