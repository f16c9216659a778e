//! `agent/putArtifact` and `artifact://`: what is put there is read by its number, as the kind that it is, as it grows.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{fixture, numbered, put, refused_put, text};
use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

fn status(daemon: &Daemon) -> Value {
    daemon.call("agent/status", json!({})).expect("status")["artifacts"].clone()
}

#[test]
fn what_is_put_there_is_read_by_its_number() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let lines = numbered_lines(1, 40);
    let first = put(&daemon, json!({ "text": lines, "name": "cargo test" }));
    assert_eq!(first["uri"], "artifact://1");
    assert_eq!(
        (&first["bytes"], &first["lines"]),
        (&json!(lines.len()), &json!(40))
    );
    assert_eq!(first["dropped"], json!([]));
    let second = put(&daemon, json!({ "text": "no end" }));
    assert_eq!(second["uri"], "artifact://2");
    let result = daemon.read("artifact://1").expect("the artifact");
    assert_eq!(text(&result), numbered(&lines).join("\n"));
    let details = &result["details"];
    assert_eq!(details["kind"], "internal");
    assert_eq!(details["meta"]["source"], "artifact://1");
    assert_eq!(details["provider"], "session");
    assert_eq!(details["title"], "cargo test");
    assert_eq!(details["resolvedPath"], first["path"]);
    assert_eq!(details["totalLines"], 40);
    for absent in ["hashline", "summary", "uri", "origin", "trusted"] {
        assert!(details[absent].is_null(), "{absent}");
    }
    let on_disk = fs::read_to_string(first["path"].as_str().expect("a path"));
    assert_eq!(on_disk.expect("the file"), lines);
    for (path, shown) in [
        ("artifact://1:5-6", "5:line 5\n6:line 6"),
        ("ARTIFACT://1:-2", "39:line 39\n40:line 40"),
        (
            "artifact://1:1-2,-2",
            "1:line 1\n2:line 2\n…\n39:line 39\n40:line 40",
        ),
        ("artifact://1:3-3:raw", "line 3\n"),
        ("artifact://%31:40-", "40:line 40"),
        ("artifact://2", "1:no end"),
    ] {
        let read = daemon.read_text(path);
        assert_eq!(read.split("\n\n[").next(), Some(shown), "{path}");
    }
    let apart = daemon.read_with(json!({ "path": "artifact://1", "selector": "40-40" }));
    assert_eq!(text(&apart.expect("a line")), "40:line 40");
}

#[test]
fn it_is_read_at_once_with_what_it_is_above() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let lines = numbered_lines(1, 200);
    let given =
        json!({ "text": lines, "name": "cargo\u{202e}\n test", "read": { "selector": "1-2,-2" } });
    let result = put(&daemon, given);
    let size = format!("{:.1}KB", lines.len() as f64 / 1024.0);
    assert_eq!(
        text(&result["read"]),
        format!(
            "[artifact://1: cargo test, 200 lines, {size}]\n1:line 1\n2:line 2\n…\n199:line 199\n200:line 200"
        )
    );
    assert_eq!(result["read"]["details"]["title"], "cargo test");
    // The title stands above what a put gives back, and above nothing else.
    assert!(daemon.read_text("artifact://1:1-1").starts_with("1:line 1"));
    let bare = put(&daemon, json!({ "text": "x\n", "read": {} }));
    assert_eq!(text(&bare["read"]), "[artifact://2: 1 line, 2B]\n1:x");
    let cut = json!({ "text": lines, "read": { "budget": { "lines": 3 } } });
    let cut = put(&daemon, cut);
    assert!(text(&cut["read"]).contains("\n3:line 3\n"));
    assert_eq!(cut["read"]["details"]["truncation"]["nextSelector"], "4-");
    // An artifact itself is never spilled.
    assert!(cut["read"]["details"]["truncation"]["artifactId"].is_null());
    assert_eq!(status(&daemon)["count"], 3);
    let other = put(
        &daemon,
        json!({ "text": "a\nb\n", "read": { "selector": "p2" } }),
    );
    assert_eq!(other["uri"], "artifact://4");
    assert_eq!(other["readError"]["data"]["kind"], "badSelector");
    assert_eq!(
        refused_put(&daemon, json!({ "text": "a", "read": { "selector": "0" } })).kind(),
        "badSelector"
    );
    assert_eq!(
        refused_put(&daemon, json!({ "text": "a", "read": { "path": "x" } })).kind(),
        "badParams"
    );
}

#[test]
fn a_growing_one_keeps_its_numbers() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    put(&daemon, json!({ "text": "line 1\nli" }));
    let append = |params: Value| {
        let mut whole = json!({ "uri": "artifact://1", "append": true });
        let whole = whole.as_object_mut().expect("an object");
        whole.extend(params.as_object().expect("an object").clone());
        put(&daemon, Value::Object(whole.clone()))
    };
    assert!(daemon.read_text("artifact://1").ends_with("\n2:li"));
    let grown = append(json!({ "text": "ne 2\nline 3\n" }));
    assert_eq!((&grown["lines"], &grown["bytes"]), (&json!(3), &json!(21)));
    assert_eq!(
        daemon.read_text("artifact://1:-2").split("\n\n").next(),
        Some("2:line 2\n3:line 3")
    );
    // Reads that are sent after it see it, whether it was answered or not.
    let mut asked = Vec::new();
    for n in 4..=60 {
        let params =
            json!({ "uri": "artifact://1", "append": true, "text": format!("line {n}\n") });
        let sent = daemon.request("agent/putArtifact", params);
        let read = daemon.request("agent/read", json!({ "path": "artifact://1:-1" }));
        asked.push((n, sent, read));
    }
    for (n, sent, read) in asked {
        daemon.wait(&sent).expect("appended");
        let read = daemon.wait(&read).expect("read");
        let shown = text(&read).lines().next().expect("a line").to_owned();
        let number: usize = shown
            .split(':')
            .next()
            .and_then(|it| it.parse().ok())
            .expect("a number");
        assert!(number >= n, "{shown} after line {n}");
        assert_eq!(shown, format!("{number}:line {number}"));
    }
    let bytes = STANDARD.encode("more\n");
    assert_eq!(append(json!({ "base64": bytes }))["lines"], 61);
}

#[test]
fn a_terminal_shows_what_it_would_have_shown() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let came = "\u{1b}[32mok\u{1b}[0m\r\n10%\r20%";
    let first = put(&daemon, json!({ "text": came, "terminal": true }));
    assert_eq!(first["lines"], 2);
    assert_eq!(daemon.read_text("artifact://1"), "1:ok\n2:20%");
    let more = json!({ "uri": "artifact://1", "append": true, "text": "\r100%\ndone \u{1b}[1" });
    assert_eq!(put(&daemon, more)["lines"], 3);
    let more = json!({ "uri": "artifact://1", "append": true, "text": "m!\n" });
    put(&daemon, more);
    assert_eq!(daemon.read_text("artifact://1"), "1:ok\n2:100%\n3:done !");
    let whole = format!("{came}\r100%\ndone \u{1b}[1m!\n");
    assert_eq!(daemon.read_text("artifact://1:raw"), whole);
}

#[test]
fn it_is_read_as_the_kind_that_it_is() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let given = |name: &str, mime_type: Option<&str>| {
        let bytes = fs::read(fixture(name)).expect(name);
        let params = json!({ "base64": STANDARD.encode(bytes), "mimeType": mime_type });
        put(&daemon, params)["uri"]
            .as_str()
            .expect("a URI")
            .to_owned()
    };
    let image = given("image/flag-1bit.png", Some("image/png"));
    let read = daemon.read(&image).expect("an image");
    assert_eq!(read["details"]["kind"], "image");
    assert_eq!(read["details"]["meta"]["source"], image);
    assert_eq!(read["details"]["contentType"], "image/png");
    assert!(daemon.read(format!("{image}:crop=0,0,4,4")).is_ok());
    let pdf = given("document/lines.pdf", Some("application/pdf"));
    let read = daemon.read(format!("{pdf}:p1")).expect("a page");
    assert_eq!(read["details"]["kind"], "document");
    let archive = given("archive/crlf.zip", Some("application/zip"));
    let read = daemon.read(&archive).expect("an archive");
    assert_eq!(read["details"]["kind"], "archive");
    let member = text(&read).lines().next().expect("a row").to_owned();
    let member = member.split(" (").next().expect("a name").trim().to_owned();
    let read = daemon.read(format!("{archive}:{member}")).expect(&member);
    assert_eq!(read["details"]["kind"], "archive");
    let base = given("sqlite/museum.db", Some("application/vnd.sqlite3"));
    let read = daemon.read(format!("{base}:adults")).expect("a table");
    assert_eq!(read["details"]["kind"], "sqlite");
    assert!(daemon.read(format!("{base}?q=SELECT 1")).is_ok());
    let notebook = given("notebook/colab.ipynb", Some("application/x-ipynb+json"));
    let read = daemon.read(&notebook).expect("a notebook");
    assert_eq!(read["details"]["kind"], "notebook");
    assert!(read["details"]["hashline"].is_null());
    // Without a type the bytes tell.
    let unnamed = given("image/flag-1bit.png", None);
    assert_eq!(
        daemon.read(&unnamed).expect("an image")["details"]["kind"],
        "image"
    );
    // What came as text is text, whatever is in it.
    let odd = put(&daemon, json!({ "text": "a\0b\n\u{1}c" }));
    assert_eq!(odd["lines"], 2);
    assert!(daemon.read(odd["uri"].as_str().expect("a URI")).is_ok());
    let binary = put(
        &daemon,
        json!({ "base64": STANDARD.encode([0, 1, 2, 255]) }),
    );
    assert_eq!(binary["lines"], Value::Null);
    assert_eq!(
        daemon
            .read(binary["uri"].as_str().expect("a URI"))
            .expect_err("no text")
            .kind(),
        "binary"
    );
}

#[test]
fn a_file_is_copied_where_it_may_be_read() {
    let tree = Tree::new()
        .file("log.txt", "one\n")
        .file(".env", "SECRET=1\n");
    let daemon = Daemon::start(tree.path());
    let copied = put(&daemon, json!({ "path": "log.txt" }));
    tree.write("log.txt", "two\n");
    daemon.ignore_changes();
    assert_eq!(daemon.read_text("artifact://1"), "1:one");
    assert_ne!(copied["path"], tree.spelled("log.txt"));
    assert_eq!(
        refused_put(&daemon, json!({ "path": ".env" })).kind(),
        "denied"
    );
    assert_eq!(
        refused_put(&daemon, json!({ "path": "gone.txt" })).kind(),
        "notFound"
    );
    assert_eq!(
        refused_put(&daemon, json!({ "path": "." })).kind(),
        "notRegular"
    );
    assert_eq!(
        refused_put(&daemon, json!({ "path": "/etc/passwd" })).kind(),
        "outsideWorkspace"
    );
    // The directory of temporary files is another one.
    let temporary = Tree::new()
        .file("out/run.log", "ran\n")
        .file("out/.env", "SECRET=1\n");
    std::os::unix::fs::symlink(
        temporary.path().join("out/run.log"),
        temporary.path().join("link.log"),
    )
    .expect("a link");
    std::os::unix::fs::symlink(
        temporary.path().join("out"),
        temporary.path().join("folder"),
    )
    .expect("a link");
    let daemon = Daemon::builder()
        .root(tree.path().join("."))
        .env("TMPDIR", temporary.path().to_str().expect("UTF-8"))
        .start();
    put(&daemon, json!({ "path": temporary.spelled("out/run.log") }));
    assert_eq!(daemon.read_text("artifact://1"), "1:ran");
    for (name, kind) in [
        ("link.log", "outsideWorkspace"),
        ("folder/run.log", "outsideWorkspace"),
        ("out", "outsideWorkspace"),
        ("gone", "outsideWorkspace"),
        ("out/.env", "denied"),
    ] {
        let refused = refused_put(&daemon, json!({ "path": temporary.spelled(name) }));
        assert_eq!(refused.kind(), kind, "{name}: {}", refused.message);
    }
}

#[test]
fn what_is_there_is_listed() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        daemon.read_text("artifact://"),
        "1:No artifacts in this session"
    );
    put(&daemon, json!({ "text": "a\nb\n", "name": "cargo test" }));
    put(&daemon, json!({ "text": "x", "mimeType": "text/markdown" }));
    let result = daemon.read("artifact://").expect("a list");
    assert_eq!(
        text(&result),
        "artifact://1  cargo test  2 lines, 4B  just now\nartifact://2              1 line, 1B   just now"
    );
    let resources = result["details"]["resources"].as_array().expect("a list");
    assert_eq!(resources.len(), 2);
    assert_eq!(resources[0]["uri"], "artifact://1");
    assert_eq!(resources[0]["description"], "cargo test");
    assert_eq!(
        (&resources[0]["size"], &resources[0]["provider"]),
        (&json!(4), &json!("session"))
    );
    assert_eq!(resources[1]["mimeType"], "text/markdown");
    assert_eq!(
        status(&daemon),
        json!({ "count": 2, "bytes": 5, "budgetBytes": 1_073_741_824_u64 })
    );
    assert_eq!(
        text(&daemon.read("artifact://:2-2").expect("a row"))
            .lines()
            .next()
            .map(|it| it.contains("artifact://2")),
        Some(true)
    );
}

#[test]
fn what_is_not_there_or_not_meant_is_said() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    put(&daemon, json!({ "text": "a\nb\n" }));
    for (path, kind) in [
        ("artifact://2", "notFound"),
        ("artifact://01", "notFound"),
        ("artifact://1/x", "notFound"),
        ("artifact://one", "notFound"),
        ("artifact://1:x", "badSelector"),
        ("artifact://1:0", "badSelector"),
        ("artifact://1:p2", "badSelector"),
        ("artifact://1?q=.a", "badParams"),
    ] {
        let error = daemon.read(path).expect_err(path);
        assert_eq!(error.kind(), kind, "{path}: {}", error.message);
    }
    for (params, kind) in [
        (json!({}), "badParams"),
        (json!({ "text": "a", "path": "b" }), "badParams"),
        (json!({ "text": 5 }), "badParams"),
        (json!({ "base64": "?" }), "badParams"),
        (json!({ "text": "a", "append": true }), "badParams"),
        (json!({ "text": "a", "uri": "artifact://1" }), "badParams"),
        (json!({ "text": "a", "uri": "artifact://7" }), "badParams"),
        (
            json!({ "text": "a", "uri": "artifact://7", "append": true }),
            "notFound",
        ),
        (
            json!({ "text": "a", "uri": "agent://x", "append": true }),
            "notFound",
        ),
        (json!({ "text": "a", "uri": "local://x" }), "badParams"),
        (json!({ "text": "a", "uri": "agent://" }), "badParams"),
        (json!({ "text": "a", "uri": "agent://a?b" }), "badParams"),
        (json!({ "text": "a", "session": "" }), "badParams"),
    ] {
        let error = refused_put(&daemon, params.clone());
        assert_eq!(error.kind(), kind, "{params}: {}", error.message);
    }
    // Nothing of that took a number, and nothing can be changed.
    assert_eq!(put(&daemon, json!({ "text": "b" }))["uri"], "artifact://2");
    for (method, params) in [
        (
            "agent/write",
            json!({ "path": "artifact://1", "text": "x" }),
        ),
        (
            "agent/write",
            json!({ "path": "artifact://9", "text": "x" }),
        ),
        (
            "agent/edit",
            json!({ "patch": "¶artifact://1#1234\ndelete 1\n" }),
        ),
    ] {
        let error = daemon.call(method, params).expect_err(method);
        assert_eq!(error.kind(), "unsupported", "{}", error.message);
    }
    assert_eq!(fs::read_dir(tree.path()).expect("the root").count(), 0);
}

#[test]
fn the_oldest_go_and_it_is_said() {
    const KIB: usize = 1024;
    let tree = Tree::new();
    let settings = json!({ "artifacts": { "maxBytes": 64 * KIB, "sessionBytes": 128 * KIB, "totalBytes": 256 * KIB } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    let big = |session: &str, kib: usize| {
        put(
            &daemon,
            json!({ "session": session, "text": "x".repeat(kib * KIB) }),
        )
    };
    let error = refused_put(&daemon, json!({ "text": "x".repeat(64 * KIB + 1) }));
    assert_eq!(error.kind(), "tooLarge");
    assert!(
        error.message.contains("at most 65536 bytes"),
        "{}",
        error.message
    );
    assert_eq!(big("A", 60)["dropped"], json!([]));
    assert_eq!(big("A", 60)["uri"], "artifact://2");
    assert_eq!(big("A", 60)["dropped"], json!(["artifact://1"]));
    let gone = super::read_as(&daemon, "A", "artifact://1").expect_err("dropped");
    assert_eq!(gone.kind(), "notFound");
    assert_eq!(
        gone.message,
        "artifact://1 was dropped to make room (131072 bytes for a session)."
    );
    let again = json!({ "session": "A", "uri": "artifact://1", "append": true, "text": "x" });
    assert!(
        refused_put(&daemon, again)
            .message
            .contains("was dropped to make room")
    );
    // The sum of all makes others' go, of which nobody else is told.
    big("B", 60);
    assert_eq!(big("C", 60)["dropped"], json!([]));
    assert_eq!(big("C", 60)["dropped"], json!([]));
    let gone = super::read_as(&daemon, "A", "artifact://2").expect_err("dropped");
    assert!(
        gone.message.ends_with("(262144 bytes for all sessions)."),
        "{}",
        gone.message
    );
    assert!(status(&daemon)["bytes"].as_u64().expect("bytes") <= 256 * KIB as u64);
    // What is added to one that is full keeps the head, and says so.
    let append = json!({ "session": "C", "uri": "artifact://2", "append": true, "text": "y".repeat(5 * KIB), "read": { "selector": "-1" } });
    let added = put(&daemon, append);
    assert_eq!(added["bytes"], 64 * KIB);
    let said = added["dropped"]
        .as_array()
        .expect("a list")
        .last()
        .expect("one")
        .to_string();
    assert!(
        said.contains("the last 1024 bytes for artifact://2 (65536 bytes for an artifact)"),
        "{said}"
    );
}

#[test]
fn over_32_mib_it_is_read_by_its_lines() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let line = "x".repeat(999);
    let lines = 40 * 1024;
    let mut path = tree.join("large.txt");
    path.set_file_name("large.txt");
    let content: String = (1..=lines)
        .map(|n| format!("{n:06}{}\n", &line[6..]))
        .collect();
    tree.write("large.txt", content);
    let result = put(
        &daemon,
        json!({ "path": "large.txt", "read": { "selector": "-2" } }),
    );
    assert_eq!(result["lines"], lines);
    let shown = text(&result["read"]);
    assert!(
        shown.contains(&format!("\n{}:{:06}xxx", lines - 1, lines - 1)),
        "{}",
        &shown[..200]
    );
    let middle = daemon.read_text("artifact://1:20000-20001");
    assert!(middle.starts_with("20000:020000xxx") && middle.contains("\n20001:020001xxx"));
}

#[test]
fn several_are_read_at_once_and_one_that_is_missing_spoils_no_other() {
    let tree = Tree::new().file("a.txt", "one\n");
    let daemon = Daemon::start(tree.path());
    let put = daemon.request("agent/putArtifact", json!({ "text": numbered_lines(1, 9) }));
    let targets =
        json!([{ "path": "artifact://1:2-3" }, { "path": "a.txt" }, { "path": "artifact://2" }]);
    let many = daemon.request("agent/readMany", json!({ "targets": targets }));
    daemon.wait(&put).expect("put");
    let results = daemon.wait(&many).expect("results")["results"].clone();
    assert!(text(&results[0]["ok"]).starts_with("2:line 2\n3:line 3\n\n["));
    assert!(text(&results[1]["ok"]).ends_with("\n1:one"));
    assert_eq!(results[2]["error"]["data"]["kind"], "notFound");
}

#[test]
fn each_dialect_writes_it_as_a_file() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    put(
        &daemon,
        json!({ "text": "one\ntwo\nthree\n", "name": "a run" }),
    );
    for (dialect, parameter, shown, missing) in [
        ("hashline", "path", "1:one\n2:two\n3:three", None),
        ("numbered", "path", "1:one\n2:two\n3:three", None),
        ("plain", "path", "one\ntwo\nthree", None),
        (
            "opencode",
            "filePath",
            "<path>artifact://1</path>\n<type>file</type>\n<content>\n1: one",
            None,
        ),
        (
            "pikuri",
            "path",
            "     1\tone",
            Some("Error: file not found: artifact://9"),
        ),
        (
            "llm-gateway",
            "filePath",
            "<file path=\"artifact://1\" lines=\"1-3\"",
            Some("File not found: artifact://9"),
        ),
        (
            "roo",
            "path",
            "1 | one",
            Some("Error: File not found at path 'artifact://9'."),
        ),
    ] {
        let read = |path: &str| daemon.read_with(json!({ "dialect": dialect, parameter: path }));
        let got = read("artifact://1").expect(dialect);
        assert!(text(&got).starts_with(shown), "{dialect}: {}", text(&got));
        let list = read("artifact://").expect(dialect);
        assert!(
            text(&list).contains("artifact://1  a run  3 lines, 14B"),
            "{dialect}: {}",
            text(&list)
        );
        match (read("artifact://9"), missing) {
            (Ok(result), Some(said)) => assert_eq!(text(&result), said),
            (Err(error), None) => {
                assert!(error.message.contains("artifact://9"), "{}", error.message)
            }
            (result, _) => panic!("{dialect}: {result:?}"),
        }
        let params = json!({ "text": "x\ny\n", "name": "b run", "read": { "dialect": dialect, "selector": "2-2" } });
        let read = put(&daemon, params)["read"].clone();
        let all: Vec<&str> = read["content"]
            .as_array()
            .expect("blocks")
            .iter()
            .filter_map(|it| it["text"].as_str())
            .collect();
        assert!(
            all.concat().contains("b run, 2 lines, 4B"),
            "{dialect}: {all:?}"
        );
    }
    let offset =
        json!({ "dialect": "opencode", "filePath": "artifact://1", "offset": 2, "limit": 1 });
    let got = daemon.read_with(offset).expect("a line");
    assert!(
        text(&got).contains("2: two") && !text(&got).contains("one"),
        "{}",
        text(&got)
    );
    let lines = json!({ "dialect": "roo", "path": "artifact://1", "start_line": 3, "end_line": 3 });
    assert!(text(&daemon.read_with(lines).expect("a line")).contains("3 | three"));
}

#[test]
fn a_folder_of_that_name_shadows_nothing_and_the_command_line_has_none() {
    let tree = Tree::new()
        .file("artifact:/1", "mine\n")
        .file("local:/x", "mine too\n");
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        daemon.read("artifact://1").expect_err("none").kind(),
        "notFound"
    );
    assert_eq!(
        daemon.read("local://x").expect_err("none").kind(),
        "notFound"
    );
    assert!(daemon.read_text("./artifact:/1").ends_with("\n1:mine"));
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pilcrow"))
        .current_dir(tree.path())
        .args(["read", "artifact://1"])
        .output()
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(
        !output.status.success() && said.contains("of a session"),
        "{said}"
    );
}
