//! Settings and parameters that are wrong: a warning or a refusal that names the key, and the daemon goes on; nothing else of them is asserted.

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

/// The messages that the client is shown, once each.
fn warnings(daemon: &mut Daemon, count: usize) -> Vec<String> {
    (0..count)
        .map(|_| {
            let params = daemon.expect_notification("window/showMessage");
            assert_eq!(params["type"], 2);
            params["message"].as_str().expect("a message").to_owned()
        })
        .collect()
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({ "a": [inner] }))
}

#[test]
fn wrong_settings_are_reported_once_and_ignored() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 9));
    let settings = json!({
        "read": { "defaultLimit": "many", "maxColums": 5, "contextLines": { "leading": 0 } },
        "acces": { "deny": [] },
        "access": { "deny": "*.txt", "outsideWorkspace": "perhaps" },
        "memory": nested(30),
        "log": 7,
    });
    let mut daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings.clone())
        .start();
    let told = warnings(&mut daemon, 7).join("\n");
    for key in [
        "read.defaultLimit",
        "'read.maxColums'",
        "'acces'",
        "access.deny",
        "access.outsideWorkspace",
        "memory.a",
        "'log'",
    ] {
        assert!(told.contains(key), "{key} in {told}");
    }
    assert!(told.contains("Did you mean 'maxColumns'?") && told.contains("Did you mean 'access'?"));
    // What was right holds.
    assert!(daemon.read_text("n.txt:3-4").contains("#"));
    let text = daemon.read_text("n.txt:3-4");
    assert!(
        text.contains("\n3:line 3\n4:line 4\n5:") && !text.contains("\n2:"),
        "{text}"
    );
    // Once: the same settings again say nothing new.
    daemon.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "pilcrow": settings } }),
    );
    let status = daemon.call("agent/status", json!({})).expect("status");
    assert_eq!(status["problems"].as_array().map(Vec::len), Some(7));
}

#[test]
fn configuration_is_replaced_and_pulled() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 9));
    let mut daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(json!({ "workspace": { "configuration": true } }))
        .settings(json!({ "read": { "defaultLimit": 2 } }))
        .start();
    let shown = |daemon: &mut Daemon| {
        daemon.read("n.txt").expect("a read")["details"]["shown"][0]["end"].clone()
    };
    assert_eq!(shown(&mut daemon), 2);
    daemon.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "pilcrow": { "read": { "defaultLimit": 3 } } } }),
    );
    assert_eq!(shown(&mut daemon), 3);
    daemon.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": null }),
    );
    let (id, params) = daemon.expect_request("workspace/configuration");
    assert_eq!(params["items"][0]["section"], "pilcrow");
    daemon.respond(id, json!([{ "read": { "defaultLimit": 5 } }]));
    let begun = std::time::Instant::now();
    while shown(&mut daemon) != 5 {
        assert!(
            begun.elapsed().as_secs() < 20,
            "the pulled settings never took effect"
        );
    }
}

#[test]
fn no_configuration_is_read_from_the_workspace() {
    let tree = Tree::new()
        .file(".env", "A=1\n")
        .file(".pilcrow.json", r#"{"access":{"deny":[]}}"#)
        .file("pilcrow.toml", "[access]\ndeny = []\n")
        .file(
            ".vscode/settings.json",
            r#"{"pilcrow":{"access":{"deny":[]}}}"#,
        );
    let daemon = Daemon::start(tree.path());
    assert_eq!(daemon.read(".env").expect_err("denied").kind(), "denied");
}

#[test]
fn wrong_parameters_name_the_key() {
    let tree = Tree::new().file("n.txt", "x\n");
    let daemon = Daemon::start(tree.path());
    let cases = [
        (json!({}), "path"),
        (json!({ "path": 5 }), "path"),
        (json!({ "path": nested(30) }), "path"),
        (json!({ "path": ["n.txt"] }), "path"),
        (json!({ "path": "n.txt", "selector": 3 }), "selector"),
        (json!({ "path": "n.txt", "budget": 5 }), "budget"),
        (
            json!({ "path": "n.txt", "budget": { "lines": 0 } }),
            "budget.lines",
        ),
        (
            json!({ "path": "n.txt", "budget": { "bytes": "many" } }),
            "budget.bytes",
        ),
        (
            json!({ "path": "n.txt", "budget": { "bytes": -1 } }),
            "budget.bytes",
        ),
        (
            json!({ "path": "n.txt", "session": "s".repeat(257) }),
            "session",
        ),
        (json!({ "path": "n.txt", "want": "displayContent" }), "want"),
        (json!({ "path": "n.txt", "want": ["everything"] }), "want"),
        (json!({ "path": "n.txt", "dialect": "klingon" }), "dialect"),
        (json!({ "path": "n.txt", "encoding": "utf-99" }), "encoding"),
        (json!("n.txt"), "params"),
        (json!(["n.txt"]), "params"),
    ];
    for (params, key) in cases {
        let error = daemon
            .call("agent/read", params.clone())
            .expect_err("badParams");
        assert_eq!(
            (error.code, error.kind()),
            (-32602, "badParams"),
            "{params}"
        );
        assert_eq!(error.data["key"], key, "{params}");
        assert!(error.message.contains(key), "{}", error.message);
    }
    // Numbers as strings, null, unknown and reserved parameters are fine.
    let params = json!({ "path": "n.txt", "budget": { "lines": "5" }, "selector": null, "_meta": {}, "workDoneToken": 1, "colour": "red" });
    assert!(daemon.read_with(params).is_ok());
    for (method, params, key) in [
        ("agent/readMany", json!({}), "targets"),
        (
            "agent/readMany",
            json!({ "targets": vec![json!({ "path": "n.txt" }); 65] }),
            "targets",
        ),
        ("agent/closeSession", json!({ "session": 5 }), "session"),
    ] {
        let error = daemon.call(method, params).expect_err(key);
        assert_eq!(
            (error.kind(), &error.data["key"]),
            ("badParams", &json!(key))
        );
    }
}

#[test]
fn initialize_says_what_there_is() {
    let tree = Tree::new();
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(json!({ "general": { "positionEncodings": ["utf-16", "utf-8"] } }))
        .start();
    let result = daemon.initialize_result().clone();
    assert_eq!(result["serverInfo"]["name"], "pilcrow");
    let capabilities = &result["capabilities"];
    assert_eq!(capabilities["positionEncoding"], "utf-8");
    assert_eq!(
        capabilities["workspace"]["workspaceFolders"]["supported"],
        true
    );
    let ours = &capabilities["experimental"]["pilcrow"];
    assert_eq!(ours["protocol"], 1);
    assert_eq!(
        ours["dialects"],
        json!([
            "hashline",
            "numbered",
            "plain",
            "opencode",
            "pikuri",
            "llm-gateway",
            "roo"
        ])
    );
    let methods = ours["methods"].as_array().expect("methods").clone();
    for method in methods {
        let method = method.as_str().expect("a name");
        let answer = daemon.call(method, json!({ "path": "x", "targets": [{ "path": "x" }] }));
        // Some refuse these parameters, but none is unknown.
        assert!(!answer.is_err_and(|error| error.code == -32601), "{method}");
    }
    assert_eq!(
        daemon
            .call("agent/nothing", json!({}))
            .expect_err("unknown")
            .code,
        -32601
    );
}
