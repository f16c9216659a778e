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
    // Those that go on beyond what is shown come first, then the others.
    assert_eq!(
        rows[0],
        "498-511 | pub fn number_32( a: u8, b: &str, ) -> u8"
    );
    assert_eq!(
        rows[28],
        "946-959 | pub fn number_60( a: u8, b: &str, ) -> u8"
    );
    assert_eq!(rows[29], "2-15 | pub fn number_1( a: u8, b: &str, ) -> u8");
    // What is printed can be asked for.
    let range = json!({ "path": "long.rs", "start_line": 946, "end_line": 959 });
    let range = read(&daemon, range);
    assert!(text_of(&range).starts_with("946 | pub fn number_60(\n"));
    assert!(text_of(&range).ends_with("\n959 | }"));
    let python = read(&daemon, json!({ "path": "long.py" }));
    assert!(
        text_of(&python)
            .ends_with("specific ranges.]\n4-10 | class Shape:\n6-10 | def area(self):"),
        "{}",
        text_of(&python)
    );
    // A range has none.
    let part = read(&daemon, json!({ "path": "long.rs", "start_line": 1 }));
    assert!(!text_of(&part).contains("2-15 | "));
}

/// A class or a function as Python itself finds it.
struct Found {
    first: u64,
    last: u64,
    /// `class Name`, `async def name`.
    what: String,
}

/// The text of a module of Python's library, and what it defines.
fn by_python(module: &str) -> (String, Vec<Found>) {
    const LIST: &str = "
import ast, sys, sysconfig
text = open(sysconfig.get_paths()['stdlib'] + '/' + sys.argv[1], encoding='utf-8').read()
kinds = {ast.ClassDef: 'class', ast.FunctionDef: 'def', ast.AsyncFunctionDef: 'async def'}
found = [n for n in ast.walk(ast.parse(text)) if type(n) in kinds]
for n in sorted(found, key=lambda n: n.lineno):
    print(n.lineno, n.end_lineno, kinds[type(n)], n.name)
print('----')
print(text, end='')
";
    let listed = std::process::Command::new("python3")
        .args(["-c", LIST, module])
        .output()
        .expect("python3 runs");
    let listed = String::from_utf8(listed.stdout).expect("UTF-8");
    let (names, text) = listed.split_once("----\n").expect("two parts");
    let found = names.lines().map(|line| {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().expect("a word");
        Found {
            first: word().parse().expect("a line"),
            last: word().parse().expect("a line"),
            what: word().to_owned(),
        }
    });
    (text.to_owned(), found.collect())
}

/// What follows the notice. Parsing has 100 ms, which a busy machine may not grant: other content is
/// tried anew.
fn definitions_of(daemon: &Daemon, tree: &Tree, module: &str, text: &str) -> Vec<String> {
    let listed = (0..20).find_map(|again| {
        tree.write(module, text.to_owned() + &"# again\n".repeat(again));
        let result = read(daemon, json!({ "path": module }));
        let (_, after) = text_of(&result)
            .split_once("specific ranges.]")
            .expect("a notice");
        (!after.is_empty()).then(|| after.trim_start().to_owned())
    });
    let listed = listed.expect("definitions");
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn every_class_and_function_of_cut_files_is_defined() {
    let modules = [
        "ast.py",
        "configparser.py",
        "dataclasses.py",
        "enum.py",
        "pickle.py",
        "shutil.py",
        "socket.py",
        "ssl.py",
        "subprocess.py",
        "threading.py",
    ];
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let mut classes = 0;
    for module in modules {
        let (text, wanted) = by_python(module);
        let lines: Vec<&str> = text.lines().collect();
        let mut rows = definitions_of(&daemon, &tree, module, &text);
        // Of what goes on beyond line 500 there are 200 at most, and the others are counted.
        let more = rows
            .iter()
            .position(|row| row.ends_with(" more definitions]"));
        let left_out = more.map_or(0, |at| {
            assert_eq!(at, 200, "{module}");
            let row = rows.remove(at);
            let count = row.trim_start_matches('[').split(' ').next();
            count.and_then(|count| count.parse().ok()).expect("a count")
        });
        assert_eq!(rows.len() + left_out, wanted.len(), "{module}");
        let mut in_shown = false;
        for row in &rows {
            let (range, signature) = row.split_once(" | ").expect("a row");
            let (first, last) = range.split_once('-').expect("a range");
            let (first, last): (u64, u64) = (
                first.parse().expect("a line"),
                last.parse().expect("a line"),
            );
            let found = wanted.iter().find(|found| found.first == first);
            let found = found.unwrap_or_else(|| panic!("{module}: {row}"));
            let rest = signature.strip_prefix(&found.what);
            assert!(
                rest.is_some_and(|rest| rest.starts_with(['(', ':'])),
                "{module}: {row}"
            );
            // Comments that end a body are in it to us, and nowhere to Python.
            let beyond = lines[found.last as usize..last as usize].iter();
            let mut beyond = beyond.map(|line| line.trim());
            assert!(
                beyond.all(|line| line.is_empty() || line.starts_with('#')),
                "{module}: {row}"
            );
            in_shown |= last <= 500;
            assert_eq!(in_shown, last <= 500, "{module}: {row} comes too late");
            classes += usize::from(found.what.starts_with("class "));
        }
    }
    assert!(classes > 100, "{classes} classes");
}

#[test]
fn a_cut_by_bytes_says_so() {
    let wide = "x".repeat(299) + "\n";
    let tree = Tree::new().file("wide.txt", wide.repeat(400));
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, json!({ "path": "wide.txt" }));
    assert!(text_of(&result).ends_with(
        "\n\n[Showing only 170 of 400 total lines (50KB limit). Use start_line and end_line to read specific ranges.]"
    ));
    let params = json!({ "path": "wide.txt", "start_line": 101, "budget": { "bytes": 1000 } });
    assert!(text_of(&read(&daemon, params)).ends_with(
        "\n\n[Showing only lines 101-103 of 400 total lines (1000 bytes limit). Use start_line and end_line to read specific ranges.]"
    ));
}

#[test]
fn errors_are_results_in_its_words() {
    let tree = Tree::new()
        .file(".rooignore", "secret/\n*.key\n")
        .file("secret/plan.txt", "x\n")
        .file("a.key", "x\n")
        .file("sub/.agentignore", "hidden.txt\n")
        .file("sub/hidden.txt", "x\n")
        .file("deep/er/only_here.txt", "x\n")
        .file("config.tsx", "");
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        error(&daemon, json!({ "path": "non_existent_file.txt" })),
        "Error: File not found at path 'non_existent_file.txt'."
    );
    assert_eq!(
        error(&daemon, json!({ "path": "config.ts" })),
        "Error: File not found at path 'config.ts'."
    );
    // Nor is the only file read that ends so.
    assert_eq!(
        error(&daemon, json!({ "path": "er/only_here.txt" })),
        "Error: File not found at path 'er/only_here.txt'."
    );
    for path in ["a.key", "secret/plan.txt"] {
        assert_eq!(
            error(&daemon, json!({ "path": path })),
            format!("Error: Access denied to file '{path}' due to .rooignore rules.")
        );
    }
    let cases = [
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
    for (params, text) in [
        (
            json!({ "path": "a", "start_line": 0 }),
            "Error: start_line must be >= 1.",
        ),
        (json!({}), "Error: 'path' is missing; it must be a string."),
        (
            json!({ "path": "a", "startline": 3 }),
            "Error: There is no parameter 'startline'. Did you mean 'start_line'? It takes end_line, path and start_line.",
        ),
    ] {
        assert_eq!(error(&daemon, params), text);
    }
}

/// As in the seed, whether or not the list of denied names has it too.
#[test]
fn what_the_ignore_file_denies_is_said_in_the_seeds_sentence() {
    let tree = Tree::new().file(".rooignore", ".env\n").file(".env", "x\n");
    for deny in [json!([]), json!([".env", ".env.*"])] {
        let daemon = Daemon::builder()
            .root(tree.path())
            .settings(json!({ "access": { "deny": deny } }))
            .start();
        assert_eq!(
            error(&daemon, json!({ "path": ".env" })),
            "Error: Access denied to file '.env' due to .rooignore rules."
        );
    }
}
