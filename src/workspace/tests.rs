//! Resolution and access over real directories; no test here depends on another or on the machine.

mod access;
mod find;
mod list;
mod race;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::protocol::{Refusal, Settings};
use crate::task::{CancelToken, Work};
use crate::view::Guess;

use super::{Found, Scope};

/// A temporary directory with a workspace `ws` and whatever else a test puts there.
struct Scratch {
    _temp: tempfile::TempDir,
    top: PathBuf,
}

impl Scratch {
    /// Makes the files (their content is their name), directories (`x/`) and links (`x -> y`).
    fn new(entries: &[&str]) -> Scratch {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let top = temp.path().canonicalize().expect("it exists");
        let place = Scratch { _temp: temp, top };
        std::fs::create_dir(place.at("ws")).expect("created");
        for entry in entries {
            place.make(entry);
        }
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.top.join(path)
    }

    fn text(&self, path: &str) -> String {
        self.at(path)
            .to_str()
            .expect("temporary paths are UTF-8")
            .to_owned()
    }

    fn make(&self, entry: &str) {
        let (name, target) = match entry.split_once(" -> ") {
            Some((name, target)) => (name, Some(target)),
            None => (entry, None),
        };
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().expect("below the top")).expect("created");
        match target {
            Some(target) => {
                std::os::unix::fs::symlink(self.top.join(target), &path).expect("linked")
            }
            None if name.ends_with('/') => std::fs::create_dir_all(&path).expect("created"),
            None => std::fs::write(&path, name).expect("written"),
        }
    }

    fn write(&self, path: &str, text: &str) {
        self.make(path);
        std::fs::write(self.at(path), text).expect("written");
    }

    fn scope(&self) -> Scope {
        self.scope_of(&["ws"], json!({}))
    }

    fn scope_of(&self, roots: &[&str], access: Value) -> Scope {
        let (settings, problems) = Settings::read(&json!({ "access": access }));
        assert_eq!(problems, Vec::<String>::new());
        let roots = roots.iter().map(|root| self.at(root)).collect();
        Scope::new(roots, Arc::new(settings), Arc::default())
    }
}

fn work() -> Work {
    Work::new(CancelToken::new(), Duration::from_secs(30))
}

fn find(scope: &Scope, path: &str) -> Result<Found, Refusal> {
    scope.find(path, Guess::Suffix, &work())
}

/// The display of what was found, or the refusal's sentence.
fn shown(scope: &Scope, path: &str) -> String {
    match find(scope, path) {
        Ok(found) => found.display,
        Err(refusal) => refusal.to_string(),
    }
}

fn kind(result: Result<Found, Refusal>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(refusal) => match serde_json::to_value(refusal.kind()) {
            Ok(Value::String(kind)) => kind,
            other => format!("{other:?}"),
        },
    }
}

fn content(found: &Found) -> String {
    std::io::read_to_string(found.handle.open_read().expect("opened")).expect("read")
}

/// By the tool, since macOS has no call for it that `rustix` knows.
pub(super) fn make_fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo is there").success());
}

fn remove(path: &Path) {
    std::fs::remove_file(path).expect("removed");
}
