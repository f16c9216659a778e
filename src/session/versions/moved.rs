//! Documents whose file was moved: the versions go along with their names, and what is left where they were says where to; a tag still never names two texts of one document.

use std::time::Instant;

use crate::hashline::{Fingerprint, Tag};

use super::{Document, HeldVersion, History, Snapshots, TaggedText, weight};

/// Where what a tag named is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedTo {
    pub document: Document,
    /// The newest tag there, as far as is known.
    pub tag: Option<Tag>,
}

/// Moves that are followed from one place.
const MAX_MOVES: usize = 64;

impl Snapshots {
    /// The file of one document is that of another now.
    pub fn move_all(&mut self, from: &Document, to: &Document, now: Instant) {
        let Some(mut source) = self.documents.remove(from) else {
            return;
        };
        self.clock += 1;
        let mut target = self.documents.remove(to).unwrap_or_default();
        if let Some(last) = target.held.last()
            && let Some(entry) = self.newest.remove(&last.named_at)
        {
            self.superseded.insert(last.named_at, entry);
        }
        // The newest are asked for first.
        for held in source.held.iter_mut().rev() {
            held.version.tag = target.name(Fingerprint {
                natural_tag: held.version.tag.0,
                content: held.version.content,
            });
        }
        for held in source.held.drain(..) {
            self.take_along(held, to, &mut target);
        }
        for (tag, name) in &mut source.names {
            let known = target.names.entry(*tag);
            let there = known.or_insert_with(|| {
                self.evicted.push_back((to.clone(), Tag(*tag), self.clock));
                TaggedText {
                    content: name.content,
                    evicted_at: self.clock,
                    is_moved: false,
                }
            });
            if there.content == name.content {
                there.is_moved = false;
            }
            (name.is_moved, name.evicted_at) = (true, self.clock);
            self.evicted
                .push_back((from.clone(), Tag(*tag), self.clock));
        }
        let newest = target.held.last().map(|held| held.version.content);
        target.edited = source.edited.take();
        target.moved_from = newest.map(|content| (from.clone(), content));
        target.moved_to = None;
        source.moved_to = Some(to.clone());
        source.moved_from = None;
        self.documents.insert(from.clone(), source);
        self.documents.insert(to.clone(), target);
        self.forget_old_names();
        self.evict(now);
    }

    /// Makes a version, named by now, one of another document.
    fn take_along(&mut self, held: HeldVersion, to: &Document, target: &mut History) {
        let content = held.version.content;
        let same = |other: &HeldVersion| other.version.content == content;
        if let Some(at) = target.held.iter().position(same) {
            let other = target.held.remove(at);
            self.superseded.remove(&other.named_at);
            self.bytes -= weight(&other.version);
        }
        for order in [&mut self.newest, &mut self.superseded] {
            if let Some(entry) = order.get_mut(&held.named_at) {
                entry.0 = to.clone();
            }
        }
        target.held.push(held);
    }

    /// Where the file is now that had this tag under that document, if it was moved since.
    pub fn moved_to(&self, document: &Document, tag: Tag) -> Option<MovedTo> {
        let next = |document: &Document| {
            let history = self.documents.get(document)?;
            let is_moved = history.names.get(&tag.0)?.is_moved;
            history.moved_to.as_ref().filter(|_| is_moved)
        };
        let mut at = next(document)?;
        for _ in 0..MAX_MOVES {
            match next(at) {
                Some(further) => at = further,
                None => break,
            }
        }
        Some(MovedTo {
            document: at.clone(),
            tag: self.newest_tag(at),
        })
    }

    /// The tag of the newest version of a document.
    pub fn newest_tag(&self, document: &Document) -> Option<Tag> {
        let held = &self.documents.get(document)?.held;
        held.last().map(|held| held.version.tag)
    }

    /// Where a document was before, whose file came to it by being moved and has had this text since.
    pub fn moved_from(&self, document: &Document, content: u128) -> Option<&Document> {
        let (from, then) = self.documents.get(document)?.moved_from.as_ref()?;
        (*then == content).then_some(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::versions::{AsOf, Current, Form};
    use crate::text::Text;
    use crate::workspace::{RealPath, ResourceId};

    fn document(path: &str) -> Document {
        Document {
            id: ResourceId::File(RealPath::for_tests(path)),
            form: Form::Text,
        }
    }

    fn record(store: &mut Snapshots, document: &Document, natural_tag: u16, content: u128) -> Tag {
        let current = Current {
            text: Text::new("some text\n"),
            fingerprint: Fingerprint {
                natural_tag,
                content,
            },
            place: None,
            as_of: AsOf::of_editor(Instant::now()),
        };
        let recorded = store.record(document, &current, Instant::now());
        recorded.version.tag
    }

    #[test]
    fn versions_go_along_with_their_names_and_no_name_is_of_two_texts() {
        let (a, b) = (document("/w/a"), document("/w/b"));
        let mut store = Snapshots::new(1 << 20);
        record(&mut store, &a, 1, 10);
        record(&mut store, &a, 2, 20);
        // Another file was there before, with a text that has one of the names.
        record(&mut store, &b, 1, 99);
        store.move_all(&a, &b, Instant::now());
        let named = |store: &mut Snapshots, document: &Document, tag: u16| {
            let found = store.named(document, Tag(tag), Instant::now());
            found.map(|version| version.content)
        };
        assert_eq!(named(&mut store, &b, 2), Some(20));
        assert_eq!(named(&mut store, &b, 1), Some(99));
        // The next free one: 2 is of the other version, which came after it.
        let minted = store.holding(&b, 10).expect("it came along").tag;
        assert_eq!(named(&mut store, &b, minted.0), Some(10));
        assert_eq!(named(&mut store, &a, 2), None);
        let moved = store.moved_to(&a, Tag(2)).expect("it was moved");
        assert_eq!((moved.document, moved.tag), (b.clone(), Some(Tag(2))));
        assert_eq!(store.moved_from(&b, 20), Some(&a));
        assert_eq!(store.moved_from(&b, 10), None);
        // A new file in the old place has names of its own.
        assert_eq!(record(&mut store, &a, 2, 30), Tag(3));
        assert_eq!(record(&mut store, &a, 2, 20), Tag(2));
        assert_eq!(store.moved_to(&a, Tag(2)), None);
    }

    #[test]
    fn a_file_that_goes_from_place_to_place_and_back_is_followed() {
        let places = ["/w/a", "/w/b", "/w/c"].map(document);
        let mut store = Snapshots::new(1 << 20);
        record(&mut store, &places[0], 7, 1);
        for pair in places.windows(2) {
            store.move_all(&pair[0], &pair[1], Instant::now());
        }
        let at = |store: &Snapshots, place: usize| {
            let moved = store.moved_to(&places[place], Tag(7));
            moved.map(|moved| moved.document)
        };
        assert_eq!(at(&store, 0), Some(places[2].clone()));
        store.move_all(&places[2], &places[0], Instant::now());
        assert_eq!(at(&store, 0), None);
        assert_eq!(at(&store, 1), Some(places[0].clone()));
        assert_eq!(store.status().count, 1);
    }
}
