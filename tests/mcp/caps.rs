//! No answer is longer than agents pass on, whatever is asked; and what has no room counts as not shown.

use std::fmt::Write;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tree::{Tree, numbered_lines};

use super::{McpProcess, text};

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
        let mut builder = McpProcess::in_directory(tree.path());
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
        let server = McpProcess::start(tree.path());
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
    let server = McpProcess::start(tree.path());
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
    let wider = McpProcess::in_directory(tree.path())
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
        let mut builder = McpProcess::in_directory(tree.path())
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

/// A database with a table of 60 columns, one of a long text, and 300 that are empty.
fn wide_database(path: &Path) {
    let database = rusqlite::Connection::open(path).expect("a database");
    let run = |sql: &str| {
        let made = database.execute_batch(sql);
        made.unwrap_or_else(|error| panic!("{sql}: {error}"));
    };
    let columns: Vec<String> = (0..60).map(|n| format!("column_{n}")).collect();
    let cells = vec!["hex(randomblob(16))"; 60].join(",");
    run(&format!("CREATE TABLE wide ({})", columns.join(",")));
    run(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO wide SELECT {cells} FROM n"
    ));
    run(
        "CREATE TABLE long (text); INSERT INTO long VALUES (replace(hex(zeroblob(100000)), '00', '€'))",
    );
    for number in 0..300 {
        let name = "long_name_".repeat(6);
        run(&format!("CREATE TABLE {name}{number} (a, b)"));
    }
}

#[test]
fn no_kind_of_file_is_longer_than_the_cap() {
    let tree = Tree::new();
    let rows = (0..500).map(|row| format!("{row}{}\n", ",a cell with ümlauts".repeat(60)));
    tree.write("wide.csv", rows.collect::<String>());
    wide_database(&tree.join("wide.db"));
    for fixture in [
        "archive/many.zip",
        "archive/many-frames.txt.zst",
        "notebook/many-cells.ipynb",
        "document/many.pdf",
        "document/book.xlsx",
        "image/large.png",
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures")
            .join(fixture);
        let name = Path::new(fixture).file_name().expect("a name");
        tree.write(
            name.to_str().expect("UTF-8"),
            std::fs::read(path).expect("a fixture"),
        );
    }
    let paths = [
        "wide.csv",
        "wide.csv:raw",
        "wide.db",
        "wide.db:wide",
        "wide.db:wide?limit=500",
        "wide.db?q=select * from wide",
        "wide.db:long",
        "wide.db:long:1",
        "many.zip",
        "many.zip:many",
        "many-frames.txt.zst:raw",
        "many-cells.ipynb:full",
        "many.pdf:full",
        "book.xlsx:full",
        "large.png",
        "pilcrow://edit:full",
        "skill://",
    ];
    let small = &["--budget-bytes=4096", "--budget-lines=200"][..];
    for (arguments, cap) in [(&[][..], CAP), (small, 4096 + 1600 + 1328)] {
        let command = McpProcess::in_directory(tree.path());
        let server = arguments
            .iter()
            .fold(command, |it, argument| it.arg(*argument))
            .start();
        let read = |path: &str| server.call("read", json!({ "path": path }));
        for path in paths {
            let result = read(path);
            assert_eq!(result["isError"], false, "{path}: {result}");
            assert!(chars(&result) <= cap, "{path}: {}", chars(&result));
        }
        let all = server.call("read_many", json!({ "paths": paths }));
        assert!(chars(&all) <= cap, "{}", chars(&all));
    }
}

/// Whatever a model sends comes back at most in part.
#[test]
fn no_refusal_is_longer_than_the_cap() {
    let tree = Tree::new().file("a.txt", "one\n");
    let server = McpProcess::start(tree.path());
    let tag = server.tag("a.txt");
    let numbered: String = (1..4000)
        .map(|n| format!("{n}:{}\n", "x".repeat(50)))
        .collect();
    let long = "x".repeat(200_000);
    let sections: String = (0..3000)
        .map(|n| format!("¶a{n}.txt#ABCD\nreplace 1:\n+x\n"))
        .collect();
    let mut named = json!({ "path": "a.txt" });
    named[&long] = json!(1);
    for (tool, arguments) in [
        ("write", json!({ "path": "b.txt", "text": numbered })),
        ("write", json!({ "path": long, "text": "x" })),
        ("read", json!({ "path": long })),
        ("read", json!({ "path": format!("a.txt:{long}") })),
        ("read", json!({ "path": format!("pilcrow://{long}") })),
        ("read", json!({ "path": [long] })),
        ("read", json!({ "path": "a.txt", "selector": long })),
        ("read", named),
        ("read", json!(long)),
        ("read_many", json!({ "paths": vec!["y".repeat(3000); 64] })),
        ("read_many", json!({ "paths": vec!["a.txt"; 65] })),
        ("edit", json!({ "patch": "nonsense\n".repeat(50_000) })),
        (
            "edit",
            json!({ "patch": format!("¶a.txt#{tag}\n{}", "replace 7:\n+x\n".repeat(5000)) }),
        ),
        (
            "edit",
            json!({ "patch": format!("¶{long}#ABCD\nreplace 1:\n+x\n") }),
        ),
        ("edit", json!({ "patch": sections })),
    ] {
        let result = server.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {}", text(&result));
        assert!(chars(&result) <= CAP, "{tool}: {}", chars(&result));
    }
    let unknown = server.request("tools/call", json!({ "name": long, "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(unknown.to_string().len() < 1000);
}
