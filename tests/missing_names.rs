//! Paths that are not there, asked again and again: one walk of the tree is enough for all of them, and no answer is older than the last change of a name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::client::{Daemon, WireError};
use crate::tree::Tree;

fn scans(daemon: &Daemon) -> u64 {
    let status = daemon.call("agent/status", json!({})).expect("status");
    status["scans"].as_u64().expect("a count")
}

fn names(daemon: &Daemon) -> u64 {
    let status = daemon.call("agent/status", json!({})).expect("status");
    status["names"]["count"].as_u64().expect("a count")
}

/// A daemon that keeps no names: it walks each time.
fn walker(root: &Path) -> Daemon {
    let settings = json!({ "watch": { "maxDirectories": 0 } });
    Daemon::builder().root(root).settings(settings).start()
}

/// What an answer says of where the file is, for comparing.
fn told(answer: Result<Value, WireError>) -> Value {
    match answer {
        Ok(result) => json!({
            "path": result["details"]["resolvedPath"],
            "by": result["details"]["suffixResolution"],
        }),
        Err(error) => {
            let suggestions = error.data["suggestions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            // Of more than three any three are named.
            let said = if suggestions.len() < 3 {
                json!(suggestions)
            } else {
                json!("several")
            };
            json!({ "kind": error.kind(), "suggestions": said })
        }
    }
}

fn missing(daemon: &Daemon, path: &str) {
    assert_eq!(
        daemon.read(path).expect_err(path).kind(),
        "notFound",
        "{path}"
    );
}

fn forest() -> Tree {
    let tree = Tree::new();
    for number in 0..200 {
        tree.write(
            &format!("d{}/e{number}/file{number}.txt", number % 10),
            "x\n",
        );
    }
    tree
}

#[test]
fn a_thousand_asks_cost_one_walk() {
    let tree = forest();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    assert_eq!(names(&daemon), 0);
    for _ in 0..1000 {
        missing(&daemon, "nowhere.txt");
    }
    missing(&daemon, "d1/elsewhere.txt");
    assert_eq!(scans(&daemon), 1);
    assert!(names(&daemon) > 400, "{}", names(&daemon));
    // Other names that come and go, and the content of files, are no news.
    tree.write("d3/other.txt", "y\n");
    tree.write("d3/e3/file3.txt", "longer\n");
    fs::remove_file(tree.join("d4/e4/file4.txt")).expect("removed");
    missing(&daemon, "nowhere.txt");
    missing(&daemon, "file4.txt");
    assert_eq!(scans(&daemon), 1);
    assert!(daemon.read_text("file5.txt").contains("¶d5/e5/file5.txt#"));
    assert_eq!(scans(&daemon), 1);
    // This one is.
    tree.write("d7/e7/nowhere.txt", "here\n");
    assert!(
        daemon
            .read_text("nowhere.txt")
            .contains("¶d7/e7/nowhere.txt#")
    );
    assert_eq!(scans(&daemon), 2);
    tree.write("d8/nowhere.txt", "also\n");
    let error = daemon.read("nowhere.txt").expect_err("two of them");
    assert_eq!(
        error.data["suggestions"],
        json!(["d7/e7/nowhere.txt", "d8/nowhere.txt"])
    );
    fs::remove_file(tree.join("d7/e7/nowhere.txt")).expect("removed");
    assert!(daemon.read_text("nowhere.txt").contains("¶d8/nowhere.txt#"));
}

#[test]
fn many_at_once_wait_for_one_walk() {
    let tree = forest();
    let daemon = Daemon::start(tree.path());
    let asked: Vec<_> = (0..60)
        .map(|number| daemon.request("agent/read", json!({ "path": format!("no{number}.txt") })))
        .collect();
    for id in &asked {
        assert_eq!(daemon.wait(id).expect_err("missing").kind(), "notFound");
    }
    assert_eq!(scans(&daemon), 1);
}

#[test]
fn directories_and_rules_that_change_are_noticed_at_once() {
    let tree = forest()
        .file("hidden/only.txt", "h\n")
        .file(".gitignore", "/hidden/\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let found = |path: &str| daemon.read(path).is_ok();
    for _ in 0..2 {
        missing(&daemon, "only.txt");
    }
    fs::write(tree.join(".gitignore"), "# /hidden/\n").expect("in place");
    assert!(found("only.txt"));
    tree.replace(".gitignore", "/hidden/\n");
    missing(&daemon, "only.txt");
    fs::remove_file(tree.join(".gitignore")).expect("removed");
    assert!(found("only.txt"));
    fs::write(tree.join("hidden/.ignore"), "only*\n").expect("made");
    missing(&daemon, "only.txt");
    fs::remove_file(tree.join("hidden/.ignore")).expect("removed");
    assert!(found("hidden/only.txt") && found("only.txt"));
    missing(&daemon, "g9/file19.txt");
    fs::rename(tree.join("d9"), tree.join("g9")).expect("renamed");
    missing(&daemon, "g9/file19.txt");
    assert!(found("g9/e19/file19.txt") && found("e19/file19.txt"));
    let outside = Tree::new().file("d/moved.txt", "m\n");
    missing(&daemon, "moved.txt");
    fs::rename(outside.join("d"), tree.join("d1/in")).expect("moved in");
    assert!(found("moved.txt"));
    fs::rename(tree.join("d1/in"), outside.join("d")).expect("moved out");
    missing(&daemon, "moved.txt");
    // A link in a directory's place is not followed by a walk.
    assert!(found("file12.txt"));
    fs::rename(tree.join("d2"), outside.join("d2")).expect("moved out");
    symlink(tree.join("d3"), tree.join("d2")).expect("linked");
    missing(&daemon, "file12.txt");
    assert!(found("file13.txt"));
}

#[test]
fn rules_of_access_are_not_kept() {
    let tree = forest();
    let daemon = Daemon::start(tree.path());
    assert!(daemon.read_text("file21.txt").contains("1:x"));
    missing(&daemon, "nothing");
    let deny = json!({ "settings": { "pilcrow": { "access": { "deny": ["file21.txt"] } } } });
    daemon.notify("workspace/didChangeConfiguration", deny);
    assert_eq!(
        daemon.read("e21/file21.txt").expect_err("denied").kind(),
        "denied"
    );
    assert_eq!(
        daemon.read("d1/e21").expect("it may be listed")["details"]["isDirectory"],
        true
    );
    missing(&daemon, "e2/nothing");
    let allow = json!({ "settings": { "pilcrow": {} } });
    daemon.notify("workspace/didChangeConfiguration", allow);
    assert!(daemon.read_text("file21.txt").contains("1:x"));
}

#[test]
fn who_wants_no_watches_gets_walks() {
    let tree = forest();
    let daemon = walker(tree.path());
    for _ in 0..3 {
        missing(&daemon, "nowhere.txt");
    }
    assert_eq!((scans(&daemon), names(&daemon)), (3, 0));
}

/// The near names of a path that is not there.
fn near(daemon: &Daemon, path: &str) -> Vec<String> {
    let error = daemon.read(path).expect_err(path);
    assert_eq!(error.kind(), "notFound", "{path}");
    let near = error.data["suggestions"].as_array().cloned();
    let near = near.unwrap_or_default();
    near.iter()
        .map(|name| name.as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn near_names_are_those_of_the_moment() {
    let tree = Tree::new()
        .file("src/config.rs", "x\n")
        .file("src/other.rs", "x\n")
        .file("out/lib/deep.rs", "x\n")
        .file(".gitignore", "/out/\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    for _ in 0..3 {
        assert_eq!(near(&daemon, "src/confg.rs"), ["src/config.rs"]);
        assert_eq!(near(&daemon, "scr/other.rs"), ["src/other.rs"]);
        assert_eq!(near(&daemon, "out/lib/depe.rs"), ["out/lib/deep.rs"]);
    }
    tree.write("src/confug.rs", "x\n");
    let both = ["src/config.rs", "src/confug.rs"];
    assert_eq!(near(&daemon, "src/confg.rs"), both);
    fs::remove_file(tree.join("src/config.rs")).expect("removed");
    assert_eq!(near(&daemon, "src/confg.rs"), ["src/confug.rs"]);
    fs::rename(tree.join("src/confug.rs"), tree.join("src/confxg.rs")).expect("renamed");
    assert_eq!(near(&daemon, "src/confg.rs"), ["src/confxg.rs"]);
    // What is ignored is not walked, and is watched all the same.
    fs::rename(tree.join("out/lib/deep.rs"), tree.join("out/lib/dee.rs")).expect("renamed");
    assert_eq!(near(&daemon, "out/lib/depe.rs"), ["out/lib/dee.rs"]);
    // What is asked for below another directory comes and goes without a change of that name.
    fs::remove_file(tree.join("src/other.rs")).expect("removed");
    assert_eq!(near(&daemon, "scr/other.rs"), ["src"]);
    tree.write("src/other.rs", "y\n");
    assert_eq!(near(&daemon, "scr/other.rs"), ["src/other.rs"]);
    // Another directory in the place of one.
    fs::create_dir(tree.join("new")).expect("made");
    tree.write("new/confgg.rs", "x\n");
    fs::rename(tree.join("src"), tree.join("old")).expect("renamed");
    fs::rename(tree.join("new"), tree.join("src")).expect("renamed");
    assert_eq!(near(&daemon, "src/confg.rs"), ["src/confgg.rs"]);
    fs::remove_dir_all(tree.join("src")).expect("removed");
    symlink(tree.join("old"), tree.join("src")).expect("linked");
    assert_eq!(near(&daemon, "src/confg.rs"), ["src/confxg.rs"]);
    // A name that may not be read is none.
    let deny = json!({ "settings": { "pilcrow": { "access": { "deny": ["confxg.rs"] } } } });
    daemon.notify("workspace/didChangeConfiguration", deny);
    assert!(near(&daemon, "src/confg.rs").is_empty());
    // And what was missing is there as soon as it is.
    tree.write("old/confg.rs", "here\n");
    assert!(daemon.read_text("src/confg.rs").contains("1:here"));
}

#[test]
fn near_names_are_those_of_a_fresh_look() {
    let rounds = if std::env::var_os("PILCROW_LONG").is_some() {
        4000
    } else {
        300
    };
    let tree = Tree::new()
        .file("d0/d1/n0.txt", "x\n")
        .file("d1/n1.txt", "x\n");
    let keeps = Daemon::start(tree.path());
    let looks = walker(tree.path());
    keeps.ignore_changes();
    looks.ignore_changes();
    let mut chance = Chance(0x51ED_2701);
    let mut several = 0;
    for round in 0..rounds {
        for _ in 0..chance.below(3) {
            change(tree.path(), &mut chance);
        }
        // No tree is searched for an absolute path; the names of some are kept, of others new.
        let root = tree.path().display();
        let asked = match chance.below(3) {
            0 => format!("{root}/d{}/nn.txt", chance.below(4)),
            1 => format!("{root}/dd/n{}.txt", chance.below(4)),
            _ => format!("{root}/d{}/d{}/m.txt", chance.below(3), chance.below(4)),
        };
        // A loop of links is another refusal.
        let error = looks.read(&asked).expect_err(&asked);
        let fresh = (error.kind(), &error.data["suggestions"]);
        several += usize::from(fresh.1.as_array().is_some_and(|near| near.len() > 1));
        let error = keeps.read(&asked).expect_err(&asked);
        let kept = (error.kind(), &error.data["suggestions"]);
        assert_eq!(kept, fresh, "round {round}: {asked}");
    }
    assert!(several > rounds / 10, "{several}");
}

/// One change of the tree, among few names so that they meet.
fn change(root: &Path, chance: &mut Chance) {
    let directory = |chance: &mut Chance| {
        let depth = 1 + chance.below(3);
        let names: Vec<String> = (0..depth)
            .map(|_| format!("d{}", chance.below(3)))
            .collect();
        root.join(names.join("/"))
    };
    let file = |chance: &mut Chance| {
        let place = match chance.below(4) {
            0 => root.to_path_buf(),
            _ => directory(chance),
        };
        place.join(format!("n{}.txt", chance.below(4)))
    };
    let rules = |chance: &mut Chance| {
        let place = match chance.below(2) {
            0 => root.to_path_buf(),
            _ => directory(chance),
        };
        place.join([".gitignore", ".ignore"][chance.below(2)])
    };
    // What is impossible as things are is no change: the errors do not matter.
    let _ = match chance.below(12) {
        0..3 => {
            let file = file(chance);
            let _ = file.parent().map(fs::create_dir_all);
            fs::write(file, "x\n")
        }
        3..5 => fs::remove_file(file(chance)),
        5 => fs::rename(file(chance), file(chance)),
        6 => fs::rename(directory(chance), directory(chance)),
        7 => fs::remove_dir_all(directory(chance)),
        8 => {
            let (place, target) = (directory(chance), directory(chance));
            let _ = fs::remove_dir_all(&place);
            symlink(target, place)
        }
        9 => fs::write(rules(chance), format!("n{}.txt\n", chance.below(4))),
        10 => fs::write(rules(chance), format!("d{}/\n", chance.below(3))),
        _ => fs::remove_file(rules(chance)),
    };
}

#[test]
fn answers_are_those_of_a_fresh_walk() {
    let rounds = if std::env::var_os("PILCROW_LONG").is_some() {
        4000
    } else {
        300
    };
    let tree = Tree::new()
        .file("d0/d1/n0.txt", "x\n")
        .file("d1/n1.txt", "x\n");
    let keeps = Daemon::start(tree.path());
    let walks = walker(tree.path());
    keeps.ignore_changes();
    walks.ignore_changes();
    let mut chance = Chance(0x9E37_79B9);
    for round in 0..rounds {
        for _ in 0..chance.below(3) {
            change(tree.path(), &mut chance);
        }
        let name = format!("n{}.txt", chance.below(4));
        let asked = match chance.below(3) {
            0 => format!("d{}/{name}", chance.below(3)),
            1 => format!("x/{name}"),
            _ => name,
        };
        assert_eq!(
            told(keeps.read(&asked)),
            told(walks.read(&asked)),
            "round {round}: {asked}"
        );
    }
    assert!(
        scans(&keeps) < scans(&walks),
        "{} {}",
        scans(&keeps),
        scans(&walks)
    );
}
