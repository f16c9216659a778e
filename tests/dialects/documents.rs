//! PDFs in the dialects: as the file, where the seed's model reads it by itself, as text elsewhere; the files are made by other programs.

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
