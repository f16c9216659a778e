//! From text to bytes in a file's encoding; nothing here puts another character in the place of one that does not fit.

use std::borrow::Cow;

use encoding_rs::{EncoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// A character that an encoding has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the character '{}' (U+{:04X}) does not exist in {encoding}. Leave it out, or write it with characters of {encoding}.",
    character.escape_debug(), u32::from(*character)
)]
pub struct Unmappable {
    pub character: char,
    /// The WHATWG name.
    pub encoding: &'static str,
}

/// The bytes of a text, without a BOM. Errors name the first character that does not fit.
pub fn encode<'a>(text: &'a str, encoding: &'static Encoding) -> Result<Cow<'a, [u8]>, Unmappable> {
    if encoding == UTF_8 {
        return Ok(Cow::Borrowed(text.as_bytes()));
    }
    // The library follows the web, which never writes UTF-16.
    if encoding == UTF_16LE {
        return Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
    }
    if encoding == UTF_16BE {
        return Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
    }
    let mut encoder = encoding.new_encoder();
    let mut bytes = Vec::with_capacity(text.len() + 16);
    let mut rest = text;
    loop {
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return Ok(Cow::Owned(bytes)),
            EncoderResult::Unmappable(character) => {
                return Err(Unmappable {
                    character,
                    encoding: encoding.name(),
                });
            }
            EncoderResult::OutputFull => bytes.reserve(rest.len().max(64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{
        BIG5, EUC_KR, GB18030, GBK, ISO_2022_JP, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252,
    };

    use super::*;

    #[test]
    fn what_is_encoded_decodes_to_the_same() {
        let text = "plain\r\nx\ty\n";
        for (encoding, own) in [
            (UTF_8, "é漢😀"),
            (UTF_16LE, "é漢😀"),
            (UTF_16BE, "é漢😀"),
            (GB18030, "é漢😀"),
            (GBK, "汉字"),
            (BIG5, "漢字"),
            (SHIFT_JIS, "日本語ｱ"),
            (ISO_2022_JP, "日本語"),
            (EUC_KR, "한국어"),
            (WINDOWS_1251, "Привет"),
            (WINDOWS_1252, "café €"),
        ] {
            let text = format!("{own}{text}{own}");
            let bytes = encode(&text, encoding).unwrap();
            let (back, bad) = encoding.decode_without_bom_handling(&bytes);
            assert_eq!((&*back, bad), (text.as_str(), false), "{}", encoding.name());
        }
    }

    #[test]
    fn a_character_that_does_not_fit_is_named() {
        let error = encode("a中b", WINDOWS_1252).unwrap_err();
        assert_eq!(error.character, '中');
        insta::assert_snapshot!(error, @"the character '中' (U+4E2D) does not exist in windows-1252. Leave it out, or write it with characters of windows-1252.");
        assert_eq!(encode("é", SHIFT_JIS).unwrap_err().character, 'é');
        assert_eq!(encode("\u{fffd}", GBK).unwrap_err().character, '\u{fffd}');
    }
}
