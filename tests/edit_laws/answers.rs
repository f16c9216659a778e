//! What an edit is answered with: success once every file has its new text, whatever becomes of the rest; and nothing is told of a cancelled edit that was not so.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::client::{Daemon, HANG, Id, file_uri};
use crate::editor::{Editor, capabilities};
use crate::tree::Tree;

use super::{edit, file_of, new_tag, patch, read, request_edit};

/// A C header that its parser takes minutes over, of about 73 KB.
fn hard_to_parse() -> String {
    let declaration = |number: usize| {
        format!("#ifdef A{number}\nint f{number}( {{\n#else\nint g{number}) {{{{\n#endif\n")
    };
    (0..1450).map(declaration).collect()
}

fn codes(edited: &Value) -> Vec<&str> {
    let warnings = file_of(edited)["warnings"].as_array().expect("a list");
    let codes = warnings
        .iter()
        .filter_map(|warning| warning["code"].as_str());
    codes.collect()
}

fn shown(edited: &Value) -> &str {
    edited["content"][0]["text"].as_str().expect("a text block")
}

fn wait_for(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < HANG, "there is no {path:?}");
        std::thread::yield_now();
    }
}

#[test]
fn edits_of_what_takes_long_to_parse_are_answered_when_they_are_done() {
    let tree = Tree::new();
    let text = hard_to_parse();
    let names: Vec<String> = (0..8).map(|number| format!("h{number}.h")).collect();
    for name in &names {
        tree.write(name, &text);
    }
    let daemon = Daemon::builder()
        .root(tree.path())
        .env("PILCROW_TOLD_WITHIN", "100")
        .start();
    let tags: Vec<String> = names.iter().map(|name| read(&daemon, name)).collect();
    let asked = names.iter().zip(&tags);
    let asked: Vec<Id> = asked
        .map(|(name, tag)| {
            let text = patch(name, tag, "insert head:\n+int zero(void);\n");
            request_edit(&daemon, "default", &text)
        })
        .collect();
    for (name, id) in names.iter().zip(asked) {
        let edited = daemon.wait(&id);
        let edited = edited.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(codes(&edited), ["notChecked"], "{name}");
        let diff = file_of(&edited)["diff"].as_str().expect("a diff");
        assert!(diff.contains("+int zero(void);"), "{diff}");
        let written = fs::read_to_string(tree.join(name)).expect("the file");
        assert_eq!(written, format!("int zero(void);\n{text}"), "{name}");
        assert_eq!(read(&daemon, name), new_tag(&edited), "{name}");
    }
}

/// A daemon whose first edit waits at a step until it is told to go on.
struct Held {
    daemon: Daemon,
    tree: Tree,
    go_on: PathBuf,
    edit: Id,
    tag: String,
}

impl Held {
    /// Sends an edit, and cancels it when it is at the step.
    fn at(step: &str) -> Held {
        let tree = Tree::new().file("a.json", "{\n  \"a\": 1\n}\n");
        let signals = tempfile::tempdir().expect("a folder").keep();
        let go_on = signals.join("go");
        let fail = format!("{step}:HOLD={}", go_on.display());
        let daemon = Daemon::builder()
            .root(tree.path())
            .env("PILCROW_FAIL", &fail)
            .start();
        let tag = read(&daemon, "a.json");
        let edit = request_edit(&daemon, "default", &patch("a.json", &tag, REPLACE));
        wait_for(&signals.join("go.held"));
        daemon.notify("$/cancelRequest", json!({ "id": edit }));
        // Frames are taken in their order.
        daemon.call("agent/status", Value::Null).expect("a status");
        Held {
            daemon,
            tree,
            go_on,
            edit,
            tag,
        }
    }

    fn go_on(&self) {
        fs::write(&self.go_on, "").expect("a signal");
    }

    fn text(&self) -> String {
        fs::read_to_string(self.tree.join("a.json")).expect("the file")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let folder = self.go_on.parent().expect("its folder");
        let _ = fs::remove_dir_all(folder);
    }
}

const REPLACE: &str = "replace 2:\n+  \"b\": 2\n";
const OLD: &str = "{\n  \"a\": 1\n}\n";
const NEW: &str = "{\n  \"b\": 2\n}\n";

#[test]
fn an_edit_that_is_cancelled_before_a_file_has_its_new_text_is_not_made() {
    for step in ["note:1", "create:1", "write:1", "fsync:1", "lock:1"] {
        let held = Held::at(step);
        // It is answered at once, however long the disk takes.
        let error = held.daemon.wait(&held.edit).expect_err("cancelled");
        assert_eq!(error.code, -32800, "{step}: {error:?}");
        held.go_on();
        let again = edit(&held.daemon, &patch("a.json", &held.tag, REPLACE));
        let again = again.unwrap_or_else(|error| panic!("{step}: {error:?}"));
        assert!(shown(&again).starts_with("¶a.json#"), "{step}: {again}");
        assert_eq!(held.text(), NEW, "{step}");
    }
}

#[test]
fn a_cancel_that_comes_too_late_is_not_heard() {
    for step in [
        "rename:1",
        "exchange:1",
        "fsyncdir:1",
        "remove:1",
        "record:1",
    ] {
        let held = Held::at(step);
        held.go_on();
        let edited = held.daemon.wait(&held.edit);
        let edited = edited.unwrap_or_else(|error| panic!("{step}: {error:?}"));
        assert_eq!(held.text(), NEW, "{step}");
        assert_eq!(read(&held.daemon, "a.json"), new_tag(&edited), "{step}");
    }
}

#[test]
fn an_edit_gives_its_turn_back_before_it_is_looked_at_again() {
    let held = Held::at("answer:1");
    assert_eq!(held.text(), NEW);
    let tag = read(&held.daemon, "a.json");
    let next = edit(
        &held.daemon,
        &patch("a.json", &tag, "replace 2:\n+  \"c\": 3\n"),
    );
    next.expect("the next edit waits for nobody");
    held.go_on();
    let edited = held.daemon.wait(&held.edit).expect("it was made");
    assert_eq!(new_tag(&edited), tag);
    assert!(shown(&edited).contains("2:  \"b\": 2"), "{edited}");
    assert_eq!(held.text(), "{\n  \"c\": 3\n}\n");
}

#[test]
fn what_fails_after_an_edit_is_left_out_of_its_answer() {
    for fail in [
        "check:*:EIO",
        "check:*:PANIC",
        "record:*:EIO",
        "remove:*:EIO",
    ] {
        let tree = Tree::new().file("a.json", OLD);
        let daemon = Daemon::builder()
            .root(tree.path())
            .env("PILCROW_FAIL", fail)
            .start();
        let tag = read(&daemon, "a.json");
        let edited = edit(&daemon, &patch("a.json", &tag, REPLACE));
        let edited = edited.unwrap_or_else(|error| panic!("{fail}: {error:?}"));
        let written = fs::read_to_string(tree.join("a.json")).expect("the file");
        assert_eq!(written, NEW, "{fail}");
        assert_eq!(new_tag(&edited), read(&daemon, "a.json"), "{fail}");
        if fail.starts_with("check") {
            assert_eq!(codes(&edited), ["notChecked"], "{fail}");
        }
    }
}

#[test]
fn a_cancel_is_not_heard_once_the_editor_was_asked() {
    let tree = Tree::new().file("a.txt", "a\nb\n");
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(capabilities())
        .start();
    daemon.ignore_changes();
    let editor = Editor::open(&daemon, &file_uri(&tree.join("a.txt")), "a\nb\n");
    let tag = read(&daemon, "a.txt");
    let id = request_edit(
        &daemon,
        "default",
        &patch("a.txt", &tag, "replace 1:\n+A\n"),
    );
    let (request, edits) = editor.asked();
    daemon.notify("$/cancelRequest", json!({ "id": id }));
    daemon.call("agent/status", Value::Null).expect("a status");
    editor.applies(&edits);
    editor.says_applied(request, true);
    let edited = daemon.wait(&id).expect("it was made");
    assert_eq!(editor.text(), "A\nb\n");
    assert_eq!(new_tag(&edited), read(&daemon, "a.txt"));
}
