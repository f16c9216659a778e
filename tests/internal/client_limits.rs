//! The client as a provider: what it may take, how long, and that nobody else waits for it.

use std::time::Instant;

use serde_json::{Value, json};

use crate::client::{Id, Next};
use crate::tree::Tree;

use super::clients::{AT_ONCE, contents, offering, read, refused, start};
use super::text;

#[test]
fn more_than_a_resource_may_hold_is_too_large() {
    let tree = Tree::new();
    let daemon = start(&tree);
    let much = "x".repeat(17 * 1024 * 1024);
    let error = refused(&daemon, "jira://A", |uri| contents(uri, &much));
    assert_eq!(error.kind(), "tooLarge");
    assert!(error.message.contains("16 MiB"), "{}", error.message);
    let fits = "y".repeat(15 * 1024 * 1024);
    let result = read(&daemon, "jira://B", |uri| contents(uri, &fits));
    assert!(text(&result).starts_with("1:yyy"));
}

#[test]
fn one_that_never_answers_is_told_that_nobody_waits() {
    let tree = Tree::new().file("a.txt", "mine\n");
    let settings = json!({ "internal": { "resolveTimeoutMs": 300 } });
    let daemon = offering(json!(["jira"]), &tree, settings);
    let read = daemon.request("agent/read", json!({ "path": "jira://A" }));
    let (id, _) = daemon.expect_request("agent/resolve");
    let error = daemon.wait(&read).expect_err("no answer");
    assert_eq!(error.kind(), "timeout");
    assert!(
        error.message.contains("internal.resolveTimeoutMs"),
        "{}",
        error.message
    );
    let cancelled = daemon.expect_notification("$/cancelRequest");
    assert_eq!(cancelled["id"], json!(id));
    // It answers all the same, too late for anybody.
    daemon.respond(id, contents("jira://A", "late\n"));
    let result = self::read(&daemon, "jira://A", |uri| contents(uri, "in time\n"));
    assert_eq!(text(&result), "1:in time");
}

#[test]
fn a_reader_that_gives_up_calls_the_question_off() {
    let tree = Tree::new();
    let daemon = start(&tree);
    let read = |session: &str| {
        daemon.request(
            "agent/read",
            json!({ "path": "jira://A", "session": session }),
        )
    };
    let (one, two) = (read("s"), read("s"));
    let (id, _) = daemon.expect_request("agent/resolve");
    // The other one of the same session waits for the same answer.
    daemon.notify("$/cancelRequest", json!({ "id": one }));
    assert_eq!(
        daemon.wait(&one).expect_err("cancelled").kind(),
        "cancelled"
    );
    daemon.respond(id, contents("jira://A", "for the other\n"));
    let other = loop {
        match daemon.answer_or_request(&two, "agent/resolve") {
            Next::Answer(answer) => break answer.expect("a text"),
            // It came too late to wait for the same answer.
            Next::Request(id, _) => {
                daemon.respond(id, contents("jira://A", "for the other\n"));
            }
        }
    };
    assert_eq!(text(&other), "1:for the other");
    let last = read("t");
    let (id, params) = daemon.expect_request("agent/resolve");
    assert_eq!(params["session"], "t");
    daemon.notify("$/cancelRequest", json!({ "id": last }));
    assert_eq!(
        daemon.wait(&last).expect_err("cancelled").kind(),
        "cancelled"
    );
    while daemon.expect_notification("$/cancelRequest")["id"] != json!(id) {}
}

#[test]
fn the_client_may_read_through_us_to_answer_and_no_circle_turns() {
    let tree = Tree::new().file("a.txt", "from the file\n");
    let daemon = start(&tree);
    let begun = Instant::now();
    let read = daemon.request("agent/read", json!({ "path": "jira://A" }));
    let (id, params) = daemon.expect_request("agent/resolve");
    let meta = json!({ "pilcrow/resolving": params["resolving"] });
    // An edit of the same session waits for nothing either.
    let patch = json!({ "path": "b.txt", "text": "new\n" });
    daemon.call("agent/write", patch).expect("written");
    let inner = daemon.read_with(json!({ "path": "a.txt", "_meta": meta }));
    let inner = text(&inner.expect("the file"))
        .lines()
        .last()
        .expect("a row")
        .to_owned();
    for path in ["jira://A", "jira://B", "mcp://x"] {
        let error = daemon.read_with(json!({ "path": path, "_meta": meta }));
        assert_eq!(error.expect_err("a circle").kind(), "unsupported", "{path}");
    }
    let targets = json!([{ "path": "jira://A" }, { "path": "a.txt" }]);
    let many = daemon.call(
        "agent/readMany",
        json!({ "targets": targets, "_meta": meta }),
    );
    let many = many.expect("results");
    assert_eq!(many["results"][0]["error"]["data"]["kind"], "unsupported");
    assert!(many["results"][1]["ok"].is_object());
    daemon.respond(id, contents("jira://A", &inner));
    assert_eq!(
        text(&daemon.wait(&read).expect("a text")),
        "1:1:from the file"
    );
    assert!(begun.elapsed() < AT_ONCE);
}

#[test]
fn nobody_else_waits_for_64_questions_and_more() {
    let tree = Tree::new().file("a.txt", "mine\n");
    let daemon = start(&tree);
    let begun = Instant::now();
    let reads: Vec<Id> = (0..100)
        .map(|n| daemon.request("agent/read", json!({ "path": format!("jira://{n}") })))
        .collect();
    let mut asked: Vec<(Id, Value)> = Vec::new();
    while asked.len() < 64 {
        asked.push(daemon.expect_request("agent/resolve"));
    }
    for n in 0..20 {
        assert!(daemon.read_text("a.txt").ends_with("1:mine"));
        let write = json!({ "path": format!("{n}.txt"), "text": "new\n" });
        daemon.call("agent/write", write).expect("written");
    }
    assert!(begun.elapsed() < AT_ONCE);
    // The others come when there is room, each once.
    let mut uris: Vec<String> = Vec::new();
    for _ in 0..100 {
        let (id, params) = match asked.pop() {
            Some(one) => one,
            None => daemon.expect_request("agent/resolve"),
        };
        let uri = params["uri"].as_str().expect("a URI").to_owned();
        daemon.respond(id, contents(&uri, &format!("{uri}\n")));
        uris.push(uri);
    }
    uris.sort();
    uris.dedup();
    assert_eq!(uris.len(), 100);
    for (n, read) in reads.iter().enumerate() {
        assert_eq!(
            text(&daemon.wait(read).expect("a text")),
            format!("1:jira://{n}")
        );
    }
}

#[test]
fn a_client_that_dies_while_it_is_asked_takes_the_daemon_along() {
    let tree = Tree::new();
    let daemon = start(&tree);
    daemon.request("agent/read", json!({ "path": "jira://A" }));
    daemon.expect_request("agent/resolve");
    daemon.close_stdin();
    assert!(daemon.wait_exit(AT_ONCE).is_some());
    daemon.drop_answers();
}

#[test]
fn who_finds_no_room_waits_no_longer_than_the_others() {
    let tree = Tree::new().file("a.txt", "mine\n");
    let settings = json!({ "internal": { "resolveTimeoutMs": 3000 } });
    let daemon = offering(json!(["jira"]), &tree, settings);
    let reads: Vec<Id> = (0..70)
        .map(|n| daemon.request("agent/read", json!({ "path": format!("jira://{n}") })))
        .collect();
    // Of the others those that get a place just before their time is over are called off at once.
    daemon.ignore_notifications("$/cancelRequest");
    for _ in 0..64 {
        daemon.expect_request("agent/resolve");
    }
    for read in &reads {
        let error = daemon.wait(read).expect_err("silent");
        assert_eq!(error.kind(), "timeout");
        assert!(error.message.contains("3000 ms"), "{}", error.message);
    }
    let result = self::read(&daemon, "jira://1", |uri| contents(uri, "there\n"));
    assert_eq!(text(&result), "1:there");
}
