//! Documents that are damaged, endless or enormous, and converters that misbehave: an answer always comes, and the daemon never grows.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::chance::Chance;
use crate::client::{Daemon, WireError};
use crate::documents::{PLAIN, fixtures, hostile, text_of};
use crate::processes::{children, is_gone, until, zombies};
use crate::tree::Tree;

const MIB: u64 = 1 << 20;

/// The daemon's own memory at its peak, whatever it was given to read.
const PEAK: u64 = 300 * MIB;

/// A text with these words in it makes a converter misbehave, where that is allowed.
fn rtf(words: &str) -> String {
    format!("{{\\rtf1 {words}}}")
}

/// A daemon whose converters have these limits and misbehave when asked to.
fn limited(root: &Path, limits: &str) -> Daemon {
    let limits = format!("misbehave=1,{limits}");
    let builder = Daemon::builder().root(root);
    builder.env("PILCROW_CONVERT", &limits).start()
}

fn text(daemon: &Daemon, path: &str) -> String {
    let result = daemon.read(path);
    text_of(&result.unwrap_or_else(|error| panic!("{path}: {error:?}"))).to_owned()
}

fn status(daemon: &Daemon) -> Value {
    daemon.call("agent/status", json!({})).expect("status")["workers"]["convert"].take()
}

/// What came of a read, where only that is the matter: of damaged and of collected documents nobody
/// wrote down what they say. `text`, `note` (nothing could be had, and why), or the kind of a refusal.
fn outcome(result: &Result<Value, WireError>) -> &str {
    match result {
        Err(error) => error.kind(),
        Ok(result) => match text_of(result) {
            text if text.starts_with("[Cannot read ") => "note",
            text if text.starts_with("[No extractable text in ") => "empty",
            _ => "text",
        },
    }
}

#[test]
fn each_limit_has_its_words_and_the_next_is_served() {
    let tree = Tree::new()
        .file("dies.rtf", rtf("pilcrow:abort"))
        .file("spins.rtf", rtf("pilcrow:spin"))
        .file("sleeps.rtf", rtf("pilcrow:sleep"))
        .file("long.rtf", rtf(&"many words \\par ".repeat(200)))
        .file("good.rtf", rtf("well"));
    let daemon = limited(
        tree.path(),
        "cpuMs=200,wallMs=2000,outputBytes=600,inputBytes=5000",
    );
    assert_eq!(
        text(&daemon, "dies.rtf"),
        "[Cannot read .rtf file: the converter stopped, as it does when a document asks for too much memory or nests too deeply]"
    );
    assert_eq!(text(&daemon, "good.rtf"), "1:well");
    assert_eq!(
        text(&daemon, "spins.rtf"),
        "[Cannot read .rtf file: it took more than 0.2 s of processor time]"
    );
    assert_eq!(text(&daemon, "good.rtf"), "1:well");
    assert_eq!(
        text(&daemon, "sleeps.rtf"),
        "[Cannot read .rtf file: it took longer than 2 s]"
    );
    assert_eq!(text(&daemon, "good.rtf"), "1:well");
    let line = |number: u32| match number % 2 {
        1 => format!("{number}:many words"),
        _ => format!("{number}:"),
    };
    let lines: Vec<String> = (1..=99).map(line).collect();
    assert_eq!(
        text(&daemon, "long.rtf"),
        lines.join("\n")
            + "\n\n[The text ends here at 600 bytes; the rest of the document is not shown]"
    );
    tree.write("large.rtf", rtf(&"x".repeat(6000)));
    let error = daemon.read("large.rtf").expect_err("it is too large");
    assert_eq!(error.kind(), "tooLarge");
    assert_eq!(
        error.message,
        "'large.rtf' is too large: 5.9KB, and documents are converted up to 4.9KB. Use another program to take a part out of it."
    );
    let counts = status(&daemon);
    assert_eq!(
        (&counts["alive"], &counts["replaced"]),
        (&json!(1), &json!(3))
    );
}

/// What a converter says that makes no sense, by the words that have it say so.
const LIES: &[&str] = &[
    "overflow", "number", "frame", "half", "bytes", "kind", "lines",
];

#[test]
fn a_converter_that_lies_costs_one_answer() {
    let mut tree = Tree::new();
    for lie in LIES {
        tree = tree.file(&format!("{lie}.rtf"), rtf(&format!("pilcrow:{lie}")));
    }
    let daemon = limited(tree.path(), "");
    for (number, lie) in LIES.iter().enumerate() {
        assert_eq!(
            text(&daemon, &format!("{lie}.rtf")),
            "[Cannot read .rtf file: the converter stopped, as it does when a document asks for too much memory or nests too deeply]",
            "{lie}"
        );
        tree.write("good.rtf", rtf(&format!("well, after {lie}")));
        assert_eq!(text(&daemon, "good.rtf"), format!("1:well, after {lie}"));
        assert_eq!(status(&daemon)["replaced"], number + 1, "{lie}");
    }
    assert_eq!(zombies(daemon.pid()), Vec::<u32>::new());
}

#[test]
fn a_cancelled_conversion_takes_its_child_along() {
    let tree = Tree::new()
        .file("sleeps.rtf", rtf("pilcrow:sleep"))
        .file("good.rtf", rtf("well"));
    let daemon = limited(tree.path(), "");
    let asleep = daemon.request("agent/read", json!({ "path": "sleeps.rtf" }));
    until("a child is there", || !children(daemon.pid()).is_empty());
    let child = children(daemon.pid())[0];
    daemon.notify("$/cancelRequest", json!({ "id": asleep }));
    assert_eq!(daemon.wait(&asleep).expect_err("cancelled").code, -32800);
    until("the child is gone", || is_gone(child));
    assert_eq!(text(&daemon, "good.rtf"), "1:well");
}

#[test]
fn no_child_outlives_its_daemon() {
    let tree = Tree::new()
        .file("spins.rtf", rtf("pilcrow:spin"))
        .file("good.rtf", rtf("well"));
    let daemon = limited(tree.path(), "");
    daemon.read("good.rtf").expect("a read");
    let ids = [0, 1].map(|_| daemon.request("agent/read", json!({ "path": "spins.rtf" })));
    until("two children are there", || {
        children(daemon.pid()).len() == 2
    });
    let children = children(daemon.pid());
    daemon.kill();
    drop(ids);
    until("no child is left", || {
        children.iter().all(|child| is_gone(*child))
    });
}

#[test]
fn children_are_two_at_most_and_everything_else_is_served() {
    let mut tree = Tree::new()
        .file("a.txt", "text\n")
        .file("good.rtf", rtf("well"));
    for number in 0..4 {
        tree = tree.file(&format!("sleeps{number}.rtf"), rtf("pilcrow:sleep"));
    }
    let daemon = limited(tree.path(), "waitMs=200,wallMs=3000");
    let asleep = [0, 1, 2, 3].map(|number| {
        daemon.request(
            "agent/read",
            json!({ "path": format!("sleeps{number}.rtf") }),
        )
    });
    until("both are at work", || status(&daemon)["jobs"] == 2);
    assert_eq!(children(daemon.pid()).len(), 2);
    assert_eq!(text(&daemon, "a.txt"), "¶a.txt#FECF\n1:text");
    let mut kinds = BTreeMap::new();
    for id in &asleep {
        let result = daemon.wait(id);
        *kinds.entry(outcome(&result).to_owned()).or_insert(0) += 1;
    }
    assert_eq!(
        kinds,
        BTreeMap::from([("busy".to_owned(), 2), ("note".to_owned(), 2)])
    );
    assert_eq!(text(&daemon, "good.rtf"), "1:well");
}

#[test]
fn a_child_without_work_ends_and_is_replaced() {
    let tree = Tree::new().file("good.rtf", rtf("well"));
    let daemon = limited(tree.path(), "idleMs=50");
    assert_eq!(text(&daemon, "good.rtf"), "1:well");
    for _ in 0..5 {
        until("it ends", || status(&daemon)["alive"] == 0);
        tree.write("good.rtf", rtf("well"));
        assert_eq!(text(&daemon, "good.rtf"), "1:well");
    }
    assert_eq!(status(&daemon)["replaced"], 0);
}

#[test]
fn a_child_has_nothing_but_its_socket() {
    let tree = Tree::new().file("good.rtf", rtf("well"));
    let daemon = Daemon::start(tree.path());
    daemon.read("good.rtf").expect("a read");
    let child = children(daemon.pid())[0];
    let of = |name: &str| fs::read_to_string(format!("/proc/{child}/{name}")).expect(name);
    assert_eq!(of("environ"), "");
    let limits = of("limits");
    let line = |name: &str| {
        limits
            .lines()
            .find(|line| line.starts_with(name))
            .map(str::to_owned)
    };
    let fields = |name: &str| -> Vec<String> {
        let line = line(name).unwrap_or_default();
        line[name.len()..]
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(
        fields("Max address space")[..2],
        ["1073741824", "1073741824"]
    );
    assert_eq!(fields("Max core file size")[..2], ["0", "0"]);
    // The socket, its own copies of it, and nothing in the place of the other streams.
    let files = fs::read_dir(format!("/proc/{child}/fd")).expect("its files");
    let mut names: Vec<String> = files
        .flatten()
        .map(|entry| {
            fs::read_link(entry.path())
                .expect("a link")
                .display()
                .to_string()
        })
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(names[0], "/dev/null");
    assert!(names[1].starts_with("socket:"), "{names:?}");
    assert_eq!(fields("Max open files")[..2], ["16", "16"]);
}

#[test]
fn the_program_may_be_replaced_while_it_runs() {
    let tree = Tree::new().file("good.rtf", rtf("well"));
    let bin = Tree::new();
    let program = bin.join("pilcrow");
    fs::copy(env!("CARGO_BIN_EXE_pilcrow"), &program).expect("a copy");
    let builder = Daemon::builder().program(program.to_str().expect("UTF-8"));
    let daemon = builder
        .arg("serve")
        .arg("--stdio")
        .root(tree.path())
        .start();
    fs::remove_file(&program).expect("removed");
    fs::write(&program, "#!/bin/false\n").expect("another program");
    assert_eq!(text(&daemon, "good.rtf"), "1:well");
}

#[test]
fn every_hostile_document_gets_an_answer() {
    let daemon = Daemon::start(&fixtures());
    for name in names_in(&fixtures().join("hostile")) {
        let path = match name.ends_with(".csv") {
            true => format!("hostile/{name}:table"),
            false => format!("hostile/{name}"),
        };
        let text = text(&daemon, &path);
        match hostile::golden(&name) {
            Some(golden) => assert_eq!(text, golden, "{name}"),
            None => {
                let is_through = name == "cmap-bomb.pdf" && text == hostile::MAPPED;
                let is_limit = hostile::LIMITS.contains(&text.as_str());
                assert!(is_through || is_limit, "{name}: {text}");
            }
        }
    }
    let peak = daemon.peak_bytes();
    assert!(peak < PEAK, "{} MiB", peak / MIB);
}

/// A package with its parts renamed and changed.
pub fn repacked(name: &str, change: impl Fn(&str, Vec<u8>) -> (String, Vec<u8>)) -> Vec<u8> {
    let bytes = fs::read(fixtures().join(name)).expect(name);
    let mut package = ZipArchive::new(Cursor::new(bytes)).expect("a package");
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..package.len() {
        let mut file = package.by_index(index).expect("a part");
        let name = file.name().expect("a name").into_owned();
        let mut part = Vec::new();
        file.read_to_end(&mut part).expect("its bytes");
        let (name, part) = change(&name, part);
        out.start_file(name, SimpleFileOptions::default())
            .expect("begun");
        out.write_all(&part).expect("written");
    }
    out.finish().expect("finished").into_inner()
}

#[test]
fn what_can_be_had_of_odd_and_damaged_files() {
    let backslashes = repacked("revisions.docx", |name, part| {
        (name.replace('/', "\\"), part)
    });
    let no_slides = repacked("slides-python.pptx", |name, part| {
        let part = match name {
            "ppt/presentation.xml" => {
                let text = String::from_utf8(part).expect("UTF-8");
                let (before, rest) = text.split_once("<p:sldIdLst>").expect("a list");
                let (_, after) = rest.split_once("</p:sldIdLst>").expect("its end");
                format!("{before}{after}").into_bytes()
            }
            _ => part,
        };
        (name.to_owned(), part)
    });
    let pdf = fs::read(fixtures().join("plain.pdf")).expect("a PDF");
    let at = memchr::memmem::rfind(&pdf, b"xref\n0 ").expect("its table");
    let mut late = "text ".repeat(2000).into_bytes();
    late.extend((0..60_000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8));
    let tree = Tree::new()
        .file("backslashes.docx", backslashes)
        .file("none.pptx", no_slides)
        .file("cut.pdf", &pdf[..at])
        .file("late.pdf", late);
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        text(&daemon, "backslashes.docx"),
        "1:Before kept after.\n2:\n3:Seen, vanished"
    );
    assert_eq!(
        text(&daemon, "none.pptx"),
        "[No extractable text in none.pptx]"
    );
    let rows = (1..).zip(PLAIN.lines());
    let rows: Vec<String> = rows.map(|(at, line)| format!("{at}:{line}")).collect();
    assert_eq!(
        text(&daemon, "cut.pdf"),
        rows.join("\n") + "\n\n[The file is damaged: what could be read of it is shown]"
    );
    assert_eq!(
        text(&daemon, "late.pdf"),
        "[Cannot read .pdf file: damaged: it does not begin as such a file does]"
    );
}

/// One part of a package changed.
pub fn with_part(name: &str, part: &str, change: impl Fn(String) -> Vec<u8>) -> Vec<u8> {
    repacked(name, |found, bytes| {
        let bytes = match found == part {
            true => change(String::from_utf8(bytes).expect("UTF-8")),
            false => bytes,
        };
        (found.to_owned(), bytes)
    })
}

#[test]
fn hidden_cells_stay_hidden_in_odd_and_damaged_workbooks() {
    let wide = |text: String| {
        let text = text.replacen("UTF-8", "UTF-16", 1);
        let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    let cut = |text: String| {
        let end = text.find("last").expect("its last row");
        format!("{}<<", &text[..end]).into_bytes()
    };
    let tree = Tree::new()
        .file("wide.ods", with_part("hidden.ods", "content.xml", wide))
        .file("cut.ods", with_part("hidden.ods", "content.xml", cut));
    let daemon = Daemon::start(tree.path());
    let plain = Daemon::start(&fixtures());
    assert_eq!(text(&daemon, "wide.ods"), text(&plain, "hidden.ods"));
    assert_eq!(
        text(&daemon, "cut.ods"),
        "[Cannot read .ods file: damaged: content.xml: syntax error: tag not closed: `>` not found before end of input]"
    );
}

#[test]
fn slides_without_any_text_are_no_text() {
    let silent = repacked("hidden-slide.pptx", |name, part| {
        let part = match name.starts_with("ppt/slides/slide") {
            true => {
                let text = String::from_utf8(part).expect("UTF-8");
                let words = ["Shown first", "Hidden one", "Shown last"];
                let silent = words.iter().fold(text, |text, word| text.replace(word, ""));
                silent.into_bytes()
            }
            false => part,
        };
        (name.to_owned(), part)
    });
    let tree = Tree::new().file("silent.pptx", silent);
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        text(&daemon, "silent.pptx"),
        "[No extractable text in silent.pptx]"
    );
}

#[test]
fn a_pdf_that_takes_too_long_is_gone_on_with() {
    let daemon = limited(&fixtures(), "cpuMs=60");
    let mut refused = 0;
    let last = loop {
        match daemon.read("many.pdf:-1") {
            Ok(result) => break text_of(&result).to_owned(),
            Err(error) => {
                assert_eq!(error.kind(), "timeout", "{error:?}");
                assert_eq!(error.data["retryable"], true);
                // How far it came is a matter of the machine.
                let page = error.message.split(' ').nth(6).expect("a page");
                let expected = format!(
                    "Converting 'many.pdf:-1' was ended at page {page} of 60: it took more than 0.06 s of processor time. Send the request again to go on from there."
                );
                assert_eq!(error.message, expected);
                refused += 1;
                assert!(refused <= 60, "nothing is kept of what was done");
            }
        }
    };
    assert_eq!(last, "239:This is page 60 of 60");
}

#[test]
fn damaged_documents_get_an_answer_while_others_are_read() {
    let originals = [
        "report.docx",
        "report.doc",
        "report.odt",
        "report.rtf",
        "report.pdf",
        "book.xlsx",
        "book.xls",
        "book.xlsb",
        "book.ods",
        "slides.pptx",
        "slides.ppt",
        "slides.odp",
        "book.epub",
        "objstm.pdf",
        "mixed-scan.pdf",
    ];
    let tree = Tree::new().file("steady.txt", "still here\n");
    let mut chance = Chance(0x0DDB_1A5E_5BAD_5EED);
    let mut names = Vec::new();
    let mut put = |name: String, bytes: &[u8]| {
        tree.write(&name, bytes);
        names.push(name);
    };
    for original in originals {
        let bytes = fs::read(fixtures().join(original)).expect(original);
        for percent in [10, 50, 90] {
            put(
                format!("cut{percent}-{original}"),
                &bytes[..bytes.len() * percent / 100],
            );
        }
        for flips in [1, 10, 100] {
            let mut flipped = bytes.clone();
            for _ in 0..flips {
                let at = chance.below(flipped.len());
                flipped[at] ^= 1 << chance.below(8);
            }
            put(format!("flip{flips}-{original}"), &flipped);
        }
        let mut noise: Vec<u8> = (0..2000).map(|_| chance.next() as u8).collect();
        noise[..8].copy_from_slice(&bytes[..8]);
        put(format!("noise-{original}"), &noise);
    }
    assert!(names.len() >= 100, "{}", names.len());
    let daemon = Daemon::start(tree.path());
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in &names {
        let asked = daemon.request("agent/read", json!({ "path": name }));
        assert_eq!(
            text(&daemon, "steady.txt"),
            "¶steady.txt#D101\n1:still here"
        );
        let result = daemon.wait(&asked);
        let outcome = outcome(&result);
        assert!(
            ["text", "note", "empty", "binary"].contains(&outcome),
            "{name}: {result:?}"
        );
        *counts.entry(outcome.to_owned()).or_default() += 1;
    }
    // The same bytes are damaged every time: what comes of them changes with the converters alone.
    let expected = [("empty", 2), ("note", 76), ("text", 27)];
    let expected = expected.map(|(outcome, count)| (outcome.to_owned(), count));
    assert_eq!(counts, BTreeMap::from(expected));
    let peak = daemon.peak_bytes();
    assert!(peak < PEAK, "{} MiB", peak / MIB);
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder of documents");
    let entries = entries.map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Reads all documents of a folder; what came of them, by extension.
fn read_all(folder: &Path) -> BTreeMap<String, BTreeMap<String, usize>> {
    let daemon = Daemon::start(folder);
    let mut counts: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for name in names_in(folder) {
        let result = daemon.read_with(json!({ "path": name, "selector": "" }));
        let outcome = outcome(&result);
        if let Ok(result) = &result {
            let text = text_of(result);
            assert!(!text.trim().is_empty(), "{name}: an empty success");
            assert!(
                !text.contains("PilcrowSlide") && !text.contains("PilcrowBreak"),
                "{name}"
            );
        }
        assert!(
            ["text", "note", "empty", "binary"].contains(&outcome),
            "{name}: {result:?}"
        );
        let (_, extension) = name.rsplit_once('.').unwrap_or(("", "none"));
        let extension = counts.entry(extension.to_owned()).or_default();
        *extension.entry(outcome.to_owned()).or_default() += 1;
    }
    let peak = daemon.peak_bytes();
    assert!(peak < PEAK, "{} MiB", peak / MIB);
    assert_eq!(status(&daemon)["replaced"], 0);
    counts
}

/// The long form reads the folder that `PILCROW_DOCUMENTS` names, or with `PILCROW_LONG=1` what
/// `fixtures/make/real_documents.py` collects; the short one the documents of this repository.
#[test]
fn real_documents_are_read() {
    let named = std::env::var_os("PILCROW_DOCUMENTS").map(PathBuf::from);
    let collected = Tree::new();
    let folder = match named {
        Some(folder) => folder,
        None if std::env::var_os("PILCROW_LONG").is_some_and(|on| on == "1") => {
            let script = fixtures().join("../make/real_documents.py");
            let mut command = std::process::Command::new("python3");
            let done = command.arg(script).arg(collected.path()).status();
            assert!(done.is_ok_and(|done| done.success()), "the script failed");
            collected.path().to_owned()
        }
        None => fixtures(),
    };
    let counts = read_all(&folder);
    println!("{counts:#?}");
    let total = |what: &str| -> usize {
        let each = counts.values().filter_map(|outcomes| outcomes.get(what));
        each.sum()
    };
    let (text, note) = (total("text"), total("note"));
    assert!(text >= 50 && text > 3 * note, "{text} read, {note} not");
}
