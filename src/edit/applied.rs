//! Edits that were written, by what they asked for and what they made of their files, so that one that is sent again is known; texts are never kept.
//!
//! Requests are compared by what they say and not by how it is written: the documents, the tags,
//! and the ops with their rows, as they are after parsing. So another spelling of a path, CRLF in
//! the patch, or the other of the two forms make no other request.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hash;

use xxhash_rust::xxh3::Xxh3;

use crate::hashline::{Op, Tag};
use crate::session::{Document, MAX_SESSIONS, is_below};
use crate::workspace::RealPath;

use super::{Named, Planned};

/// Edits of one session that are remembered.
const REMEMBERED: usize = 64;

/// What a change asks for: equal for two that ask for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    identity: u128,
    /// Without a tag it is one of its session alone.
    names_tags: bool,
}

/// What a change asks for of one file, and what of it is the same whatever session asks.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    hash: u128,
    names_tag: bool,
}

impl Part {
    /// Of sections that are all of one document.
    pub fn of_patch(document: &Document, group: &[Named]) -> Part {
        Part::of_sections(document, group)
    }

    /// Of sections that change a file's name, or bring one back: it may not be there any more, so that
    /// nobody can tell in which form it was read.
    pub fn of_name(place: &RealPath, group: &[Named]) -> Part {
        Part::of_sections(place, group)
    }

    fn of_sections(document: &impl Hash, group: &[Named]) -> Part {
        let sections = || group.iter().map(|named| &named.section);
        let tags: BTreeSet<Tag> = sections().filter_map(|section| section.tag).collect();
        let mut hasher = Xxh3::new();
        ("patch", document, &tags).hash(&mut hasher);
        for hunk in sections().flat_map(|section| &section.hunks) {
            match &hunk.op {
                Op::Replace { lines, rows } if rows.is_empty() => {
                    Op::Delete { lines: *lines }.hash(&mut hasher);
                }
                op => op.hash(&mut hasher),
            }
        }
        Part {
            hash: hasher.digest128(),
            names_tag: !tags.is_empty(),
        }
    }

    /// Of a whole file.
    pub fn of_write(document: &Document, tag: Option<Tag>, text: &str) -> Part {
        let mut hasher = Xxh3::new();
        ("write", document, tag, text).hash(&mut hasher);
        Part {
            hash: hasher.digest128(),
            names_tag: tag.is_some(),
        }
    }
}

impl Request {
    /// One that asks for all of these, in whatever order.
    pub fn of(session: &str, parts: &[Part]) -> Request {
        let names_tags = parts.iter().any(|part| part.names_tag);
        let mut hashes: Vec<u128> = parts.iter().map(|part| part.hash).collect();
        hashes.sort_unstable();
        let mut hasher = Xxh3::new();
        (hashes, (!names_tags).then_some(session)).hash(&mut hasher);
        Request {
            identity: hasher.digest128(),
            names_tags,
        }
    }
}

/// What a change made of its files: equal where each of them has the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made(u128);

impl Made {
    /// Of documents and the hashes of their texts, in whatever order.
    pub fn of<'a>(files: impl Iterator<Item = (&'a Document, u128)>) -> Made {
        let hash = |(document, content): (&Document, u128)| {
            let mut hasher = Xxh3::new();
            (document, content).hash(&mut hasher);
            hasher.digest128()
        };
        let mut hashes: Vec<u128> = files.map(hash).collect();
        hashes.sort_unstable();
        let mut hasher = Xxh3::new();
        hashes.hash(&mut hasher);
        Made(hasher.digest128())
    }
}

impl Made {
    /// What a plan makes of its files, should it be carried out.
    pub fn of_planned(files: &[Planned]) -> Made {
        let made = files.iter().flat_map(|file| {
            let content = match file.is_no_change() {
                true => file.live.version.content,
                false => file.fingerprint().content,
            };
            file.made(content)
        });
        let made: Vec<_> = made.collect();
        Made::of(made.iter().map(|(document, content)| (document, *content)))
    }
}

/// The last changes of all sessions.
#[derive(Debug, Default)]
pub struct Applied {
    made: HashMap<u128, AppliedRequest>,
    sessions: HashMap<String, VecDeque<(Request, u64)>>,
    /// Counts what was remembered.
    clock: u64,
}

#[derive(Debug, Clone, Copy)]
struct AppliedRequest {
    made: Made,
    /// When it was remembered last.
    at: u64,
}

impl Applied {
    /// What came of the same request the last time.
    pub fn made_by(&self, request: Request) -> Option<Made> {
        self.made.get(&request.identity).map(|entry| entry.made)
    }

    /// Remembers one that was written; of its session it is the last one now.
    pub fn remember(&mut self, session: &str, request: Request, made: Made) {
        self.clock += 1;
        let at = self.clock;
        self.made
            .insert(request.identity, AppliedRequest { made, at });
        let own = self.sessions.entry(session.to_owned()).or_default();
        own.push_back((request, at));
        if own.len() > REMEMBERED
            && let Some(oldest) = own.pop_front()
        {
            self.forget(oldest);
        }
        while self.sessions.len() > MAX_SESSIONS {
            self.forget_quietest();
        }
    }

    /// Forgets what a session asked for without naming a version: who comes by that name later is
    /// another.
    pub fn close(&mut self, session: &str) {
        let mut all_gone: VecDeque<_> = VecDeque::new();
        let own = self.sessions.iter_mut();
        for (_, own) in own.filter(|(name, _)| is_below(name, session)) {
            let (kept, gone) = own.drain(..).partition(|(request, _)| request.names_tags);
            *own = kept;
            let mut gone: VecDeque<_> = gone;
            all_gone.append(&mut gone);
        }
        all_gone.into_iter().for_each(|entry| self.forget(entry));
    }

    fn forget(&mut self, (request, at): (Request, u64)) {
        // It may have been made again since, perhaps by another session.
        let entry = self.made.get(&request.identity);
        if entry.is_some_and(|entry| entry.at == at) {
            self.made.remove(&request.identity);
        }
    }

    /// Forgets the session that has changed nothing for the longest time.
    fn forget_quietest(&mut self) {
        let last = |own: &VecDeque<(Request, u64)>| own.back().map_or(0, |(_, at)| *at);
        let quietest = self.sessions.iter().min_by_key(|(_, own)| last(own));
        let Some(session) = quietest.map(|(session, _)| session.clone()) else {
            return;
        };
        let gone = self.sessions.remove(&session).unwrap_or_default();
        gone.into_iter().for_each(|entry| self.forget(entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Form;
    use crate::workspace::ResourceId;

    fn document(name: &str) -> Document {
        Document {
            id: ResourceId::Document(name.to_owned()),
            form: Form::Text,
        }
    }

    fn write(session: &str, tag: Option<Tag>, text: &str) -> Request {
        Request::of(session, &[Part::of_write(&document("a"), tag, text)])
    }

    fn made(content: u128) -> Made {
        Made::of([(&document("a"), content)].into_iter())
    }

    #[test]
    fn a_request_with_a_tag_is_the_same_of_every_session_and_one_without_is_not() {
        let tag = Some(Tag(7));
        assert_eq!(write("a", tag, "x"), write("b", tag, "x"));
        assert_ne!(write("a", tag, "x"), write("a", Some(Tag(8)), "x"));
        assert_ne!(write("a", tag, "x"), write("a", None, "x"));
        assert_ne!(write("a", None, "x"), write("b", None, "x"));
        assert_eq!(write("a", None, "x"), write("a", None, "x"));
        let (one, other) = (document("a"), document("b"));
        let parts = [
            Part::of_write(&one, tag, "x"),
            Part::of_write(&other, None, "y"),
        ];
        let turned = [parts[1], parts[0]];
        assert_eq!(Request::of("a", &parts), Request::of("b", &turned));
        let files = [(&one, 1), (&other, 2)];
        let swapped = [(&one, 2), (&other, 1)];
        assert_ne!(Made::of(files.into_iter()), Made::of(swapped.into_iter()));
    }

    #[test]
    fn the_last_of_each_session_are_remembered_and_no_more() {
        let mut applied = Applied::default();
        let first = write("a", Some(Tag(0)), "x");
        let of = |number: u16| write("a", Some(Tag(number)), "x");
        for number in 0..=REMEMBERED as u16 {
            applied.remember("a", of(number), made(number.into()));
        }
        assert_eq!(applied.made_by(first), None);
        assert_eq!(applied.made_by(of(1)), Some(made(1)));
        // Another session made it again, so it is not the first one's to forget.
        applied.remember("b", of(1), made(9));
        applied.remember("a", of(99), made(99));
        assert_eq!(applied.made_by(of(1)), Some(made(9)));
        for number in 0..MAX_SESSIONS {
            applied.remember(&format!("s{number}"), of(200), made(1));
        }
        assert_eq!(applied.sessions.len(), MAX_SESSIONS);
        assert_eq!(applied.made_by(of(99)), None);
        assert_eq!(applied.made_by(of(200)), Some(made(1)));
        assert_eq!(applied.made.len(), 1);
    }

    #[test]
    fn a_closed_session_leaves_what_names_a_version() {
        let mut applied = Applied::default();
        let (tagged, plain) = (write("a", Some(Tag(1)), "x"), write("a", None, "x"));
        applied.remember("a", tagged, made(1));
        applied.remember("a", plain, made(2));
        applied.close("a");
        assert_eq!(applied.made_by(tagged), Some(made(1)));
        assert_eq!(applied.made_by(plain), None);
    }
}
