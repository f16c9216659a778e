//! `move file to`, `delete file`, and `undo` of a deletion, over the wire: all of a patch or nothing, and never over what is there.

mod deletes;
mod editors;
mod faults;
mod moves;
mod races;
mod refused;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Daemon, WireError};
use crate::tree::Tree;

fn start(tree: &Tree) -> Daemon {
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    daemon
}

fn edit_as(daemon: &Daemon, session: &str, patch: &str) -> Result<Value, WireError> {
    daemon.call("agent/edit", json!({ "session": session, "patch": patch }))
}

fn edit(daemon: &Daemon, patch: &str) -> Result<Value, WireError> {
    edit_as(daemon, "default", patch)
}

/// Reads a file for a session and gives its tag.
fn read_as(daemon: &Daemon, session: &str, path: &str) -> String {
    let read = daemon.read_with(json!({ "session": session, "path": path }));
    let read = read.unwrap_or_else(|error| panic!("{path}: {error:?}"));
    let tag = read["details"]["hashline"]["tag"].as_str();
    tag.expect("a tag").to_owned()
}

fn read(daemon: &Daemon, path: &str) -> String {
    read_as(daemon, "default", path)
}

fn shown(edited: &Value) -> &str {
    edited["content"][0]["text"].as_str().expect("a text block")
}

/// The names of all files and links below a folder, with what is in them.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(folder).expect("below it");
            let name = name.to_string_lossy().into_owned();
            let kind = fs::symlink_metadata(&path).expect("metadata").file_type();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() {
                let to = fs::read_link(&path).expect("a link");
                found.insert(name, format!("-> {}", to.display()));
            } else {
                let bytes = fs::read(&path).expect("a file");
                found.insert(name, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    found
}

/// A refusal of a kind that leaves everything as it is.
#[track_caller]
fn refused(daemon: &Daemon, tree: &Tree, patch: &str, kind: &str, words: &str) -> WireError {
    let before = files(tree.path());
    let error = edit(daemon, patch).expect_err(patch);
    assert_eq!(error.kind(), kind, "{patch}: {error:?}");
    assert!(error.message.contains(words), "{patch}: {}", error.message);
    assert_eq!(files(tree.path()), before, "{patch}");
    error
}
