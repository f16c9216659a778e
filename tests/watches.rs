//! Watching: it warms what changed, gives up quietly where the system refuses, and is never needed for a right answer; nothing here waits by the clock.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Daemon, HANG, file_uri};
use crate::tree::Tree;

const ROUNDS: usize = 300;
/// Of what starts a process or moves directories in each round.
const SLOW_ROUNDS: usize = 300;

/// The watcher as it is, with room for one directory, off, and broken in every way.
const MODES: &[(usize, Option<&str>)] = &[
    (4096, None),
    (1, None),
    (0, None),
    (4096, Some("drop")),
    (4096, Some("overflow")),
    (4096, Some("limit")),
    (4096, Some("emfile")),
];

fn start(root: &Path, directories: usize, stub: Option<&str>) -> Daemon {
    let daemon = Daemon::builder()
        .root(root)
        .settings(json!({ "watch": { "maxDirectories": directories } }));
    let daemon = match stub {
        Some(stub) => daemon.env("PILCROW_WATCH_STUB", stub).start(),
        None => daemon.start(),
    };
    daemon.ignore_changes();
    daemon
}

fn in_every_mode(run: impl Fn(&Tree, &Daemon)) {
    for (directories, stub) in MODES {
        let tree = Tree::new().file("f.txt", "start\n");
        let daemon = start(tree.path(), *directories, *stub);
        run(&tree, &daemon);
        let count = status(&daemon)["watches"]["count"].as_u64();
        assert!(
            count <= Some(*directories as u64),
            "{count:?} of {directories}"
        );
    }
}

fn status(daemon: &Daemon) -> Value {
    daemon.call("agent/status", json!({})).expect("status")
}

/// The first status of which that holds.
fn wait_for(daemon: &Daemon, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let started = Instant::now();
    loop {
        let status = status(daemon);
        if holds(&status) {
            return status;
        }
        assert!(started.elapsed() < HANG, "no {what}: {status}");
        std::thread::yield_now();
    }
}

fn wait_for_watches(daemon: &Daemon, count: usize) {
    let what = format!("{count} watches");
    wait_for(daemon, &what, |status| status["watches"]["count"] == count);
}

fn configure(daemon: &Daemon, settings: Value) {
    daemon.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "pilcrow": settings } }),
    );
}

fn raw(daemon: &Daemon, path: &str) -> String {
    daemon.read_text(format!("{path}:raw"))
}

fn round_text(round: usize) -> String {
    format!("round {round:03} {}\n", "x".repeat(round % 7))
}

fn write_in_place(tree: &Tree, text: &str) {
    tree.write("f.txt", text);
}

fn save_atomically(tree: &Tree, text: &str) {
    tree.write(".f.txt.tmp", text);
    fs::rename(tree.join(".f.txt.tmp"), tree.join("f.txt")).expect("renamed");
}

/// As vim does with `backupcopy=no`.
fn save_with_backup(tree: &Tree, text: &str) {
    fs::rename(tree.join("f.txt"), tree.join("f.txt~")).expect("renamed");
    tree.write("f.txt", text);
    fs::remove_file(tree.join("f.txt~")).expect("removed");
}

/// A way to give `f.txt` that text.
type Save = dyn Fn(&Tree, &str);

fn saves_are_seen(save: impl Fn(&Tree, &str)) {
    in_every_mode(|tree, daemon| {
        for round in 0..ROUNDS {
            save(tree, &round_text(round));
            assert_eq!(raw(daemon, "f.txt"), round_text(round));
        }
    });
}

#[test]
fn writes_are_seen() {
    saves_are_seen(write_in_place);
}

#[test]
fn atomic_saves_are_seen() {
    saves_are_seen(save_atomically);
}

#[test]
fn saves_with_a_backup_are_seen() {
    saves_are_seen(save_with_backup);
}

#[test]
fn renamed_directories_are_seen() {
    in_every_mode(|tree, daemon| {
        tree.write("dir/sub/f.txt", round_text(0));
        for round in 1..SLOW_ROUNDS {
            assert_eq!(raw(daemon, "dir/sub/f.txt"), round_text(round - 1));
            fs::rename(tree.join("dir"), tree.join("dir2")).expect("renamed");
            tree.write("dir/sub/f.txt", round_text(round));
            assert_eq!(raw(daemon, "dir/sub/f.txt"), round_text(round));
            assert_eq!(raw(daemon, "dir2/sub/f.txt"), round_text(round - 1));
            fs::remove_dir_all(tree.join("dir2")).expect("removed");
            let error = daemon.read("dir2/sub/f.txt:raw").expect_err("it is gone");
            assert_eq!(error.kind(), "notFound");
        }
    });
}

fn git(tree: &Tree, arguments: &str) {
    let outcome = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-c",
            "gc.auto=0",
        ])
        .args(arguments.split(' '))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .current_dir(tree.path())
        .output()
        .expect("git runs");
    assert!(outcome.status.success(), "git {arguments}: {outcome:?}");
}

#[test]
fn checkouts_are_seen() {
    in_every_mode(|tree, daemon| {
        git(tree, "init -q -b one");
        for branch in ["one", "two"] {
            if branch == "two" {
                git(tree, "checkout -q -b two");
            }
            tree.write("f.txt", format!("{branch}\n"));
            tree.write("src/deep/g.txt", format!("deep {branch}\n"));
            tree.write(&format!("{branch}/only.txt"), format!("only {branch}\n"));
            if branch == "two" {
                fs::remove_dir_all(tree.join("one")).expect("removed");
            }
            git(tree, "add -A");
            git(tree, "commit -q -m branch");
        }
        for round in 0..SLOW_ROUNDS {
            let (here, gone) = match round % 2 {
                0 => ("one", "two"),
                _ => ("two", "one"),
            };
            git(tree, &format!("checkout -q {here}"));
            assert_eq!(raw(daemon, "f.txt"), format!("{here}\n"));
            assert_eq!(raw(daemon, "src/deep/g.txt"), format!("deep {here}\n"));
            let only = raw(daemon, &format!("{here}/only.txt"));
            assert_eq!(only, format!("only {here}\n"));
            let error = daemon.read(tree.join(gone).join("only.txt"));
            assert_eq!(error.expect_err("it is gone").kind(), "notFound");
        }
    });
}

#[test]
fn a_file_that_is_a_folder_for_a_while() {
    in_every_mode(|tree, daemon| {
        for round in 0..SLOW_ROUNDS {
            tree.write("f.txt", round_text(round));
            assert_eq!(raw(daemon, "f.txt"), round_text(round));
            fs::remove_file(tree.join("f.txt")).expect("removed");
            tree.write("f.txt/inner.txt", round_text(round + 1));
            assert_eq!(raw(daemon, "f.txt/inner.txt"), round_text(round + 1));
            let folder = daemon.read("f.txt").expect("a folder");
            assert_eq!(folder["details"]["kind"], "directory");
            fs::remove_dir_all(tree.join("f.txt")).expect("removed");
        }
    });
}

/// Reads `f.txt`, has it changed to something much longer, and expects it warm without a read.
fn is_warmed_again(daemon: &Daemon, name: &str, change: impl FnOnce(&str)) {
    let before = status(daemon);
    let text = "a much longer text than before\n".repeat(1000);
    change(&text);
    let bytes = |status: &Value| status["buffers"]["bytes"].as_u64().unwrap_or(0);
    let enough = bytes(&before) + 20_000;
    wait_for(daemon, "longer text", |status| bytes(status) >= enough);
    let result = daemon.read(format!("{name}:raw")).expect("a read");
    assert_eq!(result["details"]["cache"], "hit");
    assert!(
        result["content"][0]["text"]
            .as_str()
            .is_some_and(|shown| text.starts_with(&shown[..1000]))
    );
    assert_eq!(status(daemon)["cache"]["misses"], before["cache"]["misses"]);
}

#[test]
fn what_changed_is_warm_before_it_is_read() {
    let by_a_process = |tree: &Tree, text: &str| {
        tree.write("spare/text", text);
        let copied = Command::new("cp")
            .args([tree.join("spare/text"), tree.join("f.txt")])
            .status();
        assert!(copied.expect("cp runs").success());
    };
    let changes: [&Save; 4] = [
        &by_a_process,
        &write_in_place,
        &save_atomically,
        &save_with_backup,
    ];
    for stub in [None, Some("overflow")] {
        for change in changes {
            let tree = Tree::new().file("f.txt", "short\n");
            let daemon = start(tree.path(), 4096, stub);
            daemon.read_text("f.txt");
            wait_for_watches(&daemon, 1);
            is_warmed_again(&daemon, "f.txt", |text| change(&tree, text));
            let overflows = &status(&daemon)["watches"]["overflows"];
            assert_eq!(overflows != 0, stub.is_some(), "{overflows}");
        }
    }
}

#[test]
fn a_directory_in_the_place_of_another_is_watched_again() {
    let tree = Tree::new().file("dir/f.txt", "short\n");
    let daemon = start(tree.path(), 4096, None);
    daemon.read_text("dir/f.txt");
    wait_for_watches(&daemon, 1);
    is_warmed_again(&daemon, "dir/f.txt", |text| {
        fs::rename(tree.join("dir"), tree.join("dir2")).expect("renamed");
        tree.write("dir/f.txt", text);
    });
    wait_for_watches(&daemon, 1);
    fs::remove_dir_all(tree.join("dir")).expect("removed");
    wait_for_watches(&daemon, 0);
    tree.write("dir/f.txt", "back\n");
    assert_eq!(raw(&daemon, "dir/f.txt"), "back\n");
    wait_for_watches(&daemon, 1);
}

/// The watches that the kernel knows of.
#[cfg(target_os = "linux")]
fn inotify_watches(daemon: &Daemon) -> usize {
    let folder = format!("/proc/{}/fdinfo", daemon.pid());
    let infos = fs::read_dir(folder).expect("the daemon runs");
    let infos = infos.filter_map(|info| fs::read_to_string(info.ok()?.path()).ok());
    infos.map(|info| info.matches("inotify wd:").count()).sum()
}

#[test]
#[cfg(target_os = "linux")]
fn a_big_tree_costs_what_is_read_of_it() {
    let tree = Tree::new();
    for number in 0..20_000 {
        tree.write(&format!("d{:03}/f{number}.txt", number % 200), "text\n");
    }
    let daemon = start(tree.path(), 4096, None);
    assert_eq!(inotify_watches(&daemon), 0);
    for number in 0..100 {
        let (directory, nth) = (number % 10, number / 10);
        daemon.read_text(format!("d{directory:03}/f{}.txt", directory + 200 * nth));
    }
    wait_for_watches(&daemon, 10);
    assert_eq!(inotify_watches(&daemon), 10);
    assert_eq!(status(&daemon)["scans"], 0);
    let before = daemon.cpu_time();
    for number in 0..10_000 {
        tree.write(&format!("target/{number}.o"), "object");
    }
    let cost = daemon.cpu_time() - before;
    assert!(cost < Duration::from_millis(100), "{cost:?}");
}

#[test]
fn watches_shrink_with_the_limit_the_budget_and_the_files() {
    let mut tree = Tree::new();
    for number in 0..8 {
        tree = tree.file(&format!("d{number}/f.txt"), "text\n");
    }
    let daemon = start(tree.path(), 6, None);
    let read_all = |daemon: &Daemon| {
        for number in 0..8 {
            daemon.read_text(format!("d{number}/f.txt"));
        }
    };
    read_all(&daemon);
    wait_for_watches(&daemon, 6);
    configure(&daemon, json!({ "watch": { "maxDirectories": 3 } }));
    wait_for_watches(&daemon, 3);
    // Those that were read last are the ones that are left.
    fs::remove_file(tree.join("d0/f.txt")).expect("removed");
    fs::remove_file(tree.join("d7/f.txt")).expect("removed");
    wait_for_watches(&daemon, 2);
    configure(&daemon, json!({ "watch": { "maxDirectories": 0 } }));
    wait_for_watches(&daemon, 0);
    configure(&daemon, json!({ "watch": { "maxDirectories": 100 } }));
    daemon.read_text("d1/f.txt");
    wait_for_watches(&daemon, 1);
    configure(&daemon, json!({ "memory": { "budgetBytes": 1 } }));
    wait_for_watches(&daemon, 0);
}

#[test]
fn what_is_denied_from_now_on_is_let_go() {
    let tree = Tree::new().file("a/f.txt", "a\n").file("b/f.txt", "b\n");
    let daemon = start(tree.path(), 4096, None);
    daemon.read_text("a/f.txt");
    daemon.read_text("b/f.txt");
    wait_for_watches(&daemon, 2);
    configure(&daemon, json!({ "access": { "deny": ["/a"] } }));
    wait_for_watches(&daemon, 1);
    assert_eq!(status(&daemon)["buffers"]["count"], 1);
}

#[test]
fn a_system_that_refuses_is_said_once_and_does_no_harm() {
    for (stub, words) in [("limit", "limit of file watches"), ("emfile", "watcher")] {
        let tree = Tree::new().file("a/f.txt", "a\n").file("b/f.txt", "b\n");
        let daemon = start(tree.path(), 4096, Some(stub));
        assert_eq!(status(&daemon)["watches"]["degraded"], false);
        assert_eq!(raw(&daemon, "a/f.txt"), "a\n");
        assert_eq!(raw(&daemon, "b/f.txt"), "b\n");
        let status = wait_for(&daemon, "degradation", |status| {
            status["watches"]["degraded"] == true
        });
        assert_eq!(status["watches"]["count"], 0);
        let problems = status["problems"].as_array().expect("problems");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0]
                .as_str()
                .is_some_and(|line| line.contains(words))
        );
    }
}

fn client_saw(daemon: &Daemon, path: &Path, kind: u8) {
    let change = json!({ "uri": file_uri(path), "type": kind });
    let not_a_file = json!({ "uri": "untitled:1", "type": 2 });
    daemon.notify(
        "workspace/didChangeWatchedFiles",
        json!({ "changes": [not_a_file, change] }),
    );
}

#[test]
fn what_the_client_saw_counts() {
    let tree = Tree::new().file("real/f.txt", "short\n");
    symlink(tree.join("real"), tree.join("link")).expect("linked");
    for root in ["real", "link"] {
        tree.write("real/f.txt", "short\n");
        let daemon = start(&tree.join(root), 4096, Some("drop"));
        daemon.read_text("f.txt");
        is_warmed_again(&daemon, "f.txt", |text| {
            tree.write("real/f.txt", text);
            client_saw(&daemon, &tree.join(root).join("f.txt"), 2);
        });
        fs::remove_file(tree.join("real/f.txt")).expect("removed");
        client_saw(&daemon, &tree.join(root).join("f.txt"), 3);
        wait_for(&daemon, "empty store", |status| {
            status["buffers"]["count"] == 0
        });
    }
}

/// The package's own licence has not changed for a while, so that a warm read of it is a mere look.
#[test]
fn a_mere_look_at_a_warm_file_has_its_directory_watched() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let daemon = start(root, 0, None);
    daemon.read_text("LICENSE-MIT");
    wait_for_watches(&daemon, 0);
    configure(&daemon, json!({ "watch": { "maxDirectories": 4096 } }));
    let warm = daemon.read("LICENSE-MIT").expect("a read");
    assert_eq!(warm["details"]["cache"], "hit");
    wait_for_watches(&daemon, 1);
}
