//! A law of notebooks' edits, at random over the wire: Python, which reads the JSON by itself, finds nothing changed but the edited sources.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::chance::Chance;
use crate::notebook_edits::{DRESSES, edit, fixture, read, start};
use crate::tree::Tree;

/// Loads pairs of notebooks and compares them: all but the sources of the named cells must be equal.
const COMPARE: &str = r#"
import json, sys
for line in open(sys.argv[1], encoding='utf-8'):
    before, after, changed = json.loads(line)
    def load(path):
        book = json.loads(open(path, 'rb').read().decode('utf-8-sig'))
        cells = book['cells'] if 'cells' in book else [c for s in book['worksheets'] for c in s['cells']]
        return book, cells
    (one, ours), (other, theirs) = load(before), load(after)
    for index in changed:
        for cell in (ours[index], theirs[index]):
            cell['input' if 'input' in cell else 'source'] = None
    assert one == other, (before, after, changed)
    assert list(one) == list(other)
print('same')
"#;

fn python(script: &str, argument: &Path) -> String {
    let output = Command::new("python3")
        .arg("-c")
        .arg(script)
        .arg(argument)
        .output();
    let output = output.expect("python3 runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Random rows for random cells of every dress: Python finds all but their sources equal.
#[test]
fn random_edits_leave_everything_else_as_python_reads_it() {
    let tree = Tree::new();
    let daemon = start(&tree);
    let mut random = Chance(0x9E37_79B9_7F4A_7C15);
    let mut pairs = String::new();
    for case in 0..72 {
        let before = fixture(DRESSES[case % DRESSES.len()]);
        let (old, new) = (format!("{case}-old.ipynb"), format!("{case}.ipynb"));
        tree.write(&old, &before);
        tree.write(&new, &before);
        let (tag, lines) = read(&daemon, &new);
        let markers: Vec<usize> = (0..lines.len())
            .filter(|at| lines[*at].starts_with("# %% ["))
            .collect();
        let (mut ops, mut changed) = (String::new(), Vec::new());
        for (index, marker) in markers.iter().enumerate() {
            if random.below(3) > 0 {
                continue;
            }
            let end = markers.get(index + 1).copied().unwrap_or(lines.len());
            let texts = ["", "ü \\ \"q\"", "\t# %% [code] cell:1", "日本 😀", "plain"];
            let rows: String = (0..1 + random.below(3))
                .map(|_| format!("+{}\n", texts[random.below(texts.len())]))
                .collect();
            let (first, last) = (marker + 2, end);
            match random.below(3) {
                0 if first <= last => ops += &format!("replace {first}..{last}:\n{rows}"),
                1 if first <= last => ops += &format!("delete {first}..{last}\n"),
                _ => ops += &format!("insert after {}:\n{rows}", marker + 1),
            }
            changed.push(index);
        }
        if ops.is_empty() {
            continue;
        }
        edit(&daemon, &new, &tag, &ops).unwrap_or_else(|error| panic!("{case}: {ops}{error:?}"));
        let (old, new) = (tree.join(&old), tree.join(&new));
        pairs += &format!("{}\n", json!([old, new, changed]));
    }
    assert!(pairs.lines().count() > 50);
    tree.write("pairs", pairs);
    assert_eq!(python(COMPARE, &tree.join("pairs")), "same");
}
