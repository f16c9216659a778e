//! What counts as a word, and which characters nobody sees.

/// Runs of letters and digits; of scripts that are written without blanks, two characters are one word.
pub(super) fn count(text: &str) -> u64 {
    let (mut words, mut dense, mut inside) = (0, 0, false);
    let mut ascii_only = text.as_bytes();
    // Most text is ASCII: its words are counted without decoding.
    while let [byte, rest @ ..] = ascii_only {
        if !byte.is_ascii() {
            break;
        }
        let is_word = byte.is_ascii_alphanumeric();
        words += u64::from(is_word && !inside);
        inside = is_word;
        ascii_only = rest;
    }
    let done = text.len() - ascii_only.len();
    for character in text[done..].chars() {
        if is_dense(character) {
            dense += 1;
            inside = false;
        } else {
            let is_word = character.is_alphanumeric();
            words += u64::from(is_word && !inside);
            inside = is_word;
        }
    }
    words + u64::div_ceil(dense, 2)
}

/// Whether a character is of a script that is written without blanks between words.
fn is_dense(character: char) -> bool {
    matches!(u32::from(character),
        0x0E00..=0x0EFF // Thai, Lao
        | 0x1000..=0x109F | 0x1780..=0x17FF // Burmese, Khmer
        | 0x3040..=0x30FF | 0x31F0..=0x31FF // Kana
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3134F // Han
        | 0xFF66..=0xFF9D)
}

/// Text without the characters that show nothing and can carry words nobody sees; they are counted,
/// but for soft hyphens, and where a text has nothing else (the mark of a link to its own heading).
pub(super) fn without_invisible(text: &str, removed: &mut u64) -> String {
    // All of them are in two, three or four bytes that begin so.
    let may_have = |byte: u8| matches!(byte, 0xC2 | 0xE2 | 0xEF | 0xF3);
    if !text.bytes().any(may_have) {
        return text.to_owned();
    }
    let (mut kept, mut count) = (String::with_capacity(text.len()), 0);
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let is_joiner = matches!(character, '\u{200C}' | '\u{200D}');
        let is_inside = !before.is_whitespace()
            && rest
                .peek()
                .is_some_and(|next| !next.is_whitespace() && !is_invisible(*next));
        if character == '\u{AD}' {
            continue;
        }
        if is_invisible(character) && !(is_joiner && is_inside) {
            count += 1;
            continue;
        }
        before = character;
        kept.push(character);
    }
    if !kept.trim().is_empty() {
        *removed += count;
    }
    kept
}

fn is_invisible(character: char) -> bool {
    matches!(u32::from(character),
        0x200B..=0x200F // zero-width, direction marks
        | 0x202A..=0x202E | 0x2066..=0x2069 // bidirectional overrides and isolates
        | 0x2060..=0x2064 | 0xFEFF
        | 0xE0000..=0xE007F)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_pairs_of_dense_ones() {
        assert_eq!(count("One, two-three 4x"), 4);
        assert_eq!(count("é à l'été"), 4);
        assert_eq!(count("日本語です。 HTML"), 4);
        assert_eq!(count(" \n"), 0);
    }

    #[test]
    fn invisible_characters_go_and_are_counted() {
        let mut removed = 0;
        let text = "a\u{200B}b\u{E0041}\u{202E}c so\u{AD}ft \u{FEFF}";
        assert_eq!(without_invisible(text, &mut removed), "abc soft ");
        assert_eq!(removed, 4);
        // A joiner within a word says how it is written.
        assert_eq!(
            without_invisible("می\u{200C}خواهم", &mut removed),
            "می\u{200C}خواهم"
        );
        assert_eq!(without_invisible("\u{200D} x", &mut removed), " x");
        assert_eq!(removed, 5);
        assert_eq!(without_invisible("\u{200B}", &mut removed), "");
        assert_eq!(removed, 5);
    }
}
