//! Random texts and patches: the file's bytes equal a splice that is made here; nothing of the daemon's own arithmetic is used.

use std::cell::Cell;
use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::{Daemon, Id};
use crate::tree::Tree;

use super::{Untouched, cases, file_of, patch, request_edit, request_read, tag_of, text_of};

/// Files whose requests are under way together.
const SIDE_BY_SIDE: usize = 20;

/// A line and its end.
type Line = (String, &'static str);

/// Lines that are easily mistaken for something else.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("dup".to_owned()),
        Just("}".to_owned()),
        Just("+plus".to_owned()),
        Just("++".to_owned()),
        Just("-minus".to_owned()),
        Just("# note".to_owned()),
        Just("¶f#1A2B".to_owned()),
        Just("[f#1A2B]".to_owned()),
        Just("delete 2".to_owned()),
        Just("replace 1..2:".to_owned()),
        Just("insert tail:".to_owned()),
        Just("*** Begin Patch".to_owned()),
        Just("*** End Patch".to_owned()),
        Just("@@ -1 +1 @@".to_owned()),
        Just("--- a/f".to_owned()),
        Just("3:x".to_owned()),
        Just("…".to_owned()),
        Just("warning: x".to_owned()),
        Just(" \t".to_owned()),
        Just("\ttab and blanks  ".to_owned()),
        Just("lone\rcr".to_owned()),
        Just("x".repeat(3000)),
        "[a-c é漢😀\u{2028}\u{85}\u{301}\u{7f}\u{202e}]{1,6}",
    ]
}

/// Line ends of a whole text, or a mix.
fn ends(lines: usize) -> impl Strategy<Value = Vec<&'static str>> {
    let one = |end: &'static str| Just(vec![end; lines]).boxed();
    prop_oneof![
        one("\n"),
        one("\r\n"),
        prop::collection::vec(prop_oneof![Just("\n"), Just("\r\n")], lines),
        one("\r"),
    ]
}

/// Lines with their ends; the last one may have none, but is then not blank.
fn text() -> impl Strategy<Value = Vec<Line>> {
    let lines = prop::collection::vec(line(), 0..12);
    let lines = lines.prop_flat_map(|lines| (ends(lines.len()), Just(lines), any::<bool>()));
    lines.prop_map(|(ends, lines, ended)| {
        let cr = ends.iter().all(|end| *end == "\r");
        let lines = lines.into_iter();
        let lines = lines.map(|line| if cr { line.replace('\r', "") } else { line });
        let mut text: Vec<Line> = lines.zip(ends).collect();
        let count = text.len();
        if let Some((line, end)) = text.last_mut()
            && !ended
            && !line.is_empty()
            // One line with a lone CR and no end is two lines with a CR end.
            && (count > 1 || !line.contains('\r'))
        {
            *end = "";
        }
        text
    })
}

#[derive(Debug, Clone)]
struct Case {
    text: Vec<Line>,
    bom: bool,
    wishes: Vec<Wish>,
    form: u8,
    dry_run: bool,
}

/// What is done at a line: share of kinds, length of a range, rows.
type Wish = (u8, usize, Vec<String>);

fn case() -> impl Strategy<Value = Case> {
    let rows = prop::collection::vec(line(), 1..9);
    let wishes = prop::collection::vec((0u8..12, 1usize..4, rows), 14);
    let case = (text(), any::<bool>(), wishes, 0u8..4, 0u8..12);
    case.prop_map(|(text, bom, wishes, form, dry)| Case {
        text,
        bom,
        wishes,
        form,
        dry_run: dry == 0,
    })
}

#[derive(Debug, Clone)]
enum Hunk {
    Replace(usize, usize, Vec<String>),
    Before(usize, Vec<String>),
    After(usize, Vec<String>),
    Head(Vec<String>),
    Tail(Vec<String>),
}

/// Valid hunks for a text of `total` lines, in any order; ranges do not meet, inserts go anywhere.
fn hunks(total: usize, wishes: &[Wish]) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    let mut free = 1;
    for (at, (kind, length, rows)) in wishes.iter().enumerate() {
        let line = at + 1;
        let rows = rows.clone();
        match kind {
            0 => hunks.push(Hunk::Head(rows)),
            1 => hunks.push(Hunk::Tail(rows)),
            _ if line > total => {}
            2 | 3 => hunks.push(Hunk::Before(line, rows)),
            4 | 5 => hunks.push(Hunk::After(line, rows)),
            6..=9 if line >= free => {
                let end = (line + length - 1).min(total);
                free = end + 1;
                let rows = if *kind > 7 { Vec::new() } else { rows };
                hunks.push(Hunk::Replace(line, end, rows));
            }
            _ => {}
        }
    }
    // Not by line: an odd walk over all of them.
    let count = hunks.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|at| (at * 7 + 3) % count.max(1));
    order.into_iter().map(|at| hunks[at].clone()).collect()
}

fn hunk_text(hunks: &[Hunk]) -> String {
    let rows = |rows: &[String]| -> String { rows.iter().map(|row| format!("+{row}\n")).collect() };
    let text = |hunk: &Hunk| match hunk {
        Hunk::Replace(start, end, none) if none.is_empty() => format!("delete {start}..{end}\n"),
        Hunk::Replace(start, end, new) => format!("replace {start}..{end}:\n{}", rows(new)),
        Hunk::Before(line, new) => format!("insert before {line}:\n{}", rows(new)),
        Hunk::After(line, new) => format!("insert after {line}:\n{}", rows(new)),
        Hunk::Head(new) => format!("insert head:\n{}", rows(new)),
        Hunk::Tail(new) => format!("insert tail:\n{}", rows(new)),
    };
    hunks.iter().map(text).collect()
}

/// The same as `agent/edit` takes it in its structured form.
fn ops(hunks: &[Hunk], as_string: bool) -> Vec<Value> {
    let text = |rows: &[String]| match as_string {
        true => json!(
            rows.iter()
                .map(|row| format!("{row}\n"))
                .collect::<String>()
        ),
        false => json!(rows),
    };
    let op = |hunk: &Hunk| match hunk {
        Hunk::Replace(start, end, none) if none.is_empty() => {
            json!({ "op": "delete", "start": start, "end": end })
        }
        Hunk::Replace(start, end, new) => {
            json!({ "op": "replace", "start": start, "end": end, "text": text(new) })
        }
        Hunk::Before(line, new) => {
            json!({ "op": "insert_before", "line": line, "text": text(new) })
        }
        Hunk::After(line, new) => {
            json!({ "op": "insert_after", "line": line.to_string(), "text": text(new) })
        }
        Hunk::Head(new) => json!({ "op": "insert_head", "text": text(new) }),
        Hunk::Tail(new) => json!({ "op": "insert_tail", "text": text(new) }),
    };
    hunks.iter().map(op).collect()
}

/// The splice, line by line.
fn spliced(text: &[Line], hunks: &[Hunk]) -> String {
    let total = text.len();
    let end_of = |line: usize| match total {
        0 => "\n",
        _ => text[line.clamp(1, total) - 1].1,
    };
    let mut out: Vec<Line> = Vec::new();
    let mut put = |rows: &[String], line: usize| {
        out.extend(rows.iter().map(|row| (row.clone(), end_of(line))));
    };
    for hunk in hunks {
        if let Hunk::Head(rows) = hunk {
            put(rows, 1);
        }
    }
    for line in 1..=total {
        let mut gone = false;
        for hunk in hunks {
            match hunk {
                Hunk::Before(at, rows) if *at == line => put(rows, line),
                _ => {}
            }
        }
        for hunk in hunks {
            if let Hunk::Replace(start, end, rows) = hunk {
                gone |= (*start..=*end).contains(&line);
                if *start == line {
                    for (k, row) in rows.iter().enumerate() {
                        put(std::slice::from_ref(row), (line + k).min(*end));
                    }
                }
            }
        }
        if !gone {
            put(std::slice::from_ref(&text[line - 1].0), line);
        }
        for hunk in hunks {
            match hunk {
                Hunk::After(at, rows) if *at == line => put(rows, line),
                _ => {}
            }
        }
    }
    for hunk in hunks {
        if let Hunk::Tail(rows) = hunk {
            put(rows, total);
        }
    }
    ended(text, &out)
}

/// Only the last line may have no end, and it has none where the old last line had none.
fn ended(text: &[Line], out: &[Line]) -> String {
    let ended = text.iter().rev().find(|(_, end)| !end.is_empty());
    let default = ended.map_or("\n", |(_, end)| end);
    let last = out.len().saturating_sub(1);
    let line = |(at, (row, end)): (usize, &Line)| match (*end, at == last) {
        ("", false) => format!("{row}{default}"),
        (end, _) => format!("{row}{end}"),
    };
    out.iter().enumerate().map(line).collect()
}

fn bytes_of(bom: bool, text: &str) -> Vec<u8> {
    let bom: &[u8] = if bom { "\u{feff}".as_bytes() } else { b"" };
    [bom, text.as_bytes()].concat()
}

impl Case {
    fn old(&self) -> String {
        let line = |(line, end): &Line| format!("{line}{end}");
        self.text.iter().map(line).collect()
    }

    fn hunks(&self) -> Vec<Hunk> {
        hunks(self.text.len(), &self.wishes)
    }
}

/// A daemon and files of random texts in its root.
struct Bench {
    tree: Tree,
    daemon: Daemon,
    made: Cell<usize>,
}

impl Bench {
    fn new() -> Bench {
        let tree = Tree::new().file("other.txt", "other\n");
        let daemon = Daemon::start(tree.path());
        daemon.ignore_changes();
        Bench {
            tree,
            daemon,
            made: Cell::new(0),
        }
    }

    /// Writes the texts and reads all of their lines; gives the names and tags.
    fn read(&self, cases: &[Case]) -> Vec<(String, String)> {
        let first = self.made.replace(self.made.get() + cases.len());
        let name = |at: usize| format!("{}.txt", first + at);
        for (at, case) in cases.iter().enumerate() {
            self.tree.write(&name(at), bytes_of(case.bom, &case.old()));
        }
        let ids: Vec<Id> = (0..cases.len())
            .map(|at| request_read(&self.daemon, "default", &name(at)))
            .collect();
        let tag = |(at, id)| {
            let read = self.daemon.wait(id).expect("a read");
            (name(at), tag_of(&read))
        };
        ids.iter().enumerate().map(tag).collect()
    }

    fn remove(&self, names: &[(String, String)]) {
        for (name, _) in names {
            fs::remove_file(self.tree.join(name)).expect("removed");
        }
    }

    fn valid(&self, cases: &[Case]) -> Result<(), TestCaseError> {
        let names = self.read(cases);
        let before: Vec<Untouched> = names
            .iter()
            .map(|(name, _)| Untouched::of(&self.tree.join(name)))
            .collect();
        let ids: Vec<Id> = cases
            .iter()
            .zip(&names)
            .map(|(case, (name, tag))| {
                let hunks = case.hunks();
                let mut params = match case.form {
                    0 => {
                        let file = json!({ "path": name, "tag": tag, "edits": ops(&hunks, false) });
                        json!({ "files": [file] })
                    }
                    1 => {
                        let file = json!({ "path": name, "tag": tag, "edits": ops(&hunks, true) });
                        json!({ "files": [file] })
                    }
                    _ => json!({ "patch": patch(name, tag, &hunk_text(&hunks)) }),
                };
                params["dryRun"] = json!(case.dry_run);
                self.daemon.request("agent/edit", params)
            })
            .collect();
        for (at, case) in cases.iter().enumerate() {
            let edited = self.daemon.wait(&ids[at]);
            let hunks = case.hunks();
            if hunks.is_empty() {
                prop_assert!(edited.is_err());
            } else {
                let edited = edited.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
                let new = spliced(&case.text, &hunks);
                self.check(case, &new, &names[at].0, &edited, &before[at])?;
            }
        }
        self.remove(&names);
        Ok(())
    }

    /// One file after a valid edit.
    fn check(
        &self,
        case: &Case,
        new: &str,
        name: &str,
        edited: &Value,
        before: &Untouched,
    ) -> Result<(), TestCaseError> {
        let now = Untouched::of(&self.tree.join(name));
        if case.dry_run || new == case.old() {
            prop_assert_eq!(&now, before);
        } else {
            prop_assert_eq!(now.bytes, bytes_of(case.bom, new));
            prop_assert_eq!(now.mode, before.mode);
        }
        if case.dry_run {
            return Ok(());
        }
        let read = self
            .daemon
            .wait(&request_read(&self.daemon, "default", name));
        let read = read.expect("it is read again");
        prop_assert_eq!(text_of(&read), new);
        prop_assert_eq!(&file_of(edited)["tag"], &json!(tag_of(&read)));
        // Every row of the answer is the line of its number.
        let lines: Vec<&str> = match new.contains('\n') {
            true => new
                .split('\n')
                .map(|line| line.trim_end_matches('\r'))
                .collect(),
            false => new.split('\r').collect(),
        };
        for row in text_of(edited).split('\n').skip(1) {
            let Some((number, shown)) = row.split_once(':') else {
                continue;
            };
            let Ok(number) = number.parse::<usize>() else {
                continue;
            };
            match shown.strip_suffix('…').filter(|start| start.len() >= 2000) {
                Some(start) => prop_assert!(lines[number - 1].starts_with(start)),
                None => prop_assert_eq!(shown, lines[number - 1]),
            }
        }
        Ok(())
    }

    fn invalid(&self, cases: &[(Case, u8, usize)]) -> Result<(), TestCaseError> {
        let texts: Vec<Case> = cases.iter().map(|(case, ..)| case.clone()).collect();
        let names = self.read(&texts);
        let look = |(name, _): &(String, String)| Untouched::of(&self.tree.join(name));
        let before: Vec<Untouched> = names.iter().map(look).collect();
        let ids: Vec<Id> = cases
            .iter()
            .zip(&names)
            .map(|((case, fault, at), (name, tag))| {
                let patch = wrong(case, (name, tag), *fault, *at);
                request_edit(&self.daemon, "default", &patch)
            })
            .collect();
        for (id, (case, fault, at)) in ids.iter().zip(cases) {
            let error = match self.daemon.wait(id) {
                Ok(edited) => {
                    let patch = wrong(case, ("NAME", "TAG"), *fault, *at);
                    return Err(TestCaseError::fail(format!("{patch} gives {edited}")));
                }
                Err(error) => error,
            };
            let kinds = ["patchSyntax", "overlap", "unknownTag", "notFound"];
            prop_assert!(kinds.contains(&error.kind()), "{:?}", error);
        }
        let after: Vec<Untouched> = names.iter().map(look).collect();
        prop_assert_eq!(after, before);
        self.remove(&names);
        Ok(())
    }
}

/// How many faults there are.
const FAULTS: u8 = 13;

/// A valid patch with one thing wrong in it.
fn wrong(case: &Case, (name, tag): (&str, &str), fault: u8, at: usize) -> String {
    let total = case.text.len();
    let hunks = hunk_text(&case.hunks());
    let whole = patch(name, tag, &hunks);
    let line = (at % total.max(1) + 1).min(total.max(1));
    match fault {
        0 => format!("{whole}delete {line}..{}\n", total + at),
        1 => format!("{whole}insert after {}:\n+x\n", total + at),
        2 => format!("{whole}delete {line}\nreplace {line}..{line}:\n+x\n"),
        3 => format!("{whole}replace {}..{at}:\n+x\n", at + 1),
        4 => format!("{whole}delete 1\n+x\n"),
        5 => {
            let number = u16::from_str_radix(tag, 16).unwrap_or(0);
            let other = number.wrapping_add(at as u16);
            patch(
                name,
                &format!("{other:04X}"),
                &format!("{hunks}insert tail:\n+x\n"),
            )
        }
        6 => format!("¶{name}\n{hunks}insert tail:\n+x\n"),
        7 => format!("+x\n{whole}insert tail:\n+x\n"),
        8 => format!("{whole}insert tail:\n"),
        9 => format!("{whole}delete {line}..99999999999\n"),
        10 => format!("{whole}@@ -1,2 +1,2 @@\n-a\n+b\n"),
        11 => format!("{whole}insert tail:\n+x\n¶missing.txt#{tag}\ninsert head:\n+x\n"),
        _ => format!("{whole}insert tail:\n+x\n¶other.txt#{tag}\ndelete 7\n"),
    }
}

#[test]
fn the_bytes_equal_a_splice() {
    let bench = Bench::new();
    let batch = prop::collection::vec(case(), SIDE_BY_SIDE);
    let batches = cases(2_000 / SIDE_BY_SIDE as u32, 100_000 / SIDE_BY_SIDE as u32);
    proptest!(batches, |(cases in batch)| bench.valid(&cases)?);
}

#[test]
fn invalid_patches_change_nothing() {
    let bench = Bench::new();
    let batch = prop::collection::vec((case(), 0..FAULTS, 1usize..20), SIDE_BY_SIDE);
    let batches = cases(2_000 / SIDE_BY_SIDE as u32, 100_000 / SIDE_BY_SIDE as u32);
    proptest!(batches, |(cases in batch)| bench.invalid(&cases)?);
    assert_eq!(
        bench
            .tree
            .join("other.txt")
            .metadata()
            .expect("there")
            .len(),
        6
    );
}

#[test]
fn a_thousand_texts_of_a_large_file_are_replaced_at_once() {
    let line = |number: usize| format!("line {number} {}\n", "x".repeat(60));
    let lines: Vec<String> = (0..60_000).map(line).collect();
    let tree = Tree::new().file("large.txt", lines.concat());
    let daemon = Daemon::start(tree.path());
    let numbers = (0..1_000).map(|at| at * 60);
    let edits = numbers.map(|number| {
        let (old, new) = (format!("line {number} x"), format!("row {number}, x"));
        json!({ "op": "replace_text", "old": old, "new": new })
    });
    let files = json!([{ "path": "large.txt", "edits": edits.collect::<Vec<_>>() }]);
    let edited = daemon.call("agent/edit", json!({ "files": files }));
    edited.expect("an edit");
    let new = lines
        .iter()
        .enumerate()
        .map(|(number, line)| match number % 60 {
            0 => line.replacen(&format!("line {number} "), &format!("row {number}, "), 1),
            _ => line.clone(),
        });
    let text = fs::read_to_string(tree.join("large.txt")).expect("a text");
    assert!(text == new.collect::<String>());
}
