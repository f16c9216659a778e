//! `undo` gives back the bytes before the edit that made a version, or refuses; what came after that edit elsewhere stays.

use std::cell::Cell;
use std::fs;

use proptest::prelude::*;
use serde_json::json;

use crate::client::Daemon;
use crate::tree::Tree;

use super::{cases, edit_as, new_tag, patch, read_as};

/// One step of a history: who, what, and shares of the lines there are.
type Step = (bool, u8, usize, usize);

/// An edit that was made: its tag, and the bytes before and after it.
struct Made {
    tag: String,
    before: Vec<u8>,
    after: Vec<u8>,
}

/// A file that sessions and other programs change in turn.
struct Story<'a> {
    daemon: &'a Daemon,
    tree: &'a Tree,
    name: String,
    made: Vec<Made>,
    steps: usize,
}

impl Story<'_> {
    fn bytes(&self) -> Vec<u8> {
        fs::read(self.tree.join(&self.name)).expect("the file")
    }

    fn take(&mut self, (first, kind, line, length): Step) -> Result<(), TestCaseError> {
        self.steps += 1;
        let session = if first { "one" } else { "two" };
        let before = self.bytes();
        let total = before.split_inclusive(|byte| *byte == b'\n').count();
        if kind == 9 {
            // Another program adds a line, or turns all around.
            let now = match length % 2 {
                0 => [&before[..], format!("outside {}\n", self.steps).as_bytes()].concat(),
                _ => before.iter().rev().copied().filter(u8::is_ascii).collect(),
            };
            self.tree.replace(&self.name, now);
            return Ok(());
        }
        let tag = read_as(self.daemon, session, &self.name);
        let start = line % total.max(1) + 1;
        let end = (start + length % 3).min(total.max(1));
        let new = format!("new {} é", self.steps);
        let op = match (kind, total) {
            (8, _) => "undo\n".to_owned(),
            (0, _) | (_, 0) => format!("insert tail:\n+{new}\n"),
            (1, _) => format!("replace {start}..{end}:\n+{new}\n+\n"),
            (2, _) => format!("delete {start}..{end}\n"),
            (3, _) => format!("insert before {start}:\n+{new}\n"),
            (4, _) => format!("replace all \"e\" with \"{new}\\n\"\n"),
            (5, _) if end < total => format!("move {start}..{end} after {total}\n"),
            (6, _) => format!("delete {start}\ninsert tail:\n+{new}\n"),
            _ => format!("insert after {end}:\n+{new}\n"),
        };
        match edit_as(self.daemon, session, &patch(&self.name, &tag, &op)) {
            Ok(edited) => {
                let (tag, after) = (new_tag(&edited), self.bytes());
                if before == after {
                    return Ok(());
                }
                if kind == 8 {
                    self.check_undone(&before, &after)?;
                }
                self.made.push(Made { tag, before, after });
            }
            Err(error) => {
                let kinds = ["stale", "unsupported", "noMatch", "noChange"];
                prop_assert!(kinds.contains(&error.kind()), "{op}: {error:?}");
                prop_assert_eq!(self.bytes(), before);
            }
        }
        Ok(())
    }

    /// An `undo` of the version that was there: whatever made that text last is taken back.
    fn check_undone(&self, live: &[u8], now: &[u8]) -> Result<(), TestCaseError> {
        let mut makers = self.made.iter().rev().filter(|made| made.after == live);
        let made = makers.next();
        let before = made.map(|made| String::from_utf8_lossy(&made.before).into_owned());
        prop_assert_eq!(before, Some(String::from_utf8_lossy(now).into_owned()));
        Ok(())
    }

    /// Undoes the last edit, whatever came after it.
    fn undo(&mut self) -> Result<bool, TestCaseError> {
        let Some(last) = self.made.pop() else {
            return Ok(false);
        };
        let live = self.bytes();
        read_as(self.daemon, "one", &self.name);
        let answer = edit_as(self.daemon, "one", &patch(&self.name, &last.tag, "undo\n"));
        let now = self.bytes();
        match answer {
            // The very same was made before, and nothing has happened since.
            Ok(answer) if is_applied_before(&answer) => {
                prop_assert_eq!(now, live);
                Ok(false)
            }
            Ok(_) => {
                // What others added stays.
                let Some(added) = live.strip_prefix(&last.after[..]) else {
                    return Ok(false);
                };
                let expected = [&last.before[..], added].concat();
                prop_assert_eq!(
                    String::from_utf8_lossy(&now),
                    String::from_utf8_lossy(&expected)
                );
                Ok(true)
            }
            Err(error) => {
                prop_assert!(live != last.after, "{error:?}");
                let kinds = ["stale", "unsupported", "expiredTag", "notShown"];
                prop_assert!(kinds.contains(&error.kind()), "{error:?}");
                prop_assert_eq!(now, live);
                Ok(false)
            }
        }
    }
}

fn is_applied_before(answer: &serde_json::Value) -> bool {
    let text = answer["content"][0]["text"].as_str();
    text.is_some_and(|text| text.starts_with("[Already applied: "))
}

#[test]
fn it_gives_back_the_bytes_before_an_edit_or_refuses() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let (number, undone) = (Cell::new(0), Cell::new(0));
    let line = prop::sample::select(vec!["\n", "one\n", "}\r\n", "é \n", "tree\n", "}\n"]);
    let text = (prop::collection::vec(line, 0..12), any::<bool>());
    let step = (any::<bool>(), 0u8..10, 0usize..99, 0usize..9);
    let steps = prop::collection::vec(step, 1..10);
    proptest!(cases(60, 1000), |(((lines, is_ended), steps) in (text, steps))| {
        let name = format!("{}.txt", number.replace(number.get() + 1));
        let last = if is_ended { "" } else { "last" };
        tree.write(&name, format!("{}{last}", lines.concat()));
        let made = Vec::new();
        let mut story = Story { daemon: &daemon, tree: &tree, name, made, steps: 0 };
        for step in &steps {
            story.take(*step)?;
        }
        if story.undo()? {
            undone.set(undone.get() + 1);
        }
    });
    assert!(
        undone.get() * 3 > number.get(),
        "{} of {}",
        undone.get(),
        number.get()
    );
}

#[test]
fn every_session_undoes_any_edit_and_again() {
    let tree = Tree::new().file("a.txt", "one\r\ntwo\nthree");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let bytes = || fs::read_to_string(tree.join("a.txt")).expect("the file");
    let tag = read_as(&daemon, "one", "a.txt");
    let ops = "delete 1\ninsert tail:\n+four\n";
    let made = edit_as(&daemon, "one", &patch("a.txt", &tag, ops)).expect("made");
    assert_eq!(bytes(), "two\nthree\nfour");
    // Others may as well, once they have read what they take away.
    let undo = patch("a.txt", &new_tag(&made), "undo\n");
    let error = edit_as(&daemon, "two", &undo).expect_err("not shown");
    assert_eq!(error.kind(), "notShown");
    let undone = edit_as(&daemon, "two", &undo).expect("undone");
    assert_eq!(bytes(), "one\r\ntwo\nthree");
    assert_eq!(new_tag(&undone), tag);
    let again = edit_as(&daemon, "two", &undo).expect("already applied");
    assert!(is_applied_before(&again), "{again}");
    // The undo is an edit, too.
    let redone = patch("a.txt", &new_tag(&undone), "undo\n");
    edit_as(&daemon, "one", &redone).expect("done again");
    assert_eq!(bytes(), "two\nthree\nfour");
    edit_as(&daemon, "two", &undo).expect("undone again");
    assert_eq!(bytes(), "one\r\ntwo\nthree");
}

#[test]
fn what_came_later_stays_where_it_does_not_touch() {
    let text: String = (1..=20).map(|line| format!("line {line}\n")).collect();
    let tree = Tree::new().file("a.txt", &text);
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let bytes = || fs::read_to_string(tree.join("a.txt")).expect("the file");
    let tag = read_as(&daemon, "one", "a.txt");
    let ops = "replace 5..6:\n+five\ndelete 10..12\n";
    let made = edit_as(&daemon, "one", &patch("a.txt", &tag, ops)).expect("made");
    let later = "delete 2\ninsert tail:\n+end\n";
    let other = edit_as(&daemon, "one", &patch("a.txt", &tag, later)).expect("made");
    let undo = patch("a.txt", &new_tag(&made), "undo\n");
    let dry = json!({ "session": "one", "patch": &undo, "dryRun": true });
    let now = bytes();
    daemon.call("agent/edit", dry).expect("tried");
    assert_eq!(bytes(), now);
    let undone = edit_as(&daemon, "one", &undo).expect("undone");
    assert_eq!(bytes(), text.replace("line 2\n", "") + "end\n");
    assert_eq!(
        undone["details"]["files"][0]["remapped"][0],
        json!({ "from": 5, "to": 4 })
    );
    // And the other way round: what is to be undone was changed since.
    let touched = "replace 19:\n+END\n";
    let tag = new_tag(&undone);
    edit_as(&daemon, "one", &patch("a.txt", &tag, "replace 20:\n+END\n")).expect(touched);
    let undo = patch("a.txt", &new_tag(&other), "undo\n");
    let error = edit_as(&daemon, "one", &undo).expect_err("its row is another");
    assert_eq!(error.kind(), "stale");
}

#[test]
fn only_what_was_edited_here_is_undone() {
    let tree = Tree::new().file("a.txt", "one\n").file("b.txt", "one\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let tag = read_as(&daemon, "one", "a.txt");
    let error = edit_as(&daemon, "one", &patch("a.txt", &tag, "undo\n")).expect_err("found so");
    assert_eq!(error.kind(), "unsupported");
    assert!(error.message.contains(&tag), "{}", error.message);
    let write = json!({ "session": "one", "path": "new.txt", "text": "new\n" });
    let made = daemon.call("agent/write", write).expect("made");
    let undo = patch("new.txt", &new_tag(&made), "undo\n");
    let error = edit_as(&daemon, "one", &undo).expect_err("there was nothing before");
    assert_eq!(error.kind(), "unsupported");
    // A whole file that was written over comes back.
    let tag = read_as(&daemon, "one", "b.txt");
    let write = json!({ "session": "one", "path": "b.txt", "text": "two\nthree", "expect": tag });
    let made = daemon.call("agent/write", write).expect("written");
    let undo = patch("b.txt", &new_tag(&made), "undo\n");
    edit_as(&daemon, "one", &undo).expect("undone");
    assert_eq!(
        fs::read_to_string(tree.join("b.txt")).expect("the file"),
        "one\n"
    );
    // What another program made of the same file is not.
    tree.replace("b.txt", "other\n");
    let tag = read_as(&daemon, "one", "b.txt");
    let error = edit_as(&daemon, "one", &patch("b.txt", &tag, "undo\n")).expect_err("not ours");
    assert_eq!(error.kind(), "unsupported");
    let error = edit_as(&daemon, "one", &undo).expect_err("its lines are gone");
    assert_eq!(error.kind(), "stale");
}
