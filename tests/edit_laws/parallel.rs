//! Many writers at once: the files are what some order makes of exactly the edits that were said to be done; no order is assumed but that in which one client sent them.

use std::collections::{BTreeSet, VecDeque};
use std::fs;

use serde_json::json;

use crate::client::{Daemon, Id, Next};
use crate::tree::{Tree, numbered_lines};

use super::buffer::{Buffer, Hunk, Ids, Line, carried_out, joined};
use super::{
    Numbers, at_most, edit, file_of, new_tag, patch, read, request_edit, request_read, tag_of,
    text_of,
};

/// Requests in flight at most: the daemon refuses more than 512.
const WINDOW: usize = 400;

#[test]
fn two_hundred_edits_sent_without_waiting_are_made_in_their_order() {
    let tree = Tree::new();
    let mut ids = Ids::default();
    let first: Vec<Line> = (0..100)
        .map(|line| ids.line(format!("line {line}")))
        .collect();
    tree.write("a.txt", joined(&first));
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let tag = read(&daemon, "a.txt");
    let mut numbers = Numbers(4);
    let sent: Vec<(Hunk, Id)> = (0..200)
        .map(|number| {
            let line = numbers.below(first.len()) + 1;
            let rows = vec![format!("row {number}")];
            let hunk = match numbers.below(5) {
                0 | 1 => Hunk::Replace(line, line, rows),
                2 => Hunk::Replace(line, line, Vec::new()),
                3 => Hunk::Before(line, rows),
                _ => Hunk::After(line, rows),
            };
            let id = request_edit(&daemon, "default", &patch("a.txt", &tag, &hunk.text()));
            (hunk, id)
        })
        .collect();
    let mut live = first.clone();
    let mut stale = 0;
    for (hunk, id) in &sent {
        let expected = carried_out(&live, &first, std::slice::from_ref(hunk), &mut ids);
        match (daemon.wait(id), expected) {
            (Ok(_), Some(lines)) => live = lines,
            (Err(error), None) if error.kind() == "stale" => stale += 1,
            (answer, expected) => panic!("{hunk:?}: {answer:?}, and it is right that {expected:?}"),
        }
    }
    assert!(stale > 10, "{stale}");
    assert_eq!(
        fs::read_to_string(tree.join("a.txt")).expect("a file"),
        joined(&live)
    );
}

/// What was done to one file by an edit that succeeded.
#[derive(Debug, Clone)]
struct Act {
    file: usize,
    kind: usize,
    /// The text of the line that was named; every line has another one.
    line: String,
    row: String,
}

/// An edit that succeeded. It also put its name at the end of each file that it changed.
#[derive(Debug)]
struct Made {
    name: String,
    acts: Vec<Act>,
}

/// Somebody who reads and edits at random, among others who do the same.
struct Worker<'a> {
    daemon: &'a Daemon,
    name: String,
    files: &'a [&'a str],
    numbers: Numbers,
    /// What is not done because of the others.
    bearable: &'a [&'a str],
}

impl Worker<'_> {
    fn look(&self, file: usize) -> (String, Vec<String>) {
        let id = request_read(self.daemon, &self.name, self.files[file]);
        let result = self.daemon.wait(&id).expect("a read");
        let lines = text_of(&result).lines().map(str::to_owned).collect();
        (tag_of(&result), lines)
    }

    fn work(&mut self, rounds: usize) -> Vec<Made> {
        let all = 0..self.files.len();
        let mut seen: Vec<(String, Vec<String>)> = all.map(|file| self.look(file)).collect();
        let mut made = Vec::new();
        for round in 0..rounds {
            let name = format!("done {} {round}", self.name);
            let mut files: Vec<usize> = (0..self.files.len()).collect();
            if self.numbers.below(2) == 0 {
                files.reverse();
            }
            files.truncate(self.numbers.below(files.len()) + 1);
            let mut acts = Vec::new();
            let mut text = String::new();
            for file in files {
                // Every other time by what was seen some edits ago.
                if self.numbers.below(2) == 0 {
                    seen[file] = self.look(file);
                }
                let (tag, lines) = &seen[file];
                let at = self.numbers.below(lines.len());
                if lines[at].starts_with("done ") {
                    continue;
                }
                let act = Act {
                    file,
                    kind: self.numbers.below(4),
                    line: lines[at].clone(),
                    row: format!("row {} {round} {file}", self.name),
                };
                let (line, rows) = (at + 1, vec![act.row.clone()]);
                let hunk = match act.kind {
                    0 => Hunk::Replace(line, line, rows),
                    1 => Hunk::Replace(line, line, Vec::new()),
                    2 => Hunk::Before(line, rows),
                    _ => Hunk::After(line, rows),
                };
                let hunks = format!("{}insert tail:\n+{name}\n", hunk.text());
                text += &patch(self.files[file], tag, &hunks);
                acts.push(act);
            }
            if acts.is_empty() {
                continue;
            }
            match self
                .daemon
                .wait(&request_edit(self.daemon, &self.name, &text))
            {
                Ok(_) => made.push(Made { name, acts }),
                Err(error) => assert!(self.bearable.contains(&error.kind()), "{error:?}"),
            }
        }
        made
    }
}

/// Checks that the files are what the edits make of them in the order in which they put their
/// names there.
fn check_serial(tree: &Tree, files: &[&str], first: &str, made: &[Made]) {
    let mut orders: Vec<Vec<String>> = Vec::new();
    for (file, name) in files.iter().enumerate() {
        let text = fs::read_to_string(tree.join(name)).expect("a file");
        let order: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with("done "))
            .map(str::to_owned)
            .collect();
        let of_file = |made: &&Made| made.acts.iter().any(|act| act.file == file);
        let said: BTreeSet<&str> = made
            .iter()
            .filter(of_file)
            .map(|made| &*made.name)
            .collect();
        let found: BTreeSet<&str> = order.iter().map(String::as_str).collect();
        assert_eq!(found, said, "{name}");
        assert_eq!(found.len(), order.len(), "{name}: an edit was made twice");
        let mut lines: Vec<&str> = first.lines().collect();
        for done in &order {
            let acts = made
                .iter()
                .filter(|made| made.name == *done)
                .flat_map(|made| &made.acts);
            for act in acts.filter(|act| act.file == file) {
                let at = lines.iter().position(|line| *line == act.line);
                let at =
                    at.unwrap_or_else(|| panic!("{done} changed a line that was gone: {act:?}"));
                match act.kind {
                    0 => lines[at] = &act.row,
                    1 => drop(lines.remove(at)),
                    2 => lines.insert(at, &act.row),
                    _ => lines.insert(at + 1, &act.row),
                }
            }
            lines.push(done);
        }
        assert_eq!(text.lines().collect::<Vec<_>>(), lines, "{name}");
        orders.push(order);
    }
    // Edits of several files came in one order in all of them.
    for pair in orders.windows(2) {
        let common = |one: &[String], other: &[String]| -> Vec<String> {
            one.iter()
                .filter(|name| other.contains(name))
                .cloned()
                .collect()
        };
        assert_eq!(common(&pair[0], &pair[1]), common(&pair[1], &pair[0]));
    }
}

/// Lets workers run side by side, so many of each daemon.
fn run(
    daemons: &[&Daemon],
    workers: usize,
    rounds: usize,
    files: &[&str],
    bearable: &[&str],
) -> Vec<Made> {
    std::thread::scope(|threads| {
        let started: Vec<_> = (0..workers * daemons.len())
            .map(|at| {
                let mut worker = Worker {
                    daemon: daemons[at % daemons.len()],
                    name: format!("worker{at}"),
                    files,
                    numbers: Numbers(at as u64),
                    bearable,
                };
                threads.spawn(move || worker.work(rounds))
            })
            .collect();
        let made = started
            .into_iter()
            .map(|worker| worker.join().expect("no panic"));
        made.flatten().collect()
    })
}

#[test]
fn ten_sessions_edit_one_file_at_once() {
    let (sessions, rounds) = at_most((10, 50), (50, 100));
    let first = numbered_lines(1, 200);
    let tree = Tree::new().file("a.txt", &first);
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let made = run(&[&daemon], sessions, rounds, &["a.txt"], &["stale"]);
    check_serial(&tree, &["a.txt"], &first, &made);
    assert!(made.len() > sessions * rounds / 4, "{} edits", made.len());
}

#[test]
fn two_daemons_edit_the_same_files_at_once() {
    let first = numbered_lines(1, 200);
    let tree = Tree::new().file("a.txt", &first).file("sub/b.txt", &first);
    let state = tempfile::tempdir().expect("a state directory for both");
    let state = state.path().to_str().expect("a UTF-8 path");
    let start = || {
        let builder = Daemon::builder().root(tree.path());
        let daemon = builder.env("XDG_STATE_HOME", state).start();
        daemon.ignore_changes();
        daemon
    };
    let daemons = [start(), start()];
    let rounds = at_most(30, 500);
    let files = ["a.txt", "sub/b.txt"];
    let made = run(
        &[&daemons[0], &daemons[1]],
        2,
        rounds,
        &files,
        &["stale", "busy"],
    );
    check_serial(&tree, &files, &first, &made);
    assert!(made.len() > rounds / 2, "{} edits", made.len());
    assert_eq!(super::temporaries(tree.path()), Vec::<String>::new());
}

#[test]
fn edits_of_two_files_in_either_order_never_block_each_other() {
    let tree = Tree::new().file("a.txt", "a\n").file("b.txt", "b\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let tags = ["a.txt", "b.txt"].map(|name| (name, read(&daemon, name)));
    let mut waiting = VecDeque::new();
    let mut expected = ["a\n".to_owned(), "b\n".to_owned()];
    for round in 0..at_most(250, 1000) {
        if waiting.len() == WINDOW {
            let id: Id = waiting.pop_front().expect("one is waited for");
            daemon.wait(&id).expect("an edit");
        }
        let row = format!("insert tail:\n+round {round}\n");
        let mut sections = tags.clone().map(|(name, tag)| patch(name, &tag, &row));
        if round % 2 == 1 {
            sections.reverse();
        }
        expected
            .iter_mut()
            .for_each(|text| *text += &format!("round {round}\n"));
        waiting.push_back(request_edit(&daemon, "default", &sections.concat()));
    }
    for id in waiting {
        daemon.wait(&id).expect("an edit");
    }
    for (name, expected) in ["a.txt", "b.txt"].iter().zip(expected) {
        let text = fs::read_to_string(tree.join(name)).expect("a file");
        assert!(text == expected, "{name}");
    }
}

#[test]
fn a_read_shows_the_edits_before_it_by_whatever_name() {
    let tree = Tree::new().file("sub/a.txt", numbered_lines(1, 60));
    std::os::unix::fs::symlink("sub/a.txt", tree.join("link.txt")).expect("a link");
    std::os::unix::fs::symlink("sub", tree.join("dir")).expect("a link");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let absolute = tree.spelled("dir/a.txt");
    let names = ["sub/a.txt", "link.txt", "dir/a.txt", &absolute];
    let tag = read(&daemon, "sub/a.txt");
    let mut sent = Vec::new();
    for round in 0..60 {
        let hunk = format!("replace {0}..{0}:\n+round {round}\n", round + 1);
        let edited = request_edit(&daemon, "default", &patch(names[round % 4], &tag, &hunk));
        let shown = request_read(&daemon, "default", names[(round / 4 + round) % 4]);
        sent.push((edited, shown));
    }
    for (round, (edited, shown)) in sent.iter().enumerate() {
        daemon.wait(edited).expect("an edit");
        let shown = daemon.wait(shown).expect("a read");
        let row = format!("round {round}");
        assert_eq!(text_of(&shown).lines().nth(round), Some(&*row));
    }
}

#[test]
fn reads_of_other_files_overtake_a_held_edit() {
    let tree = Tree::new().file("b.txt", "b\n");
    let capabilities = json!({ "workspace": {
        "applyEdit": true,
        "workspaceEdit": { "documentChanges": true },
    } });
    let builder = Daemon::builder().root(tree.path());
    let daemon = builder.capabilities(capabilities).start();
    daemon.ignore_changes();
    let mut ids = Ids::default();
    let lines = vec![ids.line("one"), ids.line("two")];
    let mut buffer = Buffer::open(&daemon, &tree, "a.txt", lines, false);
    let (tag, other) = (read(&daemon, "a.txt"), read(&daemon, "b.txt"));
    // The editor takes its time.
    let held = request_edit(&daemon, "default", &patch("a.txt", &tag, "delete 1\n"));
    let (request, params) = daemon.expect_request("workspace/applyEdit");
    let behind = request_read(&daemon, "default", "a.txt");
    let second = patch("a.txt", &tag, "replace 2..2:\n+second\n");
    let second = request_edit(&daemon, "default", &second);
    for _ in 0..50 {
        let shown = daemon.wait(&request_read(&daemon, "default", "b.txt"));
        assert_eq!(text_of(&shown.expect("b is read")), "b\n");
    }
    edit(&daemon, &patch("b.txt", &other, "insert tail:\n+more\n")).expect("b is edited");
    let answered = daemon.arrival_order();
    assert!(
        ![&held, &behind, &second]
            .iter()
            .any(|id| answered.contains(id))
    );
    buffer.apply(request, &params, &mut ids);
    assert_eq!(new_tag(&daemon.wait(&held).expect("a is edited")).len(), 4);
    assert_eq!(text_of(&daemon.wait(&behind).expect("a is read")), "two\n");
    let answer = loop {
        match daemon.answer_or_request(&second, "workspace/applyEdit") {
            Next::Request(request, params) => buffer.apply(request, &params, &mut ids),
            Next::Answer(answer) => break answer.expect("the second edit"),
        }
    };
    assert_eq!(
        file_of(&answer)["remapped"],
        json!([{ "from": 2, "to": 1 }])
    );
    assert_eq!(joined(&buffer.lines), "second\n");
    assert_eq!(
        fs::read_to_string(tree.join("a.txt")).expect("a file"),
        "one\ntwo\n"
    );
}

/// However long a patch is, few of its files are open at a time.
#[test]
fn thousands_of_sections_need_no_thousands_of_open_files() {
    const SECTIONS: usize = 3000;
    let tree = Tree::new();
    let lines: String = (1..=SECTIONS)
        .map(|line| format!("line {line}\n"))
        .collect();
    tree.write("a.txt", &lines);
    let program = env!("CARGO_BIN_EXE_pilcrow");
    let daemon = Daemon::builder()
        .program("sh")
        .arg("-c")
        .arg(&format!("ulimit -n 128 && exec '{program}' serve --stdio"))
        .root(tree.path())
        .start();
    let all = json!({
        "path": format!("a.txt:1-{SECTIONS}"),
        "budget": { "lines": 2 * SECTIONS, "bytes": 1 << 20 },
    });
    let tag = tag_of(&daemon.call("agent/read", all).expect("read"));
    let sections = (1..=SECTIONS).map(|line| {
        let hunk = format!("replace {line}:\n+row {line}\n");
        patch("a.txt", &tag, &hunk)
    });
    edit(&daemon, &sections.collect::<String>()).expect("made");
    let written = fs::read_to_string(tree.join("a.txt")).expect("a text");
    assert_eq!(written, lines.replace("line", "row"));
}
