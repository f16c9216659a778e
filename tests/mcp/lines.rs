//! Lines that are no messages, or none that could be read: each is answered, and costs nothing else.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::HANG;
use crate::tree::Tree;

use super::{McpProcess, text};

const MIB: usize = 1 << 20;

#[test]
fn garbage_is_answered_and_the_next_line_served() {
    let tree = Tree::new().file("a.txt", "one\n");
    let server = McpProcess::start(tree.path());
    for line in [
        "nonsense",
        "{",
        "7",
        "null",
        "{\"jsonrpc\":\"2.0\"}",
        "[]",
        "[1,2]",
    ] {
        server.send_raw(line.as_bytes());
        let code = server.error_without_id()["error"]["code"].as_i64();
        assert!(matches!(code, Some(-32700 | -32600)), "{line}: {code:?}");
    }
    for (line, id, code) in [
        (
            r#"{"jsonrpc":"2.0","id":70,"method":"tools/call","params":{bad}}"#,
            json!(70),
            -32700,
        ),
        (
            r#"{"method":"tools/call","params":{bad},"jsonrpc":"2.0","id":"x"}"#,
            json!("x"),
            -32700,
        ),
        (r#"{"id":71,"method":"ping"}"#, json!(71), -32600),
        (r#"{"jsonrpc":"2.0","id":72,"method":5}"#, json!(72), -32600),
        (
            r#"{"jsonrpc":"2.0","id":73,"method":"tools/call"}"#,
            json!(73),
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":74,"method":"tools/call","params":[1]}"#,
            json!(74),
            -32602,
        ),
    ] {
        server.send_raw(line.as_bytes());
        assert_eq!(server.answer(&id)["error"]["code"], code, "{line}");
    }
    // Empty lines, other line ends and a mark of bytes are nothing.
    server.send_raw(b"\r\n\n \t ");
    server.send_raw(b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":75,\"method\":\"ping\"}\r");
    assert_eq!(server.answer(&json!(75))["result"], json!({}));
    server.text("read", json!({ "path": "a.txt" }));
}

#[test]
fn an_id_that_is_none_is_not_answered_as_one() {
    let tree = Tree::new();
    let server = McpProcess::start(tree.path());
    for id in ["null", "1.5", "true", "{}", "[1]"] {
        server.send_raw(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes());
        assert_eq!(server.error_without_id()["error"]["code"], -32600, "{id}");
    }
    for id in [json!(0), json!(-5), json!("ä"), json!(i64::MAX)] {
        server.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
        assert_eq!(server.answer(&id)["result"], json!({}));
    }
}

#[test]
fn each_request_of_a_batch_is_answered() {
    let tree = Tree::new();
    let server = McpProcess::start(tree.path());
    let ping = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    server.send(&json!([ping(json!(70)), ping(json!("b")), { "jsonrpc": "2.0", "method": "x" }]));
    for id in [json!(70), json!("b")] {
        assert_eq!(server.answer(&id)["error"]["code"], -32600);
    }
    server.send_raw(format!("[{}]", "{},".repeat(MIB)).as_bytes());
    assert_eq!(server.error_without_id()["error"]["code"], -32600);
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn half_a_character_is_mended() {
    let tree = Tree::new().file("a\u{fffd}.txt", "one\n");
    let server = McpProcess::start(tree.path());
    // As JavaScript writes it.
    server.send_raw(br#"{"jsonrpc":"2.0","id":70,"method":"tools/call","params":{"name":"read","arguments":{"path":"a\ud83d.txt"}}}"#);
    assert!(text(&server.answer(&json!(70))["result"]).ends_with("\n1:one"));
    server.send_raw(br#"{"jsonrpc":"2.0","id":71,"method":"tools/call","params":{"name":"read","arguments":{"path":"\ud800"}}}"#);
    assert_eq!(server.answer(&json!(71))["result"]["isError"], true);
}

#[test]
fn what_is_no_utf_8_is_refused_by_its_id() {
    let tree = Tree::new();
    let server = McpProcess::start(tree.path());
    server.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":70,\"method\":\"tools/call\",\"params\":{\"name\":\"write\",\"arguments\":{\"path\":\"a\",\"text\":\"caf\xe9\"}}}");
    assert_eq!(server.answer(&json!(70))["error"]["code"], -32700);
    server.send_raw(b"\xff\xfe\xfd");
    assert_eq!(server.error_without_id()["error"]["code"], -32700);
    assert!(!tree.join("a").exists());
}

#[test]
fn long_lines_are_served_and_longer_ones_refused() {
    let tree = Tree::new();
    let server = McpProcess::start(tree.path());
    let long = format!("{}\n", "x".repeat(17 * MIB));
    server.text("write", json!({ "path": "long.txt", "text": long }));
    let written = std::fs::metadata(tree.join("long.txt")).expect("the file");
    assert_eq!(written.len() as usize, long.len());
    let longer = "y".repeat(65 * MIB);
    for line in [
        format!(
            r#"{{"jsonrpc":"2.0","id":70,"method":"tools/call","params":{{"name":"write","arguments":{{"path":"b","text":"{longer}"}}}}}}"#
        ),
        format!(
            r#"{{"method":"tools/call","params":{{"name":"write","arguments":{{"path":"b","text":"{longer}"}}}},"jsonrpc":"2.0","id":70}}"#
        ),
    ] {
        server.send_raw(line.as_bytes());
        assert_eq!(server.answer(&json!(70))["error"]["code"], -32600);
    }
    assert!(!tree.join("b").exists());
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
}

/// Lines that a generator makes of pieces of messages; none ends the process or takes the next one along.
#[test]
fn no_line_costs_another() {
    let tree = Tree::new().file("a.txt", "one\n");
    let server = McpProcess::start(tree.path());
    let pieces: Vec<&[u8]> = vec![
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\\",
        b"null",
        b"1e999",
        b"\xff",
        b"\\ud800",
        b"\"id\":7000",
        b"\"jsonrpc\":\"2.0\",",
        b"\"method\":\"tools/call\",",
        b"\"method\":\"notifications/cancelled\",",
        b"\"params\":{",
        b"\"name\":\"read\",",
        b"\"arguments\":{\"path\":\"a.txt\"}",
        b"\"_meta\":{\"progressToken\":[]}",
        b"{\"jsonrpc\":\"2.0\",\"id\":7000,\"method\":\"initialize\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":7000,\"result\":{}}",
        b"\r",
        b"\0",
    ];
    let line = prop::collection::vec(prop::sample::select(pieces), 1..12);
    let config = ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(line in line)| {
        server.send_raw(&line.concat());
        server.request("ping", json!({}));
    });
    server.text("read", json!({ "path": "a.txt" }));
    server.close_stdin();
    assert!(server.wait_exit(HANG).is_some());
    server.left();
}
