//! One line of a huge file, decoded as it comes; a line is never held beyond what is shown of it.

use encoding_rs::{Decoder, DecoderResult};

use crate::view::excerpt::{ExcerptLine, Length};
use crate::view::window::RAW_LINE_CAP;

use super::blocks::{BlockReader, Halt};
use super::head::Head;

/// Bytes of a line whose characters are counted; of a longer one only that it is longer is said.
const COUNTED_BYTES: u64 = 64 * 1024 * 1024;

/// How lines are shown.
#[derive(Debug, Clone, Copy)]
pub struct LineShape {
    pub head: Head,
    pub raw: bool,
    /// Characters after which a row that is not raw is cut.
    pub columns: usize,
}

impl LineShape {
    /// UTF-8 bytes of a line that may be shown.
    fn cap(&self) -> usize {
        match self.raw {
            true => RAW_LINE_CAP + 4,
            // One character more tells that there is more, one more may be the CR of the end.
            false => self
                .columns
                .saturating_add(2)
                .saturating_mul(4)
                .min(8 * RAW_LINE_CAP),
        }
    }
}

/// Where the next line begins.
#[derive(Debug, Clone, Copy)]
pub struct Cursor {
    /// Byte of the file.
    pub at: u64,
    /// Number of the line that begins there.
    pub number: u64,
}

/// A line and whether it holds bytes that mean nothing in the encoding.
#[derive(Debug)]
pub struct Taken {
    pub line: ExcerptLine,
    pub lossy: bool,
}

/// Takes the line at the cursor and moves on to the next; `None` at the end of the file.
pub fn take(
    blocks: &mut BlockReader,
    cursor: &mut Cursor,
    shape: &LineShape,
) -> Result<Option<Taken>, Halt> {
    let newline = shape.head.newline;
    if cursor.at >= blocks.size() {
        return Ok(None);
    }
    let mut maker = Maker::new(shape);
    let mut ended = false;
    while !ended {
        let bytes = blocks.from(cursor.at)?;
        if bytes.is_empty() {
            break;
        }
        let end = newline.ends(bytes).next();
        ended = end.is_some();
        let passed = end.unwrap_or(bytes.len());
        let text = end.map_or(passed, |end| end - newline.bytes());
        maker.feed(&bytes[..text]);
        cursor.at += passed as u64;
    }
    let number = cursor.number;
    cursor.number += 1;
    Ok(Some(maker.finish(number, ended)))
}

/// Decodes a line piece by piece and keeps its beginning.
struct Maker<'s> {
    shape: &'s LineShape,
    decoder: Decoder,
    scratch: String,
    kept: String,
    fed: u64,
    chars: u64,
    /// UTF-8 bytes.
    bytes: u64,
    ends_with_cr: bool,
    lossy: bool,
}

/// Bytes of the decoder's output at a time.
const SCRATCH: usize = 64 * 1024;

impl<'s> Maker<'s> {
    fn new(shape: &'s LineShape) -> Maker<'s> {
        Maker {
            shape,
            decoder: shape.head.encoding.new_decoder_without_bom_handling(),
            scratch: String::new(),
            kept: String::new(),
            fed: 0,
            chars: 0,
            bytes: 0,
            ends_with_cr: false,
            lossy: false,
        }
    }

    fn feed(&mut self, bytes: &[u8]) {
        if self.fed <= COUNTED_BYTES {
            self.decode(bytes, false);
        }
        self.fed += bytes.len() as u64;
    }

    fn decode(&mut self, mut bytes: &[u8], last: bool) {
        if self.scratch.capacity() == 0 {
            self.scratch.reserve(SCRATCH.min(bytes.len() * 3 + 64));
        }
        loop {
            let (result, used) =
                self.decoder
                    .decode_to_string_without_replacement(bytes, &mut self.scratch, last);
            bytes = &bytes[used..];
            self.absorb();
            match result {
                DecoderResult::InputEmpty => return,
                DecoderResult::Malformed(..) => {
                    self.lossy = true;
                    self.scratch.push('\u{FFFD}');
                    self.absorb();
                }
                DecoderResult::OutputFull => {}
            }
        }
    }

    /// Counts what was decoded and keeps it as long as it may be shown.
    fn absorb(&mut self) {
        if self.scratch.is_empty() {
            return;
        }
        self.chars += self.scratch.chars().count() as u64;
        self.bytes += self.scratch.len() as u64;
        self.ends_with_cr = self.scratch.ends_with('\r');
        let room = self.shape.cap().saturating_sub(self.kept.len());
        let keep = self.scratch.floor_char_boundary(room);
        self.kept.push_str(&self.scratch[..keep]);
        self.scratch.clear();
    }

    fn finish(mut self, number: u64, ended: bool) -> Taken {
        let counted = self.fed <= COUNTED_BYTES;
        if counted {
            self.decode(&[], true);
        }
        let cr = u64::from(ended && counted && self.ends_with_cr);
        let length = match counted {
            true => Length::Chars(self.chars - cr),
            false => Length::OverBytes(COUNTED_BYTES),
        };
        let whole = match self.shape.raw {
            true => self.bytes - cr <= RAW_LINE_CAP as u64,
            false => self.chars - cr <= self.shape.columns as u64,
        };
        let whole = whole && counted;
        let text = match whole {
            true => {
                self.kept.truncate((self.bytes - cr) as usize);
                self.kept
            }
            false => self.cut(),
        };
        Taken {
            line: ExcerptLine {
                number,
                text,
                end: match (ended, cr) {
                    (false, _) => "",
                    (true, 0) => "\n",
                    (true, _) => "\r\n",
                },
                cut: (!whole).then_some(length),
            },
            lossy: self.lossy,
        }
    }

    fn cut(&self) -> String {
        if self.shape.raw {
            return self.kept[..self.kept.floor_char_boundary(RAW_LINE_CAP)].to_owned();
        }
        let at = self.kept.char_indices().nth(self.shape.columns);
        let at = at.map_or(self.kept.len(), |(index, _)| index);
        format!("{}…", &self.kept[..at])
    }
}
