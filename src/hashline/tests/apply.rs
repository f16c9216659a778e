//! Scenarios of applying a patch to a text, by their numbers; the whole way from patch text to new text, but never a file.

use std::time::Duration;

use crate::hashline::apply::new_text;
use crate::hashline::block::{Action, BlockAt, PlainBatch};
use crate::hashline::changed::outcome;
use crate::hashline::diff::unified;
use crate::hashline::echo::echoes;
use crate::hashline::ops::{Batch, Warning, WarningCode};
use crate::hashline::patch::Patch;
use crate::hashline::replace_text;
use crate::hashline::splice::{Splices, splices};
use crate::hashline::structured::parse_files;
use crate::hashline::{NoBlock, NoBlockReason};
use crate::protocol::read::LineSpan;
use crate::task::{CancelToken, Work};
use crate::text::Text;

/// Applies hunks under one header, with blocks as given; an error is its message.
pub(super) fn plan(
    text: &Text,
    batch: Batch,
    blocks: &[(u64, u64)],
) -> Result<(PlainBatch, Splices), String> {
    let batch = batch
        .check_lines(text.len_lines() as u64)
        .map_err(|error| error.to_string())?;
    let block_of = |BlockAt { line, .. }| {
        let found = blocks.iter().find(|(start, _)| *start == line);
        let closes = blocks.iter().find(|(_, end)| *end == line);
        match (found, closes) {
            (Some((start, end)), _) => Ok(LineSpan {
                start: *start,
                end: *end,
            }),
            (None, Some((start, end))) => Err(NoBlock {
                reason: NoBlockReason::Closing,
                enclosing: Some(LineSpan {
                    start: *start,
                    end: *end,
                }),
            }),
            (None, None) => Err(NoBlock {
                reason: NoBlockReason::OneLine,
                enclosing: None,
            }),
        }
    };
    let plain = batch
        .into_plain(block_of)
        .map_err(|error| error.to_string())?;
    let (found, missing) = replace_text::find(text, &plain.texts);
    if let Some(error) = missing.first() {
        return Err(error.to_string());
    }
    let splices = splices(text, &plain.hunks, found).map_err(|error| error.to_string())?;
    Ok((plain, splices))
}

pub(super) fn batch_of(patch: &str) -> Result<Batch, String> {
    let patch = Patch::parse(patch).map_err(|error| error.to_string())?;
    let batch = Batch::join(patch.sections).map_err(|error| error.to_string())?;
    Ok(batch.expect("a patch has a section"))
}

fn edit_with(text: &str, hunks: &str, blocks: &[(u64, u64)]) -> Result<String, String> {
    let text = Text::new(text);
    let batch = batch_of(&format!("¶f#1A2B\n{hunks}"))?;
    let (_, splices) = plan(&text, batch, blocks)?;
    Ok(new_text(&text, &splices.changes))
}

fn edit(text: &str, hunks: &str) -> String {
    edit_with(text, hunks, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str, hunks: &str) -> String {
    edit_with(text, hunks, &[]).expect_err("a refusal")
}

fn warnings(text: &str, hunks: &str) -> Vec<Warning> {
    let text = Text::new(text);
    let batch = batch_of(&format!("¶f#1A2B\n{hunks}")).unwrap();
    let (plain, _) = plan(&text, batch, &[]).unwrap();
    let mut warnings = plain.warnings.clone();
    warnings.extend(echoes(&text, &plain.hunks));
    warnings
}

#[test]
fn scenario_01_02_03_the_plain_ops() {
    assert_eq!(
        edit("a\nb\nc", "replace 2..2:\n+before\n+after\n"),
        "a\nbefore\nafter\nc"
    );
    assert_eq!(edit("a\nb\nc\nd\n", "delete 2..3"), "a\nd\n");
    let all = "insert before 2:\n+before\ninsert after 2:\n+after\ninsert head:\n+head\ninsert tail:\n+tail\n";
    assert_eq!(
        edit("a\nb\nc\n", all),
        "head\na\nbefore\nb\nafter\nc\ntail\n"
    );
}

#[test]
fn scenario_26_27_lines_that_do_not_exist() {
    insta::assert_snapshot!(refused("a\nb\n", "insert before 4:\n+x"), @"patch line 2: line 4 does not exist (2 lines). Read the file again if you expected more; to add at the end use 'insert tail:'.");
    refused("a\nb\n", "delete 2..3");
    refused("a\nb\n", "replace 3..3:\n+x");
    assert_eq!(edit("a\nb\n", "delete 2..2"), "a\n");
    refused("", "insert before 1:\n+x");
    refused("", "delete 1");
    refused("a", "delete block 2");
}

#[test]
fn scenario_28_head_and_tail_of_short_files() {
    assert_eq!(edit("", "insert head:\n+a"), "a\n");
    assert_eq!(edit("", "insert tail:\n+a\ninsert head:\n+b"), "b\na\n");
    assert_eq!(edit("a\nb", "insert tail:\n+c"), "a\nb\nc");
    assert_eq!(edit("a", "insert tail:\n+b\n+c"), "a\nb\nc");
    assert_eq!(edit("a", "insert head:\n+b"), "b\na");
    assert_eq!(edit("\u{e9}", "insert after 1:\n+b"), "\u{e9}\nb");
}

#[test]
fn last_lines_without_an_end() {
    assert_eq!(edit("a\nb", "replace 2..2:\n+c"), "a\nc");
    assert_eq!(edit("a\nb", "replace 2..2:\n+c\n+d"), "a\nc\nd");
    assert_eq!(edit("a\r\nb", "replace 2..2:\n+c\n+d"), "a\r\nc\r\nd");
    assert_eq!(edit("a\nb", "delete 2"), "a\n");
    assert_eq!(edit("a\nb", "delete 1"), "b");
    assert_eq!(edit("a", "delete 1"), "");
    assert_eq!(edit("a", "delete 1\ninsert tail:\n+b"), "b");
    assert_eq!(edit("a\nb", "insert before 2:\n+x"), "a\nx\nb");
    // Each row takes the end of the line it stands for, and line 1 has one.
    assert_eq!(edit("a\nb", "replace 1..2:\n+x"), "x\n");
}

#[test]
fn scenario_29_30_ranges_that_meet() {
    let five = "a\nb\nc\nd\ne\n";
    insta::assert_snapshot!(refused(five, "replace 2..4:\n+x\nreplace 3..5:\n+y"), @"The edits of patch line 2 (lines 2..4) and patch line 4 (lines 3..5) meet. Join them into one, or make their ranges disjoint.");
    refused(five, "delete 3\nreplace 2..4:\n+x");
    refused(five, "delete 3\ndelete 3");
    let twice = "replace 2..3:\n+x\ndelete 5\nreplace 2..3:\n+y";
    assert_eq!(edit(five, twice), "a\ny\nd\n");
    assert_eq!(warnings(five, twice)[0].code, WarningCode::ReplacedTwice);
    let block = "replace block 2:\n+x\nreplace 3..3:\n+y";
    insta::assert_snapshot!(edit_with(five, block, &[(2, 3)]).unwrap_err(), @"The edits of patch line 2 (lines 2..3) and patch line 4 (lines 3..3) meet. Join them into one, or make their ranges disjoint.");
    assert_eq!(edit(five, "delete 2\nreplace 3..3:\n+x"), "a\nx\nd\ne\n");
}

#[test]
fn scenario_31_order_at_one_line() {
    let text = "insert before 3:\n+p\ninsert after 2:\n+q\ninsert after 2:\n+r\n";
    assert_eq!(edit("a\nb\nc\n", text), "a\nb\nq\nr\np\nc\n");
    // An insert keeps its place though its line goes.
    let gone = "replace 2..3:\n+X\ninsert before 2:\n+p\ninsert after 2:\n+q\ninsert before 3:\n+r\ninsert after 3:\n+s\n";
    assert_eq!(edit("a\nb\nc\nd\n", gone), "a\np\nX\nq\nr\ns\nd\n");
}

#[test]
fn scenario_34_line_ends_stay() {
    assert_eq!(
        edit("a\r\nb\r\nc\r\n", "replace 2..2:\n+x\n+y"),
        "a\r\nx\r\ny\r\nc\r\n"
    );
    let mixed = "a\nb\r\nc\nlone\rcr\r\n";
    assert_eq!(
        edit(mixed, "replace 2..3:\n+x\n+y\n+z"),
        "a\nx\r\ny\nz\nlone\rcr\r\n"
    );
    assert_eq!(
        edit(mixed, "insert after 2:\n+x\ninsert after 3:\n+y"),
        "a\nb\r\nx\r\nc\ny\nlone\rcr\r\n"
    );
    assert_eq!(edit("a\rb\rc\r", "replace 2..2:\n+x\n+y"), "a\rx\ry\rc\r");
    assert_eq!(edit("a\rb", "insert tail:\n+c"), "a\rb\rc");
}

#[test]
fn scenario_42_43_44_45_49_50_echoes() {
    let text = "f(() => {\n  a();\n});\nnext\n";
    let body = "replace 2..2:\n+  b();\n+});\n";
    assert_eq!(edit(text, body), "f(() => {\n  b();\n});\n});\nnext\n");
    let told = warnings(text, body);
    insta::assert_snapshot!(told[0].message, @"patch line 2: its last row '});' repeats line 3, '});', which stays: probably an echo. Both are there now.");
    let two_sided = "replace 2..2:\n+a\n+c\n";
    assert_eq!(edit("a\nold\nc\n", two_sided), "a\na\nc\nc\n");
    assert_eq!(warnings("a\nold\nc\n", two_sided).len(), 2);
    assert_eq!(
        warnings(
            "#[napi]\nfn x() {}\n",
            "replace 2..2:\n+#[napi]\n+fn y() {}\n"
        )
        .len(),
        1
    );
    // The line that a row repeats is gone itself, or is blank.
    let moved = "replace 2..2:\n+x\n+c\ndelete 3\n";
    assert!(warnings("a\nold\nc\n", moved).is_empty());
    assert!(warnings("\nold\n", "replace 2..2:\n+\n+x\n").is_empty());
}

#[test]
fn scenario_47_48_brackets_mean_nothing() {
    let text = "if (a) {\n  b(\"}\");\n}\n";
    assert_eq!(edit(text, "delete 1\ndelete 3\n"), "  b(\"}\");\n");
}

#[test]
fn scenario_57_after_a_block() {
    let text = "if x {\n  y\n}\nz\n";
    let after = |line| {
        let hunks = format!("insert after block {line}:\n+new\n");
        edit_with(text, &hunks, &[(1, 3)])
    };
    assert_eq!(after(1).unwrap(), "if x {\n  y\n}\nnew\nz\n");
    assert_eq!(after(3).unwrap(), after(1).unwrap());
    insta::assert_snapshot!(after(2).unwrap_err(), @"patch line 2: no block to take at line 2: what begins there is one line. Use the plain form, with the line number alone.");
    let batch = batch_of("¶f#1A2B\ninsert after block 3:\n+new\n").unwrap();
    let (plain, _) = plan(&Text::new(text), batch, &[(1, 3)]).unwrap();
    assert_eq!(plain.warnings[0].code, WarningCode::NotABlock);
    assert!(plain.blocks.is_empty());
}

#[test]
fn a_block_op_needs_only_its_first_line_shown() {
    let batch = batch_of("¶f#1A2B\ndelete block 1\ninsert after 4:\n+x\n").unwrap();
    let (plain, _) = plan(&Text::new("a\nb\nc\nd\n"), batch, &[(1, 3)]).unwrap();
    let shown: Vec<_> = plain
        .hunks
        .iter()
        .map(|hunk| hunk.must_be_shown())
        .collect();
    let span = |start, end| Some(LineSpan { start, end });
    assert_eq!(shown, [span(1, 1), span(4, 4)]);
    assert!(matches!(
        plain.hunks[0].action,
        Action::Replace {
            lines: LineSpan { start: 1, end: 3 },
            ..
        }
    ));
}

fn replace_texts(text: &str, edits: serde_json::Value) -> Result<String, String> {
    let file = serde_json::json!({ "path": "f", "tag": "1A2B", "edits": edits });
    let sections = parse_files(&[file]).map_err(|error| error.to_string())?;
    let batch = Batch::join(sections).unwrap().unwrap();
    let text = Text::new(text);
    let (_, splices) = plan(&text, batch, &[])?;
    Ok(new_text(&text, &splices.changes))
}

fn text_op(old: &str, new: &str, all: bool) -> serde_json::Value {
    serde_json::json!({ "op": "replace_text", "old": old, "new": new, "all": all })
}

#[test]
fn replace_text_is_exact() {
    let one = |text, old, new| replace_texts(text, serde_json::json!([text_op(old, new, false)]));
    assert_eq!(one("a b c\n", "b", "x\ny").unwrap(), "a x\ny c\n");
    assert_eq!(
        one("a\r\nb\r\nc\n", "a\nb", "x\ny\nz").unwrap(),
        "x\r\ny\r\nz\r\nc\n"
    );
    assert_eq!(one("a\nb\n", "b\n", "c").unwrap(), "a\nc");
    assert_eq!(one("a\nb\nc\n", "b\n", "").unwrap(), "a\nc\n");
    assert_eq!(one("a\rb\rc", "b\n", "x\ny\n").unwrap(), "a\rx\ry\rc");
    assert_eq!(one("a", "a", "b\n").unwrap(), "b\n");
    let all = serde_json::json!([text_op("aa", "b", true)]);
    assert_eq!(replace_texts("aaaa aa\n", all).unwrap(), "bb b\n");
    // Twice, though one occurrence overlaps the other.
    insta::assert_snapshot!(one("aaa\n", "aa", "b").unwrap_err(), @"files[0].edits[0]: the old text is there 2 times (lines 1..1, 1..1). Make it longer, replace all of them, or edit by line numbers.");
    insta::assert_snapshot!(one("x\nif  a {\n\tb\n}\n", "if a {\n    b\n", "c").unwrap_err(), @"files[0].edits[0]: the old text is not in the file; lines 2..3 differ from it only in blanks. Copy the text exactly, or edit by line numbers.");
    insta::assert_snapshot!(one("x\nfoo(1, 2)\n", "foo(1, 3)", "c").unwrap_err(), @"files[0].edits[0]: the old text is not in the file. Nearest is line 2, as far as ⟪ (byte 8): 'foo(1,·⟪2)⏎', where '3)' was expected.");
    insta::assert_snapshot!(one("x\n", "ab", "c").unwrap_err(), @"files[0].edits[0]: the old text is not in the file, nor is any part of it.");
}

#[test]
fn replace_text_beside_other_edits() {
    let both = |other: serde_json::Value| {
        replace_texts(
            "a\nb b\nc\n",
            serde_json::json!([text_op("b b", "x", false), other]),
        )
    };
    let insert = |op: &str, line: u64| serde_json::json!({ "op": op, "line": line, "text": "n" });
    assert_eq!(both(insert("insert_before", 2)).unwrap(), "a\nn\nx\nc\n");
    assert_eq!(both(insert("insert_after", 2)).unwrap(), "a\nx\nn\nc\n");
    insta::assert_snapshot!(both(serde_json::json!({ "op": "delete", "start": 2 })).unwrap_err(), @"The edits of files[0].edits[0] (lines 2..2) and files[0].edits[1] (lines 2..2) meet. Join them into one, or make their ranges disjoint.");
    both(text_op("b\nc", "y", false)).unwrap_err();
    assert_eq!(both(text_op("c", "y", false)).unwrap(), "a\nx\ny\n");
}

fn minute() -> Work {
    Work::new(CancelToken::new(), Duration::from_secs(60))
}

#[test]
fn what_changed_is_told_in_new_numbers() {
    let told = |text: &str, hunks: &str| {
        let text = Text::new(text);
        let batch = batch_of(&format!("¶f#1A2B\n{hunks}")).unwrap();
        let (_, splices) = plan(&text, batch, &[]).unwrap();
        let outcome = outcome(&text, &splices);
        assert!(outcome.is_exact);
        let changed = outcome.changed.iter();
        (
            changed
                .map(|span| (span.start, span.end))
                .collect::<Vec<_>>(),
            unified("f", &text, &outcome, &minute()).expect("time enough"),
        )
    };
    let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
    let (changed, diff) = told(
        text,
        "insert after 1:\n+x\n+y\ndelete 3..4\nreplace 12:\n+z\n",
    );
    assert_eq!(changed, [(2, 3), (5, 5), (12, 12)]);
    insta::assert_snapshot!(diff, @r"
    --- a/f
    +++ b/f
    @@ -1,7 +1,7 @@
     1
    +x
    +y
     2
    -3
    -4
     5
     6
     7
    @@ -9,4 +9,4 @@
     9
     10
     11
    -12
    +z
    ");
    let (changed, diff) = told("a\nb", "insert tail:\n+c\n");
    assert_eq!(changed, [(3, 3)]);
    insta::assert_snapshot!(diff, @r"
    --- a/f
    +++ b/f
    @@ -1,2 +1,3 @@
     a
    -b
    \ No newline at end of file
    +b
    +c
    \ No newline at end of file
    ");
    let (changed, diff) = told("a\n", "delete 1\n");
    assert!(changed.is_empty());
    insta::assert_snapshot!(diff, @r"
    --- a/f
    +++ b/f
    @@ -1 +0,0 @@
    -a
    ");
    // The rows of a replacement that were there before are no part of the diff.
    let (_, diff) = told("a\nb\nc\n", "replace 1..3:\n+a\n+B\n+c\n");
    assert!(diff.contains("\n a\n-b\n+B\n c\n"), "{diff}");
    let many: String = (0..500).map(|row| format!("+{row}\n")).collect();
    let (_, diff) = told("a\n", &format!("insert head:\n{many}"));
    assert_eq!(diff.lines().count(), 200);
    assert_eq!(diff.lines().last(), Some("[305 more lines of this diff]"));
}
