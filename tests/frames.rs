//! Hostile and clumsy framing against the real daemon: an answer or a clean end, never a hang.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Daemon, HANG, Id};

fn workspace() -> TempDir {
    let root = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(root.path().join("a.txt"), "one\ntwo\n").expect("a file to read");
    // About as much as one answer shows.
    let long = "0123456789abcdef 0123456789abcdef\n".repeat(1500);
    std::fs::write(root.path().join("long.txt"), long).expect("a file to read");
    root
}

fn is_served(daemon: &Daemon) {
    assert!(daemon.read_text("a.txt").contains("two"));
}

fn read_frame(id: i64, header: impl Fn(usize) -> String) -> Vec<u8> {
    let params = json!({ "path": "a.txt" });
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": "agent/read", "params": params });
    let body = body.to_string();
    (header(body.len()) + &body).into_bytes()
}

#[test]
fn what_is_no_message_is_refused() {
    let root = workspace();
    let daemon = Daemon::start(root.path());
    for (frame, code) in [
        ("Content-Length: 8\r\n\r\nnot JSON", -32700),
        ("Content-Length: 0\r\n\r\n", -32700),
        ("Content-Length: none\r\n\r\n{}", -32700),
        ("Content-Length: 2\r\n\r\n[]", -32600),
        ("Content-Length: 2\r\n\r\n17", -32600),
        (
            "Content-Length: 28\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":1}",
            -32600,
        ),
    ] {
        daemon.send_raw(frame.as_bytes());
        let error = daemon.wait(&Id::Null).expect_err(frame);
        assert_eq!(error.code, code, "{frame}");
        is_served(&daemon);
    }
}

#[test]
fn headers_may_look_otherwise() {
    let root = workspace();
    let daemon = Daemon::start(root.path());
    let headers: [fn(usize) -> String; 4] = [
        |length| format!("content-length: {length}\r\n\r\n"),
        |length| format!("CONTENT-LENGTH:{length}\r\n\r\n"),
        |length| {
            format!(
                "Content-Type: application/json\r\nX-One: 1\r\nContent-Length: {length}\r\n\r\n"
            )
        },
        |length| format!("Content-Length: {length}\r\nX-Two: 2\r\nX-Three: 3\r\n\r\n"),
    ];
    for (id, header) in (10_000..).zip(headers) {
        daemon.send_raw(&read_frame(id, header));
        let answer = daemon.wait(&Id::Number(id));
        assert!(answer.is_ok(), "{} {answer:?}", header(5));
        is_served(&daemon);
    }
}

#[test]
fn a_frame_of_100_gigabytes_is_refused_at_once() {
    let root = workspace();
    let daemon = Daemon::start(root.path());
    daemon.send_raw(b"Content-Length: 100000000000\r\n\r\n");
    let error = daemon.wait(&Id::Null).expect_err("too large");
    assert_eq!(error.code, -32600);
    is_served(&daemon);
}

#[test]
fn a_frame_over_the_cap_is_skipped() {
    let root = workspace();
    let daemon = Daemon::start(root.path());
    let size = (64 << 20) + 1;
    daemon.send_raw(format!("Content-Length: {size}\r\n\r\n").as_bytes());
    daemon.send_raw(&vec![b' '; size]);
    let error = daemon.wait(&Id::Null).expect_err("too large");
    assert_eq!(error.code, -32600);
    is_served(&daemon);
    #[cfg(target_os = "linux")]
    assert!(daemon.rss_bytes() < 200 << 20, "{}", daemon.rss_bytes());
}

#[test]
fn a_shell_banner_comes_first() {
    let root = workspace();
    let line = "Welcome to the machine: all your base are belong to us.\r\n";
    for banner in [line.repeat(72), line.repeat(72) + "user@host:~$ "] {
        let mut daemon = Daemon::builder().root(root.path()).spawn();
        daemon.send_raw(banner.as_bytes());
        daemon.initialize();
        is_served(&daemon);
    }
}

#[test]
fn thousands_of_requests_in_one_go() {
    let root = workspace();
    let daemon = Daemon::start(root.path());
    let read = || daemon.request("agent/read", json!({ "path": "a.txt" }));
    let ids: Vec<Id> = (0..5000).map(|_| read()).collect();
    for id in &ids {
        answered_or(daemon.wait(id), &["busy"]);
    }
    let distinct: HashSet<Id> = daemon.arrival_order().into_iter().collect();
    assert!(ids.iter().all(|id| distinct.contains(id)));
    is_served(&daemon);
}

fn answered_or(answer: Result<Value, crate::client::WireError>, kinds: &[&str]) {
    if let Err(error) = answer {
        let known = kinds.contains(&error.kind()) || error.code == -32800;
        assert!(known, "{error:?}");
    }
}

#[test]
fn every_request_has_one_answer_under_random_cancels() {
    let root = workspace();
    let daemon = Daemon::start(root.path());
    let mut random = 42_u64;
    let mut ids = Vec::new();
    for _ in 0..2000 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
        ids.push(daemon.request("agent/read", json!({ "path": "long.txt" })));
        let back = usize::try_from(random >> 60).unwrap_or(0);
        if let Some(id) = ids.iter().rev().nth(back) {
            daemon.notify("$/cancelRequest", json!({ "id": id }));
        }
    }
    for id in &ids {
        answered_or(daemon.wait(id), &["busy", "cancelled"]);
    }
    // A second answer to any of them would be left over at the end.
    is_served(&daemon);
}

/// Asks for `count` reads while nothing is read, until the daemon takes no more requests.
fn ask_without_reading<'scope>(
    daemon: &'scope Daemon,
    count: usize,
    scope: &'scope std::thread::Scope<'scope, '_>,
) -> std::thread::ScopedJoinHandle<'scope, Vec<Id>> {
    daemon.pause_reading();
    let (tick, ticks) = std::sync::mpsc::channel();
    let asking = scope.spawn(move || {
        let ask = |_| {
            let _ = tick.send(());
            daemon.request("agent/read", json!({ "path": "long.txt" }))
        };
        (0..count).map(ask).collect()
    });
    while ticks.recv_timeout(Duration::from_millis(500)).is_ok() {}
    asking
}

#[test]
fn a_client_that_never_reads_costs_bounded_memory() {
    let root = workspace();
    let daemon = Daemon::start(root.path());
    std::thread::scope(|scope| {
        let asking = ask_without_reading(&daemon, 10_000, scope);
        #[cfg(target_os = "linux")]
        let resident = daemon.rss_bytes();
        // Judged only when nobody is blocked any more, or a failure would hang.
        daemon.resume_reading();
        for id in asking.join().expect("all is sent") {
            answered_or(daemon.wait(&id), &["busy"]);
        }
        #[cfg(target_os = "linux")]
        assert!(resident < 300 << 20, "{resident}");
    });
    is_served(&daemon);
}

#[test]
#[cfg(unix)]
fn a_client_that_never_reads_and_ends_leaves_nothing_behind() {
    let root = workspace();
    let daemon = Daemon::start(root.path());
    std::thread::scope(|scope| {
        let asking = ask_without_reading(&daemon, 10_000, scope);
        daemon.signal(rustix::process::Signal::TERM);
        let ended = daemon.wait_exit(HANG);
        daemon.kill();
        assert!(ended.is_some());
        asking.join().expect("the pipe is broken, not blocked");
    });
    daemon.drop_answers();
    let order = daemon.arrival_order();
    let distinct: HashSet<&Id> = order.iter().collect();
    assert_eq!(distinct.len(), order.len());
}
