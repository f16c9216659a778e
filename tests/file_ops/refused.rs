//! What is not moved and not deleted; nothing of such a patch is done.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::client::Daemon;
use crate::tree::Tree;

use super::{edit, files, read, refused, start};

#[test]
fn nothing_is_moved_over_what_is_there() {
    let tree = Tree::new()
        .file("a.txt", "one\n")
        .file("b.txt", "b\n")
        .file("sub/c.txt", "c\n");
    symlink("nowhere", tree.join("dangling")).expect("a link");
    fs::hard_link(tree.join("a.txt"), tree.join("same.txt")).expect("a link");
    let daemon = start(&tree);
    let (a, b) = (read(&daemon, "a.txt"), read(&daemon, "b.txt"));
    for (to, words) in [
        ("b.txt", "nothing is moved over it"),
        ("sub", "is a directory"),
        ("./sub/c.txt", "nothing is moved over it"),
        ("dangling", "nothing is moved over it"),
        ("same.txt", "nothing is moved over it"),
        ("a.txt", "already"),
    ] {
        let patch = format!("¶a.txt#{a}\nmove file to {to}\n");
        let error = refused(&daemon, &tree, &patch, "exists", words);
        if to == "b.txt" {
            assert_eq!(error.data["tag"], json!(b));
        }
    }
    // Two files to one place.
    let patch = format!("¶a.txt#{a}\nmove file to new.txt\n¶b.txt#{b}\nmove file to new.txt\n");
    refused(&daemon, &tree, &patch, "exists", "new.txt");
}

#[test]
fn the_tag_must_be_live_and_known() {
    let tree = Tree::new().file("a.txt", "one\ntwo\n");
    let daemon = start(&tree);
    let tag = read(&daemon, "a.txt");
    tree.replace("a.txt", "one\ntwo\nthree\n");
    for op in [
        "move file to b.txt",
        "delete file",
        "replace 1:\n+x\nmove file to b.txt",
    ] {
        refused(
            &daemon,
            &tree,
            &format!("¶a.txt#{tag}\n{op}\n"),
            "stale",
            "has changed since",
        );
    }
    let unknown = if tag == "0000" { "0001" } else { "0000" };
    for op in ["move file to b.txt", "delete file"] {
        let patch = format!("¶a.txt#{unknown}\n{op}\n");
        refused(&daemon, &tree, &patch, "unknownTag", "");
        refused(
            &daemon,
            &tree,
            &format!("¶a.txt\n{op}\n"),
            "patchSyntax",
            "",
        );
    }
}

#[test]
fn lines_need_not_have_been_shown() {
    let tree = Tree::new().file("a.txt", "one\ntwo\nthree\n");
    let daemon = start(&tree);
    let read = daemon.read_with(json!({ "path": "a.txt", "selector": "1-1" }));
    let read = read.expect("a line");
    let tag = read["details"]["hashline"]["tag"].as_str().expect("a tag");
    edit(&daemon, &format!("¶a.txt#{tag}\nmove file to b.txt\n")).expect("moved");
    edit(&daemon, &format!("¶b.txt#{tag}\ndelete file\n")).expect("gone");
}

#[test]
fn both_places_are_judged() {
    let tree = Tree::new()
        .file("ws/a.txt", "one\n")
        .file("ws/secret/x.txt", "x\n")
        .file("ws/.agentignore", "secret/\n")
        .file("out.txt", "o\n");
    let daemon = Daemon::start(&tree.join("ws"));
    daemon.ignore_changes();
    let tag = read(&daemon, "a.txt");
    for (to, kind) in [
        ("secret/b.txt", "denied"),
        (".env", "denied"),
        ("../b.txt", "outsideWorkspace"),
        ("https://example.com/b.txt", "unsupported"),
        ("pilcrow://edit", "unsupported"),
    ] {
        let patch = format!("¶a.txt#{tag}\nmove file to {to}\n");
        refused(&daemon, &tree, &patch, kind, "");
    }
    for from in ["secret/x.txt", "../out.txt"] {
        for op in ["move file to b.txt", "delete file"] {
            let patch = format!("¶{from}#{tag}\n{op}\n");
            let error = edit(&daemon, &patch).expect_err(&patch);
            assert!(
                ["denied", "outsideWorkspace"].contains(&error.kind()),
                "{error:?}"
            );
        }
    }
    assert_eq!(files(tree.path()).len(), 4);
}

#[test]
fn what_may_only_be_read_stays_where_it_is() {
    let tree = Tree::new()
        .file("ws/a.txt", "one\n")
        .file("out/b.txt", "b\n");
    let settings = json!({ "access": { "outsideWorkspace": "read" } });
    let daemon = Daemon::builder()
        .root(tree.join("ws"))
        .settings(settings)
        .start();
    daemon.ignore_changes();
    let out = tree.spelled("out/b.txt");
    let tag = read(&daemon, &out);
    for op in ["delete file", "move file to c.txt"] {
        refused(
            &daemon,
            &tree,
            &format!("¶{out}#{tag}\n{op}\n"),
            "outsideWorkspace",
            "",
        );
    }
    let tag = read(&daemon, "a.txt");
    let patch = format!("¶a.txt#{tag}\nmove file to {}\n", tree.spelled("out/a.txt"));
    refused(&daemon, &tree, &patch, "outsideWorkspace", "");
}

#[test]
fn another_file_of_the_patch_that_fails_leaves_all_as_it_was() {
    let tree = Tree::new()
        .file("a.txt", "one\n")
        .file("b.txt", "b\n")
        .file("c.txt", "c\n");
    let daemon = start(&tree);
    let [a, b, c] = ["a.txt", "b.txt", "c.txt"].map(|name| read(&daemon, name));
    let patch = format!(
        "¶a.txt#{a}\nmove file to sub/d.txt\n¶b.txt#{b}\ndelete file\n¶c.txt#{c}\nreplace 9:\n+x\n"
    );
    refused(&daemon, &tree, &patch, "patchSyntax", "");
    assert!(!tree.join("sub").exists());
    // All faults of all files.
    let patch = format!("¶a.txt#{a}\nmove file to b.txt\n¶b.txt#{b}\nmove file to a.txt\n");
    let error = refused(&daemon, &tree, &patch, "exists", "2 faults");
    assert_eq!(error.data["faults"][1]["path"], "a.txt");
    assert_eq!(error.data["faults"][1]["patchLine"], 4);
}

#[test]
fn only_files_that_are_edited_as_text() {
    let tree = Tree::new()
        .file("d/a.txt", "one\n")
        .file("bin", b"\0\x01\x02\xff\0\0");
    let daemon = start(&tree);
    let tag = read(&daemon, "d/a.txt");
    for op in ["delete file", "move file to x"] {
        refused(
            &daemon,
            &tree,
            &format!("¶d#{tag}\n{op}\n"),
            "unsupported",
            "directory",
        );
        edit(&daemon, &format!("¶bin#{tag}\n{op}\n")).expect_err("binary");
        edit(&daemon, &format!("¶pilcrow://edit#{tag}\n{op}\n")).expect_err("the guide");
        edit(&daemon, &format!("¶d/none.txt#{tag}\n{op}\n")).expect_err("nothing");
    }
    assert_eq!(files(tree.path()).len(), 2);
    for patch in [
        format!("¶d/a.txt#{tag}\ndelete file\nmove file to x\n"),
        format!("¶d/a.txt#{tag}\nmove file to x\nreplace 1:\n+x\n"),
        format!("¶d/a.txt#{tag}\nmove file to x\nmove file to y\n"),
        format!("¶d/a.txt#{tag}\ndelete file\n¶d/a.txt#{tag}\nreplace 1:\n+x\n"),
    ] {
        refused(&daemon, &tree, &patch, "patchSyntax", "");
    }
}

#[test]
fn the_structured_form_says_the_same() {
    let tree = Tree::new().file("a.txt", "one\n").file("b.txt", "b\n");
    let daemon = start(&tree);
    let (a, b) = (read(&daemon, "a.txt"), read(&daemon, "b.txt"));
    let files_of = json!({ "files": [
        { "path": "a.txt", "tag": a, "edits": [
            { "op": "replace", "start": 1, "text": "eins" },
            { "op": "move_file", "to": "c/d.txt" },
        ] },
        { "path": "b.txt", "tag": b, "edits": [{ "op": "delete_file" }] },
    ] });
    let edited = daemon.call("agent/edit", files_of).expect("carried out");
    assert_eq!(edited["details"]["files"][0]["path"], "c/d.txt");
    let now = files(tree.path());
    assert_eq!((now.len(), now["c/d.txt"].as_str()), (1, "eins\n"));
    let undo = json!({ "files": [
        { "path": "b.txt", "tag": b, "edits": [{ "op": "undo" }] },
    ] });
    daemon.call("agent/edit", undo).expect("back");
    assert_eq!(files(tree.path())["b.txt"], "b\n");
}
