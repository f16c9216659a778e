//! Scenarios 59 to 70: tags of texts that are there no more, and lines that were never shown; nothing is applied to a line on a guess.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use super::{Desk, l};

/// `l(count)` with some lines replaced.
fn l_with(count: usize, changes: &[(usize, &str)]) -> String {
    let mut lines: Vec<String> = (1..=count).map(|n| format!("l{n}")).collect();
    for (line, text) in changes {
        lines[line - 1] = (*text).to_owned();
    }
    lines.join("\n") + "\n"
}

/// The rows of the first file of a refusal, as a read would show them.
fn rows(data: &Value) -> Vec<String> {
    let lines = data["files"][0]["lines"].as_array().expect("lines");
    let row = |line: &Value| {
        let text = line["text"].as_str().expect("a text");
        format!("{}:{text}", line["line"])
    };
    lines.iter().map(row).collect()
}

fn live_tag(data: &Value) -> &str {
    data["files"][0]["tag"].as_str().expect("a tag")
}

#[test]
fn s59_changes_from_outside_far_away_and_on_the_line() {
    let desk = Desk::new();
    // Replaced by rename, and written over in place.
    for in_place in [false, true] {
        let write = |text: String| match in_place {
            true => fs::write(desk.tree.join("f.txt"), text).expect("written"),
            false => desk.tree.replace("f.txt", text),
        };
        let tag = desk.put("f.txt", l(20));
        write(l(20) + "appended\n");
        let ours = if in_place { "L5 in place" } else { "L5" };
        let reply = desk.done(&format!("¶f.txt#{tag}\nreplace 5:\n+{ours}\n"));
        assert_eq!(desk.text("f.txt"), l_with(20, &[(5, ours)]) + "appended\n");
        assert_eq!(reply.remapped(), &Value::Null);
        reply.warns("movedOn", &["'f.txt'", &tag, "same lines"]);
        let tag = desk.tag("f.txt");
        write(l_with(20, &[(5, "theirs")]));
        let patch = format!("¶f.txt#{tag}\nreplace 5:\n+mine\n");
        let words = [
            "atch line 2",
            "line 5",
            "it was read",
            "Nothing was written",
        ];
        let error = desk.refused(&patch, "stale", &words);
        assert_eq!(
            rows(&error.data),
            ["3:l3", "4:l4", "5:theirs", "6:l6", "7:l7"]
        );
        let fresh = live_tag(&error.data);
        assert_eq!(
            fresh,
            desk.tag_of(json!({ "path": "f.txt", "session": "onlooker" }))
        );
        assert!(
            error.message.contains(&format!("¶f.txt#{fresh}")),
            "{}",
            error.message
        );
        // The refusal is enough for the next call.
        desk.done(&format!("¶f.txt#{fresh}\nreplace 5:\n+mine\n"));
        assert_eq!(desk.text("f.txt"), l_with(20, &[(5, "mine")]));
    }
}

#[test]
fn s60_lines_that_moved() {
    let desk = Desk::new();
    let tag = desk.put("f.txt", l(10));
    desk.tree.replace("f.txt", format!("new\n{}", l(10)));
    let reply = desk.done(&format!("¶f.txt#{tag}\nreplace 5:\n+L5\n"));
    assert_eq!(
        desk.text("f.txt"),
        format!("new\n{}", l_with(10, &[(5, "L5")]))
    );
    assert_eq!(reply.remapped(), &json!([{ "from": 5, "to": 6 }]));
    assert!(reply.text.contains("6:L5"), "{}", reply.text);
    let tag = desk.put("g.txt", l(10));
    desk.tree
        .replace("g.txt", l(10).replace("l1\nl2\n", "l2\n"));
    let reply = desk.done(&format!("¶g.txt#{tag}\nreplace 5:\n+L5\n"));
    assert_eq!(
        desk.text("g.txt"),
        l_with(10, &[(5, "L5")]).replace("l1\nl2\n", "l2\n")
    );
    assert_eq!(reply.remapped(), &json!([{ "from": 5, "to": 4 }]));
}

#[test]
fn s61_lines_that_may_be_others() {
    let desk = Desk::new();
    let refused = |before: &str, after: &str, ops: &str| {
        let file = desk.case("f.txt", before);
        desk.tree.replace(&file.path, after);
        let error = desk.refused(&file.patch(ops), "stale", &["Nothing was written"]);
        let fresh = format!("¶{}#{}", file.path, live_tag(&error.data));
        assert!(error.message.contains(&fresh), "{}", error.message);
    };
    let dup = "start\nDUP\nmid\nDUP\ntail\n";
    refused(dup, "start\nmid\nDUP\nCHANGED\ntail\n", "replace 4:\n+x");
    // The whole block is there twice, and the one that was meant has changed.
    let block = "{\n  one\n  two\n}\n";
    let before = format!("head\n{block}middle\n{block}end\n");
    let after = format!("head\n{}middle\n{block}end\n", block.replace("two", "2"));
    refused(&before, &after, "replace 2..5:\n+x");
    refused(&before, &after, "replace 4:\n+x");
    // A line that is there once, and both of its neighbours are others.
    refused(&l(5), "l1\nX\nl3\nY\nl5\n", "replace 3:\n+x");
}

#[test]
fn s62_tags_that_name_nothing_here() {
    let desk = Desk::new();
    let tag = desk.put("f.txt", l(9));
    let other = desk.put("g.txt", l(8));
    assert_ne!(tag, "0000");
    for unknown in ["0000", &other] {
        let patch = format!("¶f.txt#{unknown}\nreplace 5:\n+L5\n");
        let error = desk.refused(
            &patch,
            "unknownTag",
            &[unknown, "'f.txt'", &format!("¶f.txt#{tag}")],
        );
        assert_eq!(live_tag(&error.data), tag);
        assert_eq!(rows(&error.data), ["3:l3", "4:l4", "5:l5", "6:l6", "7:l7"]);
    }
    // After a restart a refusal is enough to go on, whether the file is still the same or not.
    for (text, kind) in [(l(9), "notShown"), (l(12), "unknownTag")] {
        let fresh = Desk::new();
        fresh.tree.write("f.txt", &text);
        let patch = format!("¶f.txt#{tag}\nreplace 5:\n+L5\n");
        let error = fresh.refused(&patch, kind, &["atch line "]);
        fresh.done(&format!(
            "¶f.txt#{}\nreplace 5:\n+L5\n",
            live_tag(&error.data)
        ));
        assert_eq!(fresh.text("f.txt"), text.replace("l5\n", "L5\n"));
    }
}

#[test]
fn s62_an_expired_tag() {
    let desk = Desk::with(|setup| setup.settings(json!({ "memory": { "budgetBytes": 2048 } })));
    let tag = desk.put("f.txt", l(9));
    evict(&desk, "f.txt");
    let patch = format!("¶f.txt#{tag}\nreplace 5:\n+L5\n");
    let error = desk.refused(&patch, "expiredTag", &[&tag, "no longer held"]);
    assert!(
        error
            .message
            .contains(&format!("¶f.txt#{}", live_tag(&error.data)))
    );
}

/// Rewrites the file and reads it until what it held first must be gone.
fn evict(desk: &Desk, path: &str) {
    for round in 0..40 {
        let text: String = (0..100).map(|n| format!("{round} {n}\n")).collect();
        desk.put(path, text);
    }
}

const A: &str = "line one 263\nline two 4471\n";
const B: &str = "line one 410\nline two 6970\n";

#[test]
fn s63_two_texts_of_one_natural_tag() {
    let desk = Desk::new();
    assert_eq!(desk.put("f.txt", A), "1D84");
    desk.tree.replace("f.txt", B);
    let patch = "¶f.txt#1D84\nreplace 2:\n+mine\n";
    let error = desk.refused(patch, "stale", &["line 2"]);
    assert_ne!(live_tag(&error.data), "1D84");
    // Each keeps its own name and its own lines that were shown.
    let one = desk.tag_of(json!({ "path": "f.txt:1,1", "session": "other" }));
    assert_eq!(one, live_tag(&error.data));
    desk.tree.replace("f.txt", A);
    assert_eq!(
        desk.tag_of(json!({ "path": "f.txt:2,2", "session": "other" })),
        "1D84"
    );
    let by_other = |tag: &str, line: u64| {
        let patch = format!("¶f.txt#{tag}\nreplace {line}:\n+x\n");
        let params = json!({ "patch": patch, "session": "other", "dryRun": true });
        desk.daemon.call("agent/edit", params)
    };
    let error = by_other("1D84", 1).expect_err("never shown under that tag");
    assert_eq!(error.kind(), "notShown", "{}", error.message);
    by_other("1D84", 2).expect("it was shown");
    desk.tree.replace("f.txt", B);
    let error = by_other(&one, 2).expect_err("never shown under that tag");
    assert_eq!(error.kind(), "notShown", "{}", error.message);
    by_other(&one, 1).expect("it was shown");
    assert_eq!(desk.text("f.txt"), B);
}

#[test]
fn s64_head_and_tail_of_a_file_that_moved_on() {
    let desk = Desk::new();
    let tag = desk.put("f.txt", l(5));
    desk.tree.replace("f.txt", "all\nnew\n");
    let patch = format!("¶f.txt#{tag}\ninsert head:\n+first\ninsert tail:\n+last\n");
    let reply = desk.done(&patch);
    assert_eq!(desk.text("f.txt"), "first\nall\nnew\nlast\n");
    reply.warns("movedOn", &["'f.txt'", &tag]);
    let (_, reply) = desk.made(&l(5), "insert head:\n+first");
    assert_eq!(reply.codes(), [""; 0]);
}

#[test]
fn s66_lines_that_were_never_shown() {
    let desk = Desk::new();
    desk.tree.write("f.txt", l(9));
    let tag = desk.tag("f.txt:1-2:raw");
    let patch = format!("¶f.txt#{tag}\nreplace 4:\n+L4\n");
    let words = [
        "atch line 2",
        "line 4",
        "never shown",
        "send the edit again",
    ];
    let error = desk.refused(&patch, "notShown", &words);
    assert_eq!(rows(&error.data), ["4:l4"]);
    assert_eq!(live_tag(&error.data), tag);
    desk.done(&patch);
    assert_eq!(desk.text("f.txt"), l_with(9, &[(4, "L4")]));
    // A second read adds to the first.
    desk.tree.write("g.txt", l(9));
    let tag = desk.tag("g.txt:1-2:raw");
    assert_eq!(desk.tag("g.txt:4-5:raw"), tag);
    let patch = format!("¶g.txt#{tag}\nreplace 2:\n+L2\nreplace 4..5:\n+L4\n+L5\n");
    desk.done(&patch);
    assert_eq!(
        desk.text("g.txt"),
        l_with(9, &[(2, "L2"), (4, "L4"), (5, "L5")])
    );
}

#[test]
fn s66_forty_lines_at_a_time_and_long_ones_whole() {
    let desk = Desk::new();
    desk.tree.write("f.txt", l(70));
    let tag = desk.tag("f.txt:1-2:raw");
    let patch = format!("¶f.txt#{tag}\nreplace 5..64:\n+x\n");
    let error = desk.refused(&patch, "notShown", &["60 lines", "first 40"]);
    let shown = rows(&error.data);
    assert_eq!(
        (shown.len(), shown[0].as_str(), shown[39].as_str()),
        (40, "5:l5", "44:l44")
    );
    let error = desk.refused(&patch, "notShown", &["20 lines"]);
    let shown = rows(&error.data);
    assert_eq!(
        (shown.len(), shown[0].as_str(), shown[19].as_str()),
        (20, "45:l45", "64:l64")
    );
    desk.done(&patch);
    assert_eq!(desk.text("f.txt").lines().count(), 11);
    let long = "w".repeat(600);
    desk.tree.write("g.txt", l_with(9, &[(4, &long)]));
    let tag = desk.tag("g.txt:1-2:raw");
    let patch = format!("¶g.txt#{tag}\nreplace 4:\n+short\n");
    let error = desk.refused(&patch, "notShown", &["line 4"]);
    assert_eq!(rows(&error.data), [format!("4:{long}")]);
    desk.done(&patch);
}

#[test]
fn s66_a_line_too_long_for_a_refusal() {
    let desk = Desk::new();
    desk.tree
        .write("f.txt", l_with(9, &[(4, &"w".repeat(5000))]));
    let tag = desk.tag("f.txt:1-2:raw");
    let patch = format!("¶f.txt#{tag}\nreplace 4:\n+short\n");
    for _ in 0..2 {
        let words = ["line 4 is too long", "read 'f.txt:4-4:raw'"];
        desk.refused(&patch, "notShown", &words);
    }
    desk.tag("f.txt:4-4:raw");
    desk.done(&patch);
    assert_eq!(desk.text("f.txt"), l_with(9, &[(4, "short")]));
}

#[test]
fn s66_shown_by_a_refusal_under_an_older_tag() {
    let desk = Desk::new();
    desk.tree.write("f.txt", l(9));
    let tag = desk.tag("f.txt:1-2:raw");
    desk.tree.replace("f.txt", format!("new\n{}", l(9)));
    let patch = format!("¶f.txt#{tag}\nreplace 4:\n+L4\n");
    let error = desk.refused(&patch, "notShown", &["line 5", "send the edit again"]);
    assert_eq!(rows(&error.data), ["5:l4"]);
    let fresh = format!("¶f.txt#{}", live_tag(&error.data));
    assert!(error.message.contains(&fresh), "{}", error.message);
    desk.done(&patch);
    assert_eq!(
        desk.text("f.txt"),
        format!("new\n{}", l_with(9, &[(4, "L4")]))
    );
}

#[test]
fn s67_the_inside_of_a_folded_row() {
    let mut text = String::from("fn first() {\n    1\n}\n\n\n\n\n\n\nfn folded() {\n");
    (11..=19).for_each(|n| writeln!(text, "    call({n});").expect("a string"));
    text.push_str("}\n");
    (21..=200).for_each(|n| writeln!(text, "static S{n}: u8 = 0;").expect("a string"));
    let desk = Desk::new();
    desk.tree.write("f.rs", &text);
    let read = desk.daemon.read("f.rs").expect("a read");
    let shown = read["content"][0]["text"].as_str().expect("a text");
    assert!(shown.contains("\n10-20:fn folded() { … }\n"), "{shown}");
    let tag = desk.tag("f.rs");
    let patch = |ops: &str| format!("¶f.rs#{tag}\n{ops}");
    for line in [11, 15, 19] {
        let error = desk.daemon.call(
            "agent/edit",
            json!({ "patch": patch(&format!("delete {line}")), "dryRun": true }),
        );
        // The refusal shows it, so each line is asked for once.
        assert_eq!(error.expect_err("not shown").kind(), "notShown", "{line}");
    }
    desk.refused(&patch("replace 10..20:\n+x"), "notShown", &["6 lines"]);
    let desk = Desk::new();
    desk.tree.write("f.rs", &text);
    assert_eq!(desk.tag("f.rs"), tag);
    desk.done(&patch(
        "replace 10:\n+fn named() {\nreplace 20:\n+} // named",
    ));
    assert!(desk.text("f.rs").contains("fn named() {\n    call(11);"));
    assert!(desk.text("f.rs").contains("    call(19);\n} // named\n"));
}

#[test]
fn s68_a_path_that_is_missing() {
    let desk = Desk::new();
    let tag = desk.put("src/f.ts", l(5));
    for missing in ["f.ts", "lib/f.ts"] {
        let tag = desk.tag("src/f.ts");
        let reply = desk.done(&format!(
            "¶{missing}#{tag}\nreplace 2:\n+l2; // {missing}\n"
        ));
        reply.warns("rebound", &[&format!("'{missing}'"), "'src/f.ts'"]);
        assert!(
            desk.text("src/f.ts")
                .contains(&format!("l2; // {missing}\n"))
        );
        assert!(reply.text.contains("¶src/f.ts#"), "{}", reply.text);
        assert!(!desk.tree.join(missing).exists());
    }
    // Another base name, and another tag.
    let now = desk.tag("src/f.ts");
    desk.refused(
        &format!("¶lib/g.ts#{now}\ndelete 2"),
        "notFound",
        &["lib/g.ts"],
    );
    desk.refused("¶lib/f.ts#0000\ndelete 2", "notFound", &["lib/f.ts"]);
    assert_ne!(now, tag);
    // Two that it may be.
    assert_eq!(desk.put("one/h.ts", l(6)), desk.put("two/h.ts", l(6)));
    let tag = desk.tag("one/h.ts");
    desk.refused(
        &format!("¶lib/h.ts#{tag}\ndelete 2"),
        "notFound",
        &["lib/h.ts"],
    );
}

#[test]
fn s68_access_is_judged_on_the_final_path() {
    let desk =
        Desk::with(|setup| setup.settings(json!({ "access": { "outsideWorkspace": "read" } })));
    let outside = crate::tree::Tree::new().file("away.ts", l(5));
    let tag = desk.tag(&outside.spelled("away.ts"));
    let patch = format!("¶src/away.ts#{tag}\ndelete 2");
    let error = desk.refused(&patch, "outsideWorkspace", &["away.ts"]);
    assert_eq!(error.data["realPath"], outside.spelled("away.ts"));
    assert_eq!(
        fs::read_to_string(outside.join("away.ts")).expect("it is there"),
        l(5)
    );
}

#[test]
fn s69_eviction_and_names() {
    let desk = Desk::with(|setup| setup.settings(json!({ "memory": { "budgetBytes": 2048 } })));
    assert_eq!(desk.put("f.txt", A), "1D84");
    evict(&desk, "f.txt");
    // The text of the same natural tag does not get the name of the one that is gone.
    let b = desk.put("f.txt", B);
    assert_ne!(b, "1D84");
    let patch = "¶f.txt#1D84\nreplace 2:\n+mine\n";
    let error = desk.refused(patch, "expiredTag", &["1D84"]);
    assert_eq!(live_tag(&error.data), b);
    evict(&desk, "f.txt");
    assert_eq!(desk.put("f.txt", A), "1D84");
    desk.done(patch);
    assert_eq!(desk.text("f.txt"), "line one 263\nmine\n");
    evict(&desk, "f.txt");
    assert_eq!(desk.put("f.txt", B), b);
}

#[test]
fn s70_a_file_too_large_to_edit() {
    let desk = Desk::new();
    let line = "0123456789abcdef".repeat(64) + "\n";
    desk.tree
        .write("big.txt", line.repeat((32 << 20) / line.len() + 2));
    let read = desk.daemon.read("big.txt:1,1").expect("a read");
    let text = read["content"][0]["text"].as_str().expect("a text");
    assert!(!text.contains('¶'), "{}", &text[..100]);
    assert_eq!(read["details"]["hashline"], Value::Null);
    let words = ["big.txt", "32 MiB", "sed"];
    desk.refused("¶big.txt#1A2B\ndelete 1", "tooLarge", &words);
}
