//! Edits of files in every encoding, with every line end; bytes come from fixtures that Python's codecs wrote, and no encoder of ours is asked what is right.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::client::Daemon;
use crate::tree::Tree;

use super::{Untouched, edit, edit_as, patch, read, tag_of};

/// Fixture, its source text, its label, its BOM and the bytes of a unit.
pub struct Kind {
    pub fixture: &'static str,
    source: &'static str,
    label: &'static str,
    bom: &'static [u8],
    unit: Unit,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Unit {
    Byte,
    Little,
    Big,
}

pub const KINDS: [Kind; 9] = [
    kind("utf-8-zh.txt", "zh-hans", "utf-8", b"", Unit::Byte),
    kind("utf-8-bom.txt", "ru", "utf-8", b"\xef\xbb\xbf", Unit::Byte),
    kind(
        "utf-16le-bom.txt",
        "ja",
        "utf-16le",
        b"\xff\xfe",
        Unit::Little,
    ),
    kind(
        "utf-16be-bom.txt",
        "fr-de",
        "utf-16be",
        b"\xfe\xff",
        Unit::Big,
    ),
    kind("gbk.txt", "zh-hans", "gbk", b"", Unit::Byte),
    kind("shift_jis.txt", "ja", "shift_jis", b"", Unit::Byte),
    kind("euc-kr.txt", "ko", "euc-kr", b"", Unit::Byte),
    kind("windows-1251.txt", "ru", "windows-1251", b"", Unit::Byte),
    kind("windows-1252.txt", "fr-de", "windows-1252", b"", Unit::Byte),
];

const fn kind(
    fixture: &'static str,
    source: &'static str,
    label: &'static str,
    bom: &'static [u8],
    unit: Unit,
) -> Kind {
    Kind {
        fixture,
        source,
        label,
        bom,
        unit,
    }
}

impl Unit {
    fn encode(self, ascii: &str) -> Vec<u8> {
        let byte = |byte: u8| match self {
            Unit::Byte => vec![byte],
            Unit::Little => vec![byte, 0],
            Unit::Big => vec![0, byte],
        };
        ascii.bytes().flat_map(byte).collect()
    }

    fn size(self) -> usize {
        if self == Unit::Byte { 1 } else { 2 }
    }
}

fn fixtures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/encodings")
}

impl Kind {
    /// The lines of the fixture without their ends: the text of each and its bytes. Blank ones are
    /// left out.
    pub fn lines(&self) -> Vec<(String, Vec<u8>)> {
        let source = fixtures().join(format!("source/{}.txt", self.source));
        let source = fs::read_to_string(source).expect("a source");
        let bytes = fs::read(fixtures().join(self.fixture)).expect("a fixture");
        let bytes = bytes.strip_prefix(self.bom).expect("its BOM");
        let (feed, back) = (self.unit.encode("\n"), self.unit.encode("\r"));
        let mut rows = vec![Vec::new()];
        for unit in bytes.chunks(self.unit.size()) {
            match unit == feed {
                true => rows.push(Vec::new()),
                false => rows.last_mut().expect("a row").extend_from_slice(unit),
            }
        }
        let bare = |row: Vec<u8>| row.strip_suffix(&*back).map(<[u8]>::to_vec).unwrap_or(row);
        let rows: Vec<Vec<u8>> = rows.into_iter().map(bare).collect();
        let texts: Vec<&str> = source.split('\n').collect();
        assert_eq!(texts.len(), rows.len(), "{}", self.fixture);
        let lines = texts.into_iter().map(str::to_owned).zip(rows);
        lines.filter(|(text, _)| !text.is_empty()).collect()
    }

    /// The bytes of an ASCII text.
    pub fn ascii(&self, text: &str) -> Vec<u8> {
        self.unit.encode(text)
    }

    /// A file of these lines: line k has the end k.
    pub fn file(&self, lines: &[Vec<u8>], ends: &[&str]) -> Vec<u8> {
        let line = |(line, end): (&Vec<u8>, &&str)| [&**line, &self.unit.encode(end)].concat();
        let lines: Vec<u8> = lines.iter().zip(ends).flat_map(line).collect();
        [self.bom, &lines].concat()
    }
}

/// The ends of so many lines.
pub fn ends(name: &str, count: usize, is_ended: bool) -> Vec<&'static str> {
    let end = |at: usize| match name {
        "lf" => "\n",
        "crlf" => "\r\n",
        "mixed" => ["\n", "\r\n", "\r\n", "\n"][at % 4],
        // A lone CR is text where other lines end otherwise.
        "lone cr in lf" => ["\n", "\n", "\r", "\n"][at % 4],
        "lone cr in crlf" => ["\r\n", "\r\n", "\r", "\r\n"][at % 4],
        "cr" => "\r",
        other => panic!("no such ends: {other}"),
    };
    let mut ends: Vec<&str> = (0..count).map(end).collect();
    if !is_ended {
        ends[count - 1] = "";
    }
    ends
}

pub const ENDS: [&str; 6] = [
    "lf",
    "crlf",
    "mixed",
    "lone cr in lf",
    "lone cr in crlf",
    "cr",
];

#[test]
fn all_bytes_but_those_of_line_1_stay() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    for kind in &KINDS {
        let lines = kind.lines();
        let bytes: Vec<Vec<u8>> = lines.iter().map(|(_, bytes)| bytes.clone()).collect();
        // Line 1 becomes a copy of another line, so its bytes are a fixture's too.
        let (row, row_bytes) = &lines[lines.len() / 2];
        for name in ENDS {
            for is_ended in [true, false] {
                let file = format!("{} {name} {is_ended}.txt", kind.fixture);
                let ends = ends(name, bytes.len(), is_ended);
                tree.write(&file, kind.file(&bytes, &ends));
                let result = daemon.read(format!("{file}:raw")).expect(&file);
                let details = &result["details"];
                assert_eq!(details["encoding"], kind.label, "{file}");
                assert_eq!(details["bom"], !kind.bom.is_empty(), "{file}");
                let hunk = format!("replace 1..1:\n+{row}\n");
                let edited = edit(&daemon, &patch(&file, &tag_of(&result), &hunk));
                edited.unwrap_or_else(|error| panic!("{file}: {error:?}"));
                let mut expected = bytes.clone();
                expected[0] = row_bytes.clone();
                let expected = kind.file(&expected, &ends);
                let now = fs::read(tree.join(&file)).expect("the file");
                assert!(now == expected, "{file}");
            }
        }
    }
}

#[test]
fn rows_at_the_head_in_the_middle_and_at_the_tail_take_the_ends_beside_them() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    for kind in &KINDS {
        let lines = kind.lines();
        let (row, row_bytes) = &lines[1];
        for is_ended in [true, false] {
            let file = format!("{} {is_ended}.txt", kind.fixture);
            let mut bytes: Vec<Vec<u8>> = lines.iter().map(|(_, bytes)| bytes.clone()).collect();
            let mut ends = ends("mixed", bytes.len(), is_ended);
            tree.write(&file, kind.file(&bytes, &ends));
            let tag = read(&daemon, &file);
            let hunks = format!(
                "insert head:\n+{row}\ninsert after 2:\n+{row}\ndelete 4\ninsert tail:\n+{row}\n"
            );
            let edited = edit(&daemon, &patch(&file, &tag, &hunks));
            edited.unwrap_or_else(|error| panic!("{file}: {error:?}"));
            let (total, last) = (bytes.len(), ends[bytes.len() - 1]);
            bytes.push(row_bytes.clone());
            match last {
                // The row has no end in its turn; the line above takes that of the last ended one.
                "" => {
                    ends[total - 1] = ends[total - 2];
                    ends.push("");
                }
                end => ends.push(end),
            }
            bytes.remove(3);
            ends.remove(3);
            bytes.insert(2, row_bytes.clone());
            ends.insert(2, ends[1]);
            bytes.insert(0, row_bytes.clone());
            ends.insert(0, ends[0]);
            let now = fs::read(tree.join(&file)).expect("the file");
            assert!(now == kind.file(&bytes, &ends), "{file}");
        }
    }
}

#[test]
fn a_character_that_does_not_fit_changes_nothing() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    // The test writes what it has been shown.
    daemon.ignore_changes();
    for (fixture, odd) in [
        ("gbk.txt", "한국어 😀"),
        ("shift_jis.txt", "x 한"),
        ("euc-kr.txt", "😀"),
        ("windows-1251.txt", "中"),
        ("windows-1252.txt", "Ж"),
        ("big5.txt", "x 😀"),
        ("euc-jp.txt", "한"),
    ] {
        tree.write(
            fixture,
            fs::read(fixtures().join(fixture)).expect("a fixture"),
        );
        tree.write("fine.txt", "fine\n");
        let (tag, fine) = (read(&daemon, fixture), read(&daemon, "fine.txt"));
        let before = ["fine.txt", fixture].map(|name| Untouched::of(&tree.join(name)));
        // Another file of the same patch, which would fit, is not written either.
        let both = patch("fine.txt", &fine, "replace 1..1:\n+other\n")
            + &patch(fixture, &tag, &format!("replace 1..1:\n+{odd}\n"));
        let error = edit(&daemon, &both).expect_err(fixture);
        assert_eq!(
            (error.kind(), error.code),
            ("encoding", -32803),
            "{error:?}"
        );
        let odd = odd
            .chars()
            .find(|c| !c.is_ascii())
            .expect("an odd character");
        assert!(error.message.contains(odd), "{fixture}: {}", error.message);
        let number = format!("U+{:04X}", u32::from(odd));
        assert!(
            error.message.contains(&number),
            "{fixture}: {}",
            error.message
        );
        let after = ["fine.txt", fixture].map(|name| Untouched::of(&tree.join(name)));
        assert_eq!(after, before, "{fixture}");
    }
    daemon.ignore_changes();
}

#[test]
fn the_encoding_parameter_is_the_way_out_of_a_wrong_guess() {
    // "café ¤ ż" in ISO-8859-15 and ISO-8859-2: too little text to tell what it is.
    let tree = Tree::new().file("a.txt", b"caf\xe9 \xa4\nx\n").file(
        "damaged.txt",
        "漢字漢字\nx\n"
            .as_bytes()
            .iter()
            .copied()
            .chain(*b"\xff\n")
            .collect::<Vec<u8>>(),
    );
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let tag = read(&daemon, "a.txt");
    // Whatever was guessed, it has no euro sign at that byte, or the guess is right.
    let declared = |name: &str, label: &str| {
        let params = json!({ "path": name, "selector": "raw", "encoding": label });
        tag_of(&daemon.read_with(params).expect("a read"))
    };
    let tag_declared = declared("a.txt", "iso-8859-15");
    assert_ne!(
        tag, tag_declared,
        "the guess was right, so nothing is tested"
    );
    // The other encoding holds for every session from now on.
    let hunks = "replace 2..2:\n+\u{20ac} \u{e9}\n";
    let edited = edit(&daemon, &patch("a.txt", &tag_declared, hunks));
    edited.expect("the euro sign is in ISO-8859-15");
    let bytes = fs::read(tree.join("a.txt")).expect("the file");
    assert_eq!(bytes, b"caf\xe9 \xa4\n\xa4 \xe9\n");

    // Damaged UTF-8 does not read and write back to the same bytes.
    let tag = read(&daemon, "damaged.txt");
    let before = Untouched::of(&tree.join("damaged.txt"));
    let hunk = "replace 2..2:\n+y\n";
    let error = edit(&daemon, &patch("damaged.txt", &tag, hunk)).expect_err("a guess");
    assert_eq!(error.kind(), "encoding");
    assert!(
        error.message.contains("encoding parameter"),
        "{}",
        error.message
    );
    assert_eq!(Untouched::of(&tree.join("damaged.txt")), before);
    let tag = declared("damaged.txt", "utf-8");
    let edited = edit_as(&daemon, "default", &patch("damaged.txt", &tag, hunk));
    edited.expect("the encoding was named");
    let bytes = fs::read(tree.join("damaged.txt")).expect("the file");
    assert_eq!(bytes, ["漢字漢字\ny\n".as_bytes(), b"\xff\n"].concat());
}

#[test]
fn a_character_that_a_guess_cannot_place_is_refused() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    // Three encodings read this alike.
    tree.write("f.txt", b"prix\ncaf\xe9 au lait\n");
    let result = daemon.read("f.txt:raw").expect("a read");
    assert_eq!(result["details"]["encodingConfidence"], "likely");
    let tag = tag_of(&result);
    let patch_of = |tag: &str, row: &str| patch("f.txt", tag, &format!("replace 1:\n+{row}\n"));
    let error = edit(&daemon, &patch_of(&tag, "prix: 3 €")).expect_err("refused");
    assert_eq!(error.kind(), "encoding", "{}", error.message);
    for words in [
        "atch line 2",
        "'€' (U+20AC)",
        "80 in windows-1252",
        "A4 in ISO-8859-15",
        "none in ISO-8859-1",
        "encoding parameter",
    ] {
        assert!(error.message.contains(words), "{words}: {}", error.message);
    }
    // What is the same in all of them is no question.
    edit(&daemon, &patch_of(&tag, "très cher")).expect("an edit");
    let bytes = fs::read(tree.join("f.txt")).expect("the file");
    assert_eq!(bytes, b"tr\xe8s cher\ncaf\xe9 au lait\n");
    // Whoever knows the encoding says so, once.
    let params = json!({ "path": "f.txt", "encoding": "iso-8859-15" });
    let result = daemon.read_with(params).expect("a read");
    edit(&daemon, &patch_of(&tag_of(&result), "prix: 3 €")).expect("an edit");
    let bytes = fs::read(tree.join("f.txt")).expect("the file");
    assert_eq!(bytes, b"prix: 3 \xa4\ncaf\xe9 au lait\n");
    // ASCII is UTF-8.
    tree.write("plain.txt", "prix\n");
    let tag = read(&daemon, "plain.txt");
    edit(&daemon, &patch("plain.txt", &tag, "replace 1:\n+3 €\n")).expect("an edit");
    assert_eq!(
        fs::read(tree.join("plain.txt")).expect("the file"),
        "3 €\n".as_bytes()
    );
}
