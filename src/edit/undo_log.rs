//! What edits replaced, by the text that each made; bounded, the oldest go first.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use crate::hashline::Inverse;
use crate::session::Document;

/// Bytes and edits that are kept; of more the oldest go.
const MAX_BYTES: u64 = 16 << 20;
const MAX_EDITS: usize = 4096;

/// What the last edits of all sessions replaced.
#[derive(Debug, Default)]
pub struct UndoLog {
    kept: HashMap<(Document, u128), UndoEntry>,
    /// By when they were made.
    order: BTreeMap<u64, (Document, u128)>,
    clock: u64,
    bytes: u64,
}

#[derive(Debug)]
struct UndoEntry {
    replaced: Arc<Replaced>,
    at: u64,
}

/// What an edit replaced.
#[derive(Debug)]
pub(super) struct Replaced {
    pub lines: Inverse,
    pub json: Option<ReplacedJson>,
}

/// Of a notebook's JSON, by bytes of what the edit made.
#[derive(Debug)]
pub(super) struct ReplacedJson {
    /// The hash of all that the edit made.
    pub made: u128,
    pub parts: Vec<(Range<usize>, String)>,
}

impl Replaced {
    fn weight(&self) -> u64 {
        let parts = self.json.iter().flat_map(|json| &json.parts);
        let json: usize = parts.map(|(_, text)| text.len()).sum();
        self.lines.weight() + json as u64 + 256
    }
}

impl UndoLog {
    pub(super) fn keep(&mut self, key: (Document, u128), replaced: Option<Replaced>) {
        // What made the same text before is no longer what made it.
        self.forget(&key);
        let Some(replaced) = replaced.filter(|it| it.weight() <= MAX_BYTES) else {
            return;
        };
        self.clock += 1;
        self.bytes += replaced.weight();
        self.order.insert(self.clock, key.clone());
        let (replaced, at) = (Arc::new(replaced), self.clock);
        self.kept.insert(key, UndoEntry { replaced, at });
        while self.bytes > MAX_BYTES || self.kept.len() > MAX_EDITS {
            let Some((_, oldest)) = self.order.pop_first() else {
                return;
            };
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, key: &(Document, u128)) {
        if let Some(kept) = self.kept.remove(key) {
            self.order.remove(&kept.at);
            self.bytes -= kept.replaced.weight();
        }
    }

    pub(super) fn by_edit(&self, document: &Document, made: u128) -> Option<Arc<Replaced>> {
        let kept = self.kept.get(&(document.clone(), made))?;
        Some(kept.replaced.clone())
    }
}
