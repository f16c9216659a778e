//! Snapshots: the texts that were shown of each document and the tags that name them; a tag is never handed out for a second text of its document.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::hashline::tag::{Fingerprint, Tag};
use crate::text::Text;
use crate::workspace::RealPath;

/// A file may be read in more than one form; each form is a document of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// The file's own text.
    Text,
}

/// What versions are of: a symlink and its target are one document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Document {
    pub path: RealPath,
    pub form: Form,
}

/// One text of a document. Identity is `content`; the tag is only its name.
#[derive(Debug, Clone)]
pub struct Version {
    pub tag: Tag,
    /// 128-bit hash of the normalised text.
    pub content: u128,
    pub text: Text,
}

/// Evicted names that are remembered, so that they are not given to another text.
const EVICTED_NAMES: usize = 65_536;

/// A version named this recently is evicted only after all others.
const RECENT: Duration = Duration::from_secs(600);

/// All snapshots, bounded by bytes. Shared by all sessions.
#[derive(Debug, Default)]
pub struct Snapshots {
    documents: HashMap<Document, History>,
    /// Evicted names, oldest first.
    evicted: VecDeque<(Document, Tag)>,
    /// The newest version of each document, by when it was last named.
    newest: Order,
    /// All other versions, likewise.
    superseded: Order,
    /// Counts namings, so that each has a place of its own in the order.
    clock: u64,
    bytes: u64,
    budget: u64,
}

/// Versions (document and content) by the moment they were last named.
type Order = BTreeMap<(Instant, u64), (Document, u128)>;

#[derive(Debug, Default)]
struct History {
    /// Oldest first; the last one is the newest.
    held: Vec<Held>,
    /// Every tag that names a text of this document, held or evicted.
    names: BTreeMap<u16, u128>,
}

#[derive(Debug)]
struct Held {
    version: Version,
    named_at: (Instant, u64),
}

/// What the store holds, for `agent/status`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SnapshotStatus {
    pub count: usize,
    pub bytes: u64,
}

impl Snapshots {
    /// A store of at most `budget` bytes of text.
    pub fn new(budget: u64) -> Snapshots {
        Snapshots {
            budget,
            ..Snapshots::default()
        }
    }

    pub fn set_budget(&mut self, budget: u64, now: Instant) -> Vec<(Document, u128)> {
        self.budget = budget;
        self.evict(now)
    }

    pub fn status(&self) -> SnapshotStatus {
        SnapshotStatus {
            count: self
                .documents
                .values()
                .map(|history| history.held.len())
                .sum(),
            bytes: self.bytes,
        }
    }

    /// Records that `text` is what the document holds now, and names it. A text that is equal
    /// after normalisation keeps its tag and takes the newest bytes. Returns the version, and
    /// which texts had to go for it.
    pub fn record(
        &mut self,
        document: &Document,
        text: &Text,
        fingerprint: Fingerprint,
        now: Instant,
    ) -> (Version, Vec<(Document, u128)>) {
        self.clock += 1;
        let named_at = (now, self.clock);
        let history = self.documents.entry(document.clone()).or_default();
        if let Some(last) = history.held.last()
            && let Some(entry) = self.newest.remove(&last.named_at)
        {
            self.superseded.insert(last.named_at, entry);
        }
        let content = fingerprint.content;
        let known = history
            .held
            .iter()
            .position(|held| held.version.content == content);
        let version = match known {
            Some(at) => {
                let mut held = history.held.remove(at);
                self.superseded.remove(&held.named_at);
                self.bytes -= weight(&held.version);
                held.version.text = text.clone();
                held.version
            }
            None => Version {
                tag: history.name(fingerprint),
                content,
                text: text.clone(),
            },
        };
        self.bytes += weight(&version);
        self.newest.insert(named_at, (document.clone(), content));
        history.held.push(Held {
            version: version.clone(),
            named_at,
        });
        (version, self.evict(now))
    }

    /// The held version of that name.
    pub fn named(&mut self, document: &Document, tag: Tag, now: Instant) -> Option<Version> {
        self.clock += 1;
        let named_at = (now, self.clock);
        let history = self.documents.get_mut(document)?;
        let held = history
            .held
            .iter_mut()
            .find(|held| held.version.tag == tag)?;
        for order in [&mut self.newest, &mut self.superseded] {
            if let Some(entry) = order.remove(&held.named_at) {
                order.insert(named_at, entry);
            }
        }
        held.named_at = named_at;
        Some(held.version.clone())
    }

    /// Whether the name was ever given to a text of the document and is still remembered.
    pub fn was_issued(&self, document: &Document, tag: Tag) -> bool {
        self.documents
            .get(document)
            .is_some_and(|history| history.names.contains_key(&tag.0))
    }

    /// Drops versions until the rest fits, the least needed ones first.
    fn evict(&mut self, now: Instant) -> Vec<(Document, u128)> {
        let mut gone = Vec::new();
        while self.bytes > self.budget {
            let Some((document, content)) = self.take_least_needed(now) else {
                break;
            };
            let Some(history) = self.documents.get_mut(&document) else {
                break;
            };
            let at = history
                .held
                .iter()
                .position(|held| held.version.content == content);
            if let Some(at) = at {
                let held = history.held.remove(at);
                self.bytes -= weight(&held.version);
                gone.push((document.clone(), content));
                self.evicted.push_back((document, held.version.tag));
                self.forget_old_names();
            }
        }
        gone
    }

    /// Superseded versions before newest ones, and what was named recently after all the rest.
    fn take_least_needed(&mut self, now: Instant) -> Option<(Document, u128)> {
        for recent_too in [false, true] {
            for order in [&mut self.superseded, &mut self.newest] {
                if let Some(first) = order.first_entry()
                    && (recent_too || now.saturating_duration_since(first.key().0) >= RECENT)
                {
                    return Some(first.remove());
                }
            }
        }
        None
    }

    fn forget_old_names(&mut self) {
        while self.evicted.len() > EVICTED_NAMES {
            let Some((document, tag)) = self.evicted.pop_front() else {
                return;
            };
            if let Some(history) = self.documents.get_mut(&document) {
                if !history.held.iter().any(|held| held.version.tag == tag) {
                    history.names.remove(&tag.0);
                }
                if history.names.is_empty() {
                    self.documents.remove(&document);
                }
            }
        }
    }
}

impl History {
    /// The tag of a text: the one it had, else its natural one, else the next that is free.
    fn name(&mut self, fingerprint: Fingerprint) -> Tag {
        let content = fingerprint.content;
        let mut tag = fingerprint.natural_tag;
        for _ in 0..=u16::MAX {
            match self.names.get(&tag) {
                Some(named) if *named == content => return Tag(tag),
                Some(_) => tag = tag.wrapping_add(1),
                None => break,
            }
        }
        self.names.insert(tag, content);
        Tag(tag)
    }
}

fn weight(version: &Version) -> u64 {
    version.text.len_bytes() as u64 + 256
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        Document {
            path: RealPath::for_tests("/w/a.txt"),
            form: Form::Text,
        }
    }

    fn record(store: &mut Snapshots, natural_tag: u16, content: u128) -> Tag {
        let fingerprint = Fingerprint {
            natural_tag,
            content,
        };
        let text = Text::new("some text\n");
        store
            .record(&document(), &text, fingerprint, Instant::now())
            .0
            .tag
    }

    #[test]
    fn a_tag_is_never_given_to_another_text() {
        let mut store = Snapshots::new(1 << 20);
        assert_eq!(record(&mut store, 0x1D84, 1), Tag(0x1D84));
        assert_eq!(record(&mut store, 0x1D84, 2), Tag(0x1D85));
        assert_eq!(record(&mut store, 0x1D84, 1), Tag(0x1D84));
        assert_eq!(record(&mut store, 0xFFFF, 3), Tag(0xFFFF));
        assert_eq!(record(&mut store, 0xFFFF, 4), Tag(0));
    }

    #[test]
    fn eviction_keeps_names() {
        let mut store = Snapshots::new(300);
        assert_eq!(record(&mut store, 7, 1), Tag(7));
        assert_eq!(record(&mut store, 7, 2), Tag(8));
        assert_eq!(store.status().count, 1);
        assert!(store.named(&document(), Tag(7), Instant::now()).is_none());
        assert!(store.was_issued(&document(), Tag(7)));
        assert_eq!(record(&mut store, 7, 3), Tag(9));
        assert_eq!(record(&mut store, 7, 1), Tag(7));
    }
}
