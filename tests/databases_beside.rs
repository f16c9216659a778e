//! What is beside a database (log, index, journal, locks, other programs): it counts, and is never made, changed or followed; what an answer looks like is told elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Daemon;
use crate::databases::{databases, python, python_until_closed, refusal};
#[cfg(target_os = "linux")]
use crate::processes::children;
use crate::tree::Tree;

/// Every name in a folder with its bytes and the time of its last change.
fn contents(folder: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let entries = fs::read_dir(folder).expect("a folder");
    let content = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        let bytes = fs::read(entry.path()).unwrap_or_default();
        (name, (bytes, changed.expect("a time")))
    };
    entries
        .map(|entry| content(entry.expect("an entry")))
        .collect()
}

/// What is read of each form of a database with a log: rows, and a row that shows it.
const LOGS: &[(&str, usize, &str)] = &[
    ("wal.sqlite", 15, "| 15  | entry 15 |"),
    ("wal-no-shm.sqlite", 15, "| 15  | entry 15 |"),
    ("wal-alone.sqlite", 5, "| 5   | entry 5 |"),
    ("wal-empty.sqlite", 5, "| 5   | entry 5 |"),
    ("wal-torn.sqlite", 10, "| 10  | entry 10 |"),
];

fn check_logs(daemon: &Daemon) {
    for (name, rows, last) in LOGS {
        assert_eq!(
            daemon.read_text(name),
            format!("log ({rows} rows)"),
            "{name}"
        );
        let page = daemon.read_text(format!("{name}:log?order=id:desc&limit=1"));
        assert!(page.contains(last), "{name}: {page}");
        let row = daemon.read_text(format!("{name}:log:3"));
        assert_eq!(row, "id: 3\ntext: entry 3", "{name}");
    }
}

#[test]
fn logs_are_read_and_nothing_beside_is_touched() {
    let tree = databases();
    let before = contents(tree.path());
    let daemon = Daemon::start(tree.path());
    check_logs(&daemon);
    check_logs(&daemon);
    for name in before.keys().filter(|name| !name.contains("-")) {
        let _ = daemon.read(name);
    }
    assert_eq!(contents(tree.path()), before);
}

#[test]
fn logs_are_read_where_nothing_may_be_written() {
    let tree = databases();
    for name in contents(tree.path()).keys() {
        let mode = PermissionsExt::from_mode(0o444);
        fs::set_permissions(tree.join(name), mode).expect("its mode");
    }
    fs::set_permissions(tree.path(), PermissionsExt::from_mode(0o555)).expect("its mode");
    let before = contents(tree.path());
    let daemon = Daemon::builder().root(tree.path()).ordinary_user().start();
    check_logs(&daemon);
    assert_eq!(contents(tree.path()), before);
    fs::set_permissions(tree.path(), PermissionsExt::from_mode(0o755)).expect("its mode");
}

#[test]
fn a_log_that_another_program_writes() {
    let tree = Tree::new();
    let mut writer = python_until_closed(
        &tree,
        "c = sqlite3.connect('live.db', isolation_level=None)
c.execute('pragma journal_mode=wal')
c.execute('pragma wal_autocheckpoint=0')
c.execute('create table t (k integer primary key, v text)')
c.execute(\"insert into t values (1, 'in the log')\")",
    );
    let daemon = Daemon::start(tree.path());
    let names = || contents(tree.path()).into_keys().collect::<Vec<_>>();
    assert_eq!(names(), ["live.db", "live.db-shm", "live.db-wal"]);
    assert_eq!(daemon.read_text("live.db:t:1"), "k: 1\nv: in the log");
    for n in 2..12 {
        let add = format!(
            "c = sqlite3.connect('live.db'); c.execute(\"insert into t values ({n}, 'more')\"); c.commit()"
        );
        python(&tree, &add);
        assert_eq!(daemon.read_text("live.db"), format!("t ({n} rows)"));
    }
    let count = daemon.read_text("live.db?q=SELECT count(*) AS n FROM t");
    assert!(count.ends_with("| 11  |"), "{count}");
    // No connection of ours keeps the other program from ending its log.
    drop(writer.stdin.take());
    assert!(writer.wait().expect("the writer ends").success());
    assert_eq!(names(), ["live.db"]);
    assert_eq!(daemon.read_text("live.db"), "t (11 rows)");
}

#[test]
fn every_change_is_seen() {
    let tree = Tree::new();
    let make = |name: &str, value: &str| {
        python(
            &tree,
            &format!(
                "c = sqlite3.connect('{name}'); c.execute('create table t (k integer primary key, v text)'); c.execute(\"insert into t values (1, '{value}')\"); c.commit()"
            ),
        );
    };
    make("a.db", "first");
    let daemon = Daemon::start(tree.path());
    assert_eq!(daemon.read_text("a.db:t:1"), "k: 1\nv: first");
    for n in 0..10 {
        let sql = format!(
            "c = sqlite3.connect('a.db'); c.execute(\"update t set v = 'v{n}'\"); c.commit()"
        );
        python(&tree, &sql);
        assert_eq!(daemon.read_text("a.db:t:1"), format!("k: 1\nv: v{n}"));
    }
    for n in 0..5 {
        make(&format!("b{n}"), &format!("replaced {n}"));
        fs::rename(tree.join(&format!("b{n}")), tree.join("a.db")).expect("renamed");
        assert_eq!(
            daemon.read_text("a.db:t:1"),
            format!("k: 1\nv: replaced {n}")
        );
    }
    // Into and out of a log, and a table that comes and goes.
    python(
        &tree,
        "c = sqlite3.connect('a.db'); c.execute('pragma journal_mode=wal'); c.execute('create table u (a)'); c.commit()",
    );
    assert_eq!(daemon.read_text("a.db"), "t (1 row)\nu (0 rows)");
    python(
        &tree,
        "c = sqlite3.connect('a.db'); c.execute('drop table u'); c.commit(); c.execute('pragma journal_mode=delete')",
    );
    assert_eq!(daemon.read_text("a.db"), "t (1 row)");
    fs::write(tree.join("a.db"), "now a text\n").expect("written");
    assert!(daemon.read_text("a.db").ends_with("1:now a text"));
    daemon.ignore_changes();
}

#[test]
fn what_is_warm_is_read_again_only_after_a_change() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(60);
    // The time of the last change of an inode cannot be set back: it must come to be two seconds.
    let file = fs::File::options()
        .write(true)
        .open(tree.join("words.db3"))
        .expect("opened");
    file.set_modified(long_ago).expect("a time");
    drop(file);
    let cache = || daemon.read("words.db3:words").expect("a table")["details"]["cache"].clone();
    let until = Instant::now() + Duration::from_secs(20);
    while cache() != json!("hit") {
        assert!(Instant::now() < until, "never warm");
    }
    assert_eq!(cache(), "hit");
    python(
        &tree,
        "c = sqlite3.connect('words.db3'); c.execute(\"update words set word = 'new'\"); c.commit()",
    );
    let text = daemon.read_text("words.db3:words");
    assert!(text.contains("| 1   | new  |"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn at_most_eight_databases_stay_open() {
    let outside = databases();
    let tree = Tree::new();
    for n in 0..12 {
        fs::copy(outside.join("words.db3"), tree.join(&format!("{n}.db"))).expect("a copy");
    }
    let daemon = Daemon::start(tree.path());
    let open_in = |pid: u32| {
        // One that has just ended has no open files.
        let entries = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten();
        let target = |entry: fs::DirEntry| fs::read_link(entry.path()).ok();
        let targets: Vec<_> = entries.filter_map(|entry| target(entry.ok()?)).collect();
        let databases = targets.iter().filter(|path| path.starts_with(tree.path()));
        databases
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
    };
    let open = || {
        assert!(
            open_in(daemon.pid()).is_empty(),
            "open in the daemon itself"
        );
        let workers = children(daemon.pid());
        assert!(workers.len() <= 8, "{workers:?}");
        workers.into_iter().flat_map(open_in).collect::<Vec<_>>()
    };
    // Only what has not changed for two seconds is kept.
    let until = Instant::now() + Duration::from_secs(20);
    let mut number = 0;
    while open().len() < 8 {
        assert!(Instant::now() < until, "{} are kept", open().len());
        for n in 0..12 {
            number += 1;
            let text = daemon.read_text(format!("{n}.db?q=SELECT {number} AS n"));
            assert!(text.contains(&number.to_string()), "{text}");
            assert!(open().len() <= 8, "{:?}", open());
        }
    }
    // One that is gone is not held on to.
    fs::remove_file(tree.join("11.db")).expect("removed");
    daemon.read_text("10.db?q=SELECT 'last'");
    assert!(
        open().iter().all(|path| !path.contains("11.db")),
        "{:?}",
        open()
    );
}

#[test]
fn links_beside_a_database_are_not_followed() {
    let outside = databases();
    let tree = Tree::new();
    for (name, ending) in [
        ("wal.sqlite", "-wal"),
        ("wal.sqlite", "-shm"),
        ("words.db3", "-journal"),
    ] {
        let copy = format!("{}-{name}", &ending[1..]);
        fs::copy(outside.join(name), tree.join(&copy)).expect("a copy");
        let link = tree.join(&format!("{copy}{ending}"));
        symlink(outside.join("wal.sqlite-wal"), &link).expect("a link");
    }
    fs::copy(outside.join("words.db3"), tree.join("fifo.db")).expect("a copy");
    fs::create_dir(tree.join("fifo.db-wal")).expect("a folder");
    let daemon = Daemon::start(tree.path());
    for (name, side) in [
        ("wal-wal.sqlite", "wal-wal.sqlite-wal' is a symbolic link"),
        ("shm-wal.sqlite", "shm-wal.sqlite-shm' is a symbolic link"),
        (
            "journal-words.db3",
            "journal-words.db3-journal' is a symbolic link",
        ),
        ("fifo.db", "fifo.db-wal' is no file"),
    ] {
        let refused = refusal(&daemon, name);
        assert_eq!(refused.kind(), "notRegular", "{name}");
        assert!(refused.message.contains(side), "{}", refused.message);
    }
}

#[test]
fn rules_hold_for_what_is_beside() {
    let tree = databases();
    let settings = json!({ "access": { "deny": ["*-wal"] } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    let refused = refusal(&daemon, "wal.sqlite:log:15");
    assert_eq!(refused.kind(), "denied");
    assert!(
        refused
            .message
            .starts_with("Access to 'wal.sqlite-wal' is denied"),
        "{}",
        refused.message
    );
    assert_eq!(daemon.read_text("wal-alone.sqlite"), "log (5 rows)");
    let settings = json!({ "access": { "deny": ["*.sqlite"] } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    assert_eq!(refusal(&daemon, "museum.sqlite:users:1").kind(), "denied");
    assert_eq!(
        refusal(&daemon, "museum.sqlite?q=SELECT 1").kind(),
        "denied"
    );
}

#[test]
fn a_locked_database_is_waited_for() {
    let tree = databases();
    tree.write("other.txt", "served\n");
    let locker = python_until_closed(
        &tree,
        "c = sqlite3.connect('museum.db', isolation_level=None); c.execute('begin exclusive')",
    );
    let daemon = Daemon::start(tree.path());
    let begun = Instant::now();
    let id = daemon.request("agent/read", json!({ "path": "museum.db:users" }));
    assert!(daemon.read_text("other.txt").ends_with("1:served"));
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "a text waits for a lock"
    );
    let refused = daemon.wait(&id).expect_err("busy");
    assert_eq!(
        (refused.kind(), &refused.data["retryable"]),
        ("busy", &json!(true))
    );
    assert_eq!(
        refused.message,
        "The daemon is busy: another program holds 'museum.db:users' locked, and 3 s were not enough. Send the request again."
    );
    assert!(begun.elapsed() >= Duration::from_secs(3));
    let id = daemon.request("agent/read", json!({ "path": "museum.db:users:7" }));
    let mut locker = locker;
    drop(locker.stdin.take());
    locker.wait().expect("the lock ends");
    let row = daemon.wait(&id).expect("a row");
    assert!(
        row["content"][0]["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("id: 7\n"))
    );
}

#[test]
fn a_query_is_stopped() {
    let tree = databases();
    tree.write("other.txt", "served\n");
    let daemon = Daemon::start(tree.path());
    let endless = "museum.db?q=WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c";
    let cancelled = daemon.request("agent/read", json!({ "path": endless }));
    let stopped = daemon.request("agent/read", json!({ "path": endless }));
    let begun = Instant::now();
    assert!(daemon.read_text("other.txt").ends_with("1:served"));
    assert!(daemon.read_text("words.db3").starts_with("words"));
    daemon.notify("$/cancelRequest", json!({ "id": cancelled }));
    assert_eq!(daemon.wait(&cancelled).expect_err("cancelled").code, -32800);
    assert!(begun.elapsed() < Duration::from_secs(4));
    let refused = daemon.wait(&stopped).expect_err("out of time");
    assert_eq!(refused.kind(), "timeout");
    assert_eq!(
        refused.message,
        "The query was stopped after 5 s. Ask for less: a where on a key or an indexed column, or fewer tables at once."
    );
    let partly = "museum.db?q=WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c WHERE x < 3 OR x < 0";
    let result = daemon.read(partly).expect("the rows until then");
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(
        text.ends_with(
            "| 2   |\n\n[The query was stopped for its time; these are the rows until then]"
        ),
        "{text}"
    );
}
