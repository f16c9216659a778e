//! Whole cells of notebooks, over the wire: moved, deleted and replaced by their markers, and put back with all that they had.

use std::fs;

use serde_json::{Value, json};

use crate::notebook_edits::{DRESSES, edit, fixture, read, start};
use crate::tree::Tree;

/// All that a notebook's JSON says, but for its cells; and these.
fn parts(bytes: &[u8]) -> (Value, Vec<Value>) {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    let mut book: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).expect("JSON");
    let cells = match book.get_mut("cells") {
        Some(cells) => cells.take(),
        None => book["worksheets"][0]["cells"].take(),
    };
    (book, cells.as_array().expect("cells").clone())
}

/// The lines of the markers, and one past the last line.
fn markers(lines: &[String]) -> Vec<usize> {
    let numbers = (1..).zip(lines);
    let markers = numbers.filter(|(_, line)| line.starts_with("# %%"));
    let markers = markers.map(|(number, _)| number);
    markers.chain([lines.len() + 1]).collect()
}

fn tag(edited: &Value) -> String {
    let tag = edited["details"]["files"][0]["tag"].as_str();
    tag.expect("a tag").to_owned()
}

#[test]
fn a_moved_cell_has_all_that_it_had_and_undo_gives_back_every_byte() {
    for name in DRESSES {
        let before = fixture(name);
        let tree = Tree::new().file("n.ipynb", &before);
        let daemon = start(&tree);
        let (book, cells) = parts(&before);
        // Cells from..to behind so many of the others.
        for (from, to, after) in [(2, 4, 6), (5, 6, 0), (0, 1, 3), (7, 9, 2)] {
            let (now, lines) = read(&daemon, "n.ipynb");
            let at = markers(&lines);
            let place = match after < at.len() - 1 {
                true => format!("before {}", at[after]),
                false => format!("after {}", at[after] - 1),
            };
            let op = format!("move {}..{} {place}\n", at[from], at[to] - 1);
            let edited = edit(&daemon, "n.ipynb", &now, &op);
            let edited = edited.unwrap_or_else(|error| panic!("{name}: {op} {error:?}"));
            let mut expected = cells.clone();
            let moved: Vec<Value> = expected.splice(from..to, []).collect();
            let place = if after > from {
                after - moved.len()
            } else {
                after
            };
            expected.splice(place..place, moved);
            let written = fs::read(tree.join("n.ipynb")).expect("the file");
            assert_eq!(parts(&written), (book.clone(), expected), "{name}: {op}");
            let (now, _) = read(&daemon, "n.ipynb");
            assert_eq!(now, tag(&edited), "{name}");
            let undone = edit(&daemon, "n.ipynb", &now, "undo\n");
            undone.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            let written = fs::read(tree.join("n.ipynb")).expect("the file");
            assert!(written == before, "{name}: {op}");
        }
    }
}

#[test]
fn only_whole_cells_move() {
    let tree = Tree::new().file("n.ipynb", fixture("survey.ipynb"));
    let daemon = start(&tree);
    let (now, lines) = read(&daemon, "n.ipynb");
    let at = markers(&lines);
    for op in [
        format!("move {} after {}", at[1], lines.len()),
        format!("move {}..{} after {}", at[1] + 1, at[2] - 1, lines.len()),
        format!("move {}..{} after {}", at[1], at[2] - 1, at[4]),
    ] {
        let error = edit(&daemon, "n.ipynb", &now, &op).expect_err(&op);
        assert_eq!(error.kind(), "patchSyntax", "{op}");
        assert!(error.message.contains("whole cells"), "{}", error.message);
    }
    let written = fs::read(tree.join("n.ipynb")).expect("the file");
    assert!(written == fixture("survey.ipynb"));
}

#[test]
fn a_block_is_a_cell() {
    let before = fixture("survey.ipynb");
    let tree = Tree::new().file("n.ipynb", &before);
    let daemon = start(&tree);
    let (_, cells) = parts(&before);
    let cells_now = || parts(&fs::read(tree.join("n.ipynb")).expect("the file")).1;
    let (now, lines) = read(&daemon, "n.ipynb");
    let at = markers(&lines);
    let op = format!("delete block {}\n", at[2]);
    let edited = edit(&daemon, "n.ipynb", &now, &op).expect("deleted");
    let text = edited["content"][0]["text"].as_str().expect("a text");
    let note = format!(
        "[Removed {}-{}: 3 lines, from \"# %% [code] cell:2\"]",
        at[2],
        at[3] - 1
    );
    assert!(text.contains(&note), "{text}");
    let mut expected = cells.clone();
    expected.remove(2);
    assert_eq!(cells_now(), expected);
    // It comes back with its outputs.
    edit(&daemon, "n.ipynb", &tag(&edited), "undo\n").expect("undone");
    assert!(fs::read(tree.join("n.ipynb")).expect("the file") == before);
    // A cell in the place of one has its marker; `# %%` alone is a code cell.
    let (now, _) = read(&daemon, "n.ipynb");
    let op = format!("replace block {}:\n+# %%\n+1 + 1\n", at[6]);
    edit(&daemon, "n.ipynb", &now, &op).expect("replaced");
    let cell = &cells_now()[6];
    assert_eq!(cell["cell_type"], "code");
    assert_eq!(cell["source"], json!(["1 + 1"]));
    let (now, lines) = read(&daemon, "n.ipynb");
    assert_eq!(lines[at[6] - 1], "# %% [code] cell:6");
    let op = format!("replace block {}:\n+1 + 2\n", at[6]);
    let error = edit(&daemon, "n.ipynb", &now, &op).expect_err("no marker");
    assert!(
        error.message.contains("no marker of a cell"),
        "{}",
        error.message
    );
    let op = format!("delete block {}\n", at[6] + 1);
    let error = edit(&daemon, "n.ipynb", &now, &op).expect_err("no marker's line");
    let enclosing = format!("The block around it is {}..{}.", at[6], at[6] + 1);
    assert!(error.message.contains(&enclosing), "{}", error.message);
    let op = format!("insert after block {}:\n+# %%\n+2\n", at[6]);
    edit(&daemon, "n.ipynb", &now, &op).expect("put in");
    assert_eq!(cells_now()[7]["source"], json!(["2"]));
    assert_eq!(cells_now().len(), cells.len() + 1);
}

#[test]
fn a_cell_that_went_comes_back_only_where_the_notebook_is_as_it_was_left() {
    let before = fixture("survey.ipynb");
    let tree = Tree::new().file("n.ipynb", &before);
    let daemon = start(&tree);
    let (now, lines) = read(&daemon, "n.ipynb");
    let at = markers(&lines);
    let op = format!("delete block {}\n", at[2]);
    let gone = tag(&edit(&daemon, "n.ipynb", &now, &op).expect("deleted"));
    edit(&daemon, "n.ipynb", &now, "replace 2:\n+# Survey\n").expect("edited");
    let written = fs::read(tree.join("n.ipynb")).expect("the file");
    let error = edit(&daemon, "n.ipynb", &gone, "undo\n").expect_err("it has changed");
    assert_eq!(error.kind(), "unsupported");
    assert!(fs::read(tree.join("n.ipynb")).expect("the file") == written);
    // Rows of a cell that stayed come back.
    let (now, lines) = read(&daemon, "n.ipynb");
    let last = lines.len();
    let op = format!("insert after {last}:\n+new = 1\n");
    let made = tag(&edit(&daemon, "n.ipynb", &now, &op).expect("edited"));
    edit(&daemon, "n.ipynb", &made, "replace 2:\n+# Tides\n").expect("edited");
    edit(&daemon, "n.ipynb", &made, "undo\n").expect("undone");
    let (_, lines) = read(&daemon, "n.ipynb");
    assert_eq!((lines.len(), lines[1].as_str()), (last, "# Tides"));
}
