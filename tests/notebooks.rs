//! Notebooks as they are read, over the wire, of files made by other programs; what edits make of them is not looked at.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::client::{Daemon, HANG};
use crate::tree::Tree;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/notebook")
}

fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text block")
}

/// The text under the header, whose tag is that of the details.
fn body<'a>(result: &'a Value, name: &str) -> &'a str {
    assert_eq!(result["details"]["kind"], "notebook", "{name}");
    let tag = result["details"]["hashline"]["tag"]
        .as_str()
        .expect("a tag");
    let header = format!("¶{name}#{tag}\n");
    text_of(result)
        .strip_prefix(&header)
        .unwrap_or_else(|| panic!("{}", text_of(result)))
}

const SURVEY: &str = "\
1:# %% [markdown] cell:0
2:# Tide survey
3:
4:Heights are in *cm*.
5:# %% [code] cell:1
6:import math
7:
8:heights = [21, 34, 55]
9:# %% [code] cell:2
10:for n in range(3):
11:    print('row', n)
12:# %% [code] cell:3
13:heights
14:# %% [code] cell:4
15:plot()
16:# %% [code] cell:5
17:1 / 0
18:# %% [raw] cell:6
19:raw: kept as it is
20:# %% [markdown] cell:7
21:![dot](attachment:dot.png)
22:
23:Grüße, 日本, 😀
24:# %% [code] cell:8";

#[test]
fn the_same_cells_read_the_same_whoever_wrote_them() {
    let daemon = Daemon::start(&fixtures());
    let mut tags = Vec::new();
    for name in [
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
        "bom.ipynb",
        "no-final-newline.ipynb",
        "blank-lines.ipynb",
        "sorted-keys.ipynb",
        "odd-order.ipynb",
        "v3.ipynb",
        "crlf-source.ipynb",
    ] {
        let result = daemon.read(name).expect(name);
        let text = body(&result, name).replace('\r', "");
        assert_eq!(text, SURVEY, "{name}");
        assert_eq!(result["details"]["totalLines"], 24);
        tags.push(result["details"]["hashline"]["tag"].clone());
    }
    tags.dedup();
    assert!(
        tags.len() <= 2,
        "one text has one tag, whatever its JSON: {tags:?}"
    );
}

#[test]
fn old_notebooks_have_cells_of_old_kinds() {
    let daemon = Daemon::start(&fixtures());
    let result = daemon.read("v3-hand.ipynb").expect("a read");
    let text = body(&result, "v3-hand.ipynb");
    assert!(text.contains("# %% [heading] cell:0\n"), "{text}");
    assert!(text.contains("# %% [html] cell:"), "{text}");
    let result = daemon.read("v2.ipynb").expect("a read");
    assert_eq!(result["details"]["hashline"], Value::Null);
    let notice = "The notebook has nbformat 2, which is neither 3 nor 4: its cells are shown as they were found and cannot be edited; :raw can";
    assert_eq!(result["details"]["notices"], json!([notice]));
    assert!(
        text_of(&result).ends_with(&format!("\n\n[{notice}]")),
        "{}",
        text_of(&result)
    );
}

#[test]
fn a_line_that_looks_like_a_marker_is_none() {
    let daemon = Daemon::start(&fixtures());
    let result = daemon.read("markers.ipynb").expect("a read");
    let expected = "\
1:# %% [code] cell:0
2:\\# %% [code] cell:1
3:x = 1
4:\\\\# %% [code] cell:1
5:\\# %%
6:  # %% [markdown] cell:0
7:# %% [raw] cell:99 extra
8:\\\\\\# %% [code] cell:2
9:
10:# %% [markdown] cell:1
11:\\# %% [code] cell:1
12:x = 1
13:\\\\# %% [code] cell:1
14:\\# %%
15:  # %% [markdown] cell:0
16:# %% [raw] cell:99 extra
17:\\\\\\# %% [code] cell:2
18:# %% [code] cell:2
19:\\# %% [code] cell:1";
    assert_eq!(body(&result, "markers.ipynb"), expected);
}

#[test]
fn outputs_are_shown_when_they_are_asked_for() {
    let daemon = Daemon::start(&fixtures());
    let result = daemon.read("survey.ipynb:outputs").expect("a read");
    let text = text_of(&result);
    let expected = "\
9:# %% [code] cell:2
10:for n in range(3):
11:    print('row', n)
12:# %% [stdout] cell:2
13:row 0
14:row 1
15:row 2
16:# %% [stderr] cell:2
17:late: 1
18:# %% [code] cell:3
19:heights
20:# %% [result] cell:3
21:[21, 34, 55]
22:# %% [code] cell:4
23:plot()
24:# %% [display] cell:4
25:[image/png, about ";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains("\n26:<Figure size 200x100 with 1 Axes>\n"),
        "{text}"
    );
    assert!(text.contains(":# %% [error] cell:5\n"), "{text}");
    assert!(
        text.contains(":ZeroDivisionError: division by zero\n"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}') && !text.starts_with('¶'), "{text}");
    assert_eq!(result["details"]["hashline"], Value::Null);
    // The picture stands beside the rows that name it.
    let blocks = |path: &str| daemon.read(path).expect(path)["content"].clone();
    let images = blocks("survey.ipynb:outputs");
    assert_eq!(images[1]["mimeType"], "image/png");
    assert_eq!(images.as_array().map(Vec::len), Some(2));
    let with = blocks("survey.ipynb:outputs:20-25");
    assert_eq!(with.as_array().map(Vec::len), Some(2));
    assert_eq!(
        blocks("survey.ipynb:outputs:1-9").as_array().map(Vec::len),
        Some(1)
    );
    let settings = json!({ "settings": { "pilcrow": { "images": { "inline": false } } } });
    daemon.notify("workspace/didChangeConfiguration", settings);
    assert_eq!(
        blocks("survey.ipynb:outputs").as_array().map(Vec::len),
        Some(1)
    );
    let text = daemon.read("outputs.ipynb:outputs:1-4000").expect("a read");
    assert!(
        !text_of(&text).contains('\r'),
        "progress is left at its last state"
    );
}

#[test]
fn selectors_are_those_of_text_but_for_its_own() {
    let daemon = Daemon::start(&fixtures());
    let result = daemon.read("survey.ipynb:6-8").expect("a read");
    let expected = "5:# %% [code] cell:1\n6:import math\n7:\n8:heights = [21, 34, 55]\n9:# %% [code] cell:2\n10:for n in range(3):\n11:    print('row', n)\n\n[Showing lines 5-11 of 24. Use :12- to continue]";
    assert_eq!(body(&result, "survey.ipynb"), expected);
    let raw = daemon.read("survey.ipynb:raw").expect("a read");
    assert_eq!(raw["details"]["kind"], "file");
    let bytes = fs::read(fixtures().join("survey.ipynb")).expect("a fixture");
    assert_eq!(text_of(&raw).as_bytes(), bytes);
    let raw = daemon.read("survey.ipynb:3-4:raw").expect("a read");
    assert_eq!(text_of(&raw), "  {\n   \"cell_type\": \"markdown\",\n");
    for (path, message) in [
        (
            "survey.ipynb:p2",
            ":p selects pages of documents, and this is a notebook. Leave it out.",
        ),
        (
            "survey.ipynb:crop=1,1,1,1",
            ":crop is for images, and this is a notebook. Leave it out.",
        ),
    ] {
        let error = daemon.read(path).expect_err(path);
        assert_eq!(
            (error.kind(), error.message.as_str()),
            ("badSelector", message)
        );
    }
    let result = daemon
        .read("damaged/conflict.ipynb:conflicts")
        .expect("a read");
    assert!(text_of(&result).contains("#1  L"), "{}", text_of(&result));
}

#[test]
fn damage_is_told_with_its_place_and_other_files_are_text() {
    let daemon = Daemon::start(&fixtures());
    let raw = "Read it with :raw to see and to mend its text.";
    for (name, what) in [
        (
            "cells-object",
            "line 2, character 11 (the cells are expected here as an array)",
        ),
        ("cell-number", "(a cell is expected here as an object)"),
        (
            "source-number",
            "(a source is expected here as a string or an array of strings)",
        ),
        (
            "source-mixed",
            "(a line of a source is expected here as a string)",
        ),
        ("truncated", "("),
        ("trailing-comma", "("),
        ("conflict", "("),
        ("two", "(there is more text after the end)"),
        (
            "control",
            "(a string holds a control character that is not escaped)",
        ),
    ] {
        let path = format!("damaged/{name}.ipynb");
        let error = daemon.read(&path).expect_err(name);
        assert_eq!(error.kind(), "damaged", "{name}");
        let message = &error.message;
        assert!(
            message.starts_with(&format!(
                "'{path}' is damaged: the notebook's JSON cannot be read at line "
            )),
            "{message}"
        );
        assert!(
            message.contains(what) && message.ends_with(raw),
            "{name}: {message}"
        );
        daemon.read(format!("{path}:raw")).expect("its text");
    }
    for name in [
        "array",
        "null",
        "string",
        "no-cells",
        "text",
        "html",
        "zero",
        "blank",
        "nested",
        "v3-no-worksheets",
        "comment",
    ] {
        let path = format!("damaged/{name}.ipynb");
        let result = daemon
            .read(&path)
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(result["details"]["kind"], "file", "{name}");
    }
    // What can be had of a notebook is had.
    for name in [
        "no-type",
        "no-source",
        "nan",
        "twin-keys",
        "lone-surrogate",
        "outputs-object",
        "output-number",
        "bad-base64",
        "nbformat-5",
        "no-nbformat",
        "nbformat-string",
        "latin1",
        "utf16",
    ] {
        for tail in ["", ":outputs"] {
            let path = format!("damaged/{name}.ipynb{tail}");
            let result = daemon
                .read(&path)
                .unwrap_or_else(|error| panic!("{path}: {error:?}"));
            assert_eq!(result["details"]["kind"], "notebook", "{path}");
        }
    }
}

#[test]
fn a_notebook_that_was_read_is_warm_until_it_changes() {
    let tree = Tree::new();
    fs::copy(fixtures().join("survey.ipynb"), tree.join("n.ipynb")).expect("copied");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let begun = Instant::now();
    // What has just changed is not kept.
    while daemon.read("n.ipynb").expect("a read")["details"]["cache"] != "hit" {
        assert!(begun.elapsed() < HANG, "it is never warm");
    }
    let result = daemon.read("n.ipynb").expect("a read");
    assert_eq!(body(&result, "n.ipynb"), SURVEY);
    tree.write(
        "n.ipynb",
        fs::read(fixtures().join("one-cell.ipynb")).expect("a fixture"),
    );
    let result = daemon.read("n.ipynb").expect("a read");
    assert_eq!(result["details"]["cache"], "miss");
    assert!(body(&result, "n.ipynb").starts_with("1:# %% [code] cell:0\n"));
}

/// A notebook of about so many bytes, nearly all of them outputs: pictures and streams.
pub fn large(bytes: usize) -> String {
    let picture = "QUJD".repeat(170 * 1024 / 4);
    let mut json = String::with_capacity(bytes + picture.len());
    json += "{\n \"cells\": [\n";
    let mut count = 0;
    while json.len() < bytes {
        let source = if count == 1 {
            "value = 7".to_owned()
        } else {
            format!("x = {count}")
        };
        json += if count == 0 { "" } else { ",\n" };
        let _ = write!(
            json,
            "  {{\n   \"cell_type\": \"code\",\n   \"execution_count\": {count},\n   \"metadata\": {{}},\n   \"outputs\": [\n    {{\"output_type\": \"display_data\", \"data\": {{\"image/png\": \"{picture}\"}}, \"metadata\": {{}}}},\n    {{\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": ["
        );
        for line in 0..500 {
            let _ = write!(
                json,
                "{}\"step {line} of cell {count}\\n\"",
                if line == 0 { "" } else { ", " }
            );
        }
        let _ = write!(
            json,
            "]}}\n   ],\n   \"source\": [\n    \"{source}\"\n   ]\n  }}"
        );
        count += 1;
    }
    json + "\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 4\n}\n"
}

#[test]
#[cfg(target_os = "linux")]
fn a_notebook_of_46_mb_is_read_and_one_of_70_is_refused() {
    let tree = Tree::new()
        .file("n.ipynb", large(46 << 20))
        .file("huge.ipynb", large(70 << 20))
        .file("plain.txt", "still here\n");
    let daemon = Daemon::start(tree.path());
    let asked: Vec<_> = ["n.ipynb", "n.ipynb:outputs", "huge.ipynb"]
        .iter()
        .map(|path| daemon.request("agent/read", json!({ "path": path })))
        .collect();
    assert!(daemon.read_text("plain.txt").contains("1:still here"));
    let result = daemon.wait(&asked[0]).expect("a read");
    let text = text_of(&result);
    assert!(
        text.starts_with("1:# %% [code] cell:0\n2:x = 0\n3:# %% [code] cell:1\n4:value = 7\n"),
        "{text}"
    );
    let notice = "The notebook is over 32 MiB: it is shown, but cannot be edited before its outputs are cleared";
    assert!(text.ends_with(&format!("\n\n[{notice}]")), "{text}");
    assert_eq!(result["details"]["hashline"], Value::Null);
    assert_eq!(result["details"]["notices"], json!([notice]));
    let result = daemon.wait(&asked[1]).expect("a read");
    assert!(text_of(&result).contains(":step 499 of cell 0\n"));
    let error = daemon.wait(&asked[2]).expect_err("it is too large");
    assert_eq!(
        (error.kind(), error.message.as_str()),
        (
            "tooLarge",
            "'huge.ipynb' is too large: notebooks over 64 MiB are not converted. Read lines of its JSON with :raw, or ask the user to clear its outputs."
        )
    );
    assert!(
        daemon.peak_bytes() < 300 << 20,
        "{} MiB",
        daemon.peak_bytes() >> 20
    );
    let error = daemon.call("agent/edit", json!({ "files": [{ "path": "n.ipynb", "edits": [{ "op": "replace_text", "old": "value = 7", "new": "value = 8" }] }] }));
    assert_eq!(error.expect_err("it is too large").kind(), "tooLarge");
}

/// Cut and spoilt notebooks, some hundreds, in one daemon that goes on serving.
#[test]
#[cfg(target_os = "linux")]
fn hostile_notebooks_cost_nothing_but_their_own_answers() {
    let tree = Tree::new().file("plain.txt", "still here\n");
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let mut names = Vec::new();
    for source in [
        "survey",
        "compact",
        "escaped",
        "v3",
        "v3-hand",
        "outputs",
        "sources",
        "many-cells",
    ] {
        let sound = fs::read(fixtures().join(format!("{source}.ipynb"))).expect("a fixture");
        let mut add = |bytes: &[u8]| {
            let name = format!("{}.ipynb", names.len());
            tree.write(&name, bytes);
            names.push(name);
        };
        for percent in [10, 50, 90] {
            add(&sound[..sound.len() * percent / 100]);
        }
        for _ in 0..35 {
            let mut spoilt = sound.clone();
            for _ in 0..=chance.below(5) {
                let at = chance.below(spoilt.len());
                let marks = b"\"\\[]{},:u0\n\xff";
                spoilt[at] =
                    [marks[chance.below(marks.len())], chance.below(256) as u8][chance.below(2)];
            }
            add(&spoilt);
        }
        let noise: Vec<u8> = (0..2000).map(|_| chance.below(256) as u8).collect();
        add(&[&b"{\"cells\": ["[..], &noise].concat());
    }
    assert!(names.len() > 300);
    let daemon = Daemon::start(tree.path());
    let mut asked = Vec::new();
    for name in &names {
        for tail in ["", ":outputs"] {
            let path = format!("{name}{tail}");
            asked.push((
                path.clone(),
                daemon.request("agent/read", json!({ "path": path })),
            ));
            if asked.len() % 200 == 0 {
                assert!(daemon.read_text("plain.txt").contains("1:still here"));
            }
        }
        if asked.len() >= 400 {
            answered(&daemon, &mut asked);
        }
    }
    answered(&daemon, &mut asked);
    assert!(daemon.read_text("plain.txt").contains("1:still here"));
    assert!(
        daemon.peak_bytes() < 300 << 20,
        "{} MiB",
        daemon.peak_bytes() >> 20
    );
}

#[cfg(target_os = "linux")]
fn answered(daemon: &Daemon, asked: &mut Vec<(String, crate::client::Id)>) {
    for (path, id) in asked.drain(..) {
        if let Err(error) = daemon.wait(&id) {
            let kinds = ["damaged", "binary", "badSelector"];
            assert!(kinds.contains(&error.kind()), "{path}: {error:?}");
        }
    }
}
