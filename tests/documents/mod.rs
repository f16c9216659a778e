//! Documents as Markdown, format by format and selector by selector, over files that other programs wrote; what is hostile has a file of its own.

mod paging;
mod selectors;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::{Daemon, WireError};
use crate::tree::Tree;

/// The documents, by their names.
pub fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/document")
}

fn daemon() -> Daemon {
    Daemon::start(&fixtures())
}

pub fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text block")
}

fn text(daemon: &Daemon, path: &str) -> String {
    let result = daemon.read(path);
    text_of(&result.unwrap_or_else(|error| panic!("{path}: {error:?}"))).to_owned()
}

fn refusal(daemon: &Daemon, path: &str) -> WireError {
    let result = daemon.read(path);
    result.err().unwrap_or_else(|| panic!("{path} was read"))
}

/// The lines from number `first` on as rows.
fn rows_from(first: usize, lines: &str) -> String {
    let rows = lines.lines().enumerate();
    let rows: Vec<String> = rows
        .map(|(at, line)| format!("{}:{line}", first + at))
        .collect();
    rows.join("\n")
}

fn rows(lines: &str) -> String {
    rows_from(1, lines)
}

/// What every program made of the report; only its headings differ.
fn report(title: &str, h1: [&str; 2], h2: [&str; 2]) -> String {
    let [(o1, c1), (o2, c2)] = [(h1[0], h1[1]), (h2[0], h2[1])];
    rows(&format!(
        "{title}Harbour report\n\n{o1}Ships{c1}\n\n{o2}Arrivals{c2}\n
The **Aurora** came before the *Ceres*; see [the tide tables](https://example.org/tides).

- rope
- anchor

- chain

1. First
2. Second

| ship | berth | remark |
| --- | --- | --- |
| Aurora | 7 | left \\| right |
| Ceres | 12 | two<br>lines |

{o1}Tides{c1}

Ebbe und Flut, élève, 日本, 😀

The end of the report."
    ))
}

#[test]
fn word_and_rich_text() {
    let daemon = daemon();
    let (h1, h2, bold) = (["# ", ""], ["## ", ""], ["**", "**"]);
    for name in ["report-python.docx", "report.docx"] {
        assert_eq!(text(&daemon, name), report("# ", h1, h2), "{name}");
    }
    for name in ["report.doc", "report.odt"] {
        assert_eq!(text(&daemon, name), report("", h1, h2), "{name}");
    }
    assert_eq!(text(&daemon, "report.rtf"), report("", bold, bold));
    assert_eq!(
        text(&daemon, "footnotes.docx"),
        rows("A sentence with a note[^1].\n\n[^1]: Below the line")
    );
    assert_eq!(
        text(&daemon, "revisions.docx"),
        rows("Before kept after.\n\nSeen, vanished")
    );
    assert_eq!(
        text(&daemon, "textbox.docx"),
        rows("Outside of it\n\nIn the box")
    );
    assert_eq!(text(&daemon, "japanese.rtf"), "1:日本の港");
}

#[test]
fn electronic_books() {
    let daemon = daemon();
    assert_eq!(
        text(&daemon, "epub2.epub"),
        rows("# Hand made\n\n# First part\n\nOld but good.\n\n# Second part\n\nStill here.")
    );
    assert_eq!(
        text(&daemon, "odd.epub"),
        rows(
            "# Hand made\n\n# Came first\n\nIt is named last.\n\n# Came second\n\nIt is named first.\n\nA plan of the pier"
        )
    );
    let book = text(&daemon, "book.epub");
    assert!(
        book.contains(":It was **cold**, it was *early*.\n"),
        "{book}"
    );
    assert!(book.contains(":The wind rose.\\\n"), "{book}");
    assert!(book.ends_with(":The end of the tale."), "{book}");
}

/// The workbook as each format holds it.
fn book(lines_in_cell: &str, sum: &str, wide: &str, hidden: &str, secret: &str) -> String {
    format!(
        "## Berths

| ship | berth | arrived | length | paid | share | remark |
| --- | --- | --- | --- | --- | --- | --- |
| Aurora | 7 | 2024-03-01 | 12.5 | TRUE | 25% | left \\| right |
| Ceres | 12 | 2024-03-02 | 8 | FALSE | 75% | {lines_in_cell} |
| Boréal | 007 |  | 0.333333333333333 |  |  | 日本 |
| sum | {sum} |  |  |  |
|  |  |  |  |  |  |  |
| last |  |  |  |  |  | after an empty row |

## Hidden part

{hidden}
{secret}## Empty

## Ähre & Co

|  |  |  |
| --- | --- | --- |
| merged |  |  |
| 2024-03-01 18:30:00 | {wide} | -0.5 |"
    )
}

/// The sheet of which rows and columns are hidden; the columns and the rows that are there.
fn grid(rows: &[u32], columns: &[u32]) -> String {
    let row = |row: u32| -> String {
        let cells = columns.iter().map(|column| format!(" r{row}c{column} |"));
        format!("|{}\n", cells.collect::<String>())
    };
    let rule = format!("|{}\n", " --- |".repeat(columns.len()));
    let mut lines = rows.iter().map(|number| row(*number));
    let head = lines.next().unwrap_or_default();
    head + &rule + &lines.collect::<String>()
}

#[test]
fn workbooks_and_what_they_hide() {
    let daemon = daemon();
    let shown = grid(&[1, 2, 4, 7, 8, 9, 10], &[1, 2, 4]);
    let all = grid(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[1, 2, 3, 4]);
    let note = "[3 hidden rows, 1 hidden column and 1 hidden sheet are not shown]";
    let (big, error) = ("1000000000000000000000", "19 |  | #DIV/0!");
    let made = book("two<br>lines", error, big, &shown, "");
    assert_eq!(
        text(&daemon, "book.xlsx"),
        format!("{}\n\n{note}", rows(&made))
    );
    // Without results of formulas there are none to show.
    let made = book("two<br>lines", " |  | ", big, &shown, "");
    assert_eq!(
        text(&daemon, "book-openpyxl.xlsx"),
        format!("{}\n\n{note}", rows(&made))
    );
    let made = book("two lines", error, big, &shown, "");
    assert_eq!(
        text(&daemon, "book.xls"),
        format!("{}\n\n{note}", rows(&made))
    );
    // SheetJS keeps neither the error nor that rows are hidden.
    let rows_shown = grid(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[1, 2, 4]);
    let made = book("two lines", "19 |  | ", big, &rows_shown, "");
    assert_eq!(
        text(&daemon, "book.xlsb"),
        format!(
            "{}\n\n[1 hidden column and 1 hidden sheet are not shown]",
            rows(&made)
        )
    );
    // In OpenDocument the converter shows what is hidden; that is said too.
    let secret = "## Secret\n\n|  |\n| --- |\n| not to be seen |\n\n";
    let made = book("two<br>lines", error, "1E+021", &all, secret);
    let said = "[3 hidden rows, 1 hidden column and 1 hidden sheet are shown as well]";
    assert_eq!(
        text(&daemon, "book.ods"),
        format!("{}\n\n{said}", rows(&made))
    );
}

#[test]
fn workbooks_of_other_programs() {
    let daemon = daemon();
    let hidden = |name: &str| {
        let text = text(&daemon, name);
        text.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(hidden("very-hidden.xlsx"), "[1 hidden sheet is not shown]");
    assert_eq!(hidden("book-xlwt.xls"), "[1 hidden row is not shown]");
    // Files whose allocation table is longer than they are.
    for name in ["book-biff5.xls", "book-sheetjs.xls"] {
        let text = text(&daemon, name);
        assert!(
            text.starts_with("1:## Berths\n2:\n3:| ship | berth |"),
            "{name}: {text}"
        );
    }
    let short = text(&daemon, "book-short.xlsb");
    assert!(short.contains("## Hidden part\n"), "{short}");
}

#[test]
fn presentations() {
    let daemon = daemon();
    let slides = |bullets: &str| {
        rows(&format!(
            "## Harbour 2024

A year of tides

## Tides

{bullets}

### Notes

Say it slowly.

## Berths

| ship | berth |
| --- | --- |
| Aurora | 7 |
| Ceres \\| old | 12 |

## Slide 4

Only a text box

### Notes

No title here."
        ))
    };
    let office = slides("- Ebb\n\n- Flow\n\n  - Spring");
    assert_eq!(text(&daemon, "slides-python.pptx"), office);
    assert_eq!(text(&daemon, "slides.pptx"), office);
    assert_eq!(
        text(&daemon, "slides.odp"),
        slides("- Ebb\n- Flow\n\n- - Spring")
    );
    // Its slides are told by their titles alone, and its tables are boxes.
    let old = "## Harbour 2024

A year of tides

## Tides

- Ebb

- Flow

  - Spring

### Notes

Say it slowly.

## Berths

ship

berth

Aurora

7

Ceres | old

12

Only a text box

### Notes

No title here.";
    assert_eq!(text(&daemon, "slides.ppt"), rows(old));
    assert_eq!(refusal(&daemon, "slides.ppt:p2").kind(), "unsupported");
    assert_eq!(
        text(&daemon, "reordered.pptx:p2"),
        "3:## File three, shown second\n\n[Showing lines 3-3 of 5. Use :4- to continue]"
    );
}

/// The pages of `plain.pdf` and the many files made from it.
const PLAIN: &str = "--- Page 1 ---

Page one text Second line of it.

--- Page 2 ---

Page two text Second line of it.

--- Page 3 ---

Page three text Second line of it.";

#[test]
fn portable_documents() {
    let daemon = daemon();
    for name in [
        "plain.pdf",
        "objstm.pdf",
        "linear.pdf",
        "rotated.pdf",
        "labels.pdf",
        "attachment.pdf",
        "encrypted-owner.pdf",
    ] {
        assert_eq!(text(&daemon, name), rows(PLAIN), "{name}");
    }
    let before_its_header = text(&daemon, "prefix.pdf");
    assert!(
        before_its_header.starts_with("1:--- Page 1 ---\n2:\n3:"),
        "{before_its_header}"
    );
    let table = text(&daemon, "table.pdf:p2");
    let expected = "--- Page 2 ---\n\n| ship | berth | remark |\n| --- | --- | --- |\n| Aurora | 7 | left |\n| Ceres | 12 | right |";
    assert_eq!(table, rows_from(5, expected));
    let columns = text(&daemon, "columns.pdf");
    assert!(
        columns.contains("Left column row 10\n4:\n5:Right column row 1 "),
        "{columns}"
    );
    assert_eq!(
        text(&daemon, "cjk.pdf"),
        rows("--- Page 1 ---\n\n日本の港横浜と神戸")
    );
    let form = text(&daemon, "form.pdf");
    assert!(
        form.starts_with("1:--- Page 1 ---\n2:\n3:Name: Berth:\n4:\n5:## Form fields\n6:\n7:- "),
        "{form}"
    );
}

#[test]
fn pages_without_text_are_said() {
    let daemon = daemon();
    let mixed = daemon.read("mixed-scan.pdf").expect("a read");
    let said = "Pages 4, 7-9 have no extractable text";
    assert!(text_of(&mixed).ends_with(&format!("\n27:--- Page 9 ---\n\n[{said}]")));
    assert_eq!(mixed["details"]["notices"], json!([said]));
    assert_eq!(
        text(&daemon, "mixed-scan.pdf:p3-4"),
        "9:--- Page 3 ---\n10:\n11:Page three text Second line of it.\n12:\n13:--- Page 4 ---\n\n[Page 4 has no extractable text]\n[Showing lines 9-13 of 27. Use :14- to continue]"
    );
    assert_eq!(
        text(&daemon, "scan.pdf"),
        "[No extractable text in scan.pdf (12 pages): probably scanned images]"
    );
    assert_eq!(
        text(&daemon, "empty-page.pdf"),
        "[No extractable text in empty-page.pdf (1 page): blank]"
    );
}

#[test]
fn what_cannot_be_read_is_said_in_one_line() {
    let daemon = daemon();
    for name in [
        "encrypted.docx",
        "encrypted.xlsx",
        "encrypted.pptx",
        "encrypted.odt",
        "encrypted.ods",
        "encrypted-doc.doc",
        "encrypted-xls.xls",
        "encrypted-user.pdf",
        "encrypted-rc4.pdf",
    ] {
        let (_, extension) = name.rsplit_once('.').expect("an extension");
        let result = daemon.read(name).expect(name);
        let expected = format!("[Cannot read .{extension} file: encrypted]");
        assert_eq!(text_of(&result), expected, "{name}");
        assert_eq!(result["details"]["kind"], "document", "{name}");
        // Whatever lines are asked for.
        assert_eq!(text(&daemon, &format!("{name}:50-60")), expected);
        assert_eq!(text(&daemon, &format!("{name}:p3")), expected);
    }
    for (name, why) in [
        ("empty.docx", "the file is empty"),
        ("empty.pdf", "the file is empty"),
        ("empty.xls", "the file is empty"),
        ("no-pages.pdf", "damaged: it has no pages"),
        (
            "zip-named.xlsx",
            "damaged: not a readable workbook container",
        ),
        (
            "hostile/no-document.docx",
            "damaged: missing required part: word/document.xml",
        ),
    ] {
        let (_, extension) = name.rsplit_once('.').expect("an extension");
        let expected = format!("[Cannot read .{extension} file: {why}]");
        assert_eq!(text(&daemon, name), expected, "{name}");
    }
    let tree = Tree::new().file("noise.docx", [0u8, 159, 3, 7].repeat(900));
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        text(&daemon, "noise.docx"),
        "[Cannot read .docx file: damaged: it does not begin as such a file does]"
    );
}

#[test]
fn the_content_decides_and_not_the_name() {
    let daemon = daemon();
    let kind = |name: &str| daemon.read(name).expect(name)["details"]["kind"].clone();
    for name in [
        "text-named.pdf",
        "html-named.xls",
        "csv-named.xls",
        "table.csv",
    ] {
        assert_eq!(kind(name), "file", "{name}");
    }
    for name in ["pdf-named.docx", "docx-named.doc", "rtf-named.doc"] {
        assert_eq!(kind(name), "document", "{name}");
    }
    assert_eq!(text(&daemon, "pdf-named.docx"), rows(PLAIN));
    assert_eq!(
        text(&daemon, "docx-named.doc"),
        text(&daemon, "revisions.docx")
    );
    assert_eq!(text(&daemon, "rtf-named.doc"), text(&daemon, "hand.rtf"));
    let bytes = |name: &str| std::fs::read(fixtures().join(name)).expect(name);
    let tree = Tree::new()
        .file("letter", bytes("report.docx"))
        .file("paper.bin", bytes("plain.pdf"))
        .file("tale", bytes("book.epub"))
        .file("sheet.old", bytes("book.xls"));
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        text(&daemon, "paper.bin:5-5,7"),
        "5:--- Page 2 ---\n…\n7:Page two text Second line of it."
    );
    assert_eq!(text(&daemon, "letter:1,1"), "1:# Harbour report");
    assert!(text(&daemon, "tale").ends_with(":The end of the tale."));
    assert!(text(&daemon, "sheet.old").starts_with("1:## Berths\n"));
}

#[test]
fn tables_of_separated_values() {
    let daemon = daemon();
    assert_eq!(
        text(&daemon, "table.csv:table"),
        rows(
            "| ship | berth | remark |
| --- | --- | --- |
| Aurora | 7 | left \\| right |
| Ceres | 12 | two<br>lines |
| Boréal |  | says \"ahoy\" |
| Hel | 3 | blanks |
| comma, inside | 4 | x |
| last | 5 | end |"
        )
    );
    assert_eq!(
        text(&daemon, "table-crlf.csv:table"),
        text(&daemon, "table.csv:table")
    );
    assert_eq!(
        text(&daemon, "table-latin1.csv:table"),
        rows("| ship | port |\n| --- | --- |\n| Boréal | Sète |")
    );
    assert_eq!(
        text(&daemon, "table-bom.csv:table"),
        rows("| ship | berth |\n| --- | --- |\n| Aurora | 7 |")
    );
    assert_eq!(
        text(&daemon, "table-semicolon.csv:table:3-3"),
        "2:| --- | --- |\n3:| Aurora | 12,5 |\n4:| Ceres | 8,0 |"
    );
    assert_eq!(
        text(&daemon, "table-tab.tsv:table"),
        rows("| ship | length |\n| --- | --- |\n| Aurora | 12.5 |\n| Ceres | 8 |")
    );
    assert_eq!(
        text(&daemon, "empty.csv:table"),
        "[No extractable text in empty.csv]"
    );
    assert!(text(&daemon, "table.csv").starts_with("¶table.csv#"));
    assert_eq!(refusal(&daemon, "table.csv:p1").kind(), "badSelector");
    assert_eq!(refusal(&daemon, "report.docx:table").kind(), "badSelector");
}

#[test]
fn unsaved_text_is_what_a_table_is_made_of() {
    let tree = Tree::new().file("a.csv", "x,y\n1,2\n");
    let daemon = Daemon::start(tree.path());
    let uri = format!("file://{}", tree.spelled("a.csv"));
    let document = json!({ "uri": uri, "languageId": "csv", "version": 1, "text": "x,y\n3,4\n" });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    assert_eq!(
        text(&daemon, "a.csv:table"),
        rows("| x | y |\n| --- | --- |\n| 3 | 4 |")
    );
}

#[test]
fn details_and_the_other_dialects() {
    let daemon = daemon();
    let result = daemon.read("report.docx").expect("a read");
    let details = &result["details"];
    assert_eq!(details["kind"], "document");
    assert_eq!(details["totalLines"], 26);
    assert_eq!(details["shown"], json!([{ "start": 1, "end": 26 }]));
    let path = fixtures().join("report.docx");
    assert_eq!(details["resolvedPath"], json!(path));
    // Nothing of it can be edited.
    assert_eq!(details.get("hashline"), None);
    let plain = daemon.read_with(json!({ "path": "plain.pdf", "dialect": "plain" }));
    assert_eq!(text_of(&plain.expect("a read")), PLAIN);
    let numbered = daemon.read_with(json!({ "path": "plain.pdf", "dialect": "numbered" }));
    assert_eq!(text_of(&numbered.expect("a read")), rows(PLAIN));
}

#[test]
fn what_is_warm_is_dropped_when_the_file_changes() {
    let bytes = |name: &str| std::fs::read(fixtures().join(name)).expect(name);
    let tree = Tree::new().file("a.docx", bytes("revisions.docx"));
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        text(&daemon, "a.docx"),
        rows("Before kept after.\n\nSeen, vanished")
    );
    tree.replace("a.docx", bytes("textbox.docx"));
    assert_eq!(text(&daemon, "a.docx"), rows("Outside of it\n\nIn the box"));
    let again = Daemon::start(&fixtures());
    assert_eq!(
        again.read("textbox.docx").expect("a read")["details"]["cache"],
        "miss"
    );
    assert_eq!(
        again.read("textbox.docx").expect("a read")["details"]["cache"],
        "hit"
    );
}

#[test]
fn a_single_read_on_the_command_line() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pilcrow"))
        .args(["read", "plain.pdf:p3"])
        .current_dir(fixtures())
        .output()
        .expect("it runs");
    let expected = rows_from(9, "--- Page 3 ---\n\nPage three text Second line of it.");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected + "\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
