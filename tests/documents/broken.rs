//! PDFs of which a table or a list is lost, over files that other programs wrote and a hole was made in; what is hostile is read elsewhere.

use serde_json::json;

use super::{daemon, rows, text, text_of};

const TABLE: &str =
    "The file's cross-reference table is broken; it was rebuilt from the objects in the file";
const LIST: &str = "The file is damaged: its list of pages is lost, and the pages that were found are shown in the order in which they stand in the file";

fn pages(count: usize) -> String {
    let page = |(at, word): (usize, &str)| {
        format!(
            "--- Page {} ---\n\nPage {word} text Second line of it.",
            at + 1
        )
    };
    let words = ["one", "two", "three", "four"].into_iter().enumerate();
    let pages: Vec<String> = words.take(count).map(page).collect();
    rows(&pages.join("\n\n"))
}

#[test]
fn pages_are_found_without_a_table_or_a_list_of_them() {
    let daemon = daemon();
    for (name, count, said) in [
        ("far-table.pdf", 3, TABLE),
        ("short-table.pdf", 4, TABLE),
        ("lost-list.pdf", 4, LIST),
        ("lost-catalog.pdf", 4, LIST),
    ] {
        let read = daemon.read(name).expect(name);
        assert_eq!(
            text_of(&read),
            format!("{}\n\n[{said}]", pages(count)),
            "{name}"
        );
        assert_eq!(read["details"]["notices"], json!([said]), "{name}");
        // A page alone, from a child that has not seen the others.
        let page = text(&daemon, &format!("{name}:p2"));
        assert!(page.contains("7:Page two text"), "{name}: {page}");
        assert!(page.contains(said), "{name}: {page}");
    }
}
