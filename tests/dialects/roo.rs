//! The dialect `roo`: every example and rule of its seed, its XML fields as JSON.

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

use super::{ask, text_of};

fn read(daemon: &Daemon, params: Value) -> Value {
    let result = ask(daemon, "roo", params).expect("a result");
    assert!(result.get("isError").is_none(), "{result}");
    result
}

fn error(daemon: &Daemon, params: Value) -> String {
    let result = ask(daemon, "roo", params).expect("a result");
    assert_eq!(result["isError"], true, "{result}");
    text_of(&result).to_owned()
}

#[test]
fn an_entire_file() {
    let tree = Tree::new().file(
        "src/example_small.txt",
        "This is the first line.\nThis is the second line.\nThis is the third line.\n",
    );
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, json!({ "path": "src/example_small.txt" }));
    assert_eq!(
        text_of(&result),
        "1 | This is the first line.\n2 | This is the second line.\n3 | This is the third line."
    );
    assert!(result["details"]["hashline"]["tag"].is_string());
}

#[test]
fn specific_lines() {
    let lines = ["one", "two", "three", "four", "five"];
    let text: String = lines
        .iter()
        .map(|line| format!("Content of line {line}.\n"))
        .collect();
    let tree = Tree::new()
        .file("five.txt", text)
        .file("app.js", numbered_lines(1, 100));
    let daemon = Daemon::start(tree.path());
    let two = "2 | Content of line two.\n3 | Content of line three.";
    for (start, end) in [(json!(2), json!(3)), (json!("2"), json!("3"))] {
        let params = json!({ "path": "five.txt", "start_line": start, "end_line": end });
        assert_eq!(text_of(&read(&daemon, params)), two);
    }
    let range = read(
        &daemon,
        json!({ "path": "app.js", "start_line": 46, "end_line": 68 }),
    );
    let expected: Vec<String> = (46..=68).map(|n| format!("{n} | line {n}")).collect();
    assert_eq!(text_of(&range), expected.join("\n"));
    assert!(range["details"].get("truncation").is_none());
    // Either alone is a range as well.
    let from = read(&daemon, json!({ "path": "five.txt", "start_line": 5 }));
    assert_eq!(text_of(&from), "5 | Content of line five.");
    let to = read(&daemon, json!({ "path": "five.txt", "end_line": 1 }));
    assert_eq!(text_of(&to), "1 | Content of line one.");
    let past = read(
        &daemon,
        json!({ "path": "five.txt", "start_line": 5, "end_line": 50 }),
    );
    assert_eq!(text_of(&past), "5 | Content of line five.");
    let beyond = read(&daemon, json!({ "path": "five.txt", "start_line": 50 }));
    assert_eq!(
        text_of(&beyond),
        "[Line 50 is beyond the end of 'five.txt', which has 5 total lines. Use start_line and end_line to read specific ranges.]"
    );
    let backwards = json!({ "path": "five.txt", "start_line": 3, "end_line": 2 });
    assert_eq!(
        error(&daemon, backwards),
        "Error: end_line 2 is before start_line 3."
    );
}

#[test]
fn a_large_file_is_truncated_by_itself() {
    let log: String = (1..=1500).map(|n| format!("Log entry {n}...\n")).collect();
    let tree = Tree::new().file("logs/large_app.log", &log).file(
        "exact.log",
        log.lines().take(500).collect::<Vec<_>>().join("\n"),
    );
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, json!({ "path": "logs/large_app.log" }));
    let text = text_of(&result);
    assert!(text.starts_with("1 | Log entry 1...\n2 | Log entry 2...\n"));
    assert!(
        text.ends_with("\n500 | Log entry 500...\n\n[Showing only 500 of 1500 total lines. Use start_line and end_line to read specific ranges.]"),
        "{text}"
    );
    assert_eq!(
        result["details"]["truncation"],
        json!({ "reason": "lines", "nextSelector": "501-", "next": { "offset": 501, "limit": 1000 } })
    );
    // At the limit nothing is cut, and a range is a range however long.
    let exact = read(&daemon, json!({ "path": "exact.log" }));
    assert!(text_of(&exact).ends_with("\n500 | Log entry 500..."));
    let range = json!({ "path": "logs/large_app.log", "start_line": 1, "end_line": 1500 });
    let range = read(&daemon, range);
    assert_eq!(
        range["details"]["shown"],
        json!([{ "start": 1, "end": 1500 }])
    );
    assert!(text_of(&range).ends_with("\n1500 | Log entry 1500..."));
    // The limit is a setting.
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "read": { "dialect": "roo", "roo": { "maxReadFileLine": 3 } } }))
        .start();
    let short = daemon.read("exact.log").expect("a read");
    assert_eq!(
        text_of(&short),
        "1 | Log entry 1...\n2 | Log entry 2...\n3 | Log entry 3...\n\n[Showing only 3 of 500 total lines. Use start_line and end_line to read specific ranges.]"
    );
}

#[test]
fn definitions_follow_the_notice() {
    let mut rust = String::new();
    for function in 1..=60 {
        rust.push_str(&format!("/// Number {function}.\npub fn number_{function}(\n    a: u8,\n    b: &str,\n) -> u8 {{\n"));
        for line in 1..=8 {
            rust.push_str(&format!("    let x{line} = {line};\n"));
        }
        rust.push_str("    a\n}\n\n");
    }
    let python = "import os\n\n\nclass Shape:\n    @property\n    def area(self):\n        a = 1\n        b = 2\n        c = 3\n        return a + b + c\n\n".to_owned()
        + &"x = 1\n".repeat(600);
    let tree = Tree::new().file("long.rs", &rust).file("long.py", &python);
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, json!({ "path": "long.rs" }));
    let text = text_of(&result);
    let (_, after) = text.split_once("[Showing only 500 of 960 total lines. Use start_line and end_line to read specific ranges.]\n").expect("the notice");
    let rows: Vec<&str> = after.lines().collect();
    assert_eq!(rows.len(), 60, "{after}");
    assert_eq!(rows[0], "2-15 | pub fn number_1( a: u8, b: &str, ) -> u8");
    assert_eq!(
        rows[59],
        "946-959 | pub fn number_60( a: u8, b: &str, ) -> u8"
    );
    // What is printed can be asked for.
    let range = json!({ "path": "long.rs", "start_line": 946, "end_line": 959 });
    let range = read(&daemon, range);
    assert!(text_of(&range).starts_with("946 | pub fn number_60(\n"));
    assert!(text_of(&range).ends_with("\n959 | }"));
    let python = read(&daemon, json!({ "path": "long.py" }));
    assert!(
        text_of(&python).ends_with("specific ranges.]\n6-10 | def area(self):"),
        "{}",
        text_of(&python)
    );
    // A range has none.
    let part = read(&daemon, json!({ "path": "long.rs", "start_line": 1 }));
    assert!(!text_of(&part).contains("2-15 | "));
}

#[test]
fn errors_are_results_in_its_words() {
    let tree = Tree::new()
        .file(".rooignore", "secret/\n*.key\n")
        .file("secret/plan.txt", "x\n")
        .file("a.key", "x\n")
        .file("sub/.agentignore", "hidden.txt\n")
        .file("sub/hidden.txt", "x\n")
        .file("config.tsx", "");
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        error(&daemon, json!({ "path": "non_existent_file.txt" })),
        "Error: File not found at path 'non_existent_file.txt'."
    );
    assert_eq!(
        error(&daemon, json!({ "path": "config.ts" })),
        "Error: File not found at path 'config.ts'. Did you mean config.tsx?"
    );
    let cases = [
        ("a.key", ".rooignore", "the rule '*.key' in .rooignore"),
        (
            "secret/plan.txt",
            ".rooignore",
            "the rule 'secret/' in .rooignore",
        ),
        (
            "sub/hidden.txt",
            ".agentignore",
            "the rule 'hidden.txt' in sub/.agentignore",
        ),
        (
            ".env",
            "access.deny",
            "the pattern '.env' of the setting access.deny",
        ),
    ];
    for (path, whose, rule) in cases {
        assert_eq!(
            error(&daemon, json!({ "path": path })),
            format!(
                "Error: Access denied to file '{path}' due to {whose} rules. It is denied by {rule}."
            )
        );
    }
    let result = ask(&daemon, "roo", json!({ "path": "a.key" })).expect("a result");
    assert_eq!(
        result["details"]["native"]["error"]["data"]["kind"],
        "denied"
    );
    // As in the seed: `.env` is excluded by nothing but the ignore file.
    let tree = Tree::new().file(".rooignore", ".env\n").file(".env", "x\n");
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "access": { "deny": [] } }))
        .start();
    assert!(
        error(&daemon, json!({ "path": ".env" }))
            .starts_with("Error: Access denied to file '.env' due to .rooignore rules.")
    );
    for params in [
        json!({ "path": "a", "start_line": 0 }),
        json!({ "path": "a", "startline": 3 }),
    ] {
        let error = ask(&daemon, "roo", params).expect_err("an error");
        assert_eq!((error.code, error.kind()), (-32602, "badParams"));
    }
}
