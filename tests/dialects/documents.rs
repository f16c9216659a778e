//! Documents, members and tables in the dialects: a PDF as the file where the seed's model reads it by itself; the files are made by other programs.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::Tree;

use super::{ask, text_of};

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/document");
    std::fs::read(path.join(name)).expect("a fixture")
}

fn resource(result: &Value) -> (&str, &str, Vec<u8>) {
    let block = &result["content"][1];
    assert_eq!(block["type"], "resource", "{}", text_of(result));
    let text = |key: &str| block["resource"][key].as_str().expect("a string");
    let blob = BASE64.decode(text("blob")).expect("base64");
    (text("uri"), text("mimeType"), blob)
}

#[test]
fn a_pdf_is_the_file_where_the_model_reads_it_by_itself() {
    let pdf = fixture("plain.pdf");
    let tree = Tree::new().file("doc/plain.pdf", &pdf);
    let daemon = Daemon::start(tree.path());
    let path = tree.spelled("doc/plain.pdf");
    let uri = format!("file://{path}");
    let cases = [
        (
            "opencode",
            json!({ "filePath": "doc/plain.pdf" }),
            "PDF read successfully".to_owned(),
        ),
        (
            "llm-gateway",
            json!({ "filePath": path }),
            format!("Read PDF: {path}"),
        ),
    ];
    for (dialect, params, text) in cases {
        let result = ask(&daemon, dialect, params).expect("a read");
        assert_eq!(text_of(&result), text);
        let expected = (uri.as_str(), "application/pdf", pdf.clone());
        assert_eq!(resource(&result), expected, "{dialect}");
        assert_eq!(result["details"]["kind"], "document");
    }
}

#[test]
fn a_pdf_is_its_text_where_the_model_reads_text() {
    let tree = Tree::new()
        .file("plain.pdf", fixture("plain.pdf"))
        .file("locked.pdf", fixture("encrypted-user.pdf"))
        .file("scan.pdf", fixture("scan.pdf"));
    let daemon = Daemon::start(tree.path());
    let read = |dialect: &str, path: &str| {
        ask(&daemon, dialect, json!({ "path": path })).expect("an answer")
    };
    let pikuri = read("pikuri", "plain.pdf");
    assert!(
        text_of(&pikuri).starts_with("     1\t--- Page 1 ---\n"),
        "{pikuri}"
    );
    assert!(text_of(&pikuri).contains("\t--- Page 3 ---\n"));
    let roo = read("roo", "plain.pdf");
    assert!(text_of(&roo).contains("1 | --- Page 1 ---\n"), "{roo}");
    let locked = read("pikuri", "locked.pdf");
    assert_eq!(
        text_of(&locked),
        "Error: cannot extract PDF text: encrypted"
    );
    assert_eq!(locked["isError"], true);
    // A scan is no error: the model is told what it is.
    let scan = read("pikuri", "scan.pdf");
    assert_eq!(
        text_of(&scan),
        "[No extractable text in scan.pdf (12 pages): probably scanned images]"
    );
    assert!(scan.get("isError").is_none());
}

/// What the seeds' tools could not say at all is the engine's, in the dialect's own rows.
#[test]
fn members_and_tables_are_read_in_every_dialect() {
    let of = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        std::fs::read(path.join(name)).expect("a fixture")
    };
    let tree = Tree::new()
        .file("harbour.zip", of("archive/harbour.zip"))
        .file("museum.db", of("sqlite/museum.db"))
        .file("report.docx", of("document/report-python.docx"));
    let daemon = Daemon::start(tree.path());
    for dialect in ["opencode", "pikuri", "llm-gateway", "roo"] {
        let key = match dialect {
            "opencode" | "llm-gateway" => "filePath",
            _ => "path",
        };
        let read = |path: &str| {
            let path = match dialect {
                "llm-gateway" => tree.spelled(path),
                _ => path.to_owned(),
            };
            ask(&daemon, dialect, json!({ key: path })).expect("an answer")
        };
        let rows = match dialect {
            "opencode" => "1: # Harbour log\n2: \n3: Ships and tides of March 2024.",
            "pikuri" => "     1\t# Harbour log\n     2\t\n     3\tShips and tides of March 2024.",
            "llm-gateway" => "   1 | # Harbour log\n   2 | \n   3 | Ships and tides of March 2024.",
            _ => "1 | # Harbour log\n2 | \n3 | Ships and tides of March 2024.",
        };
        let member = read("harbour.zip:README.md");
        assert!(text_of(&member).contains(rows), "{dialect}: {member}");
        assert_eq!(member["details"]["kind"], "archive");
        let row = read("museum.db:users:7");
        assert!(
            text_of(&row).contains("id: 7\nname: Grace Hopper 7\n"),
            "{dialect}: {row}"
        );
        let table = read("museum.db:users?limit=2");
        let said = text_of(&table);
        assert!(
            said.contains("| 2   | Grace Hopper 2 |"),
            "{dialect}: {said}"
        );
        assert!(
            said.contains("28 more rows; continue with "),
            "{dialect}: {said}"
        );
        // opencode's own list of binary endings has Office files and archives in it.
        if dialect != "opencode" {
            let report = read("report.docx");
            assert!(
                text_of(&report).contains("# Harbour report\n"),
                "{dialect}: {report}"
            );
        }
    }
}
