//! Issues and diffs that are in the cache: a fresh row beside a file of the same text, and a listing while eight other daemons read from the same file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::server;
use crate::support::table::{self, Times, timed};
use crate::support::{self, Answer, Peer, Workspace};

/// Reads of each.
const ROUNDS: usize = 1000;

/// Rows of the cache, each of an issue with so many comments.
const ISSUES: usize = 100;
const COMMENTS: usize = 12;

/// Daemons that read beside, and how long each waits between two reads: an agent that calls a hundred tools a
/// second is a busy one.
const READERS: usize = 8;
const PAUSE: Duration = Duration::from_millis(10);

/// Files of the pull request's diff.
const FILES: usize = 60;

fn issue(number: &str) -> Value {
    let user = json!({ "login": "alice" });
    json!({
        "number": number.parse::<u64>().unwrap_or(1), "title": "Panic on an empty list", "state": "open", "user": user,
        "created_at": "2026-11-02T08:00:00Z", "updated_at": "2026-11-20T10:00:00Z", "labels": [],
        "html_url": format!("https://github.com/octo/demo/issues/{number}"),
        "body": "It panics where the list is empty, and says nothing of why.\n".repeat(20),
    })
}

fn comments() -> Value {
    let comment = json!({
        "user": { "login": "bob" }, "author_association": "MEMBER", "created_at": "2026-11-03T09:00:00Z",
        "updated_at": "2026-11-03T09:00:00Z", "body": "I see the same since the last release.\n".repeat(8),
    });
    json!(vec![comment; COMMENTS])
}

fn diff() -> String {
    let file = |number: usize| {
        let context = " a line of the file that stays as it is\n".repeat(5);
        format!(
            "diff --git a/src/f{number}.rs b/src/f{number}.rs\nindex 1111111..2222222 100644\n--- a/src/f{number}.rs\n+++ b/src/f{number}.rs\n@@ -1,11 +1,11 @@\n{context}-old\n+new\n{context}"
        )
    };
    (0..FILES).map(file).collect()
}

/// GitHub's interface; gives its address.
fn serve() -> Answer<String> {
    server::serve(|path| {
        let body = match path.rsplit('/').next().unwrap_or_default() {
            last if last.starts_with("comments") => comments().to_string(),
            _ if path.contains("/pulls/") => diff(),
            number => issue(number).to_string(),
        };
        ("Content-Type: application/json\r\nETag: \"1\"", body)
    })
}

fn daemon(workspace: &Workspace, address: &str, caches: &Path) -> Answer<Peer> {
    let settings = json!({ "github": {
        "repo": "octo/demo", "hosts": { "github.com": { "api": address } }, "cache": { "softTtlSec": 86400 },
    } });
    Peer::daemon_with(workspace.path(), settings, caches)
}

fn frame(path: &str) -> Vec<u8> {
    support::request("agent/read", json!({ "path": path }))
}

/// A daemon whose cache has all rows.
fn filled(workspace: &Workspace, address: &str, caches: &Path) -> Answer<Peer> {
    let mut daemon = daemon(workspace, address, caches)?;
    for number in 1..=ISSUES {
        daemon.result(&frame(&format!("issue://{number}")))?;
    }
    daemon.result(&frame("pr://9/diff"))?;
    Ok(daemon)
}

/// Prints a row for each comparison, over pipes.
pub fn print() -> Answer<()> {
    let workspace = Workspace::new()?;
    let address = serve()?;
    let (busy, quiet) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let mut daemon = filled(&workspace, &address, busy.path())?;
    let issue = frame("issue://7");
    let shown = daemon.result(&issue)?;
    if shown["details"]["cache"] != "hit" {
        return Err("the row is not fresh".into());
    }
    let text = shown["content"][0]["text"].as_str().unwrap_or_default();
    std::fs::write(workspace.path().join("issue.txt"), text)?;
    std::thread::sleep(support::SETTLED);
    let file = frame("issue.txt:full");
    let mut times = Times::default();
    for round in 0..ROUNDS + 20 {
        let (row, _) = timed(|| daemon.exchange(&issue).map(<[u8]>::len))?;
        let (text, _) = timed(|| daemon.exchange(&file).map(<[u8]>::len))?;
        if round >= 20 {
            times.0.push(row);
            times.1.push(text);
        }
    }
    table::row("a fresh row of an issue", "a file of the same text", times);
    let mut alone = filled(&workspace, &address, quiet.path())?;
    beside_readers(&workspace, &address, (&mut daemon, busy.path()), &mut alone)
}

/// Reads issues from the cache until it is told to stop.
fn read_on(mut reader: Peer, over: &AtomicBool) {
    for number in (1..=ISSUES).cycle() {
        let frame = frame(&format!("issue://{number}"));
        if over.load(Ordering::Relaxed) || reader.exchange(&frame).is_err() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

fn beside_readers(
    workspace: &Workspace,
    address: &str,
    (daemon_beside, caches): (&mut Peer, &Path),
    alone: &mut Peer,
) -> Answer<()> {
    let listing = frame("pr://9/diff");
    let over = Arc::new(AtomicBool::new(false));
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let (reader, over) = (daemon(workspace, address, caches)?, over.clone());
        readers.push(std::thread::spawn(move || read_on(reader, &over)));
    }
    let mut beside = Vec::new();
    for round in 0..ROUNDS + 20 {
        let (time, _) = timed(|| daemon_beside.exchange(&listing).map(<[u8]>::len))?;
        if round >= 20 {
            beside.push(time);
        }
    }
    over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().map_err(|_| "a reader panicked")?;
    }
    // Not in turns: the readers slow the machine as well as the cache.
    let mut without = Vec::new();
    for round in 0..ROUNDS + 20 {
        let (time, _) = timed(|| alone.exchange(&listing).map(<[u8]>::len))?;
        if round >= 20 {
            without.push(time);
        }
    }
    table::row(
        "a listing of the cache beside 8 readers",
        "the same alone",
        (beside, without),
    );
    Ok(())
}
