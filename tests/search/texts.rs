//! What is searched is the text that a read shows, whatever the bytes are; and what is no text is said so.

use std::process::Command;

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::Tree;

use super::{found, lines, search, text, untagged};

fn utf16(text: &str, mark: bool) -> Vec<u8> {
    let mark = mark.then_some(0xFEFF);
    let units = mark.into_iter().chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

/// 你好，世界 and 中文搜索 as GBK writes them.
const GBK: &[u8] = b"\xc4\xe3\xba\xc3\xa3\xac\xca\xc0\xbd\xe7\n\xd6\xd0\xce\xc4\xcb\xd1\xcb\xf7\n\xd5\xe2\xca\xc7\xd2\xbb\xb8\xf6\xbc\xf2\xb5\xa5\xb5\xc4\xb2\xe2\xca\xd4\xce\xc4\xbc\xfe\n";

fn notebook(sources: &[&str]) -> String {
    let cell = |source: &&str| json!({ "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": [source] });
    let cells: Vec<Value> = sources.iter().map(cell).collect();
    json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 }).to_string()
}

#[test]
fn every_encoding_is_searched_as_its_text() {
    let tree = Tree::new()
        .file("a-utf16.txt", utf16("eins\r\nzwei Straße\r\n", true))
        .file(
            "b-utf16-unmarked.txt",
            utf16(&"zwei Strasse\n".repeat(20), false),
        )
        .file("c-marked.txt", "\u{FEFF}zwei\nzwei\n")
        .file("d-crlf.txt", "zwei\r\nx\r\n")
        .file("e-cr.txt", "eins\rzwei\rdrei")
        .file("f-gbk.txt", GBK)
        .file("g-latin1.txt", b"gr\xfc\xdfe\nzwei\n");
    let daemon = Daemon::start(tree.path());
    insta::assert_snapshot!(untagged(&found(&daemon, "^zwei( Straße)?$")), @r"
    ¶a-utf16.txt#TAG_
    2:zwei Straße
    ¶c-marked.txt#TAG_
    1:zwei
    2:zwei
    ¶d-crlf.txt#TAG_
    1:zwei
    ¶e-cr.txt#TAG_
    2:zwei
    ¶g-latin1.txt#TAG_
    2:zwei

    [6 matches in 5 files]
    ");
    let answer = search(
        &daemon,
        json!({ "pattern": "搜索|grüße|strasse", "ignoreCase": true }),
    );
    let found = lines(&answer);
    assert_eq!(found["f-gbk.txt"], [(2, 2)]);
    assert_eq!(found["g-latin1.txt"], [(1, 1)]);
    assert_eq!(found["b-utf16-unmarked.txt"].len(), 20);
    // What was found can be edited, in the file's own encoding.
    let file = &answer["details"]["files"][1];
    let tag = file["hashline"]["tag"].as_str().expect("a tag");
    let patch = format!("¶f-gbk.txt#{tag}\nreplace 2:\n+中文\n");
    daemon
        .call("agent/edit", json!({ "patch": patch }))
        .expect("an edit");
    let now = std::fs::read(tree.join("f-gbk.txt")).expect("the file");
    assert!(now.windows(5).any(|bytes| bytes == b"\xd6\xd0\xce\xc4\n"));
}

#[test]
fn an_encoding_that_a_reader_named_holds_for_searches_too() {
    let tree = Tree::new().file("a.txt", b"\x82\xa0\x82\xa2\n");
    let daemon = Daemon::start(tree.path());
    daemon
        .read_with(json!({ "path": "a.txt", "encoding": "shift_jis" }))
        .expect("a read");
    let answer = search(&daemon, json!({ "pattern": "^あい$" }));
    assert_eq!(lines(&answer)["a.txt"], [(1, 1)]);
}

#[test]
fn of_a_notebook_its_cells_are_searched_and_edited() {
    let tree = Tree::new()
        .file("n.ipynb", notebook(&["import os", "needle = 1"]))
        .file("broken.ipynb", "{\"cells\": [needle")
        .file("other.ipynb", "needle, and no notebook\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let answer = search(&daemon, json!({ "pattern": "needle|^# %%.*cell:1" }));
    assert_eq!(lines(&answer)["n.ipynb"], [(3, 3), (4, 4)]);
    assert!(
        text(&answer).contains("4:needle = 1\n"),
        "{}",
        text(&answer)
    );
    let at = answer["details"]["files"].as_array().expect("files");
    let file = at
        .iter()
        .find(|file| file["path"] == "n.ipynb")
        .expect("it");
    let tag = file["hashline"]["tag"].as_str().expect("a tag");
    let patch = format!("¶n.ipynb#{tag}\nreplace 4:\n+needle = 2\n");
    daemon
        .call("agent/edit", json!({ "patch": patch }))
        .expect("an edit");
    let now = std::fs::read_to_string(tree.join("n.ipynb")).expect("the file");
    assert!(now.contains("needle = 2") && now.contains("nbformat"));
    assert_eq!(
        search(&daemon, json!({ "pattern": "nbformat" }))["details"]["matches"],
        0
    );
    let counted = search(&daemon, json!({ "pattern": "needle", "count": true }));
    assert!(text(&counted).contains("n.ipynb: 1\n"));
}

#[test]
fn what_is_no_text_is_left_out_and_refused_where_it_is_asked_for() {
    let tree = Tree::new()
        .file("a.txt", "needle\n")
        .file("doc.rtf", r"{\rtf1\ansi needle\par}")
        .file("data.bin", [&b"needle"[..], &[0; 100]].concat())
        .file("paper.pdf", "%PDF-1.4\nneedle\n")
        .file(
            "late.txt",
            [&b"x".repeat(9000)[..], b"\nneedle\0\n"].concat(),
        );
    let made = Command::new("python3")
        .args(["-c", "import sqlite3,zipfile,sys; d=sys.argv[1]; c=sqlite3.connect(d+'/t.db'); c.execute('create table needle(a)'); c.commit(); zipfile.ZipFile(d+'/z.zip','w').writestr('needle.txt','needle')"])
        .arg(tree.path())
        .status();
    assert!(made.expect("python").success());
    let daemon = Daemon::start(tree.path());
    let answer = search(&daemon, json!({ "pattern": "needle" }));
    let files: Vec<String> = lines(&answer).into_keys().collect();
    // A NUL far behind the start is text, as a read has it.
    assert_eq!(files, ["a.txt", "late.txt"]);
    assert_eq!(answer["details"]["leftOut"]["binary"], 5);
    for (path, kind) in [
        ("t.db", "unsupported"),
        ("z.zip", "unsupported"),
        ("doc.rtf", "unsupported"),
        ("data.bin", "binary"),
        ("none.txt", "notFound"),
        ("https://example.com/", "unsupported"),
    ] {
        let params = json!({ "pattern": "needle", "path": path });
        let error = daemon.call("agent/search", params).expect_err(path);
        assert_eq!(error.kind(), kind, "{path}: {}", error.message);
    }
}

#[test]
fn files_that_are_too_large_are_left_out() {
    let tree = Tree::new().file("a.txt", "needle\n");
    let line = "needle, and more of it than is ever held\n";
    let large = line.repeat(32 * 1024 * 1024 / line.len() + 1);
    tree.write("large.txt", large);
    let daemon = Daemon::start(tree.path());
    let answer = search(&daemon, json!({ "pattern": "needle" }));
    assert_eq!(lines(&answer).len(), 1);
    assert_eq!(answer["details"]["leftOut"]["tooLarge"], 1);
    assert!(text(&answer).contains("[Left out: 1 over 32 MiB]"));
    let error = daemon.call(
        "agent/search",
        json!({ "pattern": "needle", "path": "large.txt" }),
    );
    assert_eq!(error.expect_err("a refusal").kind(), "tooLarge");
}

#[test]
fn odd_files_hold_nobody_up() {
    let tree = Tree::new().file("a.txt", "needle\n");
    let fifo = Command::new("mkfifo").arg(tree.join("pipe")).status();
    assert!(fifo.expect("mkfifo").success());
    std::os::unix::fs::symlink("gone", tree.join("dangling")).expect("a link");
    std::os::unix::fs::symlink(".", tree.join("loop")).expect("a link");
    let daemon = Daemon::start(tree.path());
    let answer = search(&daemon, json!({ "pattern": "needle" }));
    assert_eq!(lines(&answer).len(), 1);
    assert_eq!(answer["details"]["leftOut"]["notFollowed"], 3);
}

#[test]
fn an_artifact_is_searched() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let log: String = (1..=500).map(|at| format!("step {at}\n")).collect();
    let put = daemon.call("agent/putArtifact", json!({ "text": log, "name": "build" }));
    let uri = put.expect("put")["uri"].clone();
    let answer = search(&daemon, json!({ "pattern": "step .*99$", "path": uri }));
    assert_eq!(
        text(&answer),
        "artifact://1\n99:step 99\n199:step 199\n299:step 299\n399:step 399\n499:step 499\n\n[5 matches in 1 file]"
    );
    let params = json!({ "pattern": "step", "path": uri, "budget": { "lines": 300 } });
    let all = super::all_lines(&daemon, &params);
    assert_eq!(all["artifact://1"].len(), 500);
    // It is searched in the order in which it was put there.
    let put = daemon.request("agent/putArtifact", json!({ "text": "late needle\n" }));
    let late = json!({ "pattern": "needle", "path": "artifact://2" });
    assert_eq!(search(&daemon, late)["details"]["matches"], 1);
    daemon.wait(&put).expect("put");
}

/// Files of more than 256 KiB are searched as they are read: nothing of that is to be seen.
#[test]
fn a_large_file_is_searched_like_a_small_one() {
    let row = |at: u64| format!("{at} {}", "x".repeat((at % 97) as usize));
    let rows: Vec<String> = (1..=20_000).map(row).collect();
    let plain = rows.join("\n");
    assert!(plain.len() > 900_000 && !plain.ends_with('\n'));
    let latin = [plain.as_bytes(), b"\ngr\xfc\xdfe 7777 x\n"].concat();
    let late_nul = [plain.as_bytes(), b"\nx\0y\n"].concat();
    let one_line = format!("{}7777 x{}", "y ".repeat(300_000), " z".repeat(300_000));
    let tree = Tree::new()
        .file("a.txt", &plain)
        .file("b-crlf.txt", rows.join("\r\n") + "\r\n")
        .file("c-marked.txt", format!("\u{FEFF}{plain}\n"))
        .file("d-latin.txt", latin)
        .file("e-nul.txt", late_nul)
        .file("f-cr.txt", rows.join("\r"))
        .file("g-utf16.txt", utf16(&plain, true))
        .file("h-one-line.txt", &one_line);
    let daemon = Daemon::start(tree.path());
    let answer = search(&daemon, json!({ "pattern": r"^7777 x+$" }));
    let found = lines(&answer);
    for file in [
        "a.txt",
        "b-crlf.txt",
        "c-marked.txt",
        "d-latin.txt",
        "f-cr.txt",
        "g-utf16.txt",
    ] {
        assert_eq!(found[file], [(7777, 7777)], "{file}");
    }
    let count = |pattern: &str| {
        let counted = search(&daemon, json!({ "pattern": pattern, "count": true }));
        let files = counted["details"]["files"].as_array().expect("files");
        let of = |file: &Value| {
            (
                file["path"].as_str().map(str::to_owned),
                file["matches"].as_u64(),
            )
        };
        files.iter().map(of).collect::<Vec<_>>()
    };
    // What is at the end, and at the beginning, and everywhere.
    let at = |name: &str, matches| (Some(name.to_owned()), Some(matches));
    let whole = |matches| {
        [
            "a.txt",
            "b-crlf.txt",
            "c-marked.txt",
            "d-latin.txt",
            "e-nul.txt",
            "f-cr.txt",
            "g-utf16.txt",
        ]
        .map(|name| at(name, matches))
        .to_vec()
    };
    assert_eq!(count(r"^(1|10000|20000) "), whole(3));
    assert_eq!(count(r"^\d+ x*$"), whole(20_000));
    assert_eq!(count("^x.y$"), [at("e-nul.txt", 1)]);
    assert_eq!(count("grüße"), [at("d-latin.txt", 1)]);
    assert_eq!(count("y 7777 x z"), [at("h-one-line.txt", 1)]);
}
