//! Requests side by side: cancelling, overtaking, and settings that count from their place in the stream on; what a read shows is tested elsewhere.

use serde_json::json;

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

/// A tree in which looking for a missing name takes a while.
fn wide_tree() -> Tree {
    let tree = Tree::new().file("n.txt", "x\n");
    for folder in 0..80 {
        for file in 0..50 {
            tree.write(&format!("d{folder}/e{file}/f.txt"), "");
        }
    }
    tree
}

#[test]
fn a_cancelled_read_is_answered_before_any_slow_one_and_others_overtake() {
    let tree = wide_tree();
    let daemon = Daemon::start(tree.path());
    let slow: Vec<_> = (0..50)
        .map(|n| daemon.request("agent/read", json!({ "path": format!("missing-{n}") })))
        .collect();
    let cancelled = daemon.request("agent/read", json!({ "path": "missing-too" }));
    daemon.notify("$/cancelRequest", json!({ "id": cancelled }));
    let fast = daemon.request("agent/read", json!({ "path": "n.txt" }));
    let error = daemon.wait(&cancelled).expect_err("cancelled");
    assert_eq!(error.code, -32800);
    assert!(daemon.wait(&fast).is_ok());
    for id in &slow {
        assert_eq!(daemon.wait(id).expect_err("missing").kind(), "notFound");
    }
    let order = daemon.arrival_order();
    let place = |id| {
        order
            .iter()
            .position(|other| other == id)
            .expect("answered")
    };
    let first_slow = slow.iter().map(place).min().expect("some");
    assert!(place(&cancelled) < first_slow, "the cancel waited");
    assert!(
        place(&fast) < slow.iter().map(place).max().expect("some"),
        "the fast read waited for all"
    );
}

#[test]
fn a_read_sees_the_settings_that_were_sent_before_it() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 50));
    let daemon = Daemon::start(tree.path());
    let ids: Vec<_> = (0..200u64)
        .map(|round| {
            let limit = round % 40 + 1;
            let settings =
                json!({ "settings": { "pilcrow": { "read": { "defaultLimit": limit } } } });
            daemon.notify("workspace/didChangeConfiguration", settings);
            (
                limit,
                daemon.request("agent/read", json!({ "path": "n.txt" })),
            )
        })
        .collect();
    for (limit, id) in ids {
        let result = daemon.wait(&id).expect("a read");
        assert_eq!(result["details"]["shown"][0]["end"], limit);
    }
}
