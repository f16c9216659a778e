//! Ops without rows: their lines in patch text and in the structured form, where they are read, and what they may stand beside; no text of a file is needed for any of them.

use serde_json::json;

use crate::hashline::error::Syntax;
use crate::hashline::ops::{Batch, MoveTarget, Op, WarningCode};
use crate::hashline::patch::Patch;
use crate::hashline::structured::{StructuredError, parse_files};
use crate::protocol::Refusal;
use crate::protocol::read::LineSpan;

fn patch(body: &str) -> Patch {
    let text = format!("¶f#1A2B\n{body}");
    Patch::parse(&text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn ops(body: &str) -> Vec<Op> {
    let section = patch(body).sections.remove(0);
    section.hunks.into_iter().map(|hunk| hunk.op).collect()
}

fn fault(text: &str) -> Syntax {
    let refused = Patch::parse(text).expect_err(text);
    assert_eq!(refused.faults.len(), 1, "{text:?}: {:?}", refused.faults);
    refused.faults.into_iter().next().map(|it| it.what).unwrap()
}

fn refused(body: &str) -> String {
    let text = format!("¶f#1A2B\n{body}");
    Patch::parse(&text).expect_err(&text).to_string()
}

fn texts(old: &str, new: &str, all: bool) -> Op {
    let (old, new) = (old.to_owned(), new.to_owned());
    Op::ReplaceText { old, new, all }
}

fn moved(start: u64, end: u64, to: MoveTarget) -> Op {
    let lines = LineSpan { start, end };
    Op::Move { lines, to }
}

fn to(path: &str) -> Op {
    let to = path.to_owned();
    Op::MoveFile { to }
}

#[test]
fn each_is_one_line_in_some_dress() {
    for (line, op) in [
        (r#"replace "a" with "b""#, texts("a", "b", false)),
        (r#"  Replace "a" With "b":"#, texts("a", "b", false)),
        (r#"replace all "a" with """#, texts("a", "", true)),
        (
            r#"replace "a\r\nb\t\"" with "\u00e9\\""#,
            texts("a\nb\t\"", "é\\", false),
        ),
        (
            "replace \"\ta\"  with  \"\tb\" : ",
            texts("\ta", "\tb", false),
        ),
        ("move 4..5 after 12", moved(4, 5, MoveTarget::After(12))),
        ("Move 4 - 5 before 2:", moved(4, 5, MoveTarget::Before(2))),
        ("move 4 after 12", moved(4, 4, MoveTarget::After(12))),
        ("move file to src/new.ts", to("src/new.ts")),
        (r#"  MOVE FILE TO "a b ".txt"#, to("\"a b \".txt")),
        (r#"move file to "a b ""#, to("a b ")),
        ("delete file", Op::DeleteFile),
        ("Delete File:", Op::DeleteFile),
        ("undo", Op::Undo),
        (" UNDO : ", Op::Undo),
    ] {
        assert_eq!(ops(line), std::slice::from_ref(&op), "{line}");
        let section = patch(line).sections.remove(0);
        assert!(
            section.warnings.is_empty(),
            "{line}: {:?}",
            section.warnings
        );
        // And its canonical text means the same.
        let canonical = patch(line).to_string();
        let again = Patch::parse(&canonical).unwrap_or_else(|error| panic!("{canonical}: {error}"));
        assert_eq!(again.sections[0].hunks[0].op, op, "{canonical}");
    }
    assert_eq!(
        ops("move 4.. after 12"),
        [moved(4, 4, MoveTarget::After(12))]
    );
    let warnings = patch("move 4.. after 12").sections.remove(0).warnings;
    assert_eq!(warnings[0].code, WarningCode::DanglingRange);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    insta::assert_snapshot!(refused(r#"replace "" with "b""#), @r#"patch line 2: 'replace "" with "b"' is not an op. Write replace "old" with "new" on one line, both as JSON strings: \n for a line end, \" for a quote, \\ for a backslash; the first is not empty."#);
    for line in [
        r#"replace "a" with "b" and more"#,
        r#"replace "a" with b"#,
        r#"replace "\d" with "b""#,
        r#"replace all "a" with "b"#,
    ] {
        let text = format!("¶f#1A2B\n{line}");
        assert!(matches!(fault(&text), Syntax::BadTexts { .. }), "{line}");
    }
    insta::assert_snapshot!(refused("move 5..4 after 9"), @"patch line 2: the range 5..4 ends before it begins. The second number is a line, not a count: 3 lines from 5 are 5..7. If a block begins there, 'replace block 5:' takes all of it.");
    insta::assert_snapshot!(refused("move 1,4 after 9"), @"patch line 2: 'move 1,4 after 9' is not an op. One range for each op: 'move A..B after K'.");
    refused("move 0..2 after 9");
    refused("move 1..2 after 4000000000");
    for line in [
        "move 1..2",
        "move 1..2 to 9",
        "move 1..2 after 9 please",
        "move file",
        "move file to",
        "delete file f.ts",
        "undo that",
        r#"replace "a" by "b""#,
        "replace all",
    ] {
        let text = format!("¶f#1A2B\n{line}");
        assert!(matches!(fault(&text), Syntax::NotAnOp { .. }), "{line}");
    }
    insta::assert_snapshot!(refused("undo\n+x"), @"patch line 3: '+x' stands under 'undo', which has no rows. Put the op that it is the text of, such as 'insert after 2:', above it.");
    refused("move 1..2 after 5\nsome text");
}

#[test]
fn straight_below_an_op_that_awaits_rows_they_may_be_text() {
    for line in [
        "undo",
        "Undo:",
        "delete file",
        "move 1..2 after 3",
        "move file to the archive",
        r#"replace "a" with "b""#,
        r#"replace all "a" with ""#,
    ] {
        for above in ["insert after 2:", "replace 3:\n", "insert tail:\nbare row"] {
            let text = format!("¶f#1A2B\n{above}\n{line}\n+x");
            assert!(matches!(fault(&text), Syntax::OpOrRow { .. }), "{text}");
        }
        // As text, it has its +; a whole op may stand above, or rows that have one.
        let row = format!("insert after 2:\n+{line}");
        assert_eq!(ops(&row).len(), 1, "{row}");
    }
    insta::assert_snapshot!(refused("insert after 2:\nundo"), @"patch line 3: 'undo' reads as an op, but the op above it has no rows yet. Begin the row with + if it is text, or give the op above its rows.");
    let below_rows = ops("insert after 2:\n+x\nmove 1..2 after 3\n\nreplace \"a\" with \"b\"");
    assert_eq!(below_rows.len(), 3);
    assert_eq!(ops("delete 4\nmove 1..2 after 3").len(), 2);
    // What only begins like one is a row as ever.
    assert_eq!(ops("insert after 2:\nundo that\nmove file").len(), 1);
}

#[test]
fn a_section_of_texts_alone_needs_no_tag() {
    let parse = |text: &str| Patch::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    for (header, path) in [
        ("¶src/a.ts", "src/a.ts"),
        ("¶ a b.ts ", "a b.ts"),
        ("¶\"c#.ts\"", "c#.ts"),
        ("¶*** Update File: a.ts", "a.ts"),
    ] {
        let text = format!("{header}\n\nreplace \"a\" with \"b\"\nreplace all \"c\" with \"d\"");
        let made = parse(&text);
        let section = &made.sections[0];
        assert_eq!((section.path.as_str(), section.tag), (path, None));
        assert_eq!(section.hunks.len(), 2);
        assert_eq!(parse(&made.to_string()).sections[0].path, path);
    }
    // With a # in it, it is a header whose tag was mistyped.
    let text = "¶c#.ts\nreplace \"a\" with \"b\"";
    assert!(matches!(fault(text), Syntax::BadHeader { .. }));
    let mixed = "¶a.ts\nreplace \"a\" with \"b\"\ndelete 3\n¶b.ts\nreplace \"a\" with \"b\"";
    assert!(matches!(fault(mixed), Syntax::MissingTag { .. }));
    assert!(matches!(
        fault("¶a.ts\n+x\n¶b#1A2B\ndelete 1"),
        Syntax::MissingTag { .. }
    ));
    assert!(matches!(fault("¶a.ts\nundo"), Syntax::MissingTag { .. }));
    assert!(matches!(
        fault("¶a.ts\nreplace \"a\" with b"),
        Syntax::BadTexts { .. }
    ));
}

#[test]
fn some_stand_alone_and_one_stands_last() {
    let check = |body: &str| {
        let batch = Batch::join(patch(body).sections).unwrap().unwrap();
        batch.check_company().map_err(|refused| refused.faults)
    };
    for sound in [
        "undo",
        "delete file",
        "move file to b",
        "delete 1\nmove file to b",
    ] {
        assert!(check(sound).is_ok(), "{sound}");
    }
    let words = |body: &str| check(body).unwrap_err()[0].to_string();
    insta::assert_snapshot!(words("delete 1\n¶f#1A2B\nundo"), @"patch line 4: 'undo' stands alone: it takes the file as a whole. Send the other edits of this file in a request of their own.");
    insta::assert_snapshot!(words("delete file\nmove file to b"), @"patch line 2: 'delete file' stands alone: it takes the file as a whole. Send the other edits of this file in a request of their own.");
    insta::assert_snapshot!(words("move file to b\ndelete 1"), @"patch line 2: 'move file to' comes last: put it below the other edits of this file.");
}

#[test]
fn the_structured_form_has_them_too() {
    let read = |edits: serde_json::Value| {
        parse_files(&[json!({ "path": "f", "tag": "1A2B", "edits": edits })])
    };
    let edits = json!([
        { "op": "replace_text", "old": "a", "new": "b" },
        { "op": "move", "start": 4, "end": 5, "after": "12" },
        { "op": "move", "start": "4", "before": 2 },
        { "op": "move_file", "to": "src/new.ts" },
        { "op": "delete_file" },
        { "op": "undo" },
    ]);
    let section = read(edits).unwrap().remove(0);
    let made: Vec<Op> = section.hunks.into_iter().map(|hunk| hunk.op).collect();
    let text = "replace \"a\" with \"b\"\nmove 4..5 after 12\nmove 4 before 2\nmove file to src/new.ts\ndelete file\nundo";
    assert_eq!(made, ops(text));
    let key = |edit: serde_json::Value| match read(json!([edit])).unwrap_err().faults.remove(0).what
    {
        StructuredError::Params(Refusal::BadParams { key, .. }) => key,
        other => panic!("{other}"),
    };
    let beside = "files[0].edits[0].after";
    assert_eq!(key(json!({ "op": "move", "start": 1 })), beside);
    let both = json!({ "op": "move", "start": 1, "after": 3, "before": 4 });
    assert_eq!(key(both), beside);
    assert_eq!(key(json!({ "op": "move_file" })), "files[0].edits[0].to");
    let untagged = parse_files(&[json!({ "path": "f", "edits": [{ "op": "undo" }] })]);
    assert!(untagged.is_err());
}
