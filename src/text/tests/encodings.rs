//! Decoding against files made by Python's codecs and lines written here; never asks a file for its name.

use encoding_rs::{Encoding, SHIFT_JIS, UTF_8, UTF_16LE, WINDOWS_1252};
use proptest::prelude::*;

use crate::text::{
    Confidence, Decoded, LineEnding, NotText, Text, decode, encoding_for_label, label,
};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../fixtures/encodings/", $name)).as_slice()
    };
}

macro_rules! source {
    ($name:literal) => {
        include_str!(concat!(
            "../../../fixtures/encodings/source/",
            $name,
            ".txt"
        ))
    };
}

fn decoded(bytes: &[u8]) -> Decoded {
    decode(bytes, None).unwrap_or_else(|no| panic!("{no:?}"))
}

fn what(bytes: &[u8]) -> String {
    match decode(bytes, None) {
        Err(NotText::Binary { what }) => what,
        Ok(text) => panic!(
            "taken for {}: {:?}",
            label(text.encoding),
            text.text.line(0)
        ),
    }
}

fn whole(text: &Text) -> String {
    text.raw_lines(0, text.len_lines())
}

/// A file with what it says, where it must be guessed, and which line ends the file has.
type EncodingGuess = (&'static str, &'static [u8], &'static str, LineEnding);

const GUESSED: [EncodingGuess; 17] = [
    (
        "gbk",
        fixture!("gbk.txt"),
        source!("zh-hans"),
        LineEnding::Lf,
    ),
    (
        "gbk",
        fixture!("gb18030.txt"),
        source!("zh-hans"),
        LineEnding::Lf,
    ),
    (
        "big5",
        fixture!("big5.txt"),
        source!("zh-hant"),
        LineEnding::Lf,
    ),
    (
        "shift_jis",
        fixture!("shift_jis.txt"),
        source!("ja"),
        LineEnding::Crlf,
    ),
    (
        "euc-jp",
        fixture!("euc-jp.txt"),
        source!("ja"),
        LineEnding::Lf,
    ),
    (
        "euc-kr",
        fixture!("euc-kr.txt"),
        source!("ko"),
        LineEnding::Lf,
    ),
    (
        "windows-1251",
        fixture!("windows-1251.txt"),
        source!("ru"),
        LineEnding::Crlf,
    ),
    (
        "windows-1250",
        fixture!("windows-1250.txt"),
        source!("pl"),
        LineEnding::Lf,
    ),
    (
        "windows-1252",
        fixture!("windows-1252.txt"),
        source!("fr-de"),
        LineEnding::Crlf,
    ),
    (
        "windows-1252",
        fixture!("windows-1252-mac-ends.txt"),
        source!("fr-de"),
        LineEnding::Cr,
    ),
    (
        "utf-16le",
        fixture!("utf-16le-zh.txt"),
        source!("zh-hans"),
        LineEnding::Crlf,
    ),
    (
        "utf-16be",
        fixture!("utf-16be-zh.txt"),
        source!("zh-hans"),
        LineEnding::Lf,
    ),
    (
        "utf-16le",
        fixture!("utf-16le-ru.txt"),
        source!("ru"),
        LineEnding::Crlf,
    ),
    (
        "utf-16be",
        fixture!("utf-16be-ko.txt"),
        source!("ko"),
        LineEnding::Lf,
    ),
    (
        "utf-16le",
        fixture!("utf-16le-fr.txt"),
        source!("fr-de"),
        LineEnding::Crlf,
    ),
    (
        "utf-16be",
        fixture!("utf-16be-fr.txt"),
        source!("fr-de"),
        LineEnding::Crlf,
    ),
    (
        "koi8-u",
        fixture!("koi8-r.txt"),
        source!("ru"),
        LineEnding::Lf,
    ),
];

fn with_ends(source: &str, ending: LineEnding) -> String {
    match ending {
        LineEnding::Crlf => source.replace('\n', "\r\n"),
        LineEnding::Cr => source.replace('\n', "\r"),
        _ => source.to_owned(),
    }
}

#[test]
fn legacy_and_unmarked_files_are_guessed() {
    for (name, bytes, source, ending) in GUESSED {
        let got = decoded(bytes);
        assert_eq!(label(got.encoding), name);
        assert_eq!(got.confidence, Confidence::Likely, "{name}");
        assert_eq!((got.bom, got.bad_bytes), (false, 0), "{name}");
        assert_eq!(got.text.line_ending(), ending, "{name}");
        let text = whole(&got.text);
        // The KOI8 fixture leaves out the end of its source, which KOI8 cannot hold.
        assert!(
            with_ends(source, ending).starts_with(&text),
            "{name}: {text}"
        );
        assert!(text.len() * 4 > source.len() * 3, "{name}");
    }
}

#[test]
fn the_old_dos_encoding_of_russian_is_guessed() {
    let got = decoded(fixture!("ibm866.txt"));
    assert_eq!(label(got.encoding), "ibm866");
    assert_eq!(got.text.line(0), source!("ru").lines().next().unwrap_or(""));
}

#[test]
fn marks_are_certain_and_no_part_of_the_text() {
    for (name, bytes, source) in [
        ("utf-8", fixture!("utf-8-bom.txt"), source!("ru").to_owned()),
        (
            "utf-16le",
            fixture!("utf-16le-bom.txt"),
            source!("ja").replace('\n', "\r\n"),
        ),
        (
            "utf-16be",
            fixture!("utf-16be-bom.txt"),
            source!("fr-de").to_owned(),
        ),
    ] {
        let got = decoded(bytes);
        assert_eq!(label(got.encoding), name);
        assert_eq!(
            (got.confidence, got.bom, got.bad_bytes),
            (Confidence::Certain, true, 0)
        );
        assert_eq!(whole(&got.text), source);
    }
}

#[test]
fn valid_utf8_is_certain() {
    for bytes in [fixture!("utf-8-zh.txt"), fixture!("ansi.log")] {
        let got = decoded(bytes);
        assert_eq!((got.encoding, got.confidence), (UTF_8, Confidence::Certain));
        assert_eq!(whole(&got.text).as_bytes(), bytes);
    }
    let empty = decoded(b"");
    assert_eq!(
        (empty.encoding, empty.confidence),
        (UTF_8, Confidence::Certain)
    );
    assert_eq!(empty.text.len_lines(), 0);
}

#[test]
fn valid_utf8_is_certain_wherever_one_might_cut_it() {
    // Every alignment of three-byte characters against any power of two.
    for shift in 0..3 {
        let text = format!(
            "{}{}\n",
            "a".repeat(shift),
            "读者可以在网页上查询".repeat(9000)
        );
        let got = decoded(text.as_bytes());
        assert_eq!((got.encoding, got.confidence), (UTF_8, Confidence::Certain));
        assert_eq!(whole(&got.text), text);
    }
}

#[test]
fn markup_and_scripts_are_text() {
    for text in [
        "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
        "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>",
        "<!DOCTYPE html><html><body>é</body></html>",
        "#!/bin/sh\nexec true\n",
        "BM is not a bitmap, MZ no program and ID3 no song\n",
        "{\\rtf1 text}",
        "\u{1}\u{2}\u{3}\u{4} controls alone",
    ] {
        assert_eq!(decoded(text.as_bytes()).encoding, UTF_8, "{text}");
    }
    let html = [b"<html><p>caf\xE9 cr\xE8me</p></html>".as_slice(), b"\n"].concat();
    assert_eq!(decoded(&html).encoding, WINDOWS_1252);
}

#[test]
fn damaged_utf8_stays_utf8() {
    let got = decoded(fixture!("utf-8-bad-bytes.txt"));
    assert_eq!((got.encoding, got.confidence), (UTF_8, Confidence::Likely));
    assert_eq!(got.bad_bytes, 3);
    let text = whole(&got.text);
    assert_eq!(text.matches('\u{FFFD}').count(), 3);
    assert_eq!(
        text,
        String::from_utf8_lossy(fixture!("utf-8-bad-bytes.txt"))
    );
}

#[test]
fn a_few_controls_make_no_binary() {
    let keys = b"let b:keymap_name = \"croatian\"\n\" \x16{ = \xB9, \x16} = \xF0, \x16| = \xBE and so on\n";
    assert!(decode(&keys.repeat(9), None).is_ok());
    let dos = [fixture!("ibm866.txt"), b"\x1A"].concat();
    assert_eq!(label(decoded(&dos).encoding), "ibm866");
}

#[test]
fn a_cut_or_a_stray_byte_leaves_utf8_what_it_is() {
    for bytes in [
        "一个简单的程序"
            .as_bytes()
            .split_last()
            .map_or(b"".as_slice(), |(_, head)| head),
        b"na\xC3\xAFve caf\xC3\xA9, caf\xE9",
        b"\xC3\xA9 \xFF",
        "Привет, мир\u{2026}\n"
            .as_bytes()
            .split_first()
            .map_or(b"".as_slice(), |(_, tail)| tail),
    ] {
        let got = decoded(bytes);
        assert_eq!((got.encoding, got.bad_bytes), (UTF_8, 1), "{bytes:?}");
    }
    // As many well-formed pairs as others, and yet Korean: three pairs that no UTF-8 text would have.
    let korean = b"// \xBF\xAC\xC3\xBC \xBE\xF8\xC0\xBD\n";
    assert_eq!(whole(&decoded(korean).text), "// 연체 없음\n");
}

#[test]
fn utf16_without_a_mark_needs_little() {
    for text in [
        "hi",
        "しばらく待ってから、もう一度お試しください。\n",
        "一、二、一、一、一、三；一百一十一\r\n第一章　一个程序的一生\r\n",
        "기한 전에는\n",
        "key=значение\r\n",
        "emoji 😀🎉 too\n",
    ] {
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (bytes, name) in [(little, "utf-16le"), (big, "utf-16be")] {
            let got = decoded(&bytes);
            assert_eq!(
                (label(got.encoding).as_str(), whole(&got.text).as_str()),
                (name, text)
            );
        }
    }
}

#[test]
fn strings_with_nuls_between_are_no_utf16() {
    for text in [
        "cat\0-n\0notes.txt\0x",
        "./src/main.rs\0./src/lib.rs\0./Cargo.toml\0\0",
        "PATH=/bin\0HOME=/root\0",
    ] {
        assert_eq!(what(text.as_bytes()), "contains NUL bytes", "{text:?}");
        assert_eq!(
            what(format!(" {text}").as_bytes()),
            "contains NUL bytes",
            "{text:?}"
        );
    }
}

#[test]
fn one_latin_letter_in_a_big_ascii_file() {
    let mut bytes = "let value = compute(input);\n".repeat(20_000).into_bytes();
    bytes[400_001] = 0xE9;
    let got = decoded(&bytes);
    assert_eq!((got.encoding, got.bad_bytes), (WINDOWS_1252, 0));
    assert_eq!(whole(&got.text).matches('é').count(), 1);
}

#[test]
fn real_binaries_are_named() {
    for (bytes, name) in [
        (fixture!("elf.bin"), "ELF executable"),
        (fixture!("png.bin"), "PNG image"),
        (fixture!("gzip.bin"), "gzip data"),
        (fixture!("mp4.bin"), "MP4 video"),
        (fixture!("mpeg-ts.bin"), "MPEG transport stream"),
        (fixture!("zstd-without-nul.bin"), "Zstandard data"),
        (fixture!("ascii.pdf"), "PDF document"),
        (fixture!("random.bin"), "contains NUL bytes"),
        (fixture!("random-without-nul.bin"), "binary data"),
        (fixture!("pcm.bin"), "contains NUL bytes"),
        (fixture!("counters.bin"), "contains NUL bytes"),
        (b"PK\x03\x04\x14\0\0\0\x08\0".as_slice(), "ZIP archive"),
        (b"\0\0\0\0\xFE\x01\x02".as_slice(), "contains NUL bytes"),
        (b"a\0".as_slice(), "contains NUL bytes"),
    ] {
        assert_eq!(what(bytes), name);
    }
    assert!(what(b"\xFF\xFE\0\0a\0\0\0").starts_with("UTF-32"));
}

#[test]
fn late_nuls_are_text_and_early_ones_are_not() {
    for filler in [
        "log line\n",
        "строка журнала\n",
        "记录一行\n",
        "ログの行です\n",
    ] {
        for (shift, doubled) in [(0, ""), (1, ""), (0, "\0"), (1, "\0")] {
            let mut text = format!("{}{}", "x".repeat(shift), filler.repeat(1000));
            text += &format!("\0{doubled}end of it\n");
            let got = decoded(text.as_bytes());
            assert_eq!((got.encoding, got.confidence), (UTF_8, Confidence::Certain));
            assert_eq!(whole(&got.text), text);
            let early = format!("{}\0{doubled}{}", "x".repeat(shift), filler.repeat(1000));
            assert_eq!(
                what(early.as_bytes()),
                "contains NUL bytes",
                "{filler} {shift}"
            );
        }
    }
}

#[test]
fn a_declared_encoding_is_taken_whatever_the_bytes_look_like() {
    let got = decode(b"a\0\xE9", Some(WINDOWS_1252)).expect("declared");
    assert_eq!(whole(&got.text), "a\0é");
    assert_eq!((got.confidence, got.bom), (Confidence::Certain, false));

    let got = decode(fixture!("gbk.txt"), Some(UTF_8)).expect("declared");
    assert!(got.bad_bytes > 100);

    let got = decode(fixture!("utf-8-bom.txt"), Some(UTF_8)).expect("declared");
    assert!(got.bom);
    assert_eq!(whole(&got.text), source!("ru"));

    // The mark of another encoding is text like any other.
    let got = decode(b"\xEF\xBB\xBFa", Some(WINDOWS_1252)).expect("declared");
    assert!(!got.bom);
    assert_eq!(whole(&got.text), "\u{EF}»¿a");

    let got = decode(b"a\0b", Some(UTF_16LE)).expect("declared");
    assert_eq!(
        (whole(&got.text), got.bad_bytes),
        ("a\u{FFFD}".to_owned(), 1)
    );

    let iso = encoding_for_label("iso-2022-jp");
    let got = decode(fixture!("iso-2022-jp.txt"), iso).expect("declared");
    assert_eq!(got.text.line(0), source!("ja").lines().next().unwrap_or(""));
}

#[test]
fn labels() {
    for (given, name) in [
        ("UTF8", "utf-8"),
        (" latin1 ", "windows-1252"),
        ("gb2312", "gbk"),
        ("sjis", "shift_jis"),
        ("ks_c_5601-1987", "euc-kr"),
        ("cp1251", "windows-1251"),
        ("utf-16", "utf-16le"),
        ("iso-8859-2", "iso-8859-2"),
    ] {
        let found: Option<&'static Encoding> = encoding_for_label(given);
        assert_eq!(found.map(label).as_deref(), Some(name), "{given}");
        assert_eq!(encoding_for_label(name), found);
    }
    for refused in [
        "replacement",
        "iso-2022-kr",
        "hz-gb-2312",
        "x-user-defined",
        "",
        "utf-32",
        "cp437",
    ] {
        assert_eq!(encoding_for_label(refused), None, "{refused}");
    }
}

#[test]
fn one_line_is_enough_for_a_guess() {
    for (line, name) in [
        ("// 计算逾期的费用，单位是分，每天一角", "gbk"),
        ("请先确认电脑上已经有运行环境", "gbk"),
        ("// 延滞料金を計算する（単位は円）", "shift_jis"),
        ("一人が一度に借りられる本は五冊までです", "shift_jis"),
        ("// 연체료를 계산한다 (단위: 원)", "euc-kr"),
        ("한 사람이 빌릴 수 있는 책은 다섯 권입니다", "euc-kr"),
        ("// Считает плату за просрочку, в копейках", "windows-1251"),
        ("Вопрос: почему я не могу войти?", "windows-1251"),
    ] {
        let encoding = encoding_for_label(name).expect("a label");
        let (bytes, _, lossy) = encoding.encode(line);
        assert!(!lossy, "{line}");
        let got = decoded(&bytes);
        assert_eq!(
            (label(got.encoding).as_str(), whole(&got.text).as_str()),
            (name, line)
        );
    }
}

#[test]
fn signs_that_many_encodings_have_do_not_decide_for_the_letters_behind_them() {
    let signs = "He said «yes» and no more.\n".repeat(3000);
    for (line, name) in [
        ("Вопрос: почему я не могу войти?\n", "windows-1251"),
        ("Προσθήκη νέου λογαριασμού χρήστη\n", "windows-1253"),
    ] {
        let text = [&*signs, &line.repeat(200)].concat();
        let (bytes, _, lossy) = encoding_for_label(name).expect("a label").encode(&text);
        assert!(!lossy, "{line}");
        let got = decoded(&bytes);
        assert_eq!(label(got.encoding), name);
        assert_eq!(whole(&got.text), text);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = decode(&bytes, None);
        let got = decode(&bytes, Some(SHIFT_JIS));
        prop_assert!(got.is_ok());
    }

    #[test]
    fn any_utf8_without_nul_is_itself(text in "[^\0\u{FEFF}]{0,200}") {
        prop_assume!(!text.starts_with("%PDF-"));
        let got = decoded(text.as_bytes());
        prop_assert_eq!((got.encoding, got.confidence), (UTF_8, Confidence::Certain));
        prop_assert_eq!(whole(&got.text), text);
    }

    #[test]
    fn ascii_in_utf16_is_seen(text in "[a-z]{3}[ -~\r\n\t]{0,60}[0-9a-z \n]{3,60}", big in any::<bool>()) {
        let bytes: Vec<u8> = text
            .encode_utf16()
            .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect();
        let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
        prop_assume!(letters * 4 >= text.len());
        prop_assert_eq!(whole(&decoded(&bytes).text), text);
    }
}
