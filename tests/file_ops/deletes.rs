//! A file that is deleted, and brought back byte for byte by `undo`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use insta::assert_snapshot;
use serde_json::json;

use crate::client::Daemon;
use crate::tree::Tree;

use super::{edit, edit_as, files, read, read_as, refused, shown, start};

#[test]
fn it_is_gone_and_comes_back_as_it_was() {
    // UTF-16 with a BOM, mixed line ends, none at the end; Latin-1; an empty file.
    let utf16: Vec<u8> = "\u{feff}eins\r\nzwei\ndrei"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let texts: [(&str, &[u8]); 4] = [
        ("a.txt", b"one\ntwo\n"),
        ("b.txt", &utf16),
        ("c.txt", b"caf\xe9 cr\xe8me, d\xe9j\xe0 vu\r\nno\n"),
        ("e.txt", b""),
    ];
    for (name, bytes) in texts {
        let tree = Tree::new().file(name, bytes).file("keep.txt", "k\n");
        let path = tree.join(name);
        fs::set_permissions(&path, Permissions::from_mode(0o740)).expect("its mode");
        let daemon = start(&tree);
        let tag = read(&daemon, name);
        let patch = format!("¶{name}#{tag}\ndelete file\n");
        let gone = edit(&daemon, &patch).expect("gone");
        assert_eq!(shown(&gone), format!("[{name} is deleted]"));
        assert_eq!(gone["details"]["files"][0]["deleted"], true);
        assert_eq!(files(tree.path()).len(), 1);
        for session in ["default", "other"] {
            let again = edit_as(&daemon, session, &patch).expect("it was made before");
            assert_eq!(
                shown(&again),
                format!("[Already applied: {name} is deleted]")
            );
        }
        refused(
            &daemon,
            &tree,
            &format!("¶{name}#{tag}\ninsert head:\n+x\n"),
            "notFound",
            "was deleted by an edit",
        );
        let undo = format!("¶{name}#{tag}\nundo\n");
        let back = edit(&daemon, &undo).expect("back");
        assert!(
            shown(&back).contains(&format!("[{name} is there again]")),
            "{back}"
        );
        assert_eq!(back["details"]["files"][0]["tag"], json!(tag), "{back}");
        assert_eq!(fs::read(&path).expect("a file"), bytes);
        let mode = fs::metadata(&path).expect("metadata").mode();
        assert_eq!(mode & 0o7777, 0o740);
        let again = edit(&daemon, &undo).expect("it was made before");
        assert!(shown(&again).starts_with("[Already applied: "), "{again}");
        // And once more.
        edit(&daemon, &patch).expect("gone again");
        edit(&daemon, &undo).expect("back again");
        assert_eq!(fs::read(&path).expect("a file"), bytes);
    }
}

#[test]
fn a_dry_run_says_what_would_be() {
    let tree = Tree::new().file("a.txt", "one\n");
    let daemon = start(&tree);
    let tag = read(&daemon, "a.txt");
    let params = json!({ "patch": format!("¶a.txt#{tag}\ndelete file\n"), "dryRun": true });
    let dry = daemon.call("agent/edit", params).expect("a plan");
    assert_snapshot!(shown(&dry), @r"
    ¶a.txt#B686
    [a.txt would be deleted]
    [Dry run: nothing was written.]
    ");
    assert!(tree.join("a.txt").exists());
}

#[test]
fn others_who_were_shown_it_hear_of_it() {
    let tree = Tree::new().file("a.txt", "one\ntwo\n");
    let daemon = Daemon::start(tree.path());
    let tag = read_as(&daemon, "first", "a.txt");
    read_as(&daemon, "second", "a.txt");
    edit_as(&daemon, "first", &format!("¶a.txt#{tag}\ndelete file\n")).expect("gone");
    let told = daemon.expect_notification("agent/didChangeSnapshot");
    assert_eq!(
        told,
        json!({
            "session": "second", "path": "a.txt", "tag": tag, "newTag": null,
            "changed": [{ "start": 1, "end": 2 }], "actor": "agent:first",
        })
    );
}

#[test]
fn what_is_made_in_its_place_is_not_undone_over() {
    let tree = Tree::new().file("a.txt", "one\n");
    let daemon = start(&tree);
    let tag = read(&daemon, "a.txt");
    edit(&daemon, &format!("¶a.txt#{tag}\ndelete file\n")).expect("gone");
    tree.write("a.txt", "another\n");
    edit(&daemon, &format!("¶a.txt#{tag}\nundo\n")).expect_err("something is there");
    assert_eq!(files(tree.path())["a.txt"], "another\n");
    // An unknown tag brings nothing back.
    fs::remove_file(tree.join("a.txt")).expect("removed");
    let other = if tag == "0000" { "0001" } else { "0000" };
    refused(
        &daemon,
        &tree,
        &format!("¶a.txt#{other}\nundo\n"),
        "notFound",
        &format!("¶a.txt#{tag}"),
    );
}
