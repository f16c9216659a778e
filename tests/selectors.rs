//! Selectors, in the path and apart: the forms, the mistakes, and literal names that look like selectors; nothing about limits.

use serde_json::json;

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

fn bad_selector(daemon: &mut Daemon, path: &str) -> String {
    let error = daemon.read(path).expect_err(path);
    assert_eq!(
        (error.code, error.kind()),
        (-32602, "badSelector"),
        "{path}: {}",
        error.message
    );
    let accepted = error.data["accepted"]
        .as_array()
        .expect("the accepted forms");
    assert!(accepted.iter().any(|form| form == ":A-B"));
    error.message
}

#[test]
fn mistakes_are_named() {
    let tree = Tree::new().file("src/mid.ts", numbered_lines(1, 20));
    let mut daemon = Daemon::start(tree.path());
    assert_eq!(
        bad_selector(&mut daemon, "src/mid.ts:0"),
        "Line selector 0 is invalid; lines are 1-indexed. Use :1."
    );
    assert_eq!(
        bad_selector(&mut daemon, "src/mid.ts:10-5"),
        "Invalid range 10-5: end must be >= start."
    );
    assert_eq!(
        bad_selector(&mut daemon, "src/mid.ts:5+0"),
        "Invalid range 5+0: count must be >= 1."
    );
    for tail in [
        ":foo",
        ":end",
        ":1:5:5",
        ": 5-6",
        "#L5x y",
        ":10:",
        ":-0",
        ":raw:raw",
        ":0-5",
        ":99999999999999999999",
    ] {
        bad_selector(&mut daemon, &format!("src/mid.ts{tail}"));
    }
    for selector in ["foo", "0", "1-:2", "5-6,", "bar:raw"] {
        let params = json!({ "path": "src/mid.ts", "selector": selector });
        let error = daemon.read_with(params).expect_err(selector);
        assert_eq!(error.kind(), "badSelector", "{selector}");
    }
    // A selector after a name that is nowhere is a missing file, not a mistyped selector.
    assert_eq!(
        daemon.read("nowhere.ts:5").expect_err("missing").kind(),
        "notFound"
    );
    assert_eq!(
        daemon.read("nowhere.ts:foo").expect_err("missing").kind(),
        "notFound"
    );
}

#[test]
fn all_forms_select_the_same_lines() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 20));
    let daemon = Daemon::start(tree.path());
    for form in ["3-5", "3..5", "3–5", "3…5", "3+3", "L3-L5", "L3+3", "l3-l5"] {
        let result = daemon.read(format!("n.txt:{form}")).expect(form);
        assert_eq!(
            result["details"]["shown"],
            json!([{ "start": 2, "end": 8 }]),
            "{form}"
        );
        let params = json!({ "path": "n.txt", "selector": form });
        let apart = daemon.read_with(params).expect(form);
        assert_eq!(apart["content"], result["content"], "{form}");
    }
    for (form, text) in [
        ("3-4:raw", "line 3\nline 4\n"),
        ("raw:3-4", "line 3\nline 4\n"),
        ("RAW:-1", "line 20\n"),
    ] {
        assert_eq!(daemon.read_text(format!("n.txt:{form}")), text);
    }
}

#[test]
fn a_literal_name_wins() {
    let tree = Tree::new()
        .file("notes", numbered_lines(1, 30))
        .file("notes:12", "the literal file\n")
        .file("log:raw", "raw by name\n")
        .file("dir:5/z.txt", "in a folder with a colon\n")
        .file("a:b", numbered_lines(1, 9));
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    assert!(daemon.read_text("notes:12").contains("1:the literal file"));
    assert!(daemon.read_text("notes:13").contains("13:line 13"));
    assert_eq!(daemon.read_text("notes:12:raw"), "the literal file\n");
    assert!(daemon.read_text("log:raw").contains("1:raw by name"));
    assert!(daemon.read_text("dir:5/z.txt").contains("1:in a folder"));
    assert_eq!(daemon.read_text("a:b:9:raw"), "line 9\n");
    std::fs::remove_file(tree.join("notes:12")).expect("removed");
    assert!(daemon.read_text("notes:12").contains("12:line 12"));
}

#[test]
fn a_selector_apart_makes_the_path_literal() {
    let tree = Tree::new()
        .file("n.txt", numbered_lines(1, 9))
        .file("n.txt:2", "two\n")
        .file("a%20b.txt", "percent\n")
        .file("a b.txt", "space\n");
    let daemon = Daemon::start(tree.path());
    let read = |path: &str, selector: &str| {
        daemon
            .read_with(json!({ "path": path, "selector": selector }))
            .map(|result| {
                result["content"][0]["text"]
                    .as_str()
                    .expect("text")
                    .to_owned()
            })
    };
    assert_eq!(read("n.txt:2", "1-1:raw").as_deref(), Ok("two\n"));
    assert_eq!(read("n.txt", ":9-9:raw").as_deref(), Ok("line 9\n"));
    assert_eq!(
        read("n.txt:3", "1-1:raw").expect_err("literal").kind(),
        "notFound"
    );
    let uri = |name: &str| format!("file://{}", tree.spelled(name));
    // An address is that of a file, whoever gives a selector for it.
    assert_eq!(read(&uri("a%20b.txt"), "raw").as_deref(), Ok("space\n"));
    assert!(daemon.read_text(uri("a%20b.txt")).contains("1:space"));
    assert_eq!(
        daemon.read_text(format!("{}:1-1:raw", uri("n.txt"))),
        "line 1\n"
    );
}
