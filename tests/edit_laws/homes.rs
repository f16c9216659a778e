//! Daemons that share files and not a home, as in containers: no edit of one is lost to another, and what one leaves behind is removed by the next.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Daemon;
use crate::tree::Tree;

use super::{Numbers, at_most, edit, everything, patch, read, request_edit, temporaries};

/// A home, with the state directory in it.
struct Home(TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().expect("a home"))
    }

    fn start(&self, tree: &Tree, fail: &str) -> Daemon {
        let home = self.0.path().to_str().expect("a UTF-8 path");
        let state = format!("{home}/.local/state");
        let builder = Daemon::builder().root(tree.path()).env("HOME", home);
        let builder = builder.env("XDG_STATE_HOME", &state);
        let daemon = builder.env("PILCROW_FAIL", fail).start();
        daemon.ignore_changes();
        daemon
    }

    /// What is noted of writes and kept of their files.
    fn notes(&self) -> Vec<String> {
        let state = self.0.path().join(".local/state/pilcrow");
        let rooms = ["writes", "copies"].map(|room| state.join(room));
        let rooms = rooms.iter().filter(|room| room.is_dir());
        // A note that says nothing waits for the next write.
        let noted = rooms.flat_map(|room| everything(room));
        let noted = noted.filter(|(_, bytes)| bytes != b"pilcrow write 1\0");
        noted.map(|(path, _)| path).collect()
    }
}

/// Six files of two counters each. The first two have a second name, and only one is edited by each.
const FILES: usize = 6;
const COUNTERS: usize = 2 * FILES;
const SESSIONS: usize = 4;

/// The file of a counter as the daemon of this number calls it.
fn file_of_counter(counter: usize, daemon: usize) -> String {
    match counter / 2 {
        file @ (0 | 1) if daemon == 1 => format!("other name {file}.txt"),
        file => format!("file {file}.txt"),
    }
}

fn value_of(text: &str, counter: usize) -> Option<u64> {
    let mark = format!("counter {counter} = ");
    let line = text.lines().find_map(|line| line.strip_prefix(&mark))?;
    line.parse().ok()
}

/// One session: reads a counter's number and lets the daemon write the next, until it is time.
/// Gives how often that was said to be done, for each counter.
fn count(
    daemon: &Daemon,
    tree: &Tree,
    (home, session): (usize, usize),
    until: Instant,
) -> Vec<u64> {
    let mut numbers = Numbers((home * SESSIONS + session) as u64);
    let mut done = vec![0; COUNTERS];
    while Instant::now() < until {
        let counter = numbers.below(COUNTERS);
        let path = file_of_counter(counter, home);
        let text = fs::read_to_string(tree.join(&path)).expect("it is there");
        // A file of two names is overwritten, and may be seen in between.
        let Some(value) = value_of(&text, counter) else {
            continue;
        };
        let row = |value: u64| format!("counter {counter} = {value}\n");
        let edits = json!([{ "op": "replace_text", "old": row(value), "new": row(value + 1) }]);
        let files = json!([{ "path": path, "edits": edits }]);
        let params = json!({ "session": format!("session {session}"), "files": files });
        match daemon.call("agent/edit", params) {
            Ok(_) => done[counter] += 1,
            Err(error) => assert!(["noMatch", "busy"].contains(&error.kind()), "{error:?}"),
        }
    }
    done
}

#[test]
fn two_homes_lose_no_edit_and_leave_nothing_behind() {
    let tree = Tree::new();
    for file in 0..FILES {
        let padding = "some line of the file\n".repeat(100);
        let rows = [2 * file, 2 * file + 1].map(|counter| format!("counter {counter} = 0\n"));
        tree.write(&format!("file {file}.txt"), rows.join(&padding));
    }
    for file in 0..2 {
        let name = tree.join(&format!("file {file}.txt"));
        fs::hard_link(name, tree.join(&format!("other name {file}.txt"))).expect("linked");
    }
    let homes = [Home::new(), Home::new()];
    let daemons = [0, 1].map(|number| homes[number].start(&tree, ""));
    let until = Instant::now() + Duration::from_secs(at_most(3, 60));
    let done: Vec<Vec<u64>> = std::thread::scope(|threads| {
        let (daemons, tree) = (&daemons, &tree);
        let start = |at: usize| {
            let (home, session) = (at / SESSIONS, at % SESSIONS);
            threads.spawn(move || count(&daemons[home], tree, (home, session), until))
        };
        let counting: Vec<_> = (0..2 * SESSIONS).map(start).collect();
        let done = counting.into_iter().map(|thread| thread.join());
        done.map(|done| done.expect("it counts")).collect()
    });
    for counter in 0..COUNTERS {
        let said: u64 = done.iter().map(|done| done[counter]).sum();
        let path = tree.join(&file_of_counter(counter, 0));
        let text = fs::read_to_string(path).expect("it is there");
        assert_eq!(value_of(&text, counter), Some(said), "counter {counter}");
    }
    // Each home had its part in it.
    for of_home in done.chunks(SESSIONS) {
        assert!(of_home.iter().flatten().sum::<u64>() > 20, "{done:?}");
    }
    drop(daemons);
    assert_eq!(temporaries(tree.path()), Vec::<String>::new());
    for home in homes {
        assert_eq!(home.notes(), Vec::<String>::new());
    }
}

#[test]
fn what_a_killed_daemon_of_another_home_left_goes_with_the_next_edit_of_its_file() {
    for fail in ["write:1:KILL", "rename:1:KILL", "fsyncdir:1:KILL"] {
        let tree = Tree::new().file("a.txt", "one\ntwo\n");
        let (killed, other) = (Home::new(), Home::new());
        let daemon = killed.start(&tree, fail);
        let tag = read(&daemon, "a.txt");
        let id = request_edit(
            &daemon,
            "default",
            &patch("a.txt", &tag, "replace 1:\n+ONE\n"),
        );
        assert!(daemon.answer_or_end(&id).is_none(), "{fail}");
        daemon.kill();
        daemon.drop_answers();
        drop(daemon);
        assert_eq!(temporaries(tree.path()).len(), 1, "{fail}");
        let daemon = other.start(&tree, "");
        let tag = read(&daemon, "a.txt");
        edit(&daemon, &patch("a.txt", &tag, "replace 2:\n+TWO\n")).expect(fail);
        drop(daemon);
        assert_eq!(temporaries(tree.path()), Vec::<String>::new(), "{fail}");
        assert!(has_row(tree.path(), "TWO"), "{fail}");
        // Its own home finds nothing to undo.
        let daemon = killed.start(&tree, "");
        let tag = read(&daemon, "a.txt");
        edit(&daemon, &patch("a.txt", &tag, "delete 1\n")).expect(fail);
        let status = daemon.call("agent/status", Value::Null).expect("a status");
        assert_eq!(status["problems"], json!([]), "{fail}");
        assert!(has_row(tree.path(), "TWO"), "{fail}");
        assert_eq!(killed.notes(), Vec::<String>::new(), "{fail}");
    }
}

fn has_row(folder: &Path, row: &str) -> bool {
    let text = fs::read_to_string(folder.join("a.txt")).expect("it is there");
    text.lines().any(|line| line == row)
}

#[test]
fn changes_of_one_file_under_two_names_are_not_made_at_once() {
    let tree = Tree::new().file("a.txt", "one\ntwo\n");
    fs::hard_link(tree.join("a.txt"), tree.join("b.txt")).expect("linked");
    let home = Home::new();
    let daemon = home.start(&tree, "");
    let sections = [
        ("a.txt", "replace 1:\n+ONE\n"),
        ("b.txt", "replace 2:\n+TWO\n"),
    ];
    let both = sections.map(|(name, hunk)| patch(name, &read(&daemon, name), hunk));
    let error = edit(&daemon, &both.concat()).expect_err("one file");
    assert_eq!(error.kind(), "unsupported", "{error:?}");
    let text = fs::read_to_string(tree.join("a.txt")).expect("it is there");
    assert_eq!(text, "one\ntwo\n");
    for (name, hunk) in sections {
        let tag = read(&daemon, name);
        edit(&daemon, &patch(name, &tag, hunk)).expect("one after the other");
    }
    let text = fs::read_to_string(tree.join("a.txt")).expect("it is there");
    assert_eq!(text, "ONE\nTWO\n");
}
