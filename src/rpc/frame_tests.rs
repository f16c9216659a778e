//! Tests of the framing; the input is handed over in arbitrary pieces and never decides what is found.

use std::io::{self, Read};

use proptest::prelude::*;

use super::*;

const CAP: u64 = 1000;

/// A frame that owns its body.
#[derive(Debug, Clone, PartialEq)]
enum FoundFrame {
    Body(String),
    BadHeader,
    TooLarge,
}

/// Hands its bytes over in pieces of the given sizes, over and over.
struct Pieces<'a> {
    bytes: &'a [u8],
    sizes: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.next().copied().unwrap_or(usize::MAX);
        let size = size.max(1).min(self.bytes.len()).min(buffer.len());
        let (piece, rest) = self.bytes.split_at(size);
        buffer[..size].copy_from_slice(piece);
        self.bytes = rest;
        Ok(size)
    }
}

fn frames_in_pieces(bytes: &[u8], sizes: &[usize]) -> Vec<FoundFrame> {
    let sizes = sizes.iter().cycle();
    let mut frames = Frames::new(Pieces { bytes, sizes }, CAP);
    let mut found = Vec::new();
    while let Some(frame) = frames.next().expect("a slice can be read") {
        found.push(match frame {
            Frame::Body(body) => FoundFrame::Body(String::from_utf8_lossy(body).into_owned()),
            Frame::BadHeader => FoundFrame::BadHeader,
            Frame::TooLarge => FoundFrame::TooLarge,
        });
    }
    found
}

/// The frames of an input, which are the same in one piece and byte by byte.
fn frames(input: &str) -> Vec<FoundFrame> {
    let found = frames_in_pieces(input.as_bytes(), &[usize::MAX]);
    let bytewise = frames_in_pieces(input.as_bytes(), &[1]);
    assert_eq!(found, bytewise, "{:?}", &input[..input.len().min(200)]);
    found
}

fn framed(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

fn body(text: &str) -> FoundFrame {
    FoundFrame::Body(text.to_owned())
}

#[test]
fn headers_in_any_dress() {
    for header in [
        "Content-Length: 2\r\n\r\n",
        "content-length:2\r\n\r\n",
        "CONTENT-LENGTH:   2 \r\n\r\n",
        "Content-Length: 2\n\n",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-Length: 2\r\n\r\n",
        "Content-Length: 2\r\nX-Content-Length: 7\r\nX-Other: a:b\r\n\r\n",
        "X-Long: ".repeat(3000).as_str(),
    ] {
        if header.len() > 1000 {
            let long = format!("Content-Length: 2\r\n{header}\r\n\r\n{{}}");
            assert_eq!(frames(&long), [body("{}")]);
        } else {
            let twice = format!("{header}{{}}{header}[]");
            assert_eq!(frames(&twice), [body("{}"), body("[]")], "{header}");
        }
    }
}

#[test]
fn noise_is_skipped() {
    let line = "Welcome to host! Last login: today\n".repeat(120);
    for noise in [
        "\r\n",
        "\n\n\n",
        "Debugger attached.\n",
        "user@host:~$ ",
        "root@host:/#",
        "Content-Lengt",
        "Content-Length: 5 bytes, they said\n",
        "no end",
        &line,
        &format!("{line}$ "),
        &"x".repeat(4096),
        &"y".repeat(100_000),
        &"c".repeat(20_000),
    ] {
        let input = format!("{noise}{}{noise}{}{noise}", framed("1"), framed("2"));
        assert_eq!(frames(&input), [body("1"), body("2")], "{noise:?}");
    }
}

#[test]
fn another_header_is_not_taken_for_the_length() {
    let input = format!("X-Content-Length: 7\r\n\r\n{{}}{}", framed("1"));
    assert_eq!(frames(&input), [FoundFrame::BadHeader, body("1")]);
}

#[test]
fn bad_lengths_are_reported_and_passed_over() {
    for length in ["", "abc", "-5", "+5", "5.0", "0x10", "5 5", "5,5"] {
        let input = format!("Content-Length: {length}\r\n\r\n{{}}{}", framed("1"));
        assert_eq!(
            frames(&input),
            [FoundFrame::BadHeader, body("1")],
            "{length:?}"
        );
    }
    let missing = format!("Content-Type: x\r\n\r\n{{}}{}", framed("1"));
    assert_eq!(frames(&missing), [FoundFrame::BadHeader, body("1")]);
    let quoted = r#"{"text":"Content-Length: 3\r\n\r\n"}"#;
    let input = format!("Content-Length: x\r\n\r\n{quoted}{}", framed("1"));
    assert_eq!(frames(&input), [FoundFrame::BadHeader, body("1")]);
    let cut_off = format!("Content-Length: 10\r\n{}", framed("1"));
    assert_eq!(frames(&cut_off), [body("1")]);
}

#[test]
fn the_declared_length_rules_inside_a_body() {
    let inner = framed("inner");
    assert_eq!(frames(&framed(&inner)), [body(&inner)]);
    assert_eq!(frames(&framed("")), [body("")]);
}

#[test]
fn what_is_over_the_cap_is_skipped() {
    let large = "{\"a\":\"".to_owned() + &"ccontent-length: ".repeat(10_000) + "\"}";
    let input = framed(&large) + &framed("1");
    assert_eq!(frames(&input), [FoundFrame::TooLarge, body("1")]);
    let cap = usize::try_from(CAP).expect("small");
    let exact = "x".repeat(cap);
    let over = "x".repeat(cap + 1);
    let input = framed(&exact) + &framed(&over) + &framed("1");
    assert_eq!(
        frames(&input),
        [body(&exact), FoundFrame::TooLarge, body("1")]
    );
}

#[test]
fn a_length_that_lies_swallows_nothing() {
    for length in ["100000000000", "18446744073709551616", &"9".repeat(60)] {
        for junk in [
            "",
            "{\"half\":",
            "Content-Length: 5 \n",
            "Content-Length: cc",
        ] {
            let input = format!("Content-Length: {length}\r\n\r\n{junk}{}", framed("1"));
            assert_eq!(
                frames(&input),
                [FoundFrame::TooLarge, body("1")],
                "{junk:?}"
            );
        }
    }
    // The lie may end anywhere, also inside of the next header.
    for junk in 1..50 {
        let junk = "x".repeat(1001 - junk);
        let input = format!("Content-Length: 1001\r\n\r\n{junk}{}", framed("1"));
        assert_eq!(frames(&input), [FoundFrame::TooLarge, body("1")]);
    }
}

#[test]
fn an_input_that_ends_early_has_no_half_frames() {
    let whole = format!("{}{}", framed("12345"), framed(&"x".repeat(1200)));
    for end in 0..whole.len() {
        let found = frames(&whole[..end]);
        let bodies = found
            .iter()
            .filter(|found| matches!(found, FoundFrame::Body(_)));
        assert_eq!(bodies.count(), usize::from(end >= framed("12345").len()));
    }
}

#[test]
fn an_announced_body_costs_nothing_before_it_comes() {
    let mut frames = Frames::new(&b"Content-Length: 60000000\r\n\r\nshort"[..], 64 << 20);
    assert!(matches!(frames.next(), Ok(None)));
    assert!(frames.body.capacity() < 1 << 20);
}

fn ordinary_body() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zC:\\-\r\n0-9é]{0,40}",
        Just(framed("x")),
        Just("x".repeat(999)),
    ]
}

/// A stretch of input and what is to be found in it.
fn stretch() -> impl Strategy<Value = (String, Vec<FoundFrame>)> {
    prop_oneof![
        4 => ordinary_body().prop_map(|text| (framed(&text), vec![body(&text)])),
        1 => "[ -9A-Bd-z]{0,30}\n?".prop_map(|noise| (noise, vec![])),
        1 => (1001..5000_usize).prop_map(|size| (framed(&"z".repeat(size)), vec![FoundFrame::TooLarge])),
        1 => Just(("\nContent-Length: 1e3\r\n\r\n".to_owned(), vec![FoundFrame::BadHeader])),
        1 => Just((
            format!("\nContent-Length: 99999999999\r\n\r\n{}", framed("1")),
            vec![FoundFrame::TooLarge, body("1")],
        )),
    ]
}

proptest! {
    /// Frames are found whatever stands between them and however the bytes arrive.
    #[test]
    fn pieces_do_not_matter(
        stretches in prop::collection::vec(stretch(), 0..12),
        sizes in prop::collection::vec(1..200_usize, 1..8),
    ) {
        // Spaces between: noise that ends in a hyphen makes another header of the one that follows.
        let input: String = stretches.iter().map(|(text, _)| format!("{text} ")).collect();
        let expected: Vec<FoundFrame> = stretches.into_iter().flat_map(|(_, found)| found).collect();
        let found = frames_in_pieces(input.as_bytes(), &sizes);
        prop_assert_eq!(found, expected);
    }

    /// No input makes it panic or run for ever, and pieces do not matter for rubbish either.
    #[test]
    fn rubbish_is_survived(
        words in prop::collection::vec(
            prop_oneof![
                Just("Content-Length:"), Just("content-"), Just(" 3"), Just("\r\n"), Just("\r\n\r\n"),
                Just("2000"), Just("{}"), Just("x: y\r\n"), Just("cC"), Just("\n"), Just("é"),
            ],
            0..60,
        ),
        sizes in prop::collection::vec(1..50_usize, 1..8),
    ) {
        let input = words.concat();
        let whole = frames_in_pieces(input.as_bytes(), &[usize::MAX]);
        prop_assert_eq!(frames_in_pieces(input.as_bytes(), &sizes), whole);
    }
}
