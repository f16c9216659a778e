//! As what kind an artifact is read: the type that it was given says the ending of its file, and nothing else of its name is anybody's.

/// Types with the ending that their files get; what is in no row gets that of text.
const TYPES: &[(&str, &str)] = &[
    ("application/gzip", "gz"),
    ("application/json", "json"),
    ("application/pdf", "pdf"),
    ("application/rtf", "rtf"),
    (
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "pptx",
    ),
    (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xlsx",
    ),
    (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "docx",
    ),
    ("application/vnd.sqlite3", "sqlite"),
    ("application/x-ipynb+json", "ipynb"),
    ("application/x-sqlite3", "sqlite"),
    ("application/x-tar", "tar"),
    ("application/zip", "zip"),
    ("image/bmp", "bmp"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/webp", "webp"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("text/markdown", "md"),
    ("text/x-diff", "diff"),
];

pub(super) const TEXT: &str = "txt";

/// The ending for a type, without parameters; that of text where it is not known.
pub(super) fn ending_of_type(mime_type: &str) -> &'static str {
    let plain = mime_type.split(';').next().unwrap_or_default().trim();
    let row = TYPES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(plain));
    row.map_or(TEXT, |(_, ending)| *ending)
}

/// The ending that a file's own name has, if it is in the table.
pub(super) fn ending_of_name(name: &str) -> Option<&'static str> {
    let (_, own) = name.rsplit_once('.')?;
    let row = TYPES
        .iter()
        .find(|(_, ending)| ending.eq_ignore_ascii_case(own));
    row.map(|(_, ending)| *ending)
}

/// The ending of the table that a text is, if it is in the table.
pub(super) fn known(ending: &str) -> &'static str {
    let row = TYPES.iter().find(|(_, known)| *known == ending);
    row.map_or(TEXT, |(_, ending)| *ending)
}
