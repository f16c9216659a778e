//! Servers that are slow, dead, odd or want to be left alone, and how much is asked at a time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::hub::{Hub, issue, read, refused, text};
use crate::client::Daemon;
use crate::web::server::{Gate, Reply};

const ISSUE: &str = "/repos/octo/demo/issues/7";

fn said(status: u16, message: &str) -> Reply {
    Reply::json(json!({ "message": message }).to_string()).status(status)
}

fn host_status(daemon: &Daemon) -> Value {
    let status = daemon.call("agent/status", Value::Null).expect("a status");
    status["github"]["hosts"][0].clone()
}

fn seconds_from_now(seconds: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    (now.expect("after 1970").as_secs() + seconds).to_string()
}

/// Whatever form the wish takes, it is heeded for the whole host, and for no longer than an hour.
#[test]
fn every_form_of_a_limit_is_heeded() {
    let soon = seconds_from_now(40);
    let later = seconds_from_now(100_000);
    let primary = |reset: &str| {
        said(403, "API rate limit exceeded")
            .header("x-ratelimit-remaining", "0")
            .header("x-ratelimit-reset", reset)
    };
    let secondary = "You have exceeded a secondary rate limit.";
    let cases = [
        (primary(&soon), 30_000..=40_000),
        (primary(&later), 3_600_000..=3_600_000),
        (
            said(429, secondary).header("retry-after", "20"),
            20_000..=20_000,
        ),
        (
            said(403, secondary).header("retry-after", "21"),
            21_000..=21_000,
        ),
        (said(429, secondary), 60_000..=60_000),
    ];
    for (reply, expected) in cases {
        let hub = Hub::new();
        hub.issue(8, &[]);
        let daemon = hub.daemon();
        read(&daemon, "issue://8");
        hub.answers.reply(ISSUE, reply);
        let error = refused(&daemon, "issue://7?comments=0");
        assert_eq!(error.kind(), "busy", "{error:?}");
        assert_eq!(error.data["retryable"], true, "{error:?}");
        let wait = error.data["retryAfterMs"].as_u64().expect("a wait");
        assert!(expected.contains(&wait), "{wait} {expected:?}");
        // Nobody asks the host before, whatever is wanted of it.
        let before = hub.server.requests().len();
        for path in ["issue://9", "pr://9", "pr://9/diff", "issue://"] {
            assert_eq!(refused(&daemon, path).kind(), "busy", "{path}");
        }
        // What is kept stands for it.
        let shown = read(&daemon, "issue://8?fresh=1");
        assert!(shown.contains("; GitHub cannot be reached;"), "{shown}");
        assert_eq!(hub.server.requests().len(), before);
    }
}

#[test]
fn when_the_wait_is_over_the_host_is_asked_again() {
    let hub = Hub::new();
    hub.issue(7, &[]);
    let slow_down = said(403, "secondary rate limit").header("retry-after", "1");
    hub.answers.reply(ISSUE, slow_down);
    let daemon = hub.daemon();
    assert_eq!(refused(&daemon, "issue://7?comments=0").kind(), "busy");
    let answer = Reply::json(issue(7).to_string())
        .header("x-ratelimit-remaining", "4321")
        .header("x-ratelimit-reset", "1795415400");
    hub.answers.reply(ISSUE, answer);
    let begun = Instant::now();
    let shown = loop {
        match daemon.read("issue://7?comments=0") {
            Ok(result) => break text(&result),
            Err(error) => assert_eq!(error.kind(), "busy"),
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "still busy");
    };
    assert!(shown.contains("Issue #7"), "{shown}");
    let told = host_status(&daemon);
    assert_eq!(told["host"], "github.com");
    assert_eq!(told["login"], "none");
    assert_eq!(
        (&told["remaining"], &told["resetAt"]),
        (&json!(4321), &json!(1_795_415_400_u64))
    );
}

#[test]
fn what_is_forbidden_for_another_reason_is_no_limit() {
    let hub = Hub::new();
    hub.issue(8, &[]);
    let forbidden = said(403, "Resource not accessible\nby personal access token.")
        .header("x-ratelimit-remaining", "4000");
    hub.answers.reply(ISSUE, forbidden);
    let daemon = hub.daemon_with(json!({}), &[("GH_TOKEN", "ghp_canary")]);
    let error = refused(&daemon, "issue://7");
    assert_eq!(error.kind(), "denied");
    assert!(
        error.message.contains(
            "does not allow this with the login that is used: Resource not accessible by personal access token."
        ),
        "{}",
        error.message
    );
    read(&daemon, "issue://8");
    // Deleted, for ever.
    hub.answers
        .reply(ISSUE, said(410, "This issue was deleted"));
    assert_eq!(refused(&daemon, "issue://7").kind(), "notFound");
    hub.answers
        .reply(ISSUE, said(451, "Repository access blocked"));
    assert_eq!(refused(&daemon, "issue://7").kind(), "denied");
}

/// A server that says nothing, and one that stops half-way: ten seconds, and nobody else is held up.
#[test]
fn a_server_that_hangs_is_given_up() {
    let hub = Hub::new();
    hub.tree.write("a.txt", "a\n");
    let never = Gate::closed();
    let body = issue(8).to_string();
    let halves = vec![body[..50].to_owned().into(), body[50..].to_owned().into()];
    let silent = Reply::json(issue(7).to_string()).held(&never);
    let half = Reply::json("")
        .pieces(halves)
        .held_after_first_piece(&never);
    hub.answers.reply(ISSUE, silent);
    hub.answers.reply("/repos/octo/demo/issues/8", half);
    hub.issue(9, &["here"]);
    let daemon = hub.daemon();
    let ids = ["issue://7?comments=0", "issue://8?comments=0"]
        .map(|path| daemon.request("agent/read", json!({ "path": path })));
    hub.server
        .wait_until("both are asked for", |it| it.requests().len() >= 2);
    assert!(daemon.read_text(hub.tree.join("a.txt")).contains("1:a"));
    assert!(read(&daemon, "issue://9").contains("here"));
    for id in ids {
        let error = daemon.wait(&id).expect_err("nothing came");
        assert_eq!(error.kind(), "network", "{error:?}");
        assert!(error.message.contains("github.com"), "{}", error.message);
    }
    hub.server
        .wait_until("no connection is left", |it| it.open() == 0);
    never.open();
}

#[test]
fn what_is_no_answer_is_said_to_be_none() {
    let hub = Hub::new();
    let long = "x".repeat(33 << 20);
    let cases = [
        (Reply::html("<p>A proxy's page</p>"), "network", "JSON"),
        (Reply::empty(500), "network", "answered 500"),
        (Reply::empty(304), "network", "github.com"),
        (
            Reply::redirect(301, ISSUE),
            "network",
            "github.com cannot be asked",
        ),
        (Reply::json(format!("\"{long}\"")), "tooLarge", "32 MiB"),
    ];
    for (reply, kind, words) in cases {
        hub.answers.reply(ISSUE, reply);
        let daemon = hub.daemon();
        let error = refused(&daemon, "issue://7?comments=0");
        assert_eq!(error.kind(), kind, "{error:?}");
        assert!(error.message.contains(words), "{}", error.message);
    }
}

#[test]
fn four_requests_at_a_time_go_to_a_host() {
    let hub = Hub::new();
    let gate = Gate::closed();
    for number in 1..=12 {
        let held = Reply::json(issue(number).to_string()).held(&gate);
        let path = format!("/repos/octo/demo/issues/{number}");
        hub.answers.reply(&path, held);
    }
    let daemon = hub.daemon();
    let read = |number: usize| {
        let path = format!("issue://{number}?comments=0");
        daemon.request("agent/read", json!({ "path": path }))
    };
    let ids: Vec<_> = (1..=12).map(read).collect();
    hub.server
        .wait_until("four are asked for", |it| it.requests().len() >= 4);
    // A file is read meanwhile, and a page of another host is fetched.
    hub.tree.write("a.txt", "a\n");
    assert!(daemon.read_text(hub.tree.join("a.txt")).contains("1:a"));
    assert_eq!(hub.server.requests().len(), 4);
    gate.open();
    for id in ids {
        assert!(text(&daemon.wait(&id).expect("an issue")).contains("# Issue"));
    }
    assert_eq!(hub.server.requests().len(), 12);
}

/// What several wait for goes on until the last of them is gone.
#[test]
fn a_fetch_ends_when_nobody_waits_for_it() {
    let hub = Hub::new();
    let gate = Gate::closed();
    hub.answers
        .reply(ISSUE, Reply::json(issue(7).to_string()).held(&gate));
    let daemon = hub.daemon();
    let read = |session: &str| {
        let params = json!({ "path": "issue://7?comments=0", "session": session });
        daemon.request("agent/read", params)
    };
    let (one, two) = (read("one"), read("two"));
    hub.server
        .wait_until("it is asked for", |it| it.count(ISSUE) == 1);
    daemon.notify("$/cancelRequest", json!({ "id": one }));
    assert_eq!(
        daemon.wait(&one).expect_err("cancelled").kind(),
        "cancelled"
    );
    assert_eq!(hub.server.open(), 1, "the other still waits");
    daemon.notify("$/cancelRequest", json!({ "id": two }));
    assert_eq!(
        daemon.wait(&two).expect_err("cancelled").kind(),
        "cancelled"
    );
    hub.server
        .wait_until("the connection is closed", |it| it.open() == 0);
    // Who began it need not be the one who gets it.
    let (three, four) = (read("three"), read("four"));
    hub.server
        .wait_until("it is asked for again", |it| it.count(ISSUE) == 2);
    daemon.notify("$/cancelRequest", json!({ "id": three }));
    let error = daemon.wait(&three).expect_err("cancelled");
    assert_eq!(error.kind(), "cancelled");
    gate.open();
    assert!(text(&daemon.wait(&four).expect("an issue")).contains("# Issue"));
    assert_eq!(hub.server.count(ISSUE), 2);
}

/// A search finds a thousand at most, and says the same of what it may not see and of what is not valid.
#[test]
fn a_search_that_is_refused_is_told_apart() {
    let hub = Hub::new();
    hub.answers.reply(
        "/search/issues",
        said(422, "Only the first 1000 search results are available"),
    );
    let daemon = hub.daemon_with(json!({}), &[("GH_TOKEN", "ghp_canary")]);
    let cases = [
        ("issue://?label=p1&page=11", "badParams", "first 1000"),
        (
            "issue://?label=p1",
            "notFound",
            "There is no repository octo/demo",
        ),
        ("issue://?author=nobody", "notFound", "user nobody"),
        ("issue://", "notFound", "There is no repository octo/demo"),
    ];
    for (path, kind, words) in cases {
        let error = refused(&daemon, path);
        assert_eq!(error.kind(), kind, "{path}");
        assert!(error.message.contains(words), "{path}: {}", error.message);
    }
}
