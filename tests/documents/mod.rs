//! Documents as Markdown, format by format and selector by selector, over files that other programs wrote; what is hostile has a file of its own.

mod beside;
mod broken;
pub mod hostile;
mod paging;
mod selectors;
mod sheets;
mod slides;
mod tables;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::{Daemon, WireError};
use crate::documents_hostile::with_part;
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
    report_of(title, "Ships", h1, h2)
}

/// The same with another first heading.
fn report_in(title: &str, ships: &str) -> String {
    report_of(title, ships, ["# ", ""], ["## ", ""])
}

fn report_of(title: &str, ships: &str, h1: [&str; 2], h2: [&str; 2]) -> String {
    let [(o1, c1), (o2, c2)] = [(h1[0], h1[1]), (h2[0], h2[1])];
    rows(&format!(
        "{title}Harbour report\n\n{o1}{ships}{c1}\n\n{o2}Arrivals{c2}\n
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
    assert_eq!(
        text(&daemon, "nested-table.docx"),
        rows(
            "|  |  |\n| --- | --- |\n| outer | inner a / inner b |\n\n|  |  |  |\n| --- | --- | --- |\n| two columns wide |  | two rows high |\n| a | b |  |"
        )
    );
    // Hidden text is read: only of cells it is said that they are left out.
    assert_eq!(
        text(&daemon, "hand.rtf"),
        rows(
            "**Harbour by hand**

élève, 日本, 😀, a b, brace {x}, back\\\\slash, — dash

| Aurora | 7 |
| --- | --- |
| Ceres | left \\| right |

[the tide tables](https://example.org/tides)

visiblehidden tabbed\\
next line\\
second page

xthe end"
        )
    );
}

#[test]
fn letters_over_others_follow_them_in_brackets() {
    let run = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
    let ruby = format!(
        "<w:body><w:p>{}<w:r><w:ruby><w:rubyPr/><w:rt>{}</w:rt><w:rubyBase>{}</w:rubyBase></w:ruby></w:r>{}</w:p>",
        run("港は"),
        run("とうきょう"),
        run("東京"),
        run("にある"),
    );
    let made = with_part("revisions.docx", "word/document.xml", |text| {
        text.replacen("<w:body>", &ruby, 1).into_bytes()
    });
    let tree = Tree::new().file("ruby.docx", made);
    assert_eq!(
        text(&Daemon::start(tree.path()), "ruby.docx"),
        rows("港は東京(とうきょう)にある\n\nBefore kept after.\n\nSeen, vanished")
    );
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
    assert_eq!(text(&daemon, "book.epub"), rows(TALES));
    // Of headings LibreOffice keeps only how they look, and of lists nothing.
    let report = "# Unknown Title

By Pier

Harbour report

**Ships**

**Arrivals**

The **Aurora** came before the *Ceres*; see [the tide tables](https://example.org/tides).

rope

anchor

chain

First

Second

| ship | berth | remark |
| --- | --- | --- |
| Aurora | 7 | left \\| right |
| Ceres | 12 | two<br>lines |

**Tides**

Ebbe und Flut, élève, 日本, 😀

OEBPS/images/image0001.png

The end of the report.";
    assert_eq!(text(&daemon, "report.epub"), rows(report));
}

/// What is in `book.epub`.
const TALES: &str = r##"# Tales of the harbour

By Jörg Pier

Cover

## Tales of the harbour

1. [The Pier](#epub-one-xhtml)
2. [The Storm](#epub-two-xhtml)
3. [Home](#epub-three-xhtml)

<a id="epub-one-xhtml"></a>

# The Pier

It was **cold**, it was *early*.

Élève & 日本

<a id="epub-two-xhtml"></a>

# The Storm

The wind rose.\
Then it fell.

[back](#epub-one-xhtml)

<a id="epub-three-xhtml"></a>

# Home

The end of the tale."##;

/// The pages of `plain.pdf` and the many files made from it.
pub const PLAIN: &str = "--- Page 1 ---

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
    assert_eq!(
        text(&daemon, "prefix.pdf"),
        rows("--- Page 1 ---\n\nPage one text Second line of it.")
    );
    let table = text(&daemon, "table.pdf:p2");
    let expected = "--- Page 2 ---\n\n| ship | berth | remark |\n| --- | --- | --- |\n| Aurora | 7 | left |\n| Ceres | 12 | right |";
    assert_eq!(table, rows_from(5, expected));
    let column = |side: &str| {
        let lines: Vec<String> = (1..=10).map(|n| format!("{side} column row {n}")).collect();
        lines.join(" ")
    };
    let (left, right) = (column("Left"), column("Right"));
    assert_eq!(
        text(&daemon, "columns.pdf"),
        rows(&format!("--- Page 1 ---\n\n{left}\n\n{right}"))
    );
    assert_eq!(
        text(&daemon, "cjk.pdf"),
        rows("--- Page 1 ---\n\n日本の港横浜と神戸")
    );
    assert_eq!(
        text(&daemon, "form.pdf"),
        rows(
            "--- Page 1 ---\n\nName: Berth:\n\n## Form fields\n\n- name: Aurora\n- berth: 7\n- paid: [x]"
        )
    );
    assert_eq!(
        text(&daemon, "outline.pdf"),
        rows(
            "--- Page 1 ---\n\nShips begins here\n\n--- Page 2 ---\n\nArrivals begins here\n\n--- Page 3 ---\n\nTides begins here"
        )
    );
}

#[test]
fn pages_without_text_are_said() {
    let daemon = daemon();
    let mixed = daemon.read("mixed-scan.pdf").expect("a read");
    let said = "Pages 4, 7-9 have no extractable text";
    let page = |number: u32, text: &str| format!("--- Page {number} ---\n\n{text}");
    let page = |(number, word)| match word {
        "" => page(number, ""),
        word => page(number, &format!("Page {word} text Second line of it.\n\n")),
    };
    let words = ["one", "two", "three", "", "five", "six", "", "", ""];
    let pages: String = (1..).zip(words).map(page).collect();
    let expected = format!("{}\n\n[{said}]", rows(pages.trim_end()));
    assert_eq!(text_of(&mixed), expected);
    assert_eq!(mixed["details"]["notices"], json!([said]));
    assert_eq!(
        text(&daemon, "mixed-scan.pdf:p3-4"),
        "9:--- Page 3 ---\n10:\n11:Page three text Second line of it.\n12:\n13:--- Page 4 ---\n\n[Page 4 has no extractable text]\n[9-13 of 27]"
    );
    assert_eq!(
        text(&daemon, "scan.pdf"),
        "[No extractable text in scan.pdf (12 pages): probably scanned images]"
    );
    assert_eq!(
        text(&daemon, "empty-page.pdf"),
        "[No extractable text in empty-page.pdf (1 page): blank, or lines alone]"
    );
    assert_eq!(
        text(&daemon, "lines.pdf"),
        "[No extractable text in lines.pdf (1 page): blank, or lines alone]"
    );
    assert_eq!(
        text(&daemon, "drawn.pdf"),
        "[No extractable text in drawn.pdf (2 pages): drawings, or letters that are only drawn]"
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
    assert_eq!(text(&daemon, "tale"), rows(TALES));
    let named = Daemon::start(&fixtures());
    assert_eq!(text(&daemon, "sheet.old"), text(&named, "book.xls"));
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
