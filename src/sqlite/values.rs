//! Values and rows as text; a value never looks like something that we would write ourselves.

use std::borrow::Cow;
use std::fmt::Write;

use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::view::size::file_size;
use crate::view::table::plain;

use super::connection::MAX_VALUE;

/// Characters of a value that can matter to a table, in which a cell has 40.
const CELL_CHARS: usize = 60;
/// Bytes in which so many characters are.
const CELL_BYTES: usize = CELL_CHARS * 4 + 4;

/// Blobs up to so many bytes are written out where a value is given whole.
const SHORT_BLOB: usize = 64;

/// A line of a value that is longer (bytes) is broken: an answer is paged by lines.
const LINE_BYTES: usize = 16 * 1024;

/// As much of a value as can matter to a cell, and whether it is all.
pub fn cell(value: ValueRef) -> (String, bool) {
    match value {
        ValueRef::Text(bytes) => {
            let beginning = &bytes[..bytes.len().min(CELL_BYTES)];
            let text = String::from_utf8_lossy(beginning);
            let (text, whole) = plain(&text, CELL_CHARS);
            let whole = whole && beginning.len() == bytes.len();
            (unlike_ours(text.into()).into_owned(), whole)
        }
        ValueRef::Null => ("NULL".to_owned(), true),
        ValueRef::Integer(number) => (number.to_string(), true),
        ValueRef::Real(number) => (real(number), true),
        ValueRef::Blob(bytes) => (blob(bytes), true),
    }
}

/// A value whole; a long blob is only named.
pub fn whole(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Text(bytes) => unlike_ours(String::from_utf8_lossy(bytes)),
        ValueRef::Blob(bytes) if bytes.len() <= SHORT_BLOB => {
            let mut text = format!("{} x'", blob(bytes));
            for byte in bytes {
                let _ = write!(text, "{byte:02x}");
            }
            text.push('\'');
            text.into()
        }
        value => cell(value).0.into(),
    }
}

fn blob(bytes: &[u8]) -> String {
    format!("<blob {}>", file_size(bytes.len() as u64))
}

/// A number as SQL writes it: `1e308`, `0.1`, `3.0`.
fn real(number: f64) -> String {
    match number {
        f64::INFINITY => "Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        number => format!("{number:?}"),
    }
}

/// A text that reads like `NULL` or `<blob 2B>` stands in quotes.
fn unlike_ours(text: Cow<'_, str>) -> Cow<'_, str> {
    match &*text == "NULL" || text.starts_with("<blob ") {
        true => format!("'{text}'").into(),
        false => text,
    }
}

/// A row, its columns one below the other and whole, and the names of those whose lines had to be
/// broken. `None` where it is longer than a value may be.
pub fn row_text(row: &Row, columns: &[String]) -> rusqlite::Result<Option<(String, Vec<String>)>> {
    let mut text = String::new();
    let mut broken = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let value = whole(row.get_ref(index)?);
        if text.len() + column.len() + value.len() > MAX_VALUE {
            return Ok(None);
        }
        // Not doubled as it grows: a value may be large.
        text.reserve_exact(column.len() + value.len() + value.len() / (LINE_BYTES / 2) + 4);
        text.push_str(column);
        text.push_str(": ");
        if push_lines(&value, &mut text) {
            broken.push(column.clone());
        }
        text.push('\n');
    }
    Ok(Some((text, broken)))
}

/// Whether a line had to be broken.
fn push_lines(value: &str, text: &mut String) -> bool {
    let mut broken = false;
    for mut line in value.split_inclusive('\n') {
        while line.len() > LINE_BYTES {
            let mut end = LINE_BYTES;
            while !line.is_char_boundary(end) {
                end -= 1;
            }
            text.push_str(&line[..end]);
            line = &line[end..];
            if line != "\n" {
                text.push('\n');
                broken = true;
            }
        }
        text.push_str(line);
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_cells() {
        let text = |text: &'static str| cell(ValueRef::Text(text.as_bytes())).0;
        assert_eq!(text("a\nb"), "a\\nb");
        assert_eq!(text("NULL"), "'NULL'");
        assert_eq!(text("<blob 2B>"), "'<blob 2B>'");
        assert_eq!(cell(ValueRef::Null).0, "NULL");
        assert_eq!(cell(ValueRef::Blob(b"ab")).0, "<blob 2B>");
        assert_eq!(whole(ValueRef::Blob(b"\0\xff")), "<blob 2B> x'00ff'");
        for (number, written) in [(1e308, "1e308"), (0.1, "0.1"), (3.0, "3.0"), (-0.5, "-0.5")] {
            assert_eq!(cell(ValueRef::Real(number)).0, written);
        }
        let long = "ü".repeat(1000);
        let (cell, whole) = cell(ValueRef::Text(long.as_bytes()));
        assert_eq!((cell.chars().count(), whole), (CELL_CHARS, false));
    }

    #[test]
    fn long_lines_are_broken_between_characters() {
        let value = "ü".repeat(LINE_BYTES) + "\nshort";
        let mut text = String::new();
        assert!(push_lines(&value, &mut text));
        assert!(text.lines().all(|line| line.len() <= LINE_BYTES));
        assert_eq!(text.replace('\n', ""), value.replace('\n', ""));
        let mut text = String::new();
        let fits = "a".repeat(LINE_BYTES) + "\nb";
        assert!(!push_lines(&fits, &mut text) && text == fits);
    }
}
