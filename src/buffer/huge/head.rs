//! What the first mebibyte of a huge file tells: its encoding, or that it is no text; nothing here looks further.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::memchr_iter;

use crate::buffer::EncodingHints;
use crate::text::{Confidence, LineEnding, NotText, decode};

/// How the bytes of a huge file are to be read. Without a mark or a declaration the encoding is
/// never certain, since the rest of the file was not looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Head {
    pub encoding: &'static Encoding,
    pub confidence: Confidence,
    /// Bytes of the byte order mark, or 0.
    pub bom_bytes: u64,
    /// The line ends of the head: `lf`, `crlf` or `mixed`.
    pub line_ending: Option<&'static str>,
    pub newline: Newline,
}

impl Head {
    /// Judges the first bytes of a file, which may end within a character.
    pub fn of(sample: &[u8], hints: EncodingHints) -> Result<Head, NotText> {
        let declared = hints.for_bytes(sample);
        let decoded = decode(whole_characters(sample), declared)?;
        let certain = decoded.bom || declared.is_some();
        let ending = decoded.text.line_ending();
        Ok(Head {
            encoding: decoded.encoding,
            confidence: match certain {
                true => Confidence::Certain,
                false => Confidence::Likely,
            },
            bom_bytes: match decoded.bom {
                true if decoded.encoding == UTF_8 => 3,
                true => 2,
                false => 0,
            },
            line_ending: match ending {
                LineEnding::Lf | LineEnding::Crlf | LineEnding::Mixed => Some(ending.as_str()),
                LineEnding::Cr | LineEnding::None => None,
            },
            newline: Newline::of(decoded.encoding),
        })
    }
}

/// The sample up to a place where no character is cut: the end of a line, else after a byte that is
/// no part of a longer character in any encoding.
fn whole_characters(sample: &[u8]) -> &[u8] {
    let wide = memchr::memchr(0, sample).is_some()
        || sample.starts_with(b"\xFF\xFE")
        || sample.starts_with(b"\xFE\xFF");
    if wide {
        let even = &sample[..sample.len() & !1];
        let big = even.chunks_exact(2).rposition(|unit| unit == b"\0\n");
        let little = even.chunks_exact(2).rposition(|unit| unit == b"\n\0");
        let units = big.max(little).map(|at| (at + 1) * 2);
        return &even[..units.unwrap_or(even.len())];
    }
    let line = memchr::memrchr(b'\n', sample);
    // GB 18030 has digits inside characters, the others nothing below '@'.
    let safe = line.or_else(|| sample.iter().rposition(|&byte| byte < b'0'));
    &sample[..safe.map_or(sample.len(), |at| at + 1)]
}

/// What ends a line in the bytes. In every encoding but UTF-16 the byte 0x0A is a line feed and part
/// of no other character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newline {
    Byte,
    Utf16Le,
    Utf16Be,
}

impl Newline {
    fn of(encoding: &'static Encoding) -> Newline {
        if encoding == UTF_16LE {
            Newline::Utf16Le
        } else if encoding == UTF_16BE {
            Newline::Utf16Be
        } else {
            Newline::Byte
        }
    }

    /// Bytes of a newline.
    pub fn bytes(self) -> usize {
        match self {
            Newline::Byte => 1,
            Newline::Utf16Le | Newline::Utf16Be => 2,
        }
    }

    /// Where newlines end in `bytes`, which begin at an even place of the file.
    pub fn ends(self, bytes: &[u8]) -> impl Iterator<Item = usize> {
        memchr_iter(b'\n', bytes).filter_map(move |at| match self {
            Newline::Byte => Some(at + 1),
            Newline::Utf16Le => (at % 2 == 0 && bytes.get(at + 1) == Some(&0)).then_some(at + 2),
            Newline::Utf16Be => (at % 2 == 1 && bytes[at - 1] == 0).then_some(at + 1),
        })
    }

    /// How many newlines there are.
    pub fn count(self, bytes: &[u8]) -> u64 {
        match self {
            // The iterator's own count is vectorised.
            Newline::Byte => memchr_iter(b'\n', bytes).count() as u64,
            _ => self.ends(bytes).count() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_not_cut_within_a_character() {
        assert_eq!(whole_characters("aé\né".as_bytes()), "aé\n".as_bytes());
        assert_eq!(whole_characters(b"ab cd\x83"), b"ab ");
        assert_eq!(
            whole_characters(b"\xFF\xFEa\0\n\0b\0\x3D"),
            b"\xFF\xFEa\0\n\0"
        );
        assert_eq!(whole_characters(b"\xFE\xFF\0a\0\n\xD8"), b"\xFE\xFF\0a\0\n");
    }

    #[test]
    fn a_newline_of_utf16_is_a_unit_and_not_a_byte() {
        // U+0A00, LF, U+000A after an odd byte.
        let little = b"\0\x0A\x0A\0a\x0A";
        assert_eq!(Newline::Utf16Le.ends(little).collect::<Vec<_>>(), [4]);
        let big = b"\x0A\0\0\x0A\x0Aa";
        assert_eq!(Newline::Utf16Be.ends(big).collect::<Vec<_>>(), [4]);
        assert_eq!(Newline::Byte.count(big), 3);
    }
}
