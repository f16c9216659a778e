//! Snapshots: the texts that were shown of each document and the tags that name them; a tag is never handed out for a second text of its document.

mod moved;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::buffer::{ChangeLog, LogPosition, Overlay, Overlays};
use crate::hashline::{Fingerprint, LineMap, Tag};
use crate::protocol::status::MemoryUse;
use crate::text::Text;
use crate::workspace::ResourceId;

pub use moved::MovedTo;

/// A file may be read in more than one form; each form is a document of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// The file's own text.
    Text,
    /// The cells of a notebook.
    Notebook,
}

/// What versions are of: a symlink and its target are one document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Document {
    pub id: ResourceId,
    pub form: Form,
}

/// A text that a document holds now.
#[derive(Debug, Clone)]
pub struct Current {
    pub text: Text,
    pub fingerprint: Fingerprint,
    /// Where it stands in the editor's record of changes, if it is the editor's.
    pub place: Option<LogPosition>,
    /// When it was looked at.
    pub as_of: AsOf,
}

/// When a text was looked at: what the editor had then, and what the disk.
///
/// A look at the disk goes by what was known of the editor when its request came; by the time it
/// is done the editor may have another text, which must not be taken for an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsOf {
    is_open: bool,
    /// Since when the editor has had what it has; of a document that it does not have open, when
    /// that was known.
    editor: Instant,
    disk: Instant,
}

impl AsOf {
    /// The editor's own text, which it has had since then.
    pub fn of_editor(since: Instant) -> AsOf {
        AsOf {
            is_open: true,
            editor: since,
            disk: since,
        }
    }

    /// The text of a file that was opened then; `clean` is the document that is a copy of it.
    pub fn of_disk(opened_at: Instant, clean: Option<&Overlay>, overlays: &Overlays) -> AsOf {
        AsOf {
            is_open: clean.is_some(),
            editor: match clean {
                Some(overlay) => overlay.since,
                None => overlays.taken_at.unwrap_or(opened_at),
            },
            disk: opened_at,
        }
    }

    fn is_after(&self, other: &AsOf) -> bool {
        match self.is_open || other.is_open {
            true => (self.editor, self.disk) > (other.editor, other.disk),
            false => self.disk > other.disk,
        }
    }
}

/// One text of a document. Identity is `content`; the tag is only its name.
#[derive(Debug, Clone)]
pub struct Version {
    pub tag: Tag,
    /// 128-bit hash of the normalised text.
    pub content: u128,
    pub text: Text,
    /// Where it stands in the editor's records of changes, at most [`MAX_PLACES`].
    places: Vec<LogPosition>,
    /// Where it stands in the records of our own edits, likewise.
    ours: Vec<LogPosition>,
    as_of: AsOf,
}

/// Records of changes of one kind that one version is kept in.
const MAX_PLACES: usize = 4;

impl Version {
    /// What stands where there is no file: an empty text that no tag names.
    pub fn nothing() -> Version {
        Version {
            tag: Tag(0),
            content: 0,
            text: Text::default(),
            places: Vec::new(),
            ours: Vec::new(),
            as_of: AsOf::of_editor(Instant::now()),
        }
    }

    /// Where the lines of this version are in a later one: exactly, where every change between was
    /// seen, else by a diff.
    pub fn map_to(&self, later: &Version) -> LineMap {
        self.exact_map_to(later)
            .unwrap_or_else(|| LineMap::of_diff(&self.text, &later.text))
    }

    /// That map where every change between was seen.
    pub fn exact_map_to(&self, later: &Version) -> Option<LineMap> {
        let (here, there) = self.in_one_record(later)?;
        here.map_to(there)
    }

    /// Whether every change between this version and a later one was seen.
    pub fn reaches(&self, later: &Version) -> bool {
        self.in_one_record(later).is_some()
    }

    /// Whether every change between this version and a later one was an edit of ours.
    pub fn was_edited_into(&self, later: &Version) -> bool {
        in_one_record(&self.ours, &later.ours).is_some()
    }

    /// Our own record comes first: it knows which of several like lines was meant.
    fn in_one_record<'a>(
        &'a self,
        later: &'a Version,
    ) -> Option<(&'a LogPosition, &'a LogPosition)> {
        in_one_record(&self.ours, &later.ours)
            .or_else(|| in_one_record(&self.places, &later.places))
    }
}

fn in_one_record<'a>(
    earlier: &'a [LogPosition],
    later: &'a [LogPosition],
) -> Option<(&'a LogPosition, &'a LogPosition)> {
    let pairs = earlier.iter().flat_map(|here| {
        let there = later.iter();
        there.map(move |there| (here, there))
    });
    let mut pairs = pairs.filter(|(here, there)| here.reaches(there));
    pairs.next()
}

/// Puts a version in one more record, or at a later place of one that it is in.
fn add_place(places: &mut Vec<LogPosition>, place: LogPosition) {
    places.retain(|known| !known.is_of(&place));
    places.push(place);
    if places.len() > MAX_PLACES {
        places.remove(0);
    }
}

/// Evicted names that are remembered, so that they are not given to another text.
const EVICTED_NAMES: usize = 65_536;

/// A version named this recently is evicted only after all others.
const RECENT: Duration = Duration::from_secs(600);

/// All snapshots, bounded by bytes. Shared by all sessions.
#[derive(Debug, Default)]
pub struct Snapshots {
    documents: HashMap<Document, History>,
    /// Evicted names, oldest first, each with the moment it was evicted.
    evicted: VecDeque<(Document, Tag, u64)>,
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
    held: Vec<HeldVersion>,
    /// Every tag that names a text of this document, held or evicted.
    names: BTreeMap<u16, TaggedText>,
    /// The text that our last edit made, and its place in the record of our edits.
    edited: Option<(u128, LogPosition)>,
    /// Where its file was moved to by us.
    moved_to: Option<Document>,
    /// Where its file was moved from, and the text that it had then.
    moved_from: Option<(Document, u128)>,
}

#[derive(Debug)]
struct TaggedText {
    content: u128,
    /// The moment the text was last evicted.
    evicted_at: u64,
    /// It went when the file was moved.
    is_moved: bool,
}

#[derive(Debug)]
struct HeldVersion {
    version: Version,
    named_at: (Instant, u64),
}

/// What came of recording a text.
#[derive(Debug)]
pub struct Recorded {
    pub version: Version,
    /// The document is known to have held something else since.
    pub late: bool,
    /// Texts that had to go, by document and content.
    pub gone: Vec<(Document, u128)>,
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

    pub fn status(&self) -> MemoryUse {
        MemoryUse {
            count: self
                .documents
                .values()
                .map(|history| history.held.len())
                .sum(),
            bytes: self.bytes,
        }
    }

    /// Records what the document held when it was looked at, and names it. A text that is equal
    /// after normalisation keeps its tag and takes the newest bytes.
    pub fn record(&mut self, document: &Document, current: &Current, now: Instant) -> Recorded {
        self.clock += 1;
        let named_at = (now, self.clock);
        let history = self.documents.entry(document.clone()).or_default();
        let content = current.fingerprint.content;
        // A slow read may come in with what the document held before the newest version did.
        let late = history.held.last().is_some_and(|newest| {
            newest.version.content != content && newest.version.as_of.is_after(&current.as_of)
        });
        if !late
            && let Some(last) = history.held.last()
            && let Some(entry) = self.newest.remove(&last.named_at)
        {
            self.superseded.insert(last.named_at, entry);
        }
        let known = history
            .held
            .iter()
            .rposition(|held| held.version.content == content);
        let (tag, places, ours) = match known {
            Some(at) => {
                let is_newest = at + 1 == history.held.len();
                let held = history.held.remove(at);
                self.superseded.remove(&held.named_at);
                self.bytes -= weight(&held.version);
                // What came back from outside did so by a change that nobody saw.
                let (places, ours) = match is_newest {
                    true => (held.version.places, held.version.ours),
                    false => Default::default(),
                };
                (held.version.tag, places, ours)
            }
            None => {
                let tag = history.name(current.fingerprint);
                (tag, Vec::new(), Vec::new())
            }
        };
        let mut version = Version {
            tag,
            content,
            text: current.text.clone(),
            places,
            ours,
            as_of: current.as_of,
        };
        if let Some(place) = &current.place {
            add_place(&mut version.places, place.clone());
        }
        self.bytes += weight(&version);
        let order = if late {
            &mut self.superseded
        } else {
            &mut self.newest
        };
        order.insert(named_at, (document.clone(), content));
        let at = history.held.len() - usize::from(late);
        history.held.insert(
            at,
            HeldVersion {
                version: version.clone(),
                named_at,
            },
        );
        Recorded {
            version,
            late,
            gone: self.evict(now),
        }
    }

    /// Records what an edit of ours made of the version `before`, by a map that is exact.
    pub fn record_edit(
        &mut self,
        document: &Document,
        before: u128,
        map: LineMap,
        after: &Current,
        now: Instant,
    ) -> Recorded {
        let history = self.documents.entry(document.clone()).or_default();
        let base = match history.edited.take() {
            Some((content, place)) if content == before => place,
            _ => ChangeLog::begin(),
        };
        let held = history.held.iter_mut();
        if let Some(held) = held.rev().find(|held| held.version.content == before) {
            add_place(&mut held.version.ours, base.clone());
        }
        let place = base.then(map);
        let mut recorded = self.record(document, after, now);
        let content = after.fingerprint.content;
        if let Some(history) = self.documents.get_mut(document)
            && !recorded.late
        {
            history.edited = Some((content, place.clone()));
            let held = history.held.iter_mut();
            if let Some(held) = held.rev().find(|held| held.version.content == content) {
                add_place(&mut held.version.ours, place);
                recorded.version = held.version.clone();
            }
        }
        recorded
    }

    /// The version of a tag and all that came after it, in order; names them anew. `None` when it
    /// is not held.
    pub fn since(&mut self, document: &Document, tag: Tag, now: Instant) -> Option<Vec<Version>> {
        self.named(document, tag, now)?;
        let held = &self.documents.get(document)?.held;
        let at = held.iter().rposition(|held| held.version.tag == tag)?;
        Some(held[at..].iter().map(|held| held.version.clone()).collect())
    }

    /// The held version of that content, without naming it anew.
    pub fn holding(&self, document: &Document, content: u128) -> Option<&Version> {
        let held = &self.documents.get(document)?.held;
        let found = held
            .iter()
            .rev()
            .find(|held| held.version.content == content);
        found.map(|held| &held.version)
    }

    /// Whether this is what the document holds, as far as is known.
    pub fn is_newest(&self, document: &Document, content: u128) -> bool {
        let newest = self
            .documents
            .get(document)
            .and_then(|history| history.held.last());
        newest.is_some_and(|newest| newest.version.content == content)
    }

    /// The held version of that name.
    pub fn named(&mut self, document: &Document, tag: Tag, now: Instant) -> Option<Version> {
        self.clock += 1;
        let named_at = (now, self.clock);
        let history = self.documents.get_mut(document)?;
        let held = history
            .held
            .iter_mut()
            .rev()
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
                self.clock += 1;
                if let Some(name) = history.names.get_mut(&held.version.tag.0) {
                    name.evicted_at = self.clock;
                }
                self.evicted
                    .push_back((document, held.version.tag, self.clock));
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
            let Some((document, tag, evicted_at)) = self.evicted.pop_front() else {
                return;
            };
            let Some(history) = self.documents.get_mut(&document) else {
                continue;
            };
            let held = history.held.iter().any(|held| held.version.tag == tag);
            let name = history.names.get(&tag.0);
            if !held && name.is_some_and(|name| name.evicted_at == evicted_at) {
                history.names.remove(&tag.0);
            }
            if history.names.is_empty() {
                self.documents.remove(&document);
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
            match self.names.get_mut(&tag) {
                Some(named) if named.content == content => {
                    named.is_moved = false;
                    return Tag(tag);
                }
                Some(_) => tag = tag.wrapping_add(1),
                None => break,
            }
        }
        let name = TaggedText {
            content,
            evicted_at: 0,
            is_moved: false,
        };
        self.names.insert(tag, name);
        Tag(tag)
    }
}

fn weight(version: &Version) -> u64 {
    version.text.len_bytes() as u64 + 256
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::RealPath;

    fn document() -> Document {
        Document {
            id: ResourceId::File(RealPath::for_tests("/w/a.txt")),
            form: Form::Text,
        }
    }

    fn record(store: &mut Snapshots, natural_tag: u16, content: u128) -> Tag {
        let fingerprint = Fingerprint {
            natural_tag,
            content,
        };
        let current = Current {
            text: Text::new("some text\n"),
            fingerprint,
            place: None,
            as_of: AsOf::of_editor(Instant::now()),
        };
        let recorded = store.record(&document(), &current, Instant::now());
        recorded.version.tag
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
    fn a_late_look_at_the_disk_is_not_newer_than_what_was_typed_meanwhile() {
        let start = Instant::now();
        let later = |millis| start + Duration::from_millis(millis);
        let mut overlays = Overlays::default();
        overlays.open("file:///w/a.txt".into(), 1, String::new(), "old");
        overlays.taken_at = Some(start);
        let key = crate::buffer::DocumentId::of("file:///w/a.txt");
        let clean = overlays.unjudged(&key).expect("it is open");
        let looked = AsOf::of_disk(clean.since + Duration::from_secs(9), Some(clean), &overlays);
        let typed = AsOf::of_editor(clean.since + Duration::from_secs(5));
        assert!(typed.is_after(&looked) && !looked.is_after(&typed));
        // Of a file that nobody has open the later look counts, whenever it was asked for.
        let nobody = |taken_at, opened_at| {
            let mut overlays = Overlays::default();
            overlays.taken_at = Some(taken_at);
            AsOf::of_disk(opened_at, None, &overlays)
        };
        let (first, second) = (nobody(later(0), later(5)), nobody(later(1), later(2)));
        assert!(first.is_after(&second) && !second.is_after(&first));
        // What was read after the document was closed is newer than what it held.
        let closed = nobody(
            clean.since + Duration::from_secs(6),
            clean.since + Duration::from_secs(7),
        );
        assert!(closed.is_after(&typed));
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
