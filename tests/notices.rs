//! Change notices: once for each session and version, only for lines that were shown, never content.

use serde_json::{Value, json};

use crate::client::{Daemon, file_uri};
use crate::tree::{Tree, numbered_lines};

const NOTICE: &str = "agent/didChangeSnapshot";

fn read(daemon: &Daemon, path: &str, session: &str) -> Value {
    let params = json!({ "path": path, "session": session });
    daemon.read_with(params).expect("a read")["details"]["hashline"]["tag"].clone()
}

fn with_line(line: usize, text: &str) -> String {
    let mut lines: Vec<String> = (1..=20).map(|n| format!("line {n}")).collect();
    lines[line - 1] = text.to_owned();
    lines.join("\n") + "\n"
}

/// Everything that was asked before is done: nothing can be on its way any more.
fn settle(daemon: &Daemon) {
    for _ in 0..3 {
        daemon.call("agent/status", json!({})).expect("status");
    }
}

#[test]
fn a_change_on_disk_is_told_to_those_who_were_shown_its_lines() {
    let tree = Tree::new().file("a.txt", numbered_lines(1, 20));
    let daemon = Daemon::start(tree.path());
    let old = read(&daemon, "a.txt:3,4", "one");
    read(&daemon, "a.txt:10,11", "two");
    tree.replace("a.txt", with_line(3, "changed"));
    let new = read(&daemon, "a.txt:15,16", "three");
    let notice = daemon.expect_notification(NOTICE);
    assert_eq!(
        notice,
        json!({ "session": "one", "path": "a.txt", "tag": old, "newTag": new, "changed": [{ "start": 3, "end": 3 }], "actor": "disk" })
    );
    // Once: nobody hears of this version again, and of the next only who was shown its lines.
    read(&daemon, "a.txt:15,16", "three");
    tree.replace("a.txt", with_line(11, "changed"));
    let newest = read(&daemon, "a.txt:1-1:raw", "three");
    let notice = daemon.expect_notification(NOTICE);
    assert_eq!(notice["session"], "two");
    assert_eq!((&notice["tag"], &notice["newTag"]), (&new, &newest));
    assert_eq!(notice["changed"], json!([{ "start": 11, "end": 11 }]));
    settle(&daemon);
}

#[test]
fn a_change_on_disk_is_told_without_any_read() {
    let tree = Tree::new().file("a.txt", numbered_lines(1, 20));
    let daemon = Daemon::start(tree.path());
    let old = read(&daemon, "a.txt:3,4", "one");
    tree.replace("a.txt", with_line(4, "changed"));
    let notice = daemon.expect_notification(NOTICE);
    assert_eq!((&notice["tag"], &notice["actor"]), (&old, &json!("disk")));
    assert_eq!(notice["changed"], json!([{ "start": 4, "end": 4 }]));
    tree.replace("a.txt", with_line(3, "changed"));
    let notice = daemon.expect_notification(NOTICE);
    assert_eq!(notice["changed"], json!([{ "start": 3, "end": 3 }]));
    assert_eq!(read(&daemon, "a.txt:10,11", "one"), notice["newTag"]);
    std::fs::remove_file(tree.join("a.txt")).expect("removed");
    let notice = daemon.expect_notification(NOTICE);
    assert_eq!(notice["newTag"], Value::Null);
    settle(&daemon);
}

#[test]
fn moved_lines_and_lines_just_shown_are_no_news() {
    let tree = Tree::new().file("a.txt", numbered_lines(1, 20));
    let daemon = Daemon::start(tree.path());
    read(&daemon, "a.txt:3,4", "one");
    tree.write(
        "a.txt",
        format!("new first line\n{}", numbered_lines(1, 20)),
    );
    read(&daemon, "a.txt:18,19", "two");
    tree.replace("a.txt", with_line(3, "changed"));
    // The reader itself is shown the changed line by this very read.
    read(&daemon, "a.txt:1-9", "one");
    settle(&daemon);
}

#[test]
fn typing_is_told_as_the_editors_doing() {
    let tree = Tree::new().file("a.txt", numbered_lines(1, 20));
    let daemon = Daemon::start(tree.path());
    let uri = file_uri(&tree.join("a.txt"));
    let document = json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": numbered_lines(1, 20) });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let old = read(&daemon, "a.txt:3,4", "one");
    let change = |version: u64, line: u64, text: &str| {
        let position = |character: u64| json!({ "line": line, "character": character });
        daemon.notify("textDocument/didChange", json!({
            "textDocument": { "uri": uri, "version": version },
            "contentChanges": [{ "range": { "start": position(0), "end": position(0) }, "text": text }],
        }));
    };
    change(2, 9, "not shown ");
    change(3, 0, "inserted\nabove\n");
    change(4, 4, "shown ");
    let notice = daemon.expect_notification(NOTICE);
    assert_eq!(notice["session"], "one");
    assert_eq!(notice["actor"], "editor");
    assert_eq!(notice["changed"], json!([{ "start": 5, "end": 5 }]));
    assert_ne!(notice["newTag"], old);
    let now = daemon.read("a.txt").expect("a read");
    assert_eq!(now["details"]["hashline"]["tag"], notice["newTag"]);
    assert!(!notice.to_string().contains("line 3"));
    settle(&daemon);
}

#[test]
fn nobody_hears_of_what_nobody_read_or_after_closing() {
    let tree = Tree::new()
        .file("a.txt", "x\n")
        .file("b.txt", numbered_lines(1, 20));
    let daemon = Daemon::start(tree.path());
    let uri = file_uri(&tree.join("a.txt"));
    let document = json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": "x\n" });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    read(&daemon, "b.txt", "gone");
    daemon
        .call("agent/closeSession", json!({ "session": "gone" }))
        .expect("closed");
    for version in 2..1000 {
        let text = format!("{version}\n");
        daemon.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "text": text }],
            }),
        );
        tree.write("a.txt", &text);
        daemon.notify(
            "textDocument/didSave",
            json!({ "textDocument": { "uri": uri } }),
        );
    }
    tree.replace("b.txt", with_line(5, "changed"));
    read(&daemon, "b.txt:9", "other");
    settle(&daemon);
}

#[test]
fn an_untitled_document_that_closes_is_gone() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let document =
        json!({ "uri": "untitled:x", "languageId": "plaintext", "version": 1, "text": "a\nb\n" });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let tag = read(&daemon, "untitled:x:1,1", "one");
    daemon.notify(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": "untitled:x" } }),
    );
    assert_eq!(
        daemon.expect_notification(NOTICE),
        json!({ "session": "one", "path": "untitled:x", "tag": tag, "newTag": null, "changed": [{ "start": 1, "end": 1 }], "actor": "editor" })
    );
}
