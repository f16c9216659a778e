//! Warm lists of what documents define; a list is never served for other content than it was made of.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache as Bounded;

use crate::outline::{Definition, QualifiedName};
use crate::session::Document;
use crate::structure::Parsers;
use crate::syntax::Language;
use crate::task::{LONG_FROM_BYTES, Work};

use super::source_file::{Lack, SourceFile};

/// What was made of one content.
#[derive(Debug, Clone)]
struct KnownDefinitions {
    content: u128,
    language: &'static Language,
    found: Arc<[Definition]>,
}

#[derive(Debug, Clone)]
struct DefinitionWeights;

impl Weighter<Document, KnownDefinitions> for DefinitionWeights {
    fn weight(&self, _document: &Document, made: &KnownDefinitions) -> u64 {
        let of_name = |name: &QualifiedName| size_of::<QualifiedName>() + name.as_text().len();
        let of_definition = |it: &Definition| {
            let names: usize = it.names.iter().map(of_name).sum();
            size_of::<Definition>() + it.signature.len() + names
        };
        (made.found.iter().map(of_definition).sum::<usize>() + 256) as u64
    }
}

/// The lists of all sessions, bounded by bytes.
pub struct Definitions {
    made: Bounded<Document, KnownDefinitions, DefinitionWeights>,
    parsers: Arc<Parsers>,
}

impl Definitions {
    /// A store of at most `budget` bytes.
    pub fn new(budget: u64, parsers: Arc<Parsers>) -> Definitions {
        Definitions {
            made: Bounded::with_weighter(64, budget, DefinitionWeights),
            parsers,
        }
    }

    pub fn set_budget(&self, budget: u64) {
        if self.made.capacity() != budget {
            self.made.set_capacity(budget);
        }
    }

    /// What a text defines. `None` where the size or the language are against a list.
    ///
    /// # Errors
    ///
    /// `Lack` where it is no longer wanted, or cannot be made.
    pub fn of(&self, source: &SourceFile, work: &Work) -> Result<Option<Arc<[Definition]>>, Lack> {
        let Some(code) = source.code() else {
            return Ok(None);
        };
        let known = self.made.get(source.document).filter(|made| {
            made.content == code.content && made.language.name() == code.language.name()
        });
        if let Some(made) = known {
            return Ok(Some(made.found));
        }
        if source.text.len_bytes() as u64 > LONG_FROM_BYTES && work.takes_long()? {
            return self.of(source, work);
        }
        let found: Arc<[Definition]> = self.parsers.definitions(&code, work)?.into();
        let made = KnownDefinitions {
            content: code.content,
            language: code.language,
            found: found.clone(),
        };
        self.made.insert(source.document.clone(), made);
        Ok(Some(found))
    }
}

impl std::fmt::Debug for Definitions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Definitions({} bytes)", self.made.weight())
    }
}
