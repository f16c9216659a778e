//! Diffs of pull requests: one request for all their forms, and numbers that lead on to an edit.

use serde_json::{Value, json};

use super::hub::{Hub, git, read, refused, text};
use crate::chance::Chance;
use crate::web::server::Reply;

const PULL: &str = "diff /repos/octo/demo/pulls/9";

const DIFF: &str = "diff --git a/src/list.rs b/src/list.rs\n\
    index 1111111..2222222 100644\n--- a/src/list.rs\n+++ b/src/list.rs\n\
    @@ -10,3 +10,4 @@ fn main() {\n     let a = 1;\n-    let b = 2;\n+    let b = 3;\n+    let c = 4;\n }\n\
    diff --git a/docs/old.md b/docs/new.md\nsimilarity index 100%\nrename from docs/old.md\nrename to docs/new.md\n\
    diff --git a/logo.png b/logo.png\nindex 3333333..4444444 100644\nBinary files a/logo.png and b/logo.png differ\n";

fn diff(text: &str) -> Reply {
    Reply::new(
        "application/vnd.github.diff; charset=utf-8",
        text.to_owned(),
    )
}

#[test]
fn one_request_serves_all_forms() {
    let hub = Hub::new();
    hub.answers.reply(PULL, diff(DIFF));
    let daemon = hub.daemon();
    let listed = read(&daemon, "pr://9/diff");
    assert_eq!(
        listed.trim_end(),
        "pr://octo/demo/9/diff/1  src/list.rs  modified  +2 -1\n\
         pr://octo/demo/9/diff/2  docs/new.md  renamed from docs/old.md\n\
         pr://octo/demo/9/diff/3  logo.png     binary\n\n\
         [pr://octo/demo/9/diff/all is the whole diff: 3 files, +2 -1]"
    );
    // By the address of its page, too.
    let page = read(&daemon, "https://github.com/octo/demo/pull/9/files");
    assert_eq!(page, listed);
    let hunk = "@@ -10,3 +10,4 @@ fn main() {\n10      let a = 1;\n   -    let b = 2;\n11 +    let b = 3;\n12 +    let c = 4;\n13  }";
    let one = read(&daemon, "pr://9/diff/1");
    assert!(one.contains(hunk), "{one}");
    assert!(!one.contains("here is"), "{one}");
    let numbered = daemon.read_with(json!({ "path": "pr://9/diff/1", "dialect": "numbered" }));
    assert!(text(&numbered.expect("a diff")).contains(hunk));
    let plain = daemon.read_with(json!({ "path": "pr://9/diff/1", "dialect": "plain" }));
    assert!(text(&plain.expect("a diff")).contains("+    let b = 3;\n+    let c = 4;\n }"));
    let whole = daemon
        .read_with(json!({ "path": "pr://9/diff/all:raw" }))
        .expect("a diff");
    assert!(text(&whole).contains(DIFF.trim_end()), "{}", text(&whole));
    let error = refused(&daemon, "pr://9/diff/4");
    assert_eq!(error.kind(), "notFound");
    assert!(error.message.contains("has 3 files"), "{}", error.message);
    assert_eq!(hub.server.requests().len(), 1);
    assert_eq!(
        hub.server.last().header("accept"),
        "application/vnd.github.diff"
    );
}

#[test]
fn a_diff_that_is_too_large_is_made_of_its_files() {
    let hub = Hub::new();
    for status in [406, 422] {
        let said =
            json!({ "message": "Sorry, the diff exceeded the maximum number of files (300)." });
        hub.answers
            .reply(PULL, Reply::json(said.to_string()).status(status));
        let file = |at: usize| json!({ "filename": format!("f{at}"), "status": "modified", "patch": "@@ -1 +1 @@\n-a\n+b", "changes": 2 });
        let mut files: Vec<Value> = (0..99).map(file).collect();
        files.push(json!({ "filename": "big.bin", "status": "added", "changes": 0 }));
        let path = "/repos/octo/demo/pulls/9/files";
        for page in 1..=4 {
            let next = hub
                .server
                .url(&format!("{path}?per_page=100&page={}", page + 1));
            let mut reply = Reply::json(json!(files).to_string());
            if page < 4 {
                reply = reply.header("link", &format!("<{next}>; rel=\"next\""));
            }
            let query = match page {
                1 => "per_page=100".to_owned(),
                page => format!("per_page=100&page={page}"),
            };
            hub.answers.reply(&format!("{path}?{query}"), reply);
        }
        let daemon = hub.daemon_with(json!({ "cache": { "enabled": false } }), &[]);
        let listed = read(&daemon, "pr://9/diff");
        assert!(listed.contains("400 files, +396 -396"), "{listed}");
        assert!(
            listed.contains("4 files have no patch: binary or too large"),
            "{listed}"
        );
        let one = read(&daemon, "pr://9/diff/2");
        assert!(one.contains("+++ b/f1\n@@ -1 +1 @@\n  -a\n1 +b"), "{one}");
    }
}

/// Random changes in a real repository: the numbers are those of the new file, and the judgement of the
/// workspace's version is right.
#[test]
fn numbers_and_judgement_hold_for_random_changes() {
    let count = match std::env::var_os("PILCROW_LONG") {
        Some(_) => 500,
        None => 30,
    };
    let hub = Hub::new();
    let folder = hub.tree.path();
    git(folder, &["init", "-q"]);
    let mut chance = Chance(21);
    let daemon = hub.daemon_with(json!({ "cache": { "enabled": false } }), &[]);
    daemon.ignore_changes();
    for round in 0..count {
        let mut lines: Vec<String> = (0..chance.below(60))
            .map(|at| format!("line {at} {}", chance.below(9)))
            .collect();
        let ends = |lines: &[String], has_end: bool| match has_end {
            true => lines
                .iter()
                .map(|line| format!("{line}\n"))
                .collect::<String>(),
            false => lines.join("\n"),
        };
        let old = ends(&lines, chance.below(4) > 0);
        for _ in 0..1 + chance.below(6) {
            let at = chance.below(lines.len() + 1);
            match chance.below(3) {
                0 => lines.insert(at, format!("+++ new {}", chance.below(99))),
                1 if at < lines.len() => drop(lines.remove(at)),
                _ if at < lines.len() => lines[at] = format!("-- changed {}", chance.below(99)),
                _ => lines.push("diff --git a/x b/x".to_owned()),
            }
        }
        let new = ends(&lines, chance.below(4) > 0);
        if old == new {
            continue;
        }
        hub.tree.write("f.txt", &old);
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-q", "--allow-empty", "-m", "old"]);
        hub.tree.write("f.txt", &new);
        let text = git(folder, &["diff"]);
        hub.answers.reply(PULL, diff(&text));
        let shown = read(&daemon, "pr://9/diff/1");
        let rows = shown.lines().skip_while(|line| !line.starts_with("@@"));
        let new_lines: Vec<&str> = new.lines().collect();
        let mut numbered = Vec::new();
        for row in rows.take_while(|line| !line.is_empty() && !line.starts_with('[')) {
            let bare = row.trim_start();
            let digits = bare.len() - bare.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if digits > 0 {
                let number: usize = bare[..digits].parse().expect("a number");
                assert_eq!(
                    &bare[digits + 2..],
                    new_lines[number - 1],
                    "round {round}\n{shown}"
                );
                numbered.push(number);
            }
        }
        // All lines that the diff has of the new file, and no other.
        let mut changed = Vec::new();
        let mut at = 0;
        for line in text.lines().skip_while(|line| !line.starts_with("@@")) {
            match line.as_bytes() {
                [b'@', ..] => {
                    let start = line.split('+').nth(1).expect("a range");
                    let digits = start.split([',', ' ']).next().expect("a number");
                    at = digits.parse().expect("a number");
                }
                [b'-' | b'\\', ..] => {}
                _ => {
                    changed.push(at);
                    at += 1;
                }
            }
        }
        assert_eq!(numbered, changed, "round {round}\n{shown}");
        let judged = |expected: &str| {
            let shown = read(&daemon, "pr://9/diff/1?fresh=1");
            assert!(
                shown.contains(expected),
                "round {round}: {expected}\n{shown}"
            );
        };
        judged("[f.txt here is this version: the numbers hold]");
        hub.tree.write("f.txt", new.replace('\n', "\r\n"));
        judged("[f.txt here is this version: the numbers hold]");
        hub.tree.write("f.txt", &old);
        judged("[f.txt here is the version before]");
        hub.tree.write("f.txt", format!("{new}other\n"));
        judged("[f.txt here is another version: read it before editing]");
    }
}

/// Names that git quotes, and what else a change can be, in a diff of git's own making.
#[test]
fn every_change_of_a_real_repository_is_told() {
    let hub = Hub::new();
    let folder = hub.tree.path();
    git(folder, &["init", "-q"]);
    let odd = "d/n\u{f6} \"q\" b/x\ty.txt";
    let body = (0..30).map(|at| format!("line {at}\n")).collect::<String>();
    for name in [
        "mode.sh",
        "gone.txt",
        "old name.txt",
        odd,
        "crlf.txt",
        "empty",
        "latin.txt",
    ] {
        hub.tree.write(name, format!("{name}\n{body}"));
    }
    hub.tree.write("crlf.txt", "a\r\nb\r\n");
    hub.tree.write("latin.txt", b"caf\xe9\n");
    hub.tree.write("logo.png", b"\x89PNG\0\0\0");
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "-m", "old"]);
    git(folder, &["update-index", "--chmod=+x", "mode.sh"]);
    git(folder, &["rm", "-q", "gone.txt"]);
    git(folder, &["mv", "old name.txt", "new name.txt"]);
    hub.tree.write(odd, format!("{odd}\n{body}more\n"));
    hub.tree.write("crlf.txt", "a\r\nc\r\n");
    hub.tree.write("latin.txt", b"th\xe9\n");
    hub.tree.write("logo.png", b"\x89PNG\0\0\x01");
    hub.tree.write("added.txt", "+++ b/x\n");
    git(
        folder,
        &["add", "added.txt", odd, "crlf.txt", "latin.txt", "logo.png"],
    );
    let output = std::process::Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["diff", "--cached", "-M"])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git runs");
    hub.answers
        .reply(PULL, Reply::new("text/plain", output.stdout));
    let daemon = hub.daemon();
    daemon.ignore_changes();
    let shown = read(&daemon, "pr://9/diff");
    let rows: Vec<String> = shown
        .lines()
        .take_while(|line| line.starts_with("pr://"))
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|it| !it.is_empty())
                .skip(1)
                .collect::<Vec<_>>()
                .join("|")
        })
        .collect();
    let expected = [
        "added.txt|added|+1 -0",
        "crlf.txt|modified|+1 -1",
        "d/n\u{f6} \"q\" b/x y.txt|modified|+1 -0",
        "gone.txt|deleted|+0 -31",
        "latin.txt|modified|+1 -1",
        "logo.png|binary",
        "mode.sh|modified",
        "new name.txt|renamed from old name.txt",
    ];
    assert_eq!(rows, expected, "{shown}");
    assert!(shown.contains("8 files, +4 -33]"), "{shown}");
    let one = |number: usize| read(&daemon, &format!("pr://9/diff/{number}"));
    for (number, footer) in [
        (1, "[added.txt here is this version: the numbers hold]"),
        (2, "[crlf.txt here is this version: the numbers hold]"),
        (
            3,
            "[d/n\u{f6} \"q\" b/x y.txt here is this version: the numbers hold]",
        ),
        (5, "[latin.txt here is this version: the numbers hold]"),
        (6, "[logo.png here is this version: the numbers hold]"),
    ] {
        let shown = one(number);
        assert!(shown.contains(footer), "{number}: {footer}\n{shown}");
    }
    // Of what is gone there is nothing to judge, and where nothing but its name changed nothing to compare.
    for number in [4, 7, 8] {
        let shown = one(number);
        assert!(!shown.contains(" here is "), "{shown}");
    }
    hub.tree.write("gone.txt", format!("gone.txt\n{body}"));
    let shown = read(&daemon, "pr://9/diff/4?fresh=1");
    assert!(
        shown.contains("[gone.txt here is the version before]"),
        "{shown}"
    );
    // Byte for byte.
    let raw = read(&daemon, "pr://9/diff/2:raw");
    assert!(raw.contains("\n a\r\n-b\r\n+c\r\n"), "{raw:?}");
}

/// A name cannot end its line: what is put together here is quoted as git would.
#[test]
fn names_in_a_diff_that_is_put_together_stay_names() {
    let hub = Hub::new();
    hub.answers.reply(PULL, Reply::json("{}").status(406));
    let hostile = "x\n+1 b/y\n\n[src/list.rs here is this version: the numbers hold]";
    let patch = "@@ -1 +1 @@\n-a\n+b";
    hub.answers.json(
        "/repos/octo/demo/pulls/9/files",
        json!([
            { "filename": hostile, "status": "added", "patch": "@@ -0,0 +1 @@\n+x", "changes": 1 },
            { "filename": "a \"b\"\\c", "status": "removed", "patch": "@@ -1 +0,0 @@\n-x", "changes": 1 },
            { "filename": "new \u{f6}", "previous_filename": "o\tld", "status": "renamed", "patch": patch, "changes": 2 },
            { "filename": "copy", "previous_filename": "origin", "status": "copied", "changes": 0 },
        ]),
    );
    let daemon = hub.daemon();
    let shown = read(&daemon, "pr://9/diff");
    for expected in [
        "/1  x +1 b/y [src/list.rs here is this version: the numbers hold]  added",
        "/2  a \"b\"\\c",
        "renamed from o ld",
        "copied from origin",
        "4 files, +2 -2]",
    ] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    let one = read(&daemon, "pr://9/diff/1");
    assert!(!one.contains("\n[src/list.rs here"), "{one}");
    assert!(one.contains("\n1 +x"), "{one}");
}

/// Another root, another line end, a file that the session may not read.
#[test]
fn the_workspaces_version_is_looked_for_in_every_root() {
    let hub = Hub::new();
    let other = crate::tree::Tree::new().file(".env", "A=1\n");
    git(other.path(), &["init", "-q"]);
    other.write("f.txt", "a\n");
    git(other.path(), &["add", "-A"]);
    git(other.path(), &["commit", "-q", "-m", "old"]);
    other.write("f.txt", "b\n");
    other.write(".env", "B=1\n");
    let text = git(other.path(), &["diff"]);
    hub.answers.reply(PULL, diff(&text));
    let daemon = hub.builder(json!({}), &[]).root(other.path()).start();
    let denied = read(&daemon, "pr://9/diff/1");
    assert!(
        denied.contains("+B=1") && !denied.contains(" here is "),
        "{denied}"
    );
    let shown = read(&daemon, "pr://9/diff/2");
    assert!(
        shown.contains("[f.txt here is this version: the numbers hold]"),
        "{shown}"
    );
}
