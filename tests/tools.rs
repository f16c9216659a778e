//! `agent/tools`: what a model is told it can call is what can be called.

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::dialects::DIALECTS;
use crate::tree::Tree;

fn tools(daemon: &Daemon, dialect: &str) -> Vec<Value> {
    let listed = daemon.call("agent/tools", json!({ "dialect": dialect }));
    listed.expect("tools")["tools"]
        .as_array()
        .expect("a list")
        .clone()
}

fn named<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    let found = tools.iter().find(|tool| tool["name"] == name);
    found.unwrap_or_else(|| panic!("no tool {name}"))
}

#[test]
fn every_dialect_lists_five_tools_with_schemas() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for dialect in ["hashline", "numbered", "plain"] {
        let tools = tools(&daemon, dialect);
        let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(
            json!(names),
            json!(["read", "read_many", "search", "edit", "write"])
        );
        for tool in &tools {
            let schema = &tool["inputSchema"];
            assert_eq!(schema["type"], "object");
            for required in schema["required"].as_array().expect("a list") {
                let name = required.as_str().expect("a name");
                assert!(schema["properties"][name].is_object(), "{dialect}: {name}");
            }
            assert!(tool["description"].as_str().expect("words").len() > 100);
        }
    }
    // Without a name it is the dialect of the settings.
    let listed = daemon.call("agent/tools", Value::Null).expect("tools");
    assert_eq!(listed["tools"], json!(tools(&daemon, "hashline")));
}

#[test]
fn the_example_that_teaches_edits_is_an_edit_and_short() {
    let text: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    let tree = Tree::new().file("src/shapes.ts", &text);
    let daemon = Daemon::start(tree.path());
    let tools = tools(&daemon, "hashline");
    let description = named(&tools, "edit")["description"]
        .as_str()
        .expect("words");
    // Models have about four characters to a token.
    assert!(description.len() / 4 < 1200, "{}", description.len());
    let start = description.find('¶').expect("an example");
    let end = description[start..].find("\n\n-").expect("its end") + start;
    let read = daemon.read("src/shapes.ts").expect("a read");
    let tag = read["details"]["hashline"]["tag"].as_str().expect("a tag");
    let patch = description[start..end].replace("C3DE", tag);
    let edited = daemon
        .call("agent/edit", json!({ "patch": patch }))
        .expect("an edit");
    assert_eq!(edited["details"]["files"][0]["warnings"], json!([]));
    let now = std::fs::read_to_string(tree.join("src/shapes.ts")).expect("the file");
    let lines: Vec<&str> = now.lines().collect();
    assert_eq!(lines[..3], ["line 1", "line 2", "line 10"]);
    assert!(lines.contains(&"export const unit = new Circle(1);"));
}

#[test]
fn what_a_schema_asks_for_is_taken() {
    let tree = Tree::new().file("a.txt", "one\ntwo\n");
    let daemon = Daemon::start(tree.path());
    let many = json!({ "targets": [{ "path": "a.txt" }, { "path": "a.txt", "selector": "2" }] });
    let read = daemon.call("agent/readMany", many).expect("reads");
    assert!(read["results"][1]["ok"].is_object());
    for dialect in ["plain", "opencode"] {
        let many = json!({ "paths": ["a.txt", "a.txt:2-2"], "dialect": dialect });
        let read = daemon.call("agent/readMany", many).expect("reads");
        let text = &read["results"][1]["ok"]["content"][0]["text"];
        assert!(
            text.as_str().is_some_and(|text| text.contains("two")),
            "{read}"
        );
    }
    let one = json!({ "paths": "a.txt" });
    let read = daemon.call("agent/readMany", one).expect("reads");
    assert_eq!(read["results"].as_array().map(Vec::len), Some(1));
    let both = json!({ "paths": ["a.txt"], "targets": [{ "path": "a.txt" }] });
    let refused = daemon.call("agent/readMany", both).expect_err("a refusal");
    assert_eq!(refused.kind(), "badParams");
    let tools = tools(&daemon, "plain");
    let op = &named(&tools, "edit")["inputSchema"]["properties"]["files"]["items"]["properties"]["edits"]
        ["items"]["properties"]["op"]["enum"][0];
    let edit = json!({ "op": op, "old": "two", "new": "2" });
    let edit = json!({ "files": [{ "path": "a.txt", "edits": [edit] }] });
    daemon.call("agent/edit", edit).expect("an edit");
    let write = json!({ "path": "b.txt", "text": "new\n", "expect": "absent" });
    daemon.call("agent/write", write).expect("a write");
    assert_eq!(
        std::fs::read_to_string(tree.join("a.txt")).expect("a file"),
        "one\n2\n"
    );
    assert_eq!(
        std::fs::read_to_string(tree.join("b.txt")).expect("a file"),
        "new\n"
    );
}

#[test]
fn where_edits_are_off_none_are_offered() {
    let tree = Tree::new().file("a.txt", "one\n");
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "edit": { "enabled": false } }))
        .start();
    let tools = tools(&daemon, "hashline");
    assert_eq!(tools.len(), 3);
    let refused = daemon.call("agent/write", json!({ "path": "b.txt", "text": "x" }));
    assert_eq!(refused.expect_err("a refusal").kind(), "unsupported");
}

#[test]
fn an_unknown_dialect_names_the_nearest() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let refused = daemon.call("agent/tools", json!({ "dialect": "hashlin" }));
    let error = refused.expect_err("a refusal");
    assert_eq!(error.kind(), "badParams");
    assert!(error.message.contains("'hashline'"), "{}", error.message);
}

fn read_description(daemon: &Daemon, dialect: &str) -> String {
    let tools = tools(daemon, dialect);
    let described = tools[0]["description"].as_str();
    described.expect("words").to_owned()
}

/// Schemes of the table that need nothing to be on.
const ALWAYS: [&str; 9] = [
    "artifact://N",
    "agent://ID",
    "local://PATH",
    "pilcrow://NAME",
    "skill://NAME",
    "rule://NAME",
    "memory://NS",
    "issue://N",
    "pr://N",
];

#[test]
fn the_schemes_that_are_on_are_named() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for dialect in DIALECTS {
        let described = read_description(&daemon, dialect);
        for form in ALWAYS {
            assert!(described.contains(form), "{dialect}: {form}: {described}");
        }
        for other in ["mcp://", "jira://", "{", "omp://"] {
            assert!(
                !described.contains(other),
                "{dialect}: {other}: {described}"
            );
        }
        let line = described.lines().find(|line| line.contains("artifact://"));
        let line = line.expect("a point of its own");
        assert!(
            line.starts_with("- ") && line.chars().count() < 330,
            "{dialect}: {line}"
        );
    }
    // What the client offers and what the settings name comes and goes.
    daemon.notify(
        "agent/didChangeSchemes",
        json!({ "schemes": ["jira", "mcp", "skill"] }),
    );
    for dialect in DIALECTS {
        let described = read_description(&daemon, dialect);
        for form in ["jira://…", "mcp://SERVER/URI", "skill://NAME"] {
            assert_eq!(
                described.matches(form).count(),
                1,
                "{dialect}: {form}: {described}"
            );
        }
    }
    daemon.notify("agent/didChangeSchemes", json!({ "schemes": [] }));
    assert!(!read_description(&daemon, "hashline").contains("jira"));
    let many: Vec<String> = (0..64)
        .map(|n| format!("s{n:02}{}", "x".repeat(60)))
        .collect();
    daemon.notify("agent/didChangeSchemes", json!({ "schemes": many }));
    let described = read_description(&daemon, "hashline");
    assert!(described.contains(&format!("{}://…", many[7])) && !described.contains(&many[8]));
    assert!(described.contains("and 56 more schemes"), "{described}");
    let server = json!({ "small": { "command": "no-such-program" } });
    let roots = json!([{ "scheme": "rule", "name": "r", "path": "~/rules" }]);
    let settings = json!({
        "mcp": { "servers": server },
        "github": { "enabled": false },
        "internal": { "workspace": false, "user": false, "roots": roots },
    });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    let described = read_description(&daemon, "hashline");
    for (form, is_on) in [
        ("mcp://SERVER/URI", true),
        ("rule://NAME", true),
        ("issue://", false),
        ("pr://", false),
        ("skill://", false),
        ("memory://", false),
        ("artifact://N", true),
    ] {
        assert_eq!(described.contains(form), is_on, "{form}: {described}");
    }
}
