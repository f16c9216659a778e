//! Calls that are called off, and calls that take long.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::HANG;
use crate::tree::Tree;
use crate::web::server::{Gate, Reply, Running, Server};

use super::{McpProcess, held_at, tag_in, text};

fn cancel(server: &McpProcess, id: i64) {
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id, "reason": "test" } }));
}

/// Waits until there is such a file.
pub fn wait_for(path: &Path) {
    let deadline = Instant::now() + HANG;
    while !path.exists() {
        assert!(Instant::now() < deadline, "{}", path.display());
        std::thread::yield_now();
    }
}

/// A server whose pages are there when the gate is opened.
fn slow(gate: &Gate) -> Running {
    let gate = gate.clone();
    let reply = move |_: &_| Reply::text("slow\n").held(&gate);
    Server::new().route("/slow", reply).start()
}

fn with_web(tree: &Tree) -> McpProcess {
    McpProcess::in_directory(tree.path())
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
    let (server, signals) = held_at("answer:1", tree.path());
    let go_on = signals.path().join("go");
    let tag = server.tag("a.txt");
    let patch = format!("¶a.txt#{tag}\nreplace 1:\n+1\n");
    let edit = server.begin_call("edit", json!({ "patch": patch }));
    wait_for(&signals.path().join("go.held"));
    cancel(&server, edit);
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    std::fs::write(&go_on, "").expect("a signal");
    let deadline = Instant::now() + HANG;
    let said = loop {
        let said = server.text("read", json!({ "path": "b.txt" }));
        if said.contains("cancelled edit") {
            break said;
        }
        assert!(Instant::now() < deadline, "{said}");
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
    let (server, signals) = held_at("rename:1", tree.path());
    let go_on = signals.path().join("go");
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

#[test]
fn a_cancelled_call_with_a_name_for_its_id_is_not_answered() {
    let tree = Tree::new().file("a.txt", "one\n");
    let gate = Gate::closed();
    let web = slow(&gate);
    let server = with_web(&tree);
    let arguments = json!({ "path": web.url("/slow") });
    let read = json!({ "jsonrpc": "2.0", "id": "a read", "method": "tools/call", "params": { "name": "read", "arguments": arguments } });
    server.send(&read);
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "a read" } }));
    server.text("read", json!({ "path": "a.txt" }));
    gate.open();
    server.text("read", json!({ "path": "a.txt" }));
    assert!(!server.has(|message| message["id"] == "a read"));
}

#[test]
fn past_so_many_calls_the_next_are_told_to_come_again() {
    let tree = Tree::new().file("a.txt", "one\n");
    let gate = Gate::closed();
    let web = slow(&gate);
    let server = with_web(&tree);
    let read = |n| server.begin_call("read", json!({ "path": web.url(&format!("/slow?{n}")) }));
    let reads: Vec<i64> = (0..64).map(read).collect();
    // One waits for a place. Those behind it find that this was in vain.
    for _ in 0..20 {
        let refused = server.error("read", json!({ "path": "a.txt" }));
        assert!(refused.contains("64 calls are under way"), "{refused}");
    }
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    // A place that is given back is free at once.
    cancel(&server, reads[0]);
    server.request("ping", json!({}));
    let deadline = Instant::now() + HANG;
    while server.call("read", json!({ "path": "a.txt" }))["isError"] == true {
        assert!(Instant::now() < deadline);
    }
    gate.open();
    for read in &reads[1..] {
        server.result(*read);
    }
}

/// Agents wait a minute at least; this is the half of it.
pub const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

#[test]
fn an_edit_that_hangs_is_answered_in_time_and_told_of_when_it_is_made() {
    let tree = Tree::new().file("a.txt", "one\n").file("b.txt", "b\n");
    let (server, signals) = held_at("rename:1", tree.path());
    let tag = server.tag("a.txt");
    let patch = format!("¶a.txt#{tag}\nreplace 1:\n+1\n");
    let edit = server.begin_call("edit", json!({ "patch": patch }));
    let answer = server.answer_within(edit, ANSWERED_WITHIN);
    assert_eq!(answer["result"]["isError"], true);
    let said = text(&answer["result"]);
    assert!(
        said.contains("it is not known whether it was made"),
        "{said}"
    );
    std::fs::write(signals.path().join("go"), "").expect("a signal");
    let deadline = Instant::now() + HANG;
    loop {
        let said = server.text("read", json!({ "path": "b.txt" }));
        if said.contains("[The cancelled edit was made: a.txt is #") {
            break;
        }
        assert!(Instant::now() < deadline, "{said}");
    }
    let written = std::fs::read_to_string(tree.join("a.txt")).expect("the file");
    assert_eq!(written, "1\n");
}

/// Of 64 pages none comes: the whole is answered all the same, each page in its place.
#[test]
fn reads_that_hang_are_answered_in_time() {
    let tree = Tree::new();
    let gate = Gate::closed();
    let web = slow(&gate);
    let server = with_web(&tree);
    let paths: Vec<String> = (0..64).map(|n| web.url(&format!("/slow?{n}"))).collect();
    let id = server.begin_call("read_many", json!({ "paths": paths }));
    let one = server.begin_call("read", json!({ "path": web.url("/slow") }));
    for id in [id, one] {
        let answer = server.answer_within(id, ANSWERED_WITHIN);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    gate.open();
}

#[test]
fn a_fault_of_the_daemons_own_is_an_error_of_the_protocol() {
    let tree = Tree::new().file("a.txt", "one\n");
    let server = McpProcess::in_directory(tree.path())
        .env("PILCROW_FAIL", "answer:1:PANIC")
        .start();
    let tag = server.tag("a.txt");
    let patch = format!("¶a.txt#{tag}\nreplace 1:\n+1\n");
    let params = json!({ "name": "edit", "arguments": { "patch": patch } });
    let answer = server.request("tools/call", params);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert!(
        server
            .text("read", json!({ "path": "a.txt" }))
            .ends_with("\n1:1")
    );
}
