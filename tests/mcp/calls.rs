//! Calls of tools: what a model is shown of each, and how it goes on from an error.

use serde_json::{Value, json};

use crate::tree::{Tree, numbered_lines};

use super::{McpProcess, tag_in, text};

const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn dot() -> Vec<u8> {
    use base64::Engine;
    base64::prelude::BASE64_STANDARD
        .decode(DOT)
        .expect("base64")
}

#[test]
fn a_read_an_edit_and_a_stale_edit_that_is_mended_from_its_error() {
    let tree = Tree::new().file("a.txt", "l1\nl2\nl3\nl4\nl5\n");
    let server = McpProcess::start(tree.path());
    let read = server.text("read", json!({ "path": "a.txt" }));
    assert_eq!(read, "¶a.txt#7CCB\n1:l1\n2:l2\n3:l3\n4:l4\n5:l5");
    let edited = server.text(
        "edit",
        json!({ "patch": "¶a.txt#7CCB\nreplace 2:\n+changed\n" }),
    );
    let tag = tag_in(&edited);
    assert_eq!(edited, format!("¶a.txt#{tag}\n1:l1\n2:changed\n3:l3"));
    let stale = server.error(
        "edit",
        json!({ "patch": "¶a.txt#7CCB\nreplace 2:\n+stale\n" }),
    );
    // Its first line alone says what to do; the rows are those that count as shown.
    let first = stale.lines().next().expect("a line");
    assert!(first.contains(&format!("¶a.txt#{tag}")), "{stale}");
    assert!(stale.contains("\n2:changed\n"), "{stale}");
    let mended = format!("¶a.txt#{}\nreplace 2:\n+mended\n", tag_in(&stale));
    server.text("edit", json!({ "patch": mended }));
    let written = std::fs::read_to_string(tree.join("a.txt")).expect("the file");
    assert_eq!(written, "l1\nmended\nl3\nl4\nl5\n");
}

#[test]
fn several_reads_are_one_text() {
    let tree = Tree::new()
        .file("a.txt", "one\ntwo\n")
        .file("sub/c.txt", "raw\n")
        .file("dot.png", dot());
    let server = McpProcess::start(tree.path());
    let paths = json!(["a.txt:1-1", "nothing.txt", "sub/c.txt:raw", "dot.png"]);
    let result = server.call("read_many", json!({ "paths": paths }));
    assert_eq!(result["isError"], false);
    let said = text(&result);
    let tag = tag_in(&said);
    let expected = format!(
        "¶a.txt#{tag}\n1:one\n2:two\n\n[2 of 4: nothing.txt]\nFile not found: nothing.txt.\n\n[3 of 4: sub/c.txt:raw]\nraw\n\n[4 of 4: dot.png]\n"
    );
    assert!(said.starts_with(&expected), "{said}");
    let content = result["content"].as_array().expect("content");
    assert_eq!(content.len(), 2);
    assert_eq!(
        (&content[1]["type"], &content[1]["mimeType"]),
        (&json!("image"), &json!("image/png"))
    );
    let none = server.call("read_many", json!({ "paths": ["x.txt", "y.txt"] }));
    assert_eq!(none["isError"], true);
    let targets = server.text("read_many", json!({ "targets": [{ "path": "a.txt" }] }));
    assert!(targets.ends_with("\n2:two"), "{targets}");
}

#[test]
fn a_picture_comes_behind_its_note() {
    let tree = Tree::new().file("dot.png", dot());
    let server = McpProcess::start(tree.path());
    let result = server.call("read", json!({ "path": "dot.png" }));
    assert_eq!(result["content"][0]["type"], "text");
    assert_eq!(result["content"][1]["type"], "image");
    assert!(result.get("_meta").is_none());
}

#[test]
fn documents_are_text_in_every_dialect() {
    let pdf = std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/document/report.pdf"
    ));
    let Ok(pdf) = pdf else {
        panic!("a PDF among the fixtures");
    };
    let tree = Tree::new().file("a.pdf", pdf);
    for (dialect, parameter) in [
        ("opencode", "filePath"),
        ("llm-gateway", "filePath"),
        ("hashline", "path"),
    ] {
        let server = McpProcess::in_directory(tree.path())
            .arg("--dialect")
            .arg(dialect)
            .start();
        let mut arguments = json!({});
        arguments[parameter] = json!(tree.spelled("a.pdf"));
        let result = server.call("read", arguments);
        let content = result["content"].as_array().expect("content");
        assert!(
            content.iter().all(|block| block["type"] != "resource"),
            "{dialect}"
        );
        assert!(text(&result).len() > 20, "{dialect}: {result}");
    }
}

#[test]
fn arguments_that_can_be_meant_are_taken() {
    let tree = Tree::new().file("a.txt", numbered_lines(1, 9));
    let server = McpProcess::start(tree.path());
    let read = server.text(
        "read",
        json!({ "file_path": "a.txt:9-9", "selector": null }),
    );
    assert!(read.ends_with("\n9:line 9"), "{read}");
    server.text("read_many", json!({ "paths": "a.txt" }));
    server.text("read_many", json!({ "paths": "[\"a.txt\"]" }));
    server.text("write", json!({ "filename": "b.txt", "content": "b\n" }));
    let as_text = server.text("read", json!("{\"path\":\"b.txt\"}"));
    assert!(as_text.ends_with("\n1:b"), "{as_text}");
    let opencode = McpProcess::in_directory(tree.path())
        .arg("--dialect=opencode")
        .start();
    let read = opencode.text(
        "read",
        json!({ "filePath": "a.txt", "offset": "8", "limit": 1 }),
    );
    assert!(
        read.contains("8: line 8") && !read.contains("9: line 9"),
        "{read}"
    );
    for (arguments, why) in [
        (json!({ "pth": "a.txt" }), "Did you mean 'path'?"),
        (
            json!({ "path": "a.txt", "session": "x" }),
            "no parameter 'session'",
        ),
        (
            json!({ "path": "a.txt", "budget": { "lines": 9 } }),
            "no parameter 'budget'",
        ),
        (
            json!({ "path": "a.txt", "dialect": "plain" }),
            "no parameter 'dialect'",
        ),
        (
            json!({ "path": "a.txt", "want": ["text"] }),
            "no parameter 'want'",
        ),
        (json!({}), "'path' is missing"),
        (json!([]), "must be an object"),
    ] {
        let error = server.error("read", arguments);
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_program_may_know_more_than_the_model() {
    let tree = Tree::new().file("a.txt", "one\n");
    let server = McpProcess::start(tree.path());
    let meta = json!({ "pilcrow/details": true });
    let result = server.call_with("read", json!({ "path": "a.txt" }), meta.clone());
    let details = &result["_meta"]["pilcrow/details"];
    assert_eq!(
        (&details["kind"], &details["totalLines"]),
        (&json!("file"), &json!(1))
    );
    let result = server.call_with(
        "read_many",
        json!({ "paths": ["a.txt", "b.txt"] }),
        meta.clone(),
    );
    let details = &result["_meta"]["pilcrow/details"];
    assert_eq!(
        (&details[0]["kind"], &details[1]["kind"]),
        (&json!("file"), &json!("notFound"))
    );
    let result = server.call_with("edit", json!({ "patch": "nonsense" }), meta);
    assert_eq!(result["_meta"]["pilcrow/details"]["kind"], "patchSyntax");
}

#[test]
fn numbers_before_rows_can_be_taken_off_a_text() {
    let tree = Tree::new();
    let server = McpProcess::start(tree.path());
    let error = server.error(
        "write",
        json!({ "path": "a.txt", "text": "1:one\n2:two\n" }),
    );
    assert!(
        error.ends_with("\n\nThe cleaned text:\none\ntwo\n"),
        "{error}"
    );
}

#[test]
fn web_addresses_are_read_only_where_the_user_says_so() {
    let tree = Tree::new();
    let server = McpProcess::start(tree.path());
    let error = server.error("read", json!({ "path": "http://127.0.0.1:9/" }));
    assert!(error.contains("web.enabled"), "{error}");
    let guide = server.text("read", json!({ "path": "pilcrow://read" }));
    assert!(guide.len() > 200);
    let result: Value = server.call("read", json!({ "path": "a.txt" }));
    assert_eq!(result["isError"], true);
}
