//! How the daemon's process begins and ends; a daemon without a client is never left behind.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Daemon, HANG};

/// It is to end within a second; the rest is for busy machines.
pub const SOON: Duration = Duration::from_secs(5);

fn workspace() -> TempDir {
    let root = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(root.path().join("a.txt"), "one\n").expect("a file to read");
    root
}

#[test]
fn exit_after_shutdown_is_0() {
    let root = workspace();
    let daemon = Daemon::start(root.path());
    assert!(daemon.initialize_result()["capabilities"].is_object());
    assert_eq!(daemon.call("shutdown", Value::Null), Ok(Value::Null));
    let refused = daemon.read("a.txt").expect_err("it has shut down");
    assert_eq!(refused.code, -32600);
    daemon.notify("exit", Value::Null);
    let status = daemon.wait_exit(SOON).expect("it ends");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn exit_without_shutdown_is_1() {
    let root = workspace();
    let daemon = Daemon::start(root.path());
    daemon.notify("exit", Value::Null);
    let status = daemon.wait_exit(SOON).expect("it ends");
    assert_eq!(status.code(), Some(1));
}

#[test]
fn requests_before_initialize_are_refused() {
    let root = workspace();
    let mut daemon = Daemon::builder()
        .root(root.path())
        .capabilities(json!({ "general": { "positionEncodings": ["utf-8"] } }))
        .settings(json!({ "read": { "defaultLimit": 100 } }))
        .env("LANG", "C")
        .spawn();
    let refused = daemon.read_with(json!({ "path": "a.txt" }));
    assert_eq!(refused.expect_err("not initialized").code, -32002);
    daemon.initialize();
    assert!(daemon.read_text("a.txt").contains("one"));
    assert!(daemon.state_dir().is_dir());
}

#[test]
fn it_ends_with_its_input() {
    let root = workspace();
    let daemon = Daemon::start(root.path());
    daemon.close_stdin();
    assert!(daemon.wait_exit(SOON).is_some());
    let uninitialized = Daemon::builder().root(root.path()).spawn();
    uninitialized.close_stdin();
    assert!(uninitialized.wait_exit(SOON).is_some());
}

#[test]
fn it_ends_on_signals() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let root = workspace();
        let daemon = Daemon::start(root.path());
        assert!(daemon.read("a.txt").is_ok());
        daemon.signal(signal);
        let status = daemon.wait_exit(SOON).expect("it ends");
        assert!(
            status.code().is_some(),
            "{signal:?} was not handled: {status}"
        );
    }
}

/// A process that does nothing, as somebody's client.
fn sleeper() -> std::process::Child {
    let sleep = Command::new("sleep").arg("1000").spawn();
    sleep.expect("sleep is everywhere")
}

#[test]
fn it_ends_with_its_client_though_the_input_stays_open() {
    let root = workspace();
    let mut client = sleeper();
    let daemon = Daemon::builder()
        .root(root.path())
        .process_id(client.id())
        .start();
    assert!(daemon.read("a.txt").is_ok());
    client.kill().expect("our own child");
    client.wait().expect("our own child");
    // The pipe to its input is this process's and still open.
    assert!(daemon.wait_exit(SOON).is_some());
}

#[test]
fn a_client_it_cannot_see_is_not_dead() {
    let root = workspace();
    let mut client = sleeper();
    client.kill().expect("our own child");
    client.wait().expect("our own child");
    let daemon = Daemon::builder()
        .root(root.path())
        .process_id(client.id())
        .start();
    assert_eq!(daemon.wait_exit(Duration::from_millis(1500)), None);
    assert!(daemon.read("a.txt").is_ok());
}

#[test]
#[cfg(target_os = "linux")]
fn it_does_not_spin() {
    let root = workspace();
    let daemon = Daemon::start(root.path());
    assert!(daemon.read("a.txt").is_ok());
    let before = daemon.cpu_time();
    assert_eq!(daemon.wait_exit(Duration::from_secs(1)), None);
    let used = daemon.cpu_time() - before;
    assert!(used < Duration::from_millis(100), "{used:?}");
}

/// Says that this process is to be the client of a daemon, and where its root is.
const BE_A_CLIENT: &str = "PILCROW_TEST_CLIENT_ROOT";

/// No test of its own: the process that is killed in the next one.
#[test]
fn be_a_client() {
    if let Ok(root) = std::env::var(BE_A_CLIENT) {
        let daemon = Daemon::start(root.as_ref());
        assert!(daemon.read("a.txt").is_ok());
        println!("\ndaemon {}", daemon.pid());
        // Until the end of this process, which is to be killed.
        daemon.wait_exit(HANG);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_client_leaves_no_daemon_behind() {
    let root = workspace();
    for round in 0..20 {
        let mut client = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "lifecycle::be_a_client", "--nocapture"])
            .env(BE_A_CLIENT, root.path())
            // The killed client cannot tidy up, the root's owner does.
            .env("TMPDIR", root.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test can be run");
        let stdout = BufReader::new(client.stdout.take().expect("it is piped"));
        let mut lines = stdout.lines().map_while(Result::ok);
        let pid = lines.find_map(|line| line.strip_prefix("daemon ")?.parse().ok());
        let daemon = Witness::new(pid.expect("the client names its daemon"));
        client.kill().expect("our own child");
        client.wait().expect("our own child");
        assert!(daemon.ended_within(SOON), "round {round}");
    }
}

/// Sees the end of a process that is no child of ours, whoever reaps it.
#[cfg(target_os = "linux")]
pub struct Witness(std::os::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Witness {
    pub fn new(pid: i32) -> Witness {
        let pid = rustix::process::Pid::from_raw(pid).expect("not zero");
        let opened = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
        Witness(opened.expect("the daemon runs"))
    }

    pub fn ended_within(&self, limit: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let limit = Timespec::try_from(limit).expect("a few seconds");
        let mut process = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut process, Some(&limit)).is_ok_and(|ready| ready == 1)
    }
}
