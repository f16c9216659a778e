//! Never stale, without watches: whatever another process does to a file, the read that follows shows it; the daemon is never told.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use serde_json::json;

use crate::client::Daemon;
use crate::tree::Tree;

const ROUNDS: usize = 300;

/// Changes the file 300 times and reads it after each change.
fn rounds(mut change: impl FnMut(&Tree, &str)) {
    let tree = Tree::new().file("f.txt", "start\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    for round in 0..ROUNDS {
        let text = format!("round {round:03} {}\n", "x".repeat(round % 7));
        change(&tree, &text);
        let result = daemon.read("f.txt:raw").expect("a read");
        assert_eq!(result["content"][0]["text"], text.as_str());
    }
}

#[test]
fn written_in_place() {
    rounds(|tree, text| tree.write("f.txt", text));
}

#[test]
fn renamed_over() {
    rounds(|tree, text| {
        tree.write("spare", text);
        fs::rename(tree.join("spare"), tree.join("f.txt")).expect("renamed");
    });
}

#[test]
fn truncated_and_appended() {
    rounds(|tree, text| {
        File::create(tree.join("f.txt")).expect("truncated");
        let mut file = OpenOptions::new()
            .append(true)
            .open(tree.join("f.txt"))
            .expect("opened");
        for part in text.as_bytes().chunks(5) {
            file.write_all(part).expect("appended");
        }
    });
}

#[test]
fn written_through_a_symlink_and_a_hard_link() {
    let outside = Tree::new();
    let mut made = false;
    rounds(|tree, text| {
        if !made {
            symlink(tree.join("f.txt"), outside.join("soft")).expect("a symlink");
            fs::hard_link(tree.join("f.txt"), outside.join("hard")).expect("a hard link");
            made = true;
        }
        let name = if text.len() % 2 == 0 { "soft" } else { "hard" };
        fs::write(outside.join(name), text).expect("written");
    });
}

#[test]
fn same_size_and_mtime_restored() {
    let tree = Tree::new().file("f.txt", "round 000\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let long_ago = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let path = tree.join("f.txt");
    for round in 0..ROUNDS {
        let text = format!("round {round:03}\n");
        let mut file = OpenOptions::new().write(true).open(&path).expect("opened");
        file.seek(SeekFrom::Start(0)).expect("seek");
        file.write_all(text.as_bytes()).expect("written");
        file.set_modified(long_ago).expect("mtime restored");
        drop(file);
        assert_eq!(daemon.read_text("f.txt:raw"), text);
    }
}

#[test]
fn by_another_process() {
    let tree = Tree::new().file("f.txt", "start\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let mut shell = Command::new("sh")
        .current_dir(tree.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut orders = shell.stdin.take().expect("its stdin");
    let mut done = std::io::BufReader::new(shell.stdout.take().expect("its stdout"));
    for round in 0..ROUNDS {
        let order = match round % 3 {
            0 => format!("echo {round} > f.txt; echo done\n"),
            1 => format!("echo {round} > t && mv t f.txt; echo done\n"),
            _ => format!("rm f.txt; echo {round} > f.txt; echo done\n"),
        };
        orders.write_all(order.as_bytes()).expect("an order");
        let mut line = String::new();
        std::io::BufRead::read_line(&mut done, &mut line).expect("an answer");
        assert_eq!(daemon.read_text("f.txt:raw"), format!("{round}\n"));
    }
    drop(orders);
    shell.wait().expect("the shell ends");
}

#[test]
fn gone_and_back_and_a_folder_in_between() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    for round in 0..ROUNDS {
        let text = format!("round {round}\n");
        tree.write("f.txt", &text);
        assert_eq!(daemon.read_text("f.txt:raw"), text);
        fs::remove_file(tree.join("f.txt")).expect("removed");
        if round % 10 == 0 {
            assert_eq!(daemon.read("f.txt").expect_err("gone").kind(), "notFound");
            fs::create_dir(tree.join("f.txt")).expect("a folder");
            assert_eq!(
                daemon.read("f.txt").expect("a folder")["details"]["kind"],
                "directory"
            );
            fs::remove_dir(tree.join("f.txt")).expect("removed");
        }
    }
}

#[test]
fn warm_reads_are_hits_and_changes_are_counted() {
    let tree = Tree::new().file("f.txt", "one\n");
    let mut daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let cache =
        |daemon: &mut Daemon| daemon.read("f.txt").expect("a read")["details"]["cache"].clone();
    assert_eq!(cache(&mut daemon), "miss");
    assert_eq!(cache(&mut daemon), "hit");
    tree.write("f.txt", "two\n");
    assert_eq!(cache(&mut daemon), "miss");
    assert_eq!(cache(&mut daemon), "hit");
    let status = daemon.call("agent/status", json!({})).expect("status");
    assert_eq!(status["cache"]["staleAvoided"], 1);
    assert_eq!(status["buffers"]["count"], 1);
}
