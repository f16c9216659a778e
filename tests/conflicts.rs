//! Merge conflicts that git itself left in files; what git would not call a conflict is never shown as one.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

fn git(folder: &Path, arguments: &[&str]) -> bool {
    let output = Command::new("git")
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.com"])
        .args(arguments)
        .output()
        .expect("git runs");
    output.status.success()
}

/// Merges a branch into another, both of which changed the file `c.txt` of `base`.
fn merged(style: &str, base: &str, ours: &str, theirs: &str) -> Tree {
    let tree = Tree::new();
    let step = |arguments: &[&str]| assert!(git(tree.path(), arguments), "{arguments:?}");
    step(&["init", "-q", "-b", "main"]);
    step(&["config", "core.autocrlf", "false"]);
    let commit = |text: &str| {
        tree.write("c.txt", text);
        step(&["add", "c.txt"]);
        step(&["commit", "-q", "-m", "change"]);
    };
    commit(base);
    step(&["checkout", "-q", "-b", "feature/x"]);
    commit(theirs);
    step(&["checkout", "-q", "main"]);
    commit(ours);
    let style = format!("merge.conflictStyle={style}");
    assert!(!git(
        tree.path(),
        &["-c", &style, "merge", "-q", "feature/x"]
    ));
    tree
}

fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text block")
}

/// The text after the header line.
fn body(text: &str) -> &str {
    let (header, body) = text.split_once('\n').expect("a header");
    assert!(header.starts_with("¶c.txt#"), "{header}");
    body
}

const BASE: &str = "one\ntwo\na\nb\nc\nd\ne\nf\nsix\nseven\n";
const OURS: &str = "one\nours two\na\nb\nc\nd\ne\nf\nours six\nseven\n";
const THEIRS: &str = "one\ntheirs two\na\nb\nc\nd\ne\nf\ntheirs six\ntheirs too\nseven\n";

const TWO_WAY: &str = "\
#1  L2-6
ours (HEAD):
3:ours two
theirs (feature/x):
5:theirs two
#2  L13-18
ours (HEAD):
14:ours six
theirs (feature/x):
16:theirs six
17:theirs too";

#[test]
fn both_sides_with_their_own_numbers() {
    let tree = merged("merge", BASE, OURS, THEIRS);
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("c.txt:conflicts").expect("a sheet");
    assert_eq!(body(text_of(&result)), TWO_WAY);
    let details = &result["details"];
    assert_eq!(
        details["shown"],
        json!([{ "start": 2, "end": 6 }, { "start": 13, "end": 18 }])
    );
    assert_eq!(details["hashline"]["path"], "c.txt");
    assert_eq!(details["totalLines"], 19);
    assert_eq!(details.get("truncation"), None);
    let numbered = daemon.read_with(json!({ "path": "c.txt:conflicts", "dialect": "numbered" }));
    assert_eq!(text_of(&numbered.expect("a sheet")), TWO_WAY);
    let plain = daemon.read_with(json!({ "path": "c.txt:conflicts", "dialect": "plain" }));
    assert!(text_of(&plain.expect("a sheet")).starts_with("#1  L2-6\nours (HEAD):\nours two\n"));
}

#[test]
fn files_with_crlf_have_conflicts_too() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let tree = merged("merge", &crlf(BASE), &crlf(OURS), &crlf(THEIRS));
    let written = fs::read_to_string(tree.join("c.txt")).expect("the merged file");
    assert!(written.contains("<<<<<<< HEAD\r\n"), "{written:?}");
    let daemon = Daemon::start(tree.path());
    assert_eq!(body(&daemon.read_text("c.txt:conflicts")), TWO_WAY);
}

#[test]
fn a_base_makes_it_three_ways() {
    let tree = merged("diff3", BASE, OURS, THEIRS);
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text("c.txt:conflicts");
    let mut rows = body(&text).lines();
    assert_eq!(rows.next(), Some("#1  L2-8  (3-way)"));
    assert_eq!(rows.next(), Some("ours (HEAD):"));
    assert_eq!(rows.next(), Some("3:ours two"));
    let base = rows.next().expect("the base");
    assert!(base.starts_with("base (") && base.ends_with("):"), "{base}");
    let rest: Vec<&str> = rows.collect();
    assert_eq!(rest[..3], ["5:two", "theirs (feature/x):", "7:theirs two"]);
    assert_eq!(rest[3], "#2  L15-22  (3-way)");

    let tree = merged("zdiff3", BASE, OURS, THEIRS);
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text("c.txt:conflicts");
    assert!(body(&text).starts_with("#1  L2-8  (3-way)\n"), "{text}");
}

#[test]
fn a_side_may_have_no_lines() {
    let tree = merged("merge", "a\nb\nc\n", "a\nc\n", "a\nB\nc\n");
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        body(&daemon.read_text("c.txt:conflicts")),
        "#1  L2-5\nours (HEAD): no lines\ntheirs (feature/x):\n4:B"
    );
}

#[test]
fn none_is_one_sentence() {
    let unclosed = "<<<<<<< HEAD\nx\n=======\ny\n";
    let tree = Tree::new()
        .file("src/a.rs", "fn a() {}\n")
        .file("open.txt", unclosed)
        .file("rst.txt", "Title\n=======\n\n>>>>>>> quoted mail\n")
        .file("empty.txt", "");
    let daemon = Daemon::start(tree.path());
    for dialect in ["hashline", "numbered", "plain"] {
        let ask = json!({ "path": "src/a.rs:conflicts", "dialect": dialect });
        let result = daemon.read_with(ask).expect("a sentence");
        assert_eq!(
            text_of(&result),
            "No unresolved merge conflicts in src/a.rs."
        );
        assert_eq!(result["details"].get("hashline"), None);
        assert_eq!(result["details"]["shown"], json!([]));
    }
    for name in ["open.txt", "rst.txt", "empty.txt"] {
        let text = daemon.read_text(format!("{name}:conflicts"));
        assert_eq!(text, format!("No unresolved merge conflicts in {name}."));
        assert!(!daemon.read_text(name).contains("unresolved"), "{name}");
    }
}

#[test]
fn the_innermost_start_wins() {
    let nested = "a\n<<<<<<< outer\nx\n<<<<<<< inner\ny\n=======\nz\n>>>>>>> inner\n=======\nw\n>>>>>>> outer\n";
    let tree = Tree::new().file("c.txt", nested);
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        body(&daemon.read_text("c.txt:conflicts")),
        "#1  L4-8\nours (inner):\n5:y\ntheirs (inner):\n7:z"
    );
}

const ONE: &str = "[1 unresolved merge conflict; :conflicts shows both sides]";
const TWO: &str = "[2 unresolved merge conflicts; :conflicts shows both sides]";

#[test]
fn a_read_that_meets_a_conflict_says_so() {
    let tree = merged("merge", BASE, OURS, THEIRS);
    let daemon = Daemon::start(tree.path());
    let footers = |selector: &str| {
        let text = daemon.read_text(format!("c.txt{selector}"));
        let footers = text
            .split_once("\n\n")
            .map(|(_, footers)| footers.to_owned());
        footers.unwrap_or_default()
    };
    assert_eq!(footers(""), TWO);
    assert_eq!(footers(":1-3"), format!("{ONE}\n[1-6 of 19]"));
    // In the middle of one, no marker in sight.
    assert_eq!(footers(":3,8"), ONE);
    assert_eq!(footers(":1,7,19"), "");
    assert_eq!(footers(":1,2,15"), TWO);
    assert_eq!(
        footers(":6,99"),
        format!("[Line 99 is beyond the end (19 lines); skipped]\n{ONE}")
    );
    let raw = daemon.read("c.txt:raw").expect("the file's own text");
    assert_eq!(raw["content"].as_array().map(Vec::len), Some(1));
    let cut = daemon.read_with(json!({ "path": "c.txt", "budget": { "lines": 3 } }));
    let cut = cut.expect("a window");
    let footer = format!("\n\n{ONE}\n[Showing lines 1-3 of 19. Use :4- to continue]");
    assert!(text_of(&cut).ends_with(&footer), "{}", text_of(&cut));
}

#[test]
fn the_footer_stands_between_cut_rows_and_showing() {
    let long = "x".repeat(3000);
    let text = format!(
        "{long}\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n{}",
        numbered_lines(7, 9)
    );
    let tree = Tree::new().file("c.txt", text);
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text("c.txt:1-4");
    assert!(
        text.ends_with(&format!(
            "\n\n[Line 1 cut at 2000 of 3000 characters. Use :1-1:raw for the whole line]\n{ONE}\n[1-7 of 9]"
        )),
        "{text}"
    );
}

#[test]
fn limits_cut_between_conflicts() {
    let conflict =
        |n: usize| format!("<<<<<<< HEAD\nours {n}\n=======\ntheirs {n}\n>>>>>>> b\nkept {n}\n");
    let text: String = (1..=2000).map(conflict).collect();
    let tree = Tree::new().file("c.txt", text);
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("c.txt:conflicts").expect("a sheet");
    let shown = text_of(&result).matches("\n#").count();
    let next = format!("{}-", shown * 6 + 1);
    assert_eq!(result["details"]["truncation"]["reason"], "lines");
    assert_eq!(result["details"]["truncation"]["nextSelector"], next);
    assert_eq!(shown, 600);
    assert!(
        text_of(&result).ends_with(&format!(
            "\n{}:theirs 600\n\n[Showing conflicts 1-600 of 2000. Use :{next} to continue]",
            shown * 6 - 2
        )),
        "{}",
        &text_of(&result)[text_of(&result).len() - 200..]
    );
    let small = json!({ "path": "c.txt:conflicts", "budget": { "bytes": 100 } });
    let result = daemon.read_with(small).expect("a sheet");
    assert!(
        text_of(&result)
            .ends_with("[Showing conflicts 1-1 of 2000 (100 bytes limit). Use :7- to continue]"),
        "{}",
        text_of(&result)
    );
}

#[test]
fn a_conflict_that_does_not_fit_is_cut_at_a_row() {
    let text = format!(
        "<<<<<<< HEAD\n{}=======\nb\n>>>>>>> x\n",
        numbered_lines(1, 5000)
    );
    let tree = Tree::new().file("c.txt", text);
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("c.txt:conflicts").expect("a sheet");
    let text = text_of(&result);
    assert!(
        text.ends_with("\n2999:line 2998\n\n[Showing conflicts 1-1 of 1. Use :3000- to continue]"),
        "{}",
        &text[text.len() - 200..]
    );
    assert_eq!(
        result["details"]["shown"],
        json!([{ "start": 1, "end": 2999 }])
    );
    // A window far inside of a large block is told of it.
    assert!(daemon.read_text("c.txt:2500-2501").contains(ONE));
}

#[test]
fn what_is_no_text_has_none() {
    let tree = Tree::new().file("blob.bin", b"\0\x01\x02\xff".repeat(50));
    let daemon = Daemon::start(tree.path());
    let refused = daemon.read("blob.bin:conflicts").expect_err("no text");
    assert_eq!(refused.kind(), "binary");
    let refused = daemon.read("blob.bin:conflicts:3").expect_err("combined");
    assert_eq!(refused.kind(), "badSelector");
}
