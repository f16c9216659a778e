//! Lone surrogates in JSON strings, which JavaScript clients send and no UTF-8 text can hold; nothing else in a message is ever mended.

/// The message with every lone surrogate escape (`\ud83d` without its other half) as `\ufffd`,
/// which takes as much room in UTF-16 positions; `None` when it has none. Without this a
/// `didChange` with half an emoji would be lost, and with it the truth about its document.
pub fn mend(body: &[u8]) -> Option<Vec<u8>> {
    let mut mended = body.to_vec();
    let mut changed = false;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &body[at..]) {
        let escape = at + found;
        at = escape + 2;
        match unit(body, escape) {
            Some(0xD800..=0xDBFF) if matches!(unit(body, escape + 6), Some(0xDC00..=0xDFFF)) => {
                at = escape + 12;
            }
            Some(0xD800..=0xDFFF) => {
                mended[escape + 2..escape + 6].copy_from_slice(b"fffd");
                changed = true;
                at = escape + 6;
            }
            _ => {}
        }
        if at > body.len() {
            break;
        }
    }
    changed.then_some(mended)
}

/// The code unit of a `\uXXXX` escape at that place.
fn unit(body: &[u8], at: usize) -> Option<u16> {
    let digits = body.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(body: &str) -> Option<String> {
        mend(body.as_bytes()).map(|body| String::from_utf8(body).expect("ASCII stays ASCII"))
    }

    #[test]
    fn only_lone_halves_are_mended() {
        assert_eq!(mended(r#""a\ud83d\ude00b""#), None);
        assert_eq!(mended(r#""a\\ud83d""#), None);
        assert_eq!(mended(r#""a\ud83d""#), Some(r#""a\ufffd""#.to_owned()));
        assert_eq!(
            mended(r#""\uDE00\ud83d\ude00""#),
            Some(r#""\ufffd\ud83d\ude00""#.to_owned())
        );
        assert_eq!(
            mended(r#""\ud83d\ud83d\ude00""#),
            Some(r#""\ufffd\ud83d\ude00""#.to_owned())
        );
        assert_eq!(mended(r#""\ud83"#), None);
        assert_eq!(mended("\"\\"), None);
    }
}
