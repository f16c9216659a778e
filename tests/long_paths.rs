//! Paths that no system takes, and paths made to be dear: they stop nobody, and are not said back.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Daemon, WireError};
use crate::tree::Tree;

/// What is sent of each hostile text.
const LENGTH: usize = 1 << 20;

/// The longest answer to any of them.
const ANSWER: usize = 16 * 1024;

/// What a process may spend on all of them: a hang guard. The build before took 9 s for a
/// hundredth of one.
const SPENT: Duration = Duration::from_secs(30);

/// What the hostile texts are made of.
const SHAPES: &[&str] = &[
    "a", "/", "a/", "./", "../", "..", "a/../", ":", ":1", ":1-", "a:", ".zip:", "x.zip:",
    "a.zip:b/", "?q=", ".db?q=", "x.db:", "%41", "%2F", "#", "#L1", "e\u{301}", "\u{301}",
    "\u{2019}", "\u{a0}", " ", "~/", "*", "\"", "\u{202e}", "\\", "\t", ",1", "-",
];

fn texts() -> impl Iterator<Item = (String, String)> {
    let whole = |text: &str| (text.to_owned(), text.repeat(LENGTH / text.len()));
    let shapes = SHAPES.iter().map(move |shape| whole(shape));
    let uris = SHAPES.iter().map(move |shape| {
        let (name, text) = whole(shape);
        (format!("file: {name}"), format!("file:///{text}"))
    });
    let heads = ["ok.txt:", "ok.txt#", "a.zip:", "x.db?q=", "ok.txt:1,"].iter();
    let headed = heads.map(move |head| {
        let (_, text) = whole("1,");
        ((*head).to_owned(), format!("{head}{text}"))
    });
    shapes.chain(uris).chain(headed)
}

/// The kind of a refusal; whatever the answer is, it has few words.
fn refused(name: &str, answer: Result<Value, WireError>) -> Option<String> {
    let (length, kind) = match answer {
        Ok(result) => (result.to_string().len(), None),
        Err(error) => {
            let length = error.message.len() + error.data.to_string().len();
            (length, Some(error.kind().to_owned()))
        }
    };
    assert!(length < ANSWER, "{name}: {length} bytes come back");
    kind
}

fn tree() -> Tree {
    Tree::new()
        .file("ok.txt", "fine\n")
        .file("sub/other.txt", "other\n")
}

#[test]
fn what_is_too_long_for_a_path_is_not_found_and_nothing_is_looked_for() {
    let tree = tree();
    let daemon = Daemon::start(tree.path());
    for shape in [
        "a", "/", "a/", "./", "../", "e\u{301}", "\u{2019}", "%41", "~/", "\\",
    ] {
        let text = shape.repeat(LENGTH / shape.len());
        for path in [text.clone(), format!("file:///{text}")] {
            let name = format!("{path:.20}");
            let many = json!({ "targets": [{ "path": &path }, { "path": "ok.txt" }] });
            let many = daemon
                .call("agent/readMany", many)
                .expect("each on its own");
            assert_eq!(
                many["results"][0]["error"]["data"]["kind"], "notFound",
                "{name}"
            );
            assert!(many["results"][1]["ok"].is_object(), "{name}");
            assert!(many.to_string().len() < ANSWER, "{name}");
            let edits = json!([{ "op": "insert_head", "text": "x" }]);
            let answers = [
                daemon.read(&path),
                daemon.read_with(json!({ "path": &path, "selector": "1-5" })),
                daemon.call(
                    "agent/edit",
                    json!({ "patch": format!("¶{path}#0A1B\ndelete 1\n") }),
                ),
                daemon.call(
                    "agent/edit",
                    json!({ "files": [{ "path": &path, "tag": "0A1B", "edits": edits }] }),
                ),
                daemon.call("agent/write", json!({ "path": &path, "text": "x\n" })),
            ];
            for answer in answers {
                assert_eq!(
                    refused(&name, answer).as_deref(),
                    Some("notFound"),
                    "{name}"
                );
            }
        }
    }
    let status = daemon.call("agent/status", json!({})).expect("status");
    assert_eq!(status["scans"], 0, "no tree was walked");
    let deep = "a/".repeat(2000);
    assert_eq!(
        daemon.read(deep + "x").expect_err("nothing").kind(),
        "notFound"
    );
}

#[test]
fn a_name_that_the_file_system_finds_too_long_is_not_found() {
    let tree = tree();
    let daemon = Daemon::start(tree.path());
    let name = "n".repeat(300);
    let error = daemon.read(&name).expect_err("no such name");
    assert_eq!(error.kind(), "notFound");
    assert_eq!(
        error.data["path"],
        name.as_str(),
        "a path that may be one is said whole"
    );
    let error = daemon
        .call("agent/write", json!({ "path": &name, "text": "x\n" }))
        .expect_err("it cannot be made");
    assert_eq!(error.kind(), "notFound");
    assert!(
        error.message.ends_with("No file can have so long a name."),
        "{}",
        error.message
    );
    let status = daemon.call("agent/status", json!({})).expect("status");
    assert_eq!(status["scans"], 0, "no tree was walked");
}

#[test]
fn what_follows_a_path_may_be_longer_than_one() {
    let tree = tree();
    let daemon = Daemon::start(tree.path());
    let ranges: Vec<String> = (1..3000).map(|_| "1-1".to_owned()).collect();
    let text = daemon.read_text(format!("ok.txt:{}", ranges.join(",")));
    assert!(text.contains("1:fine"), "{text}");
}

#[test]
fn forty_at_once_stop_nobody() {
    let tree = tree();
    let daemon = Daemon::start(tree.path());
    daemon.read_text("ok.txt");
    for (name, text) in texts() {
        // 40 of a few: what one costs is in the next test.
        let count = if name.len() < 3 { 40 } else { 2 };
        let begun: Vec<_> = (0..count)
            .map(|_| daemon.request("agent/read", json!({ "path": &text })))
            .collect();
        assert!(daemon.read_text("ok.txt").contains("1:fine"), "{name}");
        for id in &begun {
            refused(&name, daemon.wait(id));
        }
    }
    assert!(daemon.cpu_time() < SPENT, "{:?}", daemon.cpu_time());
}

#[test]
fn every_method_and_dialect_refuses_them_shortly() {
    let tree = tree();
    let daemon = Daemon::start(tree.path());
    daemon.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": "untitled:One", "languageId": "text", "version": 1, "text": "x" } }),
    );
    let dialects = [
        ("hashline", "path"),
        ("numbered", "path"),
        ("plain", "path"),
        ("opencode", "filePath"),
        ("pikuri", "path"),
        ("llm-gateway", "filePath"),
        ("roo", "path"),
    ];
    for (index, (name, text)) in texts().enumerate() {
        let (dialect, parameter) = dialects[index % dialects.len()];
        let read = json!({ "dialect": dialect, parameter: &text });
        refused(&format!("{dialect} {name}"), daemon.read_with(read));
        let patch = json!({ "patch": format!("¶{text}#0A1B\ndelete 1\n") });
        refused(&name, daemon.call("agent/edit", patch));
        let edits = json!([{ "op": "replace_text", "old": "x", "new": "y" }]);
        let edit = json!({ "files": [{ "path": &text, "edits": edits }] });
        refused(&name, daemon.call("agent/edit", edit));
        let write = json!({ "path": &text, "text": "x\n", "dryRun": true });
        refused(&name, daemon.call("agent/write", write));
        let flushed = daemon.call("agent/flush", json!({ "paths": [&text, &text] }));
        assert_eq!(
            flushed.expect("nothing to flush"),
            json!({ "saved": [], "left": [] })
        );
    }
    assert!(daemon.cpu_time() < SPENT, "{:?}", daemon.cpu_time());
}

/// What each method says of what no file can be called, and of what a path may end in.
#[test]
fn every_shape_is_refused_as_the_path_that_it_begins_with() {
    let tree = tree();
    let daemon = Daemon::start(tree.path());
    daemon.read_text("ok.txt");
    let whole = |text: &str| text.repeat(LENGTH / text.len());
    let uri = |text: &str| format!("file:///{}", whole(text));
    let shapes = [
        (whole("a"), "notFound", "notFound"),
        (whole("../"), "notFound", "notFound"),
        (whole(":"), "notFound", "notFound"),
        (whole(":1"), "notFound", "notFound"),
        (whole("?q="), "notFound", "notFound"),
        (whole(".db?q="), "notFound", "notFound"),
        (whole(".zip:"), "notFound", "notFound"),
        (whole("#L1"), "notFound", "notFound"),
        (whole("://"), "notFound", "notFound"),
        (whole("http://"), "badParams", "unsupported"),
        (whole("gopher://"), "unsupported", "notFound"),
        (uri("a/"), "notFound", "notFound"),
        (uri(":"), "notFound", "notFound"),
        (uri("%3A"), "notFound", "notFound"),
        (uri(".zip:"), "outsideWorkspace", "notFound"),
        (uri("x.db:"), "outsideWorkspace", "notFound"),
    ];
    for (text, to_read, to_edit) in shapes {
        let name = format!("{text:.16}");
        let refused = |answer| refused(&name, answer).unwrap_or_default();
        assert_eq!(refused(daemon.read(&text)), to_read, "{name}");
        let many = json!({ "targets": [{ "path": &text }] });
        let many = daemon
            .call("agent/readMany", many)
            .expect("each on its own");
        assert_eq!(
            many["results"][0]["error"]["data"]["kind"], to_read,
            "{name}"
        );
        let opencode = json!({ "dialect": "opencode", "filePath": &text });
        assert_eq!(refused(daemon.read_with(opencode)), to_read, "{name}");
        let edits = json!([{ "op": "insert_head", "text": "x" }]);
        let files = json!({ "files": [{ "path": &text, "tag": "0A1B", "edits": edits }] });
        assert_eq!(refused(daemon.call("agent/edit", files)), to_edit, "{name}");
        let patch = json!({ "patch": format!("¶{text}#0A1B\ndelete 1\n") });
        assert_eq!(refused(daemon.call("agent/edit", patch)), to_edit, "{name}");
        // Without a tag it is refused before its path is looked at.
        let edits = json!([{ "op": "insert_head", "text": "x" }]);
        let files = json!({ "files": [{ "path": &text, "edits": edits }] });
        assert_eq!(refused(daemon.call("agent/edit", files)), "patchSyntax");
        let write = json!({ "path": &text, "text": "x\n" });
        // An address that may only be read is no name for a file, however long it is.
        assert_eq!(
            refused(daemon.call("agent/write", write)),
            to_edit,
            "{name}"
        );
    }
}

/// Just short enough for the system: these are looked for, and must be as cheap as others.
#[test]
fn deep_paths_that_might_be_there_cost_little() {
    let tree = tree();
    let settings = json!({ "access": { "deny": [".env", ".env.*", "secrets/*.pem"] } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    for shape in [
        "a/",
        "../",
        "sub/../",
        "a/../",
        "a/a/../",
        "./",
        "//",
        "e\u{301}/",
        "a.zip:",
        "..:1/",
    ] {
        let text = shape.repeat(3900 / shape.len());
        for path in [
            text.clone(),
            format!("/{text}"),
            format!("{text}x.txt"),
            format!("/etc/{text}"),
        ] {
            for _ in 0..10 {
                refused(shape, daemon.read(&path));
            }
            let write = json!({ "path": path, "text": "x\n", "dryRun": true });
            let _ = daemon.call("agent/write", write);
        }
    }
    assert!(daemon.cpu_time() < SPENT, "{:?}", daemon.cpu_time());
}
