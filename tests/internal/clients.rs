//! The client as a provider (`agent/resolve`): when it is asked and for what, what its answers are shown as, and that nobody waits for it but who asked.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::client::{Daemon, Next};
use crate::tree::Tree;

use super::{numbered, text};

/// Not held up by anybody: generous, but shorter than any limit that would end the wait.
pub const AT_ONCE: Duration = Duration::from_secs(5);

pub fn offering(schemes: Value, tree: &Tree, settings: Value) -> Daemon {
    let resources = json!({ "resources": { "schemes": schemes } });
    Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .capabilities(json!({ "experimental": { "pilcrow": resources } }))
        .start()
}

pub fn start(tree: &Tree) -> Daemon {
    offering(json!(["jira", "mcp"]), tree, json!({}))
}

pub fn first_line(result: &Value) -> &str {
    text(result).lines().next().unwrap_or_default()
}

pub fn contents(uri: &str, text: &str) -> Value {
    json!({ "contents": [{ "uri": uri, "mimeType": "text/markdown", "text": text }] })
}

/// A read whose every question is answered by `answer`; also what was asked.
pub fn read_by(
    daemon: &Daemon,
    params: Value,
    answer: impl Fn(&str) -> Value,
) -> (Result<Value, crate::client::WireError>, Vec<String>) {
    let read = daemon.request("agent/read", params);
    let mut asked = Vec::new();
    loop {
        match daemon.answer_or_request(&read, "agent/resolve") {
            Next::Answer(answer) => return (answer, asked),
            Next::Request(id, params) => {
                let uri = params["uri"].as_str().expect("a URI").to_owned();
                assert!(params["session"].is_string() && params["resolving"].is_string());
                daemon.respond(id, answer(&uri));
                asked.push(uri);
            }
        }
    }
}

pub fn read(daemon: &Daemon, path: &str, answer: impl Fn(&str) -> Value) -> Value {
    let (read, _) = read_by(daemon, json!({ "path": path }), answer);
    read.expect(path)
}

pub fn refused(
    daemon: &Daemon,
    path: &str,
    answer: impl Fn(&str) -> Value,
) -> crate::client::WireError {
    let (read, _) = read_by(daemon, json!({ "path": path }), answer);
    read.expect_err(path)
}

#[test]
fn what_the_client_has_is_numbered_rows() {
    let tree = Tree::new();
    let daemon = start(&tree);
    let body = "# DEMO-1\n\nIt does not start.\n";
    let params = json!({ "path": "JIRA://DEMO-1", "session": "s/1" });
    let (result, asked) = read_by(
        &daemon,
        params,
        |uri| json!({ "contents": [{ "uri": uri, "mimeType": "text/markdown", "text": body }], "title": "A\nticket", "trusted": true }),
    );
    let result = result.expect("a text");
    assert_eq!(asked, ["jira://DEMO-1"]);
    assert_eq!(text(&result), numbered(body).join("\n"));
    let details = &result["details"];
    assert_eq!(details["kind"], "internal");
    assert_eq!(details["meta"]["source"], "jira://DEMO-1");
    assert_eq!(details["provider"], "client");
    assert_eq!(details["title"], "A ticket");
    assert_eq!(details["contentType"], "text/markdown");
    assert_eq!(details["trusted"], true);
    assert!(details["fetchedAt"].is_string());
    for absent in ["hashline", "resolvedPath", "uri", "origin", "summary"] {
        assert!(details[absent].is_null(), "{absent}");
    }
    let raw = read(&daemon, "jira://DEMO-1:raw", |uri| contents(uri, body));
    assert_eq!(
        (text(&raw), &raw["details"]["trusted"]),
        (body, &json!(false))
    );
}

#[test]
fn its_address_is_passed_on_as_it_is_written() {
    let tree = Tree::new();
    let daemon = start(&tree);
    for (path, uri) in [
        (
            "jira://Host:8080/a%20b/../c?x=1&y#z",
            "jira://Host:8080/a%20b/../c?x=1&y#z",
        ),
        ("Jira://", "jira://"),
        ("jira://DEMO-1:5-9", "jira://DEMO-1"),
        ("jira://DEMO-1:5-9:raw", "jira://DEMO-1"),
        ("mcp://any/demo://x", "mcp://any/demo://x"),
    ] {
        let (result, asked) = read_by(&daemon, json!({ "path": path, "session": path }), |uri| {
            contents(uri, "1\n2\n3\n4\n5\n6\n")
        });
        assert!(result.is_ok(), "{path}: {result:?}");
        assert_eq!(asked, [uri], "{path}");
    }
    let params = json!({ "path": "jira://DEMO-1:5-9", "selector": "2" });
    let (result, asked) = read_by(&daemon, params, |uri| contents(uri, "1\n2\n"));
    assert_eq!(
        (text(&result.expect("a line")), &asked[..]),
        ("2:2", &["jira://DEMO-1:5-9".to_owned()][..])
    );
}

#[test]
fn a_name_with_a_colon_and_a_mistyped_selector_are_told_apart() {
    let tree = Tree::new();
    let daemon = start(&tree);
    let only = |name: &'static str| {
        move |uri: &str| match uri == name {
            true => contents(uri, "one\ntwo\n"),
            false => Value::Null,
        }
    };
    let found = read(&daemon, "jira://a:2", only("jira://a:2"));
    assert_eq!(text(&found), "1:one\n2:two");
    let line = read(&daemon, "jira://b:2", only("jira://b"));
    assert_eq!(text(&line), "2:two");
    for mistyped in ["jira://c:0", "jira://c:9-5", "jira://c:line5"] {
        let error = refused(&daemon, mistyped, only("jira://c"));
        assert_eq!(error.kind(), "badSelector", "{mistyped}");
    }
    for missing in ["jira://d", "jira://d:5", "jira://d:x"] {
        let error = refused(&daemon, missing, |_| Value::Null);
        assert_eq!(error.kind(), "notFound", "{missing}");
    }
}

#[test]
fn an_open_document_goes_first_then_the_client_then_ours() {
    let tree = Tree::new().file("jira:/A-1", "a file\n");
    let daemon = offering(json!(["jira", "pilcrow"]), &tree, json!({}));
    let document = json!({ "uri": "jira://A-1", "languageId": "markdown", "version": 1, "text": "the editor's\n" });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let (open, asked) = read_by(&daemon, json!({ "path": "jira://A-1:1" }), |_| Value::Null);
    assert!(text(&open.expect("the document")).ends_with("1:the editor's"));
    assert!(asked.is_empty());
    let closed = json!({ "textDocument": { "uri": "jira://A-1" } });
    daemon.notify("textDocument/didClose", closed);
    daemon.expect_notification("agent/didChangeSnapshot");
    let theirs = read(&daemon, "jira://A-1", |uri| contents(uri, "the client's\n"));
    assert_eq!(text(&theirs), "1:the client's");
    let theirs = read(&daemon, "pilcrow://read", |uri| {
        contents(uri, "the client's\n")
    });
    assert_eq!(text(&theirs), "1:the client's");
    let ours = read(&daemon, "pilcrow://edit", |_| Value::Null);
    assert!(text(&ours).starts_with("1:# Editing"));
    assert_eq!(ours["details"]["provider"], "daemon");
    assert_eq!(
        daemon.read_text("./jira:/A-1").lines().last(),
        Some("1:a file")
    );
}

#[test]
fn schemes_come_and_go() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let error = daemon.read("jira://A-1").expect_err("nobody's");
    assert_eq!(error.kind(), "unsupported");
    assert!(error.message.contains("mcp://") && !error.message.contains("wiki://"));
    let offered = json!({ "schemes": ["Jira", "wiki"] });
    daemon.notify("agent/didChangeSchemes", offered);
    let result = read(&daemon, "jira://A-1", |uri| contents(uri, "there\n"));
    assert_eq!(text(&result), "1:there");
    let error = daemon.read("other://A-1").expect_err("nobody's");
    assert!(
        error.message.contains("jira://, wiki://"),
        "{}",
        error.message
    );
    daemon.notify("agent/didChangeSchemes", json!({ "schemes": [] }));
    assert_eq!(
        daemon.read("jira://A-1").expect_err("gone").kind(),
        "unsupported"
    );
    for (bad, said) in [
        (json!(["file", "local"]), "'file' cannot be taken over"),
        (json!(["a b"]), "'a b' is no name of a scheme"),
        (json!("jira"), "'schemes'"),
        (json!([7]), "list of strings"),
    ] {
        daemon.notify("agent/didChangeSchemes", json!({ "schemes": bad }));
        let told = daemon.expect_notification("window/showMessage");
        assert!(
            told["message"].as_str().is_some_and(|it| it.contains(said)),
            "{told}"
        );
        if bad == json!(["file", "local"]) {
            daemon.expect_notification("window/showMessage");
        }
    }
    let path = tree.path().join("a.txt");
    std::fs::write(&path, "mine\n").expect("written");
    assert!(daemon.read_text("a.txt").ends_with("1:mine"));
}

#[test]
fn several_contents_and_bytes_are_shown_as_what_they_are() {
    let tree = Tree::new();
    let daemon = start(&tree);
    let blob = |bytes: &[u8]| STANDARD.encode(bytes);
    let parts = json!({ "contents": [
        { "uri": "jira://A/one", "text": "first" },
        { "uri": "jira://A/two", "mimeType": "text/plain", "blob": blob("zweite\n".as_bytes()) },
        { "uri": "jira://A/\nthree", "mimeType": "application/x-thing", "blob": blob(&[0, 159, 1, 2]) },
    ] });
    let several = read(&daemon, "jira://A", |_| parts.clone());
    assert_eq!(
        text(&several),
        "1:--- jira://A/one ---\n2:first\n3:--- jira://A/two ---\n4:zweite\n5:--- jira://A/ three ---\n6:[application/x-thing, 4B: not text; artifact://1]"
    );
    let png = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/image/flag-gray.png");
    let png = std::fs::read(png).expect("a picture");
    let image = read(
        &daemon,
        "jira://logo",
        |uri| json!({ "contents": [{ "uri": uri, "mimeType": "image/png", "blob": blob(&png) }] }),
    );
    assert_eq!(image["details"]["kind"], "image");
    assert_eq!(image["details"]["meta"]["source"], "jira://logo");
    let zip = read(
        &daemon,
        "jira://files",
        |uri| json!({ "contents": [{ "uri": uri, "mimeType": "application/octet-stream", "blob": blob(&[0, 1, 2, 3, 255, 254]) }] }),
    );
    assert_eq!(
        text(&zip),
        "[application/octet-stream, 6B: not text; artifact://2]"
    );
    let unlabelled = read(
        &daemon,
        "jira://text",
        |uri| json!({ "contents": [{ "uri": uri, "blob": blob(b"plain\ntext\n") }] }),
    );
    assert_eq!(text(&unlabelled), "1:plain\n2:text");
    assert_eq!(unlabelled["details"]["kind"], "internal");
    let nothing = read(&daemon, "jira://none", |_| json!({ "contents": [] }));
    assert_eq!(nothing["details"]["totalBytes"], 0);
}

#[test]
fn what_it_lists_is_rows_that_harm_nothing() {
    let tree = Tree::new();
    let daemon = start(&tree);
    let long = "x".repeat(500);
    let listing = json!({
        "resources": [
            { "uri": "jira://A", "name": "first", "mimeType": "text/plain", "description": "First of\n[all]\u{202e}", "size": 7 },
            { "uri": "jira://Bigger", "name": long },
        ],
        "templates": [{ "uriTemplate": "jira://{id}", "name": "t" }],
    });
    let list = read(&daemon, "jira://", |_| listing.clone());
    let rows: Vec<&str> = text(&list).lines().collect();
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert!(rows[0].starts_with("jira://A       first "), "{rows:?}");
    assert!(
        rows[0].ends_with("  text/plain  First of [all]"),
        "{rows:?}"
    );
    assert!(
        rows[1].ends_with("x…") && rows[1].chars().count() < 260,
        "{rows:?}"
    );
    assert_eq!(rows[2], "jira://{id}  (template)");
    let details = &list["details"];
    assert_eq!(details["resources"][0]["uri"], "jira://A");
    assert_eq!(details["resources"][0]["size"], 7);
    assert_eq!(details["resources"][0]["provider"], "client");
    assert_eq!(details["trusted"], false);
}

#[test]
fn pages_are_of_one_text_and_a_bare_read_asks_again() {
    let tree = Tree::new();
    let daemon = start(&tree);
    let version = |of: usize| -> String { (1..=40).map(|n| format!("{of}-{n}\n")).collect() };
    let first = json!({ "path": "jira://A", "budget": { "lines": 15 } });
    let (page, asked) = read_by(&daemon, first.clone(), |uri| contents(uri, &version(1)));
    let mut page = page.expect("a page");
    assert_eq!(
        (asked.len(), &page["details"]["cache"]),
        (1, &json!("miss"))
    );
    let mut seen: Vec<String> = Vec::new();
    loop {
        let rows = text(&page).split("\n\n[").next().expect("rows");
        seen.extend(rows.lines().map(str::to_owned));
        let Some(next) = page["details"]["truncation"]["nextSelector"].as_str() else {
            break;
        };
        let params = json!({ "path": format!("jira://A:{next}"), "budget": { "lines": 15 } });
        let (next, asked) = read_by(&daemon, params, |uri| contents(uri, &version(2)));
        page = next.expect("a page");
        assert!(asked.is_empty());
        assert_eq!(page["details"]["cache"], "hit");
    }
    assert_eq!(seen, numbered(&version(1)));
    // Another session was shown nothing of it.
    let other = json!({ "path": "jira://A:1-1", "session": "other" });
    let (other, asked) = read_by(&daemon, other, |uri| contents(uri, &version(3)));
    assert_eq!(
        (first_line(&other.expect("a line")), asked.len()),
        ("1:3-1", 1)
    );
    let (again, asked) = read_by(&daemon, first, |uri| contents(uri, &version(2)));
    assert_eq!(asked.len(), 1);
    assert!(text(&again.expect("a page")).starts_with("1:2-1"));
    let params = json!({ "path": "jira://A:2-2" });
    let (line, _) = read_by(&daemon, params, |_| Value::Null);
    assert_eq!(first_line(&line.expect("a line")), "2:2-2");
    daemon
        .call("agent/closeSession", json!({}))
        .expect("closed");
    let (line, asked) = read_by(&daemon, json!({ "path": "jira://A:2-2" }), |uri| {
        contents(uri, &version(4))
    });
    assert_eq!(
        (first_line(&line.expect("a line")), asked.len()),
        ("2:4-2", 1)
    );
}

#[test]
fn an_answer_that_holds_for_a_while_is_asked_for_once() {
    let tree = Tree::new();
    let daemon = start(&tree);
    let answer = |uri: &str| {
        let mut answer = contents(uri, "it holds\n");
        answer["ttlMs"] = json!(600_000);
        answer
    };
    for asks in [1, 0, 0] {
        let (result, asked) = read_by(&daemon, json!({ "path": "jira://A" }), answer);
        assert_eq!(
            (text(&result.expect("a text")), asked.len()),
            ("1:it holds", asks)
        );
    }
}

#[test]
fn what_it_refuses_and_garbage_are_said() {
    let tree = Tree::new();
    let daemon = start(&tree);
    let answered = |code: i64, message: &str| {
        let read = daemon.request("agent/read", json!({ "path": "jira://A" }));
        let (id, _) = daemon.expect_request("agent/resolve");
        daemon.respond_error(id, code, message);
        daemon.wait(&read).expect_err("refused")
    };
    for code in [-32002, -32602] {
        assert_eq!(answered(code, "there is none").kind(), "notFound");
    }
    let error = answered(
        -32000,
        &format!("the server\nis {} away", "far ".repeat(200)),
    );
    assert_eq!(error.kind(), "io");
    assert!(
        error.message.contains("the server is far far"),
        "{}",
        error.message
    );
    assert!(error.message.chars().count() < 350, "{}", error.message);
    assert_eq!(answered(-32601, "Method not found").kind(), "io");
    for garbage in [
        json!(7),
        json!({}),
        json!([null]),
        json!({ "contents": [{ "uri": "jira://A" }] }),
        json!({ "contents": { "text": "x" } }),
        json!({ "resources": [{}] }),
    ] {
        let error = refused(&daemon, "jira://A", |_| garbage.clone());
        assert_eq!(error.kind(), "io", "{garbage}");
        assert!(error.message.contains("agent/resolve"), "{}", error.message);
    }
    let result = read(&daemon, "jira://A", |uri| contents(uri, "well\n"));
    assert_eq!(text(&result), "1:well");
}

#[test]
fn nothing_of_the_clients_can_be_changed() {
    let tree = Tree::new();
    let daemon = start(&tree);
    for path in ["jira://A", "mcp://x/demo://y"] {
        let write = json!({ "path": path, "text": "x\n" });
        let error = daemon.call("agent/write", write).expect_err("refused");
        assert_eq!(error.kind(), "unsupported", "{}", error.message);
        let edits = json!([{ "op": "replace_text", "old": "a", "new": "b" }]);
        let edit = json!({ "files": [{ "path": path, "edits": edits }] });
        let error = daemon.call("agent/edit", edit).expect_err("refused");
        assert_eq!(error.kind(), "unsupported", "{}", error.message);
    }
    assert_eq!(std::fs::read_dir(tree.path()).expect("the root").count(), 0);
}

#[test]
fn in_each_dialect() {
    let tree = Tree::new();
    let daemon = start(&tree);
    for (dialect, parameter, shown, missing) in [
        ("hashline", "path", "1:one\n2:two", None),
        ("numbered", "path", "1:one\n2:two", None),
        ("plain", "path", "one\ntwo", None),
        (
            "opencode",
            "filePath",
            "<path>jira://A</path>\n<type>file</type>\n<content>\n1: one\n2: two",
            None,
        ),
        (
            "pikuri",
            "path",
            "     1\tone\n     2\ttwo",
            Some("Error: file not found: jira://B"),
        ),
        (
            "llm-gateway",
            "filePath",
            "<file path=\"jira://A\" lines=\"1-2\"",
            Some("File not found: jira://B"),
        ),
        (
            "roo",
            "path",
            "1 | one\n2 | two",
            Some("Error: File not found at path 'jira://B'."),
        ),
    ] {
        let params =
            |path: &str| json!({ "dialect": dialect, parameter: path, "session": dialect });
        let (read, _) = read_by(&daemon, params("jira://A"), |uri| {
            contents(uri, "one\ntwo\n")
        });
        let read = read.expect(dialect);
        assert!(text(&read).starts_with(shown), "{dialect}: {}", text(&read));
        let (read, _) = read_by(&daemon, params("jira://B"), |_| Value::Null);
        match (read, missing) {
            (Ok(result), Some(said)) => assert_eq!(text(&result), said),
            (Err(error), None) => assert!(error.message.contains("jira://B"), "{dialect}"),
            (result, _) => panic!("{dialect}: {result:?}"),
        }
        let listing = json!({ "resources": [{ "uri": "jira://A", "name": "first" }] });
        let (list, _) = read_by(&daemon, params("jira://"), |_| listing.clone());
        let list = list.expect(dialect);
        assert!(
            text(&list).contains("jira://A  first"),
            "{dialect}: {}",
            text(&list)
        );
    }
}
