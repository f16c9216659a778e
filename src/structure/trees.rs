//! The trees of the last documents, each to be asked again, or to parse the next state of its text from.

use std::collections::VecDeque;

use crate::syntax::{self, Language, Parsed, Source};
use crate::task::{Stopped, Work};

/// About the bytes that all of them take while there are requests, and when there were none for a
/// while.
const MAX_BYTES: usize = 32 * 1024 * 1024;
const MAX_BYTES_IDLE: usize = 4 * 1024 * 1024;

/// The trees, of the document that was asked about last at the end.
#[derive(Debug, Default)]
pub(super) struct Trees(VecDeque<CachedTree>);

/// One state of a document.
#[derive(Debug)]
struct CachedTree {
    document: u64,
    content: [u64; 2],
    parsed: Parsed,
    language: &'static Language,
    /// Whether it was parsed without an earlier tree. Only then is its shape the same every time.
    is_fresh: bool,
    weight: usize,
}

/// A text to be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParseRequest {
    pub document: u64,
    pub content: [u64; 2],
    /// Whether it must be parsed without an earlier tree.
    pub fresh: bool,
}

impl Trees {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text, parsed.
    pub fn parsed(
        &mut self,
        wanted: ParseRequest,
        source: Source,
        language: &'static Language,
        work: &Work,
    ) -> Result<&Parsed, Stopped> {
        let at = self.0.iter().position(|kept| {
            kept.document == wanted.document && kept.language.name() == language.name()
        });
        let earlier = at.and_then(|at| self.0.remove(at));
        let kept = match earlier {
            Some(kept) if kept.content == wanted.content && (kept.is_fresh || !wanted.fresh) => {
                kept
            }
            earlier => {
                let again = match &earlier {
                    Some(earlier) if !wanted.fresh => earlier.parsed.parse_again(&source, work)?,
                    _ => None,
                };
                let is_fresh = again.is_none();
                let parsed = match again {
                    Some(parsed) => parsed,
                    None => syntax::parse(source, language, work)?,
                };
                CachedTree {
                    document: wanted.document,
                    content: wanted.content,
                    weight: parsed.weight(),
                    parsed,
                    language,
                    is_fresh,
                }
            }
        };
        self.0.push_back(kept);
        // It was put there just now.
        Ok(&self.0.back().expect("the last").parsed)
    }

    /// Lets go of what is over the bound, also of the last document's where that alone is. To free a
    /// tree takes a while: this is for after an answer.
    pub fn shrink(&mut self) {
        self.shrink_to(MAX_BYTES);
    }

    /// Lets go of all but what an idle process may hold.
    pub fn rest(&mut self) {
        self.shrink_to(MAX_BYTES_IDLE);
    }

    fn shrink_to(&mut self, bytes: usize) {
        let mut held: usize = self.0.iter().map(|kept| kept.weight).sum();
        while held > bytes {
            let Some(oldest) = self.0.pop_front() else {
                return;
            };
            held -= oldest.weight;
        }
    }
}
