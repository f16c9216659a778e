//! The order law: a read that is sent after an edit of the same file sees it, however many are under way.

use serde_json::json;

use crate::tree::{Tree, numbered_lines};

use super::{McpProcess, text};

const PAIRS: i64 = 3000;

/// Writes with the whole file each, and reads, in one burst: no write names what it found, so none
/// needs the answer of another.
#[test]
fn no_read_of_a_burst_is_stale() {
    let tree = Tree::new().file("a.txt", numbered_lines(1, 40));
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
    for pair in 0..PAIRS {
        let old = match pair {
            0 => "line 7\n".to_owned(),
            _ => format!("number {}\n", pair - 1),
        };
        let edit = json!({ "op": "replace_text", "old": old, "new": format!("number {pair}\n") });
        let files = json!([{ "path": "a.txt", "edits": [edit] }]);
        burst += &call(10_000 + 2 * pair, "edit", json!({ "files": files }));
        burst += &call(
            10_001 + 2 * pair,
            "read_file",
            json!({ "path": "a.txt", "start_line": 7, "end_line": 7 }),
        );
    }
    burst.pop();
    server.send_raw(burst.as_bytes());
    let mut busy = 0;
    let mut last = -1;
    for pair in 0..PAIRS {
        let edit = server.result(10_000 + 2 * pair);
        let read = text(&server.result(10_001 + 2 * pair));
        // Past the limit of requests in flight one is refused, and says so.
        match edit["isError"].as_bool() {
            Some(false) => last = pair,
            _ => busy += 1,
        }
        if read.contains("busy") {
            busy += 1;
            continue;
        }
        assert!(
            read.contains(&format!("number {last}")),
            "after {last}: {read}"
        );
    }
    assert_eq!(busy, 0);
    assert_eq!(last, PAIRS - 1);
}
