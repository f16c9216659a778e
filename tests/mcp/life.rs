//! How it begins and how it ends.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::client::HANG;
use crate::tree::Tree;

use super::Mcp;

#[test]
fn it_ends_with_its_input_and_answers_what_was_sent_before() {
    let tree = Tree::new().file("a.txt", "one\n");
    let server = Mcp::start(tree.path());
    let id = server.begin_call("write", json!({ "path": "b.txt", "text": "b\n" }));
    server.close_stdin();
    assert_eq!(server.result(id)["isError"], false);
    assert!(
        server
            .wait_exit(HANG)
            .is_some_and(|status| status.success())
    );
    assert_eq!(
        std::fs::read_to_string(tree.join("b.txt")).expect("the file"),
        "b\n"
    );
    // Without a word, too.
    let silent = Mcp::in_directory(tree.path()).spawn();
    silent.close_stdin();
    assert!(
        silent
            .wait_exit(HANG)
            .is_some_and(|status| status.success())
    );
}

#[test]
fn it_ends_by_a_signal() {
    let tree = Tree::new();
    for spoken in [true, false] {
        let server = Mcp::in_directory(tree.path()).spawn();
        if spoken {
            server.initialize("2025-06-18", json!({}));
        } else {
            // It listens to signals when it listens to its client.
            server.request("ping", json!({}));
        }
        let pid = Pid::from_raw(server.pid() as i32).expect("a process");
        kill_process(pid, Signal::TERM).expect("sent");
        assert!(
            server
                .wait_exit(HANG)
                .is_some_and(|status| status.success())
        );
    }
}

/// What is in the background has no input of the shell's, unless that is said.
const SHELL: &str = "exec 3<&0; \"$0\" mcp <&3 & echo $! >&2; wait";

/// A shell that starts it with a pipe which outlives the shell.
#[test]
fn it_ends_when_who_started_it_dies() {
    let tree = Tree::new();
    let home = tempfile::tempdir().expect("a home");
    let (read, written) = std::io::pipe().expect("a pipe");
    let (held, mut input) = std::io::pipe().expect("a pipe");
    let mut shell = std::process::Command::new("sh")
        .args(["-c", SHELL, env!("CARGO_BIN_EXE_pilcrow")])
        .current_dir(tree.path())
        .env("HOME", home.path())
        .env("XDG_STATE_HOME", home.path())
        .stdin(held)
        .stdout(written)
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut stderr = BufReader::new(shell.stderr.take().expect("piped"));
    let mut pid = String::new();
    stderr.read_line(&mut pid).expect("its number");
    let pid = Pid::from_raw(pid.trim().parse().expect("a number")).expect("a process");
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).expect("it listens");
    let mut answer = String::new();
    BufReader::new(&read)
        .read_line(&mut answer)
        .expect("an answer");
    assert!(answer.contains("\"id\":1"), "{answer}");
    shell.kill().expect("killed");
    shell.wait().expect("dead");
    let deadline = Instant::now() + HANG;
    while test_kill_process(pid).is_ok() {
        assert!(Instant::now() < deadline, "it lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(input);
}

#[test]
fn it_starts_without_looking_at_the_workspace() {
    let mut tree = Tree::new();
    for number in 0..300 {
        tree = tree.file(&format!("d{number}/f.txt"), "x\n");
    }
    let server = Mcp::in_directory(tree.path()).spawn();
    server.initialize("2025-06-18", json!({}));
    server.request("tools/list", json!({}));
    // Whoever walks a tree opens its folders: a look at what is watched tells.
    let fds = format!("/proc/{}/fdinfo", server.pid());
    if let Ok(entries) = std::fs::read_dir(fds) {
        let watched = entries
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok())
            .any(|info| info.contains("inotify wd:"));
        assert!(!watched);
    }
}

#[test]
fn the_log_has_no_content() {
    let tree = Tree::new().file("a.txt", "the content\n");
    let server = Mcp::in_directory(tree.path())
        .env("PILCROW_LOG", "trace")
        .start();
    server.text("read", json!({ "path": "a.txt" }));
    server.text(
        "write",
        json!({ "path": "b.txt", "text": "other content\n" }),
    );
    let log = server.home.path().join("state/pilcrow");
    server.close_stdin();
    assert!(server.wait_exit(HANG).is_some());
    let mut logged = String::new();
    for entry in std::fs::read_dir(log).expect("a log").flatten() {
        if entry.path().is_file() {
            logged += &std::fs::read_to_string(entry.path()).unwrap_or_default();
        }
    }
    assert!(logged.contains("tool=\"read\""), "{logged}");
    assert!(!logged.contains("content"), "{logged}");
}
