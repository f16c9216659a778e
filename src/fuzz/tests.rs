//! The fuzz targets as ordinary tests: every fixture, and some hundred mutants of the smaller ones.

use std::fmt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Bytes of the largest fixture that is taken as a seed.
const MAX_SEED: u64 = 256 * 1024;

/// Bytes of the largest that is mutated.
const MAX_MUTANT: usize = 32 * 1024;

/// Mutants of each target; in the long form more.
fn cases() -> u32 {
    match std::env::var_os("PILCROW_LONG") {
        Some(_) => 100_000,
        None => 300,
    }
}

/// The fixtures below a folder whose names end so; every one where nothing is named.
fn fixtures(folder: &str, endings: &[&str]) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(folder);
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of fixtures") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files.retain(|file| {
        let name = file.to_string_lossy();
        let is_meant = endings.is_empty() || endings.iter().any(|ending| name.ends_with(ending));
        is_meant
            && file
                .metadata()
                .is_ok_and(|metadata| metadata.len() <= MAX_SEED)
    });
    // Directories list in any order, and mutants are to be the same each time.
    files.sort();
    let read = |file: &PathBuf| std::fs::read(file).expect("a fixture");
    files.iter().map(read).collect()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// One change of some bytes. Places are shares of what is there.
#[derive(Debug, Clone)]
enum ByteChange {
    Set(f64, u8),
    Flip(f64, u8),
    Insert(f64, Vec<u8>),
    Remove(f64, f64),
    Repeat(f64, f64),
    CutOff(f64),
}

fn change() -> impl Strategy<Value = ByteChange> {
    let at = || 0.0..1.0f64;
    let some = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..8),
        prop::sample::select(vec![
            "\n",
            "\r\n",
            ":",
            "-",
            "+",
            "#",
            "¶f#1A2B\n",
            "\\",
            "\"",
            "/../",
            "\0\0\0\0",
            "Content-Length: 3\r\n\r\n",
            "99999999999999999999",
            "\u{feff}",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| ByteChange::Set(at, byte)),
        (at(), 0..8u8).prop_map(|(at, bit)| ByteChange::Flip(at, 1 << bit)),
        (at(), some).prop_map(|(at, bytes)| ByteChange::Insert(at, bytes)),
        (at(), at()).prop_map(|(from, to)| ByteChange::Remove(from, to)),
        (at(), at()).prop_map(|(from, to)| ByteChange::Repeat(from, to)),
        at().prop_map(ByteChange::CutOff),
    ]
}

impl ByteChange {
    fn make(&self, bytes: &mut Vec<u8>) {
        let len = bytes.len();
        let place = |share: &f64| (share * len as f64) as usize;
        // Short ranges are likelier to leave something that is still read on.
        let range = |from: &f64, to: &f64| {
            let from = place(from);
            from..(from + (to.powi(4) * (len - from) as f64) as usize)
        };
        match self {
            ByteChange::Insert(at, more) => {
                let at = place(at);
                bytes.splice(at..at, more.iter().copied());
            }
            ByteChange::Remove(from, to) => drop(bytes.drain(range(from, to))),
            ByteChange::Repeat(from, to) => {
                let range = range(from, to);
                let (end, part) = (range.end, bytes[range].to_vec());
                bytes.splice(end..end, part);
            }
            ByteChange::CutOff(at) => bytes.truncate(place(at)),
            ByteChange::Set(..) | ByteChange::Flip(..) if len == 0 => {}
            ByteChange::Set(at, byte) => bytes[place(at)] = *byte,
            ByteChange::Flip(at, bit) => bytes[place(at)] ^= bit,
        }
    }
}

/// Bytes that a failure prints as they are written in a source file.
struct Mutant(Vec<u8>);

impl fmt::Debug for Mutant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Runs a target over seeds, over mutants of them, and over bytes that come from nowhere.
fn run(target: fn(&[u8]), seeds: Vec<Vec<u8>>) {
    assert!(!seeds.is_empty(), "no seeds");
    target(b"");
    for seed in &seeds {
        target(seed);
    }
    let small: Vec<Vec<u8>> = seeds
        .into_iter()
        .filter(|seed| seed.len() <= MAX_MUTANT)
        .collect();
    let config = ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let bytes = prop_oneof![
        9 => prop::sample::select(small),
        1 => prop::collection::vec(any::<u8>(), 0..200),
    ];
    let changes = prop::collection::vec(change(), 0..6);
    let mutants = (bytes, changes).prop_map(|(mut bytes, changes)| {
        changes.iter().for_each(|change| change.make(&mut bytes));
        Mutant(bytes)
    });
    let outcome = TestRunner::new_with_rng(config, fixed()).run(&mutants, |mutant| {
        target(&mutant.0);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// The same numbers in every run: a test that fails by luck tells nobody whose change it was.
fn fixed() -> proptest::test_runner::TestRng {
    use proptest::test_runner::{RngAlgorithm, TestRng};
    TestRng::deterministic_rng(RngAlgorithm::ChaCha)
}

#[test]
fn frames() {
    run(
        super::frame,
        texts(&[
            "Content-Length: 2\r\n\r\n{}",
            "noise\nContent-Length: 2\r\nContent-Type: x\r\n\r\n{}Content-Length: 4\r\n\r\nnull",
            "content-length:00000003\r\n\r\n{ }\r\n\r\n",
            "Content-Length: 5000\r\n\r\n{}Content-Length: 2\r\n\r\n[]",
            "Content-Length: 99999999999999999999999\r\n\r\nContent-Length: 1\r\n\r\n1",
            "Content-Type: x\r\n\r\nX-Content-Length: 7\r\n\r\nContent-Length: -1\r\n\r\n",
            "log: starting Content-Length: 2\r\n\r\n{}",
        ]),
    );
}

#[test]
fn patches() {
    let mut seeds = texts(&[
        "¶src/a.ts#C3DE\nreplace 12..14:\n+one\n+\n+three\ninsert after 25:\n+x\ndelete 3..9\n",
        "¶a b.py#0A1B\ninsert head:\n+first\ninsert tail:\n+last\ninsert before 4:\n+four\n",
        "¶x#FFFF\nreplace block 7:\n+fn x() {}\ndelete block 9\ninsert after block 3:\n+++\n",
        "*** Begin Patch\n[a.py#1a2b]\nReplace 3-4\none\ntwo\n*** End Patch\n",
        "\u{feff}¶\"odd \\n name\"#1A2B\r\ndelete 1\r\n¶Update File: a#1A2B\r\ndelete 2 .. 3\r\n",
        "¶f#1A2B\ndelete 1,4\nreplace 2:\n-old\n+new\n@@ -1 +1 @@\n",
    ]);
    seeds.extend(fixtures("outline/rust", &[]));
    run(super::patch, seeds);
}

#[test]
fn paths() {
    run(
        super::path,
        texts(&[
            "src/main.rs:10-20",
            "a.zip:dir/b.txt:5-16,960-973:raw",
            "notes:12",
            "x.py:-20",
            "x.py:5+3,L7..9,12",
            "db.sqlite:table?where=a>5&order=b:desc",
            "photo.png:crop=1,2,3,4",
            "report.pdf:p3-5",
            "file:///tmp/a%20b%zz.txt:1-",
            "é漢😀.txt:raw:5–9",
            "a.tar.gz:b.zip:c#d?e",
            "18446744073709551615-:raw",
            "1,1,3-3,2-,-1",
        ]),
    );
}

#[test]
fn zips() {
    let endings = [
        ".zip", ".jar", ".apk", ".whl", ".vsix", ".nupkg", ".docx", ".epub",
    ];
    let mut seeds = fixtures("archive", &endings);
    seeds.extend(fixtures("document", &[".docx", ".xlsx", ".odt"]));
    run(super::zip, seeds);
}

#[test]
fn tars() {
    run(super::tar, fixtures("archive", &[".tar"]));
}

#[test]
fn notebooks() {
    run(super::notebook, fixtures("notebook", &[]));
}

#[test]
fn encodings() {
    // The first byte says what they are declared to be.
    let declared = |(index, mut seed): (usize, Vec<u8>)| {
        seed.insert(0, (index % 16) as u8);
        seed
    };
    let plain = fixtures("encodings", &[]);
    let guessed = plain.iter().map(|seed| [&[255], seed.as_slice()].concat());
    let seeds = guessed.collect::<Vec<_>>().into_iter();
    run(
        super::encoding,
        seeds
            .chain(plain.into_iter().enumerate().map(declared))
            .collect(),
    );
}
