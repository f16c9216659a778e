//! Calls that are called off, and calls that take long.

use std::path::Path;

use serde_json::json;

use crate::client::HANG;
use crate::tree::Tree;
use crate::web::server::{Gate, Reply, Running, Server};

use super::{Mcp, tag_in, text};

fn cancel(server: &Mcp, id: i64) {
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id, "reason": "test" } }));
}

fn wait_for(path: &Path) {
    let deadline = std::time::Instant::now() + HANG;
    while !path.exists() {
        assert!(std::time::Instant::now() < deadline, "{}", path.display());
        std::thread::yield_now();
    }
}

/// A server whose pages are there when the gate is opened.
fn slow(gate: &Gate) -> Running {
    let gate = gate.clone();
    let reply = move |_: &_| Reply::text("slow\n").held(&gate);
    Server::new().route("/slow", reply).start()
}

fn with_web(tree: &Tree) -> Mcp {
    Mcp::in_directory(tree.path())
        .arg("--set")
        .arg("web.enabled=true")
        .start()
}

#[test]
fn a_cancelled_read_is_not_answered() {
    let tree = Tree::new().file("a.txt", "one\n");
    let gate = Gate::closed();
    let web = slow(&gate);
    let server = with_web(&tree);
    let read = server.begin_call("read", json!({ "path": web.url("/slow") }));
    server.text("read", json!({ "path": "a.txt" }));
    cancel(&server, read);
    // Its id is free again, and what is unknown or answered is nothing.
    cancel(&server, 4711);
    cancel(&server, 1);
    server.text("read", json!({ "path": "a.txt" }));
    gate.open();
    server.text("read", json!({ "path": "a.txt" }));
    assert!(!server.has(|message| message["id"] == read));
}

#[test]
fn a_commit_that_has_begun_is_finished_and_told_of() {
    let tree = Tree::new().file("a.txt", "one\n").file("b.txt", "b\n");
    let signals = tempfile::tempdir().expect("a folder");
    let go_on = signals.path().join("go");
    let fail = format!("answer:1:HOLD={}", go_on.display());
    let server = Mcp::in_directory(tree.path())
        .env("PILCROW_FAIL", &fail)
        .start();
    let tag = server.tag("a.txt");
    let patch = format!("¶a.txt#{tag}\nreplace 1:\n+1\n");
    let edit = server.begin_call("edit", json!({ "patch": patch }));
    wait_for(&signals.path().join("go.held"));
    cancel(&server, edit);
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    std::fs::write(&go_on, "").expect("a signal");
    let deadline = std::time::Instant::now() + HANG;
    let said = loop {
        let said = server.text("read", json!({ "path": "b.txt" }));
        if said.contains("cancelled edit") {
            break said;
        }
        assert!(std::time::Instant::now() < deadline, "{said}");
    };
    let tag = server.tag("a.txt");
    assert!(
        said.ends_with(&format!(
            "\n\n[The cancelled edit was made: a.txt is #{tag} now.]"
        )),
        "{said}"
    );
    assert!(!server.has(|message| message["id"] == edit));
    assert_eq!(
        std::fs::read_to_string(tree.join("a.txt")).expect("the file"),
        "1\n"
    );
    assert!(
        !server
            .text("read", json!({ "path": "b.txt" }))
            .contains("cancelled")
    );
}

#[test]
fn a_cancelled_edit_that_waits_is_not_made() {
    let tree = Tree::new().file("a.txt", "one\ntwo\n");
    let signals = tempfile::tempdir().expect("a folder");
    let go_on = signals.path().join("go");
    let fail = format!("rename:1:HOLD={}", go_on.display());
    let server = Mcp::in_directory(tree.path())
        .env("PILCROW_FAIL", &fail)
        .start();
    let tag = tag_in(&server.text("read", json!({ "path": "a.txt" })));
    let patch = |line: u8| json!({ "patch": format!("¶a.txt#{tag}\nreplace {line}:\n+new\n") });
    let first = server.begin_call("edit", patch(1));
    wait_for(&signals.path().join("go.held"));
    let second = server.begin_call("edit", patch(2));
    cancel(&server, second);
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    std::fs::write(&go_on, "").expect("a signal");
    assert_eq!(server.result(first)["isError"], false);
    server.text("read", json!({ "path": "a.txt" }));
    assert_eq!(
        std::fs::read_to_string(tree.join("a.txt")).expect("the file"),
        "new\ntwo\n"
    );
}

#[test]
fn a_call_that_takes_long_says_so_to_who_wants_to_hear_it() {
    let tree = Tree::new();
    let gate = Gate::closed();
    let web = slow(&gate);
    let server = with_web(&tree);
    let arguments = json!({ "path": web.url("/slow") });
    let params =
        json!({ "name": "read", "arguments": arguments, "_meta": { "progressToken": "p" } });
    let read = server.begin("tools/call", params);
    let mut last = 0.0;
    for _ in 0..2 {
        let said = server.asked("notifications/progress");
        assert_eq!(said["params"]["progressToken"], "p");
        let progress = said["params"]["progress"].as_f64().expect("a number");
        assert!(progress > last);
        last = progress;
        assert!(said["params"]["message"].is_string());
    }
    gate.open();
    assert!(text(&server.result(read)).ends_with("slow"));
    server.request("ping", json!({}));
    server.drop_messages();
    server.request("ping", json!({}));
    assert!(!server.has(|message| message["method"] == "notifications/progress"));
}

#[test]
fn an_id_in_use_is_refused() {
    let tree = Tree::new();
    let gate = Gate::closed();
    let web = slow(&gate);
    let server = with_web(&tree);
    let read = server.begin_call("read", json!({ "path": web.url("/slow") }));
    server.send(&json!({ "jsonrpc": "2.0", "id": read, "method": "tools/call", "params": { "name": "read", "arguments": { "path": "a" } } }));
    assert_eq!(server.answer(&json!(read))["error"]["code"], -32600);
    gate.open();
    assert!(text(&server.result(read)).ends_with("slow"));
}

/// In builds for tests nothing can hold a read up for half a minute but a server that is silent; its
/// own limit is shorter than that of the call, and both are shorter than what agents wait.
#[test]
fn every_call_is_answered_within_its_time() {
    if std::env::var_os("PILCROW_LONG").is_none() {
        return;
    }
    let tree = Tree::new();
    let gate = Gate::closed();
    let web = slow(&gate);
    let server = with_web(&tree);
    let begun = std::time::Instant::now();
    let paths: Vec<String> = (0..64).map(|n| web.url(&format!("/slow?{n}"))).collect();
    let id = server.begin_call("read_many", json!({ "paths": paths }));
    let deadline = begun + std::time::Duration::from_secs(35);
    while !server.has(|message| message["id"] == id) {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(server.result(id)["isError"], true);
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    gate.open();
}
