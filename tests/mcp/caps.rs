//! No answer is longer than agents pass on, whatever is asked; and what has no room counts as not shown.

use std::fmt::Write;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tree::{Tree, numbered_lines};

use super::{Mcp, text};

const CAP: usize = 38_000;

fn tree() -> Tree {
    let wide: String = (0..900)
        .map(|n| format!("{n} {}\n", "w".repeat(90)))
        .collect();
    let signs: String = (0..3000)
        .map(|n| format!("{n} {}\n", "ü€😀".repeat(9)))
        .collect();
    let code: String = (0..900)
        .map(|n| format!("/// What {n} is for.\npub fn function_{n}(a: u8) -> u8 {{\n    let b = a;\n    b + 1\n}}\n\n"))
        .collect();
    let mut tree = Tree::new()
        .file("wide.txt", wide)
        .file("signs.txt", signs)
        .file("short.txt", numbered_lines(1, 9000))
        .file("one.txt", format!("first\n{}\nlast\n", "x".repeat(200_000)))
        .file("one_signs.txt", "€".repeat(100_000))
        .file("lines.txt", format!("{}\n", "z".repeat(1990)).repeat(60))
        .file("code.rs", code);
    for number in 0..1500 {
        tree = tree.file(
            &format!("many/{}_{number}.txt", "long_name_".repeat(6)),
            "x",
        );
    }
    tree
}

fn chars(result: &Value) -> usize {
    text(result).chars().count()
}

fn path() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "wide.txt",
        "signs.txt",
        "short.txt",
        "one.txt",
        "one_signs.txt",
        "lines.txt",
        "code.rs",
        "many",
        ".",
        "missing.txt",
    ]);
    let selector = prop::sample::select(vec![
        "",
        ":raw",
        ":1-",
        ":full",
        ":-5000",
        ":2-2:raw",
        ":1-9000:raw",
        ":2-",
        ":5-9,40-7000",
        ":conflicts",
    ]);
    (name, selector).prop_map(|(name, selector)| format!("{name}{selector}"))
}

#[test]
fn no_read_is_longer_than_the_cap() {
    let tree = tree();
    for (arguments, cap) in [
        (&[][..], CAP),
        (
            &["--budget-bytes=4096", "--budget-lines=200"],
            4096 + 1600 + 1328,
        ),
        (
            &["--budget-bytes=200000", "--budget-lines=5000"],
            200_000 + 40_000 + 1328,
        ),
        (&["--dialect=roo"], CAP),
        (
            &[
                "--dialect=numbered",
                "--budget-bytes=1024",
                "--budget-lines=20",
            ],
            1024 + 160 + 1328,
        ),
    ] {
        let mut builder = Mcp::in_directory(tree.path());
        for argument in arguments {
            builder = builder.arg(*argument);
        }
        let server = builder.start();
        let read = match arguments.first() {
            Some(&"--dialect=roo") => "read_file",
            _ => "read",
        };
        let config = ProptestConfig {
            cases: if std::env::var_os("PILCROW_LONG").is_some() {
                300
            } else {
                30
            },
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        proptest!(config, |(one in path(), all in prop::collection::vec(path(), 1..64))| {
            let result = server.call(read, json!({ "path": one }));
            prop_assert!(chars(&result) <= cap, "{}: {} of {cap}", one, chars(&result));
            let result = server.call("read_many", json!({ "paths": all }));
            prop_assert!(chars(&result) <= cap, "{:?}: {} of {cap}", all, chars(&result));
        });
    }
}

#[test]
fn paging_shows_every_line_once() {
    let tree = tree();
    for file in ["wide.txt", "signs.txt"] {
        let server = Mcp::start(tree.path());
        let whole = std::fs::read_to_string(tree.join(file)).expect("the file");
        let mut seen = String::new();
        let mut selector = "1-".to_owned();
        loop {
            let page = server.text("read", json!({ "path": format!("{file}:{selector}") }));
            for row in page
                .lines()
                .filter(|row| row.starts_with(|c: char| c.is_ascii_digit()))
            {
                let (_, line) = row.split_once(':').expect("a row");
                let _ = writeln!(seen, "{line}");
            }
            match page.split_once("Use :") {
                None => break,
                Some((_, rest)) => {
                    let next = rest.split(' ').next().expect("a selector");
                    selector = next.to_owned();
                }
            }
        }
        assert!(seen == whole, "{file}");
    }
}

#[test]
fn a_line_that_has_no_room_is_cut_and_does_not_count_as_shown() {
    let tree = tree();
    let server = Mcp::start(tree.path());
    let tag = server.tag("one.txt");
    let cut = server.text("read", json!({ "path": "one.txt:2-2:raw" }));
    assert!(cut.len() > 30_000 && cut.len() <= CAP);
    assert!(
        cut.contains("of 200000 characters") && cut.contains("--budget-bytes"),
        "{}",
        &cut[cut.len() - 300..]
    );
    let patch = format!("¶one.txt#{tag}\nreplace 2:\n+y\n");
    let refused = server.error("edit", json!({ "patch": patch }));
    assert!(refused.contains("never shown to you"), "{refused}");
    let wider = Mcp::in_directory(tree.path())
        .arg("--budget-bytes=300000")
        .start();
    let tag = wider.tag("one.txt");
    let whole = wider.text("read", json!({ "path": "one.txt:2-2:raw" }));
    assert!(whole.starts_with(&"x".repeat(200_000)));
    wider.text(
        "edit",
        json!({ "patch": format!("¶one.txt#{tag}\nreplace 2:\n+y\n") }),
    );
}

#[test]
fn an_answer_to_an_edit_and_a_refusal_have_the_same_cap() {
    let tree = tree();
    for (arguments, cap) in [
        (&[][..], CAP),
        (
            &["--budget-bytes=4096", "--budget-lines=200"],
            4096 + 1600 + 1328,
        ),
    ] {
        tree.write("short.txt", numbered_lines(1, 9000));
        tree.write("lines.txt", format!("{}\n", "z".repeat(1990)).repeat(60));
        let mut builder = Mcp::in_directory(tree.path())
            .arg("--set")
            .arg("edit.requireSeen=false");
        for argument in arguments {
            builder = builder.arg(*argument);
        }
        let server = builder.start();
        let tag = server.tag("short.txt");
        let mut patch = format!("¶short.txt#{tag}\n");
        for line in (1..9000).step_by(20) {
            let _ = write!(patch, "replace {line}:\n+{}\n", "changed ".repeat(20));
        }
        let edited = server.call("edit", json!({ "patch": patch }));
        assert_eq!(edited["isError"], false);
        assert!(chars(&edited) <= cap, "{}", chars(&edited));
        // Everything that it names is another line now.
        let stale = server.call(
            "edit",
            json!({ "patch": patch.replace("changed", "again") }),
        );
        assert_eq!(stale["isError"], true);
        assert!(chars(&stale) <= cap, "{}", chars(&stale));
        let tag = server.tag("lines.txt");
        let mut patch = format!("¶lines.txt#{tag}\n");
        for line in 1..=60 {
            let _ = write!(patch, "replace {line}:\n+{}\n", "v".repeat(1990));
        }
        let edited = server.call("edit", json!({ "patch": patch }));
        assert!(chars(&edited) <= cap, "{}", chars(&edited));
        let long = server.call(
            "read",
            json!({ "path": format!("{}.txt", "n".repeat(4000)) }),
        );
        assert!(chars(&long) <= cap, "{}", chars(&long));
    }
}
