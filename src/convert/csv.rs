//! Line ends within the cells of separated values, which the converter would make blanks of; no cell is changed otherwise.

use super::sheets::breaks::BREAK;

/// Bytes of a cell: a quote that closes later than that did not open one.
const MAX_CELL: usize = 64 * 1024;

/// The text with a mark for each line end within a quoted cell; `None` where there is none.
pub(super) fn mark_breaks(text: &str) -> Option<String> {
    let delimiter = delimiter(text);
    let bytes = text.as_bytes();
    let ends_cell = |at: usize| match bytes.get(at) {
        None | Some(b'\n' | b'\r') => true,
        Some(byte) => *byte == delimiter,
    };
    let mut out = String::new();
    let (mut from, mut at, mut is_start) = (0, 0, true);
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' && is_start {
            let end = closing(bytes, at + 1).filter(|end| ends_cell(end + 1));
            if let Some(end) = end {
                let cell = &text[at..=end];
                if cell.contains('\n') {
                    out.push_str(&text[from..at]);
                    out.push_str(&cell.replace("\r\n", BREAK).replace('\n', BREAK));
                    from = end + 1;
                }
                at = end;
            }
        }
        is_start = byte == delimiter || byte == b'\n' || byte == b'\r';
        at += 1;
    }
    if from == 0 {
        return None;
    }
    out.push_str(&text[from..]);
    Some(out)
}

/// Where the quoted cell that begins at `from` is closed: by a quote that is not doubled.
fn closing(bytes: &[u8], from: usize) -> Option<usize> {
    let cell = &bytes[..bytes.len().min(from + MAX_CELL)];
    let mut at = from;
    loop {
        at += memchr::memchr(b'"', cell.get(at..)?)?;
        if cell.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// The most frequent candidate in the first line.
fn delimiter(text: &str) -> u8 {
    let line = text.lines().next().unwrap_or_default().as_bytes();
    let count = |candidate: &u8| line.iter().filter(|byte| *byte == candidate).count();
    // The comma is last: of equals the last is taken.
    let best = b"|\t;,".iter().max_by_key(|candidate| count(candidate));
    best.copied().unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let marked = mark_breaks(text).map(|text| text.replace(BREAK, "<br>"));
        assert_eq!(marked.as_deref(), expected, "{text:?}");
    }

    #[test]
    fn only_line_ends_within_cells_are_marked() {
        check("a,b\n1,\"x\ny\"\n", Some("a,b\n1,\"x<br>y\"\n"));
        check(
            "a;b\n\"x\r\ny \"\"z\"\"\";2\n",
            Some("a;b\n\"x<br>y \"\"z\"\"\";2\n"),
        );
        check("a,b\n1,2\n", None);
        check("a,b\n5\" x,2\n6\" y,3\n", None);
        check("a,b\n1,\"never\nclosed\n", None);
        check("a,b\n\"x\ny\" z,1\n", None);
    }
}
