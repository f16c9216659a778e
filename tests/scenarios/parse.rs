//! Scenarios 1 to 25: what a patch says, and what cannot be meant; no file is looked at but for its bytes.

use std::time::{Duration, Instant};

use super::{Desk, l};

const ABC: &str = "a\nb\nc\n";
const ABCD: &str = "a\nb\nc\nd\n";

#[test]
fn s01_one_line_becomes_two() {
    let desk = Desk::new();
    let (text, reply) = desk.made("a\nb\nc", "replace 2..2:\n+before\n+after");
    assert_eq!(text, "a\nbefore\nafter\nc");
    assert_eq!(reply.codes(), [""; 0]);
}

#[test]
fn s02_a_range_is_deleted() {
    let (text, _) = Desk::new().made(ABCD, "delete 2..3");
    assert_eq!(text, "a\nd\n");
}

#[test]
fn s03_inserts_at_every_place_in_one_patch() {
    let ops = "insert before 2:\n+before\ninsert after 2:\n+after\ninsert head:\n+head\ninsert tail:\n+tail\n";
    let (text, _) = Desk::new().made(ABC, ops);
    assert_eq!(text, "head\na\nbefore\nb\nafter\nc\ntail\n");
}

#[test]
fn s04_ranges_as_models_write_them() {
    let desk = Desk::new();
    let (text, _) = desk.made(ABCD, "replace 2:\n+X");
    assert_eq!(text, "a\nX\nc\nd\n");
    for range in [
        "2..3:", "2-3:", "2–3:", "2…3:", "2.=3:", "2,3:", "2 3:", "2 .. 3 :", "2..3", "2..3.:",
    ] {
        let (text, reply) = desk.made(ABCD, &format!("replace {range}\n+X"));
        assert_eq!(text, "a\nX\nd\n", "{range}");
        assert_eq!(reply.codes(), [""; 0], "{range}");
    }
    let (text, reply) = desk.made(ABCD, "replace 2..:\n+X");
    assert_eq!(text, "a\nX\nc\nd\n");
    reply.warns("danglingRange", &["Patch line 2", "one line"]);
}

#[test]
fn s05_trailing_blanks_indented_verbs_any_case() {
    let desk = Desk::new();
    for ops in [
        "delete 2  ",
        "  delete 2",
        "\tdelete 2\t",
        "DELETE 2",
        "Delete 2",
    ] {
        let (text, reply) = desk.made(ABC, ops);
        assert_eq!(text, "a\nc\n", "{ops:?}");
        assert_eq!(reply.codes(), [""; 0], "{ops:?}");
    }
    let (text, _) = desk.made(ABC, "  Replace 2:  \n+X\n  INSERT tail:\n+Y");
    assert_eq!(text, "a\nX\nc\nY\n");
}

#[test]
fn s06_a_lower_case_tag() {
    let desk = Desk::new();
    assert_eq!(desk.put("f.txt", "a\nb\n"), "9A46");
    let reply = desk.done("¶f.txt#9a46\nreplace 2:\n+B\n");
    assert_eq!(desk.text("f.txt"), "a\nB\n");
    assert_eq!(reply.tag(), reply.tag().to_uppercase());
    assert_eq!(reply.details["files"][0]["tagBefore"], "9A46");
}

#[test]
fn s07_paths_with_spaces_and_in_quotes() {
    let desk = Desk::new();
    let tag = desk.put("dir with spaces/f.ts", ABC);
    desk.done(&format!("¶dir with spaces/f.ts#{tag}\ndelete 2\n"));
    assert_eq!(desk.text("dir with spaces/f.ts"), "a\nc\n");
    let tag = desk.put("dir/f.ts", ABC);
    desk.done(&format!("¶\"dir/f.ts\"#{tag}\ndelete 2\n"));
    assert_eq!(desk.text("dir/f.ts"), "a\nc\n");
    let tag = desk.put("abs.ts", ABC);
    let absolute = desk.tree.spelled("abs.ts");
    desk.done(&format!("¶{absolute}#{tag}\ndelete 2\n"));
    assert_eq!(desk.text("abs.ts"), "a\nc\n");
}

#[test]
fn s08_words_of_another_format_before_the_path() {
    let desk = Desk::new();
    for words in ["*** Update File: ", "*** update file:", "Update File: "] {
        let (text, reply) = desk.made(ABC, &format!("¶{words}{{F}}#{{T}}\ndelete 2"));
        assert_eq!(text, "a\nc\n", "{words}");
        assert!(!reply.text.contains("Update"), "{}", reply.text);
    }
}

#[test]
fn s09_headers_with_anything_but_four_digits_at_the_end() {
    let desk = Desk::new();
    let file = desk.case("f.ts", ABC);
    for header in [
        "¶{F}#{T} copied",
        "¶{F}#{T}:12",
        "¶{F}#1A2",
        "¶{F}#1A2G",
        "¶{F}#1A2B5",
    ] {
        let patch = file.patch(&format!("{header}\ndelete 2"));
        let error = desk.refused(&patch, "patchSyntax", &["not a header", "four hex digits"]);
        assert_eq!(error.data["patchLine"], 1, "{header}");
        assert_eq!(error.data["expected"], "¶PATH#TAG", "{header}");
    }
}

#[test]
fn s10_brackets_as_a_header_and_as_text() {
    let desk = Desk::new();
    let (text, _) = desk.made(ABC, "[{F}#{T}]\nreplace 2:\n+B");
    assert_eq!(text, "a\nB\nc\n");
    let (text, reply) = desk.made(ABC, "replace 2:\n[section]\nkey = 1");
    assert_eq!(text, "a\n[section]\nkey = 1\nc\n");
    reply.warns("bareRows", &["Patch line 2", "+"]);
}

#[test]
fn s11_no_tag_and_no_file() {
    let desk = Desk::new();
    let file = desk.case("f.ts", ABC);
    for ops in ["delete 2", "insert head:\n+x", "insert tail:\n+x"] {
        for header in ["¶{F}", "¶{F}#"] {
            let patch = file.patch(&format!("{header}\n{ops}"));
            let words = ["no tag", "Copy", "from a read"];
            desk.refused(&patch, "patchSyntax", &words);
        }
    }
    let words = ["missing.ts", "to make a new file, write it"];
    desk.refused("¶missing.ts#1A2B\ndelete 2", "notFound", &words);
}

#[test]
fn s12_what_may_stand_around_a_patch() {
    let desk = Desk::new();
    let plain = "¶{F}#{T}\nreplace 2:\n+B\n\n+D\ninsert tail:\n+e\n";
    let (expected, _) = desk.made(ABC, plain);
    assert_eq!(expected, "a\nB\n\nD\nc\ne\n");
    for patch in [
        format!("*** Begin Patch\n{plain}*** End Patch\n"),
        format!("\n\n \n{plain}"),
        format!("\u{feff}{plain}"),
        format!("\u{feff}\n*** Begin Patch\n{plain}*** End Patch"),
        plain.replace('\n', "\r\n"),
    ] {
        let (text, _) = desk.made(ABC, &patch);
        assert_eq!(text, expected, "{patch:?}");
    }
}

#[test]
fn s13_nothing_after_the_end_counts() {
    let desk = Desk::new();
    for end in ["*** End Patch", "*** Abort"] {
        let ops = format!("replace 2:\n+B\n{end}\ndelete 1\nand some words\n¶nothing");
        let (text, reply) = desk.made(ABC, &ops);
        assert_eq!(text, "a\nB\nc\n", "{end}");
        assert_eq!(reply.codes(), [""; 0], "{end}");
    }
}

#[test]
fn s14_other_patch_formats() {
    let desk = Desk::new();
    let file = desk.case("f.ts", ABC);
    let words = [
        "another patch format",
        "'replace 2..3:'",
        "'delete 4'",
        "'insert after 5:'",
    ];
    for foreign in ["*** Update File: x", "@@ -1,3 +1,3 @@"] {
        for patch in [
            format!("{foreign}\n{{F}}#{{T}}"),
            format!("¶{{F}}#{{T}}\n{foreign}\n-b\n+B"),
            format!("¶{{F}}#{{T}}\nreplace 2:\n{foreign}\n+B"),
        ] {
            desk.refused(&file.patch(&patch), "patchSyntax", &words);
        }
        // As a row it is text.
        let (text, _) = desk.made(ABC, &format!("replace 2:\n+{foreign}"));
        assert_eq!(text, format!("a\n{foreign}\nc\n"));
    }
}

#[test]
fn s15_numbers_without_a_verb() {
    let desk = Desk::new();
    for number in ["2", "2..3:"] {
        let words = [
            "without a verb",
            "replace",
            "delete",
            "insert after",
            "Patch line 2",
        ];
        desk.rejected(ABC, &format!("{number}\n+x"), "patchSyntax", &words);
    }
    // What it offers can be sent.
    let words = ["'replace 2..3:'", "'delete 2..3'", "'insert after 3:'"];
    desk.rejected(ABC, "2..3:\n+x", "patchSyntax", &words);
}

#[test]
fn s16_a_row_before_any_header() {
    let desk = Desk::new();
    let words = ["'+x'", "belongs to no op", "Patch line 1"];
    desk.refused("+x\n", "patchSyntax", &words);
    let file = desk.case("f.ts", ABC);
    desk.refused(&file.patch("+x\n¶{F}#{T}\ndelete 2"), "patchSyntax", &words);
}

#[test]
fn s17_a_row_is_verbatim_after_its_plus() {
    let ops = "replace 2:\n+-lit\n++plus\n+\tx\n+|x\n+";
    let (text, reply) = Desk::new().made(ABC, ops);
    assert_eq!(text, "a\n-lit\n+plus\n\tx\n|x\n\nc\n");
    assert_eq!(reply.codes(), [""; 0]);
}

#[test]
fn s18_minus_rows() {
    let desk = Desk::new();
    let (text, reply) = desk.made(ABC, "replace 2:\n-b\n+B");
    assert_eq!(text, "a\nB\nc\n");
    reply.warns("droppedRows", &["Patch line 3", "left out"]);
    for rows in ["-b", "-b\n-c"] {
        let words = ["start with -", "'delete N..M'"];
        desk.rejected(ABC, &format!("replace 2:\n{rows}"), "patchSyntax", &words);
    }
    let (text, reply) = desk.made(ABC, "replace 2:\n- one\n- two");
    assert_eq!(text, "a\n- one\n- two\nc\n");
    reply.warns("bareRows", &["no + in front"]);
}

#[test]
fn s19_rows_without_a_plus() {
    let desk = Desk::new();
    let made = |rows: &str| {
        let (text, reply) = desk.made(ABC, &format!("replace 2:\n{rows}"));
        let codes = reply.codes().join(" ");
        (text, codes)
    };
    let literal = |rows: &str| {
        let expected = (format!("a\n{rows}\nc\n"), "bareRows".to_owned());
        assert_eq!(made(rows), expected, "{rows:?}");
    };
    let stripped = |rows: &str, left: &str| {
        let expected = (
            format!("a\n{left}\nc\n"),
            "bareRows strippedPrefixes".to_owned(),
        );
        assert_eq!(made(rows), expected, "{rows:?}");
    };
    literal("x");
    stripped("3:x\n4:y", "x\ny");
    literal("3:x\ny\n5:z");
    literal("3:x\n3:y");
    literal("1: \"one\",\n2: \"two\",");
    stripped("7:12:30:00\n8:12:31:00", "12:30:00\n12:31:00");
    let (text, codes) = made("+3:x\n+4:y");
    assert_eq!((text.as_str(), codes.as_str()), ("a\n3:x\n4:y\nc\n", ""));
    let (text, _) = made("12:30:00");
    assert_eq!(text, "a\n30:00\nc\n", "taken off once at most");
}

#[test]
fn s20_blank_lines_in_a_bare_body() {
    let ops = "replace 2:\nx\n\ny\n\ninsert tail:\n+z\n\n";
    let (text, reply) = Desk::new().made(ABC, ops);
    assert_eq!(text, "a\nx\n\ny\nc\nz\n");
    reply.warns("bareRows", &["Patch line 2"]);
}

#[test]
fn s21_too_few_rows_and_too_many() {
    let desk = Desk::new();
    let (text, reply) = desk.made(ABC, "replace 2..2:");
    assert_eq!(text, "a\nc\n");
    reply.warns("deletesLines", &["Patch line 2", "'delete'"]);
    for verb in [
        "insert tail",
        "insert head",
        "insert before 2",
        "insert after 2",
    ] {
        let words = ["no rows", "Patch line 2", "+ in front"];
        desk.rejected(ABC, &format!("{verb}:\n"), "patchSyntax", &words);
    }
    let words = ["deletion", "Use 'replace'", "Patch line 3"];
    desk.rejected(ABC, "delete 2\n+x", "patchSyntax", &words);
    let (text, reply) = desk.made(ABC, "delete 2:");
    assert_eq!(text, "a\nc\n");
    reply.warns("deletesLines", &["Patch line 2"]);
}

#[test]
fn s22_a_count_for_an_end() {
    let words = [
        "5..3",
        "not a count",
        "3 lines from 5 are 5..7",
        "'replace block 5:'",
    ];
    let error = Desk::new().rejected(&l(9), "replace 5..3:\n+x", "patchSyntax", &words);
    assert_eq!(error.data["patchLine"], 2);
    assert_eq!(error.data["expected"], "N..M with N <= M");
}

#[test]
fn s23_numbers_beyond_all_measure() {
    let desk = Desk::new();
    let file = desk.case("f.txt", ABC);
    #[cfg(target_os = "linux")]
    let before = desk.daemon.rss_bytes();
    let begun = Instant::now();
    for range in [
        "1..4000000000",
        "1..99999999999999999999",
        "99999999999999999999",
    ] {
        for verb in ["replace", "delete"] {
            let patch = file.patch(&format!("{verb} {range}:\n"));
            let words = ["no line number", "Patch line 2", "2147483648"];
            desk.refused(&patch, "patchSyntax", &words);
        }
    }
    // The highest number there is, and still no line.
    let words = ["does not exist (3 lines)"];
    desk.refused(
        &file.patch("replace 1..2147483648:\n+x"),
        "patchSyntax",
        &words,
    );
    assert!(begun.elapsed() < Duration::from_secs(10), "not at once");
    #[cfg(target_os = "linux")]
    assert!(desk.daemon.rss_bytes() < before + (16 << 20), "it grew");
}

#[test]
fn s24_remarks() {
    let desk = Desk::new();
    let (text, reply) = desk.made(ABC, "# note\nreplace 2:\n+B\n");
    assert_eq!(text, "a\nB\nc\n");
    assert_eq!(reply.codes(), [""; 0]);
    let (text, _) = desk.made(ABC, "delete 1\n# note\nreplace 2:\n+B\n# note\ndelete 3");
    assert_eq!(text, "B\n");
    let (text, _) = desk.made(ABC, "replace 2:\n+B\n# note\n+C\n");
    assert_eq!(text, "a\nB\n# note\nC\nc\n");
    let (text, _) = desk.made(ABC, "replace 2:\n# note\nB\n");
    assert_eq!(text, "a\n# note\nB\nc\n");
}

#[test]
fn s25_a_row_that_reads_like_an_op() {
    let (text, reply) = Desk::new().made(ABC, "replace 2:\n+delete 5\n");
    assert_eq!(text, "a\ndelete 5\nc\n");
    reply.warns("looksLikeOp", &["Patch line 3", "op", "went in as text"]);
}
