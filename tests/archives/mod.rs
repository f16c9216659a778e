//! Archives over the wire: listings, members, paths and selectors; what a format or an attacker makes of them has files of its own.

mod forms;
mod hostile;
mod kinds;
mod limits;
mod zstd;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client::{Daemon, WireError, file_uri};
use crate::tree::Tree;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/archive")
}

fn daemon() -> Daemon {
    Daemon::start(&fixtures())
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(fixtures().join(name)).expect("a fixture")
}

fn refusal(daemon: &Daemon, path: &str) -> WireError {
    match daemon.read(path) {
        Err(error) => error,
        Ok(result) => panic!("{path} was read: {result}"),
    }
}

fn details(daemon: &Daemon, path: &str) -> Value {
    daemon.read(path).expect("a read")["details"].clone()
}

const HARBOUR: &str = "bin/\ndata/\nnotes/\nsrc/\nREADME.md (46B)\nempty.txt";
const README: &str = "1:# Harbour log\n2:\n3:Ships and tides of March 2024.";
const MAIN: &str =
    "1:import sys\n2:\n3:\n4:def main():\n5:    print(\"ahoy\", sys.argv)\n6:\n7:\n8:main()";

#[test]
fn every_form_lists_and_reads_alike() {
    let daemon = daemon();
    for name in [
        "harbour.zip",
        "stored.zip",
        "no-dirs.zip",
        "seven.zip",
        "harbour.tar",
        "harbour.tar.gz",
        "harbour.tgz",
        "harbour.tar.bz2",
        "harbour.tar.xz",
        "harbour.tar.zst",
    ] {
        let read = |inner: &str| daemon.read_text(format!("{name}{inner}"));
        assert_eq!(read(""), HARBOUR, "{name}");
        assert_eq!(read(":src"), "lib/\nmain.py (62B)", "{name}");
        assert_eq!(read(":README.md"), README, "{name}");
        assert_eq!(read(":src/main.py"), MAIN, "{name}");
        assert_eq!(read(":data/café.txt"), "1:Ein Café am Hafen", "{name}");
        assert_eq!(read(":empty.txt"), "(empty file)", "{name}");
        assert_eq!(
            read(":bin/blob"),
            "[Cannot read binary archive entry 'bin/blob' (256B)]",
            "{name}"
        );
        assert_eq!(
            read(":src/lib/tide.txt:7,60"),
            "7:line 7: the tide is at 21 cm\n…\n60:line 60: the tide is at 180 cm",
            "{name}"
        );
    }
}

#[test]
fn selectors_of_a_member() {
    let daemon = daemon();
    let read = |tail: &str| daemon.read_text(format!("harbour.zip:src/main.py{tail}"));
    assert_eq!(
        read(":4-5"),
        "3:\n4:def main():\n5:    print(\"ahoy\", sys.argv)\n6:\n7:\n8:main()"
    );
    assert_eq!(read(":8"), "8:main()");
    assert_eq!(read(":L7-"), "7:\n8:main()");
    assert_eq!(read(":-1"), "8:main()");
    assert_eq!(read(":4+1,8"), "4:def main():\n…\n8:main()");
    assert_eq!(
        read(":4-5:raw"),
        "def main():\n    print(\"ahoy\", sys.argv)\n"
    );
    assert_eq!(read(":raw:8-8"), "main()\n");
    assert_eq!(read(":full"), MAIN);
    assert_eq!(
        read(":conflicts"),
        "No unresolved merge conflicts in harbour.zip:src/main.py."
    );
    assert_eq!(
        read(":900"),
        "Line 900 is beyond the end of harbour.zip:src/main.py (8 lines). Use :1 to read from the start, or :8 to read the last line."
    );
    assert_eq!(
        daemon.read_text("harbour.zip:src/lib/tide.txt:50-51"),
        "49:line 49: the tide is at 147 cm\n50:line 50: the tide is at 150 cm\n51:line 51: the tide is at 153 cm\n52:line 52: the tide is at 156 cm\n53:line 53: the tide is at 159 cm\n54:line 54: the tide is at 162 cm\n\n[49-54 of 60]"
    );
    for (tail, message) in [
        (
            ":0",
            "Line selector 0 is invalid; lines are 1-indexed. Use :1.",
        ),
        (
            ":outputs",
            ":outputs is for notebooks, and this is text. Leave it out.",
        ),
    ] {
        let error = refusal(&daemon, &format!("harbour.zip:src/main.py{tail}"));
        assert_eq!((error.kind(), &*error.message), ("badSelector", message));
    }
    let error = refusal(&daemon, "harbour.zip:src/main.py:foo");
    assert_eq!(error.kind(), "badSelector");
    assert!(
        error.message.starts_with("'foo' is not a selector."),
        "{}",
        error.message
    );
}

#[test]
fn listings_are_paged() {
    let daemon = daemon();
    let result = daemon.read("many.zip:many").expect("a listing");
    let text = result["content"][0]["text"].as_str().expect("a text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 502);
    assert_eq!((lines[0], lines[499]), ("0000.txt (7B)", "0499.txt (9B)"));
    assert_eq!(
        lines[501],
        "[Showing 500 of 700 entries. Use many.zip:many:501- to continue]"
    );
    assert_eq!(
        result["details"]["limits"],
        json!({ "resultLimit": 500, "total": 700 })
    );
    assert_eq!(result["details"]["truncation"]["nextSelector"], "501-");
    let rest = daemon.read_text("many.zip:many:501-");
    assert_eq!(rest.lines().count(), 200);
    assert!(rest.starts_with("0500.txt (9B)\n") && rest.ends_with("\n0699.txt (9B)"));
    assert_eq!(
        daemon.read_text("many.zip:many:501-502"),
        "0500.txt (9B)\n0501.txt (9B)\n\n[501-502 of 700 entries]"
    );
    assert_eq!(
        daemon.read_text("harbour.zip:5-"),
        "README.md (46B)\nempty.txt"
    );
    let apart = json!({ "path": "harbour.zip", "selector": "-1" });
    let result = daemon.read_with(apart).expect("a read");
    assert_eq!(result["content"][0]["text"], "empty.txt");
    assert_eq!(refusal(&daemon, "harbour.zip:p3").kind(), "badSelector");
    assert_eq!(
        refusal(&daemon, "harbour.zip:src:conflicts").kind(),
        "badSelector"
    );
}

#[test]
fn paths_within_are_normalised() {
    let daemon = daemon();
    for path in [
        "harbour.zip:src/main.py",
        "harbour.zip:./src//main.py",
        "harbour.zip:/src/./main.py",
        "harbour.tgz:./src/main.py",
    ] {
        assert_eq!(daemon.read_text(path), MAIN, "{path}");
    }
    for path in [
        "harbour.zip:",
        "harbour.zip:/",
        "harbour.zip:.",
        "harbour.zip:./",
    ] {
        assert_eq!(daemon.read_text(path), HARBOUR, "{path}");
    }
    for path in [
        "harbour.zip:src/",
        "harbour.zip:src:",
        "harbour.zip:src//",
        "HARBOUR",
    ] {
        let path = path.replace("HARBOUR", "harbour.zip:./src");
        assert_eq!(daemon.read_text(&path), "lib/\nmain.py (62B)", "{path}");
    }
    let climbing = refusal(&daemon, "harbour.zip:src/../README.md");
    assert_eq!(
        (climbing.kind(), &*climbing.message),
        (
            "badParams",
            "'harbour.zip:src/../README.md' climbs out of the archive: a path within it has no '..'."
        )
    );
}

#[test]
fn a_missing_member_suggests() {
    let daemon = daemon();
    for (path, message, suggestions) in [
        (
            "harbour.zip:nope.txt",
            "File not found: harbour.zip:nope.txt.",
            json!([]),
        ),
        (
            "harbour.tar.gz:src/mian.py:5-6",
            "File not found: harbour.tar.gz:src/mian.py:5-6. Did you mean harbour.tar.gz:src/main.py?",
            json!(["harbour.tar.gz:src/main.py"]),
        ),
        (
            "harbour.zip:main.py",
            "File not found: harbour.zip:main.py. Did you mean harbour.zip:src/main.py?",
            json!(["harbour.zip:src/main.py"]),
        ),
        (
            "harbour.zip:README.md/",
            "File not found: harbour.zip:README.md/. Did you mean harbour.zip:README.md?",
            json!(["harbour.zip:README.md"]),
        ),
    ] {
        let error = refusal(&daemon, path);
        assert_eq!((error.kind(), &*error.message), ("notFound", message));
        assert_eq!(error.data["suggestions"], suggestions);
    }
    let error = refusal(&daemon, "harbor.zip:README.md");
    assert_eq!(error.kind(), "notFound");
    assert!(error.message.contains("harbour.zip"), "{}", error.message);
}

#[test]
fn what_the_details_say() {
    let daemon = daemon();
    let real = fixtures().canonicalize().expect("a real path");
    let real = real.join("harbour.zip").display().to_string();
    let listing = details(&daemon, "harbour.zip:src");
    assert_eq!(listing["kind"], "archive");
    assert_eq!(listing["isDirectory"], true);
    assert_eq!(listing["totalLines"], 2);
    let text = details(&daemon, "harbour.zip:notes/latin1.txt");
    assert_eq!(text["kind"], "archive");
    assert_eq!(text["encoding"], "windows-1252");
    assert_eq!(text["encodingConfidence"], "likely");
    assert_eq!(text["lineEnding"], "lf");
    assert_eq!(text["bom"], false);
    assert_eq!(text["totalLines"], 1);
    assert_eq!(text["totalBytes"], 19);
    assert_eq!(text["shown"], json!([{ "start": 1, "end": 1 }]));
    let blob = details(&daemon, "harbour.zip:bin/blob");
    assert_eq!(
        (&blob["kind"], &blob["totalBytes"]),
        (&json!("archive"), &json!(256))
    );
    for details in [listing, text, blob] {
        assert_eq!(details["meta"]["source"], real);
        assert_eq!(details["resolvedPath"], real);
        assert_eq!(details["uri"], file_uri(Path::new(&real)));
        assert_eq!(details.get("hashline"), None);
        assert_eq!(details.get("origin"), None);
    }
    // Files that have not changed for long are kept warm, listing and member alike.
    for path in [
        "harbour.zip:src",
        "harbour.zip:notes/latin1.txt",
        "harbour.tar.xz:README.md",
    ] {
        daemon.read(path).expect("a read");
        assert_eq!(details(&daemon, path)["cache"], "hit", "{path}");
    }
}

#[test]
fn texts_are_decoded_as_files_are() {
    let daemon = daemon();
    assert_eq!(
        daemon.read_text("harbour.zip:notes/latin1.txt"),
        "1:Les élèves déjà là"
    );
    assert_eq!(daemon.read_text("mixed.zip:utf16.txt"), "1:Ebbe und Flut");
    assert_eq!(
        details(&daemon, "mixed.zip:utf16.txt")["encoding"],
        "utf-16le"
    );
    assert_eq!(
        daemon.read_text("crlf.zip:crlf.txt"),
        "1:one\n2:two\n3:three"
    );
    assert_eq!(
        daemon.read_text("crlf.zip:crlf.txt:1-2:raw"),
        "one\r\ntwo\r\n"
    );
    assert_eq!(details(&daemon, "crlf.zip:crlf.txt")["lineEnding"], "crlf");
    assert_eq!(daemon.read_text("crlf.zip:bom.txt"), "1:with a mark");
    assert_eq!(details(&daemon, "crlf.zip:bom.txt")["bom"], true);
    let long = daemon.read_text("crlf.zip:long-line.txt");
    let footer = "\n\n[Line 1 cut at 2000 of 5000 characters. Use :1-1:raw for the whole line]";
    assert_eq!(long, format!("1:{}…{footer}", "x".repeat(2000)));
    let params = json!({ "path": "harbour.zip:notes/latin1.txt", "encoding": "ibm866" });
    let result = daemon.read_with(params).expect("a read");
    assert_eq!(result["details"]["encoding"], "ibm866");
    assert_eq!(result["content"][0]["text"], "1:Les щlшves dщjр lр");
}

#[test]
fn dialects_of_a_member() {
    let daemon = daemon();
    for (dialect, text) in [
        ("hashline", README),
        ("numbered", README),
        ("plain", "# Harbour log\n\nShips and tides of March 2024."),
    ] {
        let params = json!({ "path": "harbour.zip:README.md", "dialect": dialect });
        let result = daemon.read_with(params).expect("a read");
        assert_eq!(result["content"][0]["text"], text, "{dialect}");
    }
}

#[test]
fn a_literal_name_wins() {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in [
        "501-",
        "a.txt",
        "a.txt:1",
        "x.zip",
        ".env",
        "env/.env.local",
    ] {
        use std::io::Write;
        archive
            .start_file(name, zip::write::SimpleFileOptions::default())
            .expect("a member");
        writeln!(archive, "member {name}").expect("its bytes");
    }
    let bytes = archive.finish().expect("an archive").into_inner();
    let tree = Tree::new()
        .file("a.zip", &bytes)
        .file("b.zip", &bytes)
        .file("b.zip:a.txt", "on disk\n")
        .file("text.zip", "only text\n")
        .file("deep/er/unique.zip", &bytes)
        .file("x.docx", fixture("book.docx-like.zip"));
    let daemon = Daemon::start(tree.path());
    let read = |path: &str| daemon.read_text(path);
    assert_eq!(read("a.zip:501-"), "1:member 501-");
    assert_eq!(read("a.zip:a.txt:1"), "1:member a.txt:1");
    assert_eq!(read("a.zip:a.txt:1:1"), "1:member a.txt:1");
    assert_eq!(read("a.zip:x.zip"), "1:member x.zip");
    assert!(read("b.zip:a.txt").ends_with("\n1:on disk"));
    assert!(read("text.zip:1").ends_with("\n1:only text"));
    assert_eq!(refusal(&daemon, "text.zip:inner").kind(), "badSelector");
    let uri = file_uri(&tree.join("a.zip"));
    assert_eq!(read(&format!("{uri}:a.txt")), "1:member a.txt");
    let absolute = tree.spelled("a.zip:a.txt");
    assert_eq!(read(&absolute), "1:member a.txt");
    let result = daemon.read("unique.zip:a.txt:1-1").expect("a read");
    assert_eq!(
        result["content"][0]["text"],
        "[Path 'unique.zip' not found; resolved to 'deep/er/unique.zip' via suffix match]\n1:member a.txt"
    );
    assert_eq!(
        result["details"]["suffixResolution"],
        json!({ "from": "unique.zip", "to": "deep/er/unique.zip" })
    );
    // Office files only by a path within them.
    assert_eq!(read("x.docx:word/_rels"), "document.xml.rels (1.1KB)");
    assert!(read("x.docx:[Content_Types].xml").starts_with("1:<?xml"));
    assert_eq!(refusal(&daemon, "x.docx:word/nope.xml").kind(), "notFound");
    // What is denied beside the archive is denied inside it, and not named.
    assert_eq!(
        read("a.zip"),
        "env/\n501- (12B)\na.txt (13B)\na.txt:1 (15B)\nx.zip (13B)"
    );
    assert_eq!(read("a.zip:env"), "(empty directory)");
    for path in [
        "a.zip:.env",
        "a.zip:.env:1",
        "a.zip:env/.env.local",
        "a.zip:no/.env",
    ] {
        assert_eq!(refusal(&daemon, path).kind(), "denied", "{path}");
    }
    let suggestions = &refusal(&daemon, "a.zip:.envv").data["suggestions"];
    assert_eq!(*suggestions, json!(["a.zip:env"]));
}

#[test]
fn a_replaced_archive_is_never_served_stale() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let archive = |text: &str| {
        use std::io::Write;
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored);
        archive.start_file("a.txt", options).expect("a member");
        archive.write_all(text.as_bytes()).expect("its bytes");
        archive.finish().expect("an archive").into_inner()
    };
    // All of one size, so that nothing but its times tells one from the next.
    for round in 0..60 {
        let text = format!("round {round:04}");
        match round % 3 {
            0 => tree.replace("a.zip", archive(&text)),
            _ => tree.write("a.zip", archive(&text)),
        }
        assert_eq!(daemon.read_text("a.zip:a.txt"), format!("1:{text}"));
        assert_eq!(daemon.read_text("a.zip"), "a.txt (10B)");
    }
}
