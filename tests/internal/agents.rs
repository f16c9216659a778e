//! `agent://`: what subagents answered, and parts of their JSON.

use serde_json::{Value, json};

use super::{put, read_as, text};
use crate::client::Daemon;
use crate::tree::Tree;

const FINDINGS: &str = r#"{"verdict": "no", "findings": [{"path": "a.rs", "line": 7}, {"path": "b.rs", "line": 1.50}], "a key": "first\nsecond", "none": null}"#;

fn answer(daemon: &Daemon, id: &str, answer: &str) -> Value {
    put(
        daemon,
        json!({ "uri": format!("agent://{id}"), "text": answer, "name": "review" }),
    )
}

#[test]
fn an_answer_is_read_by_its_agents_id() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        daemon.read_text("agent://"),
        "1:No answers of agents in this session"
    );
    let given = answer(&daemon, "reviewer_0", "All good.\nReally.\n");
    assert_eq!(
        (&given["uri"], &given["lines"]),
        (&json!("agent://reviewer_0"), &json!(2))
    );
    let read = daemon.read("agent://reviewer_0").expect("the answer");
    assert_eq!(text(&read), "1:All good.\n2:Really.");
    assert_eq!(read["details"]["meta"]["source"], "agent://reviewer_0");
    assert_eq!(read["details"]["resolvedPath"], given["path"]);
    assert_eq!(daemon.read_text("agent://reviewer_0:2-"), "2:Really.");
    // It replaces what was there.
    answer(&daemon, "reviewer_0", "Not good.\n");
    assert_eq!(daemon.read_text("agent://reviewer_0"), "1:Not good.");
    assert!(!std::path::Path::new(given["path"].as_str().expect("a path")).exists());
    let more = json!({ "uri": "agent://reviewer_0", "append": true, "text": "At all.\n" });
    assert_eq!(put(&daemon, more)["lines"], 2);
    // The longest id that there is.
    answer(&daemon, "parent", r#"{"child": "of the parent"}"#);
    assert_eq!(daemon.read_text("agent://parent/child"), "1:of the parent");
    answer(&daemon, "parent/child", "its own");
    assert_eq!(daemon.read_text("agent://parent/child"), "1:its own");
    answer(&daemon, "odd:5", "with a colon\n");
    assert_eq!(daemon.read_text("agent://odd:5"), "1:with a colon");
    assert_eq!(daemon.read_text("agent://odd:5:1-"), "1:with a colon");
    let list = daemon.read("agent://").expect("a list");
    let rows: Vec<&str> = text(&list).lines().collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(
        rows[1],
        "agent://parent        review  1 line, 26B   just now"
    );
    // They are none of the artifacts, and take no numbers of theirs.
    assert_eq!(put(&daemon, json!({ "text": "x" }))["uri"], "artifact://1");
}

#[test]
fn parts_of_its_json_are_read_by_path_and_by_query() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    answer(&daemon, "r", FINDINGS);
    for (path, shown) in [
        ("agent://r/verdict", "1:no"),
        ("agent://r/findings/0/path", "1:a.rs"),
        (
            "agent://r/findings/-1",
            "1:{\n2:  \"path\": \"b.rs\",\n3:  \"line\": 1.50\n4:}",
        ),
        ("agent://r/a%20key", "1:first\n2:second"),
        ("agent://r/a key:2-", "2:second"),
        ("agent://r/none", "1:null"),
        ("agent://r?q=.findings[0].path", "1:a.rs"),
        ("agent://r?q=.findings%5B-1%5D.line", "1:1.50"),
        ("agent://r?q=[\"a key\"]", "1:first\n2:second"),
        (
            "agent://r?q=.findings[].path",
            "1:[\n2:  \"a.rs\",\n3:  \"b.rs\"\n4:]",
        ),
        ("agent://r?q=.findings[0:1][].line", "1:[\n2:  7\n3:]"),
        ("agent://r?q=.findings[].path:2-2", "2:  \"a.rs\","),
    ] {
        let read = daemon
            .read(path)
            .unwrap_or_else(|error| panic!("{path}: {}", error.message));
        assert_eq!(text(&read).split("\n\n[").next(), Some(shown), "{path}");
        assert_eq!(read["details"]["kind"], "internal");
    }
    let source =
        daemon.read("agent://r/findings/0").expect("a part")["details"]["meta"]["source"].clone();
    assert_eq!(source, "agent://r/findings/0");
    // A fence is JSON, too, if it is the only one.
    answer(&daemon, "f", "I found:\n\n```json\n[1, 2]\n```\n");
    assert_eq!(daemon.read_text("agent://f/1"), "1:2");
    for (path, kind, message) in [
        (
            "agent://r/findings/2",
            "notFound",
            "No '2': at '/findings' there is a list of 2 in output r.",
        ),
        (
            "agent://r/verdicts",
            "notFound",
            "No 'verdicts': at the top there are the keys verdict, findings, a key, none in output r.",
        ),
        (
            "agent://r/verdict/x",
            "notFound",
            "No 'x': at '/verdict' there is neither a list nor an object in output r.",
        ),
        (
            "agent://r/findings?q=[0]",
            "badParams",
            "A path and ?q= both name a part; give one of them.",
        ),
        (
            "agent://r?q=findings",
            "badParams",
            "'findings' is no way into JSON.",
        ),
        (
            "agent://r?x=1",
            "badParams",
            "agent:// takes no parameters but ?q=.",
        ),
        ("agent://s/x", "notFound", "File not found: agent://s/x."),
    ] {
        let error = daemon.read(path).expect_err(path);
        assert_eq!(error.kind(), kind, "{path}: {}", error.message);
        assert!(
            error.message.starts_with(message),
            "{path}: {}",
            error.message
        );
    }
    // Of several fences none is, and another kind of fence is none.
    for text in [
        "no JSON\n",
        "```json\n[1]\n```\n\n```json\n[2]\n```\n",
        "```\n[1]\n```\n",
        "```json\n[1\n```\n",
    ] {
        answer(&daemon, "reviewer_0", text);
        let error = daemon.read("agent://reviewer_0/x").expect_err("no JSON");
        assert_eq!(error.kind(), "notFound");
        assert_eq!(error.message, "Output reviewer_0 is not JSON.", "{text}");
    }
    let near = daemon.read("agent://reviewer_1").expect_err("none");
    assert_eq!(near.data["suggestions"], json!(["agent://reviewer_0"]));
}

#[test]
fn each_dialect_writes_a_part_as_a_file() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    answer(&daemon, "r", FINDINGS);
    for (dialect, parameter, shown) in [
        ("hashline", "path", "1:a.rs"),
        ("numbered", "path", "1:a.rs"),
        ("plain", "path", "a.rs"),
        (
            "opencode",
            "filePath",
            "<path>agent://r/findings/0/path</path>\n<type>file</type>\n<content>\n1: a.rs",
        ),
        ("pikuri", "path", "     1\ta.rs"),
        (
            "llm-gateway",
            "filePath",
            "<file path=\"agent://r/findings/0/path\" lines=\"1-1\"",
        ),
        ("roo", "path", "1 | a.rs"),
    ] {
        let params = json!({ "dialect": dialect, parameter: "agent://r/findings/0/path" });
        let got = daemon.read_with(params).expect(dialect);
        assert!(text(&got).starts_with(shown), "{dialect}: {}", text(&got));
    }
}

#[test]
fn sessions_see_their_own_alone() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    put(
        &daemon,
        json!({ "session": "A", "uri": "agent://r", "text": "A's" }),
    );
    assert!(read_as(&daemon, "B", "agent://r").is_err());
    assert_eq!(
        text(&read_as(&daemon, "A/b", "agent://r").expect("its parent's")),
        "1:A's"
    );
    put(
        &daemon,
        json!({ "session": "A/b", "uri": "agent://r", "text": "b's" }),
    );
    assert_eq!(
        text(&read_as(&daemon, "A/b", "agent://r").expect("its own")),
        "1:b's"
    );
    assert_eq!(
        text(&read_as(&daemon, "A", "agent://r").expect("its own")),
        "1:A's"
    );
}

#[test]
fn a_part_is_paged_like_any_text() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let lines: Vec<u32> = (1..=5000).collect();
    answer(&daemon, "r", &json!({ "all": lines }).to_string());
    let first = daemon.read("agent://r/all").expect("a page");
    assert_eq!(first["details"]["truncation"]["nextSelector"], "3001-");
    assert!(first["details"]["truncation"]["artifactId"].is_null());
    let next = daemon.read_text("agent://r/all:3001-3002");
    assert!(next.starts_with("3001:  3000,\n3002:  3001,"), "{next}");
    assert!(
        daemon
            .read_text("agent://r?q=.all:-1")
            .starts_with("5002:]")
    );
    // An id that is as long as that of a part is the answer of that agent.
    answer(&daemon, "r/all", "of its own\n");
    assert_eq!(daemon.read_text("agent://r/all"), "1:of its own");
    assert!(daemon.read_text("agent://r?q=.all[0]").starts_with("1:1"));
}
