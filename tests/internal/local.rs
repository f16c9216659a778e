//! `local://`: a session's scratch files are files in every way but their place.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{put, read_as, text};
use crate::client::{Daemon, WireError};
use crate::tree::Tree;

fn write(daemon: &Daemon, path: &str, text: &str) -> Result<Value, WireError> {
    daemon.call("agent/write", json!({ "path": path, "text": text }))
}

/// The folder of the default session, on disk.
fn folder(daemon: &Daemon) -> PathBuf {
    let read = daemon.read("local://").expect("the folder");
    PathBuf::from(read["details"]["resolvedPath"].as_str().expect("a path"))
}

fn tag(read: &Value) -> String {
    read["details"]["hashline"]["tag"]
        .as_str()
        .expect("a tag")
        .to_owned()
}

#[test]
fn files_are_made_read_and_edited_by_their_addresses() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    assert_eq!(daemon.read_text("local://"), "1:No files in local://");
    assert_eq!(
        daemon.read("local://plan.md").expect_err("none").kind(),
        "notFound"
    );
    let made = write(&daemon, "local://notes/plan.md", "# Plan\n\nstep\n").expect("made");
    assert!(
        text(&made).contains("local://notes/plan.md"),
        "{}",
        text(&made)
    );
    let read = daemon.read("local://notes/plan.md").expect("the file");
    let own = tag(&read);
    assert_eq!(
        text(&read),
        format!("¶local://notes/plan.md#{own}\n1:# Plan\n2:\n3:step")
    );
    let details = &read["details"];
    assert_eq!(details["meta"]["source"], "local://notes/plan.md");
    assert_eq!(
        (&details["kind"], &details["provider"]),
        (&json!("file"), &json!("session"))
    );
    let path = PathBuf::from(details["resolvedPath"].as_str().expect("a path"));
    assert_eq!(
        fs::read_to_string(&path).expect("the file"),
        "# Plan\n\nstep\n"
    );
    let patch = format!("¶local://notes/plan.md#{own}\nreplace 3..3:\n+first step\n+second step\n");
    let edited = daemon
        .call("agent/edit", json!({ "patch": patch }))
        .expect("edited");
    assert!(
        text(&edited).contains("¶local://notes/plan.md#"),
        "{}",
        text(&edited)
    );
    assert_eq!(
        fs::read_to_string(&path).expect("the file"),
        "# Plan\n\nfirst step\nsecond step\n"
    );
    // Sent right after an edit, a read sees it; the spelling of the scheme does not matter.
    let files = json!([{ "path": "LOCAL://notes/plan.md", "edits": [{ "op": "replace_text", "old": "first", "new": "1st" }] }]);
    let edit = daemon.request("agent/edit", json!({ "files": files }));
    let read = daemon.request("agent/read", json!({ "path": "local://notes/plan.md:3-3" }));
    daemon.wait(&edit).expect("edited");
    assert!(text(&daemon.wait(&read).expect("read")).contains("3:1st step"));
    // Both are there, or none is.
    tree.write("a.txt", "one\n");
    let patch = json!({ "files": [
        { "path": "a.txt", "edits": [{ "op": "replace_text", "old": "one", "new": "two" }] },
        { "path": "local://notes/plan.md", "edits": [{ "op": "replace_text", "old": "1st", "new": "2nd" }] },
    ] });
    daemon.call("agent/edit", patch).expect("both are edited");
    assert_eq!(
        fs::read_to_string(tree.join("a.txt")).expect("a file"),
        "two\n"
    );
    assert!(
        fs::read_to_string(&path)
            .expect("the file")
            .contains("2nd step")
    );
    let replaced = json!({ "path": "local://notes/plan.md", "text": "new\n", "expect": tag(&daemon.read("local://notes/plan.md").expect("read")) });
    daemon.call("agent/write", replaced).expect("replaced");
    assert!(
        daemon
            .read_text("local://notes/plan.md")
            .ends_with("\n1:new")
    );
    assert_eq!(
        write(&daemon, "local://notes/plan.md", "x")
            .expect_err("there")
            .kind(),
        "exists"
    );
    // None of it became a folder of the workspace.
    assert_eq!(fs::read_dir(tree.path()).expect("the root").count(), 1);
}

#[test]
fn a_shell_may_write_there_too_and_is_told_of() {
    let tree = Tree::new()
        .file(".gitignore", "*.log\n")
        .file(".agentignore", "*.log\n");
    let daemon = Daemon::start(tree.path());
    write(&daemon, "local://a.txt", "one\n").expect("made");
    let folder = folder(&daemon);
    let first = daemon.read("local://a.txt").expect("the file");
    fs::write(folder.join("a.txt"), "two\n").expect("written");
    let told = daemon.expect_notification("agent/didChangeSnapshot");
    assert_eq!(
        (&told["path"], &told["tag"]),
        (&json!("local://a.txt"), &json!(tag(&first)))
    );
    assert!(daemon.read_text("local://a.txt").ends_with("\n1:two"));
    // No rule of the workspace holds here.
    fs::create_dir(folder.join("sub")).expect("a folder");
    fs::write(folder.join("sub/x.log"), "log\n").expect("written");
    fs::write(folder.join(".env"), "A=1\n").expect("written");
    assert!(daemon.read_text("local://sub/x.log").ends_with("\n1:log"));
    assert!(daemon.read_text("local://.env").ends_with("\n1:A=1"));
    let list = daemon.read("local://").expect("the folder");
    assert_eq!(list["details"]["kind"], "directory");
    assert_eq!(list["details"]["meta"]["source"], "local://");
    for name in ["a.txt", ".env", "sub/", "x.log"] {
        assert!(text(&list).contains(name), "{name}: {}", text(&list));
    }
    assert!(daemon.read_text("local://sub").contains("x.log"));
    let near = daemon.read("local://b.txt").expect_err("none");
    assert_eq!(near.data["suggestions"], json!(["local://a.txt"]));
    // Whatever its name is, it leads back.
    for name in ["a b.md", "100%.md", "a%20b.md", "x:5", "q?.md", "ü.txt"] {
        fs::write(folder.join(name), "odd\n").expect("written");
        let written = if name == "a%20b.md" {
            "a%2520b.md"
        } else {
            name
        };
        let read = daemon
            .read(format!("local://{written}"))
            .unwrap_or_else(|error| panic!("{name}: {}", error.message));
        let header = text(&read).lines().next().expect("a header");
        let named = header
            .trim_start_matches('¶')
            .rsplit_once('#')
            .expect("a tag")
            .0;
        let patch = format!("{header}\nreplace 1..1:\n+{name}\n");
        daemon
            .call("agent/edit", json!({ "patch": patch }))
            .unwrap_or_else(|error| panic!("{named}: {}", error.message));
        assert_eq!(
            fs::read_to_string(folder.join(name)).expect(name),
            format!("{name}\n")
        );
    }
}

#[test]
fn nothing_leads_out_of_it() {
    let tree = Tree::new().file("mine.txt", "mine\n");
    let outside = Tree::new()
        .file("secret.txt", "secret\n")
        .file("d/x.txt", "x\n");
    let daemon = Daemon::start(tree.path());
    write(&daemon, "local://a.txt", "one\n").expect("made");
    let folder = folder(&daemon);
    std::os::unix::fs::symlink(outside.join("secret.txt"), folder.join("out.txt")).expect("a link");
    std::os::unix::fs::symlink(outside.path().join("d"), folder.join("d")).expect("a link");
    std::os::unix::fs::symlink(tree.join("mine.txt"), folder.join("mine.txt")).expect("a link");
    std::os::unix::fs::symlink("a.txt", folder.join("in.txt")).expect("a link");
    std::os::unix::fs::symlink(outside.join("new.txt"), folder.join("new.txt")).expect("a link");
    for path in [
        "local://out.txt",
        "local://d/x.txt",
        "local://mine.txt",
        "local://d",
    ] {
        let error = daemon.read(path).expect_err(path);
        assert_eq!(error.kind(), "denied", "{path}: {}", error.message);
        assert!(
            !error
                .message
                .contains(outside.path().to_str().expect("UTF-8")),
            "{}",
            error.message
        );
        assert!(write(&daemon, path, "x\n").is_err(), "{path}");
        assert!(
            write(&daemon, &format!("{path}/new.txt"), "x\n").is_err(),
            "{path}"
        );
    }
    // A link that leads nowhere is nothing, and nothing is made by it.
    assert!(daemon.read("local://new.txt").is_err());
    assert!(write(&daemon, "local://new.txt", "x\n").is_err());
    assert!(daemon.read_text("local://in.txt").ends_with("\n1:one"));
    for path in [
        "local://../1.txt",
        "local:///etc/passwd",
        "local://a/../b",
        "local://%2e%2e/x",
        "local://a%2fb",
        "local://a\\b",
        "local://a%00b",
    ] {
        assert_eq!(
            daemon.read(path).expect_err(path).kind(),
            "badParams",
            "{path}"
        );
        assert_eq!(
            write(&daemon, path, "x").expect_err(path).kind(),
            "badParams",
            "{path}"
        );
    }
    assert_eq!(fs::read_dir(outside.path()).expect("a folder").count(), 2);
    assert_eq!(
        fs::read_to_string(outside.join("secret.txt")).expect("a file"),
        "secret\n"
    );
}

#[test]
fn it_is_of_one_session_and_counts_as_its_bytes() {
    let tree = Tree::new();
    let settings = json!({ "artifacts": { "sessionBytes": 10_000 } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    let write_as = |session: &str, path: &str, text: &str| {
        daemon.call(
            "agent/write",
            json!({ "session": session, "path": path, "text": text }),
        )
    };
    write_as("A", "local://a.txt", "A's\n").expect("made");
    assert_eq!(
        read_as(&daemon, "B", "local://a.txt")
            .expect_err("another's")
            .kind(),
        "notFound"
    );
    let child = read_as(&daemon, "A/b", "local://a.txt").expect("its parent's");
    assert!(text(&child).contains("1:A's"), "{}", text(&child));
    // A child has a folder of its own: it changes nothing of its parent's.
    write_as("A/b", "local://a.txt", "b's\n").expect("made");
    let child = read_as(&daemon, "A/b", "local://a.txt").expect("its own");
    assert!(text(&child).ends_with("\n1:b's"), "{}", text(&child));
    assert!(text(&read_as(&daemon, "A", "local://a.txt").expect("its own")).ends_with("\n1:A's"));
    let error = write_as("A", "local://big.txt", &"x".repeat(10_000)).expect_err("no room");
    assert_eq!(error.kind(), "tooLarge", "{}", error.message);
    assert!(
        error.message.contains("local://big.txt"),
        "{}",
        error.message
    );
    write_as("A", "local://big.txt", &"x".repeat(9_000)).expect("there is room");
    let error = super::refused_put(
        &daemon,
        json!({ "session": "A", "text": "x".repeat(2_000) }),
    );
    assert_eq!(error.kind(), "tooLarge");
    put(&daemon, json!({ "session": "A", "text": "x".repeat(900) }));
}

#[test]
fn images_and_notebooks_are_read_as_such_in_each_dialect() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    write(&daemon, "local://code.rs", "fn main() {}\n").expect("made");
    let folder = folder(&daemon);
    fs::copy(super::fixture("image/flag-1bit.png"), folder.join("p.png")).expect("copied");
    fs::copy(
        super::fixture("notebook/colab.ipynb"),
        folder.join("n.ipynb"),
    )
    .expect("copied");
    fs::copy(super::fixture("archive/crlf.zip"), folder.join("z.zip")).expect("copied");
    assert_eq!(
        daemon.read("local://p.png").expect("an image")["details"]["kind"],
        "image"
    );
    let notebook = daemon.read("local://n.ipynb").expect("a notebook");
    assert_eq!(notebook["details"]["kind"], "notebook");
    assert!(
        text(&notebook).starts_with("¶local://n.ipynb#"),
        "{}",
        text(&notebook)
    );
    assert_eq!(
        daemon.read("local://z.zip").expect("an archive")["details"]["kind"],
        "archive"
    );
    for (dialect, parameter, shown) in [
        ("numbered", "path", "1:fn main() {}"),
        ("plain", "path", "fn main() {}"),
        (
            "opencode",
            "filePath",
            "<path>local://code.rs</path>\n<type>file</type>",
        ),
        ("pikuri", "path", "     1\tfn main() {}"),
        (
            "llm-gateway",
            "filePath",
            "<file path=\"local://code.rs\" lines=\"1-1\"",
        ),
        ("roo", "path", "1 | fn main() {}"),
    ] {
        let params = json!({ "dialect": dialect, parameter: "local://" });
        let list = daemon.read_with(params).expect(dialect);
        assert!(
            text(&list).contains("code.rs"),
            "{dialect}: {}",
            text(&list)
        );
        let params = json!({ "dialect": dialect, parameter: "local://code.rs" });
        let got = daemon.read_with(params).expect(dialect);
        assert!(text(&got).starts_with(shown), "{dialect}: {}", text(&got));
    }
}

#[test]
fn what_was_sent_before_a_session_is_closed_leaves_nothing() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let mut asked = Vec::new();
    for n in 0..20 {
        let write = json!({ "path": format!("local://{n}.txt"), "text": "x\n" });
        asked.push(daemon.request("agent/write", write));
    }
    let close = daemon.request("agent/closeSession", json!({}));
    let after = daemon.request("agent/read", json!({ "path": "local://" }));
    for id in &asked {
        daemon.wait(id).expect("written");
    }
    daemon.wait(&close).expect("closed");
    assert_eq!(
        text(&daemon.wait(&after).expect("read")),
        "1:No files in local://"
    );
    let own = daemon.state_dir().join("pilcrow/sessions");
    let left = fs::read_dir(own)
        .expect("a folder")
        .flatten()
        .next()
        .expect("this process'");
    let left: Vec<_> = fs::read_dir(left.path())
        .expect("a folder")
        .flatten()
        .map(|it| it.file_name())
        .collect();
    assert_eq!(left, ["lock"]);
    write(&daemon, "local://new.txt", "x\n").expect("made");
    assert!(daemon.read_text("local://new.txt").ends_with("\n1:x"));
}

#[test]
fn an_open_document_of_it_is_the_truth() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    write(&daemon, "local://a.txt", "disk\n").expect("made");
    let path = folder(&daemon).join("a.txt");
    let uri = format!("file://{}", path.display());
    let document =
        json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": "typed\n" });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let read = daemon.read("local://a.txt").expect("the document");
    assert!(text(&read).ends_with("\n1:typed"), "{}", text(&read));
    assert_eq!(read["details"]["dirty"], true);
    daemon.notify(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": uri } }),
    );
}

#[test]
fn a_child_lists_what_it_may_read() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let write_as = |session: &str, path: &str, text: &str| {
        let write = json!({ "session": session, "path": path, "text": text });
        daemon.call("agent/write", write).expect("made");
    };
    write_as("A", "local://both.txt", "A's, which is longer\n");
    write_as("A", "local://theirs.txt", "A's\n");
    write_as("A", "local://notes/a.md", "A's\n");
    write_as("A", "local://notes/both.md", "A's\n");
    let listed = |session: &str, path: &str| {
        let read = read_as(&daemon, session, path).expect("a list");
        text(&read).to_owned()
    };
    let of_parent = listed("A", "local://");
    // Without any of its own it has its parent's.
    assert_eq!(listed("A/b", "local://"), of_parent);
    write_as("A/b", "local://both.txt", "b's\n");
    write_as("A/b", "local://own.txt", "b's\n");
    write_as("A/b", "local://notes/b.md", "b's\n");
    write_as("A/b/c", "local://deepest.txt", "c's\n");
    let all = listed("A/b/c", "local://");
    for name in [
        "deepest.txt",
        "own.txt",
        "both.txt",
        "theirs.txt",
        "a.md",
        "b.md",
        "both.md",
    ] {
        assert_eq!(all.matches(&format!(" {name}")).count(), 1, "{name}: {all}");
    }
    // What it gets by a name is what is listed under it.
    let row = all
        .lines()
        .find(|row| row.contains(" both.txt"))
        .expect("a row");
    assert!(row.contains("4B"), "{row}");
    let inside = listed("A/b", "local://notes");
    for name in ["a.md", "b.md", "both.md"] {
        assert_eq!(inside.matches(name).count(), 1, "{name}: {inside}");
        assert!(read_as(&daemon, "A/b", &format!("local://notes/{name}")).is_ok());
    }
    for dialect in ["opencode", "plain"] {
        let key = if dialect == "opencode" {
            "filePath"
        } else {
            "path"
        };
        let params = json!({ "dialect": dialect, key: "local://notes/", "session": "A/b" });
        let names = daemon.read_with(params).expect("names");
        assert!(
            text(&names).contains("a.md") && text(&names).contains("b.md"),
            "{names}"
        );
    }
    // Neither its parent nor its siblings see any of its own.
    assert_eq!(listed("A", "local://").matches("own.txt").count(), 0);
    assert!(!listed("A/d", "local://").contains("own.txt"));
    let near = read_as(&daemon, "A/b", "local://their.txt").expect_err("none");
    assert_eq!(near.data["suggestions"], json!(["local://theirs.txt"]));
}

#[test]
fn its_files_are_summarised_and_have_context_and_artifacts_have_not() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let body: String = (1..=60).map(|n| format!("    let a{n} = {n};\n")).collect();
    let code = format!("fn first() {{\n{body}}}\n\nfn second() {{\n{body}}}\n");
    write(&daemon, "local://code.rs", &code).expect("made");
    let read = daemon.read("local://code.rs").expect("a summary");
    assert!(read["details"]["summary"].is_object(), "{}", text(&read));
    let some = daemon.read_text("local://code.rs:50-51");
    assert!(some.contains("\n49:") && some.contains("\n54:"), "{some}");
    let given = put(
        &daemon,
        json!({ "text": code, "mimeType": "text/x-rust", "name": "code.rs" }),
    );
    let uri = given["uri"].as_str().expect("a URI");
    let whole = daemon.read(uri).expect("all of it");
    assert!(whole["details"]["summary"].is_null());
    assert_eq!(text(&whole).lines().count(), code.lines().count());
    let some = daemon.read_text(format!("{uri}:50-51"));
    assert!(some.starts_with("50:") && !some.contains("\n52:"), "{some}");
}

#[test]
fn a_notebook_of_it_is_edited_as_one() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    write(&daemon, "local://a.txt", "x\n").expect("made");
    let folder = folder(&daemon);
    let from = super::fixture("notebook/colab.ipynb");
    fs::copy(from, folder.join("n.ipynb")).expect("copied");
    let read = daemon.read("local://n.ipynb").expect("a notebook");
    let row = text(&read)
        .lines()
        .find(|row| !row.contains("# %%") && row.contains(':'));
    let row = text(&read)
        .lines()
        .skip(1)
        .find(|row| !row.contains("%%") && row.len() > 6)
        .or(row)
        .expect("a row");
    let (number, _) = row.split_once(':').expect("a number");
    let header = text(&read).lines().next().expect("a header");
    let patch = format!("{header}\nreplace {number}..{number}:\n+changed = 1\n");
    daemon
        .call("agent/edit", json!({ "patch": patch }))
        .expect("edited");
    let on_disk = fs::read_to_string(folder.join("n.ipynb")).expect("a file");
    let json: Value = serde_json::from_str(&on_disk).expect("JSON");
    assert!(json["cells"].is_array() && on_disk.contains("changed = 1"));
}
