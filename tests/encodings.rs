//! Files that are not UTF-8, read over the wire: the right text, the right label; fixtures were made by Python's codecs, never by us.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::Tree;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/encodings")
}

fn source(name: &str) -> String {
    fs::read_to_string(fixtures().join("source").join(name)).expect("a source text")
}

/// Fixture, label, source text, line end.
const TEXTS: &[(&str, &str, &str, &str)] = &[
    ("gbk.txt", "gbk", "zh-hans.txt", "\n"),
    ("shift_jis.txt", "shift_jis", "ja.txt", "\r\n"),
    ("euc-kr.txt", "euc-kr", "ko.txt", "\n"),
    ("windows-1251.txt", "windows-1251", "ru.txt", "\r\n"),
    ("windows-1252.txt", "windows-1252", "fr-de.txt", "\r\n"),
    ("big5.txt", "big5", "zh-hant.txt", "\n"),
    ("euc-jp.txt", "euc-jp", "ja.txt", "\n"),
    ("utf-16le-zh.txt", "utf-16le", "zh-hans.txt", "\r\n"),
    ("utf-16be-zh.txt", "utf-16be", "zh-hans.txt", "\n"),
    ("utf-16le-fr.txt", "utf-16le", "fr-de.txt", "\r\n"),
    ("utf-16be-fr.txt", "utf-16be", "fr-de.txt", "\r\n"),
    ("utf-16le-ru.txt", "utf-16le", "ru.txt", "\r\n"),
    ("utf-16be-ko.txt", "utf-16be", "ko.txt", "\n"),
    ("utf-16le-bom.txt", "utf-16le", "ja.txt", "\r\n"),
    ("utf-16be-bom.txt", "utf-16be", "fr-de.txt", "\n"),
    ("utf-8-bom.txt", "utf-8", "ru.txt", "\n"),
    ("utf-8-zh.txt", "utf-8", "zh-hans.txt", "\n"),
];

fn raw(daemon: &mut Daemon, name: &str) -> Value {
    daemon
        .read(format!("{name}:raw"))
        .unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

#[test]
fn every_encoding_reads_as_its_text() {
    let mut daemon = Daemon::start(&fixtures());
    for (name, label, source_name, end) in TEXTS {
        let result = raw(&mut daemon, name);
        let details = &result["details"];
        assert_eq!(details["encoding"], *label, "{name}");
        assert_eq!(details["bom"], name.contains("bom"), "{name}");
        let certain = name.contains("bom") || *label == "utf-8";
        let confidence = if certain { "certain" } else { "likely" };
        assert_eq!(details["encodingConfidence"], confidence, "{name}");
        assert_eq!(details.get("notices"), None, "{name}");
        let expected = source(source_name).replace('\n', end);
        assert_eq!(result["content"][0]["text"], expected.as_str(), "{name}");
    }
}

#[test]
fn bad_bytes_in_utf8_are_shown_and_said() {
    let mut daemon = Daemon::start(&fixtures());
    let result = raw(&mut daemon, "utf-8-bad-bytes.txt");
    assert_eq!(result["details"]["encoding"], "utf-8");
    assert_eq!(result["details"]["encodingConfidence"], "likely");
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.contains('\u{fffd}'));
    let notice = result["details"]["notices"][0].as_str().expect("a notice");
    assert!(
        notice.contains("U+FFFD") && notice.contains("encoding parameter"),
        "{notice}"
    );
}

#[test]
fn the_encoding_parameter_wins_and_is_remembered() {
    let tree = Tree::new().file("a.txt", b"caf\xe9 \xa4\n");
    let daemon = Daemon::start(tree.path());
    let read = |encoding: Option<&str>| {
        let params = json!({ "path": "a.txt", "encoding": encoding });
        daemon.read_with(params).map(|result| {
            let text = result["content"][0]["text"].as_str().expect("text");
            let row = text.rsplit_once(':').expect("a row").1.to_owned();
            (
                row,
                result["details"]["encoding"]
                    .as_str()
                    .expect("a label")
                    .to_owned(),
            )
        })
    };
    assert_eq!(
        read(Some("ISO-8859-15")),
        Ok(("café €".into(), "iso-8859-15".into()))
    );
    assert_eq!(read(None), Ok(("café €".into(), "iso-8859-15".into())));
    assert_eq!(
        read(Some("latin1")),
        Ok(("café ¤".into(), "windows-1252".into()))
    );
    assert_eq!(read(None), Ok(("café ¤".into(), "windows-1252".into())));
    for label in ["latin-17", "replacement", "", "x-user-defined"] {
        let error = read(Some(label)).expect_err(label);
        assert_eq!(error.kind(), "badParams");
        assert_eq!(error.data["key"], "encoding");
    }
}

#[test]
fn binaries_are_refused_and_name_what_they_are() {
    let daemon = Daemon::start(&fixtures());
    for name in [
        "elf.bin",
        "gzip.bin",
        "mp4.bin",
        "mpeg-ts.bin",
        "pcm.bin",
        "random.bin",
        "random-without-nul.bin",
        "zstd-without-nul.bin",
        "counters.bin",
    ] {
        let error = daemon.read(name).expect_err(name);
        assert_eq!((error.code, error.kind()), (-32803, "binary"), "{name}");
        assert_eq!(error.data["path"], name);
    }
    // A document, whose own bytes are no text though each is a letter.
    assert_eq!(
        daemon.read_text("ascii.pdf:raw"),
        "[Cannot read .pdf file: damaged: it has no pages]"
    );
    assert!(
        daemon
            .read("png.bin:raw")
            .expect_err("binary")
            .message
            .to_lowercase()
            .contains("png")
    );
}

#[test]
fn control_characters_and_ansi_pass_unharmed() {
    let log = fs::read_to_string(fixtures().join("ansi.log")).expect("the log");
    let tree = Tree::new()
        .file("ansi.log", &log)
        .file("odd.txt", "a\x01\x7f\x1b[1m\u{202e}\u{200b}b\tc\x08\n");
    let daemon = Daemon::start(tree.path());
    assert_eq!(daemon.read_text("ansi.log:raw"), log);
    assert!(
        daemon
            .read_text("odd.txt")
            .ends_with("\n1:a\x01\x7f\x1b[1m\u{202e}\u{200b}b\tc\x08")
    );
}

#[test]
fn no_sample_cuts_a_character_in_half() {
    let tree = Tree::new();
    let mut daemon = Daemon::start(tree.path());
    for shift in 0..4 {
        for size in [512, 1024, 4096, 8192, 65_536] {
            let text = format!("{}{}\n", "a".repeat(size - shift), "漢字😀".repeat(40));
            let name = format!("{size}-{shift}.txt");
            tree.write(&name, &text);
            let result = raw(&mut daemon, &name);
            assert_eq!(result["details"]["encoding"], "utf-8", "{name}");
            assert_eq!(result["content"][0]["text"], text.as_str(), "{name}");
        }
    }
}
