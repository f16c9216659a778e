//! Both eras of the protocol: the handshake, and `_meta` with each request.

use serde_json::{Value, json};

use crate::tree::Tree;

use super::McpProcess;

/// What each request of the second era carries.
fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "roots": {} },
    })
}

#[test]
fn the_handshake_knows_every_version_that_has_one() {
    let tree = Tree::new().file("a.txt", "one\n");
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let server = McpProcess::in_directory(tree.path()).spawn();
        let result = server.initialize(version, json!({}));
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
        assert_eq!(result["serverInfo"]["name"], "pilcrow");
        assert_eq!(result["serverInfo"]["title"], "Pilcrow");
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        let instructions = result["instructions"].as_str().expect("instructions");
        assert!(instructions.chars().count() <= 400 && instructions.contains("¶PATH#TAG"));
        assert!(
            server
                .text("read", json!({ "path": "a.txt" }))
                .ends_with("\n1:one")
        );
        assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    }
}

#[test]
fn a_version_that_is_not_known_is_answered_with_the_newest() {
    let tree = Tree::new();
    for version in ["1999-01-01", "2099-01-01", "2026-07-28"] {
        let server = McpProcess::in_directory(tree.path()).spawn();
        let result = server.initialize(version, json!({}));
        assert_eq!(result["protocolVersion"], "2025-11-25", "{version}");
    }
}

#[test]
fn each_request_may_say_all_by_itself() {
    let tree = Tree::new().file("a.txt", "one\n");
    let server = McpProcess::in_directory(tree.path()).spawn();
    let version = "2026-07-28";
    let discovered = server.request("server/discover", json!({ "_meta": meta(version) }));
    let discovered = &discovered["result"];
    let versions = discovered["supportedVersions"]
        .as_array()
        .expect("versions");
    assert!(versions.contains(&json!(version)), "{discovered}");
    assert_eq!(discovered["capabilities"], json!({ "tools": {} }));
    let listed = server.request("tools/list", json!({ "_meta": meta(version) }));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(5));
    let params =
        json!({ "name": "read", "arguments": { "path": "a.txt" }, "_meta": meta(version) });
    let read = server.request("tools/call", params);
    assert_eq!(read["result"]["resultType"], "complete");
    assert!(super::text(&read["result"]).ends_with("\n1:one"));
    // Nothing is asked of such a client, though it has roots; and what is not there is said.
    let params =
        json!({ "name": "read", "arguments": { "path": "a.txt" }, "_meta": meta("2099-01-01") });
    let refused = server.request("tools/call", params);
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    let missing = server.request("tools/list", json!({}));
    assert_eq!(missing["error"]["code"], -32602, "{missing}");
}

#[test]
fn a_call_that_is_refused_for_its_form_does_nothing() {
    let tree = Tree::new();
    let server = McpProcess::in_directory(tree.path()).spawn();
    // No handshake, no `_meta`: the protocol refuses it, and nothing is written.
    let write = json!({ "name": "write", "arguments": { "path": "new.txt", "text": "x\n" } });
    let refused = server.request("tools/call", write.clone());
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    server.initialize("2025-06-18", json!({}));
    let missing = server.error("read", json!({ "path": "new.txt" }));
    assert!(missing.starts_with("File not found: new.txt."), "{missing}");
    assert_eq!(
        server.request("tools/call", write)["result"]["isError"],
        false
    );
}

#[test]
fn what_comes_too_early_costs_nothing_else() {
    let tree = Tree::new().file("a.txt", "one\n");
    let server = McpProcess::in_directory(tree.path()).spawn();
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } }));
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    server.send(&json!({ "jsonrpc": "2.0", "id": 70, "result": {} }));
    for line in [&b"nonsense"[..], b"[]", b"\xff"] {
        server.send_raw(line);
        let code = server.error_without_id()["error"]["code"]
            .as_i64()
            .unwrap_or_default();
        assert!(matches!(code, -32700 | -32600), "{code}");
    }
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    server.initialize("2025-11-25", json!({}));
    server.text("read", json!({ "path": "a.txt" }));
}

#[test]
fn there_is_nothing_but_tools() {
    let tree = Tree::new();
    let server = McpProcess::start(tree.path());
    for method in [
        "prompts/get",
        "resources/read",
        "logging/setLevel",
        "completion/complete",
        "resources/list",
        "prompts/list",
        "no/such",
    ] {
        let params = json!({ "uri": "file:///a", "name": "a", "level": "info", "ref": { "type": "ref/prompt", "name": "a" }, "argument": { "name": "a", "value": "b" } });
        let refused = server.request(method, params);
        assert_eq!(refused["error"]["code"], -32601, "{method}: {refused}");
    }
    let unknown = server.request("tools/call", json!({ "name": "glob", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602);
    let unknown = server.request("tools/list", json!({ "cursor": "2" }));
    assert_eq!(unknown["error"]["code"], -32602);
}
