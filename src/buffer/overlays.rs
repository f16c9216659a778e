//! All open documents, as a map that shares what did not change with the one before it, and the one way to the text of each.
//!
//! A document of a file is reached by a [`RealPath`] alone, which is the proof that access allows
//! the file: its text is given if and only if the file at its address may be read, there or not.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use encoding_rs::Encoding;
use rpds::HashTrieMapSync;

use crate::text::PositionEncoding;
use crate::workspace::{RealPath, Scope};

use super::leads::Leads;
use super::offered::OfferedSchemes;
use super::overlay::{Change, DocumentId, Overlay};

/// All open documents. A clone is the state of one moment; taking it and changing what it was
/// taken of cost the same however many are open.
#[derive(Debug, Clone, Default)]
pub struct Overlays {
    open: HashTrieMapSync<DocumentId, Arc<Overlay>>,
    /// How many changes there were.
    edition: u64,
    /// Bytes of the longest key in no file that there ever was.
    longest: usize,
    /// Of all moments: what it says of a document that is not open in this one is passed over.
    leads: Arc<Leads>,
    /// When this state was taken to go by; `None` for one that cannot change.
    pub taken_at: Option<Instant>,
    /// The schemes of which the client has the texts, whether it has opened any of them or not.
    pub offered: OfferedSchemes,
}

impl Overlays {
    /// Whether nothing was opened, changed or closed between two moments of the same documents.
    pub fn is_same(&self, other: &Overlays) -> bool {
        self.edition == other.edition
    }

    /// The open document of a file, there or not, under whichever of its names the editor has it.
    ///
    /// Under the file's own name it was judged with the real path; another name, which leads there
    /// by a link, is judged here, as a read by that name would be.
    pub fn of_file(&self, real: &RealPath, scope: &Scope) -> Option<&Arc<Overlay>> {
        if self.open.is_empty() {
            return None;
        }
        if let Some(overlay) = self.at(real.as_path()) {
            return Some(overlay);
        }
        let linked = self.leads.addresses_of(real.as_path());
        linked.iter().find_map(|address| {
            let overlay = self.at(address)?;
            let leads = scope.look_at(address).ok()?;
            if leads.real() == real {
                return Some(overlay);
            }
            // The link was changed.
            self.leads.look_up(address);
            None
        })
    }

    /// The open document that is in no file, by its key; `None` for what has a `file:` address,
    /// though it leads to no file of this machine.
    pub fn of_no_file(&self, key: &DocumentId) -> Option<&Arc<Overlay>> {
        match key.is_of_files() {
            true => None,
            false => self.open.get(key),
        }
    }

    /// Like [`Overlays::of_no_file`], by a path string that may be its URI.
    pub fn called(&self, path: &str) -> Option<&Arc<Overlay>> {
        // The string can be long, and an escape makes one byte of three.
        match path.len() > 3 * self.longest {
            true => None,
            false => self.of_no_file(&DocumentId::of(path)),
        }
    }

    /// Whether a document can be open where a path at which nothing is would lead: the path is its
    /// own spelling, or some document has a name that leads elsewhere or to nothing. Does no I/O.
    pub fn may_be_at(&self, path: &Path) -> bool {
        !self.open.is_empty() && (self.at(path).is_some() || self.leads.are_any())
    }

    /// What the editor has at a key. Nothing was judged: for what goes back to the editor or is
    /// compared with what it had, never for an answer.
    pub fn unjudged(&self, key: &DocumentId) -> Option<&Arc<Overlay>> {
        self.open.get(key)
    }

    /// The addresses of all documents that have one of a file, there or not. Nothing was judged.
    pub fn addresses(&self) -> impl Iterator<Item = &Path> {
        self.open.keys().filter_map(|key| match key {
            DocumentId::File(address) => Some(&**address),
            DocumentId::Other(_) => None,
        })
    }

    fn at(&self, path: &Path) -> Option<&Arc<Overlay>> {
        self.open
            .get(&DocumentId::File(path.components().collect()))
    }

    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// A document was opened, or opened again.
    pub fn open(&mut self, uri: String, version: i32, language_id: String, text: &str) {
        let overlay = Overlay::opened(uri, version, language_id, text);
        if let DocumentId::File(address) = &overlay.key {
            self.leads.look_up(address);
        }
        self.put(overlay);
    }

    /// A document was changed, by several changes one after the other. Whether it was open.
    pub fn change(
        &mut self,
        uri: &str,
        version: i32,
        changes: &[Change],
        positions: PositionEncoding,
    ) -> bool {
        let Some(before) = self.open.get(&DocumentId::of(uri)) else {
            return false;
        };
        let after = before.changed(version, changes, positions);
        self.put(after);
        true
    }

    /// The client's word on a version. A word on another version than the one at hand is late
    /// and counts for nothing; an encoding holds for the document.
    pub fn set_state(
        &mut self,
        uri: &str,
        version: Option<i32>,
        dirty: Option<bool>,
        encoding: Option<&'static Encoding>,
    ) {
        let Some(before) = self.open.get(&DocumentId::of(uri)) else {
            return;
        };
        let is_late = version.is_some_and(|version| version != before.version);
        let known = before.client_says_dirty();
        let dirty = dirty.filter(|_| !is_late).or(known);
        let after = before.said(dirty, encoding);
        self.put(after);
    }

    /// A document was saved: whether it is dirty now must be seen or said anew, and its file may be
    /// a new one.
    pub fn saved(&mut self, uri: &str) {
        let Some(before) = self.open.get(&DocumentId::of(uri)) else {
            return;
        };
        let after = before.said(None, None);
        if let DocumentId::File(address) = &after.key {
            self.leads.look_up(address);
        }
        self.put(after);
    }

    /// A document was closed.
    pub fn close(&mut self, uri: &str) {
        let key = DocumentId::of(uri);
        if let DocumentId::File(address) = &key {
            self.leads.forget(address);
        }
        self.open.remove_mut(&key);
        self.edition += 1;
    }

    fn put(&mut self, overlay: Overlay) {
        if let DocumentId::Other(uri) = &overlay.key {
            self.longest = self.longest.max(uri.len());
        }
        self.open.insert_mut(overlay.key.clone(), Arc::new(overlay));
        self.edition += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::{Component, PathBuf};

    use tempfile::TempDir;

    use super::*;
    use crate::chance::Chance;
    use crate::protocol::{Refusal, Settings};
    use crate::workspace::At;

    const NAMES: [&str; 6] = ["a", "b", ".env", "hidden", "..", "link"];

    /// A workspace and what is beside it, full of links and of names that are denied.
    fn tree(chance: &mut Chance) -> (TempDir, PathBuf, Scope) {
        let folder = tempfile::tempdir().expect("a folder");
        // Deep down, so that no chain of links that climb leads out of the folder.
        let top = folder.path().canonicalize().expect("its real path");
        let top = top.join("1/2/3/4/5/6/7");
        let root = top.join("root");
        std::fs::create_dir_all(&root).expect("made");
        std::fs::write(root.join(".agentignore"), "hidden\n").expect("written");
        for _ in 0..60 {
            let path = address(&top, chance);
            if path.components().any(|part| part == Component::ParentDir) {
                continue;
            }
            // What cannot be made, because it is there or its parent is no folder, is left out.
            let _ = match chance.below(3) {
                0 => std::fs::create_dir_all(&path),
                1 => std::fs::write(&path, ""),
                _ => symlink(address(&top, chance), &path),
            };
        }
        let scope = Scope::new(vec![root], Arc::new(Settings::default()), Arc::default());
        (folder, top, scope)
    }

    fn address(top: &Path, chance: &mut Chance) -> PathBuf {
        let mut path = top.join(["root", "root", "beside"][chance.below(3)]);
        for _ in 0..=chance.below(3) {
            let name = NAMES[chance.below(NAMES.len())];
            let climbs = path.components().any(|part| part == Component::ParentDir);
            if !(climbs && name == "..") {
                path.push(name);
            }
        }
        path
    }

    #[test]
    fn a_text_is_given_if_and_only_if_the_file_of_its_address_may_be_read() {
        let mut chance = Chance(0x5EED_0F3A_77E1_2B4D);
        let (mut given, mut withheld) = (0, 0);
        for _ in 0..60 {
            let (_folder, top, scope) = tree(&mut chance);
            let addresses: Vec<PathBuf> = (0..40).map(|_| address(&top, &mut chance)).collect();
            let looks = || addresses.iter().map(|address| scope.look_at(address));
            let real: Vec<RealPath> = looks().flatten().map(|at| at.real().clone()).collect();
            for address in &addresses {
                let mut overlays = Overlays::default();
                let uri = format!("file://{}", address.display());
                overlays.open(uri, 1, String::new(), "text");
                let may_be_read = match scope.open(address) {
                    Ok(_) => true,
                    Err(refusal) => matches!(refusal, Refusal::NotFound { .. }),
                };
                let by = |real: &RealPath| overlays.of_file(real, &scope).is_some();
                let own = scope.look_at(address);
                assert_eq!(own.is_ok(), may_be_read, "{}", address.display());
                match own {
                    Ok(At::Here(handle)) => assert!(by(handle.real()), "{}", address.display()),
                    Ok(At::Nothing(real)) => assert!(by(&real), "{}", address.display()),
                    Err(_) => {}
                }
                let reached = real.iter().any(by);
                assert_eq!(reached, may_be_read, "{}", address.display());
                assert!(
                    overlays
                        .of_no_file(&DocumentId::File(address.clone()))
                        .is_none()
                );
                match reached {
                    true => given += 1,
                    false => withheld += 1,
                }
            }
        }
        assert!(given > 300 && withheld > 300, "{given} and {withheld}");
    }

    #[test]
    fn a_moment_keeps_what_was_open_in_it() {
        let mut now = Overlays::default();
        let key = |number: usize| DocumentId::of(&format!("untitled:{number}"));
        let mut moments = Vec::new();
        for number in 0..300 {
            now.open(format!("untitled:{number}"), 1, String::new(), "first");
            moments.push(now.clone());
            assert!(moments[number].is_same(&now));
        }
        for number in 0..300 {
            let whole = Change {
                splice: None,
                text: "second".to_owned(),
            };
            let uri = format!("untitled:{number}");
            assert!(now.change(&uri, 2, &[whole], PositionEncoding::Utf8));
            now.close(&uri);
        }
        assert!(now.is_empty());
        for (number, moment) in moments.iter().enumerate() {
            assert!(!moment.is_same(&now));
            for other in 0..300 {
                let open = moment.of_no_file(&key(other));
                assert_eq!(open.is_some(), other <= number);
                assert!(open.is_none_or(|overlay| overlay.text().line(0) == "first"));
            }
        }
    }

    #[test]
    fn an_address_of_a_file_elsewhere_is_no_document_to_be_given() {
        let mut overlays = Overlays::default();
        for uri in [
            "file:notes",
            "FILE:",
            "file://",
            "file://server/x",
            "untitled:x",
        ] {
            overlays.open(uri.to_owned(), 1, String::new(), "text");
            let given = overlays.called(uri).is_some();
            assert_eq!(given, uri == "untitled:x", "{uri}");
        }
    }
}
