//! `pilcrow://`, the guide that the daemon brings along, and what holds for every address that is no file; what stands in the pages is in `tidy`.

use std::process::Command;

use serde_json::{Value, json};

use crate::client::{Daemon, before_footer};
use crate::tree::Tree;

use super::{numbered, text};

const PAGES: [&str; 7] = [
    "read",
    "selectors",
    "edit",
    "kinds",
    "internal",
    "settings",
    "errors",
];

/// A page as it stands in the sources.
fn page(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/read/source/guide");
    std::fs::read_to_string(format!("{folder}/{name}.md")).expect("a page")
}

#[test]
fn each_page_is_numbered_rows_that_cannot_be_edited() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for name in PAGES {
        let result = daemon.read(format!("pilcrow://{name}")).expect("a page");
        let own = page(name);
        assert_eq!(text(&result), numbered(&own).join("\n"), "{name}");
        let raw = daemon.read_text(format!("pilcrow://{name}:raw"));
        assert_eq!(raw, own, "{name}");
        let details = &result["details"];
        assert_eq!(details["kind"], "internal");
        assert_eq!(details["meta"]["source"], format!("pilcrow://{name}"));
        assert_eq!(details["provider"], "daemon");
        assert_eq!(details["totalLines"], own.lines().count());
        for absent in ["hashline", "summary", "resolvedPath", "uri", "origin"] {
            assert!(details[absent].is_null(), "{absent}");
        }
    }
}

#[test]
fn the_bare_scheme_lists_its_pages() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("pilcrow://").expect("a list");
    let rows: Vec<&str> = text(&result).lines().collect();
    let resources = result["details"]["resources"].as_array().expect("a list");
    assert_eq!((rows.len(), resources.len()), (PAGES.len(), PAGES.len()));
    for ((name, row), resource) in PAGES.iter().zip(&rows).zip(resources) {
        let uri = format!("pilcrow://{name}");
        let about = resource["description"].as_str().expect("a description");
        assert!(row.starts_with(&uri) && row.ends_with(about), "{row}");
        assert_eq!(resource["uri"], uri);
        assert_eq!(resource["name"], *name);
        assert_eq!(resource["size"], page(name).len());
    }
    assert_eq!(result["details"]["kind"], "internal");
    assert_eq!(result["details"]["meta"]["source"], "pilcrow://");
    let some = daemon.read("pilcrow://:2-3").expect("some rows");
    let shown = text(&some).lines().take(2).collect::<Vec<_>>();
    assert_eq!(shown, rows[1..3]);
    assert_eq!(some["details"]["resources"], result["details"]["resources"]);
    let schemes = &daemon.initialize_result()["capabilities"]["experimental"]["pilcrow"]["schemes"];
    assert_eq!(
        *schemes,
        json!([
            "file", "untitled", "http", "https", "artifact", "agent", "local", "pilcrow", "omp",
            "skill", "rule", "memory", "issue", "pr", "mcp"
        ])
    );
}

#[test]
fn addresses_are_the_same_however_they_are_written() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let plain = daemon.read("pilcrow://read:1-3").expect("a page");
    for same in [
        "PILCROW://read:1-3",
        "omp://read:1-3",
        "Omp://re%61d:1+3",
        "pilcrow://read:L1-L3",
    ] {
        let read = daemon.read(same).expect("the same page");
        assert_eq!(read["content"], plain["content"], "{same}");
        assert_eq!(read["details"], plain["details"], "{same}");
    }
    let params = json!({ "path": "pilcrow://read", "selector": "1-3" });
    let apart = daemon.read_with(params).expect("the same page");
    assert_eq!(apart["content"], plain["content"]);
    // With a selector of its own the address is the whole path.
    let params = json!({ "path": "pilcrow://read:1-3", "selector": "1-3" });
    let error = daemon.read_with(params).expect_err("no such page");
    assert_eq!(error.kind(), "notFound");
}

#[test]
fn following_the_selectors_shows_every_line_once() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for (tail, rows) in [("", numbered(&page("edit"))), ("raw", Vec::new())] {
        let mut selector = tail.to_owned();
        let mut seen = String::new();
        let mut reads = 0;
        loop {
            let params =
                json!({ "path": "pilcrow://edit", "selector": selector, "budget": { "lines": 7 } });
            let read = daemon.read_with(params).expect("a part");
            reads += 1;
            let part = text(&read);
            match rows.is_empty() {
                true => seen.push_str(part),
                false => {
                    let part = before_footer(part);
                    seen.push_str(part);
                    seen.push('\n');
                }
            }
            match read["details"]["truncation"]["nextSelector"].as_str() {
                Some(next) => selector = next.to_owned(),
                None => break,
            }
        }
        assert!(reads > 6, "{reads}");
        match rows.is_empty() {
            true => assert_eq!(seen, page("edit")),
            false => assert_eq!(seen, rows.join("\n") + "\n"),
        }
    }
}

#[test]
fn ranges_have_no_context() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let own = numbered(&page("read"));
    for (selector, lines) in [
        ("5-6", 4..6),
        ("5+2", 4..6),
        ("-2", own.len() - 2..own.len()),
    ] {
        let shown = daemon.read_text(format!("pilcrow://read:{selector}"));
        let rows = shown.split("\n\n[").next().expect("rows");
        assert_eq!(rows, own[lines].join("\n"), "{selector}");
    }
}

#[test]
fn what_is_not_there_or_not_meant_is_said() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let refused = |path: &str| daemon.read(path).expect_err(path);
    let missing = refused("pilcrow://selector:5-9");
    assert_eq!(missing.kind(), "notFound");
    assert_eq!(missing.data["suggestions"], json!(["pilcrow://selectors"]));
    assert_eq!(
        refused("pilcrow://nothing-like-it").data["suggestions"],
        json!([])
    );
    for path in ["pilcrow://read/x", "pilcrow:///read", "pilcrow://../read"] {
        assert_eq!(refused(path).kind(), "notFound", "{path}");
    }
    for path in [
        "pilcrow://read:0",
        "pilcrow://read:x",
        "pilcrow://read:9-5",
        "pilcrow://:x",
        "pilcrow://read:p3",
        "pilcrow://read:table",
    ] {
        assert_eq!(refused(path).kind(), "badSelector", "{path}");
    }
    assert_eq!(refused("pilcrow://read?x=1").kind(), "badParams");
    let long = refused(&format!("pilcrow://{}", "a".repeat(1_000_000)));
    assert_eq!(long.kind(), "notFound");
    assert!(long.message.len() < 400, "{}", long.message);
    assert_eq!(refused("ftp://example.com").kind(), "unsupported");
}

#[test]
fn several_at_once_and_in_each_dialect() {
    let tree = Tree::new().file("a.txt", "one\n");
    let daemon = Daemon::start(tree.path());
    let targets = json!([{ "path": "a.txt" }, { "path": "pilcrow://kinds:1,2" }, { "path": "pilcrow://kind" }]);
    let many = daemon.call("agent/readMany", json!({ "targets": targets }));
    let many = many.expect("results")["results"].clone();
    assert_eq!(text(&many[1]["ok"]), "1:# Kinds\n2:");
    assert_eq!(many[2]["error"]["data"]["kind"], "notFound");
    let first = page("kinds").lines().next().expect("a line").to_owned();
    for (dialect, parameter, row, missing) in [
        ("hashline", "path", format!("1:{first}"), None),
        ("numbered", "path", format!("1:{first}"), None),
        ("plain", "path", first.clone(), None),
        (
            "opencode",
            "filePath",
            format!("<path>pilcrow://kinds</path>\n<type>file</type>\n<content>\n1: {first}"),
            None,
        ),
        (
            "pikuri",
            "path",
            format!("     1\t{first}"),
            Some("Error: file not found: pilcrow://kind"),
        ),
        (
            "llm-gateway",
            "filePath",
            "<file path=\"pilcrow://kinds\" lines=\"1-".to_owned(),
            Some("File not found: pilcrow://kind"),
        ),
        (
            "roo",
            "path",
            format!("1 | {first}"),
            Some("Error: File not found at path 'pilcrow://kind'."),
        ),
    ] {
        let read = |path: &str| daemon.read_with(json!({ "dialect": dialect, parameter: path }));
        let shown = read("pilcrow://kinds").expect(dialect);
        assert!(
            text(&shown).starts_with(&row),
            "{dialect}: {}",
            text(&shown)
        );
        let list = read("pilcrow://").expect(dialect);
        assert!(
            text(&list).contains("pilcrow://read       Reading"),
            "{dialect}"
        );
        match (read("pilcrow://kind"), missing) {
            (Ok(result), Some(said)) => assert_eq!(text(&result), said),
            (Err(error), None) => assert!(
                error.message.contains("pilcrow://kinds"),
                "{dialect}: {}",
                error.message
            ),
            (result, _) => panic!("{dialect}: {result:?}"),
        }
    }
}

#[test]
fn nothing_of_it_can_be_changed_and_no_folder_is_made() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.read("pilcrow://read").expect("a page");
    let patch = json!({ "patch": "¶pilcrow://read#1234\ndelete 1\n" });
    let by_text = json!({ "files": [{ "path": "omp://read", "edits": [{ "op": "replace_text", "old": "Reading", "new": "x" }] }] });
    for params in [patch, by_text] {
        let error = daemon.call("agent/edit", params).expect_err("refused");
        assert_eq!(error.kind(), "unsupported", "{}", error.message);
        assert!(
            error
                .message
                .contains("the daemon's own guide and cannot be changed")
        );
    }
    for path in ["pilcrow://read", "pilcrow://new", "pilcrow://"] {
        let params = json!({ "path": path, "text": "x\n" });
        let error = daemon.call("agent/write", params).expect_err("refused");
        assert_eq!(error.kind(), "unsupported", "{}", error.message);
    }
    let made = std::fs::read_dir(tree.path()).expect("the root").count();
    assert_eq!(made, 0);
}

#[test]
fn a_folder_of_that_name_shadows_nothing() {
    let tree = Tree::new()
        .file("pilcrow:/read", "mine\n")
        .file("omp:/new", "mine too\n");
    let daemon = Daemon::start(tree.path());
    assert!(
        daemon
            .read_text("pilcrow://read")
            .starts_with("1:# Reading")
    );
    assert!(daemon.read("omp://new").is_err());
    for path in ["./pilcrow:/read", "pilcrow:/read"] {
        assert!(daemon.read_text(path).ends_with("\n1:mine"), "{path}");
    }
    let params = json!({ "path": "pilcrow://read", "selector": "1-2" });
    let literal = daemon.read_with(params).expect("a page");
    assert!(text(&literal).starts_with("1:# Reading"));
}

#[test]
fn an_open_document_of_that_address_goes_first() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let document = json!({ "uri": "pilcrow://read", "languageId": "markdown", "version": 1, "text": "the editor's\n" });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let read = daemon.read("pilcrow://read:1-1").expect("the document");
    assert!(text(&read).ends_with("\n1:the editor's"), "{}", text(&read));
    assert_eq!(read["details"]["kind"], "file");
    assert!(
        daemon
            .read_text("pilcrow://edit")
            .starts_with("1:# Editing")
    );
    daemon.notify(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": "pilcrow://read" } }),
    );
    let gone = daemon.expect_notification("agent/didChangeSnapshot");
    assert_eq!(gone["newTag"], Value::Null);
    assert!(
        daemon
            .read_text("pilcrow://read")
            .starts_with("1:# Reading")
    );
}

#[test]
fn the_command_line_reads_it() {
    let tree = Tree::new();
    let output = Command::new(env!("CARGO_BIN_EXE_pilcrow"))
        .current_dir(tree.path())
        .args(["read", "pilcrow://read"])
        .output()
        .expect("the binary runs");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(printed, numbered(&page("read")).join("\n") + "\n");
}
