//! Names as rows and headers write them; a name never looks like something that we would write ourselves.

use std::borrow::Cow;
use std::fmt::Write;

/// A path in a header: as a JSON string where it has a control character, a quote, or a blank at
/// an end.
pub fn in_header(path: &str) -> Cow<'_, str> {
    let misread = path.contains(|c: char| is_hidden(c) || c == '"')
        || path.starts_with(char::is_whitespace)
        || path.ends_with(char::is_whitespace);
    match misread {
        true => Cow::Owned(quoted(path)),
        false => Cow::Borrowed(path),
    }
}

/// A name in a listing: as a JSON string also where it would read as two columns, as a link, or
/// as a row of ours.
pub fn in_listing(name: &str) -> Cow<'_, str> {
    let misread = name.contains("  ") || name.contains(" -> ") || name.starts_with('…');
    match misread {
        true => Cow::Owned(quoted(name)),
        false => in_header(name),
    }
}

/// What ends a line for some reader, or turns the text around: never printed as it is.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200E}' | '\u{200F}')
        || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

pub(super) fn quoted(name: &str) -> String {
    let mut json = String::with_capacity(name.len() + 8);
    json.push('"');
    for c in name.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            // All of these are below U+10000: one escape is enough.
            c if is_hidden(c) => {
                let _ = write!(json, "\\u{:04x}", u32::from(c));
            }
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_misread_is_json() {
        let odd = [
            "a\nb",
            "a\"b",
            " a",
            "a ",
            "\u{85}",
            "a\u{202E}b",
            "a\u{2028}b",
            "\u{1b}[0m",
        ];
        for name in odd {
            let written = in_header(name);
            assert!(!written.contains(is_hidden), "{written}");
            let back: String = serde_json::from_str(&written).expect(&written);
            assert_eq!(back, name);
        }
        for name in ["x  21B", "a -> b", "… 9 more"] {
            assert_eq!(in_header(name), name);
            assert_eq!(
                serde_json::from_str::<String>(&in_listing(name)).ok(),
                Some(name.to_owned())
            );
        }
        for name in ["(auth)", "a b", "it's", "back\\slash", "[id].tsx", "ü"] {
            assert_eq!(in_listing(name), name);
        }
    }
}
