//! The schemas that `agent/tools` gives: what one accepts the daemon accepts, but for what plain
//! schemas cannot say; what it takes beside that is the same in another form. Judged by a validator
//! that is not ours.

use std::cell::RefCell;

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::client::{Daemon, WireError};
use crate::tree::{Tree, numbered_lines};

/// All dialects, with the name of their read.
const READS: [(&str, &str); 7] = [
    ("hashline", "read"),
    ("numbered", "read"),
    ("plain", "read"),
    ("opencode", "read"),
    ("pikuri", "read"),
    ("llm-gateway", "read"),
    ("roo", "read_file"),
];

fn tools(daemon: &Daemon, dialect: &str) -> Vec<Value> {
    let listed = daemon.call("agent/tools", json!({ "dialect": dialect }));
    listed.expect("tools")["tools"]
        .as_array()
        .expect("a list")
        .clone()
}

fn validator(tools: &[Value], name: &str) -> Validator {
    let tool = tools.iter().find(|tool| tool["name"] == name);
    let schema = &tool.unwrap_or_else(|| panic!("no tool {name}"))["inputSchema"];
    jsonschema::draft202012::new(schema).expect("a schema of 2020-12")
}

/// Whether the parameters are taken; what becomes of the read is another matter.
fn is_taken(outcome: Result<Value, WireError>) -> bool {
    match outcome {
        Err(error) => error.kind() != "badParams",
        Ok(result) => error_of(&result)["data"]["kind"] != "badParams",
    }
}

/// The error that a result is, where the dialect has none but results.
fn error_of(result: &Value) -> &Value {
    &result["details"]["native"]["error"]
}

/// Code, kind and message of a refusal, however the dialect gives it.
fn refused(outcome: Result<Value, WireError>) -> (i64, String, String) {
    match outcome {
        Err(error) => (error.code, error.kind().to_owned(), error.message),
        Ok(result) => {
            assert_eq!(result["isError"], true, "{result}");
            let error = error_of(&result);
            let text = |value: &Value| value.as_str().expect("a string").to_owned();
            let code = error["code"].as_i64().expect("a code");
            (code, text(&error["data"]["kind"]), text(&error["message"]))
        }
    }
}

fn read(daemon: &Daemon, dialect: &str, params: &Value) -> Result<Value, WireError> {
    let mut params = params.clone();
    params["dialect"] = json!(dialect);
    daemon.read_with(params)
}

#[test]
fn every_dialect_lists_five_tools() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for (dialect, read) in READS {
        let tools = tools(&daemon, dialect);
        let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(
            json!(names),
            json!([read, "read_many", "search", "edit", "write"])
        );
        for tool in &tools {
            let schema = &tool["inputSchema"];
            assert!(jsonschema::meta::is_valid(schema), "{dialect}: {schema}");
            let properties = schema["properties"].as_object().expect("properties");
            for (name, property) in properties {
                assert!(property["description"].is_string(), "{dialect}: {name}");
            }
            assert!(tool["description"].as_str().expect("words").len() > 100);
        }
    }
}

#[test]
fn the_command_prints_the_same_tools() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for (dialect, _) in READS {
        let printed = std::process::Command::new(env!("CARGO_BIN_EXE_pilcrow"))
            .args(["tools", "--dialect", dialect])
            .current_dir(tree.path())
            .output()
            .expect("the command runs");
        let printed: Value = serde_json::from_slice(&printed.stdout).expect("JSON");
        assert_eq!(
            printed["tools"],
            json!(tools(&daemon, dialect)),
            "{dialect}"
        );
    }
}

#[test]
fn examples_of_the_seeds_are_accepted() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let examples = [
        (
            "hashline",
            vec![
                json!({ "path": "src/foo.ts:50-52" }),
                json!({ "path": "/" }),
                json!({ "path": "src/foo.ts", "selector": "5-16,960-973" }),
            ],
        ),
        ("numbered", vec![json!({ "path": "src/foo.ts:raw" })]),
        ("plain", vec![json!({ "path": "src/foo.ts" })]),
        (
            "opencode",
            vec![
                json!({ "filePath": "hello.py" }),
                json!({ "filePath": "large.txt", "offset": 100, "limit": 50 }),
                json!({ "filePath": "src/" }),
            ],
        ),
        (
            "pikuri",
            vec![
                json!({ "path": "lib/foo.rb" }),
                json!({ "path": "/abs/path/to/file.txt", "offset": 200 }),
                json!({ "path": "lib/foo.rb", "limit": 500 }),
            ],
        ),
        (
            "llm-gateway",
            vec![
                json!({ "filePath": "/home/user/src/index.ts" }),
                json!({ "filePath": "/home/user/large.log", "offset": 0, "limit": 100 }),
                json!({ "filePath": "/home/user/large.log", "offset": 100, "limit": 100 }),
                json!({ "filePath": "/home/user/screenshot.png" }),
                json!({ "filePath": "/nonexistent.txt" }),
            ],
        ),
        (
            "roo",
            vec![
                json!({ "path": "src/app.js" }),
                json!({ "path": "src/app.js", "start_line": 46, "end_line": 68 }),
                json!({ "path": "logs/large_app.log" }),
                json!({ "path": ".env" }),
            ],
        ),
    ];
    for ((dialect, examples), (_, name)) in examples.iter().zip(READS) {
        let schema = validator(&tools(&daemon, dialect), name);
        for example in examples {
            assert!(schema.is_valid(example), "{dialect}: {example}");
            assert!(
                is_taken(read(&daemon, dialect, example)),
                "{dialect}: {example}"
            );
        }
    }
}

/// Ten requests that cannot be meant, for each dialect; `path` and the numbers by their names.
fn malformed(dialect: &str) -> Vec<Value> {
    let rows = |path: &str, first: &str, second: &str| {
        vec![
            json!({}),
            json!({ path: 5 }),
            json!({ path: null }),
            json!({ path: "" }),
            json!({ path: "a\u{0}b" }),
            json!({ path: ["a.txt"] }),
            json!({ path: "a.txt", first: "ten" }),
            json!({ path: "a.txt", first: 1.5 }),
            json!({ path: "a.txt", second: [1, 2] }),
            json!({ path: "a.txt", "nonsense": 1 }),
            json!({ path: "a.txt", second: true }),
            json!({ path: "a.txt", first: "" }),
        ]
    };
    match dialect {
        "opencode" | "llm-gateway" => rows("filePath", "offset", "limit"),
        "pikuri" => rows("path", "offset", "limit"),
        "roo" => rows("path", "start_line", "end_line"),
        _ => vec![
            json!({}),
            json!({ "path": 5 }),
            json!({ "path": null }),
            json!({ "path": "" }),
            json!({ "path": "a\u{0}b" }),
            json!({ "path": ["a.txt"] }),
            json!({ "path": { "file": "a.txt" } }),
            json!({ "path": "a.txt", "selector": 5 }),
            json!({ "path": "a.txt", "selector": ["5-6"] }),
            json!({ "selector": "5-6" }),
        ],
    }
}

#[test]
fn malformed_requests_are_refused_by_both() {
    let tree = Tree::new().file("a.txt", numbered_lines(1, 9));
    let daemon = Daemon::start(tree.path());
    for (dialect, name) in READS {
        let schema = validator(&tools(&daemon, dialect), name);
        let requests = malformed(dialect);
        assert!(requests.len() >= 10);
        for request in requests {
            // Plain schemas have no word against what is not among their properties.
            let is_said = !schema.is_valid(&request) || request.get("nonsense").is_some();
            assert!(is_said || names_no_path(&request), "{dialect}: {request}");
            let (code, kind, _) = refused(read(&daemon, dialect, &request));
            assert_eq!(
                (code, kind.as_str()),
                (-32602, "badParams"),
                "{dialect}: {request}"
            );
        }
    }
}

/// A path that is empty or has NUL in it: plain schemas have no word for that.
fn names_no_path(params: &Value) -> bool {
    let paths = ["path", "filePath"].map(|key| params[key].as_str());
    let is_none = |path: &str| path.is_empty() || path.contains('\0');
    paths.into_iter().flatten().any(is_none)
}

/// The same parameters as a schema has them: a number that came as text is one, and what is null is
/// left out, as is what the dialect leaves alone.
fn as_shown(params: &Value, schema: &Value) -> Value {
    let mut shown = Map::new();
    for (key, value) in params.as_object().expect("an object") {
        let wanted = &schema["properties"][key]["type"];
        let value = match value {
            Value::Null => continue,
            _ if wanted.is_null() => continue,
            // Any number of digits is one to the daemon, and the nearest that it can hold.
            Value::String(text) if wanted == "integer" => {
                let digits = text.strip_prefix('-').unwrap_or(text);
                let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                let number = text.parse::<i64>().unwrap_or(i64::MAX);
                if is_number {
                    json!(number)
                } else {
                    value.clone()
                }
            }
            value => value.clone(),
        };
        shown.insert(key.clone(), value);
    }
    Value::Object(shown)
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => Just(json!("a.txt")),
        2 => (-3i64..30).prop_map(|number| json!(number)),
        2 => (-3i64..30).prop_map(|number| json!(number.to_string())),
        1 => (-3i64..9).prop_map(|number| json!(number as f64)),
        1 => any::<f64>().prop_map(|number| json!(number)),
        1 => any::<u64>().prop_map(|number| json!(number)),
        1 => "[-+0-9. ]{0,4}".prop_map(|text| json!(text)),
        1 => "\\PC{0,3}".prop_map(|text| json!(text)),
        1 => Just(json!("99999999999999999999999")),
        1 => Just(json!("a\u{0}")),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(|flag| json!(flag)),
        1 => Just(json!([1])),
        1 => Just(json!({ "x": 1 })),
    ]
}

fn any_params() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "path",
        "filePath",
        "offset",
        "limit",
        "start_line",
        "end_line",
        "selector",
        "file_path",
        "nonsense",
    ]);
    let own = prop::collection::vec((key, any_value()), 0..3);
    // Mostly with a path, or nearly all are refused for the lack of one.
    let path = prop::sample::select(vec!["path", "filePath", ""]);
    (path, own).prop_map(|(path, own)| {
        let mut params = Map::new();
        if !path.is_empty() {
            params.insert(path.to_owned(), json!("a.txt"));
        }
        params.extend(own.into_iter().map(|(key, value)| (key.to_owned(), value)));
        Value::Object(params)
    })
}

#[test]
fn a_schema_and_the_daemon_agree_on_any_parameters() {
    let tree = Tree::new().file("a.txt", numbered_lines(1, 9));
    let daemon = Daemon::start(tree.path());
    let schemas = READS.map(|(dialect, name)| {
        let tools = tools(&daemon, dialect);
        let schema = tools.iter().find(|tool| tool["name"] == name);
        let schema = schema.expect("a read")["inputSchema"].clone();
        (dialect, validator(&tools, name), schema)
    });
    let config = ProptestConfig {
        cases: match std::env::var_os("PILCROW_LONG") {
            Some(_) => 20_000,
            None => 400,
        },
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let taken = RefCell::new(0);
    proptest!(config, |(params in any_params())| {
        for (dialect, validator, schema) in &schemas {
            let daemon_takes = is_taken(read(&daemon, dialect, &params));
            let known = |key: &String| schema["properties"].get(key).is_some();
            let is_known = params.as_object().expect("an object").keys().all(known);
            // Three dialects leave unknown parameters alone, the others refuse them.
            if validator.is_valid(&params) && is_known && !names_no_path(&params) {
                prop_assert!(daemon_takes, "{}: {}", dialect, params);
            }
            if daemon_takes {
                prop_assert!(validator.is_valid(&as_shown(&params, schema)), "{}: {}", dialect, params);
            }
            *taken.borrow_mut() += usize::from(daemon_takes);
        }
    });
    assert!(taken.into_inner() > 300, "next to nothing was taken");
}

/// What the description of `expect` says of it.
fn is_an_expectation(expect: &Value) -> bool {
    let tag = |text: &str| {
        let tag = text.rsplit_once('#').map_or(text, |(_, tag)| tag);
        tag.len() == 4 && tag.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    expect.is_null()
        || expect
            .as_str()
            .is_some_and(|text| text == "absent" || tag(text))
}

/// Of edits and writes the schema is the part of what the daemon takes that a model is taught.
#[test]
fn what_the_other_schemas_accept_is_taken() {
    let tree = Tree::new().file("a.txt", "one\n");
    let daemon = Daemon::start(tree.path());
    let value = || {
        prop_oneof![
            Just(json!("a.txt")),
            Just(json!("absent")),
            Just(json!("C3DE")),
            Just(json!("¶a#C3DE")),
            Just(json!("")),
            Just(json!("replace_text")),
            Just(json!("one")),
            Just(json!(5)),
            Just(Value::Null),
            Just(json!(true)),
            Just(json!("a\u{0}")),
            Just(json!([]))
        ]
    };
    let write = prop::collection::hash_map(
        prop::sample::select(vec!["path", "text", "expect"]),
        value(),
        2..4,
    );
    let replace = prop::collection::hash_map(
        prop::sample::select(vec!["old", "new", "all"]),
        value(),
        2..4,
    );
    // By chance alone next to no edit would have an op that there is.
    let op = prop_oneof![3 => Just(json!("replace_text")), 1 => value()];
    let op = prop::option::weighted(0.9, op);
    let tools = tools(&daemon, "roo");
    let (writes, edits) = (validator(&tools, "write"), validator(&tools, "edit"));
    let config = ProptestConfig {
        cases: 600,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let accepted = RefCell::new((0, 0));
    proptest!(config, |(write in write, mut replace in replace, op in op, path in value())| {
        replace.extend(op.map(|op| ("op", op)));
        let mut write = json!(write);
        if writes.is_valid(&write) && !names_no_path(&write) && is_an_expectation(&write["expect"]) {
            accepted.borrow_mut().0 += 1;
            write["dryRun"] = json!(true);
            prop_assert!(is_taken(daemon.call("agent/write", write.clone())), "{}", write);
        }
        let mut edit = json!({ "files": [{ "path": path, "edits": [replace] }] });
        if edits.is_valid(&edit) && !names_no_path(&edit["files"][0]) && edit["files"][0]["edits"][0]["old"] != "" {
            accepted.borrow_mut().1 += 1;
            edit["dryRun"] = json!(true);
            prop_assert!(is_taken(daemon.call("agent/edit", edit.clone())), "{}", edit);
        }
    });
    let (writes, edits) = accepted.into_inner();
    assert!(writes > 5 && edits > 5, "{writes} writes, {edits} edits");
}

#[test]
fn an_unknown_parameter_names_the_nearest() {
    let tree = Tree::new().file("a.txt", "one\n");
    let daemon = Daemon::start(tree.path());
    for (dialect, params, near) in [
        ("opencode", json!({ "path": "a.txt" }), "'filePath'"),
        (
            "opencode",
            json!({ "filePath": "a.txt", "line_limit": 5 }),
            "'limit'",
        ),
        ("pikuri", json!({ "filePath": "a.txt" }), "'path'"),
        (
            "llm-gateway",
            json!({ "filePath": "/a", "ofset": 5 }),
            "'offset'",
        ),
        (
            "roo",
            json!({ "path": "a.txt", "startLine": 5 }),
            "'start_line'",
        ),
        ("roo", json!({ "path": "a.txt", "offset": 5 }), "'path'"),
    ] {
        let (_, kind, message) = refused(read(&daemon, dialect, &params));
        assert_eq!(kind, "badParams");
        let unknown = message.contains("no parameter '");
        assert!(unknown && message.contains(near), "{message}");
    }
    // Where other parameters are ignored (`protocol.md`), it is said that they were.
    let result = read(
        &daemon,
        "hashline",
        &json!({ "path": "a.txt", "offset": 5, "x": 1 }),
    );
    let result = result.expect("a read");
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(
        text.starts_with("[There is no parameter 'offset'; lines are named at the end of the path, as in :50-80]\n¶a.txt#"),
        "{text}"
    );
}
