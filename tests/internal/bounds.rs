//! Limits that take long to come to: a read waits so long and no longer, a session has so many artifacts and no more, few names are suggested.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Daemon, Id};
use crate::tree::Tree;

use super::{put, read_as, refused_put, text};

#[test]
fn a_read_waits_no_longer_than_it_may_in_all() {
    let tree = Tree::new().file("a.txt", "mine\n");
    let offered = json!({ "resources": { "schemes": ["jira"] } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "internal": { "resolveTimeoutMs": 25_000 } }))
        .capabilities(json!({ "experimental": { "pilcrow": offered } }))
        .env("PILCROW_INTERNAL", "obtainMs=500")
        .start();
    let begun = Instant::now();
    let read = daemon.request("agent/read", json!({ "path": "jira://A:5" }));
    let (id, _) = daemon.expect_request("agent/resolve");
    let error = daemon.wait(&read).expect_err("no answer");
    assert_eq!(error.kind(), "timeout");
    assert!(error.message.contains("within 0.5 s"), "{}", error.message);
    assert!(begun.elapsed() < Duration::from_secs(20));
    let cancelled = daemon.expect_notification("$/cancelRequest");
    assert_eq!(cancelled["id"], json!(id));
    // One of many that hangs does not spoil the others.
    let targets = json!([{ "path": "jira://B" }, { "path": "a.txt" }]);
    let many = daemon.request("agent/readMany", json!({ "targets": targets }));
    daemon.expect_request("agent/resolve");
    let many = daemon.wait(&many).expect("results");
    assert_eq!(many["results"][0]["error"]["data"]["kind"], "timeout");
    assert!(text(&many["results"][1]["ok"]).ends_with("1:mine"));
    daemon.expect_notification("$/cancelRequest");
}

#[test]
fn reads_of_one_address_ask_once() {
    let tree = Tree::new();
    let offered = json!({ "resources": { "schemes": ["jira"] } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "internal": { "resolveTimeoutMs": 4000 } }))
        .capabilities(json!({ "experimental": { "pilcrow": offered } }))
        .start();
    let read = |session: &str| {
        daemon.request(
            "agent/read",
            json!({ "path": "jira://A", "session": session }),
        )
    };
    let reads: Vec<Id> = ["s", "s", "s", "s", "t"].into_iter().map(read).collect();
    // One for each session: a further one would be a message that nobody took.
    let mut sessions: Vec<Value> = (0..2)
        .map(|_| daemon.expect_request("agent/resolve").1["session"].clone())
        .collect();
    sessions.sort_by_key(Value::to_string);
    assert_eq!(sessions, ["s", "t"]);
    for read in &reads {
        assert_eq!(daemon.wait(read).expect_err("silent").kind(), "timeout");
    }
    for _ in 0..2 {
        daemon.expect_notification("$/cancelRequest");
    }
}

fn count(daemon: &Daemon) -> Value {
    daemon.call("agent/status", json!({})).expect("status")["artifacts"]["count"].clone()
}

#[test]
fn a_session_has_so_many_artifacts_and_no_more() {
    let tree = Tree::new();
    // As many as it is by default, where there is time for it.
    let most: u64 = match std::env::var_os("PILCROW_LONG") {
        Some(_) => 10_000,
        None => 20,
    };
    let daemon = Daemon::builder()
        .root(tree.path())
        .env("PILCROW_INTERNAL", &format!("artifacts={most}"))
        .start();
    let mut sent: Vec<Id> = Vec::new();
    for n in 1..=most {
        let params = json!({ "session": "A", "text": n.to_string() });
        sent.push(daemon.request("agent/putArtifact", params));
        if sent.len() == 64 || n == most {
            for id in sent.drain(..) {
                assert_eq!(daemon.wait(&id).expect("put")["dropped"], json!([]));
            }
        }
    }
    put(&daemon, json!({ "session": "B", "text": "another's" }));
    assert_eq!(count(&daemon), most + 1);
    let more = put(&daemon, json!({ "session": "A", "text": "one more" }));
    assert_eq!(more["uri"], format!("artifact://{}", most + 1));
    assert_eq!(more["dropped"], json!(["artifact://1"]));
    assert_eq!(count(&daemon), most + 1);
    let gone = read_as(&daemon, "A", "artifact://1").expect_err("dropped");
    assert_eq!(gone.kind(), "notFound");
    assert_eq!(
        gone.message,
        format!("artifact://1 was dropped to make room ({most} artifacts for a session).")
    );
    let other = read_as(&daemon, "B", "artifact://1").expect("another's");
    assert_eq!(text(&other), "1:another's");
    // What is there grows on.
    let append = json!({ "session": "A", "uri": "artifact://2", "append": true, "text": "0" });
    assert_eq!(put(&daemon, append)["dropped"], json!([]));
}

#[test]
fn sums_are_told_in_the_words_of_the_settings() {
    const MIB: usize = 1024 * 1024;
    let tree = Tree::new();
    let settings = json!({ "artifacts": { "maxBytes": MIB, "sessionBytes": 2 * MIB } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    for _ in 0..3 {
        put(&daemon, json!({ "text": "x".repeat(MIB) }));
    }
    let gone = daemon.read("artifact://1").expect_err("dropped");
    assert_eq!(
        gone.message,
        "artifact://1 was dropped to make room (2 MiB for a session)."
    );
    let large = refused_put(&daemon, json!({ "text": "x".repeat(MIB + 1) }));
    assert!(large.message.contains("at most 1 MiB"), "{}", large.message);
}

#[test]
fn no_more_than_three_names_are_suggested() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for n in 1..=5 {
        let answer = json!({ "uri": format!("agent://reviewer_{n}"), "text": "x" });
        put(&daemon, answer);
        let write = json!({ "path": format!("local://plan{n}.md"), "text": "x\n" });
        daemon.call("agent/write", write).expect("made");
    }
    for missing in ["agent://reviewer_9", "local://plan9.md"] {
        let error = daemon.read(missing).expect_err(missing);
        let near = error.data["suggestions"].as_array().map(Vec::len);
        assert_eq!(near, Some(3), "{missing}: {}", error.data);
    }
}
