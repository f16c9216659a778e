//! What format a picture has, by its bytes, and what its container tells before anything is decoded; a name is never asked.

use image::ImageFormat;
use serde::{Deserialize, Serialize};

/// A format that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    Png,
    Jpeg,
    Gif,
    WebP,
    Bmp,
    Tiff,
    Ico,
}

/// Sizes of the headers that a BMP may have after its first 14 bytes.
const BMP_HEADERS: [u32; 8] = [12, 16, 40, 52, 56, 64, 108, 124];

impl Format {
    /// The format of what begins with these bytes.
    pub fn of(head: &[u8]) -> Option<Format> {
        const SIGNATURES: [(&[u8], Format); 7] = [
            (b"\x89PNG\r\n\x1a\n", Format::Png),
            (b"\xff\xd8\xff", Format::Jpeg),
            (b"GIF87a", Format::Gif),
            (b"GIF89a", Format::Gif),
            (b"II*\0", Format::Tiff),
            (b"MM\0*", Format::Tiff),
            (b"\0\0\x01\0", Format::Ico),
        ];
        let begins = SIGNATURES.iter().find(|(mark, _)| head.starts_with(mark));
        if let Some((_, format)) = begins {
            return Some(*format);
        }
        if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
            return Some(Format::WebP);
        }
        // Two letters are no signature: what follows them must be a header, or be cut off in one.
        let is_bmp = head.starts_with(b"BM")
            && match le32(head, 14) {
                Some(size) => BMP_HEADERS.contains(&size),
                None => head.contains(&0),
            };
        is_bmp.then_some(Format::Bmp)
    }

    pub fn mime_type(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
            Format::Gif => "image/gif",
            Format::WebP => "image/webp",
            Format::Bmp => "image/bmp",
            Format::Tiff => "image/tiff",
            Format::Ico => "image/x-icon",
        }
    }

    /// As a sentence names it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Png => "PNG image",
            Format::Jpeg => "JPEG image",
            Format::Gif => "GIF image",
            Format::WebP => "WebP image",
            Format::Bmp => "BMP image",
            Format::Tiff => "TIFF image",
            Format::Ico => "ICO image",
        }
    }

    pub fn codec(self) -> ImageFormat {
        match self {
            Format::Png => ImageFormat::Png,
            Format::Jpeg => ImageFormat::Jpeg,
            Format::Gif => ImageFormat::Gif,
            Format::WebP => ImageFormat::WebP,
            Format::Bmp => ImageFormat::Bmp,
            Format::Tiff => ImageFormat::Tiff,
            Format::Ico => ImageFormat::Ico,
        }
    }

    /// Whether models take it as it is.
    pub fn is_for_models(self) -> bool {
        matches!(
            self,
            Format::Png | Format::Jpeg | Format::Gif | Format::WebP
        )
    }

    /// How many bytes of pixels a byte of a file can stand for, at the most: by the densest codes
    /// that the format has, each for pixels of one colour. WebP and fax codes in TIFF know no such
    /// bound; what says more than this is nothing that anybody wants to see.
    pub fn densest(self) -> u64 {
        match self {
            // Deflate: 1032, of which one bit is a pixel of eight.
            Format::Png | Format::Tiff | Format::Ico => 8_300,
            // A bit for each of six blocks of 64 samples.
            Format::Jpeg => 1_200,
            // Twelve bits for 4096 pixels of four channels.
            Format::Gif => 11_000,
            Format::Bmp => 4_000,
            Format::WebP => 20_000,
        }
    }

    /// What of the file is not in its first picture, as a notice says it.
    pub fn left_out(self, bytes: &[u8]) -> Option<&'static str> {
        const ANIMATED: &str = "It is animated; only the first frame is shown";
        match self {
            Format::Png => png_is_animated(bytes).then_some(ANIMATED),
            Format::Gif => gif_has_two(bytes).then_some(ANIMATED),
            Format::WebP => webp_is_animated(bytes).then_some(ANIMATED),
            Format::Tiff => {
                tiff_has_two(bytes).then_some("It has several pages; only the first is shown")
            }
            Format::Jpeg | Format::Bmp | Format::Ico => None,
        }
    }

    /// The largest picture of an icon, where that is a PNG.
    /// <https://learn.microsoft.com/windows/win32/menurc/newheader>
    pub fn png_within(self, bytes: &[u8]) -> Option<&[u8]> {
        if self != Format::Ico {
            return None;
        }
        let count = u16::from_le_bytes(bytes.get(4..6)?.try_into().ok()?);
        let entry = |number: u16| {
            let at = 6 + usize::from(number) * 16;
            let [width, height] = bytes.get(at..at + 2)?.try_into().ok()?;
            // A side of 256 pixels is written as 0.
            let side = |written: u8| usize::from(written.wrapping_sub(1)) + 1;
            let (length, start) = (le32(bytes, at + 8)?, le32(bytes, at + 12)?);
            let end = (start as usize).checked_add(length as usize)?;
            Some((side(width) * side(height), start as usize..end))
        };
        let largest = (0..count).filter_map(entry).max_by_key(|(size, _)| *size);
        let data = bytes.get(largest?.1)?;
        (Format::of(data) == Some(Format::Png)).then_some(data)
    }

    /// Whether the file goes to its end. Decoders that put up with a missing end would have the
    /// rest of the picture gray, and stricter ones, of who is shown the file, would fail.
    pub fn has_end(self, bytes: &[u8]) -> bool {
        match self {
            Format::Png => png_chunks(bytes).any(|kind| kind == *b"IEND"),
            Format::Jpeg => jpeg_has_end(bytes),
            _ => true,
        }
    }
}

fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// The kinds of a PNG's chunks, in order, as far as they are whole.
fn png_chunks(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    let mut at = 8usize;
    std::iter::from_fn(move || {
        let head = bytes.get(at..at.checked_add(8)?)?;
        let (length, kind) = head.split_at(4);
        let length = u32::from_be_bytes(length.try_into().ok()?) as usize;
        at = at.checked_add(length)?.checked_add(12)?;
        (at <= bytes.len()).then(|| kind.try_into().ok()).flatten()
    })
}

fn png_is_animated(bytes: &[u8]) -> bool {
    let mut before_pixels = png_chunks(bytes).take_while(|kind| kind != b"IDAT");
    before_pixels.any(|kind| kind == *b"acTL")
}

fn webp_is_animated(bytes: &[u8]) -> bool {
    bytes.get(12..16) == Some(b"VP8X") && bytes.get(20).is_some_and(|flags| flags & 2 != 0)
}

/// Whether the chain of directories has a second one.
fn tiff_has_two(bytes: &[u8]) -> bool {
    let big = bytes.starts_with(b"MM");
    let number = |at: usize, count: usize| -> Option<usize> {
        let bytes = bytes.get(at..at.checked_add(count)?)?;
        let push = |sum: usize, byte: &u8| sum << 8 | usize::from(*byte);
        Some(match big {
            true => bytes.iter().fold(0, push),
            false => bytes.iter().rev().fold(0, push),
        })
    };
    let first = number(4, 4);
    let entries = first.and_then(|first| number(first, 2));
    let next = first
        .zip(entries)
        .and_then(|(first, entries)| number(first + 2 + entries * 12, 4));
    next.is_some_and(|next| next != 0 && Some(next) != first)
}

/// Whether a GIF holds a second picture. <https://www.w3.org/Graphics/GIF/spec-gif89a.txt>
fn gif_has_two(bytes: &[u8]) -> bool {
    let table = |flags: u8| match flags & 0x80 {
        0 => 0,
        _ => 3usize << ((flags & 7) + 1),
    };
    // Blocks of data, each with its length before it, up to one of no length.
    let after_blocks = |mut at: usize| loop {
        match bytes.get(at)? {
            0 => return Some(at + 1),
            length => at += 1 + usize::from(*length),
        }
    };
    let mut at = 13 + bytes.get(10).map_or(0, |flags| table(*flags));
    let mut pictures = 0;
    loop {
        let next = match bytes.get(at) {
            Some(0x21) => after_blocks(at + 2),
            Some(0x2C) => {
                pictures += 1;
                let flags = bytes.get(at + 9);
                flags.and_then(|flags| after_blocks(at + 11 + table(*flags)))
            }
            _ => None,
        };
        match next {
            Some(next) if pictures < 2 => at = next,
            _ => return pictures > 1,
        }
    }
}

/// Whether the end of the picture comes after its scans; a thumbnail within a segment has an end
/// of its own.
fn jpeg_has_end(bytes: &[u8]) -> bool {
    let mut at = 2usize;
    loop {
        // Markers are found by their 0xFF; in a scan one with 0 after it is data.
        let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(0xFF, rest)) else {
            return false;
        };
        at += found + 1;
        match bytes.get(at) {
            None => return false,
            Some(0xD9) => return true,
            Some(0 | 0x01 | 0xD0..=0xD8) => at += 1,
            Some(0xFF) => {}
            Some(_) => {
                let length = bytes.get(at + 1..at + 3);
                let length = length.map_or(0, |l| usize::from(l[0]) << 8 | usize::from(l[1]));
                at += 1 + length;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_letters_are_no_bmp() {
        assert_eq!(Format::of(b"BMW builds cars in Munich."), None);
        assert_eq!(Format::of(b"BM\x0a"), None);
        assert_eq!(Format::of(b"BM\x36\0\0\0\0\0"), Some(Format::Bmp));
        assert_eq!(Format::of(b""), None);
    }

    #[test]
    fn an_end_within_a_segment_is_not_the_pictures() {
        // An APP1 segment that holds an end, then a scan without one.
        let cut =
            b"\xff\xd8\xff\xe1\x00\x06\xff\xd9\x00\x00\xff\xda\x00\x04\x00\x00\x12\xff\x00\x34";
        assert!(!jpeg_has_end(cut));
        assert!(jpeg_has_end(
            &[&cut[..], b"\xff\xd0\x01\xff\xff\xd9"].concat()
        ));
    }

    proptest::proptest! {
        /// Bytes that begin like a picture never lead a walk astray.
        #[test]
        fn walks_end(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            for mark in [&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff", b"GIF89a", b"II*\0", b"MM\0*"] {
                let bytes = [mark, &bytes].concat();
                if let Some(format) = Format::of(&bytes) {
                    let _ = (format.left_out(&bytes), format.has_end(&bytes));
                }
            }
        }
    }
}
