//! A search beside ripgrep's, whole process against whole process and less what each takes to start; and a
//! warm read beside a running search. In turns in one run, with warm files.
//!
//! `PILCROW_BENCH_TREE=DIR` is what is searched; without it the crates of cargo's registry.

#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use support::table::{self, lone_row, row, timed};
use support::{Answer, Peer, Workspace, numbered_request, request, small};

/// Rounds of one row, and those before any counts.
const ROUNDS: usize = 15;
const WARM_UP: usize = 2;
const READS: usize = 2000;

/// What is looked for, with ripgrep's switches and ours for the same.
const SEARCHES: &[(&str, &str, &[&str])] = &[
    ("a word that is nowhere", "zzqxkjw", &["-F"]),
    ("a rare literal", "catch_unwind", &["-F"]),
    ("the same whatever the case", "catch_unwind", &["-i"]),
    ("a regex with a literal in it", r"fn \w+_unwind\(", &[]),
    (
        "a regex without one",
        r"\b[A-Z]{3}_[A-Z]{3}_[A-Z]{7}\b",
        &[],
    ),
    ("over lines", r"unwind\([^)]*\n[^)]*\)", &["-U"]),
    ("a common word, counted", "unsafe", &["-w", "-c"]),
];

fn main() -> Answer<()> {
    let tree = tree()?;
    let rg = ripgrep()?;
    let empty = tempfile::tempdir()?;
    table::head();
    for (what, pattern, switches) in SEARCHES {
        let said = pilcrow(pattern, switches).current_dir(&tree).output()?;
        if !said.status.success() || String::from_utf8_lossy(&said.stdout).contains("Use after: ") {
            return Err(format!("{what}: not all of the tree was searched").into());
        }
        let mut times = (Vec::new(), Vec::new());
        for round in 0..ROUNDS + WARM_UP {
            let ours = net(&tree, empty.path(), || pilcrow(pattern, switches))?;
            let theirs = net(&tree, empty.path(), || by_ripgrep(&rg, pattern, switches))?;
            if round >= WARM_UP {
                times.0.push(ours);
                times.1.push(theirs);
            }
        }
        row(what, "ripgrep", times);
    }
    beside_a_search(&tree)
}

/// What a command takes in the tree, less what it takes in an empty folder.
fn net(tree: &Path, empty: &Path, command: impl Fn() -> Command) -> Answer<Duration> {
    let run = |folder: &Path| {
        let mut command = command();
        command.current_dir(folder).stdout(Stdio::null());
        timed(|| Ok(command.status()?)).map(|(time, _)| time)
    };
    let start = run(empty)?;
    Ok(run(tree)?.saturating_sub(start))
}

fn pilcrow(pattern: &str, switches: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pilcrow"));
    command
        .args(["search", "--rows", "20000"])
        .args(switches)
        .args(["--", pattern]);
    command
}

fn by_ripgrep(rg: &Path, pattern: &str, switches: &[&str]) -> Command {
    let mut command = Command::new(rg);
    command
        .args([
            "--crlf",
            "--line-number",
            "--heading",
            "--no-config",
            "--no-require-git",
        ])
        .args(switches)
        .args(["--regexp", pattern, "./"]);
    command
}

/// The same warm read, while nothing else is done and while a search is under way.
fn beside_a_search(tree: &Path) -> Answer<()> {
    let workspace = Workspace::new()?;
    std::os::unix::fs::symlink(tree, workspace.path().join("tree"))?;
    let settings =
        json!({ "settings": { "pilcrow": { "access": { "additionalRoots": [tree] } } } });
    let mut daemon = Peer::daemon(workspace.path())?;
    daemon.send(&support_notification(
        "workspace/didChangeConfiguration",
        settings,
    ))?;
    let read = request(
        "agent/read",
        json!({ "path": format!("{}:full", small(0)) }),
    );
    for _ in 0..200 {
        daemon.exchange(&read)?;
    }
    let bytes = daemon.exchange(&read)?.len();
    let slow = json!({ "pattern": r"(\w+\W+){20,40}nothing", "path": tree });
    let search = numbered_request(2, "agent/search", slow);
    let (mut beside, mut alone) = (Vec::new(), Vec::new());
    while beside.len() < READS {
        for _ in 0..READS / 10 {
            alone.push(timed(|| daemon.exchange(&read).map(drop))?.0);
        }
        daemon.send(&search)?;
        // Until it answers, which it does after 5 s at the latest.
        loop {
            let (time, got) = timed(|| Ok(daemon.exchange(&read)?.len()))?;
            if got != bytes {
                // The read's own answer.
                daemon.receive()?;
                break;
            }
            beside.push(time);
        }
    }
    let count = beside.len();
    row(
        "a warm read beside a running search",
        "alone",
        (beside, alone),
    );
    lone_row("reads beside searches", &count.to_string());
    Ok(())
}

fn support_notification(method: &str, params: serde_json::Value) -> Vec<u8> {
    let body = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn tree() -> Answer<PathBuf> {
    if let Some(tree) = std::env::var_os("PILCROW_BENCH_TREE") {
        return Ok(tree.into());
    }
    let home = std::env::var_os("HOME").ok_or("a home directory")?;
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let registries = cargo.unwrap_or_else(|| Path::new(&home).join(".cargo"));
    let mut found = std::fs::read_dir(registries.join("registry/src"))?;
    Ok(found.next().ok_or("no registry")??.path())
}

fn ripgrep() -> Answer<PathBuf> {
    let setup = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/search/setup-ripgrep.sh");
    let done = Command::new(setup).output()?;
    Ok(PathBuf::from(String::from_utf8(done.stdout)?.trim()))
}
