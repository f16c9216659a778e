//! Reading on in a page asks its server nothing, and never mixes two versions of it; a plain read asks, as its server wants it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::server::{Gate, Reply, Running, Server};
use crate::client::Daemon;
use crate::tree::Tree;

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

/// A server whose page counts its versions.
fn counting(headers: &'static [(&'static str, &'static str)]) -> Running {
    let version = Arc::new(AtomicUsize::new(0));
    Server::new()
        .route("/page", move |_| {
            let number = version.fetch_add(1, Ordering::SeqCst) + 1;
            let lines: String = (1..=5000)
                .map(|line| format!("line {line} of version {number}\n"))
                .collect();
            headers
                .iter()
                .fold(Reply::text(lines), |reply, (name, value)| {
                    reply.header(name, value)
                })
        })
        .start()
}

#[test]
fn following_the_selectors_shows_every_line_of_one_version_once() {
    let tree = Tree::new();
    let server = counting(&[]);
    let daemon = Daemon::start(tree.path());
    let mut path = server.url("/page");
    let mut seen = Vec::new();
    loop {
        let result = daemon.read(&path).expect("a page");
        let shown = text(&result).split_once("\n---\n\n").expect("a header").1;
        let rows = shown.lines().filter_map(|row| row.split_once(":line "));
        seen.extend(rows.map(|(number, rest)| {
            assert_eq!(rest, format!("{number} of version 1"));
            number.parse::<u64>().expect("a number")
        }));
        if seen.len() > 300 {
            assert_eq!(result["details"]["cache"], "hit");
        }
        let next = &result["details"]["truncation"]["nextSelector"];
        match next.as_str() {
            Some(next) => path = format!("{}:{next}", server.url("/page")),
            None => break,
        }
    }
    assert_eq!(seen, (1..=5000).collect::<Vec<u64>>());
    assert_eq!(server.count("/page"), 1);
    // The server is gone; what was shown is not.
    let url = server.url("/page");
    drop(server);
    let result = daemon.read(format!("{url}:-2")).expect("offline");
    assert!(
        text(&result).ends_with("5000:line 5000 of version 1"),
        "{result}"
    );
    let error = daemon.read(&url).expect_err("a plain read asks");
    assert_eq!(error.data["kind"], "network");
    assert_eq!(error.data["retryable"], true);
}

fn cases() -> ProptestConfig {
    let is_long = std::env::var_os("PILCROW_LONG").is_some();
    ProptestConfig {
        cases: if is_long { 200 } else { 12 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_line_is_shown_once_and_the_server_asked_once(
        lines in proptest::collection::vec("[a-z ]{0,40}|#{1,3} [a-z]{1,9}|[a-z]{3000,4000}", 1..1500),
        is_markdown in any::<bool>(),
        full in any::<bool>(),
    ) {
        let body = lines.join("\n") + "\n";
        let kind = if is_markdown { "text/markdown" } else { "text/plain" };
        let server = Server::new().route("/page", move |_| Reply::new(kind, body.clone())).start();
        let tree = Tree::new();
        let daemon = Daemon::start(tree.path());
        let mut path = server.url(if full { "/page:full" } else { "/page:1-" });
        let mut seen = Vec::new();
        loop {
            let result = daemon.read(&path).expect("a page");
            for span in result["details"]["shown"].as_array().expect("spans") {
                seen.extend(span["start"].as_u64().expect("a line")..=span["end"].as_u64().expect("a line"));
            }
            for cut in result["details"]["cutLines"].as_array().into_iter().flatten() {
                seen.push(cut["line"].as_u64().expect("a line"));
            }
            match result["details"]["truncation"]["nextSelector"].as_str() {
                Some(next) => path = server.url(&format!("/page:{next}")),
                None => break,
            }
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (1..=lines.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(server.count("/page"), 1);
    }
}

#[test]
fn a_plain_read_asks_again_and_each_session_reads_on_in_its_own_version() {
    let tree = Tree::new();
    let server = counting(&[]);
    let daemon = Daemon::start(tree.path());
    let read = |session: &str, selector: &str| {
        let path = format!("{}{selector}", server.url("/page"));
        let result = daemon.read_with(json!({ "session": session, "path": path }));
        text(&result.expect("a page")).to_owned()
    };
    assert!(read("a", "").contains("1:line 1 of version 1"));
    assert!(read("b", "").contains("1:line 1 of version 2"));
    assert!(read("a", ":400-401").contains("401:line 401 of version 1"));
    assert!(read("b", ":400-401").contains("401:line 401 of version 2"));
    assert!(read("a", ":raw").contains("line 7 of version 1"));
    // A session that was never shown it begins with what is there now.
    assert!(read("c", ":400-401").contains("401:line 401 of version 3"));
    daemon
        .call("agent/closeSession", json!({ "session": "a" }))
        .expect("closed");
    assert!(read("a", ":400-401").contains("401:line 401 of version 4"));
    assert_eq!(server.count("/page"), 4);
}

#[test]
fn what_the_server_calls_fresh_is_not_asked_for_again() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for (headers, asked) in [
        (&[("cache-control", "max-age=60")][..], 1),
        (&[("cache-control", "no-cache")][..], 2),
        (&[("cache-control", "no-store, max-age=60")][..], 2),
        // Nothing is assumed of what says nothing.
        (&[("last-modified", "Wed, 01 Jan 2020 00:00:00 GMT")][..], 2),
    ] {
        let server = counting(headers);
        for _ in 0..2 {
            daemon.read(server.url("/page")).expect("a page");
        }
        assert_eq!(server.count("/page"), asked, "{headers:?}");
    }
}

#[test]
fn a_304_spares_the_body() {
    let tree = Tree::new();
    let server = Server::new()
        .route("/page", |asked| match asked.header("if-none-match") {
            "\"v1\"" => Reply::empty(304),
            _ => Reply::text("the page\n").header("etag", "\"v1\""),
        })
        .start();
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        daemon.read(server.url("/page")).expect("a page")["details"]["cache"],
        "miss"
    );
    let again = daemon.read(server.url("/page")).expect("a page");
    assert_eq!(again["details"]["cache"], "hit");
    assert!(text(&again).ends_with("1:the page"), "{again}");
    assert_eq!(server.count("/page"), 2);
    let status = daemon.call("agent/status", json!({})).expect("a status");
    assert_eq!(status["web"]["revalidated"], 1);
    assert_eq!(status["web"]["entries"], 1);
}

#[test]
fn one_request_serves_all_who_ask_at_the_same_time() {
    let tree = Tree::new();
    let gate = Gate::closed();
    let held = gate.clone();
    let server = Server::new()
        .route("/page", move |_| Reply::text("the page\n").held(&held))
        .start();
    let daemon = Daemon::start(tree.path());
    let ids: Vec<_> = (0..8)
        .map(|n| {
            daemon.request(
                "agent/read",
                json!({ "session": format!("s{n}"), "path": server.url("/page") }),
            )
        })
        .collect();
    server.wait_until("the page is asked for", |server| server.count("/page") == 1);
    // Who gives up takes nothing from the others.
    daemon.notify("$/cancelRequest", json!({ "id": ids[0] }));
    daemon.wait(&ids[0]).expect_err("cancelled");
    gate.open();
    for id in &ids[1..] {
        assert!(text(&daemon.wait(id).expect("a page")).ends_with("1:the page"));
    }
    assert_eq!(server.count("/page"), 1);
}

#[test]
fn who_has_more_time_does_not_end_with_who_asked_first() {
    let tree = Tree::new();
    let gate = Gate::closed();
    let held = gate.clone();
    let server = Server::new()
        .route("/page", move |_| Reply::text("the page\n").held(&held))
        .start();
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "web": { "timeoutMs": 1000 } }))
        .start();
    let ask = |session: &str| {
        let params = json!({ "session": session, "path": server.url("/page") });
        daemon.request("agent/read", params)
    };
    let hasty = ask("hasty");
    let settings = json!({ "settings": { "pilcrow": { "web": { "timeoutMs": 20_000 } } } });
    daemon.notify("workspace/didChangeConfiguration", settings);
    let patient = ask("patient");
    let error = daemon.wait(&hasty).expect_err("its time is over");
    assert_eq!(error.data["kind"], "timeout");
    server.wait_until("it is asked again", |server| server.count("/page") == 2);
    gate.open();
    assert!(text(&daemon.wait(&patient).expect("a page")).ends_with("1:the page"));
}

#[test]
fn a_fetch_that_hangs_delays_no_edit_and_ends_with_its_request() {
    let tree = Tree::new();
    tree.write("a.txt", "one\n");
    let gate = Gate::closed();
    let held = gate.clone();
    let server = Server::new()
        .route("/page", move |_| Reply::text("the page\n").held(&held))
        .start();
    let daemon = Daemon::start(tree.path());
    let id = daemon.request("agent/read", json!({ "path": server.url("/page") }));
    server.wait_until("the page is asked for", |server| server.count("/page") == 1);
    let patch = "¶a.txt\nreplace 1:\n+two\n";
    let tag = daemon.read("a.txt").expect("a file")["details"]["hashline"]["tag"].clone();
    let tag = tag.as_str().expect("a tag");
    let patch = patch.replace("a.txt", &format!("a.txt#{tag}"));
    let edited = daemon.call("agent/edit", json!({ "patch": patch }));
    edited.expect("the edit waits for no page");
    daemon.notify("$/cancelRequest", json!({ "id": id }));
    daemon.wait(&id).expect_err("cancelled");
    server.wait_until("the connection is closed", |server| server.open() == 0);
}

#[test]
fn a_long_fetch_says_how_far_it_is() {
    let tree = Tree::new();
    let gate = Gate::closed();
    let held = gate.clone();
    let server = Server::new()
        .route("/page", move |_| Reply::text("the page\n").held(&held))
        .start();
    let daemon = Daemon::start(tree.path());
    let id = daemon.request(
        "agent/read",
        json!({ "path": server.url("/page"), "workDoneToken": "t1" }),
    );
    let begin = daemon.expect_notification("$/progress");
    assert_eq!(begin["token"], "t1");
    assert_eq!(begin["value"]["kind"], "begin");
    assert_eq!(begin["value"]["message"], "connecting");
    gate.open();
    loop {
        let next = daemon.expect_notification("$/progress");
        match next["value"]["kind"].as_str() {
            Some("report") => {}
            kind => {
                assert_eq!(kind, Some("end"));
                break;
            }
        }
    }
    assert!(text(&daemon.wait(&id).expect("a page")).ends_with("1:the page"));
}
