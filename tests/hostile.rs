//! Files made to break parsers, over the wire: every read is answered and the daemon goes on; what an outline should be is not said here.

use serde_json::json;

use crate::client::Daemon;
use crate::tree::Tree;

/// A name for a file of each language, so that none is parsed as another.
const NAMES: &[&str] = &[
    "a.rs",
    "a.py",
    "a.ts",
    "a.tsx",
    "a.js",
    "a.go",
    "a.java",
    "a.c",
    "a.cpp",
    "a.cs",
    "a.rb",
    "a.php",
    "a.kt",
    "a.swift",
    "a.md",
    "a.sql",
    "a.sh",
    "a.json",
    "a.yaml",
    "a.toml",
    "a.html",
    "a.css",
    "a.scss",
    "a.lua",
    "a.scala",
    "a.zig",
    "a.ex",
    "a.hs",
    "a.dart",
    "a.ml",
    "a.mli",
    "a.mk",
    "a.dockerfile",
    "a.proto",
    "a.nix",
    "a.r",
    "a.jl",
    "a.svelte",
    "a.vue",
    "a.hcl",
    "a.xml",
    "a.ps1",
    "a.graphql",
    "a.cmake",
    "a.erl",
    "a.sol",
];

fn further_in(line: &str, levels: usize) -> String {
    (0..levels)
        .map(|level| format!("{}{line}\n", " ".repeat(level)))
        .collect()
}

/// What has ended a process, and what might.
fn texts() -> Vec<(&'static str, String)> {
    let word = "A".repeat(300);
    let heredocs = (0..150).map(|_| format!("f(<<{word}, <<AB)\n")).collect();
    let python = further_in("if a:", 511) + &" ".repeat(511) + "'a'\n";
    vec![
        ("keys", further_in("a:", 1000)),
        ("blocks and a string", python),
        ("dashes", "- ".repeat(5000) + &"\n".repeat(200)),
        ("heredocs", heredocs),
        ("braces", "{\n".repeat(15_000)),
        ("parentheses", "(".repeat(500_000) + &"\n".repeat(200)),
        ("elements", "<custom-element>\n".repeat(4000)),
        ("comments", "/*\n".repeat(300) + "{- (* <!-- #|"),
        ("quotes", "\"\"\"'''`".repeat(200) + &"\n".repeat(200)),
        ("nested comments", "(*".repeat(40_000) + &"\n".repeat(120)),
        (
            "template strings",
            "{@const a=".to_owned() + &"`${".repeat(40_000) + &"\n".repeat(120),
        ),
        (
            "the end comes early",
            "a\n".repeat(200) + "class A { val a\n@b(c",
        ),
    ]
}

#[test]
fn no_file_ends_the_daemon() {
    let mut tree = Tree::new();
    for (number, (_, text)) in texts().iter().enumerate() {
        for name in NAMES {
            tree = tree.file(&format!("{number}/{name}"), text);
        }
    }
    let daemon = Daemon::start(tree.path());
    let status = daemon.call("agent/status", json!({})).expect("a status");
    assert_eq!(status["summaries"]["count"], 0);
    for (number, (what, _)) in texts().iter().enumerate() {
        for name in NAMES {
            let read = daemon.read(format!("{number}/{name}"));
            assert!(read.is_ok(), "{what} in {name}: {read:?}");
        }
    }
    let pilcrow = &daemon.initialize_result()["capabilities"]["experimental"]["pilcrow"];
    assert_eq!(
        pilcrow["languages"].as_array().map(Vec::len),
        Some(NAMES.len())
    );
    let sound = "fn a() {\n    one();\n    two();\n    three();\n}\n\n".repeat(100);
    tree.write("sound.rs", sound);
    assert!(daemon.read_text("sound.rs").contains("1-5:fn a() { … }"));
}

/// What a scanner recurses on, in files of its language, however that is known: name, first lines,
/// what opens a level, last lines.
const RECURSED_ON: &[(&str, &str, &str, &str)] = &[
    ("a.ml", "let a = 1\n", "(*", ""),
    ("a.mli", "val a : int\n", "(* \"*)\" ", ""),
    ("a.txt", "let a = 1\n", "(*", "(* vim: set ft=ocaml : *)\n"),
    ("noext", "#!/usr/bin/env ocaml\n", "(*\n", ""),
    ("a.svelte", "<p>a</p>\n", "{@const a=`${`${", ""),
    ("b.svelte", "<p>\n{\n", "`${", "\n</p>\n"),
];

#[test]
fn no_way_to_a_parser_ends_the_daemon() {
    let deep = |(_, begin, opener, end): &(&str, &str, &str, &str)| {
        format!(
            "{begin}{}\n{}{end}",
            opener.repeat(40_000),
            "\n".repeat(120)
        )
    };
    let mut tree = Tree::new();
    for row in RECURSED_ON {
        let (name, begin, _, end) = row;
        tree = tree.file(&format!("deep/{name}"), deep(row));
        let shallow = format!("{begin}{}{end}", "\n".repeat(120));
        tree = tree.file(&format!("shallow/{name}"), shallow);
    }
    let daemon = Daemon::start(tree.path());
    let pid = daemon.pid();
    let tag = |path: &str| {
        let read = daemon.read(format!("{path}:1-3")).expect("a read");
        let tag = read["details"]["hashline"]["tag"].as_str();
        tag.expect("a tag").to_owned()
    };
    for row in RECURSED_ON {
        let (name, _, opener, _) = row;
        let path = format!("deep/{name}");
        daemon.read(&path).expect("a summary, or the text");
        daemon.read(format!("{path}:full")).expect("a text");
        let first = json!({ "path": path, "dialect": "roo", "end_line": 1 });
        daemon.read_with(first).expect("a line and definitions");
        // The grammar says nothing of where blocks are in it, and lines can still be changed.
        let block = format!("¶{path}#{}\nreplace block 1:\n+x\n", tag(&path));
        daemon
            .call("agent/edit", json!({ "patch": block }))
            .expect_err("no block");
        let line = format!("¶{path}#{}\ninsert after 1:\n+\n", tag(&path));
        daemon
            .call("agent/edit", json!({ "patch": line }))
            .expect("an edit");
        // A text that was sound before, and so has a tree to be parsed from.
        let path = format!("shallow/{name}");
        daemon.read(&path).expect("a read");
        let rows = opener.repeat(40_000).replace('\n', "\n+");
        let deepened = format!("¶{path}#{}\ninsert after 1:\n+{rows}\n", tag(&path));
        daemon
            .call("agent/edit", json!({ "patch": deepened }))
            .expect("an edit");
        let made = json!({ "path": format!("new/{name}"), "text": deep(row) });
        daemon.call("agent/write", made).expect("a new file");
    }
    daemon.call("agent/status", json!({})).expect("a status");
    assert_eq!(daemon.pid(), pid);
}
