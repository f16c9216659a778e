//! Documents open in the editor: unsaved text is what is read, and a clean document never shadows the disk; edits are not tested here.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::{Daemon, Id, file_uri};
use crate::tree::{Tree, numbered_lines};

fn open(daemon: &Daemon, uri: &str, version: i64, text: &str) {
    let document =
        json!({ "uri": uri, "languageId": "plaintext", "version": version, "text": text });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
}

/// Replaces everything.
fn change_all(daemon: &Daemon, uri: &str, version: i64, text: &str) {
    change(daemon, uri, version, &[json!({ "text": text })]);
}

fn change(daemon: &Daemon, uri: &str, version: i64, changes: &[Value]) {
    let document = json!({ "uri": uri, "version": version });
    daemon.notify(
        "textDocument/didChange",
        json!({ "textDocument": document, "contentChanges": changes }),
    );
}

fn replace(start: (u64, u64), end: (u64, u64), text: &str) -> Value {
    let position = |(line, character): (u64, u64)| json!({ "line": line, "character": character });
    json!({ "range": { "start": position(start), "end": position(end) }, "text": text })
}

fn state(daemon: &Daemon, uri: &str, version: i64, dirty: bool) {
    let params = json!({ "uri": uri, "version": version, "dirty": dirty });
    daemon.notify("agent/documentState", params);
}

fn close(daemon: &Daemon, uri: &str) {
    daemon.notify(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": uri } }),
    );
}

fn raw(daemon: &Daemon, path: &str) -> String {
    daemon.read_text(format!("{path}:raw"))
}

#[test]
fn unsaved_text_is_read_and_said_to_be_unsaved() {
    let tree = Tree::new().file("a.txt", "disk\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let uri = file_uri(&tree.join("a.txt"));
    open(&daemon, &uri, 1, "disk\n");
    let clean = daemon.read("a.txt").expect("a read");
    assert_eq!(clean["details"]["origin"], "disk");
    assert_eq!(clean["details"]["dirty"], false);
    assert_eq!(clean["details"]["documentVersion"], 1);
    change(&daemon, &uri, 2, &[replace((0, 0), (0, 4), "typed")]);
    let dirty = daemon.read("a.txt").expect("a read");
    assert!(
        dirty["content"][0]["text"]
            .as_str()
            .is_some_and(|text| text.ends_with("1:typed"))
    );
    assert_eq!(dirty["details"]["origin"], "editor");
    assert_eq!(dirty["details"]["dirty"], true);
    assert_eq!(dirty["details"]["documentVersion"], 2);
    assert_eq!(dirty["details"]["uri"], uri.as_str());
    assert_eq!(dirty["details"]["encoding"], "utf-8");
    // The same document under its other names.
    std::os::unix::fs::symlink("a.txt", tree.join("link.txt")).expect("a link");
    for name in [
        "link.txt",
        "./a.txt",
        &tree.spelled("a.txt"),
        &uri,
        &uri.replace("a.txt", "%61.txt"),
    ] {
        assert_eq!(raw(&daemon, name), "typed\n", "{name}");
    }
    close(&daemon, &uri);
    assert_eq!(raw(&daemon, "a.txt"), "disk\n");
}

#[test]
fn a_document_of_a_link_is_the_document_of_its_target() {
    let tree = Tree::new().file("real/a.txt", "disk\n");
    std::os::unix::fs::symlink("real", tree.join("linked")).expect("a link");
    let daemon = Daemon::start(tree.path());
    let uri = file_uri(&tree.join("linked/a.txt"));
    open(&daemon, &uri, 1, "typed\n");
    for name in ["real/a.txt", "linked/a.txt"] {
        let result = daemon.read(format!("{name}:raw")).expect(name);
        assert_eq!(result["content"][0]["text"], "typed\n");
        assert_eq!(result["details"]["uri"], uri.as_str());
    }
}

#[test]
fn any_scheme_is_read_by_its_uri() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    open(&daemon, "untitled:Untitled-1", 1, &numbered_lines(1, 9));
    open(&daemon, "vscode-notebook-cell:/a%20b.ipynb#c1", 1, "cell\n");
    let text = daemon.read_text("untitled:Untitled-1:3,4");
    assert!(
        text.starts_with("¶untitled:Untitled-1#") && text.ends_with("\n3:line 3\n4:line 4"),
        "{text}"
    );
    let result = daemon.read("untitled:Untitled-1").expect("a read");
    assert_eq!(result["details"]["origin"], "editor");
    assert_eq!(result["details"]["uri"], "untitled:Untitled-1");
    assert_eq!(raw(&daemon, "vscode-notebook-cell:/a b.ipynb#c1"), "cell\n");
    assert_eq!(
        raw(&daemon, "vscode-notebook-cell:/a%20b.ipynb#c1"),
        "cell\n"
    );
    // A file that was never saved, by its path.
    let uri = file_uri(&tree.join("new/file.txt"));
    open(&daemon, &uri, 1, "not yet\n");
    for name in ["new/file.txt", &tree.spelled("new/file.txt"), &uri] {
        assert_eq!(raw(&daemon, name), "not yet\n", "{name}");
    }
    assert!(
        daemon
            .read_text("new/file.txt")
            .starts_with("¶new/file.txt#")
    );
    close(&daemon, "untitled:Untitled-1");
    assert_eq!(
        daemon
            .read("untitled:Untitled-1")
            .expect_err("closed")
            .kind(),
        "notFound"
    );
}

#[test]
fn denied_files_stay_denied_in_the_editor() {
    let tree = Tree::new().file(".env", "A=1\n");
    let daemon = Daemon::start(tree.path());
    open(&daemon, &file_uri(&tree.join(".env")), 1, "A=typed\n");
    open(&daemon, &file_uri(&tree.join(".env.new")), 1, "B=typed\n");
    open(&daemon, "file:///etc/made-up-by-pilcrow", 1, "outside\n");
    assert_eq!(daemon.read(".env").expect_err("denied").kind(), "denied");
    assert_eq!(
        daemon.read(".env.new").expect_err("denied").kind(),
        "denied"
    );
    let outside = daemon.read("/etc/made-up-by-pilcrow").expect_err("outside");
    assert_eq!(outside.kind(), "outsideWorkspace");
}

/// What editors make of files when they open them (`editors.md`): file, as VS Code sends it, as
/// Neovim sends it.
const HABITS: &[(&[u8], &str, &str)] = &[
    (b"a\r\nb", "a\r\nb", "a\r\nb"),
    (b"\xef\xbb\xbfa\nb\n", "a\nb\n", "a\nb\n"),
    (
        b"caf\xe9 cr\xe8me br\xfbl\xe9e, voil\xe0\n",
        "caf\u{fffd} cr\u{fffd}me br\u{fffd}l\u{fffd}e, voil\u{fffd}\n",
        "café crème brûlée, voilà\n",
    ),
    (b"a\r\nb\nc\rd\n", "a\r\nb\r\nc\r\nd\r\n", "a\r\nb\nc\rd\n"),
    (b"", "", "\n"),
];

#[test]
fn a_clean_document_never_changes_what_is_read() {
    let tree = Tree::new();
    for (index, (bytes, vscode, neovim)) in HABITS.iter().enumerate() {
        for (editor, text) in [("vscode", vscode), ("neovim", neovim)] {
            for says_so in [true, false] {
                let name = format!("{index}.txt");
                tree.write(&name, bytes);
                let daemon = Daemon::start(tree.path());
                let before = daemon.read(&name).expect("a read");
                let uri = file_uri(&tree.join(&name));
                open(&daemon, &uri, 1, text);
                if says_so {
                    state(&daemon, &uri, 1, false);
                }
                let after = daemon.read(&name).expect("a read");
                assert_eq!(before["content"], after["content"], "{editor} {name}");
                assert_eq!(before["details"]["hashline"], after["details"]["hashline"]);
                assert_eq!(after["details"]["origin"], "disk", "{editor} {name}");
                assert_eq!(after["details"]["encoding"], before["details"]["encoding"]);
            }
        }
    }
}

#[test]
fn dirty_is_what_the_client_says() {
    let tree = Tree::new().file("a.txt", "disk\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let uri = file_uri(&tree.join("a.txt"));
    open(&daemon, &uri, 1, "other\n");
    assert_eq!(raw(&daemon, "a.txt"), "other\n");
    state(&daemon, &uri, 1, false);
    assert_eq!(raw(&daemon, "a.txt"), "disk\n");
    state(&daemon, &uri, 1, true);
    assert_eq!(raw(&daemon, "a.txt"), "other\n");
    // The word on an old version says nothing of the new one.
    change_all(&daemon, &uri, 2, "newer\n");
    state(&daemon, &uri, 1, false);
    assert_eq!(raw(&daemon, "a.txt"), "newer\n");
    // After a save it must be seen or said anew.
    state(&daemon, &uri, 2, true);
    tree.write("a.txt", "newer\n");
    daemon.notify(
        "textDocument/didSave",
        json!({ "textDocument": { "uri": uri } }),
    );
    assert_eq!(
        daemon.read("a.txt").expect("a read")["details"]["origin"],
        "disk"
    );
}

#[test]
fn the_editors_encoding_counts_after_a_bom() {
    let tree = Tree::new()
        .file("a.txt", b"\xe9\xe8 \xa4\n")
        .file("bom.txt", b"\xef\xbb\xbf\xc3\xa9\n");
    let daemon = Daemon::start(tree.path());
    for (name, text) in [("a.txt", "щш €\n"), ("bom.txt", "é\n")] {
        let uri = file_uri(&tree.join(name));
        open(&daemon, &uri, 1, text);
        let params = json!({ "uri": uri, "version": 1, "dirty": false, "encoding": "iso88595" });
        daemon.notify("agent/documentState", params);
    }
    let read = |name: &str| {
        let result = daemon.read(format!("{name}:raw")).expect(name);
        (
            result["content"][0]["text"].clone(),
            result["details"]["encoding"].clone(),
        )
    };
    assert_eq!(read("a.txt"), (json!("щш \u{404}\n"), json!("iso-8859-5")));
    assert_eq!(read("bom.txt"), (json!("é\n"), json!("utf-8")));
}

#[test]
fn positions_count_as_was_agreed() {
    let tree = Tree::new();
    for (encoding, end) in [("utf-16", 4), ("utf-8", 7)] {
        let daemon = Daemon::builder()
            .root(tree.path())
            .capabilities(json!({ "general": { "positionEncodings": [encoding] } }))
            .start();
        daemon.ignore_changes();
        open(&daemon, "untitled:p", 1, "é😀x\r\nsecond\n");
        change(
            &daemon,
            "untitled:p",
            2,
            &[
                replace((0, end), (0, 999), "!"),
                replace((1, 0), (9, 9), "2\n3"),
                replace((2, 1), (2, 1), "\n"),
            ],
        );
        assert_eq!(raw(&daemon, "untitled:p"), "é😀x!\r\n2\n3\n");
    }
}

#[test]
fn half_an_emoji_does_not_lose_the_document() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    open(&daemon, "untitled:e", 1, "ab\n");
    let half = r#"{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"untitled:e","version":2},"contentChanges":[{"range":{"start":{"line":0,"character":1},"end":{"line":0,"character":1}},"text":"\ud83d"}]}}"#;
    daemon.send_raw(format!("Content-Length: {}\r\n\r\n{half}", half.len()).as_bytes());
    assert_eq!(raw(&daemon, "untitled:e"), "a\u{fffd}b\n");
    change(&daemon, "untitled:e", 3, &[replace((0, 1), (0, 2), "😀")]);
    assert_eq!(raw(&daemon, "untitled:e"), "a😀b\n");
}

#[test]
fn a_read_sees_every_change_before_it() {
    let tree = Tree::new().file("slow/x.txt", "");
    for folder in 0..100 {
        for file in 0..20 {
            tree.write(&format!("d{folder}/e{file}/f.txt"), "");
        }
    }
    let uri = file_uri(&tree.join("slow/x.txt"));
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    open(&daemon, &uri, 0, "0\n");
    let slow: Vec<Id> = (0..16)
        .map(|n| daemon.request("agent/read", json!({ "path": format!("missing-{n}") })))
        .collect();
    let mut reads = Vec::new();
    for version in 1..=3000i64 {
        change(
            &daemon,
            &uri,
            version,
            &[replace((0, 0), (0, 9), &version.to_string())],
        );
        reads.push((
            version,
            daemon.request("agent/read", json!({ "path": "slow/x.txt" })),
        ));
    }
    for (version, id) in reads {
        let result = match daemon.wait(&id) {
            Ok(result) => result,
            Err(error) if error.kind() == "busy" => continue,
            Err(error) => panic!("{error:?}"),
        };
        let text = result["content"][0]["text"].as_str().expect("text");
        let shown: i64 = text
            .rsplit(':')
            .next()
            .and_then(|row| row.parse().ok())
            .expect("a number");
        assert!(shown >= version, "asked after {version}, shown {shown}");
        assert_eq!(result["details"]["documentVersion"], shown);
    }
    for id in slow {
        assert_eq!(daemon.wait(&id).expect_err("missing").kind(), "notFound");
    }
}

/// One thing that happens to a document and its file.
#[derive(Debug, Clone)]
enum Event {
    Write(u8),
    Open,
    Type(u8),
    Save,
    Close,
    Revert,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        any::<u8>().prop_map(Event::Write),
        Just(Event::Open),
        any::<u8>().prop_map(Event::Type),
        Just(Event::Save),
        Just(Event::Close),
        Just(Event::Revert),
    ]
}

#[test]
fn what_is_read_is_what_the_document_or_the_file_holds() {
    let tree = Tree::new().file("f.txt", "start\n");
    let config = ProptestConfig {
        cases: if std::env::var_os("PILCROW_LONG").is_some() {
            20_000
        } else {
            200
        },
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let uri = file_uri(&tree.join("f.txt"));
    let versions = std::cell::Cell::new(0i64);
    proptest!(config, |(events in prop::collection::vec(event(), 1..12), says_so: bool)| {
        // A case that failed may have left it open.
        close(&daemon, &uri);
        tree.write("f.txt", "start\n");
        let mut disk = "start\n".to_owned();
        let mut editor: Option<(String, bool)> = None;
        let mut doc_version = 0;
        for event in events {
            let version = versions.get() + 1;
            versions.set(version);
            match (event, &mut editor) {
                (Event::Write(n), _) => {
                    disk = format!("disk {n}\n");
                    tree.write("f.txt", &disk);
                }
                (Event::Open, None) => {
                    open(&daemon, &uri, version, &disk);
                    doc_version = version;
                    editor = Some((disk.clone(), false));
                }
                (Event::Type(n), Some(held)) => {
                    *held = (format!("typed {n}\n"), true);
                    change_all(&daemon, &uri, version, &held.0);
                    doc_version = version;
                }
                (Event::Save, Some(held)) => {
                    disk = held.0.clone();
                    tree.write("f.txt", &disk);
                    daemon.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
                    held.1 = false;
                }
                (Event::Revert, Some(held)) => {
                    *held = (disk.clone(), false);
                    change_all(&daemon, &uri, version, &disk);
                    doc_version = version;
                }
                (Event::Close, Some(_)) => {
                    close(&daemon, &uri);
                    editor = None;
                }
                _ => continue,
            }
            if says_so && let Some((_, dirty)) = &editor {
                state(&daemon, &uri, doc_version, *dirty);
            }
            let expected = match &editor {
                Some((text, true)) => text,
                // Without a word from the client a clean document that the disk has moved on from
                // cannot be told from one that was typed in: it is read as the editor has it.
                Some((text, false)) if !says_so => text,
                _ => &disk,
            };
            prop_assert_eq!(&raw(&daemon, "f.txt"), expected);
        }
    });
}
