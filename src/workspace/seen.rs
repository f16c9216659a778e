//! What was looked at when something was made of many files: the proof that it would be made the same again. One look at each file costs far less than to make it anew.
//!
//! A folder's stamp tells of every name in it, a file's of its bytes. Where a stamp cannot be
//! believed (a file system that is not local, a change so young that another may bear the same
//! time) there is no proof, and everything is looked at anew.

use std::path::{Path, PathBuf};

use super::handle::{Handle, Stamp, now_ns};
use super::resolve::Scope;

/// Files that one proof can be of.
const MAX_LOOKS: usize = 20_000;

/// Places, each as it was.
#[derive(Debug, Default)]
pub struct Seen {
    looks: Vec<(PathBuf, Was)>,
    is_doubtful: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Was {
    Nothing,
    /// A file or folder as it was.
    Stamped(Stamp),
    /// A folder, whatever has become of the names in it: device and inode.
    Itself(u64, u64),
}

impl Seen {
    /// Nothing could be opened there.
    pub fn nothing(&mut self, path: &Path) {
        // What is there and may not be opened might be opened next time.
        match std::fs::metadata(path) {
            Ok(metadata) => self.stamped(path, Stamp::of(&metadata)),
            Err(_) => self.add(path, Was::Nothing),
        }
    }

    /// A path led to this file.
    pub fn here(&mut self, path: &Path, handle: &Handle) {
        self.is_doubtful |= !handle.is_local();
        self.stamped(path, handle.stamp());
    }

    /// A path led to this folder, of which nothing but its place matters.
    pub fn itself(&mut self, path: &Path) {
        let was = match std::fs::metadata(path) {
            Ok(metadata) => {
                let stamp = Stamp::of(&metadata);
                Was::Itself(stamp.dev, stamp.ino)
            }
            Err(_) => Was::Nothing,
        };
        self.add(path, was);
    }

    /// Nothing that was looked at proves anything.
    pub fn doubt(&mut self) {
        self.is_doubtful = true;
    }

    fn stamped(&mut self, path: &Path, stamp: Stamp) {
        self.is_doubtful |= !stamp.is_settled(now_ns());
        self.add(path, Was::Stamped(stamp));
    }

    fn add(&mut self, path: &Path, was: Was) {
        match self.looks.len() < MAX_LOOKS {
            true => self.looks.push((path.to_owned(), was)),
            false => self.is_doubtful = true,
        }
    }

    /// Whether it is a proof at all.
    pub fn proves(&self) -> bool {
        !self.is_doubtful
    }

    /// Whether everything still is as it was, by one look at each place.
    pub fn is_still_so(&self, scope: &Scope) -> bool {
        let crossing = &scope.access.crossing;
        let has_mounts = crossing.has_mounts();
        let is_as_it_was = |(path, was): &(PathBuf, Was)| {
            if has_mounts && crossing.enter(path).is_err() {
                return false;
            }
            let now = match (std::fs::metadata(path), was) {
                (Err(_), _) => Was::Nothing,
                (Ok(metadata), Was::Itself(..)) => {
                    let stamp = Stamp::of(&metadata);
                    Was::Itself(stamp.dev, stamp.ino)
                }
                (Ok(metadata), _) => Was::Stamped(Stamp::of(&metadata)),
            };
            now == *was
        };
        self.proves() && self.looks.iter().all(is_as_it_was)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::time::Duration;

    use crate::protocol::Settings;

    use super::*;

    fn scope(root: &Path) -> Scope {
        let settings = Arc::new(Settings::default());
        Scope::new(vec![root.to_owned()], settings, Arc::default())
    }

    /// Each change of what was looked at is noticed, and nothing else is.
    #[test]
    fn a_proof_holds_until_what_was_seen_changes() {
        let tree = tempfile::tempdir().expect("a directory");
        let root = tree.path().canonicalize().expect("it exists");
        let at = |name: &str| root.join(name);
        fs::create_dir(at("d")).expect("made");
        fs::write(at("d/f"), "one").expect("written");
        let scope = scope(&root);
        let look = || {
            let mut seen = Seen::default();
            for path in [at("d"), at("d/f")] {
                seen.here(&path, &scope.open(&path).expect("it is there"));
            }
            seen.nothing(&at("none"));
            seen.itself(&root);
            seen
        };
        // Young times prove nothing: time itself has to pass.
        assert!(!look().proves());
        let settled = || {
            let mut seen = look();
            while !seen.proves() {
                std::thread::sleep(Duration::from_millis(50));
                seen = look();
            }
            assert!(seen.is_still_so(&scope));
            seen
        };
        let seen = settled();
        fs::write(at("other"), "elsewhere").expect("written");
        assert!(
            seen.is_still_so(&scope),
            "only its own place counts of a folder itself"
        );
        fs::write(at("d/f"), "two").expect("written");
        assert!(!seen.is_still_so(&scope));
        let seen = settled();
        fs::write(at("none"), "").expect("written");
        assert!(!seen.is_still_so(&scope));
        fs::remove_file(at("none")).expect("removed");
        assert!(seen.is_still_so(&scope));
        fs::write(at("d/g"), "").expect("written");
        assert!(!seen.is_still_so(&scope));
    }
}
