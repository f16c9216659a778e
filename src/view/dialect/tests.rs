//! What the dialects of the seeds make of documents, from documents made by hand: the file as it is, or why there is no text; nothing is converted here.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::protocol::params::Fields;
use crate::protocol::read::{Cache, Location, MoreDetails, ResourceKind};
use crate::protocol::{Refusal, Settings, to_json};
use crate::text::Text;
use crate::view::window::{self, RAW_LINE_CAP};
use crate::view::{Document, Extras, Selector, Style, WholeFile};

use super::{Asked, Body, Said, View, Written, by_name};

const PATH: &str = "/w/doc.pdf";

fn document(bytes: u64, extras: Extras) -> Document {
    Document {
        kind: ResourceKind::Document,
        style: Style::Note,
        location: Location {
            source: PATH.to_owned(),
            resolved_path: None,
            uri: Some(format!("file://{PATH}")),
        },
        text: Text::new("[a note]").into(),
        cache: Cache::Miss,
        details: MoreDetails {
            total_bytes: Some(bytes),
            ..MoreDetails::default()
        },
        notices: Vec::new(),
        extras,
    }
}

/// What a dialect writes of a document that is asked for by its path alone.
fn written(dialect: &str, document: &Document) -> Result<Written, Refusal> {
    let dialect = by_name(dialect)?;
    let params = json!({ dialect.path_parameter(): PATH });
    let request = dialect.request(Fields::of(&params, "")?, &Settings::default())?;
    let window = window::open(&document.text, &Selector::default(), &request.limits);
    dialect.write(&View {
        request: &request,
        understood: &[],
        header: None,
        name: "doc.pdf",
        path: PATH,
        document,
        asks_for_whole_file: true,
        attachments: Vec::new(),
        window: &window,
        byte_limit: 51_200,
        raw_line: RAW_LINE_CAP,
        elided: None,
        definitions: &[],
        conflicts: 0,
        body: Body::Rows,
    })
}

fn said(dialect: &str, refusal: &Refusal) -> Said {
    let asked = Asked {
        path: PATH,
        absolute: &|path| path.to_owned(),
    };
    let dialect = by_name(dialect).expect("a dialect");
    dialect.refuse(refusal, &asked)
}

#[test]
fn a_pdf_is_passed_on_as_the_file_that_it_is() {
    let whole_file = Some(WholeFile {
        mime_type: "application/pdf",
        data: Arc::from(b"%PDF-1.4\n".as_slice()),
    });
    let pdf = document(
        9,
        Extras {
            whole_file,
            ..Extras::default()
        },
    );
    let block = json!({
        "type": "resource",
        "resource": { "uri": "file:///w/doc.pdf", "mimeType": "application/pdf", "blob": "JVBERi0xLjQK" },
    });
    for (dialect, text) in [
        ("opencode", "PDF read successfully"),
        ("llm-gateway", "Read PDF: /w/doc.pdf"),
    ] {
        let written = written(dialect, &pdf).expect("an answer");
        let content = to_json(&written.content).expect("JSON");
        let content: Value = serde_json::from_slice(&content).expect("JSON");
        assert_eq!(content, json!([{ "type": "text", "text": text }, block]));
    }
    let opencode = written("opencode", &pdf).expect("an answer");
    let native = json!({
        "title": "doc.pdf",
        "metadata": { "preview": "PDF read successfully", "truncated": false },
    });
    assert_eq!(opencode.native, Some(native));
}

#[test]
fn which_dialects_ask_for_it() {
    for (dialect, limit) in [
        ("hashline", None),
        ("opencode", Some(5 * 1024 * 1024)),
        ("pikuri", None),
        ("llm-gateway", Some(5 * 1024 * 1024)),
        ("roo", None),
    ] {
        let dialect = by_name(dialect).expect("a dialect");
        let params = json!({ dialect.path_parameter(): PATH });
        let fields = Fields::of(&params, "").expect("an object");
        let request = dialect.request(fields, &Settings::default());
        assert_eq!(request.expect("a request").whole_file, limit);
    }
}

#[test]
fn one_that_is_too_large_or_unreadable_is_refused_in_the_seeds_words() {
    let large = document(5 * 1024 * 1024 + 1, Extras::default());
    let refusal = written("llm-gateway", &large).expect_err("a refusal");
    assert_eq!(
        said("llm-gateway", &refusal),
        Said::Result("PDF file exceeds 5MB limit: /w/doc.pdf".to_owned())
    );
    // The others have the engine's text of it.
    assert!(written("opencode", &large).is_ok());
    let encrypted = document(
        9,
        Extras {
            unreadable: Some("encrypted".to_owned()),
            ..Extras::default()
        },
    );
    let refusal = written("pikuri", &encrypted).expect_err("a refusal");
    assert_eq!(
        said("pikuri", &refusal),
        Said::Result("Error: cannot extract PDF text: encrypted".to_owned())
    );
}
