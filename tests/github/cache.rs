//! The file that all daemons of the user share: an answer each time, never a wrong one, whatever becomes of it.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::hub::{Hub, read, refused, text};
use crate::chance::Chance;
use crate::client::Daemon;
use crate::web::server::{Gate, Reply};

const ISSUE: &str = "/repos/octo/demo/issues/7";

fn file(hub: &Hub) -> PathBuf {
    hub.cache.path().join("pilcrow/github.db")
}

fn status(daemon: &Daemon) -> Value {
    daemon.call("agent/status", Value::Null).expect("a status")["github"].clone()
}

/// Every row is old at once, and is waited for.
fn stale() -> Value {
    json!({ "cache": { "softTtlSec": 0, "staleWaitMs": 20000 } })
}

#[test]
fn daemons_share_rows_and_renew_them_by_etag() {
    let hub = Hub::new();
    hub.issue(7, &["first"]);
    let one = hub.daemon();
    let two = hub.daemon();
    assert!(read(&one, "issue://7").contains("first"));
    assert!(read(&two, "issue://7").contains("first"));
    assert_eq!(hub.server.count(ISSUE), 1);
    let mode = |path: PathBuf| {
        std::fs::metadata(path)
            .expect("a file")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(file(&hub)), 0o600);
    assert_eq!(mode(hub.cache.path().join("pilcrow")), 0o700);
    let of_it = status(&one);
    assert_eq!((&of_it["cache"], &of_it["rows"]), (&json!("on"), &json!(1)));
    // Asked anew: nothing changed.
    assert!(read(&two, "issue://7?fresh=1").contains("first"));
    assert_eq!(hub.server.count(ISSUE), 2);
    let asked = hub.server.requests();
    assert!(
        asked
            .iter()
            .rev()
            .take(2)
            .all(|it| !it.header("if-none-match").is_empty())
    );
    hub.issue(7, &["second"]);
    assert!(read(&two, "issue://7?fresh=1").contains("second"));
    assert!(
        read(&one, "issue://7").contains("second"),
        "of the row that the other renewed"
    );
}

#[test]
fn twenty_readers_share_one_fetch() {
    let hub = Hub::new();
    let gate = Gate::closed();
    hub.issue(7, &["first"]);
    let held = Reply::json(super::hub::issue(7).to_string()).held(&gate);
    hub.answers.reply(ISSUE, held);
    let daemon = hub.daemon();
    let ids: Vec<_> = (0..20)
        .map(|at| {
            daemon.request(
                "agent/read",
                json!({ "path": "issue://7", "session": format!("s{at}") }),
            )
        })
        .collect();
    hub.server
        .wait_until("the issue is asked for", |it| it.count(ISSUE) == 1);
    // What is of a file is not held up.
    hub.tree.write("a.txt", "a\n");
    assert!(daemon.read_text(hub.tree.join("a.txt")).contains("1:a"));
    gate.open();
    for id in ids {
        assert!(text(&daemon.wait(&id).expect("an issue")).contains("first"));
    }
    assert_eq!(hub.server.count(ISSUE), 1);
}

#[test]
fn an_old_row_is_given_while_it_is_fetched_again() {
    let hub = Hub::new();
    hub.issue(7, &["first"]);
    let settings = json!({ "cache": { "softTtlSec": 0, "staleWaitMs": 0 } });
    let daemon = hub.daemon_with(settings, &[]);
    read(&daemon, "issue://7");
    let gate = Gate::closed();
    hub.issue(7, &["second"]);
    let held = Reply::json(super::hub::issue(7).to_string()).held(&gate);
    hub.answers.reply(ISSUE, held);
    let result = daemon.read("issue://7").expect("the row");
    let shown = text(&result);
    assert!(
        shown.starts_with("[github.com, fetched just now, being fetched again; what others wrote"),
        "{shown}"
    );
    assert!(shown.contains("first"), "{shown}");
    assert_eq!(result["details"]["stale"], true);
    gate.open();
    let begun = Instant::now();
    while !read(&daemon, "issue://7").contains("second") {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it is never renewed"
        );
    }
}

#[test]
fn where_github_cannot_be_reached_the_row_stands_for_it() {
    let hub = Hub::new();
    hub.issue(7, &["first"]);
    let daemon = hub.daemon();
    read(&daemon, "issue://7");
    hub.answers.reply(ISSUE, Reply::empty(502));
    let shown = read(&daemon, "issue://7?fresh=1");
    assert!(
        shown.starts_with("[github.com, fetched just now; GitHub cannot be reached; what others"),
        "{shown}"
    );
    assert!(shown.contains("first"), "{shown}");
    let other = hub.daemon_with(json!({ "cache": { "hardTtlSec": 0 } }), &[]);
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(refused(&other, "issue://7").kind(), "network");
}

#[test]
fn rows_of_one_login_are_never_shown_to_another() {
    let hub = Hub::new();
    hub.issue(7, &["private"]);
    let daemon = hub.daemon_with(json!({}), &[("GH_TOKEN", "ghp_one")]);
    read(&daemon, "issue://7");
    hub.answers.reply(ISSUE, Reply::json("{}").status(404));
    for token in ["ghp_two", ""] {
        let other = hub.daemon_with(json!({}), &[("GH_TOKEN", token)]);
        assert_eq!(refused(&other, "issue://7").kind(), "notFound");
    }
    assert!(read(&daemon, "issue://7").contains("private"));
    let bytes = std::fs::read(file(&hub)).expect("the file");
    let holds = |text: &[u8]| bytes.windows(text.len()).any(|it| it == text);
    assert!(holds(b"github.com:") && !holds(b"ghp_one"));
}

#[test]
fn what_is_no_database_is_made_anew() {
    let hub = Hub::new();
    hub.issue(7, &["first"]);
    std::fs::create_dir_all(hub.cache.path().join("pilcrow")).expect("a directory");
    let mut chance = Chance(7);
    let noise: Vec<u8> = (0..20_000).map(|_| chance.next() as u8).collect();
    std::fs::write(file(&hub), &noise).expect("noise");
    let daemon = hub.daemon();
    assert!(read(&daemon, "issue://7").contains("first"));
    let aside = hub.cache.path().join("pilcrow/github.db.corrupt");
    assert_eq!(std::fs::read(aside).expect("moved away"), noise);
    assert_eq!(status(&daemon)["rows"], 1);
    // Under a daemon that has it open, and with its head as it was.
    let mut sound = std::fs::read(file(&hub)).expect("the file");
    for byte in &mut sound[200..] {
        *byte = chance.next() as u8;
    }
    std::fs::write(file(&hub), &sound).expect("noise");
    for _ in 0..3 {
        assert!(read(&daemon, "issue://7?fresh=1").contains("first"));
    }
    assert_eq!(status(&daemon)["cache"], "on");
}

#[test]
fn a_cache_that_cannot_be_written_is_off_and_reads_are_live() {
    let hub = Hub::new();
    hub.issue(7, &["first"]);
    std::fs::write(hub.cache.path().join("pilcrow"), "a file in its place").expect("a file");
    let daemon = hub.daemon();
    for _ in 0..2 {
        assert!(read(&daemon, "issue://7").contains("first"));
    }
    assert_eq!(hub.server.count(ISSUE), 2);
    let of_it = status(&daemon);
    assert_eq!(of_it["cache"], "off");
    assert!(of_it["reason"].is_string(), "{of_it}");
}

/// Daemons and the command line on one file, one of which is killed again and again while it writes.
#[test]
fn a_daemon_that_is_killed_hurts_nobody() {
    let rounds = match std::env::var_os("PILCROW_LONG") {
        Some(_) => 200,
        None => 10,
    };
    let hub = Hub::new();
    let lasting = [hub.daemon_with(stale(), &[]), hub.daemon()];
    let mut chance = Chance(3);
    for round in 0..rounds {
        let said = format!("round {round}.");
        let body = said.repeat(2000);
        hub.issue(7, &[&said, &body]);
        let killed = hub.daemon_with(stale(), &[]);
        let before = hub.server.requests().len();
        for number in 0..8 {
            let path = format!("issue://octo/demo/7?fresh=1&comments={}", number % 2);
            killed.request(
                "agent/read",
                json!({ "path": path, "session": format!("s{number}") }),
            );
        }
        hub.server
            .wait_until("it asks", |it| it.requests().len() > before);
        std::thread::sleep(Duration::from_micros(chance.below(20_000) as u64));
        killed.kill();
        killed.drop_answers();
        drop(killed);
        let all_of_it = |shown: &str| {
            let has = shown.contains(&format!(":{said}\n")) && shown.contains(&body[..400]);
            assert!(has, "{said}\n{}", &shown[..300.min(shown.len())]);
        };
        all_of_it(&read(&lasting[round % 2], "issue://7?fresh=1"));
        // Its row is the others', too.
        all_of_it(&read(&lasting[1], "issue://7"));
        if round % 5 == 0 {
            all_of_it(&hub.command_line("issue://7"));
        }
    }
    for daemon in lasting {
        assert_eq!(status(&daemon)["cache"], "on");
    }
    let file = rusqlite::Connection::open(file(&hub)).expect("opened");
    let found = file.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(found.as_deref(), Ok("ok"));
}
