//! Outlines that fit whatever room there is, over the wire; a row with a count has shown its first line and no other.

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::Tree;

const MOST_BYTES: usize = 24 * 1024;

fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text block")
}

/// The lines of each row, of an answer that ends in footers.
fn rows(text: &str) -> Vec<(u64, u64)> {
    let rows = text.lines().skip_while(|row| row.starts_with(['¶', '[']));
    let rows = rows.take_while(|row| !row.is_empty());
    let span = |row: &str| {
        let numbers = row.split(':').next().expect("a number");
        let (start, end) = numbers.split_once('-').unwrap_or((numbers, numbers));
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{row}"));
        (number(start), number(end))
    };
    rows.map(span).collect()
}

#[track_caller]
fn names_every_line_once(text: &str, total: u64) {
    let mut next = 1;
    for (start, end) in rows(text) {
        assert_eq!(start, next, "{text}");
        next = end + 1;
    }
    assert_eq!(next, total + 1, "{text}");
}

/// A header as `winapi.h` and its like are: a guard, a licence, macros, a structure, prototypes.
fn header(macros: usize) -> String {
    let mut text = String::from("/* Copyright (c) Nobody.\n");
    text.push_str(&" * Permission is granted.\n".repeat(12));
    text.push_str(" */\n#ifndef WIN_H\n#define WIN_H\n\n#include <stddef.h>\n\n");
    for number in 0..macros {
        text.push_str(&format!("#define WM_{number:05} 0x{number:04X}\n"));
    }
    text.push_str("\ntypedef struct tagMSG {\n  void *hwnd;\n  unsigned message;\n} MSG;\n\n");
    for number in 0..20 {
        text.push_str(&format!("int win_call_{number}(MSG *message);\n"));
    }
    text.push_str("\n#endif\n");
    text
}

#[test]
fn a_header_of_macros_is_one_answer_with_the_rest_of_it() {
    let source = header(3000);
    let total = source.lines().count() as u64;
    let tree = Tree::new().file("win.h", &source);
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("win.h").expect("a read");
    let text = text_of(&result);
    assert!(text.len() <= MOST_BYTES);
    names_every_line_once(text, total);
    assert!(
        text.contains("\n1-14:/* Copyright (c) Nobody. …\n"),
        "{text}"
    );
    assert!(text.contains(" macros)\n"), "{text}");
    for shown in [
        "typedef struct tagMSG {",
        "win_call_0(",
        "win_call_19(",
        "#endif",
    ] {
        assert!(text.contains(shown), "{shown} in {text}");
    }
    assert!(
        text.ends_with("[Folded further to fit; :outline shows every row]"),
        "{text}"
    );
    assert_eq!(result["details"]["truncation"], Value::Null);
    // The counts are those of the lines.
    let counted = text.lines().filter(|row| row.ends_with(" macros)"));
    for row in counted {
        let (numbers, _) = row.split_once(':').expect("numbers");
        let (start, end) = numbers.split_once('-').expect("a range");
        let lines = end.parse::<u64>().expect("a line") - start.parse::<u64>().expect("a line") + 1;
        assert!(row.ends_with(&format!("… ({lines} macros)")), "{row}");
    }
}

#[test]
fn of_a_row_with_a_count_the_first_line_is_shown() {
    let tree = Tree::new().file("win.h", header(3000));
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("win.h").expect("a read");
    let text = text_of(&result);
    let row = text
        .lines()
        .find(|row| row.ends_with(" macros)"))
        .expect("a count");
    let (start, rest) = row.split_once('-').expect("a range");
    let (end, _) = rest.split_once(':').expect("a range");
    let (start, end): (u64, u64) = (start.parse().expect("a line"), end.parse().expect("a line"));
    let spans = result["details"]["shown"].as_array().expect("spans");
    let is_shown = |line: u64| {
        spans
            .iter()
            .any(|span| span["start"].as_u64() <= Some(line) && Some(line) <= span["end"].as_u64())
    };
    assert!(is_shown(start) && !is_shown(start + 1) && !is_shown(end));
    let elided = result["details"]["summary"]["elidedSpans"]
        .as_array()
        .expect("spans");
    assert!(elided.contains(&json!({ "start": start, "end": end })));
}

#[test]
fn whatever_the_budget_all_lines_are_named() {
    let source = header(800);
    let total = source.lines().count() as u64;
    let tree = Tree::new().file("win.h", &source);
    let daemon = Daemon::start(tree.path());
    let budgets = [
        json!({ "bytes": 8000 }),
        json!({ "bytes": 1000 }),
        json!({ "bytes": 1 }),
        json!({ "lines": 40 }),
        json!({ "lines": 1 }),
        json!({ "chars": 6000 }),
        json!({ "chars": 900 }),
        json!({ "bytes": 500_000 }),
    ];
    for budget in budgets {
        let asked = json!({ "path": "win.h", "budget": budget });
        let result = daemon.read_with(asked).expect("a read");
        let text = text_of(&result);
        names_every_line_once(text, total);
        assert!(text.len() <= MOST_BYTES, "{budget}");
        assert_eq!(result["details"]["truncation"], Value::Null, "{budget}");
        if let Some(lines) = budget["lines"].as_u64() {
            assert!(rows(text).len() as u64 <= lines, "{budget}: {text}");
        }
        if let Some(chars) = budget["chars"].as_u64() {
            assert!(text.chars().count() as u64 <= chars, "{budget}: {text}");
        }
    }
}

#[test]
fn files_read_together_are_folded_to_their_shares() {
    let source = header(400);
    let total = source.lines().count() as u64;
    let mut tree = Tree::new();
    for number in 0..12 {
        tree = tree.file(&format!("win{number}.h"), &source);
    }
    let daemon = Daemon::start(tree.path());
    let paths: Vec<String> = (0..12).map(|number| format!("win{number}.h")).collect();
    let results = daemon
        .call("agent/readMany", json!({ "paths": paths }))
        .expect("results");
    let results = results["results"].as_array().expect("a list");
    let mut bytes = 0;
    for result in results {
        let text = text_of(&result["ok"]);
        names_every_line_once(text, total);
        assert!(text.contains(" macros)"), "{text}");
        bytes += text.len();
    }
    assert!(bytes <= 12 * 5 * 1024, "{bytes}");
}

#[test]
fn the_whole_outline_is_paged() {
    let source = header(3000);
    let total = source.lines().count() as u64;
    let tree = Tree::new()
        .file("win.h", &source)
        .file("notes.txt", "word\n".repeat(5000));
    let daemon = Daemon::start(tree.path());
    let mut next = String::from("win.h:outline");
    let mut spans = Vec::new();
    for page in 1.. {
        let result = daemon.read(&next).expect("a page");
        let text = text_of(&result);
        assert!(!text.contains(" macros)"), "{text}");
        spans.extend(rows(text));
        let truncation = &result["details"]["truncation"];
        let Some(selector) = truncation["nextSelector"].as_str() else {
            assert!(page > 1);
            break;
        };
        assert!(selector.ends_with("-:outline"), "{selector}");
        assert!(
            text.contains(&format!("Use :{selector} to continue]")),
            "{text}"
        );
        next = format!("win.h:{selector}");
    }
    assert_eq!(spans[0], (1, 14));
    let follow = spans.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0);
    assert!(follow && spans.last().is_some_and(|last| last.1 == total));
    let part = daemon.read_text("win.h:5-20:outline");
    assert_eq!(rows(&part)[0], (1, 14), "{part}");
    assert_eq!(rows(&part).last(), Some(&(20, 20)), "{part}");
    let refused = daemon.read("notes.txt:outline").expect_err("a refusal");
    assert_eq!(refused.kind(), "badSelector");
    let many = json!({ "path": "win.h:outline", "dialect": "plain" });
    assert_eq!(
        daemon.read_with(many).expect_err("a refusal").kind(),
        "badSelector"
    );
}

#[test]
fn a_function_of_a_thousand_lines_shows_what_is_in_it() {
    let mut text = String::from("export function createConverter() {\n  const state = {};\n");
    for number in 0..200 {
        text.push_str(&format!(
            "  function as{number}(value) {{\n    const a = value;\n    const b = a;\n    return b;\n  }}\n"
        ));
        text.push_str(&"  state.x = 1;\n".repeat(if number % 10 == 0 { 4 } else { 0 }));
    }
    text.push_str("  return { as0 };\n}\n");
    let total = text.lines().count() as u64;
    assert!(total > 1000);
    let tree = Tree::new().file("convert.js", &text);
    let daemon = Daemon::start(tree.path());
    let shown = daemon.read_text("convert.js");
    assert!(shown.len() <= MOST_BYTES);
    names_every_line_once(&shown, total);
    for number in 0..200 {
        let row = format!(":  function as{number}(value) {{");
        assert!(shown.contains(&row), "{row} in {shown}");
    }
}

#[test]
fn a_file_without_an_outline_says_why() {
    let tree = Tree::new()
        .file("large.ts", "export const a = 1;\n".repeat(20_001))
        .file("calls.js", "f();\n".repeat(5000))
        .file("short.js", "f();\n".repeat(150))
        .file("notes.txt", "word\n".repeat(5000));
    let daemon = Daemon::start(tree.path());
    let large = "No structure: the file has more than 20000 lines or 2 MiB";
    let calls = "No structure: nothing in this JavaScript file folds";
    for (path, notice) in [("large.ts", large), ("calls.js", calls)] {
        let result = daemon.read(path).expect("a read");
        assert_eq!(result["details"]["notices"], json!([notice]), "{path}");
        assert!(text_of(&result).contains(&format!("[{notice}]")), "{path}");
    }
    // Of what is shown whole, and of what is no source, there is nothing to say.
    for path in ["short.js", "notes.txt"] {
        let result = daemon.read(path).expect("a read");
        assert_eq!(result["details"]["notices"], Value::Null, "{path}");
    }
}
