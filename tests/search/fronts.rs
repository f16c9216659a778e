//! The same search in every front: dialects, the command line, the Model Context Protocol.

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::command_line::{pilcrow, stdout};
use crate::mcp::McpProcess;
use crate::tree::Tree;

use super::{search, text, untagged};

fn sample() -> Tree {
    Tree::new()
        .file("a.txt", "one\nneedle\n")
        .file("sub/b.txt", "needle\n")
}

#[test]
fn dialects_without_headers_have_the_path_and_numbered_rows() {
    let tree = sample();
    let daemon = Daemon::start(tree.path());
    for dialect in [
        "numbered",
        "plain",
        "opencode",
        "pikuri",
        "llm-gateway",
        "roo",
    ] {
        let answer = search(&daemon, json!({ "pattern": "needle", "dialect": dialect }));
        assert_eq!(
            text(&answer),
            "a.txt\n2:needle\nsub/b.txt\n1:needle\n\n[2 matches in 2 files]",
            "{dialect}"
        );
        // The program around the model still knows which text it is.
        assert!(answer["details"]["files"][0]["hashline"]["tag"].is_string());
    }
    let unknown = daemon.call(
        "agent/search",
        json!({ "pattern": "x", "dialect": "hashlin" }),
    );
    assert_eq!(unknown.expect_err("a refusal").kind(), "badParams");
    let read_only = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "edit": { "enabled": false } }))
        .start();
    let answer = search(
        &read_only,
        json!({ "pattern": "needle", "budget": { "lines": 1 } }),
    );
    assert_eq!(
        text(&answer),
        "a.txt\n2:needle\n\n[1+ matches in 1 file. Use after: a.txt:2]"
    );
    assert_eq!(answer["details"]["files"][0].get("hashline"), None);
    let rest = search(
        &read_only,
        json!({ "pattern": "needle", "after": "a.txt:2" }),
    );
    assert_eq!(text(&rest), "sub/b.txt\n1:needle\n\n[1 match in 1 file]");
}

#[test]
fn the_command_line_prints_what_a_model_would_see() {
    let tree = sample();
    let output = pilcrow(&tree, &["search", "NEEDLE", "-i"]);
    assert!(output.status.success() && output.stderr.is_empty());
    assert_eq!(
        untagged(&stdout(&output)),
        "¶a.txt#TAG_\n2:needle\n¶sub/b.txt#TAG_\n1:needle\n\n[2 matches in 2 files]"
    );
    let output = pilcrow(&tree, &["search", "needle", "sub", "--count"]);
    assert_eq!(stdout(&output), "sub/b.txt: 1\n\n[1 match in 1 file]\n");
    let output = pilcrow(
        &tree,
        &[
            "search",
            "-F",
            "-w",
            "-C1",
            "-g",
            "!sub",
            "needle",
            "--dialect",
            "numbered",
        ],
    );
    assert_eq!(
        stdout(&output),
        "a.txt\n1:one\n2:needle\n\n[1 match in 1 file]\n"
    );
    let output = pilcrow(&tree, &["search", "one\\nneedle", "-U", "--json"]);
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(
        json["details"]["files"][0]["lines"],
        json!([{ "start": 1, "end": 2 }])
    );
    let output = pilcrow(
        &tree,
        &["search", "needle", "--rows", "1", "--after", "a.txt:2"],
    );
    assert!(stdout(&output).starts_with("¶sub/b.txt#"));
    let output = pilcrow(&tree, &["search", "(", "sub"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("at character 1"));
}

#[test]
fn an_agent_edits_what_it_found() {
    let tree = sample();
    let server = McpProcess::start(tree.path());
    let found = server.text(
        "search",
        json!({ "pattern": "needle", "ignoreCase": "true", "path": null }),
    );
    assert_eq!(
        untagged(&found),
        "¶a.txt#TAG_\n2:needle\n¶sub/b.txt#TAG_\n1:needle\n\n[2 matches in 2 files]"
    );
    let headers: Vec<&str> = found.lines().filter(|line| line.starts_with('¶')).collect();
    let patch = format!(
        "{}\nreplace 2:\n+thread\n{}\nreplace 1:\n+thread\n",
        headers[0], headers[1]
    );
    server.text("edit", json!({ "patch": patch }));
    let now = std::fs::read_to_string(tree.join("sub/b.txt")).expect("the file");
    assert_eq!(now, "thread\n");
    let error = server.error("search", json!({ "pattern": "foo(" }));
    assert!(error.contains("at character 4: unclosed group"), "{error}");
    let error = server.error("search", json!({ "patern": "foo" }));
    assert!(error.contains("Did you mean 'pattern'?"), "{error}");
    let result = server.call_with(
        "search",
        json!({ "pattern": "thread" }),
        json!({ "pilcrow/details": true }),
    );
    assert_eq!(result["_meta"]["pilcrow/details"]["matches"], 2);
}

#[test]
fn no_answer_to_an_agent_is_too_long() {
    let text: String = (0..3000)
        .map(|at| format!("needle {at} {}\n", "ü".repeat(300)))
        .collect();
    let tree = Tree::new().file("a.txt", &text).file("b.txt", "needle\n");
    let server = McpProcess::start(tree.path());
    let found = server.text("search", json!({ "pattern": "needle" }));
    assert!(found.chars().count() <= 38_000);
    assert!(
        found
            .lines()
            .last()
            .is_some_and(|last| last.contains("Use after: a.txt#")),
        "{found}"
    );
    let small = Tree::new().file("a.txt", "needle\n".repeat(900));
    let found = McpProcess::start(small.path()).text("search", json!({ "pattern": "needle" }));
    assert!(found.contains("[200+ matches in 1 file."));
}
