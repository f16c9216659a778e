//! What selectors show of documents, and what they are refused for.

use serde_json::json;

use super::{PLAIN, daemon, refusal, rows_from, text, text_of};
use crate::client::Daemon;
use crate::tree::Tree;

#[test]
fn every_selector() {
    let daemon = daemon();
    let read = |selector: &str| text(&daemon, &format!("report.docx:{selector}"));
    let showing = |lines: &str| format!("\n\n[{lines} of 26]");
    assert_eq!(
        read("14-15"),
        "13:\n14:1. First\n15:2. Second\n16:\n17:| ship | berth | remark |\n18:| --- | --- | --- |"
            .to_owned()
            + &showing("13-18")
    );
    assert_eq!(read("14+2"), read("14-15"));
    assert_eq!(read("3,26"), "3:# Ships\n…\n26:The end of the report.");
    assert_eq!(
        read("-3"),
        "24:Ebbe und Flut, élève, 日本, 😀\n25:\n26:The end of the report."
    );
    assert_eq!(read("26-"), "26:The end of the report.");
    assert_eq!(
        read("24-26:raw"),
        "Ebbe und Flut, élève, 日本, 😀\n\nThe end of the report.\n"
    );
    assert_eq!(
        read("900"),
        "Line 900 is beyond the end of report.docx (26 lines). Use :1 to read from the start, or :26 to read the last line."
    );
    let apart = daemon.read_with(json!({ "path": "report.docx", "selector": "26-" }));
    assert_eq!(
        text_of(&apart.expect("a read")),
        "26:The end of the report."
    );
}

#[test]
fn raw_is_the_markdown_without_numbers_and_uncut() {
    let daemon = daemon();
    for name in [
        "report.docx",
        "plain.pdf",
        "book.xlsx",
        "slides.pptx",
        "book.epub",
    ] {
        let read = text(&daemon, name);
        let rows = read.split("\n\n[").next().expect("rows");
        let lines: String = rows
            .lines()
            .map(|row| format!("{}\n", row.split_once(':').expect("a number").1))
            .collect();
        assert_eq!(text(&daemon, &format!("{name}:raw")), lines, "{name}");
    }
    let tree = Tree::new().file("wide.csv", format!("{}\nb\n", "a".repeat(5000)));
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        text(&daemon, "wide.csv:table:raw"),
        format!("|  |\n| --- |\n| {} |\n| b |\n", "a".repeat(5000))
    );
    // What takes the place of a text has no other form.
    let daemon = super::daemon();
    assert_eq!(
        text(&daemon, "encrypted.docx:raw"),
        "[Cannot read .docx file: encrypted]"
    );
}

#[test]
fn selectors_that_cannot_be_meant() {
    let daemon = daemon();
    let error = refusal(&daemon, "report.docx:p2");
    assert_eq!(error.kind(), "unsupported");
    assert_eq!(
        error.message,
        "'report.docx:p2' has no pages to select: only PDFs, presentations and workbooks do. Use lines, such as :1-200."
    );
    let error = refusal(&daemon, "plain.pdf:p3:5-9");
    assert_eq!(error.kind(), "badSelector");
    assert_eq!(
        error.message,
        "Pages and lines cannot be combined: lines are counted from the start of the document, whatever page they are on. Use :p3 to see a page with its line numbers, or the lines alone."
    );
    for selector in ["outputs", "crop=0,0,1,1", "conflicts", "p0", "p5-3"] {
        let error = refusal(&daemon, &format!("plain.pdf:{selector}"));
        assert_eq!(error.kind(), "badSelector", "{selector}: {error:?}");
    }
}

#[test]
fn pages_slides_and_sheets_by_number() {
    let daemon = daemon();
    let plain = |selector: &str| text(&daemon, &format!("plain.pdf:{selector}"));
    assert_eq!(
        plain("p3"),
        rows_from(9, "--- Page 3 ---\n\nPage three text Second line of it.")
    );
    assert_eq!(
        plain("p1-2"),
        rows_from(1, &PLAIN.lines().take(7).collect::<Vec<_>>().join("\n")) + "\n\n[1-7 of 11]"
    );
    assert_eq!(
        plain("p2-9"),
        rows_from(5, &PLAIN.lines().skip(4).collect::<Vec<_>>().join("\n"))
            + "\n\n[Pages 4-9 are beyond the end (3 pages); skipped]"
    );
    assert_eq!(
        plain("p4"),
        "Page 4 is beyond the end of plain.pdf (3 pages). Use :p1 to read from the start, or :p3 to read the last page."
    );
    assert_eq!(
        text(&daemon, "slides.pptx:p4"),
        rows_from(
            24,
            "## Slide 4\n\nOnly a text box\n\n### Notes\n\nNo title here."
        )
    );
    assert_eq!(
        text(&daemon, "book.xlsx:p3-4"),
        rows_from(
            23,
            "## Empty\n\n## Ähre & Co\n\n|  |  |  |\n| --- | --- | --- |\n| merged |  |  |\n| 2024-03-01 18:30:00 | 1000000000000000000000 | -0.5 |"
        ) + "\n\n[3 hidden rows, 1 hidden column and 1 hidden sheet are not shown]"
    );
    assert_eq!(
        text(&daemon, "plain.pdf:p3:raw"),
        "--- Page 3 ---\n\nPage three text Second line of it.\n"
    );
}

#[test]
fn long_paragraphs_are_lines_that_nothing_cuts() {
    let words = "the tide comes in and goes out again ".repeat(300);
    let tree = Tree::new().file("long.rtf", format!("{{\\rtf1 {words}}}"));
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("long.rtf").expect("a read");
    assert_eq!(result["details"].get("cutLines"), None);
    let rows = text_of(&result).lines();
    let lines: Vec<&str> = rows
        .filter_map(|row| Some(row.split_once(':')?.1))
        .collect();
    assert!(lines.len() > 10 && lines.iter().all(|line| line.len() <= 1000));
    assert_eq!(lines.join(" "), words.trim_end());
}
