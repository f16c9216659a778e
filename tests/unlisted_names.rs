//! Names by which a file system finds a file and does not list it: no rule knows them, so nothing answers to them.

use std::fs;

use serde_json::json;

use crate::alias_file_system::Aliases;
use crate::client::Daemon;
use crate::tree::Tree;

/// What each file is found by, the listed name first.
const FILES: &[(&[&str], &str)] = &[
    (
        &[".env", "ENV~1", ".env.", ".env ", ".env::$DATA"],
        "SECRET=1\n",
    ),
    (&[".env.local", "ENV~1.LOC"], "SECRET=2\n"),
    (
        &["Read Me.txt", "READ ME.TXT", "README~1.TXT", "Read Me.txt."],
        "fine\n",
    ),
    (&["lone.txt"], "alone\n"),
];

struct Place {
    _files: Aliases,
    tree: Tree,
}

fn place() -> Place {
    let tree = Tree::new().file("other.txt", "other\n");
    fs::create_dir(tree.join("win")).expect("made");
    let files = Aliases::mount(&tree.join("win"));
    for (names, content) in FILES {
        files.add(names, content);
    }
    Place {
        _files: files,
        tree,
    }
}

#[test]
fn a_name_that_is_not_listed_is_not_there() {
    let place = place();
    let daemon = Daemon::start(place.tree.path());
    assert!(daemon.read_text("win/Read Me.txt").contains("1:fine"));
    assert!(daemon.read_text("win/lone.txt").contains("1:alone"));
    assert!(daemon.read_text("win").contains("Read Me.txt"));
    for (names, content) in FILES {
        for name in &names[1..] {
            let path = format!("win/{name}");
            assert!(fs::read_to_string(place.tree.join(&path)).is_ok_and(|text| text == *content));
            let absolute = place.tree.spelled(&path);
            let ways = [
                daemon.read(&path),
                daemon.read(&absolute),
                daemon.read(format!("{path}:1-5")),
                daemon.read(format!("file://{}", absolute.replace(' ', "%20"))),
                daemon.read_with(json!({ "path": path, "selector": "raw" })),
            ];
            for answer in ways {
                let error = answer.expect_err(name);
                // `.env.` is a name that the rules know as well.
                let kind = if *name == ".env." {
                    "denied"
                } else {
                    "notFound"
                };
                assert_eq!(error.kind(), kind, "{path}: {}", error.message);
                assert!(!error.data.to_string().contains(".env\""), "{}", error.data);
                assert!(!error.message.contains("SECRET"));
            }
        }
    }
    for name in ["win/.env", "win/.ENV", "win/.env.local"] {
        assert_eq!(daemon.read(name).expect_err(name).kind(), "denied");
    }
    let error = daemon
        .read("win/READ ME.TXT")
        .expect_err("in another spelling");
    assert_eq!(error.data["suggestions"], json!(["win/Read Me.txt"]));
}

#[test]
fn nothing_is_written_or_edited_by_such_a_name() {
    let place = place();
    let daemon = Daemon::start(place.tree.path());
    for name in ["win/ENV~1", "win/.env::$DATA", "win/READ ME.TXT"] {
        let write = daemon.call("agent/write", json!({ "path": name, "text": "x\n" }));
        let error = write.expect_err(name);
        assert_eq!(error.kind(), "notFound", "{name}: {}", error.message);
        let edits = json!([{ "op": "replace_text", "old": "SECRET", "new": "x" }]);
        let edit = daemon.call(
            "agent/edit",
            json!({ "files": [{ "path": name, "edits": edits }] }),
        );
        assert_eq!(edit.expect_err(name).kind(), "notFound");
    }
}
