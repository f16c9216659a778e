//! Texts against a naive reading of the same string; never anything about encodings.

use proptest::prelude::*;

use crate::text::{LineEnding, Text};

/// The lines of a text with their ends, found character by character.
fn naive_lines(text: &str) -> Vec<&str> {
    let end = if text.contains('\n') { '\n' } else { '\r' };
    text.split_inclusive(end).collect()
}

fn without_end(line: &str) -> &str {
    match line.strip_suffix('\n') {
        Some(line) => line.strip_suffix('\r').unwrap_or(line),
        None => line,
    }
}

fn naive_ending(text: &str) -> LineEnding {
    let lf = text.matches('\n').count();
    let crlf = text.matches("\r\n").count();
    match (crlf, lf - crlf, text.contains('\r')) {
        (0, 0, true) => LineEnding::Cr,
        (0, 0, false) => LineEnding::None,
        (0, _, _) => LineEnding::Lf,
        (_, 0, _) => LineEnding::Crlf,
        _ => LineEnding::Mixed,
    }
}

fn check(source: &str) {
    let text = Text::new(source);
    let raw = naive_lines(source);
    let cr_lines = naive_ending(source) == LineEnding::Cr;
    let bare: Vec<&str> = raw
        .iter()
        .map(|line| match cr_lines {
            true => line.strip_suffix('\r').unwrap_or(line),
            false => without_end(line),
        })
        .collect();
    assert_eq!(text.line_ending(), naive_ending(source), "{source:?}");
    assert_eq!(text.len_lines(), raw.len());
    assert_eq!(text.len_bytes(), source.len());
    assert_eq!(
        text.ends_with_newline(),
        source.ends_with('\n') || cr_lines && source.ends_with('\r')
    );
    assert_eq!(text.chunks().map(str::len).sum::<usize>(), source.len());
    assert_eq!(text.raw_lines(0, usize::MAX), source);
    assert_eq!(text.lines_at(0).collect::<Vec<_>>(), bare);
    let middle = raw.len() / 2;
    assert_eq!(text.lines_at(middle).collect::<Vec<_>>(), bare[middle..]);
    assert_eq!(text.raw_lines(middle, raw.len()), raw[middle..].concat());
    assert_eq!(text.raw_lines(0, middle), raw[..middle].concat());
    for index in 0..raw.len() {
        assert_eq!(text.line(index), bare[index], "line {index}");
        assert_eq!(text.line_bytes(index), bare[index].len());
        assert_eq!(text.raw_line_bytes(index), raw[index].len());
        assert_eq!(text.raw_lines(index, index + 1), raw[index]);
    }
}

#[test]
fn an_empty_text_has_no_lines() {
    let text = Text::new("");
    assert_eq!((text.len_lines(), text.len_bytes()), (0, 0));
    assert_eq!(text.line_ending(), LineEnding::None);
    assert!(!text.ends_with_newline());
    assert_eq!(text.lines_at(0).count(), 0);
    assert_eq!(text.raw_lines(0, 1), "");
}

#[test]
fn past_the_end_there_is_nothing() {
    let text = Text::new("a\nb\n");
    assert_eq!(text.len_lines(), 2);
    for index in [2, 3, usize::MAX] {
        assert_eq!(text.line(index), "");
        assert_eq!((text.line_bytes(index), text.raw_line_bytes(index)), (0, 0));
        assert_eq!(text.lines_at(index).count(), 0);
        assert_eq!(text.raw_lines(index, usize::MAX), "");
    }
    assert_eq!(text.raw_lines(1, 0), "");
    assert_eq!(text.lines_at(1).len(), 1);
}

#[test]
fn a_cr_is_a_line_end_only_where_nothing_else_is() {
    let mac = Text::new("a\r\rb\r");
    assert_eq!(mac.len_lines(), 3);
    assert_eq!(mac.line_ending(), LineEnding::Cr);
    assert_eq!(mac.raw_lines(1, 3), "\rb\r");
    let progress = Text::new("10%\r20%\r\ndone\r");
    assert_eq!(progress.len_lines(), 2);
    assert_eq!(progress.line(0), "10%\r20%");
    assert_eq!(progress.line(1), "done\r");
}

#[test]
fn equal_by_content() {
    assert_eq!(Text::new("a\n"), Text::new("a\n"));
    assert_ne!(Text::new("a\n"), Text::new("a\r"));
    assert_ne!(Text::new("a\n"), Text::new("a\r\n"));
    let text = Text::new(&"line\n".repeat(5000));
    assert_eq!(text.clone(), text);
    assert_ne!(text, Text::new(&"line\n".repeat(4999)));
}

#[test]
fn an_end_may_lie_on_any_chunk_border() {
    for length in 900..1100 {
        for end in ["\n", "\r\n", "\r"] {
            check(&format!("{}{end}", "x".repeat(length)).repeat(6));
        }
    }
}

/// One of the characters that other editors take for line ends, among those that are.
fn short() -> impl Strategy<Value = String> {
    "[aé\r\n\t\u{2028}\u{B}\u{85}]{0,30}"
}

fn long() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        short(),
        "[é\r\t]{0,30}",
        (1usize..3000).prop_map(|n| "aé".repeat(n)),
        (1usize..700).prop_map(|n| "a\r\n".repeat(n)),
        (1usize..700).prop_map(|n| "\r".repeat(n)),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn short_texts_equal_naive(text in short()) {
        check(&text);
    }

    #[test]
    fn texts_with_cr_alone_equal_naive(text in "[aé\r\t\u{2028}]{0,30}") {
        check(&text);
    }
}

proptest! {
    // Each case looks every line up in several ways.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn long_texts_equal_naive(text in long()) {
        check(&text);
    }
}
