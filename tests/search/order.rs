//! Searches among other requests: they see what was sent before them, hold up nobody, and end when they are called off.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

use super::{lines, search};

#[test]
fn a_search_sees_every_edit_that_was_sent_before_it() {
    let mut tree = Tree::new();
    for at in 0..20 {
        tree = tree.file(&format!("f{at}.txt"), "old\n");
    }
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    for round in 0..30 {
        let name = format!("f{}.txt", round % 20);
        let edit = json!({ "path": name, "edits": [{ "op": "insert_tail", "text": format!("needle{round}x") }] });
        let read = daemon.read(&name).expect("a read");
        let mut edit = edit;
        edit["tag"] = read["details"]["hashline"]["tag"].clone();
        let edit = daemon.request("agent/edit", json!({ "files": [edit] }));
        let searched = daemon.request(
            "agent/search",
            json!({ "pattern": format!("needle{round}x") }),
        );
        let found = daemon.wait(&searched).expect("a search");
        daemon.wait(&edit).expect("an edit");
        assert_eq!(lines(&found).keys().next(), Some(&name), "{round}");
    }
}

#[test]
fn an_edit_that_is_sent_after_a_search_counts_what_it_shows() {
    let tree = Tree::new()
        .file("a.txt", "one\nneedle\n")
        .file("b.txt", "needle\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let tag = |name: &str| {
        let read = daemon.read_with(json!({ "path": name, "session": "another" }));
        let tag = read.expect("a read")["details"]["hashline"]["tag"].clone();
        tag.as_str().expect("a tag").to_owned()
    };
    let patch = format!("¶b.txt#{}\nreplace 1:\n+found\n", tag("b.txt"));
    let searched = daemon.request("agent/search", json!({ "pattern": "needle" }));
    let edited = daemon.request("agent/edit", json!({ "patch": patch }));
    daemon.wait(&searched).expect("a search");
    daemon.wait(&edited).expect("an edit");
}

/// Enough to keep a search busy for longer than it may take: each file is one line.
fn large() -> Tree {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 20));
    let text = "the quick bröwn fox jumps over the lazy dog, again and again ".repeat(800);
    for at in 0..600 {
        tree.write(&format!("many/{at}/f.txt"), &text);
    }
    tree
}

/// Beyond ASCII, word boundaries leave a regex engine its slowest way.
const SLOW: &str = r"\b(\w+\W+){8,60}\d\b";

#[test]
fn a_search_is_called_off_at_once_and_holds_up_nobody() {
    let tree = large();
    let daemon = Daemon::start(tree.path());
    daemon.read("n.txt").expect("a read");
    let slow: Vec<_> = (0..8)
        .map(|_| daemon.request("agent/search", json!({ "pattern": SLOW })))
        .collect();
    for _ in 0..20 {
        assert!(daemon.read("n.txt:3-3").is_ok());
    }
    let order = daemon.arrival_order();
    assert!(
        slow.iter().all(|id| !order.contains(id)),
        "the reads waited"
    );
    let begun = Instant::now();
    for id in &slow {
        daemon.notify("$/cancelRequest", json!({ "id": id }));
    }
    for id in &slow {
        assert_eq!(daemon.wait(id).expect_err("cancelled").code, -32800);
    }
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    // Nothing of them is left behind: the long places are free.
    let quick = search(
        &daemon,
        json!({ "pattern": "line 7", "path": "." , "glob": "n.txt" }),
    );
    assert_eq!(quick["details"]["matches"], 1);
    assert_eq!(
        daemon.call("agent/status", json!({})).expect("a status")["stuck"],
        0
    );
}

#[test]
fn a_search_that_takes_too_long_answers_with_what_it_has() {
    let tree = large();
    tree.write("a.txt", "1 2 3 4 5 6 7 8 9 10\n");
    let daemon = Daemon::start(tree.path());
    let answer = search(&daemon, json!({ "pattern": SLOW }));
    let details = &answer["details"];
    assert_eq!(lines(&answer)["a.txt"], [(1, 1)]);
    assert_eq!(details["complete"], false);
    assert!(super::text(&answer).contains(", stopped after 5 s. Use after: "));
    let after = details["after"].clone();
    let next = search(
        &daemon,
        json!({ "pattern": "quick", "after": after, "count": true }),
    );
    let first = next["details"]["files"][0]["path"]
        .as_str()
        .expect("a path")
        .to_owned();
    assert!(
        first.as_str() > after.as_str().expect("a path"),
        "{first} {after}"
    );
}
