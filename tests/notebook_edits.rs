//! Edits of notebooks' texts, over the wire: on disk and in the editor; every byte of the JSON outside of what was edited is looked at.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client::{Daemon, WireError, file_uri};
use crate::editor::{Editor, capabilities};
use crate::tree::Tree;

pub fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/notebook");
    fs::read(path.join(name)).expect(name)
}

pub fn start(tree: &Tree) -> Daemon {
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    daemon
}

/// A notebook as it is read: its tag, and its lines.
pub fn read(daemon: &Daemon, path: &str) -> (String, Vec<String>) {
    let result = daemon.read(path).expect(path);
    assert_eq!(result["details"]["kind"], "notebook", "{path}");
    let tag = result["details"]["hashline"]["tag"].as_str();
    let text = result["content"][0]["text"].as_str().expect("text");
    let rows = text.lines().skip(1).map_while(|row| {
        let (number, line) = row.split_once(':')?;
        number.parse::<u64>().ok()?;
        Some(line.to_owned())
    });
    (tag.expect("a tag").to_owned(), rows.collect())
}

pub fn edit(daemon: &Daemon, path: &str, tag: &str, ops: &str) -> Result<Value, WireError> {
    daemon.call(
        "agent/edit",
        json!({ "patch": format!("¶{path}#{tag}\n{ops}") }),
    )
}

/// The number of the line that reads so.
fn line(lines: &[String], wanted: &str) -> usize {
    let at = lines.iter().position(|line| line == wanted);
    at.unwrap_or_else(|| panic!("no line {wanted:?} in {lines:#?}")) + 1
}

fn replaced(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
    let at = memchr::memmem::find(bytes, old.as_bytes()).expect(old);
    assert!(memchr::memmem::find(&bytes[at + 1..], old.as_bytes()).is_none());
    [&bytes[..at], new.as_bytes(), &bytes[at + old.len()..]].concat()
}

fn file(result: &Value) -> &Value {
    &result["details"]["files"][0]
}

/// Notebooks of the same cells, as several programs write them.
pub const DRESSES: [&str; 18] = [
    "survey.ipynb",
    "indent-2.ipynb",
    "indent-4.ipynb",
    "indent-tab.ipynb",
    "no-indent.ipynb",
    "compact.ipynb",
    "string-source.ipynb",
    "v4-0.ipynb",
    "v4-4.ipynb",
    "escaped.ipynb",
    "crlf.ipynb",
    "crlf-source.ipynb",
    "bom.ipynb",
    "no-final-newline.ipynb",
    "blank-lines.ipynb",
    "sorted-keys.ipynb",
    "odd-order.ipynb",
    "v3.ipynb",
];

#[test]
fn an_edit_changes_only_the_bytes_of_that_source() {
    for name in DRESSES {
        let before = fixture(name);
        let tree = Tree::new().file("n.ipynb", &before);
        let daemon = start(&tree);
        let (tag, lines) = read(&daemon, "n.ipynb");
        let at = line(&lines, "    print('row', n)");
        let ops = format!("replace {at}:\n+    print('ROW \"é\"', n)\n");
        let result = edit(&daemon, "n.ipynb", &tag, &ops).expect(name);
        let new = match before.is_ascii() {
            true => "    print('ROW \\\"\\u00e9\\\"', n)",
            false => "    print('ROW \\\"é\\\"', n)",
        };
        let expected = replaced(&before, "    print('row', n)", new);
        let after = fs::read(tree.join("n.ipynb")).expect("the file");
        assert_eq!(
            String::from_utf8_lossy(&after),
            String::from_utf8_lossy(&expected),
            "{name}"
        );
        assert_eq!(after, expected, "{name}");
        // The answer speaks of the notebook's text, and names what is there now.
        assert_eq!(file(&result)["via"], "disk");
        assert_eq!(
            file(&result)["changed"],
            json!([{ "start": at, "end": at }])
        );
        let diff = file(&result)["diff"].as_str().expect("a diff");
        assert!(diff.contains("\n+    print('ROW \"é\"', n)\n"), "{diff}");
        let (now, again) = read(&daemon, "n.ipynb");
        assert_eq!(file(&result)["tag"], now, "{name}");
        assert_eq!(again[at - 1], "    print('ROW \"é\"', n)");
        assert_eq!(again.len(), lines.len());
        // The next edit goes by the answer alone.
        let back = format!("replace {at}:\n+    print('row', n)\n");
        edit(&daemon, "n.ipynb", &now, &back).expect("an edit back");
        assert_eq!(
            fs::read(tree.join("n.ipynb")).expect("the file"),
            before,
            "{name}"
        );
    }
}

/// The cells of a file, as its JSON has them.
fn cells(path: PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the file");
    let book: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).expect("JSON");
    let cells = match book.get("cells") {
        Some(cells) => cells,
        None => &book["worksheets"][0]["cells"],
    };
    cells.as_array().expect("cells").clone()
}

#[test]
fn a_marker_that_comes_is_a_new_cell_in_the_files_own_spacing() {
    let tree = Tree::new().file("n.ipynb", fixture("survey.ipynb"));
    let daemon = start(&tree);
    let (tag, lines) = read(&daemon, "n.ipynb");
    let at = line(&lines, "# %% [code] cell:1");
    // The number of a new marker need not be right, and need not be there.
    let ops = format!(
        "insert before {at}:\n+# %% [code]\n+import os\n+os.sep\n+# %% [markdown] cell:77\n+Text\n"
    );
    let result = edit(&daemon, "n.ipynb", &tag, &ops).expect("an edit");
    let before = String::from_utf8(fixture("survey.ipynb")).expect("UTF-8");
    let after = fs::read_to_string(tree.join("n.ipynb")).expect("the file");
    let ids: Vec<String> = cells(tree.join("n.ipynb"))[1..3]
        .iter()
        .map(|cell| cell["id"].as_str().expect("an id").to_owned())
        .collect();
    assert!(ids[0] != ids[1] && ids.iter().all(|id| id.len() == 8));
    let new = format!(
        r#",
  {{
   "cell_type": "code",
   "execution_count": null,
   "id": "{}",
   "metadata": {{}},
   "outputs": [],
   "source": [
    "import os\n",
    "os.sep"
   ]
  }},
  {{
   "cell_type": "markdown",
   "id": "{}",
   "metadata": {{}},
   "source": [
    "Text"
   ]
  }}"#,
        ids[0], ids[1]
    );
    let place = before.find("Heights are in").expect("the first cell");
    let place = place + before[place..].find("\n  }").expect("its end") + 4;
    let expected = format!("{}{new}{}", &before[..place], &before[place..]);
    assert_eq!(after, expected);
    // All markers are numbered anew; only what was written is told as changed.
    let (now, lines) = read(&daemon, "n.ipynb");
    assert_eq!(file(&result)["tag"], now);
    assert_eq!(
        file(&result)["changed"],
        json!([{ "start": at, "end": at + 4 }])
    );
    assert_eq!(lines[at - 1], "# %% [code] cell:1");
    assert_eq!(lines[at + 2], "# %% [markdown] cell:2");
    assert_eq!(lines[at + 4], "# %% [code] cell:3");
    // Lines that only moved, markers with other numbers among them, may be edited at once.
    let at = line(&lines, "# %% [raw] cell:8");
    let ops = format!("replace {at}:\n+# %% [markdown] cell:8\n");
    let result = edit(
        &daemon,
        "n.ipynb",
        file(&result)["tag"].as_str().expect("a tag"),
        &ops,
    );
    result.expect("an edit");
    assert_eq!(cells(tree.join("n.ipynb"))[8]["cell_type"], "markdown");
}

#[test]
fn a_marker_that_goes_takes_its_cell_along() {
    for name in [
        "survey.ipynb",
        "compact.ipynb",
        "crlf.ipynb",
        "v3.ipynb",
        "blank-lines.ipynb",
    ] {
        let tree = Tree::new().file("n.ipynb", fixture(name));
        let daemon = start(&tree);
        let (mut tag, lines) = read(&daemon, "n.ipynb");
        let mut left = cells(tree.join("n.ipynb"));
        // One in the middle, with its source; then the first; then the last one.
        for marker in ["# %% [code] cell:2", "# %% [markdown] cell:0"] {
            let lines = read(&daemon, "n.ipynb").1;
            let at = line(&lines, marker);
            let next = lines[at..]
                .iter()
                .position(|line| line.starts_with("# %% ["));
            let end = at + next.expect("another cell");
            let result = edit(&daemon, "n.ipynb", &tag, &format!("delete {at}..{end}\n"));
            let result = result.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            tag = file(&result)["tag"].as_str().expect("a tag").to_owned();
            left.remove(if marker.contains("cell:2") { 2 } else { 0 });
            assert_eq!(cells(tree.join("n.ipynb")), left, "{name}");
        }
        // A marker alone: what was its source is that of the cell before.
        let lines_now = read(&daemon, "n.ipynb").1;
        let at = line(&lines_now, "heights");
        edit(&daemon, "n.ipynb", &tag, &format!("delete {}\n", at - 1)).expect("an edit");
        let source = cells(tree.join("n.ipynb"))[0].clone();
        let source = source.get("input").unwrap_or(&source["source"]).to_string();
        assert!(
            source.contains("heights = [21, 34, 55]") && source.ends_with("\"heights\"]"),
            "{source}"
        );
        // And all of it.
        let (tag, now) = read(&daemon, "n.ipynb");
        assert!(now.len() < lines.len());
        edit(
            &daemon,
            "n.ipynb",
            &tag,
            &format!("delete 1..{}\n", now.len()),
        )
        .expect("an edit");
        assert_eq!(cells(tree.join("n.ipynb")), Vec::<Value>::new());
        let result = daemon.read("n.ipynb").expect("a read");
        let text = result["content"][0]["text"].as_str().expect("text");
        assert!(text.ends_with("\n(empty file)"), "{text}");
        let tag = result["details"]["hashline"]["tag"]
            .as_str()
            .expect("a tag");
        edit(
            &daemon,
            "n.ipynb",
            tag,
            "insert head:\n+# %% [code]\n+x = 1\n",
        )
        .expect("an edit");
        let made = &cells(tree.join("n.ipynb"))[0];
        assert_eq!(made["cell_type"], "code", "{name}");
    }
}

#[test]
fn a_marker_of_another_kind_keeps_what_is_no_part_of_a_kind() {
    let tree = Tree::new()
        .file("n.ipynb", fixture("survey.ipynb"))
        .file("old.ipynb", fixture("v3.ipynb"));
    let daemon = start(&tree);
    let (tag, lines) = read(&daemon, "n.ipynb");
    let at = line(&lines, "# %% [code] cell:2");
    let ops = format!("replace {at}:\n+# %% [markdown]\n");
    let result = edit(&daemon, "n.ipynb", &tag, &ops).expect("an edit");
    let cell = &cells(tree.join("n.ipynb"))[2];
    assert_eq!(
        *cell,
        json!({ "cell_type": "markdown", "id": "cell-2", "metadata": {}, "source": ["for n in range(3):\n", "    print('row', n)"] })
    );
    let tag = file(&result)["tag"].as_str().expect("a tag");
    edit(
        &daemon,
        "n.ipynb",
        tag,
        &format!("replace {at}:\n+# %% [code] cell:2\n"),
    )
    .expect("back");
    let cell = &cells(tree.join("n.ipynb"))[2];
    assert_eq!(
        (&cell["outputs"], &cell["execution_count"]),
        (&json!([]), &Value::Null)
    );
    let (tag, lines) = read(&daemon, "old.ipynb");
    let at = line(&lines, "# %% [markdown] cell:0");
    edit(
        &daemon,
        "old.ipynb",
        &tag,
        &format!("replace {at}:\n+# %% [code]\n"),
    )
    .expect("an edit");
    let cell = &cells(tree.join("old.ipynb"))[0];
    assert_eq!(
        (&cell["language"], &cell["input"][0]),
        (&json!("python"), &json!("# Tide survey\n"))
    );
    assert!(cell.get("source").is_none());
}

#[test]
fn what_is_no_notebook_is_not_written() {
    let tree = Tree::new()
        .file("n.ipynb", fixture("survey.ipynb"))
        .file("half.ipynb", fixture("damaged/lone-surrogate.ipynb"));
    let daemon = start(&tree);
    let (tag, _) = read(&daemon, "n.ipynb");
    for (ops, message) in [
        (
            "insert head:\n+stray\n",
            "Line 1 of the new text stands before the first cell; a notebook begins with a marker such as '# %% [code] cell:0'. Nothing was written.",
        ),
        (
            "insert tail:\n+# %% [sql] cell:10\n+select 1\n",
            "A new cell is '# %% [code]', '# %% [markdown]' or '# %% [raw]', not [sql] (line ",
        ),
    ] {
        let error = edit(&daemon, "n.ipynb", &tag, ops).expect_err("a refusal");
        assert_eq!((error.kind(), error.code), ("patchSyntax", -32602));
        assert!(error.message.starts_with(message), "{}", error.message);
    }
    assert_eq!(
        fs::read(tree.join("n.ipynb")).expect("the file"),
        fixture("survey.ipynb")
    );
    let (tag, lines) = read(&daemon, "half.ipynb");
    let at = lines
        .iter()
        .position(|line| line.contains('\u{fffd}'))
        .expect("it is shown")
        + 1;
    let error = edit(&daemon, "half.ipynb", &tag, &format!("replace {at}:\n+x\n"));
    let error = error.expect_err("a refusal");
    assert_eq!(error.kind(), "encoding");
    assert!(
        error.message.contains("lone surrogate"),
        "{}",
        error.message
    );
}

#[test]
fn both_forms_of_a_file_have_tags_of_their_own() {
    let tree = Tree::new().file("n.ipynb", fixture("survey.ipynb"));
    let daemon = start(&tree);
    let (tag, lines) = read(&daemon, "n.ipynb");
    let raw = daemon.read("n.ipynb:raw").expect("a read");
    assert_eq!(raw["details"]["kind"], "file");
    let text = raw["content"][0]["text"].as_str().expect("text").to_owned();
    assert_eq!(text.as_bytes(), fixture("survey.ipynb"));
    let raw_tag = raw["details"]["hashline"]["tag"].as_str().expect("a tag");
    // By the JSON's tag its lines are meant, and the cells are others then.
    let json_line = text
        .lines()
        .position(|line| line.contains("import math"))
        .expect("a line")
        + 1;
    let ops = format!("replace {json_line}:\n+    \"import cmath\\n\",\n");
    edit(&daemon, "n.ipynb", raw_tag, &ops).expect("an edit of the JSON");
    let at = line(&lines, "import math");
    let error = edit(
        &daemon,
        "n.ipynb",
        &tag,
        &format!("replace {at}:\n+import re\n"),
    );
    let error = error.expect_err("the line is another");
    assert_eq!(error.kind(), "stale");
    assert!(
        error.data.to_string().contains("import cmath"),
        "{}",
        error.data
    );
    // Another line of the same old text is still the same.
    let at = line(&lines, "plot()");
    edit(
        &daemon,
        "n.ipynb",
        &tag,
        &format!("replace {at}:\n+plot(1)\n"),
    )
    .expect("it was carried");
    let error = edit(
        &daemon,
        "n.ipynb",
        raw_tag,
        &format!("replace {json_line}:\n+    \"x\\n\",\n"),
    );
    assert_eq!(error.expect_err("the line is another").kind(), "stale");
    let after = fs::read_to_string(tree.join("n.ipynb")).expect("the file");
    assert!(after.contains("import cmath") && after.contains("plot(1)"));
    // A whole file is its own text: the tag of the cells is none of it.
    let write = json!({ "path": "n.ipynb", "text": "{}\n", "expect": read(&daemon, "n.ipynb").0 });
    let error = daemon.call("agent/write", write).expect_err("a refusal");
    assert!(
        ["unknownTag", "stale", "notShown"].contains(&error.kind()),
        "{error:?}"
    );
}

#[test]
fn texts_are_found_in_the_cells_and_a_trial_writes_nothing() {
    let tree = Tree::new().file("n.ipynb", fixture("survey.ipynb"));
    let daemon = start(&tree);
    let ops = json!([{ "op": "replace_text", "old": "print('row', n)", "new": "print(\"n\",\n          n)" }]);
    let files = json!([{ "path": "n.ipynb", "edits": ops }]);
    let trial = daemon.call("agent/edit", json!({ "files": files, "dryRun": true }));
    let trial = trial.expect("a trial");
    assert!(
        file(&trial)["diff"]
            .as_str()
            .expect("a diff")
            .contains("+    print(\"n\",\n")
    );
    assert_eq!(
        fs::read(tree.join("n.ipynb")).expect("the file"),
        fixture("survey.ipynb")
    );
    let done = daemon
        .call("agent/edit", json!({ "files": files }))
        .expect("an edit");
    assert_eq!(file(&done)["tag"], read(&daemon, "n.ipynb").0);
    let expected = replaced(
        &fixture("survey.ipynb"),
        "\"    print('row', n)\"",
        "\"    print(\\\"n\\\",\\n\",\n    \"          n)\"",
    );
    assert_eq!(fs::read(tree.join("n.ipynb")).expect("the file"), expected);
    // Rows that were not shown are not edited blindly.
    let session = json!({ "path": "n.ipynb", "selector": "1-2", "session": "other" });
    let read = daemon.read_with(session).expect("a read");
    let tag = read["details"]["hashline"]["tag"].as_str().expect("a tag");
    let patch = format!("¶n.ipynb#{tag}\nreplace 12:\n+x\n");
    let error = daemon.call("agent/edit", json!({ "patch": patch, "session": "other" }));
    assert_eq!(error.expect_err("a refusal").kind(), "notShown");
}

#[test]
fn an_open_notebook_is_changed_by_its_editor_in_as_few_places() {
    let tree = Tree::new().file("n.ipynb", fixture("indent-2.ipynb"));
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(capabilities())
        .start();
    daemon.ignore_changes();
    let json = String::from_utf8(fixture("indent-2.ipynb")).expect("UTF-8");
    let unsaved = json.replace("plot()", "plot('unsaved')");
    let editor = Editor::open(&daemon, &file_uri(&tree.join("n.ipynb")), &unsaved);
    let (tag, lines) = read(&daemon, "n.ipynb");
    assert!(lines.contains(&"plot('unsaved')".to_owned()));
    let at = line(&lines, "    print('row', n)");
    let patch = format!("¶n.ipynb#{tag}\nreplace {at}:\n+    print('ROW', n)\n");
    let id = daemon.request("agent/edit", json!({ "patch": patch }));
    editor.obeys();
    let result = daemon.wait(&id).expect("an edit");
    assert_eq!(
        editor.text(),
        unsaved.replace("print('row', n)", "print('ROW', n)")
    );
    assert_eq!(
        fs::read_to_string(tree.join("n.ipynb")).expect("the file"),
        json
    );
    assert_eq!(
        (&file(&result)["via"], &file(&result)["persisted"]),
        (&json!("editor"), &json!(false))
    );
    let (now, lines) = read(&daemon, "n.ipynb");
    assert_eq!(file(&result)["tag"], now);
    assert_eq!(lines[at - 1], "    print('ROW', n)");
}

#[test]
fn who_was_shown_a_cell_hears_that_it_is_another() {
    let tree = Tree::new().file("n.ipynb", fixture("survey.ipynb"));
    let daemon = Daemon::start(tree.path());
    let shown = json!({ "path": "n.ipynb", "session": "watcher" });
    let shown = daemon.read_with(shown).expect("a read");
    let tag = &shown["details"]["hashline"]["tag"];
    let mine = json!({ "path": "n.ipynb", "session": "mine" });
    let mine = daemon.read_with(mine).expect("a read");
    assert_eq!(&mine["details"]["hashline"]["tag"], tag);
    let patch = format!(
        "¶n.ipynb#{}\nreplace 6:\n+import re\n",
        tag.as_str().expect("a tag")
    );
    let result = daemon.call("agent/edit", json!({ "patch": patch, "session": "mine" }));
    let result = result.expect("an edit");
    let notice = daemon.expect_notification("agent/didChangeSnapshot");
    assert_eq!(
        notice,
        json!({ "session": "watcher", "path": "n.ipynb", "tag": tag, "newTag": file(&result)["tag"],
                "changed": [{ "start": 6, "end": 6 }], "actor": "agent:mine" })
    );
}

/// 16 MB of outputs, which the edit of a source must leave as they are.
#[test]
fn a_large_notebook_is_edited_in_place() {
    let tree = Tree::new();
    let json = crate::notebooks::large(16 << 20);
    tree.write("n.ipynb", &json);
    let daemon = start(&tree);
    let (tag, lines) = read(&daemon, "n.ipynb");
    let at = line(&lines, "value = 7");
    edit(
        &daemon,
        "n.ipynb",
        &tag,
        &format!("replace {at}:\n+value = 'seven'\n"),
    )
    .expect("an edit");
    let expected = replaced(json.as_bytes(), "\"value = 7\"", "\"value = 'seven'\"");
    assert!(fs::read(tree.join("n.ipynb")).expect("the file") == expected);
}
