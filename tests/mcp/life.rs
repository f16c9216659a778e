//! How it begins and how it ends.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::HANG;
use crate::fuse::{Fuse, Manners};
use crate::lifecycle::{SOON, Witness};
use crate::tree::{Tree, numbered_lines};

use super::cancel::{ANSWERED_WITHIN, wait_for};
use super::{McpProcess, held_at};

fn ended_soon(server: &McpProcess) -> bool {
    server
        .wait_exit(SOON)
        .is_some_and(|status| status.success())
}

fn signal(server: &McpProcess, signal: Signal) {
    let pid = Pid::from_raw(server.pid() as i32).expect("a process");
    kill_process(pid, signal).expect("sent");
}

#[test]
fn it_ends_with_its_input_and_answers_what_was_sent_before() {
    let tree = Tree::new().file("a.txt", "one\n");
    let server = McpProcess::start(tree.path());
    let id = server.begin_call("write", json!({ "path": "b.txt", "text": "b\n" }));
    server.close_stdin();
    assert!(ended_soon(&server));
    assert_eq!(server.result(id)["isError"], false);
    assert_eq!(
        std::fs::read_to_string(tree.join("b.txt")).expect("the file"),
        "b\n"
    );
    // Without a word, too.
    let silent = McpProcess::in_directory(tree.path()).spawn();
    silent.close_stdin();
    assert!(ended_soon(&silent));
}

/// Bytes of its memory that are resident.
fn resident(server: &McpProcess) -> u64 {
    let statm = format!("/proc/{}/statm", server.pid());
    let statm = std::fs::read_to_string(statm).expect("a process");
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|it| it.parse::<u64>().ok());
    pages.expect("pages") * rustix::param::page_size() as u64
}

#[test]
fn at_rest_it_holds_little_and_goes_on_from_there() {
    let tree = Tree::new().file("a.txt", numbered_lines(1, 300));
    let server = McpProcess::in_directory(tree.path())
        .env("PILCROW_INTERNAL", "idleMs=300")
        .start();
    // Before its first call, and after each.
    for round in 0..3 {
        let deadline = Instant::now() + HANG;
        while resident(&server) >= 15 << 20 {
            assert!(Instant::now() < deadline, "{}", resident(&server));
            std::thread::yield_now();
        }
        let read = server.text("read", json!({ "path": "a.txt:full" }));
        assert!(read.ends_with("\n300:line 300"));
        let new = json!({ "path": format!("{round}.txt"), "text": "x\n" });
        assert_eq!(server.call("write", new)["isError"], false);
    }
}

#[test]
fn it_ends_by_a_signal() {
    let tree = Tree::new();
    for sent in [Signal::TERM, Signal::INT, Signal::HUP] {
        for spoken in [true, false] {
            let server = McpProcess::in_directory(tree.path()).spawn();
            if spoken {
                server.initialize("2025-06-18", json!({}));
            } else {
                // It listens to signals when it listens to its client.
                server.request("ping", json!({}));
            }
            signal(&server, sent);
            assert!(ended_soon(&server), "{sent:?}");
        }
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
    let server = Witness::new(pid.trim().parse().expect("a number"));
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).expect("it listens");
    let mut answer = String::new();
    BufReader::new(&read)
        .read_line(&mut answer)
        .expect("an answer");
    assert!(answer.contains("\"id\":1"), "{answer}");
    shell.kill().expect("killed");
    shell.wait().expect("dead");
    assert!(server.ended_within(SOON), "it lives on");
    drop(input);
}

/// However it is told to end: a commit that hangs does not keep it, and one that goes on is finished.
#[test]
fn a_commit_is_finished_but_not_waited_for_without_end() {
    for by_signal in [true, false] {
        for goes_on in [true, false] {
            let tree = Tree::new().file("a.txt", "one\n");
            let (server, hold) = held_at("rename:1", tree.path());
            let tag = server.tag("a.txt");
            let patch = format!("¶a.txt#{tag}\nreplace 1:\n+1\n");
            server.begin_call("edit", json!({ "patch": patch }));
            wait_for(&hold.path().join("go.held"));
            match by_signal {
                true => signal(&server, Signal::TERM),
                false => server.close_stdin(),
            }
            if goes_on {
                std::fs::write(hold.path().join("go"), "").expect("a signal");
            }
            assert!(ended_soon(&server), "{by_signal} {goes_on}");
            // Where it was answered, that is true.
            let left = server.left();
            let made = left
                .iter()
                .any(|message| message["result"]["isError"] == false);
            let text = std::fs::read_to_string(tree.join("a.txt")).expect("the file");
            assert!(text == "1\n" || (text == "one\n" && !made), "{text}");
        }
    }
}

/// A burst of writes in the middle of which it is told to end.
#[test]
fn what_is_written_is_whole_and_what_was_answered_is_there() {
    let tree = Tree::new();
    let server = McpProcess::start(tree.path());
    let text = "0123456789abcde\n".repeat(4000);
    let name = |n: usize| format!("{n}.txt");
    let write = |n| server.begin_call("write", json!({ "path": name(n), "text": text }));
    let ids: Vec<i64> = (0..60).map(write).collect();
    assert_eq!(server.result(ids[9])["isError"], false);
    signal(&server, Signal::TERM);
    assert!(ended_soon(&server));
    let left = server.left();
    for (n, id) in ids.iter().enumerate() {
        let is_made =
            |message: &Value| message["id"] == *id && message["result"]["isError"] == false;
        match std::fs::read_to_string(tree.join(&name(n))) {
            Ok(written) => assert!(written == text, "{n}: {} bytes", written.len()),
            Err(_) => assert!(!left.iter().any(is_made), "{n}"),
        }
    }
}

/// Whoever walks a workspace comes to the folder in it that does not answer.
#[test]
fn it_starts_without_looking_at_the_workspace() {
    let tree = Tree::new().file("a.txt", "one\n");
    std::fs::create_dir(tree.join("mnt")).expect("a directory");
    let mount = Fuse::mount(&tree.join("mnt"), Manners::default());
    mount.put("b.txt", "b\n");
    mount.halt();
    let server = McpProcess::in_directory(tree.path()).spawn();
    server.initialize("2025-06-18", json!({}));
    server.request("tools/list", json!({}));
    server.text("read", json!({ "path": "a.txt" }));
    let read = server.begin_call("read", json!({ "path": "mnt/b.txt" }));
    server.text("read", json!({ "path": "a.txt" }));
    let answer = server.answer_within(read, ANSWERED_WITHIN);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    mount.go_on();
}

/// A project on a mount that does not answer costs its own files alone.
#[test]
fn it_starts_where_the_workspace_itself_does_not_answer() {
    let tree = Tree::new();
    std::fs::create_dir(tree.join("mnt")).expect("a directory");
    let mount = Fuse::mount(&tree.join("mnt"), Manners::default());
    mount.put("b.txt", "b\n");
    mount.halt();
    let server = McpProcess::in_directory(tree.path())
        .arg("--root")
        .arg(tree.spelled("mnt"))
        .spawn();
    server.initialize("2025-06-18", json!({}));
    server.request("tools/list", json!({}));
    server.text("read", json!({ "path": "pilcrow://read" }));
    let read = server.begin_call("read", json!({ "path": "b.txt" }));
    let answer = server.answer_within(read, ANSWERED_WITHIN);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    mount.go_on();
}

#[test]
fn the_log_has_no_content() {
    let tree = Tree::new().file("a.txt", "the content\n");
    let server = McpProcess::in_directory(tree.path())
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
