//! A file that is moved: it is the same file, under its tag, with what was shown of it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use insta::assert_snapshot;
use serde_json::json;

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

use super::{edit, edit_as, files, read, read_as, refused, shown, start};

#[test]
fn it_keeps_its_inode_its_tag_and_what_was_shown() {
    let tree = Tree::new().file("src/old.ts", "one\ntwo\nthree\n");
    let path = tree.join("src/old.ts");
    fs::set_permissions(&path, Permissions::from_mode(0o751)).expect("its mode");
    fs::hard_link(&path, tree.join("other name")).expect("a link");
    let before = fs::metadata(&path).expect("metadata");
    let daemon = start(&tree);
    let tag = read(&daemon, "src/old.ts");
    let patch = format!("¶src/old.ts#{tag}\nmove file to lib/deep/new.ts\n");
    let moved = edit(&daemon, &patch).expect("moved");
    assert_snapshot!(shown(&moved), @r"
    ¶lib/deep/new.ts#2543
    [src/old.ts is lib/deep/new.ts now]
    ");
    let file = &moved["details"]["files"][0];
    assert_eq!(file["path"], "lib/deep/new.ts");
    assert_eq!(file["movedFrom"], "src/old.ts");
    assert_eq!(
        (&file["tag"], &file["tagBefore"]),
        (&json!(tag), &json!(tag))
    );
    assert_eq!((&file["changed"], &file["diff"]), (&json!([]), &json!("")));
    assert_eq!(
        (&file["via"], &file["persisted"]),
        (&json!("disk"), &json!(true))
    );
    assert_eq!(file["resolvedPath"], tree.spelled("lib/deep/new.ts"));
    let after = fs::metadata(tree.join("lib/deep/new.ts")).expect("metadata");
    let kept = |of: &fs::Metadata| (of.ino(), of.mode(), of.nlink(), of.mtime_nsec());
    assert_eq!(kept(&after), kept(&before));
    assert!(!path.exists());
    // By the tag and the lines of the old path, without another read.
    let patch = format!("¶lib/deep/new.ts#{tag}\nreplace 2:\n+zwei\n");
    edit(&daemon, &patch).expect("its lines were shown");
    assert_eq!(files(tree.path())["lib/deep/new.ts"], "one\nzwei\nthree\n");
    // Under the old path the tag is unknown, and the new path is named.
    let error = refused(
        &daemon,
        &tree,
        &format!("¶src/old.ts#{tag}\nreplace 1:\n+eins\n"),
        "unknownTag",
        "'src/old.ts' is 'lib/deep/new.ts' now",
    );
    assert_eq!(error.data["files"][0]["path"], "lib/deep/new.ts");
}

#[test]
fn what_is_edited_in_the_same_section_is_in_the_new_place() {
    let tree = Tree::new().file("a.txt", numbered_lines(1, 30));
    let daemon = start(&tree);
    let tag = read(&daemon, "a.txt");
    let patch = format!("¶a.txt#{tag}\nreplace 3:\n+drei\ndelete 9\nmove file to b.txt\n");
    let dry = json!({ "patch": patch, "dryRun": true });
    let dry = daemon.call("agent/edit", dry).expect("a plan");
    assert!(shown(&dry).contains("[a.txt would be b.txt]"), "{dry}");
    assert_eq!(dry["details"]["files"][0]["movesTo"], "b.txt");
    assert!(files(tree.path()).contains_key("a.txt"));
    let moved = edit(&daemon, &patch).expect("moved");
    assert!(shown(&moved).contains("[a.txt is b.txt now]\n"), "{moved}");
    assert!(shown(&moved).contains("\n3:drei\n"), "{moved}");
    let text = &files(tree.path())["b.txt"];
    assert!(text.contains("line 2\ndrei\nline 4\n") && !text.contains("line 9\n"));
    assert!(!tree.join("a.txt").exists());
    let now = moved["details"]["files"][0]["tag"].as_str().expect("a tag");
    assert_eq!(read(&daemon, "b.txt"), now);
    // An older tag still works, in the new place.
    let patch = format!("¶b.txt#{tag}\nreplace 20:\n+zwanzig\n");
    let edited = edit(&daemon, &patch).expect("carried");
    assert!(shown(&edited).contains("line 20 is now 19"), "{edited}");
}

#[test]
fn the_same_patch_twice_moves_once() {
    let tree = Tree::new().file("a.txt", "one\n").file("b.txt", "b\n");
    let daemon = start(&tree);
    let (a, b) = (read(&daemon, "a.txt"), read(&daemon, "b.txt"));
    let patch = format!("¶a.txt#{a}\nmove file to sub/c.txt\n¶b.txt#{b}\ninsert tail:\n+more\n");
    edit(&daemon, &patch).expect("moved");
    let after = files(tree.path());
    for session in ["default", "other"] {
        let again = edit_as(&daemon, session, &patch).expect("it was made before");
        assert!(
            shown(&again).contains("[Already applied: sub/c.txt is #"),
            "{again}"
        );
        assert_eq!(
            again["details"]["files"][0]["warnings"][0]["code"],
            "alreadyApplied"
        );
        assert_eq!(files(tree.path()), after);
    }
    // There and back: then it is meant again.
    let back = format!("¶sub/c.txt#{a}\nmove file to a.txt\n");
    edit(&daemon, &back).expect("moved back");
    assert!(tree.join("a.txt").exists());
    let forth = format!("¶a.txt#{a}\nmove file to sub/c.txt\n");
    edit(&daemon, &forth).expect("moved again");
    assert!(tree.join("sub/c.txt").exists());
}

#[test]
fn a_move_is_taken_back_by_a_move() {
    let tree = Tree::new().file("a.txt", "one\n");
    let daemon = start(&tree);
    let tag = read(&daemon, "a.txt");
    edit(&daemon, &format!("¶a.txt#{tag}\nmove file to b.txt\n")).expect("moved");
    refused(
        &daemon,
        &tree,
        &format!("¶b.txt#{tag}\nundo\n"),
        "unsupported",
        "`move file to a.txt` moves it back",
    );
}

#[test]
fn others_who_were_shown_it_hear_of_it() {
    let tree = Tree::new().file("a.txt", "one\ntwo\n").file("b.txt", "b\n");
    let daemon = Daemon::start(tree.path());
    let tag = read_as(&daemon, "first", "a.txt");
    read_as(&daemon, "second", "a.txt");
    read_as(&daemon, "second", "b.txt");
    edit_as(
        &daemon,
        "first",
        &format!("¶a.txt#{tag}\nmove file to c.txt\n"),
    )
    .expect("moved");
    let told = daemon.expect_notification("agent/didChangeSnapshot");
    assert_eq!(
        told,
        json!({
            "session": "second", "path": "a.txt", "tag": tag, "newTag": null,
            "movedTo": "c.txt", "changed": [{ "start": 1, "end": 2 }], "actor": "agent:first",
        })
    );
    // They edit it where it is now, by what they were shown.
    let patch = format!("¶c.txt#{tag}\nreplace 1:\n+eins\n");
    edit_as(&daemon, "second", &patch).expect("it was shown");
    let told = daemon.expect_notification("agent/didChangeSnapshot");
    assert_eq!(
        (&told["session"], &told["path"]),
        (&json!("first"), &json!("c.txt"))
    );
}

#[test]
fn a_link_is_moved_and_what_it_leads_to_stays() {
    let tree = Tree::new()
        .file("store/real.txt", "one\n")
        .file("d/x.txt", "x\n");
    symlink("store/real.txt", tree.join("link.txt")).expect("a link");
    symlink(tree.join("store/real.txt"), tree.join("wide.txt")).expect("a link");
    let daemon = start(&tree);
    let tag = read(&daemon, "link.txt");
    refused(
        &daemon,
        &tree,
        &format!("¶link.txt#{tag}\nmove file to d/link.txt\n"),
        "unsupported",
        "would lead elsewhere",
    );
    let patch = format!("¶link.txt#{tag}\nreplace 1:\n+eins\nmove file to other.txt\n");
    let moved = edit(&daemon, &patch).expect("moved");
    assert!(
        shown(&moved).contains("[link.txt is other.txt now]"),
        "{moved}"
    );
    let now = files(tree.path());
    assert_eq!(now["other.txt"], "-> store/real.txt");
    assert_eq!(now["store/real.txt"], "eins\n");
    assert!(!now.contains_key("link.txt"));
    let again = edit(&daemon, &patch).expect("it was made before");
    assert!(
        shown(&again).starts_with("[Already applied: other.txt is #"),
        "{again}"
    );
    // One that names the whole path leads there from anywhere.
    let tag = read(&daemon, "wide.txt");
    edit(
        &daemon,
        &format!("¶wide.txt#{tag}\nmove file to d/wide.txt\n"),
    )
    .expect("moved");
    assert_eq!(read(&daemon, "d/wide.txt"), tag);
    let deleted = edit(&daemon, &format!("¶d/wide.txt#{tag}\ndelete file\n")).expect("gone");
    assert!(shown(&deleted).contains("which stays]"), "{deleted}");
    assert_eq!(files(tree.path())["store/real.txt"], "eins\n");
}

#[test]
fn a_notebook_goes_with_its_cells() {
    let cells = r#"{"cells":[{"cell_type":"code","execution_count":null,"id":"a","metadata":{},"outputs":[],"source":["x = 1\n"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#;
    let tree = Tree::new().file("a.ipynb", cells);
    let daemon = start(&tree);
    let tag = read(&daemon, "a.ipynb");
    edit(
        &daemon,
        &format!("¶a.ipynb#{tag}\nmove file to b/b.ipynb\n"),
    )
    .expect("moved");
    assert_eq!(read(&daemon, "b/b.ipynb"), tag);
    assert_eq!(files(tree.path())["b/b.ipynb"], cells);
    edit(&daemon, &format!("¶b/b.ipynb#{tag}\ndelete file\n")).expect("gone");
    let back = edit(&daemon, &format!("¶b/b.ipynb#{tag}\nundo\n")).expect("back");
    assert_eq!(back["details"]["files"][0]["tag"], json!(tag));
    assert_eq!(files(tree.path())["b/b.ipynb"], cells);
}

#[test]
fn in_further_folders_and_stores_a_path_leads_where_it_says() {
    let (tree, other) = (
        Tree::new().file("a.txt", "a\n"),
        Tree::new().file("lib/x.txt", "x\n"),
    );
    let lib = other.join("lib");
    let daemon = Daemon::builder().root(tree.path()).root(&lib).start();
    daemon.ignore_changes();
    let tag = read(&daemon, "lib/x.txt");
    let patch = format!("¶lib/x.txt#{tag}\nmove file to lib/y/z.txt\n");
    let moved = edit(&daemon, &patch).expect("moved");
    assert_eq!(moved["details"]["files"][0]["path"], "lib/y/z.txt");
    assert_eq!(files(&lib)["y/z.txt"], "x\n");
    // From one folder to another.
    edit(
        &daemon,
        &format!("¶lib/y/z.txt#{tag}\nmove file to /{}\n", "moved.txt"),
    )
    .expect_err("outside");
    edit(
        &daemon,
        &format!("¶lib/y/z.txt#{tag}\nmove file to moved.txt\n"),
    )
    .expect("moved");
    assert_eq!(files(tree.path())["moved.txt"], "x\n");
    // Scratch files of a session stay in its store.
    let write = json!({ "path": "local://plan.md", "text": "plan\n" });
    let written = daemon.call("agent/write", write).expect("written");
    let tag = written["details"]["files"][0]["tag"]
        .as_str()
        .expect("a tag");
    let patch = format!("¶local://plan.md#{tag}\nmove file to local://old/plan.md\n");
    let moved = edit(&daemon, &patch).expect("moved");
    assert!(
        shown(&moved).starts_with("¶local://old/plan.md#"),
        "{moved}"
    );
    refused(
        &daemon,
        &tree,
        &format!("¶local://old/plan.md#{tag}\nmove file to plan.md\n"),
        "unsupported",
        "not of one store",
    );
}
