//! What an edit says of itself: every fault at once, where an old tag led, what went with a block; nothing is said in `data` alone.

use serde_json::{Value, json};

use super::{Desk, l};

const ABCDE: &str = "a\nb\nc\nd\ne\n";

#[test]
fn a_list_is_no_range() {
    let desk = Desk::new();
    let words =
        "Patch line 2: One range for each op: delete 1..4, or delete 1 and delete 4 as two ops.";
    for list in ["1,4", "1 4", "1, 4", "1 ,4:"] {
        desk.rejected(ABCDE, &format!("delete {list}"), "patchSyntax", &[words]);
    }
    let each = ["delete 1, delete 3, delete 5, each as an op"];
    desk.rejected(ABCDE, "delete 1,3 5", "patchSyntax", &each);
    for range in ["1..4", "1-4", "1 - 4", "1–4", "1…4", "1 .. 4"] {
        let (text, _) = desk.made(ABCDE, &format!("delete {range}"));
        assert_eq!(text, "e\n", "{range}");
    }
    // The rows leave one meaning.
    let (text, _) = desk.made(ABCDE, "replace 1,4:\n+x");
    assert_eq!(text, "x\ne\n");
}

#[test]
fn blank_rows_under_an_op_are_rows() {
    let desk = Desk::new();
    let (text, reply) = desk.made("a\nb\n", "insert after 1:\n\n+x\n\n+y\n\ndelete 2\n");
    assert_eq!(text, "a\n\nx\n\ny\n");
    reply.warns("blankRow", &["Patch line 3", "blank line of text"]);
    let (text, reply) = desk.made("a\nb\n", "insert after 1:\n\nx\n\n");
    assert_eq!(text, "a\n\nx\nb\n");
    reply.warns("bareRows", &["Patch line 2"]);
    // Blank lines alone are no rows.
    desk.rejected(
        "a\n",
        "insert after 1:\n\n\ndelete 1",
        "patchSyntax",
        &["no rows"],
    );
    let (text, _) = desk.made("a\nb\n", "\ndelete 1\n\n\ninsert tail:\n+c\n\n");
    assert_eq!(text, "b\nc\n");
}

fn faults(data: &Value) -> Vec<(String, String, u64)> {
    let faults = data["faults"].as_array().expect("faults");
    let text = |fault: &Value, key: &str| fault[key].as_str().unwrap_or_default().to_owned();
    let one = |fault: &Value| {
        let line = fault["patchLine"].as_u64().unwrap_or_default();
        (text(fault, "kind"), text(fault, "path"), line)
    };
    faults.iter().map(one).collect()
}

#[test]
fn all_faults_of_a_patch_in_one_refusal() {
    let desk = Desk::new();
    let tags: Vec<String> = ["a", "b", "c"]
        .iter()
        .map(|name| desk.put(&format!("{name}.txt"), l(9)))
        .collect();
    desk.tree.write("d.txt", l(9));
    let seen = desk.tag("d.txt:1-2:raw");
    desk.tree.write(".env", "SECRET=hidden\n");
    desk.tree.replace("c.txt", l(9).replace("l5\n", "theirs\n"));
    let patch = format!(
        "¶a.txt#{}\nreplace 2:\n+ok\nreplace 5..3:\n+x\ndelete 99\ndelete block 4\n¶.env#1A2B\ndelete 1\n¶missing.txt#1A2B\ndelete 1\n¶b.txt#{}\ndelete 2..3\ndelete 3..4\n¶c.txt#{}\ndelete 5\ndelete 8\n¶d.txt#{seen}\ndelete 4\ndelete 6\ndelete 1\n¶e.txt\ndelete 1,2\n",
        tags[0], tags[1], tags[2],
    );
    let error = desk.refused(&patch, "patchSyntax", &["11 faults; nothing was written."]);
    let expected = [
        ("patchSyntax", "a.txt", 4),
        ("patchSyntax", "a.txt", 6),
        ("patchSyntax", "a.txt", 7),
        ("denied", ".env", 8),
        ("notFound", "missing.txt", 10),
        ("overlap", "b.txt", 14),
        ("stale", "c.txt", 16),
        ("notShown", "d.txt", 19),
        ("notShown", "d.txt", 20),
        ("patchSyntax", "", 22),
        ("patchSyntax", "", 23),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(kind, path, line)| ((*kind).to_owned(), (*path).to_owned(), *line))
        .collect();
    assert_eq!(faults(&error.data), expected);
    let message = &error.message;
    for words in [
        "\n1. a.txt: Patch line 4: the range 5..3 ends before it begins.",
        "\n2. a.txt: Patch line 6: line 99 does not exist (9 lines).",
        "\n4. .env: Access to '.env' is denied",
        "\n5. missing.txt: File not found: missing.txt.",
        "\n7. c.txt: Patch line 16: line 5 changed since it was read.\n",
        "\n¶c.txt#",
        "\n5:theirs\n",
        "\n¶d.txt#",
        "\n4:l4\n…\n6:l6",
    ] {
        assert!(message.contains(words), "no {words:?} in {message}");
    }
    assert!(!message.contains("hidden"), "{message}");
    assert!(!error.data.to_string().contains("hidden"));
    assert_eq!(error.data["patchLine"], 4);
    assert_eq!(error.data["retryable"], false);
    let files = error.data["files"].as_array().expect("files");
    let paths: Vec<_> = files.iter().map(|file| &file["path"]).collect();
    assert_eq!(paths, ["a.txt", "c.txt", "d.txt"]);
    // What it showed can be edited now.
    let tag = files[1]["tag"].as_str().expect("a tag");
    let patch = format!("¶c.txt#{tag}\nreplace 5:\n+mine\n¶d.txt#{seen}\ndelete 4\ndelete 6\n");
    desk.done(&patch);
}

#[test]
fn one_fault_is_told_with_its_file_and_its_lines() {
    let desk = Desk::new();
    let file = desk.case("f.txt", l(9));
    for (ops, kind) in [
        ("replace 5..3:\n+x", "patchSyntax"),
        ("delete 99", "patchSyntax"),
        ("delete block 4", "patchSyntax"),
        ("delete 2..3\ndelete 3..4", "overlap"),
    ] {
        let error = desk.refused(&file.patch(ops), kind, &[&file.path]);
        let faults = error.data["faults"].as_array().expect("faults");
        assert_eq!(faults.len(), 1, "{}", error.data);
        assert_eq!(faults[0]["kind"], kind);
        assert_eq!(faults[0]["path"], file.path.as_str());
        assert!(!error.message.contains(" faults"), "{}", error.message);
    }
    desk.tree
        .replace(&file.path, l(9).replace("l5\n", "theirs\n"));
    let error = desk.refused(&file.patch("replace 5:\n+x"), "stale", &["Patch line 2"]);
    let live = error.data["files"][0]["tag"].as_str().expect("a tag");
    let rows = format!("\n¶{}#{live}\n3:l3\n4:l4\n5:theirs\n6:l6\n7:l7", file.path);
    assert!(error.message.ends_with(&rows), "{}", error.message);
    // A whole file is told of in the same way.
    let params = json!({ "path": file.path, "text": "x\n", "expect": file.tag });
    let error = desk.daemon.call("agent/write", params).expect_err("stale");
    assert!(error.message.contains("\n5:theirs\n"), "{}", error.message);
}

#[test]
fn the_structured_form_has_all_its_faults() {
    let desk = Desk::new();
    let one = desk.put("one.txt", l(5));
    let two = desk.put("two.txt", l(5));
    desk.tree
        .replace("two.txt", l(5).replace("l4\n", "theirs\n"));
    let files = json!([
        { "path": "one.txt", "tag": one, "edits": [
            { "op": "delete", "start": 3, "end": 2 },
            { "op": "delete", "start": 1 },
            { "op": "delet", "start": 1 },
            { "op": "insert_after", "line": 9, "text": "x" },
            { "op": "replace_text", "old": "nowhere", "new": "x" },
        ] },
        { "path": "two.txt", "tag": two, "edits": [{ "op": "delete", "start": 4 }] },
        { "path": "three.txt", "edits": [{ "op": "delete", "start": 4 }] },
        { "edits": [] },
    ]);
    let before = desk.everything();
    let params = json!({ "files": files, "dryRun": true });
    let error = desk.daemon.call("agent/edit", params).expect_err("faults");
    assert_eq!(desk.everything(), before);
    let kinds: Vec<String> = faults(&error.data).into_iter().map(|it| it.0).collect();
    let expected = [
        "patchSyntax",
        "badParams",
        "patchSyntax",
        "noMatch",
        "stale",
        "patchSyntax",
        "badParams",
    ];
    assert_eq!(kinds, expected, "{}", error.message);
    assert_eq!((error.kind(), error.code), ("patchSyntax", -32602));
    for words in [
        "\n1. one.txt: files[0].edits[0]: the range 3..2",
        "\n2. one.txt: 'files[0].edits[2].op' is 'delet'",
        "\n3. one.txt: files[0].edits[3]: line 9 does not exist",
        "\n5. two.txt: files[1].edits[0]: line 4 changed since it was read.\n",
        "\n6. three.txt: files[2].edits[0]: a tag is needed",
        "'files[3].path'",
        "\n4:theirs\n",
    ] {
        assert!(error.message.contains(words), "{words}: {}", error.message);
    }
    assert!(error.data["faults"][0].get("patchLine").is_none());
}

#[test]
fn the_lines_of_a_refusal_have_a_bound() {
    let desk = Desk::new();
    let long = |n: usize| format!("{n}{}", "x".repeat(3000));
    let text: String = (1..=9).map(|n| long(n) + "\n").collect();
    desk.tree.write("f.txt", &text);
    let tag = desk.tag("f.txt:1-1:raw");
    let patch = format!("¶f.txt#{tag}\ndelete 2..9\n");
    let words = ["the first 5 are given", "no room for more lines here"];
    let error = desk.refused(&patch, "notShown", &words);
    assert!(error.message.len() < 18 << 10);
    assert_eq!(
        error.data["files"][0]["lines"].as_array().map(Vec::len),
        Some(5)
    );
    // Those that were given count as shown, and no others.
    desk.refused(&patch, "notShown", &["3 lines", "they are given"]);
    desk.done(&patch);
    let many: String = (0..200).map(|_| "delete 0\n").collect();
    let file = desk.case("g.txt", l(3));
    let error = desk.refused(&file.patch(&many), "patchSyntax", &["100 faults"]);
    assert!(error.message.len() < 18 << 10);
}

#[test]
fn an_old_tag_says_where_it_led() {
    let desk = Desk::new();
    let tag = desk.put("f.txt", l(9));
    desk.done(&format!("¶f.txt#{tag}\ninsert before 2:\n+one\n+two\n"));
    let patch = format!("¶f.txt#{tag}\ndelete 1\nreplace 8:\n+L8\ndelete 5..6\n");
    let notes = format!(
        "\n[#{tag} is an older version: line 8 is now 10]\n[#{tag} is an older version: lines 5-6 are now 7-8]\n"
    );
    let params = json!({ "patch": patch, "dryRun": true });
    let tried = desk.daemon.call("agent/edit", params).expect("a trial");
    let tried = tried["content"][0]["text"].as_str().expect("a text");
    assert!(tried.contains(&notes), "{tried}");
    let reply = desk.done(&patch);
    assert!(reply.text.contains(&notes), "{}", reply.text);
    assert_eq!(reply.text.matches("older version").count(), 2);
    assert_eq!(desk.text("f.txt"), "one\ntwo\nl2\nl3\nl4\nl7\nL8\nl9\n");
    let reply = desk.done(&format!("¶f.txt#{}\ndelete 1\n", reply.tag()));
    assert!(!reply.text.contains("older version"), "{}", reply.text);
}

#[test]
fn what_goes_with_a_block_is_named() {
    let desk = Desk::new();
    let text = "use a;\n\n/// Says it.\n#[inline]\nfn main() {\n    a();\n    b();\n}\n\nfn g() {\n    c();\n}\n";
    let ops = "delete block 5\nreplace block 10:\n+fn h() {}\n";
    let (after, reply) = desk.made_of("f.rs", text, ops);
    assert_eq!(after, "use a;\n\n\nfn h() {}\n");
    let notes = "\n[Removed 3-8: 6 lines, from \"/// Says it.\"]\n[Removed 10-12: 3 lines, from \"fn g() {\"]\n";
    assert!(reply.text.contains(notes), "{}", reply.text);
    assert!(!reply.text.contains("a();"), "{}", reply.text);
    let blocks =
        json!([{ "line": 5, "start": 3, "end": 8 }, { "line": 10, "start": 10, "end": 12 }]);
    assert_eq!(reply.details["files"][0]["blocks"], blocks);
    let (_, reply) = desk.made_of("f.rs", text, "insert after block 5:\n+// end\ndelete 1\n");
    assert!(!reply.text.contains("[Removed"), "{}", reply.text);
}
