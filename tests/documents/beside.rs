//! What documents say beside their text: comments of cells, footers of slides, authors of books; their lines are counted as all others.

use super::{daemon, rows, rows_from, text};

const BERTHS: &str = "## Berths

| ship | berth | remark |
| --- | --- | --- |
| Aurora | 7 | left |
| Ceres | 12 | right |
";
const HIDDEN: &str = "\n\n[1 hidden row, 1 hidden column and 1 hidden sheet are not shown]";

#[test]
fn comments_of_cells_stand_below_their_sheet_in_the_order_of_the_cells() {
    let daemon = daemon();
    let book = |comments: &str, bare: &str| {
        rows(&format!("{BERTHS}\n{comments}\n\n## Bare\n\n{bare}")) + HIDDEN
    };
    assert_eq!(
        text(&daemon, "comments.xlsx"),
        book(
            "Comment C1: by nobody\nComment B2 (Ann): Is it free?\nComment A10 (Ben & Co): two<br>lines",
            "Comment D4 (Ann): nothing here"
        )
    );
    assert_eq!(
        text(&daemon, "comments-threads.xlsx"),
        book(
            "Comment C1: by nobody\nComment B2 (Ann Pier): Is it free?\nComment B2 (Ben): Until < noon\nComment A10 (Ben & Co): two<br>lines",
            "Comment D4 (Ann): nothing here"
        )
    );
    // LibreOffice keeps no authors.
    assert_eq!(
        text(&daemon, "comments-office.xlsx"),
        book(
            "Comment C1: by nobody\nComment B2: Ann:<br>Is it free?\nComment A10: two<br>lines",
            "Comment D4: nothing here"
        )
    );
}

#[test]
fn sheets_begin_where_they_stand_below_the_comments_of_others() {
    let daemon = daemon();
    let first = text(&daemon, "comments.xlsx:p1");
    assert!(first.starts_with("1:## Berths\n"), "{first}");
    assert!(
        first.contains("\n10:Comment A10 (Ben & Co): two<br>lines\n\n["),
        "{first}"
    );
    assert_eq!(
        text(&daemon, "comments.xlsx:p2"),
        rows_from(12, "## Bare\n\nComment D4 (Ann): nothing here") + HIDDEN
    );
    assert_eq!(
        text(&daemon, "comments.xlsx:9-9:raw"),
        "Comment B2 (Ann): Is it free?\n"
    );
}

#[test]
fn footers_and_dates_are_the_last_text_of_their_slides() {
    let daemon = daemon();
    let slides = "## Tides

Ebb and flow

1 March 2024

Harbour & Co

## Berths

Harbour & Co

### Notes

Say it slowly.

## End";
    assert_eq!(text(&daemon, "footers.pptx"), rows(slides));
    assert_eq!(text(&daemon, "footers-office.pptx"), rows(slides));
    assert_eq!(text(&daemon, "footers.pptx:p3"), rows_from(17, "## End"));
}

#[test]
fn authors_of_a_book_stand_below_its_title() {
    let daemon = daemon();
    let read = text(&daemon, "authors.epub");
    assert!(
        read.starts_with("1:# Two hands\n2:\n3:By Ann Pier and Ben <Mole>\n4:\n5:# One\n"),
        "{read}"
    );
    assert_eq!(
        text(&daemon, "untitled.epub"),
        rows("By Ann Pier\n\n# Alone\n\nNo name on it.")
    );
}
