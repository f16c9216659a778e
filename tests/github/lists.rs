//! Lists of issues and pull requests.

use serde_json::{Value, json};

use super::hub::{Hub, read, text, user};
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
