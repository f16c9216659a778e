//! The laws of dialects: all of them show the same lines of the same version, and each can be followed to the end; nothing here is about one of them alone.

use std::cell::RefCell;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

use super::{ask, shown, text_of};

const COUNTED: [&str; 4] = ["opencode", "pikuri", "llm-gateway", "roo"];

/// The parameters of a read of `count` lines from `first` on, in a dialect.
fn lines_of(dialect: &str, path: &str, first: u64, count: u64) -> Value {
    match dialect {
        "opencode" => json!({ "filePath": path, "offset": first, "limit": count }),
        "pikuri" => json!({ "path": path, "offset": first, "limit": count }),
        "llm-gateway" => json!({ "filePath": path, "offset": first - 1, "limit": count }),
        "roo" => json!({ "path": path, "start_line": first, "end_line": first + count - 1 }),
        // A list is exact; a single range is given context.
        _ if count == 1 => json!({ "path": path, "selector": format!("{first},{first}") }),
        _ => {
            let last = first + count - 1;
            json!({ "path": path, "selector": format!("{first}-{},{last}", last - 1) })
        }
    }
}

/// What `truncation.next` asks for.
fn following(dialect: &str, path: &str, next: &Value) -> Value {
    let number = |key: &str| next[key].as_u64().expect("a number");
    let base = if dialect == "llm-gateway" { 1 } else { 0 };
    lines_of(dialect, path, number("offset") + base, number("limit"))
}

/// Page after page from the start, the budget the same for all.
fn pages(daemon: &Daemon, dialect: &str, path: &str, budget: &Value) -> Vec<Value> {
    let key = match dialect {
        "opencode" | "llm-gateway" => "filePath",
        _ => "path",
    };
    let mut params = json!({ key: path });
    let mut pages = Vec::new();
    loop {
        params["budget"] = budget.clone();
        let page = ask(daemon, dialect, params).expect("a page");
        assert!(page.get("isError").is_none(), "{page}");
        let next = page["details"]["truncation"]["next"].clone();
        pages.push(page);
        assert!(pages.len() < 2000, "paging does not end");
        match next {
            Value::Null => return pages,
            next => params = following(dialect, path, &next),
        }
    }
}

/// The lines that a page has rows for, whole or cut.
fn rows(page: &Value) -> Vec<u64> {
    let mut lines = shown(page);
    let cut = page["details"]["cutLines"].as_array().into_iter().flatten();
    lines.extend(cut.map(|cut| cut["line"].as_u64().expect("a line")));
    lines.sort_unstable();
    lines
}

/// `(number, text)` of the rows of an answer that begins at a row.
fn written(dialect: &str, text: &str) -> Vec<(u64, String)> {
    let separator = match dialect {
        "opencode" => ": ",
        "pikuri" => "\t",
        "llm-gateway" | "roo" => " | ",
        _ => ":",
    };
    let row = |line: &str| {
        let (number, text) = line.split_once(separator)?;
        Some((number.trim_start().parse().ok()?, text.to_owned()))
    };
    text.lines().map_while(row).collect()
}

fn check_pages(daemon: &Daemon, tree: &Tree, name: &str, total: usize, budget: &Value) {
    for dialect in COUNTED {
        let pages = pages(daemon, dialect, &tree.spelled(name), budget);
        let all: Vec<u64> = pages.iter().flat_map(rows).collect();
        let expected: Vec<u64> = (1..=total as u64).collect();
        assert_eq!(all, expected, "{dialect} of {name}");
    }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: match std::env::var_os("PILCROW_LONG") {
            Some(_) => cases * 50,
            None => cases,
        },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        8 => "[a-zé¶:…#0-9|< ]{0,12}",
        1 => (1990usize..2010).prop_map(|count| "w".repeat(count)),
        1 => (300usize..400).prop_map(|count| "é…".repeat(count)),
    ]
}

#[test]
fn chosen_files_page_completely_in_each() {
    let wide = "x".repeat(99) + "\n";
    let texts = [
        String::new(),
        "\n".to_owned(),
        "no final newline".to_owned(),
        numbered_lines(1, 500),
        numbered_lines(1, 501),
        numbered_lines(1, 2000),
        numbered_lines(1, 2001),
        numbered_lines(1, 9000),
        wide.repeat(512),
        wide.repeat(513),
        wide.repeat(3000),
        format!("a\n{}\nb\n", "y".repeat(60_000)),
    ];
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for (index, text) in texts.iter().enumerate() {
        let name = format!("t{index}.txt");
        tree.write(&name, text);
        check_pages(&daemon, &tree, &name, text.lines().count(), &Value::Null);
    }
}

#[test]
fn any_file_pages_completely_in_each_under_any_budget() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    proptest!(config(40), |(
        lines in prop::collection::vec(any_line(), 0..60),
        budget_lines in 1u64..40,
        bytes in 1u64..4000,
    )| {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        tree.write("any.txt", &text);
        let budget = json!({ "lines": budget_lines, "bytes": bytes });
        check_pages(&daemon, &tree, "any.txt", lines.len(), &budget);
    });
}

#[test]
fn all_show_the_same_lines_of_the_same_version() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let dialects: Vec<String> =
        daemon.initialize_result()["capabilities"]["experimental"]["pilcrow"]["dialects"]
            .as_array()
            .expect("dialects")
            .iter()
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect();
    assert_eq!(dialects.len(), 7);
    let turn = RefCell::new(0);
    proptest!(config(40), |(
        lines in prop::collection::vec(any_line(), 1..120),
        first in 1u64..120,
        count in 1u64..60,
    )| {
        let total = lines.len() as u64;
        let first = first.min(total);
        let count = count.min(total - first + 1);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        tree.write("same.txt", &text);
        let path = tree.spelled("same.txt");
        let mut tags = Vec::new();
        let mut lines_shown = Vec::new();
        for dialect in &dialects {
            let mut params = lines_of(dialect, &path, first, count);
            *turn.borrow_mut() += 1;
            params["session"] = json!(format!("{dialect}"));
            let result = ask(&daemon, dialect, params).expect("a read");
            tags.push(result["details"]["hashline"].clone());
            lines_shown.push(rows(&result));
            let text = text_of(&result);
            let body = match dialect.as_str() {
                "opencode" => text.split_once("<content>\n").expect("content").1,
                "llm-gateway" | "hashline" => text.split_once('\n').expect("rows").1,
                _ => text,
            };
            if dialect != "plain" {
                let rows = written(dialect, body);
                for (at, (number, row)) in rows.iter().enumerate() {
                    prop_assert_eq!(*number, first + at as u64, "{}", dialect);
                    let line = &lines[*number as usize - 1];
                    let head: String = line.chars().take(2000).collect();
                    prop_assert!(row.starts_with(&head), "{}: {:?}", dialect, row);
                    prop_assert!(line.chars().count() > 2000 || row == line, "{}", dialect);
                }
                prop_assert_eq!(rows.len() as u64, count, "{}", dialect);
            }
        }
        let expected: Vec<u64> = (first..first + count).collect();
        for (shown, dialect) in lines_shown.iter().zip(&dialects) {
            prop_assert_eq!(shown, &expected, "{}", dialect);
        }
        prop_assert!(tags.windows(2).all(|pair| pair[0] == pair[1]), "{:?}", tags);
        prop_assert!(tags[0]["tag"].is_string());
    });
}

#[test]
fn a_file_too_large_to_hold_is_paged_as_well() {
    let line = "x".repeat(99) + "\n";
    let tree = Tree::new().file("huge.log", line.repeat(36 * 1024 * 1024 / 100));
    let daemon = Daemon::start(tree.path());
    let path = tree.spelled("huge.log");
    for dialect in COUNTED {
        // 512 lines of 100 bytes are 50 KiB, 478 where their numbers count; Roo stops before.
        let (first, second) = match dialect {
            "roo" => (500, 512),
            "llm-gateway" => (478, 478),
            _ => (512, 512),
        };
        let page = lines_of(dialect, &path, 1, 1);
        let params = match dialect {
            "opencode" | "llm-gateway" => json!({ "filePath": page["filePath"] }),
            _ => json!({ "path": page["path"] }),
        };
        let page = ask(&daemon, dialect, params).expect("a page");
        assert_eq!(shown(&page), (1..=first).collect::<Vec<u64>>(), "{dialect}");
        assert!(page["details"].get("hashline").is_none());
        let next = &page["details"]["truncation"]["next"];
        let page = ask(&daemon, dialect, following(dialect, &path, next)).expect("a page");
        let expected: Vec<u64> = (first + 1..=first + second).collect();
        assert_eq!(shown(&page), expected, "{dialect}");
    }
}

/// What was read in any dialect can be edited by line, and what it did not show cannot.
#[test]
fn each_records_what_it_showed() {
    for dialect in ["hashline", "numbered", "plain"].into_iter().chain(COUNTED) {
        let tree = Tree::new().file("a.txt", numbered_lines(1, 50));
        let daemon = Daemon::start(tree.path());
        daemon.ignore_changes();
        let params = lines_of(dialect, &tree.spelled("a.txt"), 10, 5);
        let read = ask(&daemon, dialect, params).expect("a read");
        let tag = read["details"]["hashline"]["tag"].as_str().expect("a tag");
        let edit = |line: u64| {
            let patch = format!("¶a.txt#{tag}\nreplace {line}:\n+new\n");
            daemon.call("agent/edit", json!({ "patch": patch }))
        };
        assert_eq!(
            edit(20).expect_err("not shown").kind(),
            "notShown",
            "{dialect}"
        );
        edit(12).expect("an edit");
    }
}

#[test]
fn what_belongs_to_every_read_is_taken_in_each() {
    let bytes: Vec<u8> = (1..=20).flat_map(|_| b"na\xefve\n".to_vec()).collect();
    let tree = Tree::new().file("latin.txt", bytes.as_slice());
    let daemon = Daemon::start(tree.path());
    for dialect in COUNTED {
        let mut params = lines_of(dialect, &tree.spelled("latin.txt"), 1, 2000);
        params["session"] = json!("s");
        params["encoding"] = json!("windows-1252");
        params["budget"] = json!({ "lines": 3 });
        params["want"] = json!(["displayContent"]);
        params["_meta"] = json!({ "x": 1 });
        params["workDoneToken"] = json!("t");
        let result = ask(&daemon, dialect, params).expect("a read");
        assert_eq!(result["details"]["encoding"], "windows-1252", "{dialect}");
        assert_eq!(
            result["details"]["displayContent"],
            json!({ "text": "naïve\nnaïve\nnaïve", "startLine": 1 })
        );
        assert_eq!(result["details"]["truncation"]["reason"], "lines");
    }
}

#[test]
fn a_dialect_is_chosen_by_the_settings_or_the_request() {
    let tree = Tree::new().file("a.txt", "x\n");
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "read": { "dialect": "pikuri" } }))
        .start();
    assert_eq!(daemon.read_text("a.txt"), "     1\tx");
    let roo = ask(&daemon, "roo", json!({ "path": "a.txt" })).expect("a read");
    assert_eq!(text_of(&roo), "1 | x");
    let tools = daemon.call("agent/tools", json!({})).expect("tools");
    let pikuri = daemon
        .call("agent/tools", json!({ "dialect": "pikuri" }))
        .expect("tools");
    assert_eq!(tools, pikuri);
}

#[test]
fn unsaved_text_is_what_each_shows() {
    let tree = Tree::new().file("a.txt", "disk\n");
    let daemon = Daemon::start(tree.path());
    let uri = crate::client::file_uri(&tree.join("a.txt"));
    let document =
        json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": "typed\n" });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    for dialect in COUNTED {
        let params = lines_of(dialect, &tree.spelled("a.txt"), 1, 1);
        let result = ask(&daemon, dialect, params).expect("a read");
        assert!(text_of(&result).contains("typed"), "{dialect}");
        assert_eq!(result["details"]["origin"], "editor");
    }
}
