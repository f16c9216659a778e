//! A shell tool's day: an output that grows for hours while others page through it, and nothing that is left of it.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{put, text};
use crate::chance::Chance;
use crate::client::{Daemon, HANG};
use crate::processes::until;
use crate::tree::Tree;

/// Lines and pieces: all of them with `PILCROW_LONG=1`.
fn day() -> (usize, usize) {
    match std::env::var_os("PILCROW_LONG") {
        Some(_) => (3_000_000, 5_000),
        None => (120_000, 300),
    }
}

fn line(number: usize) -> String {
    format!("line {number} of it")
}

fn lines(from: usize, to: usize) -> String {
    (from..to).map(|n| line(n) + "\n").collect()
}

fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let count = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path()),
        _ => usize::from(entry.file_name() != "lock"),
    };
    entries.map(count).sum()
}

/// Every row bears the line of its number; the last number.
fn assert_rows(shown: &str) -> usize {
    let mut last = 0;
    for row in shown.lines() {
        let Some((number, text)) = row.split_once(':') else {
            continue;
        };
        let Ok(number) = number.parse::<usize>() else {
            continue;
        };
        assert_eq!(text, line(number));
        last = number;
    }
    last
}

#[test]
fn numbers_are_right_while_it_grows_and_nothing_is_left() {
    let (total, pieces) = day();
    let (tree, state) = (Tree::new(), Tree::new());
    let start = || {
        Daemon::builder()
            .root(tree.path())
            .env("XDG_STATE_HOME", state.path().to_str().expect("UTF-8"))
            .settings(json!({ "artifacts": { "maxBytes": 128 * 1024 * 1024 } }))
            .start()
    };
    let folder: PathBuf = state.path().join("pilcrow/sessions");
    let daemon = start();
    let mut chance = Chance(0xDA);
    let each = total / pieces;
    let mut peaks = Vec::new();
    let mut page = 1;
    for piece in 0..pieces {
        let (from, to) = (piece * each + 1, (piece + 1) * each + 1);
        let mut params = json!({ "text": lines(from, to), "name": "make world" });
        if piece > 0 {
            params["uri"] = "artifact://1".into();
            params["append"] = true.into();
        }
        let added = daemon.request("agent/putArtifact", params);
        // Another request pages through it all the while.
        let paging = daemon.request(
            "agent/read",
            json!({ "path": format!("artifact://1:{page}-") }),
        );
        let added = daemon.wait(&added).expect("added");
        assert_eq!(
            (&added["lines"], &added["dropped"]),
            (&json!(to - 1), &json!([]))
        );
        let shown = daemon.wait(&paging).expect("a page");
        if let Some(next) = shown["details"]["truncation"]["nextSelector"].as_str() {
            let next: usize = next.trim_end_matches('-').parse().expect("a line");
            assert_eq!(assert_rows(text(&shown)), next - 1);
            page = next;
        }
        if chance.below(pieces / 40 + 1) == 0 {
            let end = daemon.read_text("artifact://1:-50");
            assert_eq!(assert_rows(&end), to - 1);
            assert_eq!(
                end.lines().filter(|row| row.contains(" of it")).count(),
                50.min(to - 1)
            );
        }
        if piece % (pieces / 10) == pieces / 20 {
            peaks.push(daemon.rss_bytes());
        }
    }
    let whole = daemon.read("artifact://").expect("a list");
    assert!(
        text(&whole).starts_with(&format!(
            "artifact://1  make world  {} lines, ",
            each * pieces
        )),
        "{}",
        text(&whole)
    );
    // Flat: what is held does not grow as it does.
    let (early, last) = (peaks[1], peaks[peaks.len() - 1]);
    assert!(last < early + 64 * 1024 * 1024, "{peaks:?}");
    daemon
        .call("agent/closeSession", json!({}))
        .expect("closed");
    assert_eq!(files(&folder), 0);
    put(&daemon, json!({ "text": "left by a crash" }));
    assert_eq!(files(&folder), 1);
    daemon.kill();
    daemon.wait_exit(HANG).expect("it ends");
    let daemon = start();
    until("what the crash left is removed", || files(&folder) == 0);
    put(&daemon, json!({ "text": "again" }));
    drop(daemon);
    assert_eq!(files(&folder), 0);
}
