//! In which order a directory's names are listed, and what says that a limit cut the list.

use std::fs::File;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::directory::names;
use crate::tree::Tree;

#[test]
fn times_of_one_minute_are_in_order_of_name() {
    let tree = Tree::new();
    let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_040 + seconds);
    // 1,700,000,040 begins a minute. A checkout writes in no order that means anything.
    for (name, seconds) in [("c", 0), ("a", 59), ("b", 31), ("z", 60), ("d", 0)] {
        for name in [name.to_owned(), format!("in/{name}")] {
            tree.write(&name, "");
            let file = File::open(tree.join(&name)).expect("opened");
            file.set_modified(at(seconds)).expect("its time");
        }
    }
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text("in");
    assert_eq!(names(&text), ["in/", "  z", "  a", "  b", "  c", "  d"]);
    let text = daemon.read_text(".");
    let order = [
        "./", "  in/", "    z", "    a", "    b", "    c", "    d", "  z", "  a", "  b", "  c",
        "  d",
    ];
    assert_eq!(names(&text), order);
}

#[test]
fn what_a_limit_cut_has_its_limit() {
    let tree = Tree::new();
    for number in 0..30 {
        tree.write(&format!("many/{number:02}"), "");
        tree.write(&format!("few/{}", number % 12), "");
    }
    let daemon = Daemon::start(tree.path());
    let limits = |params: Value| {
        let result = daemon.read_with(params).expect("a listing");
        result["details"]["limits"].clone()
    };
    assert_eq!(limits(json!({ "path": "few" })), Value::Null);
    assert_eq!(limits(json!({ "path": "many" })), Value::Null);
    assert_eq!(limits(json!({ "path": "." })), json!({ "resultLimit": 12 }));
    let budget = json!({ "lines": 10 });
    let cut = limits(json!({ "path": "many", "budget": budget }));
    assert_eq!(cut, json!({ "resultLimit": 10, "total": 31 }));
    let listed = json!({ "filePath": tree.spelled("many"), "dialect": "opencode", "limit": 5 });
    assert_eq!(limits(listed), json!({ "resultLimit": 5, "total": 30 }));
    let whole = json!({ "filePath": tree.path(), "dialect": "opencode" });
    assert_eq!(limits(whole), Value::Null);
}
