//! Files that are written without a pause: what may never have been in them is said to be so, and is never edited; a log is shown as ever.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::fuse::{Behaviour, Fuse, Manners};
use crate::tree::{Tree, numbered_lines};

const NOTICE: &str = "The file was being written all the while it was read";

/// A mounted folder `m` of files that change with every read.
fn restless(files: &[(&str, &str)]) -> (Tree, Fuse) {
    let tree = Tree::new();
    fs::create_dir(tree.join("m")).expect("a directory");
    let fuse = Fuse::mount(&tree.join("m"), Manners::default());
    for (name, text) in files {
        fuse.put_as(name, *text, Behaviour::Restless);
    }
    (tree, fuse)
}

/// All that a model is shown.
fn shown(answer: &Value) -> String {
    let blocks = answer["content"].as_array().expect("blocks");
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn assert_torn(answer: &Value, what: &str) {
    assert!(shown(answer).contains(NOTICE), "{what}: {answer}");
    let notices = answer["details"]["notices"].to_string();
    assert!(notices.contains(NOTICE), "{what}: {answer}");
    assert!(answer["details"]["hashline"].is_null(), "{what}: {answer}");
    assert!(!shown(answer).contains('¶'), "{what}: {answer}");
}

#[test]
fn a_torn_answer_has_a_notice_and_neither_header_nor_tag_in_every_dialect() {
    let code = "fn a() {\n    let x = 1;\n    let y = 2;\n    x + y;\n}\n".repeat(60);
    let (tree, _fuse) = restless(&[("f.txt", &numbered_lines(1, 40)), ("f.rs", &code)]);
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let dialects = pilcrow::view::dialect::DIALECTS;
    for dialect in dialects.iter().map(|dialect| dialect.name()) {
        let key = match dialect {
            "opencode" | "llm-gateway" => "filePath",
            _ => "path",
        };
        for name in ["m/f.txt", "m/f.rs"] {
            let path = tree.spelled(name);
            let answer = daemon.read_with(json!({ "dialect": dialect, key: path }));
            assert_torn(&answer.expect("a read"), dialect);
        }
    }
    for selector in ["raw", "2-3", "2-3:raw", "-2"] {
        let answer = daemon.read_with(json!({ "path": "m/f.txt", "selector": selector }));
        assert_torn(&answer.expect("a read"), selector);
    }
    let many = daemon.call(
        "agent/readMany",
        json!({ "targets": [{ "path": "m/f.txt" }] }),
    );
    let many = many.expect("an answer").to_string();
    assert!(many.contains(NOTICE) && !many.contains('¶'), "{many}");
}

#[test]
fn other_forms_of_a_torn_text_say_so_too() {
    let notebook = r##"{"cells":[{"cell_type":"code","execution_count":null,"id":"a","metadata":{},"outputs":[],"source":["x = 1"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}"##;
    let (tree, fuse) = restless(&[("t.csv", "a,b\n1,2\n")]);
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    assert_torn(&daemon.read("m/t.csv:table").expect("a read"), "a table");
    // Its digits are those of its format, too: it is never one that is known.
    fuse.put_as("n.ipynb", notebook, Behaviour::Restless);
    assert_torn(&daemon.read("m/n.ipynb").expect("a read"), "a notebook");
    // What looks damaged is but half of it.
    fuse.put_as("n.ipynb", "{\"cells\": [1", Behaviour::Restless);
    let refused = daemon.read("m/n.ipynb").expect_err("it is no JSON");
    assert_eq!(refused.kind(), "busy", "{refused:?}");
}

#[test]
fn an_edit_of_a_file_that_is_written_all_the_while_is_busy() {
    let (tree, fuse) = restless(&[]);
    fuse.put("f.txt", numbered_lines(1, 5));
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let read = daemon.read("m/f.txt").expect("a read");
    let tag = read["details"]["hashline"]["tag"].as_str().expect("a tag");
    fuse.put_as("f.txt", numbered_lines(1, 5), Behaviour::Restless);
    let patch = format!("¶m/f.txt#{tag}\nreplace 2:\n+mine\n");
    let refused = daemon.call("agent/edit", json!({ "patch": patch }));
    let refused = refused.expect_err("nobody knows what it holds");
    assert_eq!(refused.kind(), "busy", "{refused:?}");
}

#[test]
fn a_log_is_shown_as_it_was_when_it_was_opened() {
    let (tree, fuse) = restless(&[]);
    fuse.put_as("log.txt", "line 0\n", Behaviour::Growing);
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let mut before = 0;
    for _ in 0..20 {
        let answer = daemon.read_with(json!({ "path": "m/log.txt", "selector": "raw" }));
        let answer = answer.expect("a read");
        assert!(!answer["details"]["hashline"].is_null(), "{answer}");
        let text = shown(&answer);
        let lines: Vec<&str> = text.lines().collect();
        let wanted = numbered_lines(0, lines.len() - 1);
        assert_eq!(text, wanted, "whole lines, in order");
        assert!(lines.len() > before, "the log goes on");
        before = lines.len();
    }
}

/// Runs a writer until the reader is done.
fn while_written(write: impl Fn(u64) + Send + Sync, read: impl FnOnce(&AtomicU64)) {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                write(round);
                done.store(round, Ordering::Relaxed);
            }
        });
        let read = std::panic::AssertUnwindSafe(|| read(&done));
        let outcome = std::panic::catch_unwind(read);
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn a_mixture_of_two_writes_has_no_tag() {
    let version = |round: u64| format!("{round:08}\n").repeat(3_000);
    let tree = Tree::new().file("f.txt", version(0));
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let file = OpenOptions::new().write(true).open(tree.join("f.txt"));
    let file = file.expect("opened");
    let write = |round| {
        file.write_all_at(version(round).as_bytes(), 0)
            .expect("written")
    };
    let params = json!({
        "path": "f.txt", "selector": "raw", "budget": { "lines": 4_000, "bytes": 100_000 },
    });
    while_written(write, |_| {
        for _ in 0..100 {
            let answer = daemon.read_with(params.clone()).expect("a read");
            let text = answer["content"][0]["text"].as_str().expect("a text");
            let first = text.lines().next().unwrap_or_default();
            let is_one = text == format!("{first}\n").repeat(3_000);
            match answer["details"]["hashline"].is_null() {
                true => assert_torn(&answer, "a mixture"),
                false => assert!(is_one, "a mixture has a tag"),
            }
        }
    });
}

#[test]
fn a_file_that_is_added_to_without_a_pause_keeps_its_tag() {
    let tree = Tree::new().file("log.txt", "line 0\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let log = OpenOptions::new().append(true).open(tree.join("log.txt"));
    let log = log.expect("opened");
    // Not beyond what is held as a text.
    let write = |round| match round {
        ..1_000_000 => {
            let line = format!("line {round}\n");
            (&log).write_all(line.as_bytes()).expect("written");
        }
        _ => std::thread::yield_now(),
    };
    while_written(write, |done| {
        for _ in 0..100 {
            let before = done.load(Ordering::Relaxed);
            let answer = daemon.read_with(json!({ "path": "log.txt", "selector": "-1:raw" }));
            let answer = answer.expect("a read");
            assert!(!answer["details"]["hashline"].is_null(), "{answer}");
            let last = answer["content"][0]["text"].as_str().expect("a text");
            let last: u64 = last.trim()["line ".len()..].parse().expect("a number");
            let before = before.min(999_999);
            assert!(last >= before, "{last} is older than {before}");
            // No read leaves work behind that those after it wait for.
            let tasks = format!("/proc/{}/task", daemon.pid());
            let threads = std::fs::read_dir(tasks).expect("its threads").count();
            assert!(threads <= 16, "{threads} threads");
        }
    });
}
