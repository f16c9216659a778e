//! Files that the editor has open: what is not saved stays where it is, and a clean document follows its file.

use serde_json::{Value, json};

use crate::client::{Daemon, Next, file_uri};
use crate::editor::{Editor, capabilities};
use crate::tree::Tree;

use super::{edit, files, read, refused, shown};

fn start(tree: &Tree, follows: bool) -> Daemon {
    let mut capabilities = capabilities();
    capabilities["experimental"]["pilcrow"]["followFile"] = json!(follows);
    let builder = Daemon::builder().root(tree.path());
    let daemon = builder.capabilities(capabilities).start();
    daemon.ignore_changes();
    daemon
}

#[test]
fn a_dirty_document_keeps_its_file() {
    let tree = Tree::new().file("a.txt", "one\n").file("b.txt", "b\n");
    let daemon = start(&tree, true);
    let editor = Editor::open(&daemon, &file_uri(&tree.join("a.txt")), "one\n");
    editor.types("one", "eins");
    let tag = read(&daemon, "a.txt");
    for op in ["move file to c.txt", "delete file"] {
        let patch = format!("¶a.txt#{tag}\n{op}\n");
        refused(
            &daemon,
            &tree,
            &patch,
            "unsupported",
            "save or close it first",
        );
    }
    // Nor is anything moved to where an unsaved document is to be.
    let new = Editor::open(&daemon, &file_uri(&tree.join("new.txt")), "typed\n");
    new.says_dirty(true);
    let tag = read(&daemon, "b.txt");
    let patch = format!("¶b.txt#{tag}\nmove file to new.txt\n");
    refused(&daemon, &tree, &patch, "exists", "open in the editor");
}

/// Sends a patch, and answers what the editor is asked with.
fn carried_out(daemon: &Daemon, patch: &str, answers: impl Fn(&Value)) -> Value {
    let id = daemon.request("agent/edit", json!({ "patch": patch }));
    match daemon.answer_or_request(&id, "agent/followFile") {
        Next::Answer(answer) => panic!("nobody was asked: {answer:?}"),
        Next::Request(asked, params) => {
            answers(&params);
            daemon.respond(asked, json!({ "followed": true }));
        }
    }
    daemon.wait(&id).expect("carried out")
}

#[test]
fn a_clean_document_follows_its_file() {
    let tree = Tree::new().file("a.txt", "one\n");
    let daemon = start(&tree, true);
    let uri = |name: &str| file_uri(&tree.join(name));
    let editor = Editor::open(&daemon, &uri("a.txt"), "one\n");
    editor.says_dirty(false);
    let tag = read(&daemon, "a.txt");
    // The text is changed on disk, and not by the editor: it goes with the file.
    let patch = format!("¶a.txt#{tag}\nreplace 1:\n+eins\nmove file to d/b.txt\n");
    let moved = carried_out(&daemon, &patch, |asked| {
        assert_eq!(*asked, json!({ "uri": uri("a.txt"), "to": uri("d/b.txt") }));
        assert_eq!(files(tree.path())["d/b.txt"], "eins\n");
        editor.closes();
        Editor::open(&daemon, &uri("d/b.txt"), "eins\n");
    });
    assert_eq!(moved["details"]["files"][0]["via"], "disk");
    assert_eq!(moved["details"]["files"][0]["warnings"], json!([]));
    let tag = read(&daemon, "d/b.txt");
    let gone = carried_out(
        &daemon,
        &format!("¶d/b.txt#{tag}\ndelete file\n"),
        |asked| {
            assert_eq!(*asked, json!({ "uri": uri("d/b.txt"), "to": null }));
        },
    );
    assert_eq!(shown(&gone), "[d/b.txt is deleted]");
}

#[test]
fn of_an_editor_that_does_not_follow_it_is_said() {
    let tree = Tree::new().file("a.txt", "one\n");
    let daemon = start(&tree, false);
    let editor = Editor::open(&daemon, &file_uri(&tree.join("a.txt")), "one\n");
    editor.says_dirty(false);
    let tag = read(&daemon, "a.txt");
    let patch = format!("¶a.txt#{tag}\nmove file to b.txt\n");
    let moved = edit(&daemon, &patch).expect("moved");
    let warning = &moved["details"]["files"][0]["warnings"][0];
    assert_eq!(warning["code"], "stillOpen", "{moved}");
    // What is left of it in the editor is not the file.
    let again = edit(&daemon, &patch).expect("it was made before");
    assert!(
        shown(&again).starts_with("[Already applied: b.txt is #"),
        "{again}"
    );
    let late = format!("¶a.txt#{tag}\nreplace 1:\n+x\n");
    refused(
        &daemon,
        &tree,
        &late,
        "unknownTag",
        "'a.txt' is 'b.txt' now",
    );
    editor.closes();
    refused(
        &daemon,
        &tree,
        &late,
        "unknownTag",
        "'a.txt' is 'b.txt' now",
    );
}
