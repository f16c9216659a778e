//! JSON as a model reads it best: two blanks for each level, every key, number and escape as it was sent.
//!
//! Nothing is made of values on the way: a number stays the digits that it was, and a key that is
//! there twice is there twice.

use serde::de::IgnoredAny;

/// Why a text is shown as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotIndented {
    #[error("it is not valid JSON")]
    Invalid,
    #[error("indented it would be too large")]
    TooLarge,
}

/// Levels of what is indented.
const MAX_DEPTH: usize = 128;

/// The text with line ends and indentation, of at most `limit` bytes.
///
/// # Errors
///
/// `Invalid` for what does not parse, and for what nests over 128 levels.
pub fn indented(text: &str, limit: usize) -> Result<String, NotIndented> {
    serde_json::from_str::<IgnoredAny>(text).map_err(|_| NotIndented::Invalid)?;
    let mut out = String::with_capacity(text.len().saturating_mul(3) / 2);
    let mut depth = 0;
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let token = token(rest, first);
        let (word, behind) = rest.split_at(token);
        rest = behind.trim_start();
        match first {
            '{' | '[' if rest.starts_with(['}', ']']) => {
                out.push(first);
                out.push_str(&rest[..1]);
                rest = rest[1..].trim_start();
            }
            '{' | '[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(NotIndented::Invalid);
                }
                out.push(first);
                new_line(&mut out, depth);
            }
            '}' | ']' => {
                depth -= 1;
                new_line(&mut out, depth);
                out.push(first);
            }
            ',' => {
                out.push(first);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => out.push_str(word),
        }
        if out.len() > limit {
            return Err(NotIndented::TooLarge);
        }
    }
    out.push('\n');
    Ok(out)
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// Bytes of the token that a valid text begins with.
fn token(rest: &str, first: char) -> usize {
    match first {
        '"' => {
            let mut is_escaped = false;
            let closes = rest.bytes().skip(1).position(|byte| {
                let closes = byte == b'"' && !is_escaped;
                is_escaped = byte == b'\\' && !is_escaped;
                closes
            });
            closes.map_or(rest.len(), |at| at + 2)
        }
        '{' | '}' | '[' | ']' | ',' | ':' => 1,
        _ => rest
            .find(|c: char| c.is_ascii_whitespace() || "{}[],:\"".contains(c))
            .unwrap_or(rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn everything_stays_as_it_was_sent() {
        let sent = r#" {"b":1.10, "a":[1e400,-0,{}, [ ]],"a":"\u00e9 \"x\" \\", "n":12345678901234567890123 } "#;
        insta::assert_snapshot!(indented(sent, 1000).expect("valid"), @r#"
        {
          "b": 1.10,
          "a": [
            1e400,
            -0,
            {},
            []
          ],
          "a": "\u00e9 \"x\" \\",
          "n": 12345678901234567890123
        }
        "#);
        assert_eq!(indented("[1,]", 100), Err(NotIndented::Invalid));
        assert_eq!(indented(&"[".repeat(200), 1000), Err(NotIndented::Invalid));
        assert_eq!(indented("[[[[1]]]]", 20), Err(NotIndented::TooLarge));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(".{0,5}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_value_stays(value in values()) {
            let sent = serde_json::to_string(&value).expect("plain data");
            let text = indented(&sent, usize::MAX).expect("valid");
            prop_assert_eq!(serde_json::from_str::<Value>(&text).expect("valid"), value.clone());
            let pretty = serde_json::to_string_pretty(&value).expect("plain data");
            prop_assert_eq!(text, pretty + "\n");
        }
    }
}
