//! The text of a file as lines over a rope; a text never changes once it is made.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};
use ropey::Rope;

use super::lines::{Lines, without_cr};

/// Which line ends a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineEnding {
    Lf,
    Crlf,
    /// CR alone, and neither LF nor CRLF anywhere.
    Cr,
    /// Both LF and CRLF occur.
    Mixed,
    /// No line has an end.
    #[default]
    None,
}

impl LineEnding {
    /// The name on the wire: `lf`, `crlf`, `cr`, `mixed` or `none`.
    pub fn as_str(self) -> &'static str {
        match self {
            LineEnding::Lf => "lf",
            LineEnding::Crlf => "crlf",
            LineEnding::Cr => "cr",
            LineEnding::Mixed => "mixed",
            LineEnding::None => "none",
        }
    }
}

/// The decoded text of a file, in lines. A clone is cheap and shares the text.
///
/// Lines are counted from 0 here. They end at LF, and a CR right before it belongs to the end; every
/// other character is text. A text whose only line ends are CR has CR lines: it is held with its CRs
/// turned into LFs, which keeps every byte offset, and `raw_lines` turns them back. A final newline
/// ends the last line and is not a line of its own.
#[derive(Debug, Clone, Default)]
pub struct Text {
    rope: Rope,
    ending: LineEnding,
    lines: usize,
    ends_with_newline: bool,
}

impl Text {
    /// The text of `decoded`, which is everything after a BOM.
    pub fn new(decoded: &str) -> Text {
        let ending = find_ending(decoded.as_bytes());
        let held = match ending {
            LineEnding::Cr => Cow::Owned(decoded.replace('\r', "\n")),
            _ => Cow::Borrowed(decoded),
        };
        Text::held(Rope::from_str(&held), ending)
    }

    /// The text that an editor holds in a rope. Copies it only where its line ends are CR alone.
    pub fn from_rope(rope: Rope) -> Text {
        let ending = find_ending_in(&rope);
        if ending == LineEnding::Cr {
            return Text::new(&rope.to_string());
        }
        Text::held(rope, ending)
    }

    fn held(rope: Rope, ending: LineEnding) -> Text {
        let bytes = rope.len_bytes();
        let ends_with_newline = bytes > 0 && rope.byte(bytes - 1) == b'\n';
        // The rope counts what follows the last LF as a line, even when nothing does.
        let phantom = usize::from(ends_with_newline || bytes == 0);
        Text {
            lines: rope.len_lines() - phantom,
            rope,
            ending,
            ends_with_newline,
        }
    }

    /// Number of lines; 0 for an empty text.
    pub fn len_lines(&self) -> usize {
        self.lines
    }

    /// UTF-8 bytes of the whole text, line ends included and BOM not.
    pub fn len_bytes(&self) -> usize {
        self.rope.len_bytes()
    }

    /// The line `index0` without its end; empty at or past `len_lines()`.
    pub fn line(&self, index0: usize) -> Cow<'_, str> {
        match self.start_of(index0) {
            None => Cow::Borrowed(""),
            Some(start) => match start.end_in_chunk() {
                Some((end, _)) => Cow::Borrowed(end),
                None => self.lines_at(index0).next().unwrap_or_default(),
            },
        }
    }

    /// The lines from `index0` on, without their ends; none at or past `len_lines()`.
    pub fn lines_at(&self, index0: usize) -> Lines<'_> {
        if index0 >= self.lines {
            return Lines::new("", self.rope.byte_slice(0..0).chunks(), 0);
        }
        let (mut chunks, _, _, first) = self.rope.chunks_at_line_break(index0);
        let chunk = chunks.next().unwrap_or_default();
        let rest = &chunk[start_in_chunk(chunk, index0 - first)..];
        Lines::new(rest, chunks, self.lines - index0)
    }

    /// UTF-8 bytes of the line `index0` without its end; 0 at or past `len_lines()`.
    pub fn line_bytes(&self, index0: usize) -> usize {
        match self.start_of(index0) {
            None => 0,
            Some(start) => match start.end_in_chunk() {
                Some((line, _)) => line.len(),
                None => self.raw_line_bytes(index0) - self.end_bytes(index0),
            },
        }
    }

    /// UTF-8 bytes of the line `index0` with its end; 0 at or past `len_lines()`.
    pub fn raw_line_bytes(&self, index0: usize) -> usize {
        match self.start_of(index0) {
            None => 0,
            Some(start) => match start.end_in_chunk() {
                Some((_, raw)) => raw,
                None => self.rope.line_to_byte(index0 + 1) - start.byte,
            },
        }
    }

    /// The lines `start0..end0` with the ends they have in the file. The range is cut to the lines
    /// there are; an empty or reversed one gives an empty string.
    pub fn raw_lines(&self, start0: usize, end0_exclusive: usize) -> String {
        let end0 = end0_exclusive.min(self.lines);
        if start0 >= end0 {
            return String::new();
        }
        let bytes = self.rope.line_to_byte(start0)..self.rope.line_to_byte(end0);
        let mut raw = String::with_capacity(bytes.len());
        for chunk in self.rope.byte_slice(bytes).chunks() {
            raw.push_str(chunk);
        }
        match self.ending {
            LineEnding::Cr => raw.replace('\n', "\r"),
            _ => raw,
        }
    }

    /// Whether the last line has an end; false for an empty text.
    pub fn ends_with_newline(&self) -> bool {
        self.ends_with_newline
    }

    /// Which line ends the file has, not those of the held text.
    pub fn line_ending(&self) -> LineEnding {
        self.ending
    }

    /// The held text: of a text with CR lines, with LF in the place of every CR.
    pub fn rope(&self) -> &Rope {
        &self.rope
    }

    /// The held text in order, in pieces of about a kilobyte that may cut a line or a CRLF.
    pub fn chunks(&self) -> impl Iterator<Item = &str> {
        self.rope.chunks()
    }

    /// Where a line that exists begins.
    fn start_of(&self, index0: usize) -> Option<LineStart<'_>> {
        if index0 >= self.lines {
            return None;
        }
        let (chunk, chunk_byte, _, first) = self.rope.chunk_at_line_break(index0);
        let at = start_in_chunk(chunk, index0 - first);
        Some(LineStart {
            byte: chunk_byte + at,
            rest: &chunk[at..],
            last_chunk: chunk_byte + chunk.len() == self.rope.len_bytes(),
        })
    }

    /// Bytes of the end of an existing line: 0, 1 or 2.
    fn end_bytes(&self, index0: usize) -> usize {
        if index0 + 1 == self.lines && !self.ends_with_newline {
            return 0;
        }
        let end = self.rope.line_to_byte(index0 + 1);
        if end >= 2 && self.rope.byte(end - 2) == b'\r' {
            2
        } else {
            1
        }
    }
}

impl PartialEq for Text {
    /// By content: line ends count, how the rope is cut does not.
    fn eq(&self, other: &Text) -> bool {
        self.ending == other.ending
            && (self.rope.is_instance(&other.rope) || self.rope == other.rope)
    }
}

impl Eq for Text {}

/// Where a line begins: its byte in the text, and the rest of the chunk from there.
struct LineStart<'a> {
    byte: usize,
    rest: &'a str,
    last_chunk: bool,
}

impl<'a> LineStart<'a> {
    /// The line without its end, and its bytes with it, where the chunk holds all of it.
    fn end_in_chunk(&self) -> Option<(&'a str, usize)> {
        match memchr(b'\n', self.rest.as_bytes()) {
            Some(end) => Some((without_cr(&self.rest[..end]), end + 1)),
            None if self.last_chunk => Some((self.rest, self.rest.len())),
            None => None,
        }
    }
}

/// The byte after the `breaks`-th LF of a chunk: where the line of that number begins.
fn start_in_chunk(chunk: &str, breaks: usize) -> usize {
    match breaks {
        0 => 0,
        // The rope says that the chunk holds this break; without it nothing of the chunk is left.
        _ => memchr_iter(b'\n', chunk.as_bytes())
            .nth(breaks - 1)
            .map_or(chunk.len(), |at| at + 1),
    }
}

/// Like [`find_ending`], chunk by chunk.
fn find_ending_in(rope: &Rope) -> LineEnding {
    let (mut lf, mut crlf, mut cr) = (false, false, false);
    let mut last = 0;
    for chunk in rope.chunks().map(str::as_bytes) {
        let has_cr = memchr(b'\r', chunk).is_some();
        cr |= has_cr;
        if !has_cr && last != b'\r' {
            lf = lf || memchr(b'\n', chunk).is_some();
            last = chunk.last().copied().unwrap_or(last);
            if lf && crlf {
                break;
            }
            continue;
        }
        for at in memchr_iter(b'\n', chunk) {
            let before = if at > 0 { chunk[at - 1] } else { last };
            match before == b'\r' {
                true => crlf = true,
                false => lf = true,
            }
        }
        last = chunk.last().copied().unwrap_or(last);
        if lf && crlf {
            break;
        }
    }
    match (lf, crlf, cr) {
        (true, true, _) => LineEnding::Mixed,
        (true, false, _) => LineEnding::Lf,
        (false, true, _) => LineEnding::Crlf,
        (false, false, true) => LineEnding::Cr,
        (false, false, false) => LineEnding::None,
    }
}

/// The kind of line ends; stops reading as soon as they are known to be mixed.
fn find_ending(text: &[u8]) -> LineEnding {
    let has_cr = memchr(b'\r', text).is_some();
    if !has_cr {
        return match memchr(b'\n', text) {
            Some(_) => LineEnding::Lf,
            None => LineEnding::None,
        };
    }
    let (mut lf, mut crlf) = (false, false);
    for at in memchr_iter(b'\n', text) {
        match at > 0 && text[at - 1] == b'\r' {
            true => crlf = true,
            false => lf = true,
        }
        if lf && crlf {
            return LineEnding::Mixed;
        }
    }
    match (lf, crlf) {
        (_, true) => LineEnding::Crlf,
        (true, false) => LineEnding::Lf,
        (false, false) => LineEnding::Cr,
    }
}
