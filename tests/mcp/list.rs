//! `tools/list`: what every agent and every provider of models takes.

use serde_json::{Value, json};

use crate::dialects::DIALECTS;
use crate::tree::Tree;

use super::McpProcess;

fn listed(server: &McpProcess) -> Vec<Value> {
    let listed = server.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array();
    tools.expect("tools").clone()
}

fn names(server: &McpProcess) -> Vec<String> {
    let tools = listed(server);
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    tools.iter().map(name).collect()
}

/// Every word of a schema, with its value.
fn words(schema: &Value, check: &mut impl FnMut(&str, &Value)) {
    for (word, value) in schema.as_object().expect("a schema") {
        check(word, value);
        match word.as_str() {
            "properties" => {
                for property in value.as_object().expect("properties").values() {
                    words(property, check);
                }
            }
            "items" => words(value, check),
            _ => {}
        }
    }
}

const WORDS: [&str; 10] = [
    "type",
    "properties",
    "required",
    "description",
    "items",
    "enum",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
];

#[test]
fn schemas_have_only_words_that_every_provider_knows() {
    let tree = Tree::new();
    for dialect in DIALECTS {
        let server = McpProcess::in_directory(tree.path())
            .arg("--dialect")
            .arg(dialect)
            .start();
        for tool in listed(&server) {
            let schema = &tool["inputSchema"];
            assert_eq!(schema["type"], "object");
            words(schema, &mut |word, value| {
                assert!(WORDS.contains(&word), "{dialect}: {word}");
                assert!(word != "type" || value.is_string(), "{dialect}: {schema}");
            });
            assert!(!schema.to_string().contains("null"), "{dialect}: {schema}");
            let description = tool["description"].as_str().expect("a description");
            assert!(!description.contains("web address"), "{description}");
            assert!(!description.contains("Unsaved"), "{description}");
            assert!(tool.get("outputSchema").is_none());
        }
    }
}

#[test]
fn the_list_is_short_and_says_what_each_tool_does_to_files() {
    let tree = Tree::new();
    let server = McpProcess::start(tree.path());
    let mut tools = listed(&server);
    let hints = |tool: &Value| tool["annotations"].clone();
    let read = json!({ "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false });
    let edit = json!({ "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false });
    let all: Vec<Value> = tools.iter().map(hints).collect();
    assert_eq!(all, [read.clone(), read.clone(), read, edit.clone(), edit]);
    for tool in &mut tools {
        assert_eq!(tool["_meta"]["anthropic/maxResultSizeChars"], 500_000);
        assert!(tool["title"].is_string());
        let description = tool["description"].as_str().expect("a description");
        let first = description
            .split('.')
            .next()
            .unwrap_or_default()
            .to_lowercase();
        assert!(first.contains("file"), "{first}");
        tool.as_object_mut().expect("a tool").remove("_meta");
    }
    let length = json!(tools).to_string().chars().count();
    assert!(length <= 6000, "{length}");
}

#[test]
fn it_is_what_agent_tools_gives() {
    let tree = Tree::new();
    let daemon = crate::client::Daemon::start(tree.path());
    let given = daemon.call("agent/tools", json!({})).expect("tools");
    let server = McpProcess::start(tree.path());
    let schemas = |tools: &[Value]| -> Vec<(Value, Value)> {
        let pair = |tool: &Value| (tool["name"].clone(), tool["inputSchema"].clone());
        tools.iter().map(pair).collect()
    };
    let given = given["tools"].as_array().expect("tools");
    assert_eq!(schemas(&listed(&server)), schemas(given));
}

#[test]
fn switches_say_which_tools_there_are() {
    let tree = Tree::new().file("a.txt", "one\n");
    let all = names(&McpProcess::start(tree.path()));
    assert_eq!(all, ["read", "read_many", "search", "edit", "write"]);
    // It stays as it is for the whole life of a process.
    let server = McpProcess::start(tree.path());
    let before = listed(&server);
    server.text("read", json!({ "path": "a.txt" }));
    assert_eq!(listed(&server), before);
    let server = McpProcess::in_directory(tree.path())
        .arg("--read-only")
        .start();
    assert_eq!(names(&server), ["read", "read_many", "search"]);
    assert_eq!(server.text("read", json!({ "path": "a.txt" })), "1:one");
    let edit = server.request("tools/call", json!({ "name": "edit", "arguments": {} }));
    assert_eq!(edit["error"]["code"], -32602);
    let server = McpProcess::in_directory(tree.path())
        .arg("--tools")
        .arg("edit,read")
        .start();
    assert_eq!(names(&server), ["read", "edit"]);
    let roo = McpProcess::in_directory(tree.path())
        .arg("--dialect=roo")
        .start();
    assert_eq!(names(&roo)[0], "read_file");
    let web = McpProcess::in_directory(tree.path())
        .arg("--set")
        .arg("web.enabled=true")
        .start();
    let tools = listed(&web);
    assert_eq!(tools[0]["annotations"]["openWorldHint"], true);
    assert!(
        tools[0]["description"]
            .as_str()
            .is_some_and(|it| it.contains("web address"))
    );
}

#[test]
fn what_it_cannot_start_with_is_said_on_stderr() {
    let tree = Tree::new();
    for (arguments, why) in [
        (
            &["--tools", "read,grep"][..],
            "There is no tool 'grep' here.",
        ),
        (&["--dialect", "opncode"], "Did you mean 'opencode'?"),
        (&["--set", "read.colour=1"], "Unknown Pilcrow setting"),
        (&["--root", "missing"], "There is no folder"),
        (&["--budget-bytes", "9"], "--budget-bytes"),
    ] {
        let mut builder = McpProcess::in_directory(tree.path());
        for argument in arguments {
            builder = builder.arg(*argument);
        }
        let output = builder.command(tree.path()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(why), "{said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_schemes_that_are_on_are_named_within_the_bound() {
    let tree = Tree::new();
    let servers = json!({ "docs": { "command": "no-such-program" } });
    for dialect in DIALECTS {
        let server = McpProcess::in_directory(tree.path())
            .arg("--dialect")
            .arg(dialect)
            .arg("--set")
            .arg(format!("mcp.servers={servers}"))
            .arg("--set")
            .arg("web.enabled=true")
            .start();
        let mut tools = listed(&server);
        let described = tools[0]["description"].as_str().expect("words").to_owned();
        for form in [
            "artifact://N",
            "skill://NAME",
            "mcp://SERVER/URI",
            "pilcrow://",
        ] {
            assert!(described.contains(form), "{dialect}: {form}: {described}");
        }
        assert!(!described.contains("{addresses}"), "{described}");
        for tool in &mut tools {
            tool.as_object_mut().expect("a tool").remove("_meta");
        }
        let length = json!(tools).to_string().chars().count();
        assert!(length <= 6000, "{dialect}: {length}");
    }
    let without = McpProcess::start(tree.path());
    let described = listed(&without)[0]["description"].to_string();
    assert!(!described.contains("mcp://"), "{described}");
}
