//! The laws of edits, over the wire against the real binary; what is right is worked out here again and never asked of the daemon.

mod answers;
mod buffer;
mod bytes;
mod crash;
mod encodings;
mod history;
mod homes;
mod links;
mod moves;
mod open_elsewhere;
mod outside;
mod parallel;
mod parses;
mod sent_again;
mod undo;
#[cfg(target_os = "linux")]
mod watchers;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use proptest::prelude::ProptestConfig;
use serde_json::{Value, json};

use crate::client::{Daemon, Id, WireError};

/// `PILCROW_LONG=1`: the long form of a test.
fn is_long() -> bool {
    std::env::var_os("PILCROW_LONG").is_some()
}

fn at_most<T>(few: T, many: T) -> T {
    if is_long() { many } else { few }
}

/// Random cases of a law.
fn cases(few: u32, many: u32) -> ProptestConfig {
    ProptestConfig {
        cases: at_most(few, many),
        max_shrink_iters: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Sends an edit.
fn request_edit(daemon: &Daemon, session: &str, patch: &str) -> Id {
    daemon.request("agent/edit", json!({ "session": session, "patch": patch }))
}

fn edit_as(daemon: &Daemon, session: &str, patch: &str) -> Result<Value, WireError> {
    daemon.wait(&request_edit(daemon, session, patch))
}

fn edit(daemon: &Daemon, patch: &str) -> Result<Value, WireError> {
    edit_as(daemon, "default", patch)
}

/// Sends a read of all lines.
fn request_read(daemon: &Daemon, session: &str, path: &str) -> Id {
    daemon.request(
        "agent/read",
        json!({ "session": session, "path": path, "selector": "raw" }),
    )
}

/// Reads all lines of a file for a session and gives its tag.
fn read_as(daemon: &Daemon, session: &str, path: &str) -> String {
    let result = daemon.wait(&request_read(daemon, session, path));
    tag_of(&result.unwrap_or_else(|error| panic!("{path}: {error:?}")))
}

fn read(daemon: &Daemon, path: &str) -> String {
    read_as(daemon, "default", path)
}

fn tag_of(read: &Value) -> String {
    let tag = read["details"]["hashline"]["tag"].as_str();
    tag.unwrap_or_else(|| panic!("no tag in {read}")).to_owned()
}

/// The text of a read.
fn text_of(read: &Value) -> &str {
    let text = read["content"][0]["text"].as_str();
    text.expect("the first block is a text")
}

/// The first file of an edit's answer.
fn file_of(edited: &Value) -> &Value {
    &edited["details"]["files"][0]
}

fn new_tag(edited: &Value) -> String {
    let tag = file_of(edited)["tag"].as_str();
    tag.unwrap_or_else(|| panic!("no tag in {edited}"))
        .to_owned()
}

/// One section of a patch.
fn patch(path: &str, tag: &str, hunks: &str) -> String {
    format!("¶{path}#{tag}\n{hunks}")
}

/// What must not change where nothing is written: bytes, inode, mode, links and times.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Untouched {
    bytes: Vec<u8>,
    inode: u64,
    mode: u32,
    links: u64,
    modified: (i64, i64),
}

impl Untouched {
    fn of(path: &Path) -> Untouched {
        let bytes = fs::read(path).expect("a file");
        let metadata = fs::metadata(path).expect("its metadata");
        Untouched {
            bytes,
            inode: metadata.ino(),
            mode: metadata.mode(),
            links: metadata.nlink(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// The names of everything below a folder, with what each file holds.
fn everything(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(folder).expect("below it");
            let name = name.to_string_lossy().into_owned();
            let kind = fs::symlink_metadata(&path).expect("metadata").file_type();
            match (kind.is_dir(), kind.is_symlink()) {
                (true, _) => folders.push(path),
                (_, true) => drop(found.insert(name, Vec::new())),
                _ => drop(found.insert(name, fs::read(&path).expect("a file"))),
            }
        }
    }
    found
}

/// Names of temporaries in a folder and below; they may be on their way out.
fn temporaries(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(temporaries(&entry.path()));
        } else if name.contains(".pilcrow-") {
            found.push(name);
        }
    }
    found
}

/// Numbers that look random and are the same on every run.
struct Numbers(u64);

impl Numbers {
    /// The next one below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}
