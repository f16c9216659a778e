//! Whether an edited text still parses, told edit after edit; what is right says another parser.

use serde_json::Value;

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
    let daemon = Daemon::builder().root(tree.path()).start();
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
        let warnings = file_of(&edited)["warnings"].as_array().expect("a list");
        let told = warnings.iter().any(|it| it["code"] == "noLongerParses");
        assert_eq!(told, parsed && !now, "edit {number} of line {at}: {row}");
    }
    let written = std::fs::read_to_string(tree.path().join("a.json")).expect("a file");
    assert_eq!(written, lines.join("\n") + "\n");
}

#[test]
fn what_no_longer_parses_is_told_after_any_number_of_edits() {
    for seed in 1..=at_most(4, 200) {
        check(&mut Chance(seed), 60, seed % 2 == 0);
    }
}
