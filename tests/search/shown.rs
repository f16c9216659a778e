//! What a search shows is written as `formats.md` has it, and can be edited at once: its rows, and no others.

use serde_json::{Value, json};

use crate::client::{Daemon, file_uri};
use crate::tree::{Tree, numbered_lines};

use super::{found, lines, search, span, text, untagged};

fn sample() -> Tree {
    Tree::new()
        .file("src/walk.rs", "a\nlet hidden = 1;\nb\n")
        .file(
            "src/cli.rs",
            "x\n/// hidden files\npub hidden: bool,\ny\nz\nif hidden {\n",
        )
        .file("src/none.rs", "nothing\n")
        .file(".hidden", "hidden\n")
        .file("hidden.bin", b"hidden\0\0\0")
        .file("target/out.rs", "hidden\n")
        .file(".gitignore", "target\n")
}

#[test]
fn rows_stand_under_the_header_of_their_file() {
    let tree = sample();
    let daemon = Daemon::start(tree.path());
    let answer = search(&daemon, json!({ "pattern": "hidden" }));
    insta::assert_snapshot!(untagged(text(&answer)), @r"
    ¶src/cli.rs#TAG_
    2:/// hidden files
    3:pub hidden: bool,
    6:if hidden {
    ¶src/walk.rs#TAG_
    2:let hidden = 1;

    [Left out: 1 ignored, 2 hidden, 1 binary]
    [4 matches in 2 files]
    ");
    let details = &answer["details"];
    assert_eq!(
        (
            &details["matches"],
            &details["complete"],
            &details["searched"]
        ),
        (&json!(4), &json!(true), &json!(4))
    );
    assert_eq!(lines(&answer)["src/cli.rs"], [(2, 2), (3, 3), (6, 6)]);
    let tag = daemon.read("src/cli.rs").expect("a read")["details"]["hashline"].clone();
    assert_eq!(details["files"][0]["hashline"], tag);
    assert_eq!(
        details["leftOut"],
        json!({ "ignored": 1, "hidden": 2, "denied": 0, "notFollowed": 0, "binary": 1, "tooLarge": 0, "notReadable": 0 })
    );
    assert_eq!(
        found(&daemon, "no such thing").lines().last(),
        Some("[No matches in 4 files]")
    );
}

#[test]
fn context_counts_and_long_rows() {
    let tree = Tree::new()
        .file("a.txt", numbered_lines(1, 30))
        .file("b.js", format!("{}needle\n", "x".repeat(3000)));
    let daemon = Daemon::start(tree.path());
    let params = json!({ "pattern": "line (5|7|20)$", "context": 1 });
    insta::assert_snapshot!(untagged(text(&search(&daemon, params))), @r"
    ¶a.txt#TAG_
    4:line 4
    5:line 5
    6:line 6
    7:line 7
    8:line 8
    ----
    19:line 19
    20:line 20
    21:line 21

    [3 matches in 1 file]
    ");
    let counted = json!({ "pattern": "e", "count": true });
    insta::assert_snapshot!(text(&search(&daemon, counted)), @r"
    a.txt: 30
    b.js: 1

    [31 matches in 2 files]
    ");
    let cut = search(&daemon, json!({ "pattern": "needle" }));
    let around = format!("\n1:…{}needle\n", "x".repeat(100));
    assert!(text(&cut).contains(&around), "{}", text(&cut));
    assert!(
        text(&cut)
            .contains("[Line 1 of b.js: 106 of 3006 characters. Read b.js:1-1:raw for all of it]")
    );
    assert_eq!(cut["details"]["files"][0]["shown"], Value::Null);
    assert_eq!(
        cut["details"]["files"][0]["cutLines"],
        json!([{ "line": 1, "shownChars": 106, "totalChars": 3006 }])
    );
}

/// However long what is left out: here as many bytes as the mark that stands for it.
#[test]
fn an_excerpt_never_counts_as_its_line() {
    let tree = Tree::new().file("a.txt", "needle123\nneedle\n");
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "read": { "maxColumns": 6 } }))
        .start();
    let answer = search(&daemon, json!({ "pattern": "needle" }));
    assert!(text(&answer).contains("\n1:needle…\n2:needle\n"));
    let file = &answer["details"]["files"][0];
    assert_eq!(
        file["shown"].as_array().map(|all| span(&all[0])),
        Some((2, 2))
    );
    let tag = file["hashline"]["tag"].as_str().expect("a tag");
    let patch = format!("¶a.txt#{tag}\nreplace 1:\n+changed\n");
    let refused = daemon.call("agent/edit", json!({ "patch": patch }));
    assert_eq!(refused.expect_err("a refusal").kind(), "notShown");
    let there = std::fs::read_to_string(tree.join("a.txt"));
    assert_eq!(there.expect("a file"), "needle123\nneedle\n");
}

#[test]
fn every_row_that_it_showed_can_be_edited_and_only_those() {
    let long = "y".repeat(2500);
    let text = format!("one\nneedle 2\nthree\nfour\nfive\nneedle {long}\nseven\nneedle 8\n");
    for (at, context) in [(0, 0), (1, 1), (2, 2)] {
        let tree = Tree::new().file("a.txt", &text).file("b.txt", "needle\n");
        let daemon = Daemon::start(tree.path());
        daemon.ignore_changes();
        let session = format!("s{at}");
        let params = json!({ "pattern": "needle", "context": context, "session": session });
        let answer = search(&daemon, params);
        let file = &answer["details"]["files"][0];
        let tag = file["hashline"]["tag"].as_str().expect("a tag").to_owned();
        let spans = file["shown"].as_array().expect("spans").iter().map(span);
        let shown: Vec<u64> = spans.flat_map(|(start, end)| start..=end).collect();
        // Row by row, as the model sees them.
        let rows = super::text(&answer).lines().skip(1);
        let rows = rows.take_while(|row| !row.starts_with('¶'));
        let whole = rows.filter(|row| !row.ends_with('…') && *row != "----");
        let seen: Vec<u64> = whole
            .map(|row| {
                row.split(':')
                    .next()
                    .and_then(|it| it.parse().ok())
                    .expect(row)
            })
            .collect();
        assert_eq!(shown, seen);
        assert!(!shown.contains(&6) && shown.contains(&2));
        for line in 1..=8 {
            let patch = format!("¶a.txt#{tag}\nreplace {line}:\n+changed\n");
            let params = json!({ "patch": patch, "session": session, "dryRun": true });
            match daemon.call("agent/edit", params) {
                Ok(_) => assert!(shown.contains(&line), "{line} was not shown"),
                Err(error) => {
                    assert_eq!(error.kind(), "notShown");
                    assert!(!shown.contains(&line), "{line} was shown");
                }
            }
            // What the refusal showed counts as well: for the next one it is forgotten.
            let fresh = json!({ "session": session });
            daemon.call("agent/closeSession", fresh).expect("closed");
            search(
                &daemon,
                json!({ "pattern": "needle", "context": context, "session": session }),
            );
        }
        // Nobody else was shown them.
        let patch = format!("¶a.txt#{tag}\nreplace 2:\n+changed\n");
        let params = json!({ "patch": patch, "session": "another" });
        assert_eq!(
            daemon
                .call("agent/edit", params)
                .expect_err("a refusal")
                .kind(),
            "notShown"
        );
        let params = json!({ "patch": patch, "session": session });
        daemon.call("agent/edit", params).expect("an edit");
        let now = std::fs::read_to_string(tree.join("a.txt")).expect("the file");
        assert_eq!(now, text.replace("needle 2", "changed"));
    }
}

#[test]
fn a_count_shows_nothing() {
    let tree = Tree::new().file("a.txt", "needle\n");
    let daemon = Daemon::start(tree.path());
    search(&daemon, json!({ "pattern": "needle", "count": true }));
    let tag = daemon.read("a.txt").expect("a read")["details"]["hashline"]["tag"].clone();
    let patch = format!("¶a.txt#{}\nreplace 1:\n+x\n", tag.as_str().expect("a tag"));
    let params = json!({ "patch": patch, "session": "another" });
    assert_eq!(
        daemon
            .call("agent/edit", params)
            .expect_err("a refusal")
            .kind(),
        "notShown"
    );
}

fn open(daemon: &Daemon, uri: &str, text: &str) {
    let document = json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": text });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
}

#[test]
fn unsaved_text_wins_over_the_disk() {
    let tree = Tree::new()
        .file("a.txt", "on disk\n")
        .file("b.txt", "on disk\n")
        .file("c.txt", "clean on disk\n")
        .file("sub/.keep", "")
        .file(".gitignore", "ignored.txt\n");
    std::os::unix::fs::symlink("b.txt", tree.join("link.txt")).expect("a link");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    open(
        &daemon,
        &file_uri(&tree.join("a.txt")),
        "x\nin the editor\n",
    );
    open(
        &daemon,
        &file_uri(&tree.join("link.txt")),
        "by a link, in the editor\n",
    );
    open(&daemon, &file_uri(&tree.join("c.txt")), "clean on disk\n");
    // Never saved so far.
    open(
        &daemon,
        &file_uri(&tree.join("sub/new.txt")),
        "new in the editor\n",
    );
    open(
        &daemon,
        &file_uri(&tree.join(".env")),
        "denied in the editor\n",
    );
    open(
        &daemon,
        &file_uri(&tree.join("ignored.txt")),
        "ignored in the editor\n",
    );
    open(
        &daemon,
        &file_uri(&tree.join("../outside.txt")),
        "outside in the editor\n",
    );
    insta::assert_snapshot!(untagged(&found(&daemon, "in the editor|on disk")), @r"
    ¶a.txt#TAG_
    2:in the editor
    ¶b.txt#TAG_
    1:by a link, in the editor
    ¶c.txt#TAG_
    1:clean on disk
    ¶sub/new.txt#TAG_
    1:new in the editor

    [Left out: 2 hidden, 1 links or special]
    [4 matches in 4 files]
    ");
    let counted = search(&daemon, json!({ "pattern": "editor", "count": true }));
    assert!(text(&counted).starts_with("a.txt: 1\nb.txt: 1\nsub/new.txt: 1\n"));
    let one = search(&daemon, json!({ "pattern": "editor", "path": "a.txt" }));
    assert_eq!(lines(&one)["a.txt"], [(2, 2)]);
    let new = search(
        &daemon,
        json!({ "pattern": "editor", "path": "sub/new.txt" }),
    );
    assert_eq!(lines(&new)["sub/new.txt"], [(1, 1)]);
}

#[test]
fn what_may_not_be_read_is_never_found() {
    let tree = Tree::new()
        .file("root/a.txt", "needle\n")
        .file("root/secret/a.txt", "needle\n")
        .file("root/key.pem", "needle\n")
        .file("root/sub/.agentignore", "private\n")
        .file("root/sub/private/a.txt", "needle\n")
        .file("root/sub/open.txt", "needle\n")
        .file("beside/a.txt", "needle\n");
    std::os::unix::fs::symlink("../beside", tree.join("root/out")).expect("a link");
    std::os::unix::fs::symlink("key.pem", tree.join("root/key.txt")).expect("a link");
    let daemon = Daemon::builder()
        .root(tree.join("root"))
        .settings(json!({ "access": { "deny": ["secret", "*.pem"] } }))
        .start();
    let answer = search(&daemon, json!({ "pattern": "needle" }));
    let files: Vec<String> = lines(&answer).into_keys().collect();
    assert_eq!(files, ["a.txt", "sub/open.txt"]);
    assert_eq!(answer["details"]["leftOut"]["denied"], 3);
    assert_eq!(answer["details"]["leftOut"]["notFollowed"], 2);
    assert!(!answer.to_string().contains("secret") && !answer.to_string().contains("pem"));
    let refusal = |params: Value| {
        let error = daemon.call("agent/search", params).expect_err("a refusal");
        error.kind().to_owned()
    };
    for (path, kind) in [
        ("secret", "denied"),
        ("key.pem", "denied"),
        ("sub/private", "denied"),
        ("sub/private/a.txt", "denied"),
        ("../beside", "outsideWorkspace"),
        ("out", "outsideWorkspace"),
    ] {
        assert_eq!(
            refusal(json!({ "pattern": "needle", "path": path })),
            kind,
            "{path}"
        );
        let after = json!({ "pattern": "needle", "after": format!("{path}:1") });
        assert_eq!(refusal(after), kind, "{path}");
    }
}

#[test]
fn what_is_asked_for_by_its_path_is_searched_though_it_is_hidden_or_ignored() {
    let tree = Tree::new()
        .file(".gitignore", "target\n")
        .file("target/a.txt", "needle\n")
        .file("target/sub/b.txt", "needle\n")
        .file(".github/ci.yml", "needle\n")
        .file(".github/.more", "needle\n")
        .file("node_modules/x/index.js", "needle\n");
    let daemon = Daemon::start(tree.path());
    let files = |path: &str| {
        let answer = search(&daemon, json!({ "pattern": "needle", "path": path }));
        lines(&answer).into_keys().collect::<Vec<_>>()
    };
    assert_eq!(files("target"), ["target/a.txt", "target/sub/b.txt"]);
    assert_eq!(files("target/sub"), ["target/sub/b.txt"]);
    assert_eq!(files(".github"), [".github/ci.yml"]);
    assert_eq!(files(".github/.more"), [".github/.more"]);
    assert_eq!(files("node_modules/x"), ["node_modules/x/index.js"]);
    assert_eq!(files("."), [""; 0]);
}
