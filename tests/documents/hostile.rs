//! What each hostile document gives, word for word; the limits that they run into are tested elsewhere.

use super::sheets::{WORKBOOK_NOTE, book_openpyxl, grid};
use super::{report_in, rows};

const REACHABLE: &str = "1:--- Page 1 ---\n2:\n3:Reachable text";
const CHAPTER: &str = "1:# Hand made\n2:\n3:# Only chapter\n4:\n5:Again and again.";
const DAMAGED: &str = "\n\n[The file is damaged: what could be read of it is shown]";
const REBUILT: &str =
    "\n\n[The file's cross-reference table is broken; it was rebuilt from the objects in the file]";

/// The words for a document that takes more than it may: which limit it runs into first is a matter
/// of the machine.
pub const LIMITS: [&str; 4] = [
    "[Cannot read .pdf file: it took longer than 25 s]",
    "[Cannot read .pdf file: it took more than 20 s of processor time]",
    "[Cannot read .pdf file: the converter stopped, as it does when a document asks for too much memory or nests too deeply]",
    "[Cannot read .pdf file: damaged: nothing of its 1 page could be read]",
];

/// `cmap-bomb.pdf`, where the machine is through all of its mappings in time.
pub const MAPPED: &str = "1:--- Page 1 ---\n2:\n3:劦憤梢抭敡璦碵";

/// The Markdown, or the words in its place; `None` for one that runs into a limit.
pub fn golden(name: &str) -> Option<String> {
    let text = match name {
        "cmap-bomb.pdf" | "flate-twice.pdf" | "form-billion.pdf" => return None,
        "javascript.pdf"
        | "nested-plain.pdf"
        | "object-loop.pdf"
        | "outline-deep.pdf"
        | "outline-loop.pdf"
        | "page-explosion.pdf"
        | "page-parent-loop.pdf"
        | "page-repeat.pdf"
        | "xref-loop.pdf"
        | "xrefstm-loop.pdf" => REACHABLE.to_owned(),
        "huge-count.pdf" | "no-eof.pdf" | "page-loop.pdf" | "xref-missing.pdf" => {
            format!("{REACHABLE}{DAMAGED}")
        }
        "xref-far.pdf" | "xref-pair.pdf" => format!("{REACHABLE}{REBUILT}"),
        "bomb.epub" | "dotdot.epub" | "entities.epub" | "spine-loop.epub" | "toc-loop.epub" => {
            CHAPTER.to_owned()
        }
        "bomb.docx" | "dotdot.docx" | "relation-loop.docx" | "utf16.docx" => {
            report_in("# ", "Ships")
        }
        "bomb.odt" => report_in("", "Ships"),
        // What an entity would stand for is nowhere.
        "entities.docx" => report_in("# ", "&amp;j;Ships"),
        "entities.odt" => report_in("", "&amp;j;Ships"),
        "external.docx" => report_in("# ", "&amp;x;Ships"),
        "bomb.xlsx" => format!("{}{WORKBOOK_NOTE}", rows(&book_openpyxl())),
        "formula-loop.xlsx" => workbook("|  |\n| --- |\n| 5 |\n\n"),
        "shared.xlsx" => workbook("|  |\n| --- |\n| 3 |\n\n"),
        "wrong-sheet.xlsx" => workbook(""),
        "quotes.csv" => format!(
            "1:|  |\n2:| --- |\n3:| {}…\n\n[Line 3 cut at 2000 of 2504 characters. Use :3-3:raw for the whole line]",
            "\"".repeat(1998)
        ),
        "wide.csv" => wide(),
        "text-bomb.pdf" => {
            "1:--- Page 1 ---\n2:\n3:glyphs and glyphs, glyphs and glyphs, glyphs and glyphs,"
                .to_owned()
        }
        "hidden-repeats.ods" => {
            rows("## Bomb\n\n| shown |\n| --- |\n| end |")
                + "\n\n[1048575 hidden rows and 16383 hidden columns are not shown]"
        }
        name => one_line(name)?.to_owned(),
    };
    Some(text)
}

/// Those that are a few words, in the place of the Markdown or before all that is cut off.
fn one_line(name: &str) -> Option<&'static str> {
    Some(match name {
        "bin.rtf" => "1:before",
        "deep.rtf" => "1:deep",
        "open.rtf" => "1:**open** ***text***",
        "unicode.rtf" => "1:é\u{ffff}",
        "bomb-text.docx" => {
            "1:# Harbour report\n\n[The text ends here at 16777216 bytes; the rest of the document is not shown]"
        }
        "deep.docx" => {
            "[Cannot read .docx file: it unpacks to more than is read: element nesting exceeds 256]"
        }
        "deep.odt" => {
            "[Cannot read .odt file: it unpacks to more than is read: element nesting exceeds 256]"
        }
        "repeated.ods" => {
            "[Cannot read .ods file: it unpacks to more than is read: table repeat expansion duplicates more text than the budget]"
        }
        "wide.xlsx" => {
            "[Cannot read .xlsx file: it unpacks to more than is read: workbook extent covers 17179869184 grid positions]"
        }
        "encrypt-odd.pdf" => {
            "[Cannot read .pdf file: damaged: Unsupported PDF version: encryption revision 99]"
        }
        "fat-loop.doc" => {
            "[Cannot read .doc file: damaged: not an OLE2 compound file: Malformed FAT (sector 1 pointed to twice)]"
        }
        "fat-loop.xls" => {
            "[Cannot read .xls file: damaged: not an OLE2 compound file: Malformed FAT (FAT has 20 entries, but file has only 18 sectors)]"
        }
        "header-only.doc" => {
            "[Cannot read .doc file: damaged: not an OLE2 compound file: DIFAT refers to sector 0, but sector count is only 0]"
        }
        "truncated.doc" => {
            "[Cannot read .doc file: damaged: not an OLE2 compound file: Malformed FAT (FAT has 41 entries, but file has only 20 sectors)]"
        }
        "truncated.ppt" => {
            "[Cannot read .ppt file: damaged: not an OLE2 compound file: Malformed FAT (FAT has 128 entries, but file has only 33 sectors)]"
        }
        "truncated.xls" => {
            "[Cannot read .xls file: damaged: not an OLE2 compound file: Malformed FAT (FAT has 18 entries, but file has only 9 sectors)]"
        }
        "header-only.pdf" | "truncated.pdf" => {
            "[Cannot read .pdf file: damaged: PDF parsing error: startxref not found]"
        }
        "huge-number.pdf" | "objstm-loop.pdf" => {
            "[Cannot read .pdf file: damaged: it has no pages]"
        }
        "no-document.docx" => {
            "[Cannot read .docx file: damaged: missing required part: word/document.xml]"
        }
        "no-opf.epub" => {
            "[Cannot read .epub file: damaged: missing required part: META-INF/container.xml]"
        }
        "no-stream.doc" => "[Cannot read .doc file: damaged: missing required part: WordDocument]",
        "not-xml.docx" => {
            "[Cannot read .docx file: damaged: unparseable xml: ill-formed document: entity or character reference not closed: `;` not found before end of input]"
        }
        "self.epub" => "[Cannot read .epub file: damaged: no chapter in the book could be read]",
        "flate-bomb.pdf" => {
            "[No extractable text in flate-bomb.pdf (1 page): blank, or lines alone]"
        }
        "nested-arrays.pdf" => {
            "[No extractable text in nested-arrays.pdf (1 page): blank, or lines alone]"
        }
        "nested-dicts.pdf" => {
            "[No extractable text in nested-dicts.pdf (1 page): blank, or lines alone]"
        }
        "form-loop.pdf" => {
            "[No extractable text in form-loop.pdf (1 page): drawings, or letters that are only drawn]"
        }
        "thousand-sheets.xlsx" => "[No extractable text in thousand-sheets.xlsx]",
        "truncated.rtf" => "[No extractable text in truncated.rtf]",
        _ => return None,
    })
}

/// The workbook with another first sheet.
fn workbook(berths: &str) -> String {
    let shown = grid(&[1, 2, 4, 7, 8, 9, 10], &[1, 2, 4]);
    let last = "|  |  |  |\n| --- | --- | --- |\n| merged |  |  |\n| 2024-03-01 18:30:00 | 1000000000000000000000 | -0.5 |";
    let text = format!(
        "## Berths\n\n{berths}## Hidden part\n\n{shown}\n## Empty\n\n## Ähre & Co\n\n{last}"
    );
    format!("{}{WORKBOOK_NOTE}", rows(&text))
}

/// One row of 5,000 cells.
fn wide() -> String {
    let numbers: Vec<String> = (0..5000).map(|number| number.to_string()).collect();
    let lines = [
        format!("|{}", "  |".repeat(5000)),
        format!("|{}", " --- |".repeat(5000)),
        format!("| {} |", numbers.join(" | ")),
    ];
    let (mut text, mut cuts) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(&lines) {
        text.push(format!("{number}:{}…", &line[..2000]));
        let long = line.len();
        cuts.push(format!(
            "[Line {number} cut at 2000 of {long} characters. Use :{number}-{number}:raw for the whole line]"
        ));
    }
    format!("{}\n\n{}", text.join("\n"), cuts.join("\n"))
}
