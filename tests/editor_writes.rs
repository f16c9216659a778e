//! Edits of documents that the editor has open: done by the editor, and believed only when its text shows it.

use serde_json::{Value, json};

use crate::client::{Daemon, Id, WireError, file_uri};
use crate::editor::{Editor, capabilities};
use crate::tree::Tree;

fn start(tree: &Tree) -> Daemon {
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(capabilities())
        .start();
    daemon.ignore_changes();
    daemon
}

fn open<'a>(daemon: &'a Daemon, tree: &Tree, name: &str, text: &str) -> Editor<'a> {
    Editor::open(daemon, &file_uri(&tree.join(name)), text)
}

fn tag(daemon: &Daemon, path: &str) -> String {
    let read = daemon.read(path).expect("a read");
    let tag = &read["details"]["hashline"]["tag"];
    tag.as_str().expect("a tag").to_owned()
}

/// `a.txt` as the editor has it with that text, its tag, and an edit of it that has been asked for.
fn asked<'a>(daemon: &'a Daemon, tree: &Tree, text: &str, ops: &str) -> (Editor<'a>, String, Id) {
    let editor = open(daemon, tree, "a.txt", text);
    let first = tag(daemon, "a.txt");
    let id = daemon.request("agent/edit", patch("a.txt", &first, ops));
    (editor, first, id)
}

fn patch(path: &str, tag: &str, ops: &str) -> Value {
    json!({ "patch": format!("¶{path}#{tag}\n{ops}") })
}

fn on_disk(tree: &Tree, name: &str) -> String {
    std::fs::read_to_string(tree.join(name)).expect("the file")
}

fn shown(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text block")
}

fn kind(refused: &Result<Value, WireError>) -> &str {
    let error = refused.as_ref().expect_err("a refusal");
    error.data["kind"].as_str().expect("a kind")
}

#[test]
fn a_dirty_document_is_changed_by_the_editor_and_its_file_is_left_alone() {
    let tree = Tree::new().file("a.txt", "a\nb\nc\n");
    let daemon = start(&tree);
    let editor = open(&daemon, &tree, "a.txt", "a\nb\nc\nunsaved\n");
    let first = tag(&daemon, "a.txt");
    let ops = "replace 2:\n+B 1\n+B 2\ninsert tail:\n+end\n";
    let id = daemon.request("agent/edit", patch("a.txt", &first, ops));
    editor.obeys();
    let result = daemon.wait(&id).expect("an edit");
    assert_eq!(editor.text(), "a\nB 1\nB 2\nc\nunsaved\nend\n");
    assert_eq!(on_disk(&tree, "a.txt"), "a\nb\nc\n");
    let file = &result["details"]["files"][0];
    assert_eq!(
        (&file["via"], &file["persisted"]),
        (&json!("editor"), &json!(false))
    );
    assert_eq!(file["tag"], tag(&daemon, "a.txt"));
    let rows = "1:a\n2:B 1\n3:B 2\n4:c\n5:unsaved\n6:end";
    assert!(shown(&result).ends_with(rows), "{}", shown(&result));
}

#[test]
fn a_clean_document_is_changed_by_the_editor_and_flush_has_it_saved() {
    let tree = Tree::new()
        .file("a.txt", "a\nb\nc\n")
        .file("b.txt", "one\n");
    let daemon = start(&tree);
    let editor = open(&daemon, &tree, "a.txt", "a\nb\nc\n");
    // What the user has typed is none of ours to save.
    let theirs = open(&daemon, &tree, "b.txt", "one\ntwo\n");
    for (name, editor) in [("a.txt", &editor), ("b.txt", &theirs)] {
        let tag = tag(&daemon, name);
        let id = daemon.request("agent/edit", patch(name, &tag, "replace 1:\n+first\n"));
        editor.obeys();
        daemon.wait(&id).expect("an edit");
    }
    assert_eq!(on_disk(&tree, "a.txt"), "a\nb\nc\n");
    let id = daemon.request("agent/flush", json!({}));
    let (save, params) = daemon.expect_request("agent/saveDocument");
    assert_eq!(params, json!({ "uri": editor.uri }));
    editor.saves(&tree.join("a.txt"));
    daemon.respond(save, Value::Null);
    let flushed = daemon.wait(&id).expect("flushed");
    assert_eq!(flushed, json!({ "saved": ["a.txt"], "left": [] }));
    assert_eq!(on_disk(&tree, "a.txt"), "first\nb\nc\n");
    let again = daemon.call("agent/flush", json!({})).expect("flushed");
    assert_eq!(again, json!({ "saved": [], "left": [] }));
}

#[test]
fn what_cannot_be_saved_is_left_with_the_reason() {
    let tree = Tree::new().file("a.txt", "a\nb\n");
    let mut without = capabilities();
    without["experimental"] = json!({});
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(without)
        .start();
    daemon.ignore_changes();
    let (editor, _, id) = asked(&daemon, &tree, "a\nb\n", "delete 2\n");
    editor.obeys();
    daemon.wait(&id).expect("an edit");
    let flushed = daemon
        .call("agent/flush", json!({ "paths": ["a.txt"] }))
        .expect("flushed");
    assert_eq!(flushed["saved"], json!([]));
    assert_eq!(flushed["left"][0]["path"], "a.txt");
    let reason = flushed["left"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("ask the user"), "{reason}");
}

#[test]
fn a_save_that_the_file_does_not_show_is_not_believed() {
    let tree = Tree::new().file("a.txt", "a\nb\n");
    let daemon = start(&tree);
    let (editor, _, id) = asked(&daemon, &tree, "a\nb\n", "delete 2\n");
    editor.obeys();
    daemon.wait(&id).expect("an edit");
    let id = daemon.request("agent/flush", json!({}));
    let (save, _) = daemon.expect_request("agent/saveDocument");
    daemon.respond(save, json!({ "saved": true }));
    let flushed = daemon.wait(&id).expect("flushed");
    assert_eq!(
        (&flushed["saved"], &flushed["left"][0]["path"]),
        (&json!([]), &json!("a.txt"))
    );
}

#[test]
fn a_clean_document_with_normalised_text_is_written_on_disk() {
    let tree = Tree::new().file("a.txt", "a\r\nb\nc");
    let daemon = start(&tree);
    let editor = open(&daemon, &tree, "a.txt", "a\nb\nc");
    editor.says_dirty(false);
    let first = tag(&daemon, "a.txt");
    let result = daemon
        .call("agent/edit", patch("a.txt", &first, "replace 2:\n+B\n"))
        .expect("an edit");
    assert_eq!(on_disk(&tree, "a.txt"), "a\r\nB\nc");
    let file = &result["details"]["files"][0];
    assert_eq!(
        (&file["via"], &file["persisted"]),
        (&json!("disk"), &json!(true))
    );
}

#[test]
fn what_the_user_types_before_the_editor_is_asked_moves_the_edit() {
    let tree = Tree::new().file("a.txt", "a\nb\nc\n");
    let daemon = start(&tree);
    let (editor, _, id) = asked(&daemon, &tree, "a\nb\nc\n", "replace 2:\n+B\n");
    let (request, _) = editor.asked();
    editor.types("a\n", "top\na\n");
    editor.says_applied(request, false);
    editor.obeys();
    let result = daemon.wait(&id).expect("an edit");
    assert_eq!(editor.text(), "top\na\nB\nc\n");
    let file = &result["details"]["files"][0];
    assert_eq!(file["remapped"], json!([{ "from": 2, "to": 3 }]));
}

#[test]
fn what_the_user_types_into_the_addressed_line_is_kept() {
    let tree = Tree::new().file("a.txt", "a\nb\nc\n");
    let daemon = start(&tree);
    let (editor, _, id) = asked(&daemon, &tree, "a\nb\nc\n", "replace 2:\n+B\n");
    let (request, _) = editor.asked();
    editor.types("b", "b typed");
    editor.says_applied(request, false);
    let refused = daemon.wait(&id);
    assert_eq!(kind(&refused), "stale");
    let error = refused.expect_err("a refusal");
    let line = &error.data["files"][0]["lines"][1];
    assert_eq!(line, &json!({ "line": 2, "text": "b typed" }));
    // The error alone is enough to go on.
    let live = error.data["files"][0]["tag"].as_str().expect("a tag");
    let id = daemon.request("agent/edit", patch("a.txt", live, "replace 2:\n+B\n"));
    editor.obeys();
    daemon.wait(&id).expect("an edit");
    assert_eq!(editor.text(), "a\nB\nc\n");
}

#[test]
fn an_editor_that_declines_is_stale_and_nothing_is_changed() {
    let tree = Tree::new()
        .file("a.txt", "a\nb\nc\n")
        .file("disk.txt", "one\n");
    let daemon = start(&tree);
    let editor = open(&daemon, &tree, "a.txt", "a\nb\nc\n");
    let (first, other) = (tag(&daemon, "a.txt"), tag(&daemon, "disk.txt"));
    let text = format!("¶disk.txt#{other}\nreplace 1:\n+ONE\n¶a.txt#{first}\nreplace 2:\n+B\n");
    let id = daemon.request("agent/edit", json!({ "patch": text }));
    let (request, _) = editor.asked();
    editor.says_applied(request, false);
    let refused = daemon.wait(&id);
    assert_eq!(kind(&refused), "stale");
    let error = refused.expect_err("a refusal");
    assert_eq!(error.data["files"][0]["lines"][1]["text"], "b");
    assert_eq!(on_disk(&tree, "disk.txt"), "one\n");
    assert_eq!(editor.text(), "a\nb\nc\n");
}

#[test]
fn an_editor_that_says_yes_and_does_nothing_is_not_believed() {
    let tree = Tree::new().file("a.txt", "a\nb\nc\n");
    let daemon = start(&tree);
    let (editor, first, id) = asked(&daemon, &tree, "a\nb\nc\n", "replace 2:\n+B\n");
    let (request, _) = editor.asked();
    editor.says_applied(request, true);
    let refused = daemon.wait(&id);
    assert_eq!(kind(&refused), "timeout");
    let error = refused.expect_err("a refusal");
    assert_eq!(error.data["outcome"], "unknown");
    assert_eq!(error.data["retryable"], false);
    // Other edits are not held up by it any more.
    let id = daemon.request("agent/edit", patch("a.txt", &first, "replace 3:\n+C\n"));
    editor.obeys();
    daemon.wait(&id).expect("an edit");
}

#[test]
fn an_edit_that_is_seen_is_done_whatever_is_typed_after_it() {
    let tree = Tree::new().file("a.txt", "a\nb\nc\n");
    let daemon = start(&tree);
    let (editor, _, id) = asked(&daemon, &tree, "a\nb\nc\n", "replace 2:\n+B\n");
    let (request, edits) = editor.asked();
    editor.applies(&edits);
    editor.types("a\n", "typed\na\n");
    // The editor's own word comes last, or never.
    let result = daemon.wait(&id).expect("an edit");
    editor.says_applied(request, true);
    let file = &result["details"]["files"][0];
    let now = tag(&daemon, "a.txt");
    let (own, moved) = (
        json!([{ "start": 2, "end": 2 }]),
        json!([{ "start": 3, "end": 3 }]),
    );
    match file["tag"] == now.as_str() {
        true => assert_eq!(file["changed"], moved),
        // It was answered before the typing came in.
        false => assert_eq!(file["changed"], own),
    }
    let next = file["tag"].as_str().expect("a tag").to_owned();
    let line = file["changed"][0]["start"].as_u64().expect("a line");
    let ops = format!("replace {line}:\n+B again\n");
    let id = daemon.request("agent/edit", patch("a.txt", &next, &ops));
    editor.obeys();
    daemon.wait(&id).expect("an edit");
    assert_eq!(editor.text(), "typed\na\nB again\nc\n");
}

#[test]
fn an_editor_that_does_it_and_says_no_is_believed_by_its_text() {
    let tree = Tree::new().file("a.txt", "a\nb\nc\n");
    let daemon = start(&tree);
    let (editor, _, id) = asked(&daemon, &tree, "a\nb\nc\n", "replace 2:\n+B\n");
    let (request, edits) = editor.asked();
    editor.applies(&edits);
    editor.says_applied(request, false);
    daemon.wait(&id).expect("an edit");
    assert_eq!(editor.text(), "a\nB\nc\n");
}

#[test]
fn line_ends_that_the_editor_makes_its_own_are_no_other_text() {
    let tree = Tree::new().file("a.txt", "a\r\nb\r\n");
    let daemon = start(&tree);
    let (editor, _, id) = asked(&daemon, &tree, "a\r\nb\r\n", "insert after 1:\n+new\n");
    let (request, _) = editor.asked();
    editor.replaces_all("a\nnew\nb\n");
    editor.says_applied(request, true);
    let result = daemon.wait(&id).expect("an edit");
    assert_eq!(result["details"]["files"][0]["tag"], tag(&daemon, "a.txt"));
}

#[test]
fn a_document_that_is_closed_meanwhile_is_edited_as_the_file_it_was() {
    let tree = Tree::new().file("a.txt", "a\nb\nc\n");
    let daemon = start(&tree);
    let (editor, _, id) = asked(&daemon, &tree, "a\nb\nc\n", "replace 2:\n+B\n");
    let (request, _) = editor.asked();
    editor.closes();
    editor.says_applied(request, false);
    let result = daemon.wait(&id).expect("an edit");
    assert_eq!(result["details"]["files"][0]["via"], "disk");
    assert_eq!(on_disk(&tree, "a.txt"), "a\nB\nc\n");
}

#[test]
fn a_line_that_was_lost_when_its_document_was_closed_is_stale() {
    let tree = Tree::new().file("a.txt", "a\nb\nc\n");
    let daemon = start(&tree);
    let (editor, _, id) = asked(&daemon, &tree, "a\nb\nc\nunsaved\n", "replace 4:\n+D\n");
    let (request, _) = editor.asked();
    editor.closes();
    editor.says_applied(request, false);
    assert_eq!(kind(&daemon.wait(&id)), "stale");
    assert_eq!(on_disk(&tree, "a.txt"), "a\nb\nc\n");
}

#[test]
fn an_undo_by_the_user_is_seen_and_the_tags_follow() {
    let tree = Tree::new().file("a.txt", "a\nb\nc\n");
    let daemon = start(&tree);
    let (editor, first, id) = asked(&daemon, &tree, "a\nb\nc\n", "replace 2:\n+B\n");
    editor.obeys();
    let result = daemon.wait(&id).expect("an edit");
    let second = result["details"]["files"][0]["tag"]
        .as_str()
        .expect("a tag")
        .to_owned();
    editor.types("B", "b");
    assert_eq!(
        daemon.read_text("a.txt"),
        format!("¶a.txt#{first}\n1:a\n2:b\n3:c")
    );
    // By the tag of what is undone the line is another one; by the first it is the same.
    let refused = daemon.call("agent/edit", patch("a.txt", &second, "replace 2:\n+C\n"));
    assert_eq!(kind(&refused), "stale");
    let id = daemon.request("agent/edit", patch("a.txt", &first, "replace 2:\n+C\n"));
    editor.obeys();
    daemon.wait(&id).expect("an edit");
    assert_eq!(editor.text(), "a\nC\nc\n");
}

#[test]
fn without_versioned_edits_a_clean_file_is_written_and_a_dirty_one_is_not() {
    let cannot = [
        json!({}),
        json!({ "workspace": { "applyEdit": true } }),
        json!({ "workspace": { "workspaceEdit": { "documentChanges": true } } }),
    ];
    for capabilities in cannot {
        let tree = Tree::new().file("a.txt", "a\nb\n").file("b.txt", "a\nb\n");
        let daemon = Daemon::builder()
            .root(tree.path())
            .capabilities(capabilities)
            .start();
        daemon.ignore_changes();
        open(&daemon, &tree, "a.txt", "a\nb\n");
        open(&daemon, &tree, "b.txt", "a\nb\nunsaved\n");
        let clean = tag(&daemon, "a.txt");
        let edited = daemon.call("agent/edit", patch("a.txt", &clean, "replace 1:\n+A\n"));
        assert_eq!(
            edited.expect("an edit")["details"]["files"][0]["via"],
            "disk"
        );
        assert_eq!(on_disk(&tree, "a.txt"), "A\nb\n");
        let dirty = tag(&daemon, "b.txt");
        let refused = daemon.call("agent/edit", patch("b.txt", &dirty, "replace 1:\n+A\n"));
        assert_eq!(kind(&refused), "unsupported");
        assert_eq!(on_disk(&tree, "b.txt"), "a\nb\n");
    }
}

#[test]
fn a_document_that_lost_characters_is_not_edited() {
    let tree = Tree::new().file("a.txt", b"caf\xe9 au lait\nb\n");
    let daemon = start(&tree);
    let editor = open(&daemon, &tree, "a.txt", "caf\u{fffd} au lait\nb\nunsaved\n");
    editor.says_dirty(true);
    let first = tag(&daemon, "a.txt");
    let refused = daemon.call("agent/edit", patch("a.txt", &first, "replace 2:\n+B\n"));
    assert_eq!(kind(&refused), "encoding");
}

#[test]
fn a_character_that_the_file_cannot_hold_is_not_sent_to_the_editor() {
    let tree = Tree::new().file("a.txt", b"caf\xe9 au lait\nb\n");
    let daemon = start(&tree);
    let editor = open(&daemon, &tree, "a.txt", "caf\u{e9} au lait\nb\nunsaved\n");
    let state = json!({ "uri": editor.uri, "version": 1, "dirty": true, "encoding": "iso-8859-1" });
    daemon.notify("agent/documentState", state);
    let first = tag(&daemon, "a.txt");
    let refused = daemon.call(
        "agent/edit",
        patch("a.txt", &first, "replace 2:\n+snow ☃\n"),
    );
    assert_eq!(kind(&refused), "encoding");
    let id = daemon.request(
        "agent/edit",
        patch("a.txt", &first, "replace 2:\n+\u{e0} la carte\n"),
    );
    editor.obeys();
    daemon.wait(&id).expect("an edit");
}

#[test]
fn an_editor_that_calls_everything_utf8_damages_nothing() {
    let tree = Tree::new().file("a.txt", b"caf\xe9 au lait\ntwo\n");
    let daemon = start(&tree);
    let editor = open(&daemon, &tree, "a.txt", "caf\u{fffd} au lait\ntwo\n");
    let state = json!({ "uri": editor.uri, "version": 1, "dirty": false, "encoding": "utf8" });
    daemon.notify("agent/documentState", state);
    let read = daemon.read_text("a.txt");
    assert!(read.ends_with("1:caf\u{e9} au lait\n2:two"), "{read}");
    let first = tag(&daemon, "a.txt");
    let result = daemon
        .call("agent/edit", patch("a.txt", &first, "replace 2:\n+2\n"))
        .expect("an edit");
    assert_eq!(result["details"]["files"][0]["via"], "disk");
    let bytes = std::fs::read(tree.join("a.txt")).expect("the file");
    assert_eq!(bytes, b"caf\xe9 au lait\n2\n");
}

#[test]
fn an_emptied_document_may_show_as_one_empty_line() {
    let tree = Tree::new().file("a.txt", "a\n");
    let daemon = start(&tree);
    let (editor, _, id) = asked(&daemon, &tree, "a\n", "delete 1\n");
    let (request, _) = editor.asked();
    editor.replaces_all("\n");
    editor.says_applied(request, true);
    daemon.wait(&id).expect("an edit");
}

#[test]
fn a_document_that_is_in_no_file_is_edited_by_its_uri() {
    let tree = Tree::new();
    let daemon = start(&tree);
    let editor = Editor::open(&daemon, "untitled:Untitled-1", "a\nb\n");
    let first = tag(&daemon, "untitled:Untitled-1");
    let id = daemon.request(
        "agent/edit",
        patch("untitled:Untitled-1", &first, "replace 2:\n+B\n"),
    );
    editor.obeys();
    let result = daemon.wait(&id).expect("an edit");
    assert_eq!(editor.text(), "a\nB\n");
    assert_eq!(
        result["details"]["files"][0]["resolvedPath"],
        "untitled:Untitled-1"
    );
}

#[test]
fn places_are_counted_as_the_client_counts() {
    let tree = Tree::new().file("a.txt", "\u{feff}\u{1F600}é old é\n");
    let daemon = start(&tree);
    let editor = open(
        &daemon,
        &tree,
        "a.txt",
        "\u{feff}\u{1F600}é old é\nunsaved\n",
    );
    let edit = json!({ "op": "replace_text", "old": "old", "new": "new" });
    let params = json!({ "files": [{ "path": "a.txt", "edits": [edit] }] });
    let id = daemon.request("agent/edit", params);
    editor.obeys();
    daemon.wait(&id).expect("an edit");
    assert_eq!(editor.text(), "\u{feff}\u{1F600}é new é\nunsaved\n");
}

#[test]
fn a_disk_that_fails_after_the_editor_is_told_in_full() {
    let tree = Tree::new()
        .file("a.txt", "a\nb\n")
        .file("disk.txt", "one\n");
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(capabilities())
        .env("PILCROW_FAIL", "fsync:1:EIO")
        .start();
    daemon.ignore_changes();
    let editor = open(&daemon, &tree, "a.txt", "a\nb\n");
    let (first, other) = (tag(&daemon, "a.txt"), tag(&daemon, "disk.txt"));
    let text = format!("¶disk.txt#{other}\nreplace 1:\n+ONE\n¶a.txt#{first}\nreplace 2:\n+B\n");
    let id = daemon.request("agent/edit", json!({ "patch": text }));
    editor.obeys();
    let refused = daemon.wait(&id);
    assert_eq!(kind(&refused), "io");
    let error = refused.expect_err("a refusal");
    assert_eq!(error.data["written"], json!(["a.txt"]));
    assert_eq!(error.data["notWritten"], json!(["disk.txt"]));
    assert_eq!(on_disk(&tree, "disk.txt"), "one\n");
    assert_eq!(editor.text(), "a\nB\n");
    // What the editor did is on record all the same.
    assert!(daemon.read_text("a.txt").ends_with("1:a\n2:B"));
}

#[test]
fn other_sessions_hear_of_an_edit_and_its_own_does_not() {
    let tree = Tree::new().file("a.txt", "a\nb\nc\n");
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(capabilities())
        .start();
    let editor = open(&daemon, &tree, "a.txt", "a\nb\nc\n");
    let first = tag(&daemon, "a.txt");
    daemon
        .read_with(json!({ "path": "a.txt", "session": "other" }))
        .expect("a read");
    let id = daemon.request("agent/edit", patch("a.txt", &first, "replace 2:\n+B\n"));
    editor.obeys();
    let result = daemon.wait(&id).expect("an edit");
    let notice = daemon.expect_notification("agent/didChangeSnapshot");
    let now = &result["details"]["files"][0]["tag"];
    assert_eq!(
        notice,
        json!({ "session": "other", "path": "a.txt", "tag": first, "newTag": now, "changed": [{ "start": 2, "end": 2 }], "actor": "agent:default" })
    );
}
