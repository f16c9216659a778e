//! A patch that moves, deletes and edits, where a step fails or the daemon is killed before it: all of it is done or nothing, and the next start leaves nothing behind.

use std::collections::BTreeMap;

use serde_json::json;
use tempfile::TempDir;

use crate::client::Daemon;
use crate::tree::Tree;

use super::{edit, files, read};

fn start(tree: &Tree, home: &TempDir, fail: &str) -> Daemon {
    let state = home.path().to_str().expect("a UTF-8 path");
    let builder = Daemon::builder().root(tree.path());
    let builder = builder.env("XDG_STATE_HOME", state);
    let daemon = builder.env("PILCROW_FAIL", fail).start();
    daemon.ignore_changes();
    daemon
}

fn tree() -> Tree {
    Tree::new()
        .file("a.txt", "one\ntwo\n")
        .file("b.txt", "goes\n")
        .file("c.txt", "c\n")
        .file("d.txt", "d\n")
}

fn after() -> BTreeMap<String, String> {
    let after = [
        ("c.txt", "C\n"),
        ("new/a.txt", "eins\ntwo\n"),
        ("new/deep/d.txt", "d\n"),
    ];
    after
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into()
}

fn patch(daemon: &Daemon) -> String {
    let [a, b, c, d] = ["a.txt", "b.txt", "c.txt", "d.txt"].map(|name| read(daemon, name));
    format!(
        "¶a.txt#{a}\nreplace 1:\n+eins\nmove file to new/a.txt\n¶b.txt#{b}\ndelete file\n¶c.txt#{c}\nreplace 1:\n+C\n¶d.txt#{d}\nmove file to new/deep/d.txt\n"
    )
}

/// Whether all is done; it is that or nothing.
fn is_done(tree: &Tree, what: &str) -> bool {
    let now = files(tree.path());
    let is_done = now == after();
    assert!(
        is_done || now == files(self::tree().path()),
        "{what}: {now:#?}"
    );
    assert_eq!(is_done, tree.join("new").exists(), "{what}");
    is_done
}

/// A daemon whose first edit comes after it cleaned up.
fn next_start(tree: &Tree, home: &TempDir) {
    let daemon = start(tree, home, "");
    daemon.ignore_notifications("window/showMessage");
    let write = json!({ "path": "probe.txt", "text": "p\n" });
    daemon.call("agent/write", write).expect("a write");
    std::fs::remove_file(tree.join("probe.txt")).expect("removed");
}

#[test]
fn a_step_that_fails_leaves_all_as_it_was() {
    let mut failed = 0;
    for point in [
        "note", "move", "delete", "claim", "rename", "recheck", "fsyncdir", "mkdir",
    ] {
        for number in 1.. {
            let (tree, home) = (tree(), tempfile::tempdir().expect("a state directory"));
            let fail = format!("{point}:{number}:EIO");
            let daemon = start(&tree, &home, &fail);
            let patch = patch(&daemon);
            match edit(&daemon, &patch) {
                Ok(_) => {
                    assert!(is_done(&tree, &fail));
                    break;
                }
                Err(error) => {
                    assert_eq!(error.kind(), "io", "{fail}: {error:?}");
                    assert!(error.message.contains("Nothing was written"), "{error:?}");
                    assert!(!is_done(&tree, &fail));
                    failed += 1;
                }
            }
            if number > 2 && std::env::var_os("PILCROW_LONG").is_none() {
                break;
            }
        }
    }
    assert!(failed > 10, "{failed}");
}

#[test]
fn a_kill_at_any_step_leaves_all_or_nothing() {
    let (mut done, mut killed) = (0, 0);
    for point in ["move", "delete", "claim", "fsyncdir", "remove"] {
        for number in 1..=3 {
            let (tree, home) = (tree(), tempfile::tempdir().expect("a state directory"));
            let fail = format!("{point}:{number}:KILL");
            let daemon = start(&tree, &home, &fail);
            let patch = patch(&daemon);
            let id = daemon.request("agent/edit", json!({ "patch": patch }));
            if daemon.answer_or_end(&id).is_some() {
                assert!(is_done(&tree, &fail));
                break;
            }
            daemon.kill();
            daemon.drop_answers();
            drop(daemon);
            next_start(&tree, &home);
            killed += 1;
            done += usize::from(is_done(&tree, &fail));
        }
    }
    assert!(killed > 8 && done > 0, "{killed} killed, {done} done");
}
