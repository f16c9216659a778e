//! The law of paging: following `nextSelector` shows every line exactly once, with the right text, and ends; sizes of pages are not asserted here.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

/// The lines of a text as an editor counts them, each without its end.
fn lines_of(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    lines
        .iter()
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .collect()
}

/// Reads page after page; returns the pages' results.
fn follow(daemon: &mut Daemon, path: &str, first: &str, budget: &Value) -> Vec<Value> {
    let mut selector = first.to_owned();
    let mut pages = Vec::new();
    loop {
        let params = json!({ "path": path, "selector": selector, "budget": budget });
        let page = daemon.read_with(params).expect("a page");
        let next = page["details"]["truncation"]["nextSelector"]
            .as_str()
            .map(str::to_owned);
        pages.push(page);
        assert!(pages.len() < 20_000, "paging does not end");
        match next {
            Some(next) => selector = next,
            None => return pages,
        }
    }
}

/// `(number, text)` of every row of a numbered page.
fn rows(page: &Value) -> Vec<(usize, String)> {
    let text = page["content"][0]["text"].as_str().expect("text");
    let body = text.split("\n\n[").next().unwrap_or(text);
    let lines = body
        .split('\n')
        .skip(1)
        .filter(|line| *line != "…" && *line != "(empty file)");
    lines
        .map(|line| {
            let (number, text) = line.split_once(':').unwrap_or_else(|| panic!("{line:?}"));
            (number.parse().expect("a number"), text.to_owned())
        })
        .collect()
}

fn check_pages(daemon: &mut Daemon, path: &str, text: &str, budget: &Value) {
    let lines = lines_of(text);
    let pages = follow(daemon, path, "", budget);
    let rows: Vec<(usize, String)> = pages.iter().flat_map(rows).collect();
    let numbers: Vec<usize> = rows.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=lines.len()).collect::<Vec<_>>());
    for (number, shown) in &rows {
        let line = lines[number - 1];
        match shown.strip_suffix('…') {
            Some(head) if !line.ends_with('…') => {
                assert!(line.starts_with(head) && head.chars().count() == 2000);
            }
            _ => assert_eq!(shown, line),
        }
    }
    let raw: String = follow(daemon, path, "raw", budget)
        .iter()
        .map(|page| page["content"][0]["text"].as_str().expect("text"))
        .collect();
    assert_eq!(raw, text);
}

#[test]
fn chosen_files_page_completely() {
    let page_borders = "x".repeat(99) + "\n";
    let blank_at_borders = format!(
        "{}\n\n\n{}",
        page_borders.repeat(512),
        page_borders.repeat(600)
    );
    let texts = [
        String::new(),
        "\n".to_owned(),
        "\n\n\n".to_owned(),
        "no final newline".to_owned(),
        "x".repeat(700_000),
        format!("a\n{}\nb", "y".repeat(60_000)),
        format!("{}\n", "z".repeat(60_000)).repeat(7),
        numbered_lines(1, 3000),
        numbered_lines(1, 3001),
        numbered_lines(1, 9000),
        blank_at_borders,
        "a\r\nb\nc\rd\r\n\r\n".repeat(2000),
    ];
    let tree = Tree::new();
    let mut daemon = Daemon::start(tree.path());
    for (index, text) in texts.iter().enumerate() {
        let name = format!("t{index}.txt");
        tree.write(&name, text);
        check_pages(&mut daemon, &name, text, &Value::Null);
    }
}

#[test]
fn a_bounded_range_pages_without_repeating_a_line() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 9000));
    let mut daemon = Daemon::start(tree.path());
    for (first, asked) in [
        ("11-8000", (11..=8000).collect::<Vec<usize>>()),
        ("11-3011", (11..=3011).collect()),
        ("11-3012", (11..=3012).collect()),
        (
            "2-3001,5000-5001,6000-8999",
            (2..=3001).chain(5000..=5001).chain(6000..=8999).collect(),
        ),
        ("-4000", (5001..=9000).collect()),
    ] {
        let pages = follow(&mut daemon, "n.txt", first, &Value::Null);
        let numbers: Vec<usize> = pages
            .iter()
            .flat_map(rows)
            .map(|(number, _)| number)
            .collect();
        assert_eq!(numbers, asked, "{first}");
    }
}

#[test]
fn a_raw_line_over_a_mebibyte_is_cut_and_paging_ends() {
    let text = format!("{}\nlast\n", "é".repeat(600_000));
    let tree = Tree::new().file("huge.txt", &text);
    let mut daemon = Daemon::start(tree.path());
    let pages = follow(&mut daemon, "huge.txt", "raw", &Value::Null);
    assert_eq!(pages[0]["details"]["cutLines"][0]["totalChars"], 600_000);
    assert_eq!(pages[1]["content"][0]["text"], "last\n");
    assert_eq!(pages.len(), 2);
}

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        8 => "[a-zé¶:…#0-9 ]{0,12}",
        2 => "[a-z]{80,120}",
        1 => (1990usize..2010).prop_map(|count| "w".repeat(count)),
        1 => (300usize..400).prop_map(|count| "é…".repeat(count)),
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    let end = prop_oneof![6 => Just("\n"), 2 => Just("\r\n")];
    (prop::collection::vec((any_line(), end), 0..60), any_line()).prop_map(|(lines, last)| {
        let body: String = lines
            .iter()
            .map(|(line, end)| format!("{line}{end}"))
            .collect();
        body + &last
    })
}

#[test]
fn any_file_pages_completely_under_any_budget() {
    let tree = Tree::new();
    let mut daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let cases = if std::env::var_os("PILCROW_LONG").is_some() {
        20_000
    } else {
        150
    };
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let daemon = std::cell::RefCell::new(&mut daemon);
    proptest!(config, |(text in any_text(), lines in 1u64..40, bytes in 1u64..4000)| {
        tree.write("any.txt", &text);
        let budget = json!({ "lines": lines, "bytes": bytes });
        check_pages(&mut daemon.borrow_mut(), "any.txt", &text, &budget);
    });
}
