//! What may become of the cache: a full disk, one that is read-only, other users, locks, noise, the command line beside daemons. An answer each time, never a wrong one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::hub::{Hub, issue, read, text};
use crate::chance::Chance;
use crate::client::Daemon;
use crate::web::server::Reply;

const ISSUE: &str = "/repos/octo/demo/issues/7";
const BARE: &str = "issue://7?comments=0";

fn file(hub: &Hub) -> PathBuf {
    hub.cache.path().join("pilcrow/github.db")
}

fn status(daemon: &Daemon) -> Value {
    daemon.call("agent/status", Value::Null).expect("a status")["github"].clone()
}

/// Answers an issue with this body.
fn say(hub: &Hub, number: u64, body: &str) {
    let mut said = issue(number);
    said["body"] = json!(body);
    hub.answers
        .json(&format!("/repos/octo/demo/issues/{number}"), said);
}

/// Letters in no order, so that little of them is packed away.
fn noise(chance: &mut Chance, length: usize) -> String {
    let letters = (0..length).map(|_| char::from(b'a' + chance.below(26) as u8));
    letters.collect()
}

/// A daemon in a mount namespace of its own, where a shell did this first; `None` where none can be made.
fn in_namespace(hub: &Hub, first: &str) -> Option<Daemon> {
    let namespace = ["--mount", "--propagation", "private"];
    let can = Command::new("unshare").args(namespace).arg("true").status();
    if !rustix::process::geteuid().is_root() || !can.is_ok_and(|it| it.success()) {
        // Only root makes such namespaces; CI is root.
        return None;
    }
    let script = format!("{first} && exec \"$0\" serve --stdio");
    let mut builder = hub.builder(json!({}), &[]).program("unshare");
    for argument in namespace.into_iter().chain(["sh", "-c", &script]) {
        builder = builder.arg(argument);
    }
    Some(builder.arg(env!("CARGO_BIN_EXE_pilcrow")).start())
}

#[test]
fn a_full_disk_costs_the_cache_and_no_answer() {
    let hub = Hub::new();
    let mut chance = Chance(11);
    let lines: Vec<String> = (0..4000).map(|_| noise(&mut chance, 100)).collect();
    let long = lines.join("\n");
    for size in ["4k", "16k", "200k"] {
        say(&hub, 7, "short");
        say(&hub, 8, &long);
        let first = format!("mount -t tmpfs -o size={size} none \"$XDG_CACHE_HOME\"");
        let Some(daemon) = in_namespace(&hub, &first) else {
            return;
        };
        assert!(read(&daemon, BARE).contains("5:short"), "{size}");
        for _ in 0..2 {
            let shown = read(&daemon, "issue://8?comments=0:1000-1019:raw");
            assert!(shown.contains(&lines[1000..1010].join("\n")), "{size}");
        }
        // Nothing of before is given for what is there now.
        say(&hub, 7, "other");
        assert!(read(&daemon, BARE).contains("5:other"), "{size}");
        let of_it = status(&daemon);
        assert_eq!(of_it["cache"], "off", "{size}: {of_it}");
        assert!(of_it["reason"].is_string(), "{of_it}");
        // What was written before is whole.
        let inside = format!("/proc/{}/root{}", daemon.pid(), file(&hub).display());
        let left = fs::read(inside).unwrap_or_default();
        if !left.is_empty() {
            let copy = hub.programs.path().join("copy.db");
            fs::write(&copy, left).expect("a copy");
            let copy = Connection::open(copy).expect("opened");
            let found = copy.query_row("PRAGMA quick_check", [], |row| row.get::<_, String>(0));
            assert_eq!(found.as_deref(), Ok("ok"), "{size}");
        }
    }
}

#[test]
fn a_cache_that_is_read_only_is_off() {
    let hub = Hub::new();
    say(&hub, 7, "first");
    read(&hub.daemon(), BARE);
    say(&hub, 7, "second");
    let first = "mount --bind \"$XDG_CACHE_HOME\" \"$XDG_CACHE_HOME\" && mount -o remount,bind,ro \"$XDG_CACHE_HOME\"";
    let Some(daemon) = in_namespace(&hub, first) else {
        return;
    };
    let before = hub.server.count(ISSUE);
    for _ in 0..2 {
        assert!(read(&daemon, BARE).contains("5:second"));
    }
    assert_eq!(hub.server.count(ISSUE), before + 2, "reads are live");
    assert_eq!(status(&daemon)["cache"], "off");
}

/// What another user made is not used, nor what a link leads to.
#[test]
fn what_is_not_the_users_own_is_left_alone() {
    let hub = Hub::new();
    say(&hub, 7, "first");
    read(&hub.daemon(), BARE);
    for folder in [hub.tree.path(), hub.programs.path(), hub.cache.path()] {
        fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).expect("a mode");
    }
    if rustix::process::geteuid().is_root() {
        let daemon = hub.builder(json!({}), &[]).ordinary_user().start();
        say(&hub, 7, "second");
        assert!(read(&daemon, BARE).contains("5:second"));
        assert_eq!(status(&daemon)["cache"], "off");
    }
    let linked = Hub::new();
    say(&linked, 7, "first");
    let target = linked.programs.path().join("precious");
    fs::write(&target, "precious").expect("a file");
    fs::create_dir(linked.cache.path().join("pilcrow")).expect("a folder");
    std::os::unix::fs::symlink(&target, file(&linked)).expect("a link");
    let daemon = linked.daemon();
    assert!(read(&daemon, BARE).contains("5:first"));
    assert_eq!(status(&daemon)["cache"], "off");
    assert_eq!(fs::read(&target).expect("still there"), b"precious");
}

/// A rollback journal and no mapped memory; another version is made anew, and so is a table that is not ours.
#[test]
fn the_file_is_as_this_version_makes_it() {
    let hub = Hub::new();
    say(&hub, 7, "first");
    read(&hub.daemon(), BARE);
    let mut names: Vec<_> = fs::read_dir(hub.cache.path().join("pilcrow"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["github.db"]);
    let header = fs::read(file(&hub)).expect("the file");
    assert_eq!(header[18..20], [1, 1], "no write-ahead log");
    let cases = [
        "PRAGMA user_version = 7; DROP TABLE item; CREATE TABLE item (x);",
        "DROP TABLE item; CREATE TABLE item (x);",
        "DROP TABLE item; CREATE VIEW item AS SELECT 1 AS account;",
    ];
    for change in cases {
        let other = Connection::open(file(&hub)).expect("opened");
        other.execute_batch(change).expect(change);
        drop(other);
        let daemon = hub.daemon();
        for _ in 0..2 {
            assert!(read(&daemon, BARE).contains("5:first"), "{change}");
        }
        assert_eq!(status(&daemon)["cache"], "on", "{change}");
    }
}

/// Another process sits on the file: it is waited for once, and the status for it not at all.
#[test]
fn a_lock_that_stays_is_passed_over() {
    let hub = Hub::new();
    say(&hub, 7, "first");
    let daemon = hub.daemon();
    read(&daemon, BARE);
    let other = Connection::open(file(&hub)).expect("opened");
    other.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    say(&hub, 7, "second");
    let id = daemon.request("agent/read", json!({ "path": BARE }));
    assert_eq!(status(&daemon)["rows"], 1);
    assert!(!daemon.arrival_order().contains(&id), "the read waits");
    let shown = text(&daemon.wait(&id).expect("an issue"));
    assert!(shown.contains("5:second"), "{shown}");
    let of_it = status(&daemon);
    assert_eq!(
        (&of_it["cache"], &of_it["reason"]),
        (&json!("off"), &json!("another process holds it"))
    );
    other.execute_batch("ROLLBACK").expect("let go");
    assert!(read(&daemon, BARE).contains("5:second"));
}

/// Noise over any part of the file and of its journal.
#[test]
fn noise_costs_rows_and_never_changes_a_word() {
    let rounds = match std::env::var_os("PILCROW_LONG") {
        Some(_) => 300,
        None => 20,
    };
    let hub = Hub::new();
    let mut chance = Chance(5);
    let mut expected = Vec::new();
    for number in 1..=30 {
        let body = format!("{number}: the list is empty. ").repeat(5);
        let body = format!("{body}\n").repeat(20 + number);
        say(&hub, number as u64, &body);
        expected.push(body);
    }
    let shown = |daemon: &Daemon, number: usize| {
        let path = format!("issue://{number}?comments=0");
        let result = daemon.read_with(json!({ "path": path, "session": "s" }));
        text(&result.expect("an issue"))
    };
    let journal = file(&hub).with_extension("db-journal");
    {
        let daemon = hub.daemon();
        (1..=30).for_each(|number| drop(shown(&daemon, number)));
    }
    let sound = fs::read(file(&hub)).expect("the file");
    for round in 0..rounds {
        let mut bytes = sound.clone();
        for _ in 0..1 + chance.below(4) {
            let length = [1, 8, 100, 5000][chance.below(4)];
            let at = chance.below(bytes.len());
            let end = (at + length).min(bytes.len());
            for byte in &mut bytes[at..end] {
                *byte = chance.next() as u8;
            }
        }
        if chance.below(4) == 0 {
            bytes.truncate(chance.below(bytes.len()));
        }
        fs::write(file(&hub), &bytes).expect("noise");
        if chance.below(3) == 0 {
            let noise: Vec<u8> = (0..2000).map(|_| chance.next() as u8).collect();
            fs::write(&journal, noise).expect("noise");
        }
        let daemon = hub.daemon();
        for _ in 0..6 {
            let number = 1 + chance.below(30);
            let shown = shown(&daemon, number);
            let lines: Vec<&str> = shown.lines().skip(5).collect();
            let lines = lines.iter().filter_map(|line| line.split_once(':'));
            let shown_body: String = lines.map(|(_, line)| format!("{line}\n")).collect();
            assert_eq!(
                shown_body,
                expected[number - 1],
                "round {round}, issue {number}\n{shown}"
            );
        }
    }
}

/// Several daemons find noise at the same moment: one moves it away, all answer.
#[test]
fn daemons_that_find_noise_at_once_agree() {
    for _ in 0..6 {
        let hub = Hub::new();
        say(&hub, 7, "first");
        fs::create_dir(hub.cache.path().join("pilcrow")).expect("a folder");
        fs::write(file(&hub), "noise ".repeat(5000)).expect("noise");
        let daemons: Vec<Daemon> = (0..6).map(|_| hub.daemon()).collect();
        let ids: Vec<_> = daemons
            .iter()
            .map(|daemon| daemon.request("agent/read", json!({ "path": BARE })))
            .collect();
        for (daemon, id) in daemons.iter().zip(&ids) {
            assert!(text(&daemon.wait(id).expect("an issue")).contains("5:first"));
        }
        let before = hub.server.count(ISSUE);
        for daemon in &daemons {
            assert!(read(daemon, BARE).contains("5:first"));
            assert_eq!(status(daemon)["cache"], "on");
        }
        assert_eq!(hub.server.count(ISSUE), before, "all from one row");
    }
}

/// One file for a daemon and for `pilcrow read`.
#[test]
fn the_command_line_shares_the_cache() {
    let hub = Hub::new();
    say(&hub, 7, "first");
    let daemon = hub.daemon();
    read(&daemon, BARE);
    assert!(hub.command_line(BARE).contains("5:first"));
    assert_eq!(hub.server.count(ISSUE), 1, "of the daemon's row");
    say(&hub, 7, "second");
    assert!(
        hub.command_line("issue://7?comments=0&fresh=1")
            .contains("5:second")
    );
    assert!(read(&daemon, BARE).contains("5:second"), "of its row");
    assert_eq!(hub.server.count(ISSUE), 2);
}

fn make_older(hub: &Hub, seconds: i64) {
    let other = Connection::open(file(hub)).expect("opened");
    let change = "UPDATE item SET fetched_at = fetched_at - ?1 * 1000";
    let changed = other.execute(change, [seconds]).expect("changed");
    assert!(changed > 0);
}

/// Twenty who find one old row: one request, and all have what it says.
#[test]
fn one_refresh_is_for_all_who_wait() {
    let hub = Hub::new();
    say(&hub, 7, "first");
    let daemon = hub.daemon_with(json!({ "cache": { "staleWaitMs": 20000 } }), &[]);
    read(&daemon, BARE);
    make_older(&hub, 420);
    say(&hub, 7, "second");
    let ids: Vec<_> = (0..20)
        .map(|at| {
            let params = json!({ "path": BARE, "session": format!("s{at}") });
            daemon.request("agent/read", params)
        })
        .collect();
    for id in ids {
        assert!(text(&daemon.wait(&id).expect("an issue")).contains("5:second"));
    }
    assert_eq!(hub.server.count(ISSUE), 2);
    // Another daemon finds it new.
    assert!(read(&hub.daemon(), BARE).contains("5:second"));
    assert_eq!(hub.server.count(ISSUE), 2);
}

#[test]
fn the_age_of_a_row_is_said_and_has_an_end() {
    let hub = Hub::new();
    say(&hub, 7, "first");
    let daemon = hub.daemon();
    read(&daemon, BARE);
    make_older(&hub, 240);
    let shown = read(&daemon, BARE);
    assert!(
        shown.starts_with("[github.com, fetched 4m ago; what others"),
        "{shown}"
    );
    assert_eq!(hub.server.count(ISSUE), 1);
    // Over the soft limit it is asked for; where that fails the row stands.
    make_older(&hub, 3 * 3600);
    hub.answers.reply(ISSUE, Reply::empty(502));
    let result = daemon.read(BARE).expect("the row");
    let shown = text(&result);
    assert!(
        shown.starts_with("[github.com, fetched 3h ago; GitHub cannot be reached; what others"),
        "{shown}"
    );
    assert_eq!(result["details"]["stale"], true);
    // What GitHub answers is the answer.
    hub.answers.reply(ISSUE, Reply::json("{}").status(404));
    assert_eq!(daemon.read(BARE).expect_err("gone").kind(), "notFound");
    // Nothing changed: it is new again, and nothing but the time was written.
    say(&hub, 7, "first");
    let shown = read(&daemon, BARE);
    assert!(
        shown.starts_with("[github.com, fetched just now; what"),
        "{shown}"
    );
    let last = hub.server.last();
    assert!(!last.header("if-none-match").is_empty());
    // Over the hard limit it is gone.
    make_older(&hub, 8 * 24 * 3600);
    hub.answers.reply(ISSUE, Reply::empty(502));
    assert_eq!(daemon.read(BARE).expect_err("gone").kind(), "network");
    let other = Connection::open(file(&hub)).expect("opened");
    let rows = other.query_row("SELECT count(*) FROM item", [], |row| row.get::<_, i64>(0));
    assert_eq!(rows, Ok(0));
    // One from the future is of a clock that was wrong.
    say(&hub, 7, "second");
    read(&daemon, BARE);
    make_older(&hub, -24 * 3600);
    say(&hub, 7, "third");
    assert!(read(&daemon, BARE).contains("5:third"));
    assert!(read(&daemon, BARE).contains("fetched just now"));
}

/// The long form: more than 256 MiB of real answers.
#[test]
fn the_file_has_a_bound() {
    if std::env::var_os("PILCROW_LONG").is_none() {
        // `github::cache::tests` has it with a smaller bound.
        return;
    }
    let hub = Hub::new();
    let mut chance = Chance(9);
    let daemon = hub.daemon();
    for number in 1..=48 {
        let bytes: Vec<u8> = (0..8 << 20)
            .map(|_| 32 + (chance.next() >> 40) as u8 % 90)
            .collect();
        let body = String::from_utf8(bytes)
            .expect("ASCII")
            .replace(['"', '\\'], "x");
        say(&hub, number, &body);
        let path = format!("issue://{number}?comments=0:1-3");
        assert!(read(&daemon, &path).contains("# Issue"), "{path}");
        let of_it = status(&daemon);
        assert_eq!(of_it["cache"], "on", "{of_it}");
        assert!(
            of_it["bytes"].as_u64().expect("bytes") <= 256 << 20,
            "{of_it}"
        );
    }
    let length = fs::metadata(file(&hub)).expect("the file").len();
    assert!(length <= 300 << 20, "{length}");
    let before = hub.server.requests().len();
    read(&daemon, "issue://48?comments=0:1-3");
    assert_eq!(hub.server.requests().len(), before, "the newest is there");
    read(&daemon, "issue://1?comments=0:1-3");
    assert_eq!(hub.server.requests().len(), before + 1, "the oldest is not");
}
