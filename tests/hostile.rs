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
