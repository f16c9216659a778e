//! Line ends within cells, of which the converter makes blanks, marked in the workbook before it has it; no other text is changed.

use std::io::{Cursor, Write};
use std::ops::Range;

use super::biff::{self, word};
use super::xlsb;
use crate::convert::package::rewritten;

/// What stands for a line end within a cell while the converter has it.
pub(in crate::convert) const BREAK: &str = "PilcrowBreakQ7Z";

/// The Markdown with the marks as line ends of a cell.
pub(in crate::convert) fn with_breaks(markdown: String) -> String {
    match markdown.contains(BREAK) {
        true => markdown.replace(BREAK, "<br>"),
        false => markdown,
    }
}

/// The workbook, as Excel 2007 and later write it, with a mark for each line end within a cell;
/// `None` where there is none.
pub(in crate::convert) fn mark_package(bytes: &[u8]) -> Option<Vec<u8>> {
    // Python's openpyxl writes strings into the sheets themselves.
    let holds_text =
        |name: &str| name.starts_with("xl/sharedStrings.") || name.starts_with("xl/worksheets/");
    rewritten(bytes, holds_text, |part| {
        match part.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'<' | 0xEF) => mark_xml(part),
            _ => mark_records(part),
        }
    })
}

fn mark_xml(part: &[u8]) -> Option<Vec<u8>> {
    let xml = std::str::from_utf8(part).ok()?;
    let mut out = String::with_capacity(xml.len());
    let mut is_string = false;
    for piece in xml.split_inclusive("</") {
        let end = piece.strip_suffix("</").unwrap_or(piece);
        let start = end.rfind('<').unwrap_or(0);
        let text = end[start..]
            .find('>')
            .map_or(piece.len(), |at| start + at + 1);
        let (markup, text) = piece.split_at(text);
        out.push_str(markup);
        if let Some(cell) = markup.rfind("<c ").map(|at| &markup[at..]) {
            let tag = cell.find('>').map_or(cell, |end| &cell[..end]);
            is_string = tag.contains("t=\"str\"");
        }
        let tag = &markup[start..];
        // `<v>` is what a formula gives, which may be text.
        match opens(tag, "t") || is_string && opens(tag, "v") {
            false => out.push_str(text),
            true => out.push_str(&with_marks(text)),
        }
    }
    (out.len() != xml.len()).then(|| out.into_bytes())
}

/// Whether it is the start tag of that element.
fn opens(tag: &str, name: &str) -> bool {
    let rest = tag.strip_prefix('<').and_then(|tag| tag.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with(['>', ' ']) && !rest.ends_with("/>"))
}

fn with_marks(text: &str) -> String {
    const ENDS: [&str; 12] = [
        "_x000D_\r\n",
        "_x000D_\n",
        "_x000d_\n",
        "&#13;\n",
        "&#13;&#10;",
        "\r\n",
        "\n",
        "&#10;",
        "&#xA;",
        "&#xa;",
        "_x000a_",
        "_x000A_",
    ];
    let marked = |text: String, end: &&str| match text.contains(end) {
        true => text.replace(end, BREAK),
        false => text,
    };
    ENDS.iter().fold(text.to_owned(), marked)
}

/// As [`mark_xml`], for a part of a binary workbook; and with the short records of cells, which do
/// not say their column and which the converter leaves out, written out.
fn mark_records(part: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(part.len());
    let (mut is_marked, mut end) = (false, part.as_ptr());
    let mut column = 0u32;
    for (kind, record) in xlsb::records(part) {
        end = record.as_ptr_range().end;
        let (full, long) = match xlsb::long_cell(kind, record, &mut column) {
            Some(long) => (kind - 11, Some(long)),
            None => (kind, None),
        };
        let content = long.as_deref().unwrap_or(record);
        let marked = marked_record(full, content);
        is_marked |= marked.is_some() || long.is_some();
        let content = marked.as_deref().unwrap_or(content);
        xlsb::push_header(&mut out, full, content.len())?;
        out.extend_from_slice(content);
    }
    // What is cut off within a record stays as it is.
    (is_marked && end == part.as_ptr_range().end).then_some(out)
}

/// A record of a binary workbook, where it holds a string with line ends.
fn marked_record(kind: u16, record: &[u8]) -> Option<Vec<u8>> {
    // What stands before the string in BrtSSTItem, BrtCellSt, BrtFmlaString, BrtCellRString.
    let start = match kind {
        19 => 1,
        6 | 8 => 8,
        62 => 9,
        _ => return None,
    };
    let (end, text) = xlsb::units_at(record, start)?;
    let mark: Vec<u8> = BREAK.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (mut marked, mut is_marked) = (Vec::with_capacity(text.len() + mark.len()), false);
    let mut units = text.chunks_exact(2).peekable();
    while let Some(unit) = units.next() {
        match unit {
            [0x0D, 0] if units.peek() == Some(&&[0x0A, 0][..]) => {}
            [0x0A, 0] => {
                is_marked = true;
                marked.extend_from_slice(&mark);
            }
            unit => marked.extend_from_slice(unit),
        }
    }
    let count = u32::try_from(marked.len() / 2).ok()?.to_le_bytes();
    is_marked.then(|| [&record[..start], &count, &marked, &record[end..]].concat())
}

/// Of which one that stands nowhere in a workbook takes the place of its line ends: those of one
/// byte and without a meaning in Markdown. The second row is for the time before Unicode.
const STAND_INS: [&str; 2] = ["¦¬¤¶§¸¯¨´¹²³ªº", "^@%?;\"=/:,"];

/// The workbook, as Excel 97 to 2003 wrote it, with a character in the place of each line end
/// within a cell that stands nowhere in its Markdown, and that character. Its strings keep their
/// length: where its sheets begin is said in many places. `None` where there is no line end.
pub(in crate::convert) fn mark_biff(bytes: &[u8], markdown: &str) -> Option<(Vec<u8>, char)> {
    let mut file = cfb::CompoundFile::open(Cursor::new(bytes.to_vec())).ok()?;
    let (name, mut stream) = biff::stream(&mut file)?;
    // The version of the first record, which says how strings are written.
    let is_unicode = word(&stream, 4)? == 0x0600;
    let ends = line_ends(&stream, is_unicode);
    if ends.is_empty() {
        return None;
    }
    let row = STAND_INS[usize::from(!is_unicode)];
    let stand_in = row.chars().find(|c| !markdown.contains(*c))?;
    for end in ends {
        // A control character, of which the converter makes nothing.
        let place = stream.get_mut(end)?;
        *place = match place {
            0x0D => 1,
            _ => u8::try_from(u32::from(stand_in)).ok()?,
        };
    }
    let mut opened = file.open_stream(name).ok()?;
    opened.write_all(&stream).ok()?;
    opened.flush().ok()?;
    drop(opened);
    Some((file.into_inner().into_inner(), stand_in))
}

const CONTINUE: u16 = 0x003C;

/// Where the line ends of all strings of cells stand, and a carriage return before one.
fn line_ends(stream: &[u8], is_unicode: bool) -> Vec<usize> {
    let mut found = Vec::new();
    let mut records = biff::records(stream).peekable();
    while let Some((kind, record)) = records.next() {
        // SST; LABEL and RSTRING, after the cell; STRING.
        let skipped = match kind {
            0x00FC if is_unicode => 8,
            0x0204 | 0x00D6 => 6,
            0x0207 => 0,
            _ => continue,
        };
        let place = |record: &[u8]| {
            let start = record.as_ptr() as usize - stream.as_ptr() as usize;
            start..start + record.len()
        };
        let more = std::iter::from_fn(|| records.next_if(|(kind, _)| *kind == CONTINUE));
        let parts = std::iter::once(record).chain(more.map(|(_, more)| more));
        let parts = parts.map(place).collect();
        let mut strings = Strings {
            stream,
            parts,
            found: &mut found,
        };
        // A string that is cut off ends what can be read.
        let mut next = strings.skip(skipped);
        while next.is_some() {
            next = match (kind, is_unicode) {
                (0x00FC, _) => strings.unicode(true),
                (_, true) => strings.unicode(false).and(None),
                (_, false) => strings.bytes().and(None),
            };
        }
    }
    found
}

/// The strings of a record and of those that continue it ([MS-XLS] 2.5.293, 2.5.294).
struct Strings<'s> {
    stream: &'s [u8],
    /// What is left of each record, in order.
    parts: Vec<Range<usize>>,
    found: &'s mut Vec<usize>,
}

impl Strings<'_> {
    /// Where the next bytes stand, which a record holds whole.
    fn take(&mut self, count: usize) -> Option<usize> {
        let first = self.parts.iter().position(|part| !part.is_empty())?;
        self.parts.drain(..first);
        let part = self.parts.first_mut()?;
        let at = part.start;
        (part.len() >= count).then(|| part.start += count)?;
        Some(at)
    }

    fn number(&mut self) -> Option<usize> {
        let at = self.take(2)?;
        word(self.stream, at).map(usize::from)
    }

    fn skip(&mut self, mut count: usize) -> Option<()> {
        while count > 0 {
            let part = self.parts.first_mut()?;
            let step = part.len().min(count);
            part.start += step;
            count -= step;
            if count > 0 {
                self.parts.remove(0);
            }
        }
        Some(())
    }

    /// A string of Unicode, which says anew how wide it is in each record that it goes on in.
    fn unicode(&mut self, is_rich: bool) -> Option<()> {
        let mut left = self.number()?;
        let flags = self.stream[self.take(1)?];
        let mut width = 1 + usize::from(flags & 1);
        let mut trailer = 0;
        if is_rich && flags & 8 != 0 {
            trailer += 4 * self.number()?;
        }
        if is_rich && flags & 4 != 0 {
            let at = self.take(4)?;
            let bytes = self.stream.get(at..at + 4)?;
            trailer += u32::from_le_bytes(bytes.try_into().ok()?) as usize;
        }
        let mut return_at = None;
        while left > 0 {
            if self.parts.first()?.is_empty() {
                width = 1 + usize::from(self.stream[self.take(1)?] & 1);
            }
            let count = (self.parts.first()?.len() / width).min(left);
            if count == 0 {
                return None;
            }
            let at = self.take(count * width)?;
            self.look(at, count, width, &mut return_at);
            left -= count;
        }
        self.skip(trailer)
    }

    /// A string of one byte for each character, or two in some encodings.
    fn bytes(&mut self) -> Option<()> {
        let (mut left, mut return_at) = (self.number()?, None);
        while left > 0 {
            let count = self.parts.first()?.len().min(left);
            let at = self.take(count.max(1))?;
            self.look(at, count.max(1), 1, &mut return_at);
            left -= count.max(1);
        }
        Some(())
    }

    fn look(&mut self, at: usize, count: usize, width: usize, return_at: &mut Option<usize>) {
        for at in (at..).step_by(width).take(count) {
            let unit = &self.stream[at..at + width];
            match unit {
                [0x0A] | [0x0A, 0] => {
                    self.found.extend(return_at.take());
                    self.found.push(at);
                }
                [0x0D] | [0x0D, 0] => *return_at = Some(at),
                _ => *return_at = None,
            }
        }
    }
}
