//! The tag and the content hash of a normalised text; a tag is a name and never proves that two texts are equal.

use std::fmt;
use std::str::FromStr;

use memchr::memchr_iter;
use xxhash_rust::xxh3::Xxh3;
use xxhash_rust::xxh32::Xxh32;

use crate::text::Text;

/// The name of a snapshot in headers: shown and written as four hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u16);

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04X}", self.0)
    }
}

/// What is not a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a tag is exactly four hex digits")]
pub struct BadTag;

impl FromStr for Tag {
    type Err = BadTag;

    /// Takes exactly four hex digits of any case, and nothing around them.
    fn from_str(text: &str) -> Result<Tag, BadTag> {
        // The digits are checked here because `from_str_radix` takes a sign as well.
        if text.len() != 4 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(BadTag);
        }
        u16::from_str_radix(text, 16).map(Tag).map_err(|_| BadTag)
    }
}

/// Two hashes over one normalised text: CRLF read as LF, and spaces, tabs and CRs dropped at the end
/// of every line, of a last line without a newline too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// The tag a text has where no other text took it first: the low 16 bits of xxh32, seed 0.
    pub natural_tag: u16,
    /// What identifies the text: xxh3-128.
    pub content: u128,
}

/// The fingerprint of a text, in one pass over its chunks; nothing but runs of blanks is looked at twice.
pub fn fingerprint(text: &Text) -> Fingerprint {
    let mut hashes = Hashes::new();
    // Blanks at the end of what was read so far: text if more of their line follows, else dropped.
    let mut held: Vec<&[u8]> = Vec::new();
    for chunk in text.chunks() {
        add_chunk(chunk.as_bytes(), &mut held, &mut hashes);
    }
    hashes.finish()
}

/// Adds a chunk that begins anywhere in a line; `held` are the blanks right before it.
fn add_chunk<'a>(chunk: &'a [u8], held: &mut Vec<&'a [u8]>, hashes: &mut Hashes) {
    if let (Some(first), Some(last)) = (chunk.first(), chunk.last())
        && !is_blank(*last)
        && !has_blanks_before_ends(chunk)
    {
        // Nothing to leave out. Its first line, unless it is empty, has something in it.
        settle(held, *first != b'\n', hashes);
        return hashes.add(chunk);
    }
    // Everything before `added` is hashed or dropped. A run goes on until blanks must be left out.
    let (mut added, mut line) = (0, 0);
    for lf in memchr_iter(b'\n', chunk) {
        let end = line + trimmed(&chunk[line..lf]);
        settle(held, end > line, hashes);
        if end < lf {
            hashes.add(&chunk[added..end]);
            added = lf;
        }
        line = lf + 1;
    }
    let end = line + trimmed(&chunk[line..]);
    if end > line {
        settle(held, true, hashes);
    }
    hashes.add(&chunk[added..end]);
    if end < chunk.len() {
        held.push(&chunk[end..]);
    }
}

/// Whether any line has blanks at its end. Looks at every byte in the same way, without a branch:
/// that is made into vector instructions, and most texts have none.
fn has_blanks_before_ends(chunk: &[u8]) -> bool {
    let pairs = chunk.iter().zip(&chunk[1..]);
    pairs.fold(false, |found, (byte, next)| {
        found | ((*next == b'\n') & is_blank(*byte))
    })
}

fn is_blank(byte: u8) -> bool {
    (byte == b' ') | (byte == b'\t') | (byte == b'\r')
}

/// Hashes the held blanks when they turned out to be inside a line; forgets them either way.
fn settle(held: &mut Vec<&[u8]>, inside_line: bool, hashes: &mut Hashes) {
    for blanks in held.drain(..) {
        if inside_line {
            hashes.add(blanks);
        }
    }
}

/// Bytes of a line up to its trailing blanks.
fn trimmed(line: &[u8]) -> usize {
    line.iter()
        .rposition(|byte| !is_blank(*byte))
        .map_or(0, |last| last + 1)
}

/// Bytes gathered before they are hashed.
const GATHERED: usize = 4096;

/// Both hashes at once. Pieces are gathered first: with CRLF they are as short as lines, and a hash
/// that is fed little by little is several times slower.
struct Hashes {
    tag: Xxh32,
    content: Xxh3,
    gathered: [u8; GATHERED],
    len: usize,
}

impl Hashes {
    fn new() -> Hashes {
        Hashes {
            tag: Xxh32::new(0),
            content: Xxh3::new(),
            gathered: [0; GATHERED],
            len: 0,
        }
    }

    fn add(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            let (now, later) = piece.split_at(piece.len().min(GATHERED - self.len));
            self.gathered[self.len..self.len + now.len()].copy_from_slice(now);
            self.len += now.len();
            piece = later;
            if self.len == GATHERED {
                self.hash_gathered();
            }
        }
    }

    fn hash_gathered(&mut self) {
        self.tag.update(&self.gathered[..self.len]);
        self.content.update(&self.gathered[..self.len]);
        self.len = 0;
    }

    fn finish(mut self) -> Fingerprint {
        self.hash_gathered();
        Fingerprint {
            // The low 16 bits are the tag by definition.
            natural_tag: (self.tag.digest() & 0xFFFF) as u16,
            content: self.content.digest128(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use xxhash_rust::{xxh3::xxh3_128, xxh32::xxh32};

    use super::*;

    fn naive(text: &str) -> Fingerprint {
        let cr_lines = !text.contains('\n');
        let text = if cr_lines {
            text.replace('\r', "\n")
        } else {
            text.to_owned()
        };
        let lines: Vec<&str> = text
            .split('\n')
            .map(|line| line.trim_end_matches([' ', '\t', '\r']))
            .collect();
        let bytes = lines.join("\n").into_bytes();
        Fingerprint {
            natural_tag: (xxh32(&bytes, 0) & 0xFFFF) as u16,
            content: xxh3_128(&bytes),
        }
    }

    fn tag_of(text: &str) -> String {
        Tag(fingerprint(&Text::new(text)).natural_tag).to_string()
    }

    #[test]
    fn vectors_of_the_contract() {
        for (text, tag) in [
            ("", "5D05"),
            ("\n", "D352"),
            ("a", "7456"),
            ("a\n", "9585"),
            ("a\nb\n", "9A46"),
            ("a \t\nb\r\n", "9A46"),
            ("a\rb\r", "9A46"),
            ("é\n", "1941"),
            ("l1\nl2\nl3\nl4\nl5\n", "7CCB"),
            ("line one 263\nline two 4471\n", "1D84"),
            ("line one 410\nline two 6970\n", "1D84"),
        ] {
            assert_eq!(tag_of(text), tag, "{text:?}");
        }
    }

    #[test]
    fn one_tag_but_two_contents() {
        let one = fingerprint(&Text::new("line one 263\nline two 4471\n"));
        let two = fingerprint(&Text::new("line one 410\nline two 6970\n"));
        assert_eq!(one.natural_tag, two.natural_tag);
        assert_ne!(one.content, two.content);
    }

    #[test]
    fn the_last_line_loses_its_blanks_but_keeps_its_newline() {
        assert_eq!(tag_of("a \t "), tag_of("a"));
        assert_eq!(tag_of("x\na \t \r"), tag_of("x\na"));
        assert_ne!(tag_of("a\n"), tag_of("a"));
        assert_ne!(tag_of(" a"), tag_of("a"));
    }

    #[test]
    fn tags_are_four_hex_digits() {
        assert_eq!("00aF".parse(), Ok(Tag(0xAF)));
        assert_eq!(Tag(0xAF).to_string(), "00AF");
        for bad in ["", "0AF", "000AF", "+0AF", "00AG", " 0AF", "é00"] {
            assert_eq!(bad.parse::<Tag>(), Err(BadTag), "{bad:?}");
        }
    }

    /// Pieces long and short, so that runs of blanks and lines cross chunk borders.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => Just("\n".to_owned()),
            3 => Just("\r\n".to_owned()),
            2 => Just("\r".to_owned()),
            4 => "[ \t\r]{1,4}",
            4 => "[a-zé中]{1,40}",
            1 => (1usize..2500).prop_map(|n| " ".repeat(n)),
            1 => (1usize..900).prop_map(|n| "é".repeat(n)),
            1 => (1usize..400).prop_map(|n| " \t\r".repeat(n)),
        ];
        proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn streaming_equals_naive(text in pieces()) {
            prop_assert_eq!(fingerprint(&Text::new(&text)), naive(&text));
        }

        #[test]
        fn cr_lines_are_lines(text in "[a \t\r]{0,40}") {
            prop_assert_eq!(fingerprint(&Text::new(&text)), naive(&text));
        }
    }
}
