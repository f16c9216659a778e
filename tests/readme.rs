//! The frames that README.md prints, sent as they are printed; what stands around them is tested elsewhere.

use serde_json::Value;

use crate::client::{Daemon, Id};

/// What a daemon says to what is no JSON-RPC, no request, and no method of its own.
const NOT_UNDERSTOOD: [i64; 3] = [-32700, -32600, -32601];

#[test]
fn every_frame_of_the_readme_is_answered_as_it_is_printed() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(readme).expect("README.md");
    let frames: Vec<&str> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("→ "))
        .collect();
    assert!(frames.len() >= 3, "{frames:?}");
    // Whatever it prints as sent or answered is JSON that says what it is; `{…}` is left out there.
    let answers = readme.lines().filter_map(|line| line.strip_prefix("← "));
    for frame in frames.iter().copied().chain(answers) {
        let message: Result<Value, _> = serde_json::from_str(&frame.replace("{…}", "{}"));
        let message = message.unwrap_or_else(|error| panic!("{error}: {frame}"));
        assert_eq!(message["jsonrpc"], "2.0", "{frame}");
    }
    let daemon = Daemon::builder().spawn();
    for frame in frames {
        let length = frame.len();
        daemon.send_raw(format!("Content-Length: {length}\r\n\r\n{frame}").as_bytes());
        let message: Value = serde_json::from_str(frame).expect("JSON");
        let Some(number) = message["id"].as_i64() else {
            continue;
        };
        match daemon.wait(&Id::Number(number)) {
            Ok(_) => {}
            Err(error) => assert!(!NOT_UNDERSTOOD.contains(&error.code), "{frame}: {error:?}"),
        }
    }
    // What has no answer of its own is understood as well: nothing is left over but an answer to it.
    daemon.close_stdin();
}
