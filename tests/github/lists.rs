//! Lists of issues and pull requests.

use serde_json::{Value, json};

use super::hub::{Hub, read, refused, text, user};
use crate::web::server::Reply;

fn row(number: u64, title: &str) -> Value {
    json!({
        "number": number, "title": title, "state": "open", "user": user("alice"),
        "created_at": "2020-01-02T08:00:00Z", "updated_at": "2020-01-02T08:00:00Z",
        "labels": [{ "name": "bug" }, { "name": "p1" }],
    })
}

#[test]
fn a_list_has_rows_and_says_how_to_go_on() {
    let hub = Hub::new();
    let mut pull = row(9, "A pull request");
    pull["pull_request"] = json!({ "url": "x" });
    let items = json!([
        row(12, "Panic on empty input"),
        pull,
        row(7, "Docs:\n typo")
    ]);
    let next = hub.server.url("/repositories/1/issues?page=2");
    let reply = Reply::json(items.to_string()).header("link", &format!("<{next}>; rel=\"next\""));
    hub.answers.reply(
        "/repos/octo/demo/issues?state=open&per_page=100&page=1",
        reply,
    );
    let daemon = hub.daemon();
    let result = daemon.read("issue://").expect("a list");
    let shown = text(&result);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(
        lines[0].starts_with("issue://octo/demo/12  open  Panic on empty input  @alice  "),
        "{shown}"
    );
    assert!(lines[0].ends_with("y ago  bug, p1"), "{shown}");
    assert!(
        lines[1].starts_with("issue://octo/demo/7   open  Docs: typo            @alice  "),
        "{shown}"
    );
    assert!(
        shown.contains("[2 open issues shown; issue://octo/demo?page=2 for more]"),
        "{shown}"
    );
    assert_eq!(result["details"]["meta"]["source"], "issue://octo/demo");
    assert_eq!(
        result["details"]["resources"][1]["uri"],
        "issue://octo/demo/7"
    );
    let cut = read(&daemon, "issue://octo/demo?limit=1");
    assert!(
        cut.contains("[1 open issue shown; issue://octo/demo?limit=100 for more]"),
        "{cut}"
    );
    // Lists are always live.
    assert_eq!(hub.server.count("/repos/octo/demo/issues"), 2);
}

#[test]
fn filters_are_terms_of_ours_in_a_search() {
    let hub = Hub::new();
    let mut merged = row(3, "Merged");
    merged["state"] = json!("closed");
    merged["pull_request"] = json!({ "merged_at": "2020-01-02T08:00:00Z" });
    hub.answers.json(
        "/search/issues",
        json!({ "total_count": 1, "items": [merged] }),
    );
    let daemon = hub.daemon();
    let shown = read(
        &daemon,
        "pr://?state=merged&author=alice&label=good%20first&label=p1",
    );
    assert!(
        shown.starts_with("pr://octo/demo/3  merged  Merged"),
        "{shown}"
    );
    assert!(shown.contains("[1 merged pull request shown]"), "{shown}");
    let query = hub.server.last().query.expect("a query");
    let terms = "q=repo%3Aocto%2Fdemo+is%3Apr+is%3Amerged+author%3Aalice+label%3A%22good+first%22+label%3A%22p1%22&";
    assert!(query.starts_with(terms), "{query}");
}

#[test]
fn lists_of_pull_requests_have_their_states() {
    let hub = Hub::new();
    let with = |number: u64, title: &str, change: Value| {
        let mut row = row(number, title);
        for (name, value) in change.as_object().expect("members") {
            row[name] = value.clone();
        }
        row
    };
    let title = format!("Long {}\u{202e}\u{7}\u{e0041}", "x".repeat(300));
    hub.answers.json(
        "/repos/octo/demo/pulls?state=all&per_page=100&page=2",
        json!([
            with(5, "Draft", json!({ "draft": true, "labels": [] })),
            with(
                4,
                "Done",
                json!({ "state": "closed", "merged_at": "2020-01-02T08:00:00Z" })
            ),
            with(3, "Dropped", json!({ "state": "closed", "draft": true })),
            with(2, &title, json!({ "user": null })),
        ]),
    );
    let daemon = hub.daemon();
    let shown = read(&daemon, "pr://octo/demo?state=all&page=2");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(
        lines[0].starts_with("pr://octo/demo/5  draft   Draft"),
        "{shown}"
    );
    assert!(lines[0].ends_with(" ago"), "without labels\n{shown}");
    assert!(
        lines[1].starts_with("pr://octo/demo/4  merged  Done"),
        "{shown}"
    );
    assert!(
        lines[2].starts_with("pr://octo/demo/3  closed  Dropped"),
        "{shown}"
    );
    assert!(lines[3].contains("@ghost"), "{shown}");
    assert!(!lines[3].contains(&"x".repeat(200)), "{shown}");
    assert!(
        !shown.contains(['\u{202e}', '\u{7}', '\u{e0041}']),
        "{shown}"
    );
    assert!(shown.contains("[4 pull requests shown]"), "{shown}");
    // None at all is no error.
    hub.answers.json("/repos/octo/demo/issues", json!([]));
    let none = read(&daemon, "issue://?state=closed");
    assert!(none.contains("No closed issues"), "{none}");
    assert_eq!(
        hub.server.last().query.as_deref(),
        Some("state=closed&per_page=100&page=1")
    );
    // Only pull requests on this page, and another one behind it.
    let mut pull = row(9, "A pull request");
    pull["pull_request"] = json!({ "url": "x" });
    let next = hub.server.url("/repositories/1/issues?page=2");
    let reply = Reply::json(json!([pull]).to_string());
    hub.answers.reply(
        "/repos/octo/demo/issues",
        reply.header("link", &format!("<{next}>; rel=\"next\"")),
    );
    let none = read(&daemon, "issue://");
    assert!(
        none.contains("[No open issues; issue://octo/demo?page=2 for more]"),
        "{none}"
    );
    // The same list in words of a dialect.
    let plain =
        daemon.read_with(json!({ "filePath": "issue://?limit=100", "dialect": "opencode" }));
    assert!(plain.is_ok(), "{plain:?}");
    for path in [
        "issue://?state=merged",
        "pr://?limit=101",
        "pr://?page=0",
        "pr://?comments=0",
        "pr://?colour=red",
    ] {
        assert_eq!(refused(&daemon, path).kind(), "badParams", "{path}");
    }
}
