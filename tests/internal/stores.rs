//! Where stores lie on disk: private, gone with their session, their process and after a crash; or kept, where the settings say so.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{put, read_as, refused_put, text};
use crate::client::{Daemon, HANG};
use crate::processes::until;
use crate::tree::Tree;

fn sessions(state: &Path) -> PathBuf {
    state.join("pilcrow/sessions")
}

/// All files and folders below a folder, without locks.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|it| it.is_dir()) {
                folders.push(path.clone());
            }
            if entry.file_name() != "lock" {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

fn path_of(put: &Value) -> PathBuf {
    PathBuf::from(put["path"].as_str().expect("a path"))
}

fn with_state(tree: &Tree, state: &Tree, settings: Value) -> Daemon {
    Daemon::builder()
        .root(tree.path())
        .env("XDG_STATE_HOME", state.path().to_str().expect("UTF-8"))
        .settings(settings)
        .start()
}

#[test]
fn files_are_private_and_go_with_their_session_and_process() {
    let (tree, state) = (Tree::new(), Tree::new());
    let daemon = with_state(&tree, &state, json!({}));
    // Nothing is made before something is put there.
    assert!(daemon.read("artifact://").is_ok() && !sessions(state.path()).exists());
    let first = path_of(&put(&daemon, json!({ "text": "one" })));
    let page = path_of(&put(
        &daemon,
        json!({ "session": "B", "text": "<p>", "mimeType": "text/html" }),
    ));
    assert_eq!(first.file_name().expect("a name"), "1.txt");
    assert_eq!(page.file_name().expect("a name"), "1.html");
    let folder = first.parent().expect("a folder");
    assert_eq!(folder.file_name().expect("a name"), "1");
    let own = folder.parent().expect("a folder");
    assert_eq!(own.parent().expect("a folder"), sessions(state.path()));
    assert_eq!(own.file_name().expect("a name").len(), 32);
    assert_eq!(mode(&first), 0o600);
    for folder in [folder, own, &sessions(state.path())] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    daemon
        .call(
            "agent/write",
            json!({ "path": "local://a/b.txt", "text": "x\n" }),
        )
        .expect("made");
    assert_eq!(mode(&folder.join("local")), 0o700);
    // Deleted before it is answered.
    let closed = daemon
        .call("agent/closeSession", json!({}))
        .expect("closed");
    assert_eq!(closed["closed"], true);
    assert!(!folder.exists() && page.exists());
    let miss = daemon.read("artifact://1").expect_err("gone");
    assert_eq!(
        (miss.kind(), miss.message.as_str()),
        ("notFound", "File not found: artifact://1.")
    );
    assert_eq!(
        daemon.read("local://a/b.txt").expect_err("gone").kind(),
        "notFound"
    );
    assert_eq!(
        put(&daemon, json!({ "text": "new" }))["uri"],
        "artifact://1"
    );
    drop(daemon);
    assert_eq!(below(&sessions(state.path())), Vec::<PathBuf>::new());
}

#[test]
fn what_a_killed_daemon_left_is_removed_by_the_next_and_nobody_elses() {
    let (tree, state) = (Tree::new(), Tree::new());
    let killed = with_state(&tree, &state, json!({}));
    let left = path_of(&put(&killed, json!({ "text": "left" })));
    killed
        .call(
            "agent/write",
            json!({ "path": "local://x.txt", "text": "left\n" }),
        )
        .expect("made");
    killed.kill();
    killed.wait_exit(HANG).expect("it ends");
    assert!(left.exists());
    let alive = with_state(&tree, &state, json!({}));
    until("what it left is removed", || !left.exists());
    let own = path_of(&put(&alive, json!({ "text": "alive" })));
    let third = with_state(&tree, &state, json!({}));
    put(&third, json!({ "text": "third" }));
    assert_eq!(alive.read_text("artifact://1"), "1:alive");
    drop(third);
    assert!(own.exists());
    assert_eq!(alive.read_text("artifact://1"), "1:alive");
    drop(alive);
    assert_eq!(below(&sessions(state.path())), Vec::<PathBuf>::new());
}

#[test]
fn an_edit_that_died_half_way_there_is_no_trouble_for_the_next() {
    let (tree, state) = (Tree::new(), Tree::new());
    let killed = Daemon::builder()
        .root(tree.path())
        .env("XDG_STATE_HOME", state.path().to_str().expect("UTF-8"))
        .env("PILCROW_FAIL", "rename:4:KILL")
        .start();
    for path in ["local://a.txt", "local://b.txt"] {
        let write = json!({ "path": path, "text": "one\n" });
        killed.call("agent/write", write).expect("made");
    }
    let edit = |path: &str| json!({ "path": path, "edits": [{ "op": "replace_text", "old": "one", "new": "two" }] });
    let files = json!([edit("local://a.txt"), edit("local://b.txt")]);
    let id = killed.request("agent/edit", json!({ "files": files }));
    let answered = killed.answer_or_end(&id);
    if answered.is_some() {
        killed.kill();
    }
    killed.wait_exit(HANG).expect("it ends");
    killed.drop_answers();
    let next = with_state(&tree, &state, json!({}));
    until("what it left is removed", || {
        below(&sessions(state.path())).is_empty()
    });
    next.call(
        "agent/write",
        json!({ "path": "local://a.txt", "text": "new\n" }),
    )
    .expect("made");
    let status = next.call("agent/status", json!({})).expect("status");
    assert_eq!(status["problems"], json!([]));
}

#[test]
fn a_folder_that_is_a_link_is_not_used() {
    let (tree, state, elsewhere) = (Tree::new(), Tree::new(), Tree::new());
    fs::create_dir_all(state.path().join("pilcrow")).expect("a folder");
    std::os::unix::fs::symlink(elsewhere.path(), sessions(state.path())).expect("a link");
    let daemon = with_state(&tree, &state, json!({}));
    let refused = refused_put(&daemon, json!({ "text": "x" }));
    assert_eq!(refused.kind(), "io", "{}", refused.message);
    assert_eq!(below(elsewhere.path()), Vec::<PathBuf>::new());
    // The read of a page costs that nothing, and the daemon goes on.
    assert!(daemon.read("pilcrow://read").is_ok());
}

#[test]
fn with_a_directory_of_their_own_they_are_found_again() {
    let (tree, state, kept) = (Tree::new(), Tree::new(), Tree::new());
    let folder = kept.join("stores");
    let settings = json!({ "internal": { "sessionDirectory": folder.to_str().expect("UTF-8") } });
    let daemon = with_state(&tree, &state, settings.clone());
    let first = put(
        &daemon,
        json!({ "session": "A", "text": "one\ntwo\n", "name": "a run" }),
    );
    let name = path_of(&first)
        .parent()
        .and_then(Path::file_name)
        .expect("a folder")
        .to_owned();
    // The first 32 digits of the SHA-256 of "A".
    assert_eq!(name, "559aead08264d5795d3909718cdd05ab");
    put(
        &daemon,
        json!({ "session": "A", "text": "\u{1b}[1mbold\u{1b}[0m\nhalf", "terminal": true }),
    );
    put(
        &daemon,
        json!({ "session": "A", "uri": "agent://x/y", "text": "{\"a\": 1}" }),
    );
    daemon
        .call(
            "agent/write",
            json!({ "session": "A", "path": "local://n.md", "text": "note\n" }),
        )
        .expect("made");
    put(&daemon, json!({ "session": "A/b", "text": "child" }));
    // Another daemon cannot have it at the same time.
    let other = with_state(&tree, &state, settings.clone());
    for refused in [
        refused_put(&other, json!({ "session": "A", "text": "x" })),
        read_as(&other, "A", "artifact://1").expect_err("busy"),
    ] {
        assert_eq!(refused.kind(), "busy", "{}", refused.message);
    }
    put(&other, json!({ "session": "C", "text": "x" }));
    drop(other);
    drop(daemon);
    let daemon = with_state(&tree, &state, settings.clone());
    assert_eq!(
        text(&read_as(&daemon, "A", "artifact://1").expect("kept")),
        "1:one\n2:two"
    );
    assert_eq!(
        text(&read_as(&daemon, "A", "artifact://2").expect("kept")),
        "1:bold\n2:half"
    );
    assert_eq!(
        text(&read_as(&daemon, "A", "agent://x/y/a").expect("kept")),
        "1:1"
    );
    assert!(text(&read_as(&daemon, "A", "local://n.md").expect("kept")).ends_with("\n1:note"));
    let list = read_as(&daemon, "A", "artifact://").expect("a list");
    assert!(
        text(&list).starts_with("artifact://1  a run  2 lines, 8B"),
        "{}",
        text(&list)
    );
    let more = json!({ "session": "A", "uri": "artifact://2", "append": true, "text": " line\n" });
    put(&daemon, more);
    assert_eq!(
        text(&read_as(&daemon, "A", "artifact://2").expect("kept")),
        "1:bold\n2:half line"
    );
    assert_eq!(
        put(&daemon, json!({ "session": "A", "text": "next" }))["uri"],
        "artifact://3"
    );
    // A crash keeps it as well, and closing deletes it with its children, known to this process or not.
    daemon.kill();
    daemon.wait_exit(HANG).expect("it ends");
    let daemon = with_state(&tree, &state, settings);
    daemon
        .call("agent/closeSession", json!({ "session": "A" }))
        .expect("closed");
    let left = below(&folder);
    assert!(
        left.iter()
            .all(|path| !path.starts_with(folder.join(&name))),
        "{left:?}"
    );
    assert_eq!(
        read_as(&daemon, "A/b", "artifact://1")
            .expect_err("closed")
            .kind(),
        "notFound"
    );
    assert_eq!(
        text(&read_as(&daemon, "C", "artifact://1").expect("kept")),
        "1:x"
    );
}

#[test]
fn endings_are_those_of_a_table_and_names_are_no_paths() {
    let (tree, state) = (Tree::new(), Tree::new());
    let daemon = with_state(&tree, &state, json!({}));
    for (mime_type, ending) in [
        (json!(null), "txt"),
        (json!("text/plain; charset=utf-8"), "txt"),
        (json!("application/json"), "json"),
        (json!("text/markdown"), "md"),
        (json!("application/x-no-such-type"), "txt"),
        (json!("../../x"), "txt"),
    ] {
        let params = json!({ "text": "{}", "mimeType": mime_type, "name": "../../../a/b.sh" });
        let given = put(&daemon, params);
        let path = path_of(&given);
        let name = path.file_name().and_then(|it| it.to_str()).expect("a name");
        let number = given["uri"]
            .as_str()
            .expect("a URI")
            .trim_start_matches("artifact://");
        assert_eq!(name, format!("{number}.{ending}"), "{mime_type}");
        assert!(
            path.starts_with(sessions(state.path())),
            "{}",
            path.display()
        );
    }
    let terminal = put(&daemon, json!({ "text": "\u{1b}[1mx\n", "terminal": true }));
    assert!(path_of(&terminal).with_extension("raw").is_file());
}

#[test]
fn what_never_got_a_name_is_removed_when_it_is_old() {
    let (tree, state) = (Tree::new(), Tree::new());
    let folder = sessions(state.path());
    for name in [".new-old", ".new-young"] {
        fs::create_dir_all(folder.join(name)).expect("a folder");
        fs::write(folder.join(name).join("1.txt"), "left\n").expect("written");
    }
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
    let handle = fs::File::open(folder.join(".new-old")).expect("a folder");
    handle.set_modified(old).expect("its time is set");
    let daemon = with_state(&tree, &state, json!({}));
    put(&daemon, json!({ "text": "own" }));
    until("the old one is removed", || {
        !folder.join(".new-old").exists()
    });
    assert!(folder.join(".new-young/1.txt").exists());
}

#[test]
fn a_directory_of_their_own_has_one_folder_for_each_name() {
    let (tree, state, kept) = (Tree::new(), Tree::new(), Tree::new());
    let folder = kept.join("stores");
    let settings = json!({ "internal": { "sessionDirectory": folder.to_str().expect("UTF-8") } });
    let daemon = with_state(&tree, &state, settings);
    let long = "n".repeat(200);
    let names = ["a", "A", "../x", "a/b", long.as_str()];
    for name in names {
        let given = put(
            &daemon,
            json!({ "session": name, "text": name, "name": "a run" }),
        );
        let path = path_of(&given);
        let own = path.parent().expect("a folder");
        assert_eq!(own.parent(), Some(folder.as_path()), "{}", path.display());
        let digits = own.file_name().and_then(|it| it.to_str()).expect("a name");
        assert!(digits.len() == 32 && digits.bytes().all(|it| it.is_ascii_hexdigit()));
        // A small JSON says what it is.
        let about = fs::read_to_string(own.join("1.txt.about.json")).expect("beside it");
        let about: Value = serde_json::from_str(&about).expect("JSON");
        assert_eq!(about["name"], "a run");
        for file in ["1.txt", "1.txt.about.json"] {
            assert_eq!(mode(&own.join(file)), 0o600, "{file}");
        }
        assert_eq!(mode(own), 0o700);
    }
    assert_eq!(
        fs::read_dir(&folder).expect("a folder").count(),
        names.len()
    );
    for name in names {
        let shown = read_as(&daemon, name, "artifact://1").expect("its own");
        assert!(text(&shown).starts_with(&format!("1:{}", &name[..1])));
    }
}

#[test]
fn a_directory_that_is_no_certain_place_is_not_taken_and_it_is_said() {
    let (tree, state) = (Tree::new(), Tree::new());
    for named in ["stores", "./stores", "", "~other/stores"] {
        let settings = json!({ "internal": { "sessionDirectory": named } });
        let daemon = with_state(&tree, &state, settings);
        let told = daemon.expect_notification("window/showMessage");
        let told = told["message"].as_str().expect("a message").to_owned();
        assert!(
            told.contains("internal.sessionDirectory")
                && told.contains("neither absolute nor below ~/"),
            "{named}: {told}"
        );
        // What is put there goes with the process, as without it.
        let path = path_of(&put(&daemon, json!({ "text": "x" })));
        assert!(
            path.starts_with(sessions(state.path())),
            "{}",
            path.display()
        );
        drop(daemon);
        assert!(!path.exists() && !tree.join("stores").exists());
    }
    let settings = json!({ "internal": { "sessionDirectory": "~/stores" } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .env("HOME", &state.spelled(""))
        .settings(settings)
        .start();
    let path = path_of(&put(&daemon, json!({ "text": "x" })));
    assert!(path.starts_with(state.join("stores")), "{}", path.display());
}
