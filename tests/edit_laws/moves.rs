//! Lines that are moved keep their bytes and ends, in every encoding; what stood elsewhere stays, and nobody takes the moved lines for the old ones.

use std::fs;

use proptest::prelude::*;
use serde_json::json;

use crate::client::Daemon;
use crate::tree::Tree;

use super::encodings::{ENDS, KINDS, ends};
use super::{cases, edit, edit_as, file_of, new_tag, patch, read, read_as};

/// Lines with their ends.
type Lines = Vec<(Vec<u8>, &'static str)>;

/// The lines `from..=to` (from 1) behind line `after` of the others, which may be 0. What comes to
/// stand behind a line without an end gives it one.
fn moved(lines: &Lines, (from, to): (usize, usize), after: usize) -> Lines {
    let ended = lines.iter().rev().find(|(_, end)| !end.is_empty());
    let default = ended.map_or("\n", |(_, end)| *end);
    let mut made: Lines = Vec::new();
    let taken = &lines[from - 1..to];
    for at in 0..=lines.len() {
        if at > 0 && !(from..=to).contains(&at) {
            made.push(lines[at - 1].clone());
        }
        if at == after {
            made.extend_from_slice(taken);
        }
    }
    let last = made.len() - 1;
    for (_, end) in &mut made[..last] {
        if end.is_empty() {
            *end = default;
        }
    }
    made
}

/// The place behind a line, in words: before the next one where there is one and it is asked for.
fn beside(after: usize, total: usize, before: bool) -> String {
    match (before || after == 0) && after < total {
        true => format!("before {}", after + 1),
        false => format!("after {after}"),
    }
}

#[test]
fn moved_lines_keep_their_bytes_in_every_encoding_and_undo_gives_all_back() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    for kind in &KINDS {
        let bytes: Vec<Vec<u8>> = kind.lines().into_iter().map(|(_, it)| it).collect();
        let total = bytes.len();
        for (number, name) in ENDS.into_iter().enumerate() {
            for is_ended in [true, false] {
                let file = format!("{} {name} {is_ended}.txt", kind.fixture);
                let ends = ends(name, total, is_ended);
                let before = kind.file(&bytes, &ends);
                tree.write(&file, &before);
                // With lone CRs in between, fewer lines are counted; these are enough.
                let units: Lines = bytes.iter().cloned().zip(ends.iter().copied()).collect();
                let lines = counted(&units, kind);
                let total = lines.len();
                let (span, after) = match number % 3 {
                    0 => ((2, 3), total),
                    1 => ((total, total), 1),
                    _ => ((1, 2), total - 1),
                };
                let tag = read(&daemon, &file);
                let place = beside(after, total, number % 2 == 0 && after < total);
                let op = format!("move {}..{} {place}\n", span.0, span.1);
                let edited = edit(&daemon, &patch(&file, &tag, &op));
                let edited = edited.unwrap_or_else(|error| panic!("{file}: {op} {error:?}"));
                let made = moved(&lines, span, after);
                let (rows, ends): (Vec<_>, Vec<_>) = made.into_iter().unzip();
                let now = fs::read(tree.join(&file)).expect("the file");
                assert!(now == kind.file(&rows, &ends), "{file}: {op}");
                let undone = edit(&daemon, &patch(&file, &new_tag(&edited), "undo\n"));
                undone.unwrap_or_else(|error| panic!("{file}: {error:?}"));
                let now = fs::read(tree.join(&file)).expect("the file");
                assert!(now == before, "{file}: undone");
            }
        }
    }
}

/// The lines as they are numbered: a lone CR ends none where other lines end otherwise.
fn counted(units: &Lines, kind: &super::encodings::Kind) -> Lines {
    let all_cr = units.iter().all(|(_, end)| ["\r", ""].contains(end));
    let mut lines: Lines = Vec::new();
    let mut open: Option<Vec<u8>> = None;
    for (at, (bytes, end)) in units.iter().enumerate() {
        let mut line = open.take().unwrap_or_default();
        line.extend_from_slice(bytes);
        if *end != "\r" || all_cr {
            lines.push((line, end));
            continue;
        }
        line.extend(kind.ascii("\r"));
        match at + 1 < units.len() {
            true => open = Some(line),
            false => lines.push((line, "")),
        }
    }
    lines
}

#[test]
fn a_random_move_takes_those_lines_and_no_other_byte() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let number = std::cell::Cell::new(0);
    let lines = prop::collection::vec((0usize..5, any::<bool>()), 2..16);
    let wish = (
        lines,
        any::<bool>(),
        0usize..99,
        0usize..99,
        0usize..99,
        any::<bool>(),
    );
    proptest!(cases(60, 20_000), |((kinds, is_ended, from, count, after, before) in wish)| {
        let file = format!("{}.txt", number.replace(number.get() + 1));
        let texts = ["", "}", "\tdup", "é 😀 ", "x"];
        let line = |(at, (kind, crlf)): (usize, &(usize, bool))| {
            let text = match kind {
                4 => format!("line {at}"),
                kind => texts[*kind].to_owned(),
            };
            (text.into_bytes(), if *crlf { "\r\n" } else { "\n" })
        };
        let mut lines: Lines = kinds.iter().enumerate().map(line).collect();
        let total = lines.len();
        if !is_ended && !lines[total - 1].0.is_empty() {
            lines[total - 1].1 = "";
        }
        let joined = |lines: &Lines| -> Vec<u8> {
            lines.iter().flat_map(|(text, end)| [text, end.as_bytes()].concat()).collect()
        };
        tree.write(&file, joined(&lines));
        let from = from % total + 1;
        let to = (from + count % 4).min(total);
        let places: Vec<usize> = (0..=total).filter(|at| *at < from || *at >= to).collect();
        let after = places[after % places.len()];
        let names_own = |place: &str| {
            let named: usize = place.rsplit(' ').next().and_then(|it| it.parse().ok()).expect("a line");
            (from..=to).contains(&named)
        };
        let mut place = beside(after, total, before);
        if names_own(&place) {
            place = beside(after, total, !before);
        }
        let tag = read(&daemon, &file);
        let op = format!("move {from}..{to} {place}\n");
        let answer = edit(&daemon, &patch(&file, &tag, &op));
        let now = fs::read(tree.join(&file)).expect("the file");
        if names_own(&place) {
            let error = answer.expect_err("it goes beside itself");
            prop_assert_eq!(error.kind(), "overlap");
            prop_assert_eq!(now, joined(&lines));
            return Ok(());
        }
        let answer = answer.unwrap_or_else(|error| panic!("{op}: {error:?}"));
        let made = moved(&lines, (from, to), after);
        let made = joined(&made);
        prop_assert_eq!(String::from_utf8_lossy(&now), String::from_utf8_lossy(&made), "{}", op);
        prop_assert_eq!(&file_of(&answer)["tag"], &json!(read(&daemon, &file)));
    });
}

#[test]
fn an_old_tag_finds_what_stayed_and_never_follows_what_moved() {
    let tree = Tree::new().file("a.txt", "a\nb\nc\nd\ne\nf\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let tag = read(&daemon, "a.txt");
    let other = read_as(&daemon, "other", "a.txt");
    edit(&daemon, &patch("a.txt", &tag, "move 2..3 after 5\n")).expect("moved");
    let error = edit(&daemon, &patch("a.txt", &tag, "delete 3\n")).expect_err("it is gone");
    assert_eq!(error.kind(), "stale");
    // The other session moves what stayed, to a place that is found where it is now.
    let op = "move 1 before 6\n";
    let answer = edit_as(&daemon, "other", &patch("a.txt", &other, op)).expect("moved");
    let text = answer["content"][0]["text"].as_str().expect("a text");
    let note = format!("[#{other} is an older version: line 6 is now 6]");
    assert!(!text.contains(&note), "{text}");
    let now = fs::read_to_string(tree.join("a.txt")).expect("the file");
    assert_eq!(now, "d\ne\nb\nc\na\nf\n");
    // Both the lines and the place are carried, each on its own.
    let answer = edit(&daemon, &patch("a.txt", &tag, "move 6 before 4\n")).expect("moved");
    let remapped = json!([{ "from": 4, "to": 1 }]);
    assert_eq!(file_of(&answer)["remapped"], remapped);
    let now = fs::read_to_string(tree.join("a.txt")).expect("the file");
    assert_eq!(now, "f\nd\ne\nb\nc\na\n");
    let error = edit(&daemon, &patch("a.txt", &tag, "move 5 after 2\n")).expect_err("it is gone");
    assert_eq!(error.kind(), "stale");
}

#[test]
fn what_moves_and_where_to_was_shown() {
    let text: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    let tree = Tree::new().file("a.txt", &text);
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let result = daemon.read("a.txt:5-10").expect("read");
    let tag = super::tag_of(&result);
    for op in ["move 25 after 7\n", "move 7 after 25\n"] {
        let error = edit(&daemon, &patch("a.txt", &tag, op)).expect_err(op);
        assert_eq!(error.kind(), "notShown", "{op}");
        assert!(
            error.message.contains("line 25 of 'a.txt'"),
            "{}",
            error.message
        );
        // Another session has not seen what this one was given.
        daemon
            .call("agent/closeSession", json!({ "session": "default" }))
            .expect("closed");
        daemon.read("a.txt:5-10").expect("read");
    }
    edit(&daemon, &patch("a.txt", &tag, "move 5..6 after 9\n")).expect("moved");
}
