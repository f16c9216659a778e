//! The one-shot commands: what they print and how they exit; the engine behind them is tested over the wire.

use std::process::{Command, Output};

use serde_json::Value;

use crate::tree::{Tree, numbered_lines};

/// Runs the program in a tree.
pub fn pilcrow(tree: &Tree, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pilcrow"))
        .current_dir(tree.path())
        .args(arguments)
        .output()
        .expect("the binary runs")
}

/// What it printed.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn read_prints_what_a_model_would_see() {
    let tree = Tree::new()
        .file("n.txt", numbered_lines(1, 9))
        .file("sub/m.txt", "m\n")
        .file(".env", "A=1\n");
    let output = pilcrow(&tree, &["read", "n.txt:3,4"]);
    assert!(output.status.success() && output.stderr.is_empty());
    let text = stdout(&output);
    assert!(
        text.starts_with("¶n.txt#") && text.ends_with("\n3:line 3\n4:line 4\n"),
        "{text}"
    );
    let output = pilcrow(
        &tree,
        &["read", "--root", "sub", "--dialect", "numbered", "m.txt"],
    );
    assert_eq!(stdout(&output), "1:m\n");
    let output = pilcrow(&tree, &["read", "n.txt:2-2", "--json"]);
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(json["details"]["totalLines"], 9);
    let output = pilcrow(&tree, &["read", ".env", "--set", "access.deny=[]"]);
    assert!(stdout(&output).ends_with("\n1:A=1\n"));
}

#[test]
fn errors_go_to_stderr_with_exit_code_1() {
    let tree = Tree::new().file("config.tsx", "").file(".env", "A=1\n");
    let cases: [(&[&str], &str); 4] = [
        (
            &["read", "config.ts"],
            "File not found: config.ts. Did you mean config.tsx?\n",
        ),
        (
            &["read", "config.tsx:0"],
            "Line selector 0 is invalid; lines are 1-indexed. Use :1.\n",
        ),
        (
            &["read", "config.tsx", "--set", "read.colour=1"],
            "Unknown Pilcrow setting 'read.colour' is ignored.\n",
        ),
        (
            &["read", ".env"],
            "Access to '.env' is denied by the pattern '.env' of the setting access.deny.",
        ),
    ];
    for (arguments, message) in cases {
        let output = pilcrow(&tree, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.starts_with(message), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn status_and_help() {
    let tree = Tree::new();
    let status: Value = serde_json::from_str(&stdout(&pilcrow(&tree, &["status"]))).expect("JSON");
    assert_eq!(status["protocol"], 1);
    assert_eq!(status["roots"][0], tree.path().to_str().expect("UTF-8"));
    let help = stdout(&pilcrow(&tree, &["--help"]));
    for word in ["serve", "read", "status", "Examples:", "PILCROW_LOG"] {
        assert!(help.contains(word), "{word} in {help}");
    }
    let version = pilcrow(&tree, &["--version"]);
    let said = String::from_utf8_lossy(&version.stdout).into_owned();
    let begins = concat!("pilcrow ", env!("CARGO_PKG_VERSION"), " (");
    assert!(
        said.starts_with(begins) && said.trim_end().ends_with(')'),
        "{said}"
    );
    assert!(!pilcrow(&tree, &["frobnicate"]).status.success());
}
