//! Which files are documents: by their names, and only where their first bytes agree; nothing is converted here.

use crate::convert::{Extension, Format};

/// What a name says a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    Pdf,
    Office(Extension),
}

/// Extensions of documents. Templates, slide shows and those with macros are read as their kind.
const NAMES: &[(&[&str], Named)] = &[
    (&["pdf"], Named::Pdf),
    (&["doc", "dot"], Named::Office(Extension::Doc)),
    (
        &["docx", "docm", "dotx", "dotm"],
        Named::Office(Extension::Docx),
    ),
    (&["ppt", "pps", "pot"], Named::Office(Extension::Ppt)),
    (
        &["pptx", "pptm", "ppsx", "ppsm", "potx"],
        Named::Office(Extension::Pptx),
    ),
    (
        &["xls", "xlsx", "xlsb", "xlsm", "xlt", "xltx"],
        Named::Office(Extension::Excel),
    ),
    (&["rtf"], Named::Office(Extension::Rtf)),
    (&["epub"], Named::Office(Extension::Epub)),
    (&["odt", "ott"], Named::Office(Extension::Odt)),
    (&["ods", "ots"], Named::Office(Extension::Ods)),
    (&["odp", "otp"], Named::Office(Extension::Odp)),
];

/// Extensions of tables in text, which are documents only when asked for as tables.
const TABLES: &[&str] = &["csv", "tsv"];

/// In lower case, without the dot; empty where there is none.
pub fn extension(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension.to_ascii_lowercase(),
        _ => String::new(),
    }
}

/// What the name says; `None` for the name of no document.
pub fn named(name: &str) -> Option<Named> {
    let extension = extension(name);
    let row = NAMES
        .iter()
        .find(|(names, _)| names.contains(&extension.as_str()));
    row.map(|(_, named)| *named)
}

pub fn is_table(name: &str) -> bool {
    TABLES.contains(&extension(name).as_str())
}

/// Readers of PDF accept so many bytes before its header.
const PDF_HEADER_WITHIN: usize = 1024;
const OLE: &[u8] = &[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
const ZIP: &[u8] = b"PK\x03\x04";

/// What the first bytes say, under a name that says `named`; `None` for those of no document.
pub fn format(head: &[u8], named: Option<Named>) -> Option<Format> {
    let by_name = match named {
        Some(Named::Office(extension)) => extension,
        Some(Named::Pdf) | None => Extension::Unknown,
    };
    if head.starts_with(ZIP) || head.starts_with(OLE) {
        return Some(Format::Office(by_name));
    }
    if head.starts_with(b"{\\rtf") {
        return Some(Format::Office(Extension::Rtf));
    }
    let start = &head[..head.len().min(PDF_HEADER_WITHIN)];
    memchr::memmem::find(start, b"%PDF-").map(|_| Format::Pdf)
}

/// Parts that packages of documents begin with.
const FIRST_PARTS: &[&[u8]] = &[
    b"[Content_Types].xml",
    b"_rels/.rels",
    b"word/",
    b"xl/",
    b"ppt/",
    b"docProps/",
    b"mimetypeapplication/epub+zip",
    b"mimetypeapplication/vnd.oasis.opendocument.",
];

/// Whether these first bytes are those of a document, whatever it is called.
pub fn is_document(head: &[u8]) -> bool {
    let name = head.get(30..).unwrap_or_default();
    match head.starts_with(ZIP) {
        true => FIRST_PARTS.iter().any(|part| name.starts_with(part)),
        false => head.starts_with(OLE) || head.starts_with(b"%PDF-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_decide() {
        let doc = named("a/letter.DOC");
        assert_eq!(doc, Some(Named::Office(Extension::Doc)));
        let rtf = format(b"{\\rtf1 x}", doc);
        assert_eq!(rtf, Some(Format::Office(Extension::Rtf)));
        assert_eq!(format(b"<html>", doc), None);
        assert_eq!(format(b"\n\n%PDF-1.4", doc), Some(Format::Pdf));
        assert_eq!(
            (named("pdf"), named(".pdf"), named("x.txt")),
            (None, None, None)
        );
    }
}
