//! JSON with long texts in it.
//!
//! serde_json looks at each byte of a text by itself, which was a fifth of all that a warm read of 10 KB
//! took. Here a long text is given to the serializer as bytes, and the formatter, whose word that is, writes
//! them as the JSON string that they are.

use std::io;

use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;

/// For a field that may hold a long text (`serialize_with`). Only [`to_json`] writes it as a string.
pub fn long_text<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(text.as_bytes())
}

/// A value as compact JSON.
///
/// # Errors
///
/// Where a type cannot be JSON, or has bytes that are no text.
pub fn to_json(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut json = Vec::with_capacity(128);
    let mut serializer = serde_json::Serializer::with_formatter(&mut json, LongTexts);
    value.serialize(&mut serializer)?;
    Ok(json)
}

struct LongTexts;

impl Formatter for LongTexts {
    fn write_byte_array<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        value: &[u8],
    ) -> io::Result<()> {
        let text = std::str::from_utf8(value).map_err(io::Error::other)?;
        writer.write_all(json_escape_simd::escape(text).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Serialize)]
    struct Long {
        #[serde(serialize_with = "long_text")]
        text: String,
        more: u64,
    }

    #[derive(Serialize)]
    struct Short {
        text: String,
        more: u64,
    }

    proptest! {
        #[test]
        fn a_long_text_is_written_as_any_other(text in "(?s).{0,200}", more: u64) {
            let short = serde_json::to_vec(&Short { text: text.clone(), more }).expect("JSON");
            prop_assert_eq!(to_json(&Long { text, more }).expect("JSON"), short);
        }

        #[test]
        fn so_is_one_of_what_must_be_escaped(text in "[\u{0}-\u{30}\"\\\\\u{7f}-\u{a0}\u{2028}𝄞]{0,300}") {
            let short = serde_json::to_vec(&Short { text: text.clone(), more: 0 }).expect("JSON");
            prop_assert_eq!(to_json(&Long { text, more: 0 }).expect("JSON"), short);
        }
    }
}
