//! A great many open documents: what is opened, changed, read and closed costs the same as with a few; nothing is timed here, `benches/scale` does that.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::client::{Daemon, file_uri};
use crate::tree::Tree;

/// Documents in one go. Were each to cost as much as there are, this would never end in time.
fn many() -> usize {
    match std::env::var_os("PILCROW_LONG").is_some_and(|value| value == "1") {
        true => 100_000,
        false => 20_000,
    }
}

const PARTS: usize = 20;

/// Notifications, to be sent as one: the pipe is not what is tested.
#[derive(Default)]
struct Frames(Vec<u8>);

impl Frames {
    fn add(&mut self, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
        let header = format!("Content-Length: {}\r\n\r\n", message.len());
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(message.as_bytes());
    }
}

/// A third in no file, a third never saved, a third by a linked folder.
fn uri_of(tree: &Tree, number: usize) -> String {
    match number % 3 {
        0 => format!("untitled:Untitled-{number}"),
        1 => file_uri(&tree.join(&format!("new/{number}.txt"))),
        _ => file_uri(&tree.join(&format!("linked/{number}.txt"))),
    }
}

/// By the real name.
fn path_of(number: usize) -> String {
    match number % 3 {
        0 => format!("untitled:Untitled-{number}"),
        1 => format!("new/{number}.txt"),
        _ => format!("real/{number}.txt"),
    }
}

fn notify_all(daemon: &Daemon, method: &str, all: impl Iterator<Item = Value>) {
    let mut frames = Frames::default();
    for params in all {
        frames.add(method, &params);
    }
    daemon.send_raw(&frames.0);
}

fn raw(daemon: &Daemon, path: &str) -> String {
    let read = daemon.read_with(json!({ "path": path, "selector": "raw" }));
    let read = read.unwrap_or_else(|error| panic!("{path}: {error:?}"));
    read["content"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned()
}

#[test]
fn a_great_many_documents_are_opened_changed_read_and_closed() {
    let tree = Tree::new()
        .file("on-disk.txt", "disk\n")
        .file("new/there.txt", "")
        .file("real/there.txt", "");
    symlink("real", tree.join("linked")).expect("a link");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let many = many();
    let step = many / PARTS;
    // Each part is read before the next is opened: the state that a read goes by is in use then.
    for first in (0..many).step_by(step) {
        let mut frames = Frames::default();
        for number in first..first + step {
            let uri = uri_of(&tree, number);
            let text = format!("document {number}\n");
            let document = json!({ "uri": uri, "languageId": "x", "version": 1, "text": text });
            frames.add("textDocument/didOpen", &json!({ "textDocument": document }));
            let state = json!({ "uri": uri, "version": 1, "dirty": true });
            frames.add("agent/documentState", &state);
        }
        daemon.send_raw(&frames.0);
        for number in [
            first,
            first / 2,
            first + step - 1,
            first + step - 2,
            first + step - 3,
        ] {
            let text = raw(&daemon, &path_of(number));
            assert_eq!(text, format!("document {number}\n"));
        }
        assert_eq!(raw(&daemon, "on-disk.txt"), "disk\n");
    }
    let all = (0..many).map(|number| {
        let document = json!({ "uri": uri_of(&tree, number), "version": 2 });
        let changes = [json!({ "text": format!("changed {number}\n") })];
        json!({ "textDocument": document, "contentChanges": changes })
    });
    notify_all(&daemon, "textDocument/didChange", all);
    for number in [0, 1, 2, many - 3, many - 2, many - 1] {
        let text = raw(&daemon, &path_of(number));
        assert_eq!(text, format!("changed {number}\n"));
    }
    let others =
        (1..many).map(|number| json!({ "textDocument": { "uri": uri_of(&tree, number) } }));
    notify_all(&daemon, "textDocument/didClose", others);
    assert_eq!(raw(&daemon, &path_of(0)), "changed 0\n");
    for number in [1, 2, many - 1] {
        let refused = daemon.read(path_of(number)).expect_err("it was closed");
        assert_eq!(refused.kind(), "notFound");
    }
}
