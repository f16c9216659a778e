//! A daemon that is killed, and steps that fail, in the middle of a write: every file is wholly old or wholly new, the report says which, and the next start leaves nothing behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Daemon, HANG, WireError};
use crate::tree::Tree;

use super::{Numbers, at_most, edit, everything, patch, read, request_edit, temporaries};

/// A state directory that outlives daemons.
struct Home(TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().expect("a state directory"))
    }

    fn start(&self, tree: &Tree, fail: &str) -> Daemon {
        let state = self.0.path().to_str().expect("a UTF-8 path");
        let builder = Daemon::builder().root(tree.path());
        let builder = builder.env("XDG_STATE_HOME", state);
        let daemon = builder.env("PILCROW_FAIL", fail).start();
        daemon.ignore_changes();
        daemon
    }

    /// What is noted of writes and kept of their files.
    fn notes(&self) -> Vec<String> {
        let rooms = ["writes", "copies"].map(|room| self.0.path().join("pilcrow").join(room));
        let rooms = rooms.iter().filter(|room| room.is_dir());
        // A note that says nothing waits for the next write.
        rooms
            .flat_map(|room| everything(room))
            .filter(|(_, bytes)| bytes != b"pilcrow write 1\0")
            .map(|(path, _)| path)
            .collect()
    }
}

/// Starts a daemon whose first edit must come after it cleaned up, and checks that it did. Whether
/// it said that it undid a write.
fn check_next_start(home: &Home, tree: &Tree) -> bool {
    tree.write("probe.txt", "probe\n");
    let daemon = home.start(tree, "");
    daemon.ignore_notifications("window/showMessage");
    let tag = read(&daemon, "probe.txt");
    edit(&daemon, &patch("probe.txt", &tag, "replace 1..1:\n+done\n")).expect("an edit");
    assert_eq!(temporaries(tree.path()), Vec::<String>::new());
    assert_eq!(home.notes(), Vec::<String>::new());
    let status = daemon.call("agent/status", Value::Null).expect("a status");
    let problems = status["problems"].as_array().expect("a list");
    for told in problems {
        assert!(told.to_string().contains("It was undone"), "{problems:?}");
    }
    !problems.is_empty()
}

/// Files as they were and as an edit makes them.
struct Change {
    old: BTreeMap<&'static str, String>,
    new: BTreeMap<&'static str, String>,
}

const NAMES: [&str; 3] = ["a.txt", "sub/b.txt", "c.txt"];

impl Change {
    fn of_three() -> Change {
        let text = |name: &str, row: &str| format!("{row}\nof {name}\n").repeat(40);
        let all = |row: &str| NAMES.iter().map(|name| (*name, text(name, row))).collect();
        let (old, mut new): (BTreeMap<_, _>, BTreeMap<_, String>) = (all("old"), all("old"));
        for text in new.values_mut() {
            *text = text.replacen("old\n", "a longer new line\n", 1);
        }
        Change { old, new }
    }

    /// A folder with the old files; `names` of the last one.
    fn tree(&self, names: usize) -> Tree {
        let tree = Tree::new();
        for (name, text) in &self.old {
            tree.write(name, text);
        }
        for other in 1..names {
            let other = tree.join(&format!("other name {other}"));
            fs::hard_link(tree.join(NAMES[2]), other).expect("a link");
        }
        tree
    }

    fn patch(&self, daemon: &Daemon) -> String {
        let section = |name: &&str| {
            let tag = read(daemon, name);
            patch(name, &tag, "replace 1..1:\n+a longer new line\n")
        };
        NAMES.iter().map(section).collect()
    }

    /// Which files are new. Each must be wholly the one or the other.
    fn written(&self, tree: &Tree, what: &str) -> Vec<&'static str> {
        let is_new = |name: &&&str| {
            let text = fs::read_to_string(tree.join(name)).expect("it is there");
            let is_new = text == self.new[**name];
            assert!(
                is_new || text == self.old[**name],
                "{what}: {name} is {text:?}"
            );
            is_new
        };
        NAMES.iter().filter(is_new).copied().collect()
    }
}

/// The names in a list of the error's data; nothing where there is none.
fn list<'a>(error: &'a WireError, key: &str) -> Vec<&'a str> {
    let names = error.data[key].as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// Lets one step fail in an edit of three files. Whether the edit reached that step.
fn one_failure(fail: &str, names: usize) -> bool {
    let change = Change::of_three();
    let (tree, home) = (change.tree(names), Home::new());
    let daemon = home.start(&tree, fail);
    let text = change.patch(&daemon);
    let answer = edit(&daemon, &text);
    let written = change.written(&tree, fail);
    let reached = match &answer {
        Ok(edited) => {
            assert_eq!(written, NAMES, "{fail}: {edited}");
            false
        }
        Err(error) => {
            assert_eq!(error.kind(), "io", "{fail}: {error:?}");
            match error.data.get("written") {
                None => {
                    assert_eq!(written, Vec::<&str>::new(), "{fail}: {error:?}");
                    assert!(error.message.contains("Nothing was written"), "{error:?}");
                }
                Some(_) => {
                    assert_eq!(list(error, "written"), written, "{fail}: {error:?}");
                    let mut told = [list(error, "notWritten"), written.clone()].concat();
                    told.sort_by_key(|told| NAMES.iter().position(|name| name == told));
                    assert_eq!(told, NAMES, "{fail}: {error:?}");
                }
            }
            true
        }
    };
    drop(daemon);
    assert!(!check_next_start(&home, &tree), "{fail}");
    assert_eq!(
        change.written(&tree, fail),
        written,
        "{fail}, after the next start"
    );
    reached
}

#[test]
fn a_step_that_fails_leaves_every_file_as_it_was_and_says_so() {
    let errors = ["ENOSPC", "EIO", "EACCES"];
    for (point, least) in [("write", 6), ("fsync", 3), ("rename", 3), ("fsyncdir", 1)] {
        let mut number = 1;
        while one_failure(&format!("{point}:{number}:{}", errors[number % 3]), 1) {
            for error in errors {
                if error != errors[number % 3] {
                    assert!(one_failure(&format!("{point}:{number}:{error}"), 1));
                }
            }
            number += 1;
        }
        assert!(number > least, "{point} has only {number} calls");
    }
}

#[test]
fn steps_of_a_file_with_two_names_fail_as_well() {
    for point in [
        "note",
        "copy",
        "overwrite",
        "lock",
        "locknew",
        "chattr",
        "recheck",
    ] {
        let mut number = 1;
        while one_failure(&format!("{point}:{number}:EIO"), 2) && number < 12 {
            number += 1;
        }
    }
}

#[test]
fn what_cannot_be_taken_back_is_told() {
    for fail in [
        "rename:2:EIO,rollback:1:EIO",
        "rename:3:ENOSPC,rollback:1:EIO",
        "rename:3:ENOSPC,rollback:*:EIO",
        "fsyncdir:*:EIO,rollback:2:EACCES",
    ] {
        assert!(one_failure(fail, 1), "{fail}");
    }
}

#[test]
fn a_kill_at_any_step_leaves_every_file_whole() {
    let points = [
        "note", "create", "locknew", "write", "chattr", "lease", "fsync", "lock", "recheck",
        "rename", "exchange", "fsyncdir", "remove",
    ];
    let in_place = ["copy", "overwrite"];
    let all = points.iter().map(|point| (*point, 1));
    for (point, names) in all.chain(in_place.iter().map(|point| (*point, 2))) {
        for number in 1..=at_most(3, 30) {
            let change = Change::of_three();
            let (tree, home) = (change.tree(names), Home::new());
            let fail = format!("{point}:{number}:KILL");
            let daemon = home.start(&tree, &fail);
            let text = change.patch(&daemon);
            let id = request_edit(&daemon, "default", &text);
            let ended = daemon.answer_or_end(&id);
            if let Some(answer) = ended {
                answer.unwrap_or_else(|error| panic!("{fail}: {error:?}"));
                assert_eq!(change.written(&tree, &fail), NAMES, "{fail}");
                break;
            }
            // Files that are overwritten are put right by the next start.
            let written = (names == 1).then(|| change.written(&tree, &fail).len());
            daemon.kill();
            daemon.drop_answers();
            drop(daemon);
            let is_undone = check_next_start(&home, &tree);
            if let Some(written) = written {
                assert_eq!(is_undone, written == 1 || written == 2, "{fail}: {written}");
            }
            let written = change.written(&tree, &fail).len();
            assert!(written == 0 || written == NAMES.len(), "{fail}: {written}");
        }
    }
}

/// A text of 5 MB in lines.
fn large(row: &str) -> String {
    let line = "x".repeat(99) + "\n";
    format!("{row}\n{}", line.repeat(50_000))
}

#[test]
fn a_kill_at_any_moment_leaves_a_large_file_whole() {
    let tree = Tree::new().file("large.txt", large("round 0"));
    let home = Home::new();
    let mut numbers = Numbers(7);
    let mut now = 0;
    let mut took = Duration::from_millis(100);
    let (mut killed_before, mut killed_after) = (0, 0);
    for round in 1..=at_most(30, 1_000) {
        let daemon = home.start(&tree, "");
        let params = json!({ "path": "large.txt", "selector": "1-3" });
        let shown = daemon.read_with(params).expect("a read");
        let tag = super::tag_of(&shown);
        let hunk = format!("replace 1..1:\n+round {round}\n");
        let begun = Instant::now();
        let id = request_edit(&daemon, "default", &patch("large.txt", &tag, &hunk));
        if round % 10 == 1 {
            daemon.wait(&id).expect("an edit");
            took = begun.elapsed();
        } else {
            // The moment is what is random here; nothing else tells when it has come.
            let moment = took.mul_f64(numbers.below(1_200) as f64 / 1_000.0);
            while begun.elapsed() < moment {
                std::hint::spin_loop();
            }
        }
        daemon.kill();
        daemon.drop_answers();
        drop(daemon);
        let text = fs::read_to_string(tree.join("large.txt")).expect("it is there");
        let is_new = text == large(&format!("round {round}"));
        assert!(
            is_new || text == large(&format!("round {now}")),
            "round {round}"
        );
        if is_new {
            now = round;
            killed_after += 1;
        } else {
            killed_before += 1;
        }
        assert!(round % 10 != 1 || is_new, "it was said to be done");
    }
    assert!(
        !check_next_start(&home, &tree),
        "one file is never half done"
    );
    let text = fs::read_to_string(tree.join("large.txt")).expect("it is there");
    assert!(text == large(&format!("round {now}")));
    assert!(
        killed_before > 0 && killed_after > 0,
        "{killed_before} {killed_after}"
    );
}

/// Puts what a killed daemon leaves into a root that only a later daemon has.
#[test]
fn a_folder_that_is_added_is_cleaned_too() {
    let change = Change::of_three();
    let (tree, home, other) = (
        change.tree(2),
        Home::new(),
        Tree::new().file("x.txt", "x\n"),
    );
    let daemon = home.start(&tree, "overwrite:2:KILL");
    let text = change.patch(&daemon);
    let id = request_edit(&daemon, "default", &text);
    assert!(daemon.answer_or_end(&id).is_none(), "it was not killed");
    daemon.kill();
    daemon.drop_answers();
    drop(daemon);
    assert_ne!(temporaries(tree.path()), Vec::<String>::new());
    let daemon = home.start(&other, "");
    let tag = read(&daemon, "x.txt");
    edit(&daemon, &patch("x.txt", &tag, "replace 1..1:\n+y\n")).expect("an edit");
    assert_ne!(
        temporaries(tree.path()),
        Vec::<String>::new(),
        "it is none of its roots"
    );
    let folder = json!({ "uri": crate::client::file_uri(tree.path()), "name": "added" });
    let event = json!({ "event": { "added": [folder], "removed": [] } });
    daemon.notify("workspace/didChangeWorkspaceFolders", event);
    wait_until(tree.path(), |folder| temporaries(folder).is_empty());
    let told = daemon.expect_notification("window/showMessage");
    assert!(told.to_string().contains("It was undone"), "{told}");
    let path = tree.spelled("c.txt");
    let tag = read(&daemon, &path);
    let hunk = "replace 1..1:\n+again\n";
    edit(&daemon, &patch(&path, &tag, hunk)).expect("an edit");
    assert_eq!(home.notes(), Vec::<String>::new());
    assert_eq!(change.old.len(), 3);
}

fn wait_until(folder: &Path, is_so: impl Fn(&Path) -> bool) {
    let begun = Instant::now();
    while !is_so(folder) {
        assert!(begun.elapsed() < HANG, "it never comes");
        std::thread::yield_now();
    }
}
