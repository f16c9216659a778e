//! Whether an edited text still parses, told edit after edit; what is right says another parser.

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::client::Daemon;
use crate::tree::Tree;

use super::{at_most, edit, file_of, new_tag, patch, read};

/// Rows for a line of an object, whole ones and others.
const ROWS: [&str; 6] = [
    "  \"whole\": 1,",
    "  \"list\": [1, 2, {\"a\": null}],",
    "  \"text\": \"{ \\\" [ \u{e9}\u{1d11e}\",",
    "  \"nothing\": ,",
    "  \"no comma\": 7",
    "  \"open\": [1, 2,",
];
const WHOLE_ROWS: usize = 3;

fn parses(lines: &[String]) -> bool {
    serde_json::from_str::<Value>(&lines.join("\n")).is_ok()
}

/// Edits one line after the other, and mends what was broken now and then.
fn check(chance: &mut Chance, edits: usize, summary_first: bool) {
    let mut lines: Vec<String> = (0..120)
        .map(|key| format!("  \"k{key}\": {key},"))
        .collect();
    lines.insert(0, "{".to_owned());
    lines.extend(["  \"end\": 0".to_owned(), "}".to_owned()]);
    let tree = Tree::new();
    tree.write("a.json", &(lines.join("\n") + "\n"));
    let daemon = Daemon::start(tree.path());
    if summary_first {
        let bare = serde_json::json!({ "path": "a.json" });
        daemon.call("agent/read", bare).expect("a read");
    }
    let mut tag = read(&daemon, "a.json");
    for number in 0..edits {
        let is_broken = |line: &String| ROWS[WHOLE_ROWS..].contains(&line.as_str());
        let (line, row) = match lines.iter().position(is_broken) {
            Some(line) if chance.below(2) == 0 => (line, ROWS[chance.below(WHOLE_ROWS)]),
            _ => (1 + chance.below(120), ROWS[chance.below(ROWS.len())]),
        };
        if lines[line] == row {
            continue;
        }
        let parsed = parses(&lines);
        row.clone_into(&mut lines[line]);
        let now = parses(&lines);
        let at = line + 1;
        let edited = edit(
            &daemon,
            &patch("a.json", &tag, &format!("replace {at}:\n+{row}\n")),
        );
        let edited = edited.unwrap_or_else(|error| panic!("edit {number}: {error:?}"));
        tag = new_tag(&edited);
        let mut told = codes(&edited);
        // A row may be that of its neighbour.
        told.retain(|code| *code != "echo");
        let what = format!("edit {number} of line {at}: {row}: {told:?}");
        let expect: &[&[&str]] = match (parsed, now) {
            (_, true) => &[&[]],
            (true, false) => &[&["noLongerParses"]],
            // Whether it is a further one is another test's.
            (false, false) => &[&[], &["syntaxError"]],
        };
        assert!(expect.contains(&told.as_slice()), "{what}");
    }
    let written = std::fs::read_to_string(tree.path().join("a.json")).expect("a file");
    assert_eq!(written, lines.join("\n") + "\n");
}

fn codes(edited: &Value) -> Vec<&str> {
    let warnings = file_of(edited)["warnings"].as_array().expect("a list");
    let codes = warnings
        .iter()
        .filter_map(|warning| warning["code"].as_str());
    codes.collect()
}

/// An edit of a text, the code of its warning and the line that this names.
type Case = (&'static str, &'static str, &'static str, &'static str, u64);

/// The errors of these are where they are written, whatever parses them.
const CASES: &[Case] = &[
    (
        "a.rs",
        "fn a() {}\nfn b() {}\n",
        "replace 2:\n+fn b( {}\n",
        "noLongerParses",
        2,
    ),
    (
        "a.rs",
        "fn a() {}\nfn b( {}\nfn c() {}\n",
        "replace 3:\n+fn c( {}\n",
        "syntaxError",
        3,
    ),
    // Another error in the line that had one is none more.
    (
        "a.rs",
        "fn a() {}\nfn b( {}\nfn c() {}\n",
        "replace 2:\n+fn b() {{\n",
        "",
        0,
    ),
    // The old one moves along.
    (
        "a.rs",
        "fn a() {}\nfn b( {}\nfn c() {}\n",
        "insert head:\n+fn z() {}\n",
        "",
        0,
    ),
    (
        "a.rs",
        "fn a() {}\nfn b( {}\nfn c() {}\n",
        "delete 1\n",
        "",
        0,
    ),
    // It is mended, and another one made.
    (
        "a.rs",
        "fn a( {}\nfn b() {}\nfn c() {}\n",
        "replace 1:\n+fn a() {}\nreplace 3:\n+fn c( {}\n",
        "syntaxError",
        3,
    ),
    (
        "a.json",
        "{\n  \"a\": ,\n  \"b\": 2\n}\n",
        "replace 2:\n+  \"a\": 1,\n",
        "",
        0,
    ),
    (
        "a.json",
        "{\n  \"a\": ,\n  \"b\": 2\n}\n",
        "replace 3:\n+  \"b\": 3\n",
        "",
        0,
    ),
    ("a.txt", "fn b( {}\n", "replace 1:\n+fn b(( {}\n", "", 0),
];

#[test]
fn errors_are_told_where_they_are_new_in_a_trial_as_in_earnest() {
    for (name, text, hunks, code, line) in CASES {
        let tree = Tree::new().file(name, text);
        let daemon = Daemon::start(tree.path());
        let patch = patch(name, &read(&daemon, name), hunks);
        for dry_run in [true, false] {
            let params = json!({ "patch": patch, "dryRun": dry_run });
            let edited = daemon.call("agent/edit", params).expect("an edit");
            let expect: &[&str] = if code.is_empty() { &[] } else { &[code] };
            assert_eq!(codes(&edited), expect, "{text}{hunks}{edited}");
            if let Some(warning) = file_of(&edited)["warnings"].get(0) {
                let message = warning["message"].as_str().expect("a message");
                assert!(message.contains(&format!("at line {line}.")), "{message}");
                let shown = edited["content"][0]["text"].as_str().expect("a text");
                assert!(shown.contains(&format!("warning: {message}")), "{shown}");
            }
        }
    }
}

#[test]
fn what_no_longer_parses_is_told_after_any_number_of_edits() {
    for seed in 1..=at_most(4, 200) {
        check(&mut Chance(seed), 60, seed % 2 == 0);
    }
}
