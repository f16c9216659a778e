//! Files that another program has open for writing while they are edited; nothing that it writes is lost, and no edit of them goes unnoticed.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::Tree;

use super::{at_most, edit, everything, file_of, patch, read, temporaries};

fn start(tree: &Tree) -> Daemon {
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    daemon
}

fn open_for_appending(path: &Path) -> File {
    let file = File::options().append(true).open(path);
    file.expect("it is there")
}

fn codes(edited: &Value) -> Vec<&str> {
    let warnings = file_of(edited)["warnings"].as_array().into_iter().flatten();
    warnings
        .filter_map(|warning| warning["code"].as_str())
        .collect()
}

/// What is kept for recovery, and notes of writes that say something.
fn notes(daemon: &Daemon) -> Vec<String> {
    let rooms = ["writes", "copies"].map(|room| daemon.state_dir().join("pilcrow").join(room));
    let noted = rooms
        .iter()
        .filter(|room| room.is_dir())
        .flat_map(|room| everything(room));
    let noted = noted.filter(|(_, bytes)| bytes != b"pilcrow write 1\0");
    noted.map(|(path, _)| path).collect()
}

#[test]
fn a_program_that_appends_between_edits_loses_no_line() {
    let tree = Tree::new().file("a.log", "first\nsecond\n");
    let daemon = start(&tree);
    let mut log = open_for_appending(&tree.join("a.log"));
    let inode = fs::metadata(tree.join("a.log")).expect("there").ino();
    let mut appended = String::new();
    for round in 0..300 {
        let tag = read(&daemon, "a.log");
        // Longer, shorter, and as long as the one before.
        let row = format!("round {round} {}", "x".repeat([0, 40, 3, 3][round % 4]));
        let hunk = format!("replace 2:\n+{row}\n");
        let edited = edit(&daemon, &patch("a.log", &tag, &hunk)).expect("an edit");
        assert_eq!(codes(&edited), ["openElsewhere"], "{edited}");
        let text = edited["content"][0]["text"].as_str().expect("a text");
        assert!(
            text.contains("warning: Another program has 'a.log' open"),
            "{text}"
        );
        let line = format!("line {round}\n");
        log.write_all(line.as_bytes()).expect("written");
        appended.push_str(&line);
        let now = fs::read_to_string(tree.join("a.log")).expect("a text");
        assert_eq!(now, format!("first\n{row}\n{appended}"), "round {round}");
    }
    assert_eq!(
        fs::metadata(tree.join("a.log")).expect("there").ino(),
        inode
    );
    drop(log);
    // Nobody has it open now, and so it is replaced as any other.
    let tag = read(&daemon, "a.log");
    let edited = edit(&daemon, &patch("a.log", &tag, "delete 2\n")).expect("an edit");
    assert!(codes(&edited).is_empty(), "{edited}");
    assert_ne!(
        fs::metadata(tree.join("a.log")).expect("there").ino(),
        inode
    );
    let now = fs::read_to_string(tree.join("a.log")).expect("a text");
    assert_eq!(now, format!("first\n{appended}"));
    assert_eq!(temporaries(tree.path()), Vec::<String>::new());
    assert_eq!(notes(&daemon), Vec::<String>::new());
}

#[test]
fn a_program_that_appends_during_edits_loses_no_line() {
    let tree = Tree::new().file("a.log", "first\nsecond\n");
    let daemon = start(&tree);
    let stop = AtomicBool::new(false);
    let path = tree.join("a.log");
    let (mut made, mut row) = (0, "second".to_owned());
    let appended = std::thread::scope(|threads| {
        let appending = threads.spawn(|| {
            let mut log = open_for_appending(&path);
            let mut count = 0;
            while !stop.load(Ordering::Relaxed) && count < 20_000 {
                log.write_all(format!("line {count}\n").as_bytes())
                    .expect("written");
                count += 1;
                std::thread::yield_now();
            }
            count
        });
        for round in 0..at_most(40, 300) {
            let edits = json!([{
                "op": "replace_text",
                "old": format!("first\n{row}\n"),
                // Never shorter: to cut a file off is what cannot be done beside a program that appends.
                "new": format!("first\nround {round} {row}\n"),
            }]);
            let files = json!([{ "path": "a.log", "edits": edits }]);
            match daemon.call("agent/edit", json!({ "files": files })) {
                Ok(_) => {
                    row = format!("round {round} {row}");
                    made += 1;
                }
                Err(error) => assert_eq!(error.kind(), "busy", "{error:?}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
        appending.join().expect("it appends")
    });
    let lines: String = (0..appended)
        .map(|count| format!("line {count}\n"))
        .collect();
    let now = fs::read_to_string(tree.join("a.log")).expect("a text");
    assert_eq!(now.len(), format!("first\n{row}\n{lines}").len());
    assert!(now == format!("first\n{row}\n{lines}"));
    assert!(made > 10, "{made} edits beside {appended} lines");
    assert_eq!(temporaries(tree.path()), Vec::<String>::new());
    assert_eq!(notes(&daemon), Vec::<String>::new());
}

#[test]
fn programs_that_open_a_file_while_it_is_looked_at_neither_wait_nor_end_the_daemon() {
    let tree = Tree::new().file("a.txt", "old\nrest\n");
    let daemon = start(&tree);
    let stop = AtomicBool::new(false);
    let path = tree.join("a.txt");
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                drop(open_for_appending(&path));
            }
        });
        let mut made = 0;
        for round in 0..at_most(100, 2_000) {
            let tag = read(&daemon, "a.txt");
            let hunk = format!("replace 1:\n+round {round}\n");
            match edit(&daemon, &patch("a.txt", &tag, &hunk)) {
                Ok(_) => {
                    made += 1;
                    let now = fs::read_to_string(&path).expect("a text");
                    assert_eq!(now, format!("round {round}\nrest\n"));
                }
                Err(error) => assert_eq!(error.kind(), "busy", "{error:?}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(made > 10, "{made}");
    });
}

/// What lsattr(1) says of a file; `None` where its file system has no such flags.
fn flags(path: &Path) -> Option<String> {
    let listed = Command::new("lsattr").arg(path).output().ok()?;
    let text = String::from_utf8(listed.stdout).ok()?;
    let (flags, _) = text.split_once(' ')?;
    listed.status.success().then(|| flags.to_owned())
}

/// Whether chattr(1) could.
fn change_flags(how: &str, path: &Path) -> bool {
    let changed = Command::new("chattr").arg(how).arg(path).output();
    changed.is_ok_and(|done| done.status.success())
}

#[test]
fn inode_flags_stay_and_those_that_forbid_it_are_obeyed() {
    let tree = Tree::new()
        .file("a.txt", "old\nrest\n")
        .file("b.txt", "old\nrest\n");
    let daemon = start(&tree);
    // Where there is neither the program nor such a flag, the file has none before and after.
    change_flags("+Ad", &tree.join("a.txt"));
    let before = flags(&tree.join("a.txt"));
    let tag = read(&daemon, "a.txt");
    edit(&daemon, &patch("a.txt", &tag, "replace 1:\n+new\n")).expect("an edit");
    assert_eq!(flags(&tree.join("a.txt")), before);
    for how in ["a", "i"] {
        let (a, b) = (read(&daemon, "a.txt"), read(&daemon, "b.txt"));
        let is_set = change_flags(&format!("+{how}"), &tree.join("b.txt"));
        let both = patch("a.txt", &a, "delete 2\n") + &patch("b.txt", &b, "delete 2\n");
        let outcome = is_set.then(|| edit(&daemon, &both));
        change_flags(&format!("-{how}"), &tree.join("b.txt"));
        if let Some(outcome) = outcome {
            let error = outcome.expect_err(how);
            assert_eq!((error.kind(), &error.data["path"]), ("io", &json!("b.txt")));
            assert!(error.message.contains("Nothing was written"), "{error:?}");
        }
        let texts = ["a.txt", "b.txt"].map(|name| fs::read_to_string(tree.join(name)));
        assert_eq!(texts.map(Result::unwrap), ["new\nrest\n", "old\nrest\n"]);
    }
}
