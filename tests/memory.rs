//! Memory under a budget: resident memory stays near it, and what was dropped comes back right; speed is not looked at.

use serde_json::json;

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

const MIB: u64 = 1 << 20;

#[test]
#[cfg(target_os = "linux")]
fn thousands_of_files_under_a_small_budget() {
    let tree = Tree::new();
    let content = |n: usize| format!("file {n}\n{}", numbered_lines(n, n + 3000));
    for n in 0..4000 {
        tree.write(&format!("d{}/f{n}.txt", n % 50), content(n));
    }
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "memory": { "budgetBytes": 32 * MIB } }))
        .start();
    let read = |n: usize| {
        let params = json!({ "path": format!("d{}/f{n}.txt", n % 50), "selector": "1-2:raw", "session": format!("s{}", n % 300) });
        let result = daemon.read_with(params).expect("a read");
        assert_eq!(
            result["content"][0]["text"],
            format!("file {n}\nline {n}\n")
        );
    };
    for n in 0..4000 {
        read(n);
    }
    let status = daemon.call("agent/status", json!({})).expect("status");
    let held = |name: &str| status[name]["bytes"].as_u64().expect("bytes");
    assert!(held("buffers") + held("snapshots") <= 32 * MIB, "{status}");
    assert!(
        held("buffers") > 8 * MIB && held("snapshots") > 8 * MIB,
        "{status}"
    );
    assert_eq!(status["sessions"], 256);
    let resident = daemon.rss_bytes();
    assert!(resident < 132 * MIB, "{} MiB resident", resident / MIB);
    for n in (0..4000).step_by(97) {
        read(n);
    }
}
