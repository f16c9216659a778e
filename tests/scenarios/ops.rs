//! Scenarios 80 to 86: ops without rows; where they are read, and what their answers say.

use serde_json::json;

use super::{Desk, l};

#[test]
fn s80_text_by_what_it_says() {
    let desk = Desk::new();
    desk.tree
        .write("f.ts", "let a = 1;\nlet b = 2;\nlet aa = \"a\";\n");
    // No read, no tag.
    let reply = desk.done("¶f.ts\nreplace \"b = 2\" with \"b = 3\"\n");
    assert_eq!(
        desk.text("f.ts"),
        "let a = 1;\nlet b = 3;\nlet aa = \"a\";\n"
    );
    assert!(reply.text.contains("2:let b = 3;"), "{}", reply.text);
    // What was matched, and what the answer shows, may be edited by its tag.
    desk.done(&format!("¶f.ts#{}\nreplace 2:\n+let b = 4;\n", reply.tag()));
    let reply = desk.done("¶f.ts\nreplace all \"let \" with \"const \":\n");
    let expected = format!(
        "¶f.ts#{}\n[Replaced 3 times: \"let\"]\n1:const a = 1;\n2:const b = 4;\n3:const aa = \"a\";",
        reply.tag()
    );
    assert_eq!(reply.text, expected);
    // Several lines, line ends as the file has them; quotes and tabs.
    let (text, _) = desk.made(
        "a\r\n\t\"b\"\r\nc\r\n",
        "replace \"a\\n\\t\\\"b\\\"\" with \"x\\ny\\nz\"\n",
    );
    assert_eq!(text, "x\r\ny\r\nz\r\nc\r\n");
    let (text, _) = desk.made("a b a\n", "replace all \"a\" with \"\"\n");
    assert_eq!(text, " b \n");
}

#[test]
fn s81_all_of_many() {
    let desk = Desk::new();
    let (text, reply) = desk.made(&l(40), "replace all \"l\" with \"L\"\n");
    assert_eq!(text, l(40).replace('l', "L"));
    let rows: Vec<&str> = reply.text.lines().collect();
    assert_eq!(rows[1], "[Replaced 40 times: \"l\"]");
    assert_eq!((rows[2], rows[21]), ("1:L1", "20:L20"));
    assert_eq!(
        rows[22],
        "[Further changes are not shown; read the file to see them.]"
    );
    assert_eq!(rows.len(), 23);
}

#[test]
fn s82_texts_that_are_not_there_once() {
    let desk = Desk::new();
    let file = desk.case("f.txt", "one two\nx\none  two\nonly here: 12\n");
    let patch = |op: &str| format!("¶{}\n{op}\n", file.path);
    let error = desk.refused(
        &patch("replace \"one\" with \"1\""),
        "noMatch",
        &["there 2 times", "1:one two", "3:one  two"],
    );
    assert_eq!(
        error.data["candidates"],
        json!([{ "start": 1, "end": 1 }, { "start": 3, "end": 3 }])
    );
    let words = [
        "Nearest is line 4",
        "'only·here:·1⟪2⏎'",
        "'3' was expected",
        "4:only here: 12",
    ];
    desk.refused(
        &patch("replace \"here: 13\" with \"here: 14\""),
        "noMatch",
        &words[..1],
    );
    desk.refused(
        &patch("replace \"only here: 13\" with \"\""),
        "noMatch",
        &words,
    );
    desk.refused(
        &patch("replace \"one   two\" with \"\""),
        "noMatch",
        &["lines 1..1, 3..3", "blanks"],
    );
    // Every candidate has its row.
    let many = desk.case("m.txt", l(19));
    let error = desk.refused(
        &format!("¶{}\nreplace \"l\" with \"L\"\n", many.path),
        "noMatch",
        &["19 times"],
    );
    for line in 1..=19 {
        assert!(
            error.message.contains(&format!("\n{line}:l{line}")),
            "{}",
            error.message
        );
    }
    // Of a header with a # that is no tag, nobody knows what it means; as a JSON string it is a name.
    desk.tree.write("c#.ts", "a\n");
    desk.refused(
        "¶c#.ts\nreplace \"a\" with \"b\"\n",
        "patchSyntax",
        &["'¶c#.ts' is not a header"],
    );
    desk.edit("¶\"c#.ts\"\nreplace \"a\" with \"b\"\n")
        .expect("a name");
    assert_eq!(desk.text("c#.ts"), "b\n");
}

#[test]
fn s83_ops_that_may_be_rows() {
    let desk = Desk::new();
    for line in [
        "undo",
        "delete file",
        "move 1..2 after 3",
        "move file to x",
        "replace \"a\" with \"b\"",
    ] {
        let words = ["begin the row with +", "above its rows"];
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let error = desk.rejected(
            &l(4),
            &format!("insert after 2:\n{line}\n"),
            "patchSyntax",
            &[],
        );
        for word in words {
            assert!(
                error.message.to_lowercase().contains(&word),
                "{}",
                error.message
            );
        }
        let (text, reply) = desk.made(&l(4), &format!("insert after 2:\n+{line}\n"));
        assert_eq!(text, format!("l1\nl2\n{line}\nl3\nl4\n"));
        reply.warns("looksLikeOp", &["Patch line 3"]);
    }
    let (text, _) = desk.made(&l(4), "insert after 1:\n+x\nmove 3..4 before 1\n");
    assert_eq!(text, "l3\nl4\nl1\nx\nl2\n");
}

#[test]
fn s84_lines_that_move() {
    let desk = Desk::new();
    let (text, reply) = desk.made(&l(5), "move 1..2 after 4\n");
    assert_eq!(text, "l3\nl4\nl1\nl2\nl5\n");
    assert_eq!(reply.codes(), [""; 0]);
    for row in ["3:l1", "4:l2"] {
        assert!(reply.text.contains(row), "{}", reply.text);
    }
    let (text, _) = desk.made("a\nb", "move 2 before 1");
    assert_eq!(text, "b\na\n");
    let (text, _) = desk.made(
        &l(6),
        "move 5..6 after 1\nreplace 3:\n+X\ninsert after 1:\n+y\n",
    );
    assert_eq!(text, "l1\nl5\nl6\ny\nl2\nX\nl4\n");
    let (text, _) = desk.made(&l(6), "move 1 after 6\nmove 2 after 6\n");
    assert_eq!(text, "l3\nl4\nl5\nl6\nl1\nl2\n");
    desk.rejected(
        &l(5),
        "move 1..3 after 2",
        "overlap",
        &["1..3", "line 2, which is one of them"],
    );
    desk.rejected(
        &l(5),
        "move 1..3 after 5\ndelete 3",
        "overlap",
        &["1..3", "3..3"],
    );
    desk.rejected(
        &l(5),
        "insert after 2:\n+x\nmove 1..3 after 5",
        "overlap",
        &["2..2", "1..3"],
    );
    desk.rejected(
        &l(5),
        "move 1..3 after 5\nmove 4 after 1",
        "overlap",
        &["1..3", "1..1"],
    );
    desk.rejected(
        &l(5),
        "move 1..3 after 5\nreplace \"l2\" with \"x\"",
        "overlap",
        &["1..3", "2..2"],
    );
    desk.rejected(
        &l(5),
        "move 4..6 after 1",
        "patchSyntax",
        &["line 6 does not exist"],
    );
    desk.rejected(
        &l(5),
        "move 1..2 after 6",
        "patchSyntax",
        &["line 6 does not exist"],
    );
    // To its own place nothing moves.
    let (text, reply) = desk.made(&l(5), "move 2..3 after 1");
    assert_eq!(text, l(5));
    assert!(reply.text.contains("[No change"), "{}", reply.text);
}

#[test]
fn s85_an_edit_taken_back() {
    let desk = Desk::new();
    let tag = desk.put("f.txt", l(6));
    let reply = desk.done(&format!(
        "¶f.txt#{tag}\nreplace 2..3:\n+x\ninsert tail:\n+end\n"
    ));
    let undone = desk.done(&format!("¶f.txt#{}\nundo\n", reply.tag()));
    assert_eq!((desk.text("f.txt"), undone.tag()), (l(6), &*tag));
    for row in ["2:l2", "3:l3", "6:l6"] {
        assert!(undone.text.contains(row), "{}", undone.text);
    }
    let words = ["'undo' stands alone"];
    desk.refused(
        &format!("¶f.txt#{tag}\nundo\ndelete 1\n"),
        "patchSyntax",
        &words,
    );
    desk.refused("¶f.txt\nundo\n", "patchSyntax", &["has no tag"]);
    let words = ["Patch line 2", "no tag of 'f.txt'"];
    desk.refused("¶f.txt#0000\nundo\n", "unknownTag", &words[1..]);
    let other = desk.put("g.txt", "g\n");
    desk.refused(
        &format!("¶g.txt#{other}\nundo\n"),
        "unsupported",
        &words[..1],
    );
}

#[test]
fn s86_the_structured_form_moves_and_takes_back() {
    let desk = Desk::new();
    let tag = desk.put("f.txt", l(4));
    let send = |tag: &str, edit: serde_json::Value| {
        let files = json!([{ "path": "f.txt", "tag": tag, "edits": [edit] }]);
        desk.daemon.call("agent/edit", json!({ "files": files }))
    };
    let edit = json!({ "op": "move", "start": 1, "end": "2", "after": 3 });
    let moved = desk.reply(&send(&tag, edit).expect("moved"));
    assert_eq!(desk.text("f.txt"), "l3\nl1\nl2\nl4\n");
    let back = send(moved.tag(), json!({ "op": "undo" })).expect("undone");
    assert_eq!(desk.reply(&back).tag(), tag);
    let edit = json!({ "op": "move", "start": 1 });
    let error = send(&tag, edit).expect_err("where to?");
    assert_eq!(error.kind(), "badParams");
}
