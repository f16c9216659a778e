//! Structural summaries over the wire; a line that is folded is never counted as shown.

use serde_json::{Value, json};

use crate::client::{Daemon, HANG, file_uri};
use crate::tree::Tree;

/// A class of so many methods, each of six lines and one blank one.
fn class(methods: usize) -> String {
    let mut text = String::from("import { a } from \"./a\";\n\nexport class Many {\n");
    for number in 0..methods {
        text.push_str(&format!(
            "  method{number}(value: number): number {{\n    const one = value + {number};\n    const two = one * 2;\n    console.log(two);\n    return two;\n  }}\n\n"
        ));
    }
    text.push_str("}\n");
    text
}

fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text block")
}

fn summaries(daemon: &Daemon) -> (u64, u64) {
    let status = daemon.call("agent/status", json!({})).expect("a status");
    let count = |name: &str| status["summaries"][name].as_u64().expect("a count");
    (count("hits"), count("misses"))
}

#[test]
fn two_hundred_methods_are_two_hundred_signatures() {
    let tree = Tree::new().file("many.ts", class(200));
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("many.ts").expect("a read");
    let text = text_of(&result);
    let folded = text.lines().filter(|row| row.ends_with("): number { … }"));
    assert_eq!(folded.count(), 200);
    assert!(
        text.contains("\n4-9:  method0(value: number): number { … }\n10:\n11-16:"),
        "{text}"
    );
    let expected = "\n\n[1200 lines elided; re-read needed ranges, e.g. many.ts:4-9,11-16,18-23,25-30,32-37,39-44,46-51,53-58,60-65,67-72,74-79]";
    assert!(expected.trim().chars().count() <= 120);
    assert!(text.ends_with(expected), "{text}");
    let summary = &result["details"]["summary"];
    assert_eq!(summary["language"], "typescript");
    assert_eq!(summary["lines"], 1404);
    assert_eq!(summary["elidedLines"], 1200);
    assert_eq!(summary["elidedSpans"][0], json!({ "start": 4, "end": 9 }));
    // Of a row in braces the ends are shown, of the rest nothing.
    let shown = &result["details"]["shown"];
    assert_eq!(shown[0], json!({ "start": 1, "end": 4 }));
    assert_eq!(shown[1], json!({ "start": 9, "end": 11 }));
}

#[test]
fn rows_and_ranges_name_every_line_once() {
    let tree = Tree::new().file("many.ts", class(90));
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text("many.ts");
    let mut next = 1;
    for row in text.lines().skip(1).take_while(|row| !row.is_empty()) {
        let number = row.split(':').next().expect("a number");
        let (start, end) = number.split_once('-').unwrap_or((number, number));
        assert_eq!(start.parse(), Ok(next), "{row}");
        next = end.parse::<u64>().expect("a number") + 1;
    }
    assert_eq!(next, 3 + 90 * 7 + 1 + 1);
}

#[test]
fn who_asks_for_lines_or_all_of_it_gets_no_summary() {
    let short = "fn a() {\n    one();\n    two();\n    three();\n    four();\n}\n";
    let tree = Tree::new()
        .file("many.ts", class(40))
        .file("short.rs", short)
        .file("notes.txt", "word\n".repeat(500));
    let daemon = Daemon::start(tree.path());
    for path in [
        "many.ts:full",
        "many.ts:1-",
        "many.ts:raw",
        "short.rs",
        "notes.txt",
    ] {
        let result = daemon.read(path).expect(path);
        assert!(!text_of(&result).contains('…'), "{path}");
        assert_eq!(result["details"]["summary"], Value::Null, "{path}");
    }
    let plain = daemon.read_with(json!({ "path": "many.ts", "dialect": "plain" }));
    assert_eq!(text_of(&plain.expect("a read")), class(40).trim_end());
    let numbered = daemon.read_with(json!({ "path": "many.ts", "dialect": "numbered" }));
    assert!(text_of(&numbered.expect("a read")).starts_with("1:import"));
    assert_eq!(summaries(&daemon), (0, 1));
    let settings = json!({ "read": { "summarize": { "enabled": false } } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    assert_eq!(
        daemon.read("many.ts").expect("a read")["details"]["summary"],
        Value::Null
    );
}

#[test]
fn a_summary_is_made_once_for_all_sessions_and_again_for_other_content() {
    let tree = Tree::new().file("many.ts", class(40));
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let read = |session: &str| {
        let params = json!({ "path": "many.ts", "session": session });
        text_of(&daemon.read_with(params).expect("a read")).to_owned()
    };
    let first = read("one");
    assert_eq!(first, read("two"));
    assert_eq!(summaries(&daemon), (1, 1));
    tree.write("many.ts", class(41));
    assert!(read("one").contains("method40"));
    // The editor's unsaved text has a summary of its own.
    let uri = file_uri(&tree.join("many.ts"));
    let document =
        json!({ "uri": uri, "languageId": "typescript", "version": 1, "text": class(60) });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    assert!(read("two").contains("method59"));
    daemon.notify(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": uri } }),
    );
    assert!(!read("two").contains("method59"));
}

#[test]
fn an_outline_that_is_too_long_folds_further() {
    let mut text: String = (0..4000)
        .map(|number| format!("export const c{number} = {number};\n"))
        .collect();
    text.push_str(&class(1));
    let tree = Tree::new().file("long.ts", &text);
    let daemon = Daemon::start(tree.path());
    let result = daemon.read_with(json!({ "path": "long.ts", "budget": { "lines": 1000 } }));
    let result = result.expect("a read");
    let text = text_of(&result);
    assert!(
        text.contains("\n1201-1500:export const c1200 = 1200; … (300 declarations)\n"),
        "{text}"
    );
    assert!(
        text.contains("  method0(value: number): number {"),
        "{text}"
    );
    assert_eq!(result["details"]["truncation"], Value::Null);
    assert_eq!(result["details"]["summary"]["lines"], 4011);
}

#[test]
fn one_error_hides_one_function_and_no_other() {
    let mut text = class(30);
    text = text.replacen("const two = one * 2;", "const two = = one ( 2;", 1);
    let tree = Tree::new().file("many.ts", &text);
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text("many.ts");
    for number in 1..30 {
        let row = format!("  method{number}(value: number): number {{");
        assert!(text.contains(&row), "{row} in {text}");
    }
    assert!(text.matches("{ … }").count() >= 10, "{text}");
}

#[test]
fn the_languages_are_named_at_the_start() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let pilcrow = &daemon.initialize_result()["capabilities"]["experimental"]["pilcrow"];
    let languages = pilcrow["languages"].as_array().expect("a list");
    for name in ["rust", "python", "tsx", "c-sharp", "sql", "dockerfile"] {
        assert!(languages.contains(&json!(name)), "{name}");
    }
    assert!(languages.len() >= 46);
}

/// Waits until the counts of summaries are as wanted: a background job says nothing when it ends.
fn wait_for_summaries(daemon: &Daemon, what: &str, holds: impl Fn(&Value) -> bool) {
    let begun = std::time::Instant::now();
    loop {
        let status = daemon.call("agent/status", json!({})).expect("a status");
        if holds(&status["summaries"]) {
            return;
        }
        assert!(begun.elapsed() < HANG, "{what}: {status}");
        std::thread::yield_now();
    }
}

#[cfg(unix)]
#[test]
fn the_summary_of_a_watched_file_is_made_again_before_anybody_asks() {
    let tree = Tree::new().file("many.ts", class(40));
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    assert!(daemon.read_text("many.ts").contains("method39"));
    let before = daemon.call("agent/status", json!({})).expect("a status");
    let bytes = before["summaries"]["bytes"].clone();
    tree.replace("many.ts", class(80));
    wait_for_summaries(&daemon, "a larger summary", |summaries| {
        summaries["count"] == 1 && summaries["bytes"].as_u64() > bytes.as_u64()
    });
    let (hits, misses) = summaries(&daemon);
    assert!(daemon.read_text("many.ts").contains("method79"));
    assert_eq!(summaries(&daemon), (hits + 1, misses));
    std::fs::remove_file(tree.join("many.ts")).expect("removed");
    wait_for_summaries(&daemon, "no summary", |summaries| summaries["count"] == 0);
}

#[test]
fn a_line_that_is_folded_is_no_line_that_was_shown() {
    let tree = Tree::new().file("many.ts", class(40));
    let daemon = Daemon::start(tree.path());
    let uri = file_uri(&tree.join("many.ts"));
    let document =
        json!({ "uri": uri, "languageId": "typescript", "version": 1, "text": class(40) });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let params = json!({ "path": "many.ts", "session": "one" });
    let result = daemon.read_with(params).expect("a read");
    assert!(text_of(&result).contains("\n4-9:  method0(value: number): number { … }\n"));
    // Lines from 0. The first is inside the fold and was not shown: whoever was to be told of it
    // would be told here, before the second.
    for (version, line) in [(2, 5), (3, 3)] {
        let start = json!({ "line": line, "character": 0 });
        let change = json!({ "range": { "start": start, "end": start }, "text": " " });
        daemon.notify(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [change] }),
        );
    }
    let told = daemon.expect_notification("agent/didChangeSnapshot");
    assert_eq!(told["changed"], json!([{ "start": 4, "end": 4 }]), "{told}");
}

#[test]
fn a_signature_is_never_folded_with_its_body() {
    let function = |number: usize| {
        format!(
            "static int\nf{number}(struct a *a,\n   int b)\n{{\n{}\treturn b;\n}}\n\n",
            "\ta->b += b;\n".repeat(20)
        )
    };
    let text: String = (0..20).map(function).collect();
    let tree = Tree::new().file("a.c", text);
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text("a.c");
    for number in 3..20 {
        let signature = format!(
            ":static int\n{}:f{number}(struct a *a,\n{}:   int b)\n{}-",
            number * 27 + 2,
            number * 27 + 3,
            number * 27 + 4
        );
        assert!(text.contains(&signature), "{signature} in {text}");
    }
}

#[test]
fn what_is_small_is_opened_while_the_view_is() {
    // 40 rows of outline: bodies are opened while fewer than 60 are visible, and up to 120.
    let body = |lines: usize| "    step();\n".repeat(lines);
    let functions = |count: usize, lines: usize| -> String {
        (0..count)
            .map(|number| format!("fn f{lines}_{number}() {{\n{}}}\n", body(lines)))
            .collect()
    };
    let tree = Tree::new().file("a.rs", functions(38, 6) + &functions(2, 90));
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("a.rs").expect("a read");
    let rows = text_of(&result)
        .lines()
        .skip(1)
        .take_while(|row| !row.is_empty());
    // Each of the small ones is seven rows more: after three of them there are 61.
    assert_eq!(rows.count(), 40 + 3 * 7);
    assert!(text_of(&result).contains("\n24:}\n25-32:fn f6_3() { … }\n"));
}

#[test]
fn a_document_in_no_file_has_the_language_that_the_editor_says() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for (uri, language, text) in [
        ("untitled:Untitled-1", "typescript", class(30)),
        ("untitled:Untitled-2", "typescriptreact", class(30)),
        ("untitled:Untitled-3", "plaintext", class(30)),
    ] {
        let document = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }
    let language = |uri: &str| {
        let read = daemon.read(uri).expect("a read");
        read["details"]["summary"]["language"].clone()
    };
    assert_eq!(language("untitled:Untitled-1"), "typescript");
    assert_eq!(language("untitled:Untitled-2"), "tsx");
    assert_eq!(language("untitled:Untitled-3"), Value::Null);
}

/// The docstring is a row, and the body under it another, whatever the body ends in.
#[test]
fn a_function_that_ends_in_a_string_is_not_shown_as_its_docstring() {
    let mut text = String::new();
    for number in 0..60 {
        text.push_str(&format!(
            "def f{number}():\n    \"\"\"Number {number}.\"\"\"\n"
        ));
        for line in 0..8 {
            text.push_str(&format!("    x{line} = {line}\n"));
        }
        text.push_str("    return \"done\"\n\n\n");
    }
    let tree = Tree::new().file("many.py", &text);
    let daemon = Daemon::start(tree.path());
    let shown = daemon.read_text("many.py");
    assert!(
        shown.contains("\n1:def f0():\n2:    \"\"\"Number 0.\"\"\"\n3-11:…\n12:\n"),
        "{shown}"
    );
    assert!(!shown.contains("\"\"\" … "), "{shown}");
}
