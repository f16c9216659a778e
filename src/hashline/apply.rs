//! Changes applied to a text and to the bytes of its file; no byte outside the changes is ever another afterwards.

use std::cell::OnceCell;
use std::ops::Range;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::memchr_iter;

use super::replace_text::TextPosition;
use super::splice::{BytesOf, KnownBytes, TextChange};
use crate::text::{Confidence, LineEnding, Rival, Text, Unmappable, disagreement, encode, rivals};

/// Why bytes cannot be changed as their text was: `encoding` on the wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// The new text has a character that the file's encoding has not.
    #[error("{0}")]
    Unmappable(#[from] Unmappable),
    #[error(
        "the encoding was guessed as {encoding}, but the file does not read and write back to the same bytes in it. Read the file again with the encoding parameter set to the right one."
    )]
    Guess { encoding: &'static str },
    /// The encoding was guessed, and others that it may be write the character differently.
    #[error(
        "the character '{character}' (U+{:04X}) is not the same bytes in all encodings that the file may be in: {bytes}. {guess} was a guess. Leave the character out, or read the file again with the encoding parameter set to the right one, which is remembered.",
        u32::from(*character)
    )]
    Ambiguous {
        character: char,
        guess: &'static str,
        /// In each of the encodings.
        bytes: String,
    },
    /// Some bytes around the change would read as other characters than before.
    #[error(
        "in {encoding} the text around the change cannot be kept as it is. Read the file again with the encoding parameter if {encoding} is wrong."
    )]
    Context { encoding: &'static str },
}

/// The UTF-8 bytes of the text, as it is held, that a change replaces; line ends as in the file,
/// since those of a text with CR lines are as long as the held ones.
pub fn byte_range(text: &Text, change: &TextChange) -> Range<usize> {
    byte_of(text, change.start)..byte_of(text, change.end)
}

fn byte_of(text: &Text, spot: TextPosition) -> usize {
    match spot.line < text.len_lines() {
        true => text.rope().line_to_byte(spot.line) + spot.column,
        false => text.len_bytes(),
    }
}

/// The whole new text, with the line ends of the file. `changes` are in order and apart.
pub fn new_text(text: &Text, changes: &[TextChange]) -> String {
    let grown: usize = changes.iter().map(|change| change.text.len()).sum();
    let mut new = String::with_capacity(text.len_bytes() + grown);
    let mut kept_from = 0;
    for change in changes {
        let range = byte_range(text, change);
        push_kept(text, kept_from..range.start, &mut new);
        new.push_str(&change.text);
        kept_from = range.end;
    }
    push_kept(text, kept_from..text.len_bytes(), &mut new);
    new
}

/// The same as a text, which shares with the old one what they have in common.
pub fn text_after(text: &Text, changes: &[TextChange]) -> Text {
    // It is held with other line ends than the file has.
    if text.line_ending() == LineEnding::Cr {
        return Text::new(&new_text(text, changes));
    }
    let mut rope = text.rope().clone();
    // From the last one on: those before stay where they are.
    for change in changes.iter().rev() {
        let range = byte_range(text, change);
        let (start, end) = (rope.byte_to_char(range.start), rope.byte_to_char(range.end));
        rope.remove(start..end);
        rope.insert(start, &change.text);
    }
    Text::from_rope(rope)
}

fn push_kept(text: &Text, range: Range<usize>, new: &mut String) {
    for chunk in text.rope().byte_slice(range).chunks() {
        match text.line_ending() {
            LineEnding::Cr => new.push_str(&chunk.replace('\n', "\r")),
            _ => new.push_str(chunk),
        }
    }
}

/// The bytes of a file and how they were read.
#[derive(Debug, Clone, Copy)]
pub struct FileBytes<'a> {
    /// All of them, with the BOM.
    pub bytes: &'a [u8],
    /// What they decode to, without the BOM.
    pub text: &'a Text,
    pub encoding: &'static Encoding,
    /// `Certain` for one that was declared.
    pub confidence: Confidence,
    /// Whether they begin with a BOM.
    pub bom: bool,
}

/// The new bytes of a file: those outside the changes as they were, the new text encoded. The
/// result is read back before it is returned.
pub fn new_bytes(file: &FileBytes, changes: &[TextChange]) -> Result<Vec<u8>, EncodingError> {
    let encoding = file.encoding.name();
    let (bom, body) = file.bytes.split_at(file.bom_bytes());
    if file.is_its_text(body) {
        return Ok([bom, &spliced(file.text, body, changes)].concat());
    }
    if file.confidence == Confidence::Likely && !file.round_trips(body) {
        return Err(EncodingError::Guess { encoding });
    }
    let repertoire = Repertoire::of(*file);
    for part in changes.iter().flat_map(parts) {
        if part.bytes.is_none() {
            repertoire.check(part.text)?;
        }
    }
    let context = || EncodingError::Context { encoding };
    let lines = RawLines::of(file, body).ok_or_else(context)?;
    let mut new = bom.to_vec();
    let mut kept_from = 0;
    for change in changes {
        let start = lines.byte_of(change.start).ok_or_else(context)?;
        let end = lines.byte_of(change.end).ok_or_else(context)?;
        new.extend_from_slice(body.get(kept_from..start).ok_or_else(context)?);
        for part in parts(change) {
            match part.bytes {
                None => new.extend_from_slice(&encode(part.text, file.encoding)?),
                Some(BytesOf::Given(bytes)) => new.extend_from_slice(bytes),
                Some(BytesOf::Line(line)) => {
                    let end = file.text.raw_line_bytes(*line) - file.text.line_bytes(*line);
                    new.extend_from_slice(lines.line(*line, end).ok_or_else(context)?);
                }
            }
        }
        kept_from = end;
    }
    new.extend_from_slice(body.get(kept_from..).ok_or_else(context)?);
    // A stateful encoding, or damage next to a change, could make the new bytes read otherwise.
    let (read_back, _) = file.encoding.decode_without_bom_handling(&new[bom.len()..]);
    match read_back == new_text(file.text, changes) {
        true => Ok(new),
        false => Err(context()),
    }
}

/// The bytes of lines, from 0, where they are others than those of the text. `None` where the
/// bytes have other lines than the text.
pub fn bytes_of_lines(file: &FileBytes, wanted: &[Range<usize>]) -> Option<Vec<Option<Vec<u8>>>> {
    let body = &file.bytes[file.bom_bytes()..];
    if file.is_its_text(body) {
        return Some(vec![None; wanted.len()]);
    }
    let lines = RawLines::of(file, body)?;
    let start = |line: usize| lines.starts.get(line).copied().unwrap_or(body.len());
    let bytes = wanted
        .iter()
        .map(|wanted| Some(body.get(start(wanted.start)..start(wanted.end))?.to_vec()));
    Some(bytes.collect())
}

/// A part of a new text, and its bytes where they are known.
struct NewPart<'a> {
    text: &'a str,
    bytes: Option<&'a BytesOf>,
}

/// A new text in parts.
fn parts(change: &TextChange) -> Vec<NewPart<'_>> {
    let mut parts = Vec::with_capacity(2 * change.known.len() + 1);
    let mut from = 0;
    for KnownBytes { part, bytes } in &change.known {
        let text = &change.text[from..part.start];
        parts.push(NewPart { text, bytes: None });
        parts.push(NewPart {
            text: &change.text[part.clone()],
            bytes: Some(bytes),
        });
        from = part.end;
    }
    let text = &change.text[from..];
    parts.push(NewPart { text, bytes: None });
    parts
}

/// The characters that may be written into a file.
#[derive(Debug)]
pub struct Repertoire<'a> {
    file: FileBytes<'a>,
    /// Encodings that it may be in as well.
    rivals: OnceCell<Vec<Rival>>,
}

impl<'a> Repertoire<'a> {
    pub fn of(file: FileBytes<'a>) -> Repertoire<'a> {
        Repertoire {
            file,
            rivals: OnceCell::new(),
        }
    }

    /// Refuses the first character that the file's encoding has not, or that nobody knows the
    /// bytes of.
    pub fn check(&self, text: &str) -> Result<(), EncodingError> {
        let FileBytes {
            bytes,
            encoding,
            confidence,
            ..
        } = self.file;
        if encoding == UTF_8 || text.is_ascii() {
            return Ok(());
        }
        encode(text, encoding)?;
        if confidence == Confidence::Certain {
            return Ok(());
        }
        let rivals = || rivals(encoding, &bytes[self.file.bom_bytes()..]);
        let rivals = self.rivals.get_or_init(rivals);
        let disagreement = text
            .chars()
            .find_map(|c| Some((c, disagreement(encoding, rivals, c)?)));
        match disagreement {
            None => Ok(()),
            Some((character, bytes)) => Err(EncodingError::Ambiguous {
                character,
                guess: encoding.name(),
                bytes,
            }),
        }
    }
}

/// The bytes of a text that are written as they are held, changed.
fn spliced(text: &Text, body: &[u8], changes: &[TextChange]) -> Vec<u8> {
    let grown: usize = changes.iter().map(|change| change.text.len()).sum();
    let mut new = Vec::with_capacity(body.len() + grown);
    let mut kept_from = 0;
    for change in changes {
        let range = byte_range(text, change);
        new.extend_from_slice(&body[kept_from..range.start]);
        new.extend_from_slice(change.text.as_bytes());
        kept_from = range.end;
    }
    new.extend_from_slice(&body[kept_from..]);
    new
}

impl FileBytes<'_> {
    fn bom_bytes(&self) -> usize {
        match (self.bom, self.encoding == UTF_8) {
            (false, _) => 0,
            (true, true) => 3,
            (true, false) => 2,
        }
    }

    /// Whether the bytes are the text: UTF-8 without damage. Then every place in the one is the
    /// same place in the other, and valid text in it leaves it valid.
    fn is_its_text(&self, body: &[u8]) -> bool {
        self.encoding == UTF_8
            && body.len() == self.text.len_bytes()
            && str::from_utf8(body).is_ok()
    }

    fn round_trips(&self, body: &[u8]) -> bool {
        let text = new_text(self.text, &[]);
        encode(&text, self.encoding).is_ok_and(|bytes| *bytes == *body)
    }
}

/// Where the lines of a text begin in the bytes of its file.
struct RawLines<'a> {
    body: &'a [u8],
    starts: Vec<usize>,
    encoding: &'static Encoding,
}

impl<'a> RawLines<'a> {
    /// `None` where the bytes have other lines than the text.
    fn of(file: &FileBytes, body: &'a [u8]) -> Option<RawLines<'a>> {
        let end = match file.text.line_ending() {
            LineEnding::Cr => b'\r',
            _ => b'\n',
        };
        let mut starts = vec![0];
        // In all other encodings a file may be in, these bytes are part of no other character.
        if file.encoding == UTF_16LE || file.encoding == UTF_16BE {
            let unit = match file.encoding == UTF_16LE {
                true => [end, 0],
                false => [0, end],
            };
            let units = body.chunks_exact(2).enumerate();
            let ends = units.filter(|(_, found)| **found == unit);
            starts.extend(ends.map(|(at, _)| at * 2 + 2));
        } else {
            starts.extend(memchr_iter(end, body).map(|at| at + 1));
        }
        // What follows the last line end is a line only if it is something.
        starts.pop_if(|start| *start == body.len());
        (starts.len() == file.text.len_lines()).then_some(RawLines {
            body,
            starts,
            encoding: file.encoding,
        })
    }

    fn byte_of(&self, spot: TextPosition) -> Option<usize> {
        let Some(&start) = self.starts.get(spot.line) else {
            return Some(self.body.len());
        };
        let end = self.starts.get(spot.line + 1).copied();
        let line = &self.body[start..end.unwrap_or(self.body.len())];
        self.column_of(line, spot.column)
            .map(|column| start + column)
    }

    /// The bytes of a line, from 0, without its end of so many characters.
    fn line(&self, line: usize, end: usize) -> Option<&'a [u8]> {
        let of_end = match self.encoding == UTF_16LE || self.encoding == UTF_16BE {
            true => 2 * end,
            false => end,
        };
        let next = self.starts.get(line + 1).copied();
        let after = next.unwrap_or(self.body.len()).checked_sub(of_end)?;
        self.body.get(*self.starts.get(line)?..after)
    }

    /// The byte of a line at which its decoded text has come to `column` bytes.
    fn column_of(&self, line: &[u8], column: usize) -> Option<usize> {
        if column == 0 {
            return Some(0);
        }
        if self.encoding == UTF_8
            && line
                .get(..column)
                .is_some_and(|text| str::from_utf8(text).is_ok())
        {
            return Some(column);
        }
        let mut decoder = self.encoding.new_decoder_without_bom_handling();
        let mut decoded = 0;
        for (at, byte) in line.iter().enumerate() {
            // One byte makes no more than a few characters, damage before it included.
            let mut out = [0; 64];
            let (_, _, written, _) = decoder.decode_to_utf8(&[*byte], &mut out, false);
            decoded += written;
            if decoded >= column {
                return (decoded == column).then_some(at + 1);
            }
        }
        None
    }
}
