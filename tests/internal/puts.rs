//! What a put takes and what it does not: whose files, which bytes, in how many pieces.

use std::os::unix::fs::{PermissionsExt, chown};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::client::Daemon;
use crate::tree::Tree;

use super::{put, refused_put, text};

#[test]
fn of_temporary_files_only_this_users_own() {
    let tree = Tree::new();
    let temporary = Tree::new()
        .file("mine.log", "mine\n")
        .file("theirs.log", "theirs\n");
    let fifo = temporary.join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).expect("a FIFO");
    let daemon = Daemon::builder()
        .root(tree.path())
        .env("TMPDIR", &temporary.spelled(""))
        .start();
    put(&daemon, json!({ "path": temporary.spelled("mine.log") }));
    assert_eq!(daemon.read_text("artifact://1"), "1:mine");
    let refused = refused_put(&daemon, json!({ "path": fifo.to_str().expect("UTF-8") }));
    assert_eq!(refused.kind(), "outsideWorkspace", "{}", refused.message);
    // Only root can give a file away.
    if rustix::process::geteuid().is_root() {
        chown(temporary.join("theirs.log"), Some(65534), None).expect("given away");
        let readable = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(temporary.join("theirs.log"), readable).expect("readable");
        let theirs = json!({ "path": temporary.spelled("theirs.log") });
        let refused = refused_put(&daemon, theirs);
        assert_eq!(refused.kind(), "outsideWorkspace", "{}", refused.message);
    }
    // What was refused took no number.
    assert_eq!(put(&daemon, json!({ "text": "x" }))["uri"], "artifact://2");
}

#[test]
fn pieces_may_end_anywhere() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let whole = "Füße 漢字 🦀\r\nzweite\n".as_bytes();
    put(
        &daemon,
        json!({ "base64": STANDARD.encode(&whole[..2]), "mimeType": "text/plain" }),
    );
    for byte in &whole[2..] {
        let piece =
            json!({ "uri": "artifact://1", "append": true, "base64": STANDARD.encode([*byte]) });
        put(&daemon, piece);
    }
    assert_eq!(daemon.read_text("artifact://1"), "1:Füße 漢字 🦀\n2:zweite");
    let raw = daemon
        .read_with(json!({ "path": "artifact://1:raw" }))
        .expect("all");
    assert_eq!(text(&raw).as_bytes(), whole);
}

#[test]
fn a_terminals_pieces_may_end_within_an_escape_sequence() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let came = "a\u{1b}]0;title\u{7}b\u{1b}[38;5;1mred\u{1b}[0m\n1%\r100%\r\nlast";
    put(
        &daemon,
        json!({ "text": "", "terminal": true, "name": "a run" }),
    );
    for character in came.chars() {
        let piece = json!({ "uri": "artifact://1", "append": true, "text": character.to_string() });
        put(&daemon, piece);
    }
    assert_eq!(daemon.read_text("artifact://1"), "1:abred\n2:100%\n3:last");
    assert_eq!(daemon.read_text("artifact://1:raw"), came);
    let list = daemon.read("artifact://").expect("a list");
    assert!(
        text(&list).starts_with("artifact://1  a run  3 lines, "),
        "{}",
        text(&list)
    );
}

#[test]
fn a_title_is_one_harmless_line() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let tags: String = "hidden"
        .chars()
        .map(|c| char::from_u32(0xE0000 + c as u32).expect("a tag"))
        .collect();
    let name = format!(
        "one\r\n  two\u{2028}\u{202e}three\u{1b}[31m{tags}{}",
        " x".repeat(300)
    );
    let read = put(&daemon, json!({ "text": "a\n", "name": name, "read": {} }));
    let first = text(&read["read"])
        .lines()
        .next()
        .expect("a line")
        .to_owned();
    assert!(
        first.starts_with("[artifact://1: one two three[31m x x"),
        "{first}"
    );
    assert!(
        first.chars().count() < 250 && first.ends_with("…, 1 line, 2B]"),
        "{first}"
    );
    let list = daemon.read("artifact://").expect("a list");
    assert_eq!(text(&list).lines().count(), 1);
    let own = &list["details"]["resources"][0];
    for told in [&own["description"], &read["read"]["details"]["title"]] {
        let told = told.as_str().expect("words");
        assert!(
            told.starts_with("one two three[31m x") && told.chars().count() <= 201,
            "{told}"
        );
    }
}
