//! Workbooks of every format: what they show, what they hide, and lines within their cells; no limit is looked at here.

use super::{daemon, rows, text};

/// What is said below the workbook where its rows are hidden too.
pub const WORKBOOK_NOTE: &str =
    "\n\n[3 hidden rows, 1 hidden column and 1 hidden sheet are not shown]";

/// What differs between the formats of the workbook.
struct Book {
    /// The numbers of the rows of `Hidden part` that are there, and of its columns.
    rows: Vec<u32>,
    columns: Vec<u32>,
    /// The formulas of `sum`, with the cell between them.
    sum: &'static str,
    third: &'static str,
    big: &'static str,
}

impl Default for Book {
    fn default() -> Book {
        Book {
            rows: vec![1, 2, 4, 7, 8, 9, 10],
            columns: vec![1, 2, 4],
            sum: "19 |  | #DIV/0!",
            third: "0.333333333333333",
            big: "1000000000000000000000",
        }
    }
}

impl Book {
    fn text(&self) -> String {
        let Book {
            sum, third, big, ..
        } = self;
        let part = grid(&self.rows, &self.columns);
        format!(
            "{}

## Hidden part

{part}
## Empty

## Ähre & Co

|  |  |  |
| --- | --- | --- |
| merged |  |  |
| 2024-03-01 18:30:00 | {big} | -0.5 |",
            berths("Boréal", "日本", sum, third)
        )
    }
}

fn berths(boreal: &str, japan: &str, sum: &str, third: &str) -> String {
    format!(
        "## Berths

| ship | berth | arrived | length | paid | share | remark |
| --- | --- | --- | --- | --- | --- | --- |
| Aurora | 7 | 2024-03-01 | 12.5 | TRUE | 25% | left \\| right |
| Ceres | 12 | 2024-03-02 | 8 | FALSE | 75% | two<br>lines |
| {boreal} | 007 |  | {third} |  |  | {japan} |
| sum | {sum} |  |  |  |
|  |  |  |  |  |  |  |
| last |  |  |  |  |  | after an empty row |"
    )
}

/// The workbook as openpyxl writes it: without results of formulas.
pub fn book_openpyxl() -> String {
    Book {
        sum: " |  | ",
        ..Book::default()
    }
    .text()
}

const ALL_ROWS: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/// The sheet of which rows and columns are hidden; the columns and the rows that are there.
pub fn grid(rows: &[u32], columns: &[u32]) -> String {
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
    let check = |name: &str, book: String, note: &str| {
        assert_eq!(
            text(&daemon, name),
            format!("{}{note}", rows(&book)),
            "{name}"
        );
    };
    for name in ["book.xlsx", "book.xls"] {
        check(name, Book::default().text(), WORKBOOK_NOTE);
    }
    check("book-openpyxl.xlsx", book_openpyxl(), WORKBOOK_NOTE);
    let ods = Book {
        big: "1E+021",
        ..Book::default()
    };
    check("book.ods", ods.text(), WORKBOOK_NOTE);
    // SheetJS does not write that rows are hidden, and its older release no errors.
    let note = "\n\n[1 hidden column and 1 hidden sheet are not shown]";
    for (name, sum) in [
        ("book.xlsb", "19 |  | "),
        ("book-short.xlsb", "19 |  | #DIV/0!"),
        ("book-sheetjs.xls", "19 |  | #DIV/0!"),
    ] {
        let book = Book {
            rows: ALL_ROWS.to_vec(),
            sum,
            ..Book::default()
        };
        check(name, book.text(), note);
    }
}

#[test]
fn workbooks_of_other_programs() {
    let daemon = daemon();
    let sum = "19 |  | #DIV/0!";
    let third = "0.333333333333333";
    let part = grid(&ALL_ROWS, &[1, 2, 3, 4]);
    let last = "|  |  |  |\n| --- | --- | --- |\n| merged |  |  |\n| 2024-03-01 18:30:00 |";
    // What SheetJS cannot write in the letters of the West it writes as `_`; the column is not hidden.
    let old = format!(
        "{}\n\n## Hidden part\n\n{part}\n## Empty\n\n## _hre & Co\n\n{last} 1000000000000000000000 | -0.5 |",
        berths("Bor_al", "\\__", sum, third)
    );
    assert_eq!(
        text(&daemon, "book-biff5.xls"),
        format!("{}\n\n[1 hidden sheet is not shown]", rows(&old))
    );
    // In OpenDocument it hides nothing.
    let shown = format!(
        "{}\n\n## Hidden part\n\n{part}\n## Secret\n\n|  |\n| --- |\n| not to be seen |\n\n## Empty\n\n## Ähre & Co\n\n{last} 1E+21 | -0.5 |",
        berths("Boréal", "日本", "19 |  | ", "0.333333333")
    );
    assert_eq!(text(&daemon, "book-sheetjs.ods"), rows(&shown));
    let xlwt = "## Old\n\n|  |  |\n| --- | --- |\n| xlwt wrote this | 1 |\n| 日本 | TRUE |";
    assert_eq!(
        text(&daemon, "book-xlwt.xls"),
        format!("{}\n\n[1 hidden row is not shown]", rows(xlwt))
    );
    assert_eq!(
        text(&daemon, "very-hidden.xlsx"),
        format!(
            "{}\n\n[1 hidden sheet is not shown]",
            rows(&berths("Boréal", "日本", " |  | ", third))
        )
    );
}

#[test]
fn nothing_hidden_comes_out_of_opendocument() {
    let daemon = daemon();
    let ferries = "## Ferries

| ferry | thrice | e1 | h1 |
| --- | --- | --- | --- |
| a6 | merged B to E |  | h6 |
| a7 | b7 | merged C to E | h7 |
| tall | b9 |  |  |
|  | b11 |  |  |
| last |  |  |  |

## Gone";
    let note = "[7 hidden rows, 5 hidden columns and 1 hidden sheet are not shown]";
    let whole = format!("{}\n\n{note}", rows(ferries));
    assert_eq!(text(&daemon, "hidden.ods"), whole);
    // Nor in any other way to read it.
    for selector in ["1-", "p1-2", "1-12:raw", "-3"] {
        let path = format!("hidden.ods:{selector}");
        let text = text(&daemon, &path);
        assert!(!text.contains("secret"), "{selector}: {text}");
    }
    assert_eq!(
        text(&daemon, "all-hidden.ods"),
        "1:## Gone\n\n[2 hidden rows are not shown]"
    );
}

#[test]
fn line_ends_within_cells() {
    let daemon = daemon();
    let xlsx = "## Breaks

| two<br>lines |
| --- |
| with<br>return |
| a > b<br>and & more |
| three<br><br>lines |
| bold<br>and plain<br>ends |
| made<br>here |
| 12.5 |";
    assert_eq!(text(&daemon, "breaks.xlsx"), rows(xlsx));
    let xls = "## Breaks

| two<br>lines |
| --- |
| with<br>return |
| 日本<br>の港 |
| three<br><br>lines |
| no line end ¦ but a bar |
| bold<br>and plain<br>ends |
| 12.5 |

## Many

";
    let many = |n: u32| match n % 3 {
        0 => format!("| line {n} of many<br>日本の港 {n} |\n"),
        _ => format!("| line {n} of many<br>Küste {n} |\n"),
    };
    let head = many(1) + "| --- |\n";
    let many: String = (2..=900).map(many).collect();
    assert_eq!(
        text(&daemon, "breaks.xls"),
        rows(&format!("{xls}{head}{many}"))
    );
}
