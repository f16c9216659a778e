//! The order of edits, and of reads among them, with an edit that only tests have; nothing here waits for a time to pass.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Value, json};

use crate::client::{Daemon, HANG, Id};
use crate::tree::{Tree, numbered_lines};

/// Requests in flight at most in the long pipelines: the daemon refuses more than 512.
const WINDOW: usize = 400;

fn start(tree: &Tree) -> Daemon {
    let daemon = Daemon::builder()
        .root(tree.path())
        .env("PILCROW_TEST_METHODS", "1")
        .start();
    daemon.ignore_changes();
    daemon
}

fn edit(daemon: &Daemon, paths: &[&str], line: &str, hold_ms: u64) -> Id {
    let mut params = json!({ "paths": paths, "append": line });
    if hold_ms > 0 {
        params["holdMs"] = json!(hold_ms);
    }
    daemon.request("agent/testEdit", params)
}

fn read(daemon: &Daemon, path: &str) -> Id {
    daemon.request(
        "agent/read",
        json!({ "path": path, "dialect": "plain", "selector": "raw" }),
    )
}

fn text_of(result: &Value) -> &str {
    let text = result["content"][0]["text"].as_str();
    text.expect("the first block is a text")
}

fn on_disk(tree: &Tree, name: &str) -> String {
    std::fs::read_to_string(tree.join(name)).expect("a file")
}

/// Waits until a file holds a line: its edit has begun.
fn wait_for_line(tree: &Tree, name: &str, line: &str) {
    let begun = Instant::now();
    while !on_disk(tree, name).lines().any(|found| found == line) {
        assert!(begun.elapsed() < HANG, "{name} never holds {line}");
        std::thread::yield_now();
    }
}

/// The answer's place among all.
fn place(daemon: &Daemon, id: &Id) -> usize {
    let order = daemon.arrival_order();
    order
        .iter()
        .position(|other| other == id)
        .expect("answered")
}

#[test]
fn the_method_is_there_only_when_asked_for() {
    let tree = Tree::new().file("a.txt", "");
    let daemon = Daemon::start(tree.path());
    let refused = daemon.call("agent/testEdit", json!({ "paths": ["a.txt"] }));
    assert_eq!(refused.expect_err("no such method").code, -32601);
    let daemon = start(&tree);
    let told = daemon.initialize_result().to_string();
    assert!(!told.contains("testEdit"), "{told}");
}

#[test]
#[cfg(unix)]
fn a_read_shows_the_edits_before_it_by_whatever_name() {
    let tree = Tree::new()
        .file("sub/a.txt", "first\n")
        .file("b.txt", "x\n");
    std::os::unix::fs::symlink("sub/a.txt", tree.join("link.txt")).expect("a link");
    std::os::unix::fs::symlink("sub", tree.join("dir")).expect("a link");
    let daemon = start(&tree);
    let uri = format!("file://{}", tree.spelled("sub/a.txt"));
    let names = [
        "sub/a.txt",
        "link.txt",
        "dir/a.txt",
        "a.txt",
        &tree.spelled("dir/../sub/a.txt"),
        &uri,
    ];
    let mut waiting = Vec::new();
    for round in 0..200 {
        // A bare name is no name for what is to be made.
        let edited = [0, 1, 2, 4, 5][round % 5];
        let line = format!("round {round}");
        waiting.push((edit(&daemon, &[names[edited]], &line, 0), None));
        let name = names[round % 6];
        let asked = match (round % 3, name.starts_with("file:")) {
            // A URI is one only where selectors are looked for too.
            (0, _) | (_, true) => {
                daemon.request("agent/read", json!({ "path": name, "dialect": "plain" }))
            }
            (1, _) => read(&daemon, name),
            _ => daemon.request(
                "agent/readMany",
                json!({ "targets": [
                    { "path": "b.txt" },
                    { "path": format!("{name}:1-"), "dialect": "plain" },
                ] }),
            ),
        };
        waiting.push((asked, Some(line)));
        waiting.push((read(&daemon, "b.txt"), None));
        if round % 60 == 59 {
            check_all(&daemon, waiting.drain(..));
        }
    }
    check_all(&daemon, waiting.drain(..));
    assert_eq!(on_disk(&tree, "sub/a.txt").lines().count(), 201);
}

/// Takes the answers; those with a line must show it.
fn check_all(daemon: &Daemon, waiting: impl Iterator<Item = (Id, Option<String>)>) {
    for (id, line) in waiting {
        let result = daemon.wait(&id).expect("an answer");
        if let Some(line) = line {
            let result = match result["results"].get(1) {
                Some(second) => &second["ok"],
                None => &result,
            };
            let text = text_of(result);
            assert!(text.lines().any(|shown| shown == line), "{line}: {result}");
        }
    }
}

#[test]
fn a_read_sees_the_file_that_an_edit_before_it_makes() {
    let tree = Tree::new().file("sub/new.txt", "other\n");
    let daemon = start(&tree);
    // Without the edit the name would lead to sub/new.txt.
    let edited = edit(&daemon, &["new.txt"], "made", 100);
    let shown = read(&daemon, "new.txt");
    let split = daemon.request(
        "agent/read",
        json!({ "path": "new.txt:1", "dialect": "plain" }),
    );
    for id in [shown, split] {
        let result = daemon.wait(&id).expect("it is there");
        assert_eq!(text_of(&result).trim_end(), "made");
    }
    daemon.wait(&edited).expect("an edit");
}

#[test]
fn reads_of_other_files_overtake_a_held_edit() {
    let tree = Tree::new().file("a.txt", "a\n").file("b.txt", "b\n");
    let daemon = start(&tree);
    let held = edit(&daemon, &["a.txt"], "late", 4000);
    let behind = read(&daemon, "a.txt");
    let both = json!({ "targets": [{ "path": "b.txt" }, { "path": "a.txt" }] });
    let both = daemon.request("agent/readMany", both);
    let others: Vec<_> = (0..50).map(|_| read(&daemon, "b.txt")).collect();
    let missing = read(&daemon, "missing.txt");
    let other_edit = edit(&daemon, &["b.txt"], "more", 0);
    for id in &others {
        daemon.wait(id).expect("b is read");
    }
    daemon.wait(&other_edit).expect("b is edited");
    let error = daemon.wait(&missing).expect_err("it is not there");
    assert_eq!(error.kind(), "notFound");
    assert_eq!(on_disk(&tree, "a.txt"), "a\n", "the edit was not held");
    let shown = daemon.wait(&behind).expect("a is read");
    assert_eq!(text_of(&shown), "a\nlate\n");
    let both = daemon.wait(&both).expect("both are read");
    assert!(both["results"][1].to_string().contains("late"), "{both}");
    daemon.wait(&held).expect("a is edited");
    assert!(place(&daemon, &other_edit) < place(&daemon, &behind));
}

#[test]
fn edits_of_the_same_files_in_any_order_never_block_each_other() {
    let tree = Tree::new().file("a.txt", "").file("b.txt", "");
    let daemon = start(&tree);
    let mut waiting = VecDeque::new();
    let mut orders = Vec::new();
    let take = |waiting: &mut VecDeque<Id>, orders: &mut Vec<u64>| {
        let id = waiting.pop_front().expect("one is waited for");
        let done = daemon.wait(&id).expect("an edit");
        orders.push(done["order"].as_u64().expect("a number"));
    };
    for round in 0..1000 {
        if waiting.len() == WINDOW {
            take(&mut waiting, &mut orders);
        }
        let paths: [&str; 2] = match round % 2 {
            0 => ["a.txt", "b.txt"],
            _ => ["b.txt", "a.txt"],
        };
        waiting.push_back(edit(&daemon, &paths, &format!("line {}", round + 1), 0));
    }
    while !waiting.is_empty() {
        take(&mut waiting, &mut orders);
    }
    assert_eq!(orders, (1..=1000).collect::<Vec<u64>>());
    let expected = numbered_lines(1, 1000);
    assert!(on_disk(&tree, "a.txt") == expected, "a.txt");
    assert!(on_disk(&tree, "b.txt") == expected, "b.txt");
}

#[test]
fn who_waits_too_long_for_an_edit_is_told_busy() {
    let tree = Tree::new().file("a.txt", "a\n").file("b.txt", "b\n");
    let daemon = start(&tree);
    let held = edit(&daemon, &["a.txt"], "late", 7500);
    let behind = read(&daemon, "a.txt");
    let edit_behind = edit(&daemon, &["b.txt", "a.txt"], "never", 0);
    let many = json!({ "targets": [{ "path": "a.txt" }] });
    let many = daemon.request("agent/readMany", many);
    let error = daemon.wait(&behind).expect_err("it waits too long");
    assert_eq!(
        (error.kind(), error.data["retryable"].as_bool()),
        ("busy", Some(true))
    );
    let error = daemon.wait(&edit_behind).expect_err("it waits too long");
    assert_eq!(error.kind(), "busy");
    let many = daemon.wait(&many).expect("each target has its own error");
    assert_eq!(many["results"][0]["error"]["data"]["kind"], "busy");
    let shown = daemon.wait(&read(&daemon, "b.txt")).expect("another file");
    assert_eq!(text_of(&shown), "b\n");
    daemon.wait(&held).expect("an edit");
    assert!(place(&daemon, &behind) < place(&daemon, &held));
    assert_eq!(on_disk(&tree, "a.txt"), "a\nlate\n");
}

#[test]
fn an_edit_that_is_cancelled_in_the_queue_writes_nothing() {
    let tree = Tree::new().file("a.txt", "a\n");
    let daemon = start(&tree);
    let held = edit(&daemon, &["a.txt"], "first", 2000);
    let cancelled = edit(&daemon, &["a.txt"], "never", 0);
    let last = edit(&daemon, &["a.txt"], "last", 0);
    daemon.notify("$/cancelRequest", json!({ "id": cancelled }));
    assert_eq!(daemon.wait(&cancelled).expect_err("cancelled").code, -32800);
    assert_eq!(on_disk(&tree, "a.txt"), "a\n", "the first was not held");
    daemon.wait(&held).expect("an edit");
    daemon.wait(&last).expect("an edit");
    assert_eq!(on_disk(&tree, "a.txt"), "a\nfirst\nlast\n");
}

#[test]
fn an_edit_that_is_cancelled_in_its_commit_is_committed_wholly() {
    let tree = Tree::new().file("a.txt", "").file("b.txt", "");
    let daemon = start(&tree);
    let id = edit(&daemon, &["a.txt", "b.txt"], "whole", 2000);
    wait_for_line(&tree, "a.txt", "whole");
    daemon.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(daemon.wait(&id).expect_err("cancelled").code, -32800);
    // What comes after it waits for it all the same, also for the file it has written already.
    let first = read(&daemon, "a.txt");
    let shown = daemon.wait(&read(&daemon, "b.txt")).expect("a read");
    assert_eq!(text_of(&shown), "whole\n");
    daemon.wait(&first).expect("a read");
    let next = edit(&daemon, &["b.txt"], "next", 0);
    daemon.wait(&next).expect("an edit");
    assert_eq!(on_disk(&tree, "b.txt"), "whole\nnext\n");
}

#[test]
fn shutdown_waits_for_a_commit() {
    let tree = Tree::new().file("a.txt", "").file("b.txt", "");
    let daemon = start(&tree);
    let id = edit(&daemon, &["a.txt", "b.txt"], "whole", 2000);
    wait_for_line(&tree, "a.txt", "whole");
    assert_eq!(daemon.call("shutdown", Value::Null), Ok(Value::Null));
    assert_eq!(on_disk(&tree, "b.txt"), "whole\n");
    daemon.wait(&id).expect("an edit");
    let refused = daemon.call("agent/testEdit", json!({ "paths": ["a.txt"] }));
    assert_eq!(refused.expect_err("it has shut down").code, -32600);
    daemon.notify("exit", Value::Null);
    let status = daemon.wait_exit(HANG).expect("it ends");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn an_exit_that_waits_for_nothing_cuts_no_commit_off() {
    let tree = Tree::new().file("a.txt", "").file("b.txt", "");
    let daemon = start(&tree);
    let id = edit(&daemon, &["a.txt", "b.txt"], "whole", 3000);
    wait_for_line(&tree, "a.txt", "whole");
    let queued = edit(&daemon, &["a.txt"], "never", 0);
    let shutdown = daemon.request("shutdown", Value::Null);
    daemon.notify("exit", Value::Null);
    let status = daemon.wait_exit(HANG).expect("it ends");
    assert_eq!(status.code(), Some(0));
    assert_eq!(on_disk(&tree, "a.txt"), "whole\n");
    assert_eq!(on_disk(&tree, "b.txt"), "whole\n");
    for id in [id, queued, shutdown] {
        assert_eq!(daemon.wait(&id).expect_err("aborted").code, -32800);
    }
}

#[test]
fn an_edit_is_refused_where_reads_are() {
    let tree = Tree::new().file("a.txt", "a\n").file(".env", "secret\n");
    let outside = Tree::new().file("x.txt", "x\n");
    let daemon = start(&tree);
    for (path, kind) in [
        (".env", "denied"),
        (&*outside.spelled("x.txt"), "outsideWorkspace"),
        (&*outside.spelled("new.txt"), "outsideWorkspace"),
        ("", "badParams"),
    ] {
        let id = edit(&daemon, &["a.txt", path], "never", 0);
        assert_eq!(daemon.wait(&id).expect_err(path).kind(), kind, "{path}");
    }
    assert_eq!(on_disk(&tree, "a.txt"), "a\n");
    let many: Vec<String> = (0..50).map(|n| format!("deep/er/{n}.txt")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let error = daemon.wait(&edit(&daemon, &many, "never", 0));
    assert_eq!(error.expect_err("no such folder").kind(), "io");
}

#[test]
fn an_edit_comes_after_the_reads_before_it_and_what_they_show_fits_together() {
    let tree = Tree::new().file("a.txt", "0\n");
    let daemon = start(&tree);
    let mut asked = Vec::new();
    for round in 1..=100 {
        asked.push(daemon.request("agent/read", json!({ "path": "a.txt" })));
        asked.push(edit(&daemon, &["a.txt"], &round.to_string(), 0));
    }
    for (number, id) in asked.iter().enumerate() {
        let result = daemon.wait(id).expect("an answer");
        if number % 2 == 1 {
            continue;
        }
        // Line n of the text is n - 1, however many there are.
        let details = &result["details"];
        let total = details["totalLines"].as_u64().expect("a number");
        assert!(total > number as u64 / 2, "{result}");
        let text = text_of(&result);
        let (header, rows) = text.split_once('\n').expect("a header");
        let tag = details["hashline"]["tag"].as_str().expect("a tag");
        assert_eq!(header, format!("¶a.txt#{tag}"));
        let expected: Vec<String> = (0..total).map(|n| format!("{}:{n}", n + 1)).collect();
        assert_eq!(rows, expected.join("\n"));
    }
}
