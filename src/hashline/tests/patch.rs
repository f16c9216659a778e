//! Scenarios of patch text and its structured twin, by their numbers; no text of a file is needed for any of them.

use serde_json::json;

use crate::hashline::error::Syntax;
use crate::hashline::ops::{Batch, Op, Origin, Section, WarningCode};
use crate::hashline::patch::Patch;
use crate::hashline::structured::{StructuredError, parse_files};
use crate::hashline::tag::Tag;
use crate::protocol::Refusal;
use crate::protocol::read::LineSpan;

fn parse(text: &str) -> Patch {
    Patch::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// The ops of a body under `¶f#1A2B`.
fn body(text: &str) -> Section {
    parse(&format!("¶f#1A2B\n{text}")).sections.remove(0)
}

fn ops(text: &str) -> Vec<Op> {
    body(text).hunks.into_iter().map(|hunk| hunk.op).collect()
}

fn codes(text: &str) -> Vec<WarningCode> {
    body(text)
        .warnings
        .iter()
        .map(|warning| warning.code)
        .collect()
}

fn rows(text: &str) -> Vec<String> {
    match ops(text).remove(0) {
        Op::Replace { rows, .. } | Op::InsertTail { rows } => rows,
        other => panic!("{other:?}"),
    }
}

fn refused(text: &str) -> String {
    match Patch::parse(text) {
        Ok(patch) => panic!("{text:?} was taken as {patch:?}"),
        Err(error) => error.to_string(),
    }
}

fn refused_body(text: &str) -> String {
    refused(&format!("¶f#1A2B\n{text}"))
}

fn span(start: u64, end: u64) -> LineSpan {
    LineSpan { start, end }
}

fn replace(start: u64, end: u64, rows: &[&str]) -> Op {
    Op::Replace {
        lines: span(start, end),
        rows: rows.iter().map(|row| (*row).to_owned()).collect(),
    }
}

#[test]
fn scenario_04_ranges_in_any_dress() {
    for (op, end) in [
        ("replace 2:", 2),
        ("replace 2-3:", 3),
        ("replace 2…3:", 3),
        ("replace 2–3:", 3),
        ("replace 2.=3:", 3),
        ("replace 2, 3:", 3),
        ("replace 2 3:", 3),
        ("replace 2 .. 3 :", 3),
        ("replace 2..3", 3),
        ("replace 2..3.:", 3),
        ("REPLACE 2..3:", 3),
    ] {
        assert_eq!(
            ops(&format!("{op}\n+x\n")),
            [replace(2, end, &["x"])],
            "{op}"
        );
    }
    assert_eq!(ops("replace 2..:\n+x"), [replace(2, 2, &["x"])]);
    assert_eq!(codes("replace 2..:\n+x"), [WarningCode::DanglingRange]);
}

#[test]
fn scenario_05_blanks_around_verbs() {
    let expected = [Op::Delete { lines: span(2, 2) }];
    assert_eq!(ops("delete 2 "), expected);
    assert_eq!(ops("  delete 2"), expected);
    assert_eq!(ops("\tDelete 2\n\n\n"), expected);
}

#[test]
fn scenario_06_07_08_10_headers() {
    for (header, path) in [
        ("¶f.ts#1a2b", "f.ts"),
        ("¶ f.ts#1A2B ", "f.ts"),
        ("¶dir with spaces/f.ts#1A2B", "dir with spaces/f.ts"),
        ("¶\"dir/f.ts\"#1A2B", "dir/f.ts"),
        ("¶\"a\\\"b \"#1A2B", "a\"b "),
        ("¶*** Update File: d/f.ts#1A2B", "d/f.ts"),
        ("¶update file:d/f.ts#1A2B", "d/f.ts"),
        ("[f.ts#1A2B]", "f.ts"),
        ("¶c#/x#1A2B", "c#/x"),
        ("¶/abs/f.ts#1A2B", "/abs/f.ts"),
    ] {
        let section = parse(&format!("{header}\ndelete 1")).sections.remove(0);
        assert_eq!(
            (section.path.as_str(), section.tag),
            (path, Some(Tag(0x1A2B)))
        );
    }
    assert_eq!(rows("replace 1..1:\n[section]\n"), ["[section]"]);
}

#[test]
fn scenario_09_11_bad_headers() {
    for tag in ["T copied", "1A2B copied", "1A2B:12", "1A2", "1A2G", "1A2B5"] {
        let error = Patch::parse(&format!("¶f#{tag}\ndelete 1"))
            .unwrap_err()
            .faults
            .remove(0);
        assert!(matches!(error.what, Syntax::BadHeader { .. }), "{error}");
        assert_eq!(error.origin, Origin::PatchLine(1));
    }
    for header in ["¶f.ts", "¶f.ts#", "[f.ts]", "¶\"f#1A2B\""] {
        let error = Patch::parse(&format!("{header}\ninsert tail:\n+x"))
            .unwrap_err()
            .faults
            .remove(0);
        assert!(matches!(error.what, Syntax::MissingTag { .. }), "{error}");
    }
    insta::assert_snapshot!(refused("¶f.ts\ninsert head:\n+x"), @"patch line 1: the header '¶f.ts' has no tag. Copy the whole header ¶PATH#TAG from a read of the file; head and tail inserts need it too.");
    // A header that lost its mark is neither a remark nor text.
    refused_body("delete 2\n# b.ts#2222\ndelete 3");
    refused_body("replace 1:\nx\nb.ts#2222\ndelete 3");
}

#[test]
fn scenario_12_13_envelopes() {
    let plain = parse("¶f#1A2B\nreplace 1..1:\n+a\n+\ndelete 3\n");
    for text in [
        "*** Begin Patch\n¶f#1A2B\nreplace 1..1:\n+a\n+\ndelete 3\n*** End Patch\n",
        "\n\n¶f#1A2B\nreplace 1..1:\n+a\n+\ndelete 3",
        "\u{feff}¶f#1A2B\nreplace 1..1:\n+a\n+\ndelete 3",
        "¶f#1A2B\r\nreplace 1..1:\r\n+a\r\n+\r\ndelete 3\r\n",
        "¶f#1A2B\n\nreplace 1..1:\n+a\n+\n\ndelete 3\n*** End Patch\nand some words\n+x",
        "¶f#1A2B\nreplace 1..1:\n+a\n+\ndelete 3\n*** Abort\n@@ -1 +1 @@",
    ] {
        let patch = parse(text);
        assert_eq!(patch.to_string(), plain.to_string(), "{text:?}");
        assert!(patch.sections[0].warnings.is_empty(), "{text:?}");
    }
}

#[test]
fn scenario_14_other_formats() {
    for text in [
        "*** Update File: x\n",
        "@@ -1,3 +1,3 @@\n",
        "diff --git a/x b/x\n",
        "--- a/x\n+++ b/x\n",
        "¶f#1A2B\n@@ -1,3 +1,3 @@\n",
        "¶f#1A2B\nreplace 1..1:\n@@ -1,3 +1,3 @@\n",
        "¶f#1A2B\nreplace 1..1:\n+a\n*** Update File: x\n",
        "¶f#1A2B\n--- a/x\n",
    ] {
        let error = Patch::parse(text).unwrap_err().faults.remove(0);
        assert!(
            matches!(error.what, Syntax::ForeignFormat { .. }),
            "{error}"
        );
    }
    assert_eq!(rows("replace 1..1:\n+@@ -1 +1 @@\n"), ["@@ -1 +1 @@"]);
}

#[test]
fn scenario_15_16_lines_without_a_verb_or_an_op() {
    insta::assert_snapshot!(refused_body("2..3:\n+x"), @"patch line 2: '2..3' is a number without a verb. Write 'replace 2..3:', 'delete 2..3' or 'insert after 3:'.");
    refused_body("2\n+x");
    insta::assert_snapshot!(refused("+x\n¶f#1A2B\ndelete 1"), @"patch line 1: the row '+x' belongs to no op. Put the op that it is the text of, such as 'insert after 2:', above it.");
    refused_body("+x");
    insta::assert_snapshot!(refused("Here is the patch:\n¶f#1A2B\ndelete 1"), @"patch line 1: 'Here is the patch:' stands before any header. Begin with ¶PATH#TAG, copied from a read of the file.");
    refused("delete 1");
    refused("");
    refused("¶f#1A2B\n");
    refused("¶f#1A2B\n¶g#1A2B\ndelete 1");
    refused_body("remove 3");
    refused_body("replace block");
    refused_body("delete 2\ndelte 3");
}

#[test]
fn scenario_17_rows_are_verbatim() {
    let text = "replace 1..1:\n+-lit\n++plus\n+\tx\n+|x\n+\n+ ¶\n";
    assert_eq!(rows(text), ["-lit", "+plus", "\tx", "|x", "", " ¶"]);
    assert!(codes(text).is_empty());
}

#[test]
fn scenario_18_minus_rows() {
    assert_eq!(rows("replace 1..1:\n-old\n+new\n"), ["new"]);
    assert_eq!(
        codes("replace 1..1:\n-old\n+new\n"),
        [WarningCode::DroppedRows]
    );
    refused_body("replace 1..1:\n-old\n-older\n");
    assert_eq!(rows("replace 1..1:\n- a\n- b\n"), ["- a", "- b"]);
    assert_eq!(codes("replace 1..1:\n- a\n- b\n"), [WarningCode::BareRows]);
    refused_body("replace 1..1:\n-old\nnew\n");
}

#[test]
fn scenario_19_bare_rows() {
    assert_eq!(rows("replace 1..1:\nx\n"), ["x"]);
    assert_eq!(codes("replace 1..1:\nx\n"), [WarningCode::BareRows]);
    assert_eq!(rows("replace 3..4:\n3:x\n4:  y\n"), ["x", "  y"]);
    assert_eq!(
        codes("replace 3..4:\n3:x\n4:y\n"),
        [WarningCode::BareRows, WarningCode::StrippedPrefixes]
    );
    assert_eq!(rows("replace 3..4:\n3:x\ny\n"), ["3:x", "y"]);
    assert_eq!(rows("replace 3..4:\n3:x\n7:y\n"), ["3:x", "7:y"]);
    let map = "replace 1..2:\n1: \"one\",\n2: \"two\",\n";
    assert_eq!(rows(map), ["1: \"one\",", "2: \"two\","]);
    assert_eq!(rows("replace 1..1:\n+3:x\n"), ["3:x"]);
    assert_eq!(rows("replace 12..12:\n12:30:00\n"), ["30:00"]);
    refused_body("replace 1..1:\n+x\ny\n+z\n");
    refused_body("replace 1..1:\n  +x\n  +y\n");
    // A mistyped op among rows is no text.
    refused_body("replace 1..1:\n+x\nreplace line 3:\n+y\n");
}

#[test]
fn scenario_20_blank_lines() {
    assert_eq!(
        rows("replace 1..1:\nx\n\ny\n\n\ndelete 3\n"),
        ["x", "", "y"]
    );
    assert_eq!(rows("replace 1..1:\n+x\n\n\ndelete 3\n"), ["x"]);
    assert!(codes("replace 1..1:\n+x\n\n\ndelete 3\n").is_empty());
    assert_eq!(rows("replace 1..1:\n+x\n\n+y\n"), ["x", "", "y"]);
    assert_eq!(codes("replace 1..1:\n+x\n\n+y\n"), [WarningCode::BlankRow]);
}

#[test]
fn scenario_21_rows_and_deletions() {
    assert_eq!(ops("replace 2..2:\n"), [Op::Delete { lines: span(2, 2) }]);
    assert_eq!(codes("replace 2..2:\n"), [WarningCode::DeletesLines]);
    for text in [
        "insert tail:\n",
        "insert head:\n\n",
        "insert before 2:\ndelete 4",
        "insert after 2",
        "insert after block 2:",
        "replace block 2:",
    ] {
        let error = Patch::parse(&format!("¶f#1A2B\n{text}"))
            .unwrap_err()
            .faults
            .remove(0);
        assert!(matches!(error.what, Syntax::NoRows { .. }), "{error}");
        let header = (error.path.as_deref(), error.tag);
        assert_eq!(header, (Some("f"), "1A2B".parse().ok()));
    }
    refused_body("delete 2\n+x");
    refused_body("delete 2:\nx");
    assert_eq!(ops("delete 2:"), [Op::Delete { lines: span(2, 2) }]);
    assert_eq!(codes("delete 2:"), [WarningCode::DeletesLines]);
}

#[test]
fn scenario_22_23_numbers() {
    insta::assert_snapshot!(refused_body("replace 5..3:\n+x"), @"patch line 2: the range 5..3 ends before it begins. The second number is a line, not a count: 3 lines from 5 are 5..7. If a block begins there, 'replace block 5:' takes all of it.");
    for text in [
        "replace 1..4000000000:\n+x",
        "replace 1..99999999999999999999:\n+x",
        "delete 0",
        "insert after 0:\n+x",
    ] {
        let error = Patch::parse(&format!("¶f#1A2B\n{text}"))
            .unwrap_err()
            .faults
            .remove(0);
        assert!(matches!(error.what, Syntax::BadNumber { .. }), "{error}");
    }
    refused_body("insert after 3..5:\n+x");
    refused_body("replace 3: x");
    refused_body("insert tail: x");
}

#[test]
fn scenario_24_remarks() {
    assert_eq!(ops("# note\ndelete 2\n# more\ndelete 3").len(), 2);
    assert!(codes("# note\ndelete 2\n# more\ndelete 3").is_empty());
    assert_eq!(rows("replace 1..1:\n# note\n"), ["# note"]);
    assert_eq!(rows("replace 1..1:\n# note\n+x\n"), ["# note", "x"]);
    assert_eq!(rows("replace 1..1:\n+x\n# note\ndelete 2"), ["x"]);
    assert_eq!(rows("replace 1..1:\nx\n# note\ny\n"), ["x", "# note", "y"]);
}

#[test]
fn scenario_25_rows_that_look_like_ops() {
    let text = "replace 1..1:\n+delete 5\n+¶g#1A2B\n";
    assert_eq!(rows(text), ["delete 5", "¶g#1A2B"]);
    assert_eq!(codes(text), [WarningCode::LooksLikeOp]);
    assert!(codes("replace 1..1:\n+delete the rest\n").is_empty());
}

#[test]
fn scenario_32_33_sections_of_one_document() {
    let patch = parse("¶a#1111\ndelete 1\n¶b#2222\ndelete 2\n¶./a#1111\ndelete 3\n");
    let [a, b, again]: [Section; 3] = patch.sections.try_into().unwrap();
    let batch = Batch::join([a.clone(), again]).unwrap().unwrap();
    assert_eq!((batch.path.as_str(), batch.hunks.len()), ("a", 2));
    insta::assert_snapshot!(Batch::join([a, b]).unwrap_err(), @"'b' is named with two tags, #1111 (patch line 1) and #2222 (patch line 3): one request edits one version of a file. Number all its edits by one of them, or send two requests.");
}

#[test]
fn the_twin_makes_the_same_ops() {
    let text = "replace 2..3:\n+a\n+\ndelete 5\ninsert before 6:\n+b\ninsert after 7:\n+c\ninsert after block 8:\n+d\nreplace block 9:\n+e\ndelete block 10\ninsert head:\n+h\ninsert tail:\n+t\n";
    let files = [json!({ "path": "f", "tag": "1a2b", "edits": [
        { "op": "replace", "start": 2, "end": "3", "text": "a\n\n" },
        { "op": "delete", "start": "5" },
        { "op": "insert_before", "line": 6, "text": ["b"] },
        { "op": "insert_after", "line": 7, "text": "c\r\n" },
        { "op": "insert_after_block", "line": 8, "text": "d" },
        { "op": "replace_block", "line": 9, "text": ["e\n"] },
        { "op": "delete_block", "line": 10 },
        { "op": "insert_head", "text": "h" },
        { "op": "insert_tail", "text": "t" },
    ] })];
    let section = parse_files(&files).unwrap().remove(0);
    let twin: Vec<Op> = section.hunks.into_iter().map(|hunk| hunk.op).collect();
    assert_eq!(twin, ops(text));
}

#[test]
fn the_twin_names_the_parameter_at_fault() {
    let edit = |edit: serde_json::Value| {
        let files = [json!({ "path": "f", "tag": "1A2B", "edits": [edit] })];
        parse_files(&files).unwrap_err().faults.remove(0).what
    };
    let key = |error: StructuredError| match error {
        StructuredError::Params(Refusal::BadParams { key, .. }) => key,
        other => panic!("{other}"),
    };
    insta::assert_snapshot!(edit(json!({ "op": "insertAfter", "line": 1, "text": "x" })), @"'files[0].edits[0].op' is 'insertafter', which is no op; did you mean 'insert_after'? Ops are replace, delete, insert_before, insert_after, insert_after_block, replace_block, delete_block, insert_head, insert_tail, replace_text, move, move_file, delete_file, undo.");
    assert_eq!(key(edit(json!({ "start": 1 }))), "files[0].edits[0].op");
    assert_eq!(
        key(edit(json!({ "op": "delete" }))),
        "files[0].edits[0].start"
    );
    assert_eq!(
        key(edit(json!({ "op": "insert_after", "line": 2 }))),
        "files[0].edits[0].text"
    );
    assert_eq!(
        key(edit(json!({ "op": "replace_text", "old": "", "new": "x" }))),
        "files[0].edits[0].old"
    );
    let reversed = edit(json!({ "op": "delete", "start": 3, "end": 2 }));
    assert!(
        reversed
            .to_string()
            .starts_with("files[0].edits[0]: the range 3..2")
    );
    let empty = edit(json!({ "op": "insert_tail", "text": [] }));
    assert!(matches!(empty, StructuredError::Patch(_)), "{empty}");
}

#[test]
fn only_text_replacements_do_without_a_tag() {
    let text = json!({ "op": "replace_text", "old": "a\r\nb", "new": "c", "all": true });
    let section = |edits| parse_files(&[json!({ "path": "f", "edits": edits })]);
    let made = section(json!([text])).unwrap().remove(0);
    assert_eq!(made.tag, None);
    let op = Op::ReplaceText {
        old: "a\nb".to_owned(),
        new: "c".to_owned(),
        all: true,
    };
    assert_eq!(made.hunks[0].op, op);
    let error = section(json!([text, { "op": "delete", "start": 1 }])).unwrap_err();
    insta::assert_snapshot!(error, @"files[0].edits[1]: a tag is needed for every op but replace_text. Read the file first.");
}
