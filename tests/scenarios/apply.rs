//! Scenarios 26 to 41: what a patch does to files; no byte that was not addressed is ever another.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{Desk, l};
use crate::client::HANG;

const ABC: &str = "a\nb\nc\n";

#[test]
fn s26_a_line_after_the_last() {
    let desk = Desk::new();
    for text in ["a\nb\n", "a\nb"] {
        for ops in [
            "insert before 4:\n+x",
            "insert before 3:\n+x",
            "insert after 3:\n+x",
        ] {
            let words = ["does not exist (2 lines)", "Patch line 2", "'insert tail:'"];
            desk.rejected(text, ops, "patchSyntax", &words);
        }
    }
}

#[test]
fn s27_no_line_after_a_final_newline() {
    let desk = Desk::new();
    for ops in ["delete 2..3", "replace 3..3:\n+x"] {
        let words = ["line 3 does not exist (2 lines)"];
        desk.rejected("a\nb\n", ops, "patchSyntax", &words);
    }
    let (text, _) = desk.made("a\nb\n", "delete 2..2");
    assert_eq!(text, "a\n");
}

#[test]
fn s28_heads_and_tails_of_files_without_an_end() {
    let desk = Desk::new();
    for place in ["head", "tail"] {
        let (text, _) = desk.made("", &format!("insert {place}:\n+a"));
        assert_eq!(text, "a\n");
    }
    let (text, _) = desk.made("a\nb", "insert tail:\n+c");
    assert_eq!(text, "a\nb\nc");
}

#[test]
fn s29_ranges_that_meet() {
    let desk = Desk::new();
    let ops = "replace 2..4:\n+x\nreplace 3..5:\n+y";
    let words = ["patch line 2", "patch line 4", "2..4", "3..5"];
    let error = desk.rejected(&l(6), ops, "overlap", &words);
    assert_eq!(error.data["patchLines"], json!([2, 4]));
    let (text, reply) = desk.made(&l(4), "replace 2..3:\n+x\nreplace 2..3:\n+y");
    assert_eq!(text, "l1\ny\nl4\n");
    reply.warns("replacedTwice", &["atch line 2", "patch line 4", "last"]);
}

#[test]
fn s31_inserts_at_one_place() {
    let desk = Desk::new();
    let (text, _) = desk.made(ABC, "insert after 2:\n+1\ninsert after 2:\n+2");
    assert_eq!(text, "a\nb\n1\n2\nc\n");
    let (text, _) = desk.made(ABC, "insert before 3:\n+before\ninsert after 2:\n+after");
    assert_eq!(text, "a\nb\nafter\nbefore\nc\n");
}

#[test]
fn s32_one_file_in_two_sections() {
    let desk = Desk::new();
    let (f, g) = (desk.put("f.txt", l(5)), desk.put("g.txt", ABC));
    let reply = desk.done(&format!(
        "¶f.txt#{f}\ninsert after 1:\n+new\n¶g.txt#{g}\ndelete 1\n¶./f.txt#{f}\nreplace 4:\n+L4\n"
    ));
    assert_eq!(desk.text("f.txt"), "l1\nnew\nl2\nl3\nL4\nl5\n");
    assert_eq!(desk.text("g.txt"), "b\nc\n");
    assert_eq!(reply.files().len(), 2);
    let (old, new) = (f, desk.tag("f.txt"));
    let words = ["two tags", &old, &new];
    let patch = format!("¶f.txt#{new}\ndelete 1\n¶f.txt#{old}\ndelete 3\n");
    let error = desk.refused(&patch, "patchSyntax", &words);
    assert_eq!(error.data["patchLine"], 3);
}

#[test]
fn s33_a_link_and_its_target() {
    let desk = Desk::new();
    let old = desk.put("real.txt", l(4));
    symlink("real.txt", desk.tree.join("link.txt")).expect("a link");
    let patch = |link: &str, real: &str| {
        format!("¶link.txt#{link}\ndelete 1\n¶real.txt#{real}\nreplace 3:\n+L3\n")
    };
    let reply = desk.done(&patch(&old, &old));
    assert_eq!(desk.text("real.txt"), "l2\nL3\nl4\n");
    assert_eq!(reply.files().len(), 1);
    assert!(desk.tree.join("link.txt").is_symlink());
    let new = desk.tag("real.txt");
    desk.refused(&patch(&old, &new), "patchSyntax", &["two tags", &old, &new]);
}

#[test]
fn s34_line_ends_stay() {
    let desk = Desk::new();
    for (before, ops, after) in [
        ("a\r\nb\r\nc\r\n", "replace 2:\n+B", "a\r\nB\r\nc\r\n"),
        ("a\r\nb\r\nc", "replace 2:\n+B\n+C", "a\r\nB\r\nC\r\nc"),
        (
            "a\r\nb\nc\r\nd\n",
            "replace 2..3:\n+B\n+C\n+D",
            "a\r\nB\nC\r\nD\r\nd\n",
        ),
        ("a\r\nb\nc\r\nd\n", "delete 1", "b\nc\r\nd\n"),
        ("a\rb\nc\rd\ne\n", "replace 3:\n+E", "a\rb\nc\rd\nE\n"),
        ("a\r\nb\n", "insert after 1:\n+x", "a\r\nx\r\nb\n"),
        ("a\r\nb\n", "insert tail:\n+x", "a\r\nb\nx\n"),
    ] {
        let (text, _) = desk.made(before, ops);
        assert_eq!(text, after, "{before:?} {ops:?}");
    }
}

#[test]
fn s35_a_byte_order_mark() {
    let desk = Desk::new();
    assert_eq!(desk.put("bare.txt", "a\nb\n"), "9A46");
    let tag = desk.put("bom.txt", "\u{feff}a\nb\n");
    assert_eq!(tag, "9A46");
    desk.done(&format!(
        "¶bom.txt#{tag}\nreplace 1:\n+A\ninsert head:\n+first\n"
    ));
    assert_eq!(desk.bytes("bom.txt"), b"\xef\xbb\xbffirst\nA\nb\n");
}

#[test]
fn s36_trailing_blanks_and_line_ends_are_no_other_version() {
    let desk = Desk::new();
    let tag = desk.put("f.txt", ABC);
    desk.tree.replace("f.txt", "a  \r\nb\t\r\nc\r\n");
    let reply = desk.done(&format!("¶f.txt#{tag}\nreplace 2:\n+B\n"));
    assert_eq!(desk.text("f.txt"), "a  \r\nB\r\nc\r\n");
    assert_eq!(reply.codes(), [""; 0]);
    assert_eq!(reply.details["files"][0]["tagBefore"], tag);
}

#[test]
fn s37_changes_of_nothing() {
    let desk = Desk::new();
    let (f, g) = (desk.put("f.txt", ABC), desk.put("g.txt", ABC));
    let patch = format!("¶f.txt#{f}\nreplace 2:\n+b\n");
    let before = desk.everything();
    for _ in 0..2 {
        let reply = desk.done(&patch);
        assert!(reply.text.contains("No change"), "{}", reply.text);
        assert!(reply.text.contains("Nothing was written"), "{}", reply.text);
        assert_eq!(
            (reply.tag(), desk.everything()),
            (f.as_str(), before.clone())
        );
    }
    desk.refused(&patch, "noChange", &["'f.txt'", "3 times", "Read it again"]);
    // With another file it is a warning.
    let several = format!("{patch}¶g.txt#{g}\ndelete 2\n");
    let reply = desk.done(&several);
    reply.warns("noChange", &["'f.txt'", "not written"]);
    assert_eq!(desk.text("g.txt"), "a\nc\n");
    let f_now = &desk.everything()[&desk.tree.join("f.txt")];
    assert_eq!(f_now, &before[&desk.tree.join("f.txt")]);
    // What had an effect breaks the row.
    assert!(desk.done(&patch).text.contains("No change"));
}

#[test]
fn s38_the_second_file_is_blocked() {
    let desk = Desk::new();
    let (f, g) = (desk.put("f.txt", ABC), desk.put("g.txt", ABC));
    desk.tree.write(".env", ABC);
    let denied = format!("¶f.txt#{f}\ndelete 2\n¶.env#{f}\ndelete 2\n");
    desk.refused(&denied, "denied", &["'.env'"]);
    // Beside what is wrong with the first file, of which it is told first.
    let denied = format!("¶f.txt#0000\ndelete 9\n¶.env#{f}\ndelete 2\n");
    desk.refused(&denied, "unknownTag", &["#0000", "'.env' is denied"]);
    desk.tree.replace("g.txt", "a\nanother\nc\n");
    let stale = format!("¶f.txt#{f}\ndelete 2\n¶g.txt#{g}\ndelete 2\n");
    let error = desk.refused(&stale, "stale", &["line 2", "atch line 4"]);
    assert_eq!(error.data["files"][0]["path"], "g.txt");
}

#[test]
fn s39_the_second_of_three_files_cannot_be_written() {
    let three = |desk: &Desk| -> String {
        let section = |name: &&str| {
            let tag = desk.put(name, ABC);
            format!("¶{name}#{tag}\nreplace 2:\n+new\n")
        };
        ["f.txt", "g.txt", "h.txt"].iter().map(section).collect()
    };
    // What was written is taken back.
    let desk = Desk::with(|setup| setup.env("PILCROW_FAIL", "rename:2:EIO"));
    let patch = three(&desk);
    let before: Vec<Vec<u8>> = ["f.txt", "g.txt", "h.txt"]
        .map(|name| desk.bytes(name))
        .into();
    let error = desk.edit(&patch).expect_err("one cannot be written");
    assert_eq!((error.kind(), &error.data["path"]), ("io", &json!("g.txt")));
    let message = &error.message;
    assert!(message.contains("othing was written"), "{message}");
    let after: Vec<Vec<u8>> = ["f.txt", "g.txt", "h.txt"]
        .map(|name| desk.bytes(name))
        .into();
    assert_eq!(before, after);
    // The failure is over, and the same call goes through.
    desk.done(&patch);
    assert_eq!(desk.text("g.txt"), "a\nnew\nc\n");
    assert_eq!(fs::read_dir(desk.tree.path()).expect("a folder").count(), 3);

    // What cannot be taken back is told.
    let script = "rename:2:EIO,rollback:*:EIO";
    let desk = Desk::with(|setup| setup.env("PILCROW_FAIL", script));
    let patch = three(&desk);
    let error = desk.edit(&patch).expect_err("one cannot be written");
    assert_eq!(error.kind(), "io", "{}", error.message);
    assert_eq!(error.data["written"], json!(["f.txt"]));
    assert_eq!(error.data["notWritten"], json!(["g.txt", "h.txt"]));
    assert!(
        error
            .message
            .contains("Written: f.txt. Not written: g.txt, h.txt."),
        "{}",
        error.message
    );
    assert_eq!(desk.text("f.txt"), "a\nnew\nc\n");
    assert_eq!(
        (desk.text("g.txt"), desk.text("h.txt")),
        (ABC.to_owned(), ABC.to_owned())
    );
}

/// The daemon stops itself when the new file is in its place; a formatter runs; the daemon goes on.
/// The signal may stop the thread that raised it a moment later than it was raised, so the formatter
/// can come too late; then there is another round.
#[cfg(target_os = "linux")]
#[test]
fn s40_a_formatter_that_changes_what_was_written() {
    let rounds = 20;
    let in_time = (0..rounds).any(|_| a_formatter_runs());
    assert!(in_time, "never told in {rounds} rounds");
}

/// Until a failpoint has stopped the process.
#[cfg(target_os = "linux")]
fn wait_until_stopped(pid: u32) {
    let begun = std::time::Instant::now();
    let is_stopped = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat
            .rsplit_once(") ")
            .map(|(_, rest)| rest.starts_with('T'));
        state.unwrap_or_default()
    };
    while !is_stopped() {
        assert!(begun.elapsed() < HANG, "the daemon never stops");
        std::thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
fn go_on(pid: u32) {
    let process = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let process = process.expect("a process number");
    rustix::process::kill_process(process, rustix::process::Signal::CONT).expect("it goes on");
}

#[cfg(target_os = "linux")]
#[test]
fn s59_a_change_between_plan_and_write_moves_the_edit_or_refuses_it() {
    for (others, expected) in [
        ("new\na\nb\nc\nd\ne\n", Some("new\na\nb\nC\nd\ne\n")),
        ("a\nb\nc, changed\nd\ne\n", None),
    ] {
        let desk = Desk::with(|setup| setup.env("PILCROW_FAIL", "lock:1:STOP"));
        let tag = desk.put("f.txt", "a\nb\nc\nd\ne\n");
        let patch = format!("¶f.txt#{tag}\nreplace 3:\n+C\n");
        let asked = desk.daemon.request("agent/edit", json!({ "patch": patch }));
        wait_until_stopped(desk.daemon.pid());
        desk.tree.replace("f.txt", others);
        go_on(desk.daemon.pid());
        let outcome = desk.daemon.wait(&asked);
        match expected {
            Some(expected) => {
                let result = outcome.expect("an edit");
                assert_eq!(desk.text("f.txt"), expected);
                let remapped = &result["details"]["files"][0]["remapped"];
                assert_eq!(remapped, &json!([{ "from": 3, "to": 4 }]));
            }
            None => {
                assert_eq!(outcome.expect_err("a refusal").kind(), "stale");
                assert_eq!(desk.text("f.txt"), others);
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn a_formatter_runs() -> bool {
    let desk = Desk::with(|setup| setup.env("PILCROW_FAIL", "fsyncdir:1:STOP"));
    let tag = desk.put("f.ts", "a\nb\nc\nd\ne\n");
    let patch = format!("¶f.ts#{tag}\nreplace 2:\n+b  ;\n");
    let pid = desk.daemon.pid();
    let asked = desk.daemon.request("agent/edit", json!({ "patch": patch }));
    wait_until_stopped(pid);
    assert_eq!(desk.text("f.ts"), "a\nb  ;\nc\nd\ne\n", "it is written");
    let formatted = "// formatted\na\nb;\nc\nd\ne\n";
    desk.tree.replace("f.ts", formatted);
    go_on(pid);
    let result = desk.daemon.wait(&asked).expect("the edit is done");
    if result["details"]["files"][0]["tag"] != json!(desk.tag("f.ts")) {
        // It came after the daemon looked again: the tag is that of what was written, and works.
        let tag = result["details"]["files"][0]["tag"].as_str();
        let tag = tag.expect("a tag");
        desk.done(&format!("¶f.ts#{tag}\nreplace 5:\n+E\n"));
        assert_eq!(desk.text("f.ts"), formatted.replace("\ne\n", "\nE\n"));
        return false;
    }
    let reply = desk.reply(&result);
    reply.warns("changedSince", &["'f.ts'", "formatter"]);
    assert!(reply.text.contains("3:b;"), "{}", reply.text);
    assert_eq!(desk.text("f.ts"), formatted, "it is not written over");
    desk.done(&format!("¶f.ts#{}\nreplace 3:\n+B;\n", reply.tag()));
    assert_eq!(desk.text("f.ts"), formatted.replace("b;", "B;"));
    true
}

#[test]
fn s41_the_reply_is_enough_for_the_next_edit() {
    let desk = Desk::new();
    let tag = desk.put("f.txt", l(20));
    let reply = desk.done(&format!("¶f.txt#{tag}\nreplace 10:\n+new one\n+new two\n"));
    let expected = format!(
        "¶f.txt#{}\n8:l8\n9:l9\n10:new one\n11:new two\n12:l11\n13:l12",
        reply.tag()
    );
    assert_eq!(reply.text, expected);
    let changed = json!([{ "start": 10, "end": 11 }]);
    assert_eq!(reply.details["files"][0]["changed"], changed);
    let reply = desk.done(&format!("¶f.txt#{}\nreplace 12:\n+L11\n", reply.tag()));
    assert!(desk.text("f.txt").contains("new two\nL11\nl12\n"));
    let rows: String = (1..=8).map(|n| format!("+r{n}\n")).collect();
    let reply = desk.done(&format!("¶f.txt#{}\nreplace 2:\n{rows}", reply.tag()));
    let expected = format!(
        "¶f.txt#{}\n1:l1\n2:r1\n3:r2\n…\n8:r7\n9:r8\n10:l3\n11:l4",
        reply.tag()
    );
    assert_eq!(reply.text, expected);
    // What a session wrote counts as shown, in the reply or not.
    desk.done(&format!("¶f.txt#{}\nreplace 5:\n+R4\n", reply.tag()));
    assert!(desk.text("f.txt").contains("r3\nR4\nr5\n"));
}
