//! Paging through documents, and pages converted no sooner than they are needed; formats are looked at elsewhere.

use serde_json::{Value, json};

use super::{daemon, text, text_of};
use crate::client::Daemon;

#[test]
fn pages_are_converted_as_far_as_they_are_needed() {
    let daemon = daemon();
    let first = daemon.read("many.pdf:1-3").expect("a read");
    assert_eq!(
        text_of(&first),
        "1:--- Page 1 ---\n2:\n3:This is page 1 of 60\n4:\n5:--- Page 2 ---\n6:\n\n[1-6, pages 1-2 of 60]"
    );
    assert_eq!(first["details"]["totalLines"], Value::Null);
    assert_eq!(first["details"]["cache"], "miss");
    let warm = daemon.read("many.pdf:p1").expect("a read");
    assert_eq!(warm["details"]["cache"], "hit");
    assert_eq!(
        text_of(&warm),
        "1:--- Page 1 ---\n2:\n3:This is page 1 of 60\n\n[1-3, page 1 of 60]"
    );
    // More of it, and still the same lines.
    let later = daemon.read("many.pdf:p40").expect("a read");
    assert_eq!(later["details"]["cache"], "miss");
    assert_eq!(
        text_of(&later),
        "157:--- Page 40 ---\n158:\n159:This is page 40 of 60\n\n[157-159, page 40 of 60]"
    );
    assert_eq!(text(&daemon, "many.pdf:1-3"), text_of(&first));
    let last = daemon.read("many.pdf:-1").expect("a read");
    assert_eq!(text_of(&last), "239:This is page 60 of 60");
    assert_eq!(last["details"]["totalLines"], 239);
    assert_eq!(
        text(&daemon, "many.pdf:p40"),
        "157:--- Page 40 ---\n158:\n159:This is page 40 of 60\n\n[157-159 of 239]"
    );
    let status = daemon.call("agent/status", json!({})).expect("status");
    let mut converters = status["workers"]["convert"].clone();
    assert!(converters["confinement"].take().is_object());
    assert_eq!(
        converters,
        json!({ "alive": 1, "jobs": 3, "replaced": 0, "confinement": null })
    );
}

/// Reads on from selector to selector; the rows in order.
fn follow(daemon: &Daemon, name: &str, selector: &str, lines: u64) -> Vec<String> {
    let (mut rows, mut next) = (Vec::new(), Some(selector.to_owned()));
    while let Some(selector) = next.take() {
        let path = match selector.as_str() {
            "" => name.to_owned(),
            selector => format!("{name}:{selector}"),
        };
        let result = daemon.read_with(json!({ "path": path, "budget": { "lines": lines } }));
        let result = result.expect("a read");
        let body = text_of(&result).split("\n\n[").next().unwrap_or_default();
        rows.extend(body.lines().map(str::to_owned));
        let truncation = &result["details"]["truncation"]["nextSelector"];
        next = truncation.as_str().map(str::to_owned);
        assert!(rows.len() < 10_000, "it never ends");
    }
    rows
}

#[test]
fn following_the_selectors_shows_every_line_once() {
    let whole = text(&daemon(), "many.pdf");
    let whole: Vec<&str> = whole.lines().collect();
    for lines in [1, 7, 50] {
        assert_eq!(
            follow(&daemon(), "many.pdf", "", lines),
            whole,
            "{lines} at a time"
        );
    }
    let pages = follow(&daemon(), "many.pdf", "p10-30", 7);
    assert_eq!(pages, whole[36..119]);
    let ranges = follow(&daemon(), "many.pdf", "3-20,100-120,230-", 9);
    let ranges: Vec<&str> = ranges
        .iter()
        .map(String::as_str)
        .filter(|row| *row != "…")
        .collect();
    let expected = [&whole[2..20], &whole[99..120], &whole[229..]].concat();
    assert_eq!(ranges, expected);
    let book = daemon();
    let sheets = text(&book, "book.xlsx");
    let sheets: Vec<&str> = sheets.lines().collect();
    assert_eq!(
        follow(&book, "book.xlsx", "", 4),
        sheets[..sheets.len() - 2]
    );
}
