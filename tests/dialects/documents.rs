//! Documents, members and tables in the dialects: a PDF as the file where the seed's model reads it by itself; the files are made by other programs.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::Tree;

use super::{ask, text_of};
use crate::documents::PLAIN;

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
    // Lines are those of text files alone; `offset: 0` is the seed's own default.
    for (offset, limit) in [(0, 2000), (3, 1)] {
        let params = json!({ "filePath": path, "offset": offset, "limit": limit });
        let result = ask(&daemon, "llm-gateway", params).expect("a read");
        assert_eq!(text_of(&result), format!("Read PDF: {path}"));
        assert_eq!(resource(&result).2, pdf);
    }
    // Whoever names pages gets their text.
    let params = json!({ "filePath": format!("{path}:p1") });
    let pages = ask(&daemon, "llm-gateway", params).expect("a read");
    assert!(text_of(&pages).starts_with("<file path="), "{pages}");
}

/// A PDF of one page with nothing on it, and a form that is not on it.
fn blank_pdf(form: &str) -> Vec<u8> {
    let objects = [
        format!("<< /Type /Catalog /Pages 2 0 R {form} >>"),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>".to_owned(),
        "<< /Length 5 >>\nstream\n<xdp>\nendstream".to_owned(),
    ];
    let mut pdf = "%PDF-1.7\n".to_owned();
    let mut offsets = String::from("0000000000 65535 f \n");
    for (number, object) in (1..).zip(&objects) {
        offsets.push_str(&format!("{:010} 00000 n \n", pdf.len()));
        pdf.push_str(&format!("{number} 0 obj\n{object}\nendobj\n"));
    }
    let at = pdf.len();
    pdf.push_str(&format!(
        "xref\n0 5\n{offsets}trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n{at}\n%%EOF\n"
    ));
    pdf.into_bytes()
}

#[test]
fn an_xfa_form_with_blank_pages_is_an_error_where_text_is_extracted() {
    let tree = Tree::new()
        .file(
            "xfa.pdf",
            blank_pdf("/AcroForm << /Fields [] /XFA 4 0 R >>"),
        )
        .file("blank.pdf", blank_pdf(""));
    let daemon = Daemon::start(tree.path());
    let read = |path: &str| ask(&daemon, "pikuri", json!({ "path": path })).expect("an answer");
    let xfa = read("xfa.pdf");
    assert_eq!(
        text_of(&xfa),
        "Error: cannot extract PDF text: an XFA form, which is on none of its pages"
    );
    assert_eq!(xfa["isError"], true);
    let blank = read("blank.pdf");
    assert_eq!(
        text_of(&blank),
        "[No extractable text in blank.pdf (1 page): blank, or lines alone]"
    );
    assert!(blank.get("isError").is_none());
    let note = daemon.read_text("xfa.pdf");
    assert_eq!(
        note,
        "[Cannot read .pdf file: an XFA form, which is on none of its pages]"
    );
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
    let rows = |row: fn(usize, &str) -> String| -> String {
        let lines = (1..).zip(PLAIN.lines());
        let rows: Vec<String> = lines.map(|(number, line)| row(number, line)).collect();
        rows.join("\n")
    };
    assert_eq!(
        text_of(&pikuri),
        rows(|number, line| format!("{number:>6}\t{line}"))
    );
    let roo = read("roo", "plain.pdf");
    assert_eq!(
        text_of(&roo),
        rows(|number, line| format!("{number} | {line}"))
    );
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

const USERS: &str = "\
| id  | name           | email             | age | joined     |
| --- | -------------- | ----------------- | --- | ---------- |
| 1   | Alan Turing 1  | user1@example.org | 20  | 2024-01-01 |
| 2   | Grace Hopper 2 | user2@example.org | 21  | 2024-01-02 |";

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
        let spelled = |path: &str| match dialect {
            "opencode" | "llm-gateway" => tree.spelled(path),
            _ => path.to_owned(),
        };
        let member = read("harbour.zip:README.md");
        let path = spelled("harbour.zip:README.md");
        let expected = match dialect {
            "opencode" => format!(
                "<path>{path}</path>\n<type>file</type>\n<content>\n{rows}\n\n(End of file - total 3 lines)\n</content>"
            ),
            "llm-gateway" => {
                format!("<file path=\"{path}\" lines=\"1-3\" total=\"3\">\n{rows}\n</file>")
            }
            _ => rows.to_owned(),
        };
        assert_eq!(text_of(&member), expected, "{dialect}");
        assert_eq!(member["details"]["kind"], "archive");
        let listed = |path: &str, rows: &str| match dialect {
            "opencode" => format!(
                "<path>{}</path>\n<type>sqlite</type>\n<entries>\n{rows}\n</entries>",
                spelled(path)
            ),
            _ => rows.to_owned(),
        };
        let row = read("museum.db:users:7");
        let cells =
            "id: 7\nname: Grace Hopper 7\nemail: user7@example.org\nage: 26\njoined: 2024-01-07";
        assert_eq!(
            text_of(&row),
            listed("museum.db:users:7", cells),
            "{dialect}"
        );
        let table = read("museum.db:users?limit=2");
        let next = match dialect {
            "opencode" => "(28 more rows; continue with museum.db:users?limit=2&offset=2)",
            _ => "[28 more rows; continue with museum.db:users?limit=2&offset=2]",
        };
        let cells = format!("{USERS}\n\n{next}");
        assert_eq!(
            text_of(&table),
            listed("museum.db:users?limit=2", &cells),
            "{dialect}"
        );
        // opencode's own list of binary endings has Office files and archives in it.
        if dialect != "opencode" {
            let report = read("report.docx");
            // All of it is in the tests of documents; here it is that it comes in the dialect.
            let rows = text_of(&report).matches("Harbour report").count();
            assert_eq!(rows, 1, "{dialect}: {report}");
        }
    }
}
