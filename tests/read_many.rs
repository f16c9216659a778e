//! Several reads in one request, sessions and status; the form of one read is tested elsewhere.

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

fn many(daemon: &mut Daemon, params: Value) -> Vec<Value> {
    let results = daemon.call("agent/readMany", params).expect("results");
    results["results"].as_array().expect("a list").clone()
}

fn lines_shown(result: &Value) -> u64 {
    let spans = result["ok"]["details"]["shown"].as_array().expect("shown");
    let count = |span: &Value| {
        span["end"]
            .as_u64()
            .zip(span["start"].as_u64())
            .map(|(e, s)| e - s + 1)
    };
    spans.iter().filter_map(count).sum()
}

#[test]
fn in_order_with_errors_in_their_places() {
    let mut tree = Tree::new();
    for n in 0..29 {
        tree = tree.file(&format!("f{n}.txt"), format!("text {n}\n"));
    }
    let mut daemon = Daemon::start(tree.path());
    let mut targets: Vec<Value> = (0..29)
        .map(|n| json!({ "path": format!("f{n}.txt") }))
        .collect();
    targets.insert(3, json!({ "path": "missing.txt" }));
    targets.insert(10, json!({ "path": 7 }));
    targets.insert(20, json!({ "path": "f1.txt:0" }));
    let serial: Vec<Result<Value, _>> = targets
        .iter()
        .map(|target| daemon.call("agent/read", target.clone()))
        .collect();
    let results = many(&mut daemon, json!({ "targets": targets }));
    assert_eq!(results.len(), 32);
    for (result, serial) in results.iter().zip(serial) {
        match serial {
            Ok(one) => assert_eq!(result["ok"]["content"], one["content"]),
            Err(error) => {
                assert_eq!(result["error"]["code"], error.code);
                assert_eq!(result["error"]["message"], error.message.as_str());
                assert_eq!(result["error"]["data"], error.data);
            }
        }
    }
}

#[test]
fn one_budget_is_shared_fairly_and_the_inner_value_wins() {
    let tree = Tree::new()
        .file("small.txt", numbered_lines(1, 10))
        .file("big1.txt", numbered_lines(1, 500))
        .file("big2.txt", numbered_lines(1, 500));
    let mut daemon = Daemon::start(tree.path());
    let results = many(
        &mut daemon,
        json!({
            "budget": { "lines": 100 },
            "targets": [{ "path": "small.txt" }, { "path": "big1.txt" }, { "path": "big2.txt" }, { "path": "big2.txt", "budget": { "lines": 200 } }],
        }),
    );
    let shown: Vec<u64> = results.iter().map(lines_shown).collect();
    assert_eq!(shown, [10, 45, 45, 200]);
    assert_eq!(
        results[1]["ok"]["details"]["truncation"]["nextSelector"],
        "46-"
    );
    let fits = many(
        &mut daemon,
        json!({ "targets": [{ "path": "big1.txt" }, { "path": "big2.txt" }] }),
    );
    assert_eq!(fits.iter().map(lines_shown).collect::<Vec<_>>(), [500, 500]);
    let wide = many(
        &mut daemon,
        json!({ "budget": { "lines": 20_000, "bytes": 1_000_000 }, "targets": vec![json!({ "path": "big1.txt" }); 8] }),
    );
    assert!(wide.iter().all(|result| lines_shown(result) == 500));
}

#[test]
fn sessions_are_counted_bounded_and_closed() {
    let tree = Tree::new().file("n.txt", "x\n");
    let mut daemon = Daemon::start(tree.path());
    for n in 0..300 {
        daemon
            .read_with(json!({ "path": "n.txt", "session": format!("s{n}") }))
            .expect("a read");
    }
    let status = |daemon: &mut Daemon| daemon.call("agent/status", Value::Null).expect("status");
    assert_eq!(status(&mut daemon)["sessions"], 256);
    let close = |name: &str| {
        daemon
            .call("agent/closeSession", json!({ "session": name }))
            .expect("closed")
    };
    assert_eq!(close("s299"), json!({ "closed": true }));
    assert_eq!(close("s299"), json!({ "closed": false }));
    assert_eq!(close("s0"), json!({ "closed": false }));
    assert_eq!(status(&mut daemon)["sessions"], 255);
}

#[test]
fn status_tells_what_is_held() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 1000));
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "memory": { "budgetBytes": 1_000_000 } }))
        .start();
    daemon.read("n.txt").expect("a read");
    let status = daemon.call("agent/status", json!({})).expect("status");
    assert_eq!(status["protocol"], 1);
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["roots"], json!([tree.path()]));
    assert_eq!(status["buffers"]["count"], 1);
    assert!(status["buffers"]["bytes"].as_u64() > Some(8000));
    assert_eq!(status["snapshots"]["count"], 1);
    assert_eq!(
        status["cache"],
        json!({ "hits": 0, "misses": 1, "staleAvoided": 0 })
    );
    assert_eq!(status["scans"], 0);
    assert_eq!(status["problems"], json!([]));
    let log = std::path::PathBuf::from(status["log"].as_str().expect("a log"));
    assert!(log.starts_with(daemon.state_dir()) && log.is_dir());
    assert!(status["uptimeMs"].is_u64() && status["watches"]["limit"] == 4096);
}

#[test]
fn memory_stays_within_its_budget() {
    let tree = Tree::new();
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "memory": { "budgetBytes": 4_000_000 } }))
        .start();
    daemon.ignore_changes();
    for n in 0..60 {
        tree.write(
            "f.txt",
            format!("version {n}\n{}", numbered_lines(1, 20_000)),
        );
        tree.write(&format!("g{n}.txt"), numbered_lines(n, n + 10_000));
        assert!(
            daemon
                .read_text("f.txt")
                .contains(&format!("1:version {n}\n"))
        );
        assert!(
            daemon
                .read_text(format!("g{n}.txt:1"))
                .contains(&format!("1:line {n}\n"))
        );
    }
    let status = daemon.call("agent/status", json!({})).expect("status");
    let held = |name: &str| status[name]["bytes"].as_u64().expect("bytes");
    assert!(held("buffers") + held("snapshots") <= 4_000_000, "{status}");
    assert!(daemon.read_text("g0.txt:1").contains("1:line 0\n"));
}
