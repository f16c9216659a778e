//! A mount whose server does not answer any more: who asks for its files waits, or is told so; nobody else does.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Daemon, Id, WireError, file_uri};
use crate::editor::{Editor, capabilities};
use crate::fuse::{Fuse, Manners};
use crate::tree::Tree;

/// Ends a wait that should have ended long before.
const HANG: Duration = Duration::from_secs(60);

/// A tree with files, with a mount in it (`mnt/f0` to `mnt/f63`) and with links into that.
fn a_mount() -> (Tree, Fuse) {
    let tree = Tree::new()
        .file("local.txt", "one\ntwo\n")
        .file("sub/other.txt", "other\n");
    fs::create_dir(tree.join("mnt")).expect("a directory");
    symlink("../mnt/f1", tree.join("sub/into.txt")).expect("a link");
    symlink("mnt", tree.join("linked")).expect("a link");
    let fuse = Fuse::mount(&tree.join("mnt"), Manners::default());
    for file in 0..64 {
        fuse.put(&format!("f{file}"), format!("file {file}\n"));
    }
    (tree, fuse)
}

fn start(tree: &Tree) -> Daemon {
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    daemon
}

fn path_of(file: usize) -> String {
    // By its own name, and by links.
    match file % 3 {
        0 => format!("linked/f{file}"),
        _ => format!("mnt/f{file}"),
    }
}

/// 64 of its files in one request and 40 more by themselves.
fn ask_for_all(daemon: &Daemon) -> (Id, Vec<Id>) {
    let targets: Vec<Value> = (0..64)
        .map(|file| json!({ "path": path_of(file) }))
        .collect();
    let many = daemon.request("agent/readMany", json!({ "targets": targets }));
    let mut single: Vec<Id> = (0..39)
        .map(|file| daemon.request("agent/read", json!({ "path": path_of(file) })))
        .collect();
    single.push(daemon.request("agent/read", json!({ "path": "sub/into.txt" })));
    (many, single)
}

fn tag(daemon: &Daemon, path: &str) -> String {
    let read = daemon.read(path).expect("a read");
    let tag = &read["details"]["hashline"]["tag"];
    tag.as_str().expect("a tag").to_owned()
}

fn status(daemon: &Daemon) -> Value {
    daemon.call("agent/status", json!({})).expect("the status")
}

fn descriptors(daemon: &Daemon) -> usize {
    let open = fs::read_dir(format!("/proc/{}/fd", daemon.pid()));
    open.expect("the daemon runs").count()
}

/// Everything that others ask for while it hangs; each of it is answered.
fn everything_else(daemon: &Daemon, tree: &Tree) {
    for _ in 0..20 {
        assert!(daemon.read_text("sub/other.txt").contains("other"));
    }
    let both = json!({ "targets": [{ "path": "local.txt" }, { "path": "sub/other.txt" }] });
    let both = daemon.call("agent/readMany", both).expect("both");
    assert!(both["results"][1]["ok"].is_object(), "{both}");
    // What is listed beside it, and what is near to it by name.
    let listed = daemon.read_text(".");
    assert!(
        listed.contains("mnt/") && listed.contains("not opened: fuse"),
        "{listed}"
    );
    assert!(listed.contains("other.txt"), "{listed}");
    for missing in ["sub/othr.txt", "nt/f1", "nowhere/f2", "othr.txt"] {
        let error = daemon.read(missing).expect_err("nothing has that name");
        assert_eq!(error.kind(), "notFound", "{missing}");
    }
    let found = daemon.read_text("other.txt");
    assert!(found.contains("other"), "by its suffix: {found}");
    // Edits and new files, by the session whose reads hang.
    let first = tag(daemon, "local.txt");
    let patch = format!("¶local.txt#{first}\nreplace 2:\n+TWO\n");
    let edited = daemon.call("agent/edit", json!({ "patch": patch }));
    assert!(edited.is_ok(), "{edited:?}");
    let text = fs::read_to_string(tree.join("local.txt")).expect("the file");
    assert_eq!(text, "one\nTWO\n");
    fs::write(tree.join("local.txt"), "one\ntwo\n").expect("as it was");
    let write = json!({ "path": "sub/new.txt", "text": "new\n" });
    assert!(daemon.call("agent/write", write).is_ok());
    fs::remove_file(tree.join("sub/new.txt")).expect("it was made");
    assert!(status(daemon)["uptimeMs"].is_u64());
}

/// Whether it is the text of that file, or a word that the mount hangs.
fn is_text_or_busy(answer: &Result<Value, WireError>, tree: &Tree) -> bool {
    match answer {
        Ok(read) => {
            let text = read["content"][0]["text"].as_str();
            assert!(text.is_some_and(|text| text.contains("file ")), "{read}");
            true
        }
        Err(error) => {
            assert_eq!(error.kind(), "busy", "{error:?}");
            assert_eq!(error.data["retryable"], true);
            let point = tree.join("mnt").display().to_string();
            assert!(error.message.contains(&point), "{}", error.message);
            false
        }
    }
}

#[test]
fn a_mount_that_hangs_stops_nobody_else() {
    let (tree, fuse) = a_mount();
    let daemon = start(&tree);
    for path in ["mnt/f0", "linked/f1", "sub/into.txt"] {
        assert!(daemon.read_text(path).contains("file "), "{path}");
    }
    everything_else(&daemon, &tree);
    let before = descriptors(&daemon);

    fuse.halt();
    let (many, single) = ask_for_all(&daemon);
    everything_else(&daemon, &tree);
    // Once it is known to hang, whoever comes is told so at once.
    let mut told = None;
    let begun = Instant::now();
    while told.is_none() && begun.elapsed() < HANG {
        let last = daemon.request("agent/read", json!({ "path": "mnt/f63" }));
        told = daemon.wait(&last).err();
    }
    assert!(!is_text_or_busy(&Err(told.expect("busy")), &tree));
    let write = json!({ "path": "mnt/new", "text": "new\n" });
    let refused = daemon.call("agent/write", write).expect_err("it hangs");
    assert_eq!(refused.kind(), "busy");
    everything_else(&daemon, &tree);
    let waits = |id: &Id| !daemon.arrival_order().contains(id);
    assert!(waits(&many), "it is answered before its mount is");

    fuse.go_on();
    let many = daemon.wait(&many).expect("each for itself");
    let results = many["results"].as_array().expect("a list");
    assert_eq!(results.len(), 64);
    for result in results {
        let kind = &result["error"]["data"]["kind"];
        assert!(result["ok"].is_object() || kind == "busy", "{result}");
    }
    let answers: Vec<_> = single.iter().map(|id| daemon.wait(id)).collect();
    let read = answers
        .iter()
        .filter(|answer| is_text_or_busy(answer, &tree))
        .count();
    let of_many = results.iter().filter(|it| it["ok"].is_object()).count();
    assert!(read + of_many >= 4, "{read} and {of_many}");
    for file in 0..64 {
        let text = daemon.read_text(path_of(file));
        assert!(text.contains(&format!("file {file}")), "{text}");
    }
    everything_else(&daemon, &tree);
    assert_eq!(status(&daemon)["stuck"], 0);
    while descriptors(&daemon) > before {
        assert!(begun.elapsed() < HANG, "descriptors are left open");
        std::thread::yield_now();
    }
}

#[test]
fn an_edit_elsewhere_does_not_wait_for_what_its_session_reads_on_a_mount_that_hangs() {
    let (tree, fuse) = a_mount();
    let daemon = start(&tree);
    let first = tag(&daemon, "local.txt");
    fuse.halt();
    let hanging = ["mnt/f1", "linked/f2", "sub/into.txt", "mnt/f3:1-2"];
    let hanging = hanging.map(|path| daemon.request("agent/read", json!({ "path": path })));
    let patch = format!("¶local.txt#{first}\nreplace 2:\n+TWO\n");
    let edit = daemon.request("agent/edit", json!({ "patch": patch }));
    // It hangs for a second before anybody is told so.
    let told = daemon.request("agent/read", json!({ "path": "mnt/f9" }));
    assert!(daemon.wait(&edit).is_ok());
    let order = daemon.arrival_order();
    let is_answered = |id: &Id| order.contains(id);
    assert!(!hanging.iter().any(is_answered), "{order:?}");
    fuse.go_on();
    for id in hanging.iter().chain([&told]) {
        is_text_or_busy(&daemon.wait(id), &tree);
    }
}

#[test]
fn nine_edits_that_wait_for_a_silent_editor_do_not_hold_up_a_tenth() {
    let mut tree = Tree::new().file("tenth.txt", "a\nb\n");
    for document in 0..9 {
        tree = tree.file(&format!("d{document}.txt"), "a\nb\n");
    }
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(capabilities())
        .start();
    daemon.ignore_changes();
    let patch = |path: &str| {
        let patch = format!("¶{path}#{}\nreplace 2:\n+B\n", tag(&daemon, path));
        json!({ "patch": patch })
    };
    let names: Vec<String> = (0..9).map(|document| format!("d{document}.txt")).collect();
    let editors: Vec<Editor> = names
        .iter()
        .map(|name| Editor::open(&daemon, &file_uri(&tree.join(name)), "a\nb\nunsaved\n"))
        .collect();
    let edits: Vec<Id> = names
        .iter()
        .map(|name| daemon.request("agent/edit", patch(name)))
        .collect();
    let asked: Vec<Id> = edits
        .iter()
        .map(|_| daemon.expect_request("workspace/applyEdit").0)
        .collect();
    assert!(daemon.call("agent/edit", patch("tenth.txt")).is_ok());
    let text = fs::read_to_string(tree.join("tenth.txt")).expect("the file");
    assert_eq!(text, "a\nB\n");
    assert!(daemon.read_text("tenth.txt").contains('B'));
    let order = daemon.arrival_order();
    assert!(!edits.iter().any(|id| order.contains(id)));
    for id in asked {
        daemon.respond(id, json!({ "applied": false }));
    }
    for id in &edits {
        assert!(daemon.wait(id).is_err());
    }
    drop(editors);
}
