//! The order law: a read that is sent after an edit of the same file sees it, however many are under way.

use serde_json::json;

use crate::tree::{Tree, numbered_lines};

use super::{McpProcess, text};

const PAIRS: i64 = 3000;

/// Lines that a read shows up to the one that was edited last.
const SHOWN: i64 = 10;

/// Edits of a line each by its text, and reads, in one burst: no edit names what it found, so none needs the
/// answer of another.
#[test]
fn no_read_of_a_burst_is_stale() {
    let tree = Tree::new().file("a.txt", numbered_lines(1, PAIRS as usize));
    let server = McpProcess::in_directory(tree.path())
        .arg("--dialect=roo")
        .start();
    let mut burst = String::new();
    let call = |id: i64, name: &str, arguments: serde_json::Value| {
        let params = json!({ "name": name, "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
            + "\n"
    };
    server.text("read_file", json!({ "path": "a.txt" }));
    let first_shown = |pair: i64| (pair - SHOWN + 1).max(1);
    for pair in 1..=PAIRS {
        let edit = json!({ "op": "replace_text", "old": format!("line {pair}\n"), "new": format!("number {pair}\n") });
        let files = json!([{ "path": "a.txt", "edits": [edit] }]);
        burst += &call(10_000 + 2 * pair, "edit", json!({ "files": files }));
        burst += &call(
            10_001 + 2 * pair,
            "read_file",
            json!({ "path": "a.txt", "start_line": first_shown(pair), "end_line": pair }),
        );
    }
    burst.pop();
    server.send_raw(burst.as_bytes());
    let mut made = vec![false; PAIRS as usize + 1];
    let mut busy = 0;
    for pair in 1..=PAIRS {
        let edit = server.result(10_000 + 2 * pair);
        let read = text(&server.result(10_001 + 2 * pair));
        // Where the disk stands still, what waits for it is refused in the end, and says so.
        made[pair as usize] = edit["isError"] == false;
        if !made[pair as usize] {
            assert!(text(&edit).contains("busy"), "{edit}");
            busy += 1;
        }
        if read.contains("busy") {
            continue;
        }
        for line in first_shown(pair)..=pair {
            let row = match made[line as usize] {
                true => format!("{line} | number {line}"),
                false => format!("{line} | line {line}"),
            };
            assert!(read.lines().any(|it| it.trim() == row), "{row}: {read}");
        }
    }
    assert!(busy < PAIRS / 10, "{busy} edits were refused");
    let written = std::fs::read_to_string(tree.join("a.txt")).expect("the file");
    let lines = (1..=PAIRS).map(|line| match made[line as usize] {
        true => format!("number {line}\n"),
        false => format!("line {line}\n"),
    });
    assert!(written == lines.collect::<String>());
}

/// Whoever has an answer may use its id again: none of what follows is taken for what was before.
#[test]
fn an_id_is_free_with_its_answer() {
    let tree = Tree::new().file("a.txt", "one\n");
    let server = McpProcess::start(tree.path());
    let say = |method: &str, params: serde_json::Value| {
        server.send(&json!({ "jsonrpc": "2.0", "id": "x", "method": method, "params": params }));
        server.answer(&json!("x"))
    };
    let read = json!({ "name": "read", "arguments": { "path": "a.txt" } });
    let version = json!({ "io.modelcontextprotocol/protocolVersion": "2099-01-01" });
    for round in 0..300 {
        let answer = say("tools/call", read.clone());
        assert!(text(&answer["result"]).ends_with("\n1:one"), "{round}");
        assert_eq!(say("ping", json!({}))["result"], json!({}), "{round}");
        let mut refused = read.clone();
        refused["_meta"] = version.clone();
        assert_eq!(
            say("tools/call", refused)["error"]["code"],
            -32022,
            "{round}"
        );
        let unknown = json!({ "name": "glob", "arguments": {} });
        assert_eq!(
            say("tools/call", unknown)["error"]["code"],
            -32602,
            "{round}"
        );
    }
}
