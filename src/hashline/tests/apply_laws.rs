//! Laws of patches over random texts: parse and apply equal a splice written apart from them; no case here is chosen by hand.

use encoding_rs::{
    EUC_KR, Encoding, GBK, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1251, WINDOWS_1252,
};
use proptest::prelude::*;

use super::apply::{batch_of, plan};
use crate::hashline::apply::{EncodingError, FileBytes, byte_range, new_bytes, new_text};
use crate::hashline::changed::outcome;
use crate::hashline::ops::{Batch, Op};
use crate::hashline::patch::Patch;
use crate::hashline::structured::parse_files;
use crate::text::{Confidence, Text, decode, encode};

/// Random cases of each law.
pub(super) fn cases(few: u32) -> ProptestConfig {
    let long = std::env::var_os("PILCROW_LONG").is_some();
    ProptestConfig {
        cases: if long { 100_000 } else { few },
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Lines that are easily mistaken for something else.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("dup".to_owned()),
        Just("}".to_owned()),
        Just("+plus".to_owned()),
        Just("-minus".to_owned()),
        Just("# note".to_owned()),
        Just("¶f#1A2B".to_owned()),
        Just("[f#1A2B]".to_owned()),
        Just("delete 2".to_owned()),
        Just("replace 1..2:".to_owned()),
        Just("*** End Patch".to_owned()),
        Just("@@ -1 +1 @@".to_owned()),
        Just("3:x".to_owned()),
        Just(" \t".to_owned()),
        Just("lone\rcr".to_owned()),
        "[a-c é漢😀\u{2028}\u{85}]{1,6}",
    ]
}

/// Line ends of a whole text, or a mix.
fn ends(lines: usize) -> impl Strategy<Value = Vec<&'static str>> {
    let one = |end: &'static str| Just(vec![end; lines]).boxed();
    prop_oneof![
        one("\n"),
        one("\r\n"),
        prop::collection::vec(prop_oneof![Just("\n"), Just("\r\n")], lines),
        one("\r"),
    ]
}

/// Lines with their ends; the last one may have none, but is then not blank.
pub(super) fn text() -> impl Strategy<Value = Vec<(String, &'static str)>> {
    let lines = prop::collection::vec(line(), 0..12);
    lines
        .prop_flat_map(|lines| (ends(lines.len()), Just(lines), any::<bool>()))
        .prop_map(|(ends, lines, ended)| {
            let cr = ends.iter().all(|end| *end == "\r");
            let mut text: Vec<(String, &str)> = lines
                .into_iter()
                .map(|line| if cr { line.replace('\r', "") } else { line })
                .zip(ends)
                .collect();
            let count = text.len();
            if let Some((line, end)) = text.last_mut()
                && !ended
                && !line.is_empty()
                // One line with a lone CR and no end is two lines with a CR end.
                && (count > 1 || !line.contains('\r'))
            {
                *end = "";
            }
            text
        })
}

/// What is done at a line: share of kinds, length of a range, rows.
pub(super) type Wish = (u8, usize, Vec<String>);

pub(super) fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let rows = prop::collection::vec(line(), 1..4);
    prop::collection::vec((0u8..12, 1usize..4, rows), 14)
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plain {
    Replace(usize, usize, Vec<String>),
    Before(usize, Vec<String>),
    After(usize, Vec<String>),
    Head(Vec<String>),
    Tail(Vec<String>),
}

/// Valid hunks for a text of `total` lines, in any order; ranges do not meet, inserts go anywhere.
pub(super) fn hunks(total: usize, wishes: &[Wish]) -> Vec<Plain> {
    let mut hunks = Vec::new();
    let mut free = 1;
    for (at, (kind, length, rows)) in wishes.iter().enumerate() {
        let line = at + 1;
        let rows = rows.clone();
        match kind {
            0 => hunks.push(Plain::Head(rows)),
            1 => hunks.push(Plain::Tail(rows)),
            _ if line > total => {}
            2 | 3 => hunks.push(Plain::Before(line, rows)),
            4 | 5 => hunks.push(Plain::After(line, rows)),
            6..=9 if line >= free => {
                let end = (line + length - 1).min(total);
                free = end + 1;
                let rows = if *kind > 7 { Vec::new() } else { rows };
                hunks.push(Plain::Replace(line, end, rows));
            }
            _ => {}
        }
    }
    // Not by line: an odd walk over all of them.
    let count = hunks.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|at| (at * 7 + 3) % count.max(1));
    order.into_iter().map(|at| hunks[at].clone()).collect()
}

pub(super) fn patch_text(hunks: &[Plain]) -> String {
    let rows = |rows: &[String]| -> String { rows.iter().map(|row| format!("+{row}\n")).collect() };
    let mut patch = "¶f#1A2B\n".to_owned();
    for hunk in hunks {
        patch += &match hunk {
            Plain::Replace(start, end, none) if none.is_empty() => {
                format!("delete {start}..{end}\n")
            }
            Plain::Replace(start, end, new) => format!("replace {start}..{end}:\n{}", rows(new)),
            Plain::Before(line, new) => format!("insert before {line}:\n{}", rows(new)),
            Plain::After(line, new) => format!("insert after {line}:\n{}", rows(new)),
            Plain::Head(new) => format!("insert head:\n{}", rows(new)),
            Plain::Tail(new) => format!("insert tail:\n{}", rows(new)),
        };
    }
    patch
}

/// The same splice, done line by line and without any code of the room.
fn naive(text: &[(String, &str)], hunks: &[Plain]) -> String {
    let total = text.len();
    let end_of = |line: usize| match total {
        0 => "\n",
        _ => text[line.clamp(1, total) - 1].1,
    };
    let mut out: Vec<(String, &str)> = Vec::new();
    let mut put = |rows: &[String], line: usize| {
        out.extend(rows.iter().map(|row| (row.clone(), end_of(line))));
    };
    for hunk in hunks {
        if let Plain::Head(rows) = hunk {
            put(rows, 1);
        }
    }
    for line in 1..=total {
        let mut gone = false;
        for hunk in hunks {
            match hunk {
                Plain::Before(at, rows) if *at == line => put(rows, line),
                _ => {}
            }
        }
        for hunk in hunks {
            if let Plain::Replace(start, end, rows) = hunk {
                gone |= (*start..=*end).contains(&line);
                if *start == line {
                    for (k, row) in rows.iter().enumerate() {
                        put(std::slice::from_ref(row), (line + k).min(*end));
                    }
                }
            }
        }
        if !gone {
            put(std::slice::from_ref(&text[line - 1].0), line);
        }
        for hunk in hunks {
            match hunk {
                Plain::After(at, rows) if *at == line => put(rows, line),
                _ => {}
            }
        }
    }
    for hunk in hunks {
        if let Plain::Tail(rows) = hunk {
            put(rows, total);
        }
    }
    let ended = text.iter().rev().find(|(_, end)| !end.is_empty());
    let default = ended.map_or("\n", |(_, end)| end);
    let last = out.len().saturating_sub(1);
    out.iter()
        .enumerate()
        .map(|(at, (row, end))| match (*end, at == last) {
            ("", false) => format!("{row}{default}"),
            (end, _) => format!("{row}{end}"),
        })
        .collect()
}

pub(super) fn joined(text: &[(String, &str)]) -> String {
    text.iter()
        .map(|(line, end)| format!("{line}{end}"))
        .collect()
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn parse_and_apply_equal_a_naive_splice(text in text(), wishes in wishes()) {
        let hunks = hunks(text.len(), &wishes);
        prop_assume!(!hunks.is_empty());
        let old = Text::new(&joined(&text));
        prop_assert_eq!(old.len_lines(), text.len());
        let (_, splices) = plan(&old, batch_of(&patch_text(&hunks)).unwrap(), &[]).unwrap();
        let outcome = outcome(&old, &splices);
        prop_assert_eq!(&outcome.written(), &naive(&text, &hunks));
        // The byte ranges are those of an editor's text, too.
        let mut edited = joined(&text);
        for change in splices.changes.iter().rev() {
            edited.replace_range(byte_range(&old, change), &change.text);
        }
        prop_assert_eq!(&edited, &outcome.written());
        // The map follows exactly the lines that no range took.
        if outcome.is_exact {
            prop_assert_eq!(outcome.map.new_total(), outcome.text.len_lines() as u64);
            let mut kept = Vec::new();
            for line in 1..=text.len() {
                let takes = |hunk: &Plain| matches!(hunk, Plain::Replace(start, end, _) if (*start..=*end).contains(&line));
                let now = outcome.map.carry(line as u64);
                prop_assert_eq!(now.is_none(), hunks.iter().any(takes));
                if let Some(now) = now {
                    prop_assert_eq!(outcome.text.line(now as usize - 1), old.line(line - 1));
                    kept.push(now);
                }
            }
            // Every line that is not an old one is told as changed.
            for line in (1..=outcome.text.len_lines() as u64).filter(|line| !kept.contains(line)) {
                prop_assert!(outcome.changed.iter().any(|span| (span.start..=span.end).contains(&line)));
            }
        }
    }

    #[test]
    fn invalid_patches_are_refused(text in text(), wishes in wishes(), fault in 0u8..5, at in 1usize..20) {
        let total = text.len();
        let mut patch = patch_text(&hunks(total, &wishes));
        let range = (at % total.max(1) + 1).min(total.max(1));
        match fault {
            0 => patch += &format!("delete {}..{}\n", range, total + at),
            1 => patch += &format!("insert after {}:\n+x\n", total + at),
            2 => patch += &format!("delete {range}\nreplace {range}..{range}:\n+x\n"),
            3 => patch += &format!("replace {}..{}:\n+x\n", at + 1, at),
            _ => patch += "delete 1\n+x\n",
        }
        let old = Text::new(&joined(&text));
        let applied = batch_of(&patch).and_then(|batch| plan(&old, batch, &[]));
        prop_assert!(applied.is_err());
    }

    #[test]
    fn canonical_text_reads_back(wishes in wishes(), path in "[a-z#\" .é]{0,5}[a-z]") {
        let hunks = hunks(14, &wishes);
        prop_assume!(!hunks.is_empty());
        let mut patch = Patch::parse(&patch_text(&hunks)).unwrap();
        patch.sections[0].path = path.clone();
        let again = Patch::parse(&patch.to_string()).unwrap();
        prop_assert_eq!(&again.sections[0].path, &path);
        prop_assert_eq!(again.sections[0].tag, patch.sections[0].tag);
        let ops = |patch: &Patch| -> Vec<Op> { patch.sections[0].hunks.iter().map(|hunk| hunk.op.clone()).collect() };
        prop_assert_eq!(ops(&again), ops(&patch));
        prop_assert_eq!(again.to_string(), patch.to_string());
    }

    #[test]
    fn any_text_is_read_or_refused(lines in prop::collection::vec(odd_line(), 0..12), crlf in any::<bool>()) {
        let text = lines.join(if crlf { "\r\n" } else { "\n" });
        match Patch::parse(&text) {
            Ok(patch) => {
                let again = Patch::parse(&patch.to_string()).unwrap();
                let ops = |patch: &Patch| -> Vec<(String, Vec<Op>)> {
                    let ops = |section: &crate::hashline::Section| section.hunks.iter().map(|hunk| hunk.op.clone()).collect();
                    patch.sections.iter().map(|section| (section.path.clone(), ops(section))).collect()
                };
                prop_assert_eq!(ops(&again), ops(&patch));
            }
            Err(faulty) => {
                let mut last = 0;
                for error in &faulty.faults {
                    prop_assert!(!error.to_string().is_empty());
                    prop_assert!(!error.expected().is_empty());
                    let line = error.origin.patch_line().unwrap();
                    prop_assert!(line > last && line <= lines.len().max(1) as u64);
                    last = line;
                }
                prop_assert!(last > 0);
            }
        }
    }

    #[test]
    fn replaced_texts_equal_those_of_a_string(
        text in "[ab\n]{1,16}", at in any::<prop::sample::Index>(), length in 1usize..5,
        new in "[xa\n]{0,4}", all in any::<bool>(), crlf in any::<bool>(),
    ) {
        let at = at.index(text.len());
        let wanted = &text[at..(at + length).min(text.len())];
        // Without any line end, there is none that new lines could take.
        let crlf = crlf && text.contains('\n');
        let in_file = |text: &str| if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        let edit = serde_json::json!({ "op": "replace_text", "old": wanted, "new": new, "all": all });
        let file = serde_json::json!({ "path": "f", "edits": [edit] });
        let batch = Batch::join(parse_files(&[file]).unwrap()).unwrap().unwrap();
        let old = Text::new(&in_file(&text));
        let many = (0..text.len()).filter(|at| text[*at..].starts_with(wanted)).count();
        let planned = plan(&old, batch, &[]);
        if !all && many > 1 {
            prop_assert!(planned.is_err());
            return Ok(());
        }
        let outcome = outcome(&old, &planned.unwrap().1);
        prop_assert_eq!(&outcome.written(), &in_file(&text.replace(wanted, &new)));
        prop_assert!(outcome.is_exact);
        for line in 1..=old.len_lines() as u64 {
            if let Some(now) = outcome.map.carry(line) {
                prop_assert_eq!(old.line(line as usize - 1), outcome.text.line(now as usize - 1));
            }
        }
    }

    #[test]
    fn bytes_outside_the_changes_stay(
        which in 0usize..9, text in text(), own in any::<bool>(), wishes in wishes(),
    ) {
        let (encoding, bom, letters) = ENCODINGS[which];
        let fit = |line: &str| -> String {
            line.chars().map(|c| if c.is_ascii() { c } else { letters.chars().nth(c as usize % 3).unwrap() }).collect()
        };
        let mut text: Vec<(String, &str)> = text.iter().map(|(line, end)| (fit(line), *end)).collect();
        if own && let Some((line, _)) = text.first_mut() {
            line.insert_str(0, letters);
        }
        let hunks: Vec<Plain> = hunks(text.len(), &wishes)
            .into_iter()
            .map(|hunk| map_rows(hunk, &fit))
            .collect();
        prop_assume!(!hunks.is_empty());
        let whole = joined(&text);
        let bytes = [bom, &*encode(&whole, encoding).unwrap()].concat();
        let old = Text::new(&whole);
        // A guess is only good for letters that the file has.
        let confidence = if own && !text.is_empty() { Confidence::Likely } else { Confidence::Certain };
        let file = FileBytes { bytes: &bytes, text: &old, encoding, confidence, bom: !bom.is_empty() };
        let (_, splices) = plan(&old, batch_of(&patch_text(&hunks)).unwrap(), &[]).unwrap();
        let new = new_bytes(&file, &splices.changes).unwrap();
        let expected = [bom, &*encode(&naive(&text, &hunks), encoding).unwrap()].concat();
        prop_assert_eq!(new, expected);
    }
}

fn map_rows(hunk: Plain, fit: &impl Fn(&str) -> String) -> Plain {
    let map = |rows: Vec<String>| -> Vec<String> { rows.iter().map(|row| fit(row)).collect() };
    match hunk {
        Plain::Replace(start, end, rows) => Plain::Replace(start, end, map(rows)),
        Plain::Before(line, rows) => Plain::Before(line, map(rows)),
        Plain::After(line, rows) => Plain::After(line, map(rows)),
        Plain::Head(rows) => Plain::Head(map(rows)),
        Plain::Tail(rows) => Plain::Tail(map(rows)),
    }
}

/// An encoding, its BOM in this file, and three of its letters.
const ENCODINGS: [(&Encoding, &[u8], &str); 9] = [
    (UTF_8, b"", "é漢😀"),
    (UTF_8, b"\xEF\xBB\xBF", "é漢😀"),
    (UTF_16LE, b"\xFF\xFE", "é漢😀"),
    (UTF_16BE, b"\xFE\xFF", "ਊ਍😀"),
    (GBK, b"", "汉字们"),
    (SHIFT_JIS, b"", "日ソ表"),
    (EUC_KR, b"", "한국어"),
    (WINDOWS_1251, b"", "Жыя"),
    (WINDOWS_1252, b"", "é€ß"),
];

/// A line of a patch that models might write, or worse.
fn odd_line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("¶f#1A2B".to_owned()),
        line(),
        line().prop_map(|row| format!("+{row}")),
        "[ \t]?(replace|delete|insert|Replace)( block| before| after| head| tail)?( block)? ?[0-9]{0,12}[ .,…=-]{0,3}[0-9]{0,2}[:.]{0,2}",
        "(undo|delete file|move file to x|¶f|move 1..2 (after|before) [0-9])[: ]{0,2}",
        "replace( all)? \"(a|\\\\n|)\" with \"b?\"?",
        "\\PC{0,12}",
        "[¶#+\\-\\[\\]0-9a-f :\"*@]{0,12}",
    ]
}

#[test]
fn line_1_of_every_encoding_and_line_end() {
    for (encoding, bom, letters) in ENCODINGS {
        for ends in [["\n"; 3], ["\r\n"; 3], ["\n", "\r\n", "\n"]] {
            for last in ["", ends[2]] {
                let rest = format!("{letters}\rx{}{letters}{}", ends[1], last);
                let whole = format!("one {letters}{}{rest}", ends[0]);
                let bytes = [bom, &*encode(&whole, encoding).unwrap()].concat();
                let decoded = decode(&bytes, Some(encoding)).unwrap();
                let file = FileBytes {
                    bytes: &bytes,
                    text: &decoded.text,
                    encoding,
                    confidence: decoded.confidence,
                    bom: decoded.bom,
                };
                let patch = format!("¶f#1A2B\nreplace 1..1:\n+{letters}!\n");
                let (_, splices) = plan(&decoded.text, batch_of(&patch).unwrap(), &[]).unwrap();
                let new = new_bytes(&file, &splices.changes).unwrap();
                let expected = format!("{letters}!{}{rest}", ends[0]);
                let expected = [bom, &*encode(&expected, encoding).unwrap()].concat();
                assert_eq!(new, expected, "{}", encoding.name());
            }
        }
    }
}

fn edit_bytes(
    bytes: &[u8],
    declared: Option<&'static Encoding>,
    row: &str,
) -> Result<Vec<u8>, EncodingError> {
    let decoded = decode(bytes, declared).unwrap();
    let file = FileBytes {
        bytes,
        text: &decoded.text,
        encoding: decoded.encoding,
        confidence: decoded.confidence,
        bom: decoded.bom,
    };
    let patch = format!("¶f#1A2B\nreplace 1..1:\n+{row}\n");
    let (_, splices) = plan(&decoded.text, batch_of(&patch).unwrap(), &[]).unwrap();
    new_bytes(&file, &splices.changes)
}

#[test]
fn what_an_encoding_cannot_hold_is_refused() {
    let error = edit_bytes(b"caf\xE9\nna\xEFve\n", Some(WINDOWS_1252), "中").unwrap_err();
    insta::assert_snapshot!(error, @"the character '中' (U+4E2D) does not exist in windows-1252. Leave it out, or write it with characters of windows-1252.");
    // Damage elsewhere is in the way of a guess, but not of a declared encoding.
    let damaged = "x\n漢字漢字\n漢字漢字\n".as_bytes();
    let damaged = [damaged, b"\xFF\n"].concat();
    let error = edit_bytes(&damaged, None, "y").unwrap_err();
    insta::assert_snapshot!(error, @"the encoding was guessed as UTF-8, but the file does not read and write back to the same bytes in it. Read the file again with the encoding parameter set to the right one.");
    let edited = edit_bytes(&damaged, Some(UTF_8), "y").unwrap();
    assert_eq!(edited, [b"y", &damaged[1..]].concat());
    // A UTF-16 file with half a character at its end stays readable.
    let odd = b"\xFF\xFEa\0\n\0b";
    assert_eq!(
        edit_bytes(odd, Some(UTF_16LE), "z").unwrap(),
        b"\xFF\xFEz\0\n\0b"
    );
}

#[test]
fn a_text_found_inside_a_line_of_many_bytes() {
    for (encoding, bom, letters) in ENCODINGS {
        let whole = format!("a\r\n{letters}old{letters}\r\nb");
        let bytes = [bom, &*encode(&whole, encoding).unwrap()].concat();
        let text = Text::new(&whole);
        let edits = serde_json::json!([{ "op": "replace_text", "old": "old", "new": letters }]);
        let file = serde_json::json!({ "path": "f", "edits": edits });
        let sections = parse_files(&[file]).unwrap();
        let batch = Batch::join(sections).unwrap().unwrap();
        let (_, splices) = plan(&text, batch, &[]).unwrap();
        let file = FileBytes {
            bytes: &bytes,
            text: &text,
            encoding,
            confidence: Confidence::Certain,
            bom: !bom.is_empty(),
        };
        let new = new_bytes(&file, &splices.changes).unwrap();
        let expected = whole.replace("old", letters);
        assert_eq!(new_text(&text, &splices.changes), expected);
        assert_eq!(new, [bom, &*encode(&expected, encoding).unwrap()].concat());
    }
}
