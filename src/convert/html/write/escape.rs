//! Characters of Markdown in plain text, escaped only where they would change the meaning.

use std::borrow::Cow;

/// Text from within a line.
pub(super) fn text(text: &str, is_in_link: bool) -> Cow<'_, str> {
    const SPECIAL: &[u8] = b"\\`*_[]<&~";
    if !text.bytes().any(|byte| SPECIAL.contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let stars = has_pair(text, '*');
    let underscores = has_pair(text, '_');
    let strikes = text.matches("~~").count() > 1;
    let brackets = text.contains("](")
        || text.contains("]:")
        || text.contains("[^")
        || (is_in_link && !is_balanced(text));
    let mut escaped = String::with_capacity(text.len() + 8);
    for (at, character) in text.char_indices() {
        let rest = &text[at + character.len_utf8()..];
        let next = rest.chars().next();
        let changes = match character {
            '\\' => next.is_some_and(|next| next.is_ascii_punctuation()),
            '`' => true,
            '*' => stars && can(text, at, '*'),
            '_' => underscores && can(text, at, '_'),
            '[' | ']' => brackets,
            '<' => next.is_some_and(|next| next.is_ascii_alphabetic() || "/!?".contains(next)),
            '&' => is_entity(rest),
            '~' => strikes && (rest.starts_with('~') || text[..at].ends_with('~')),
            _ => false,
        };
        if changes {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    Cow::Owned(escaped)
}

/// Whether some of these marks could begin emphasis and a later one end it.
fn has_pair(text: &str, mark: char) -> bool {
    let mut opened = false;
    let mut at = 0;
    while let Some(found) = text[at..].find(mark) {
        let run = at + found;
        let (opens, closes) = opens_and_closes(text, run, mark);
        if closes && opened {
            return true;
        }
        opened |= opens;
        at = run + text[run..].chars().take_while(|next| *next == mark).count();
    }
    false
}

/// Whether the mark there could begin or end emphasis.
fn can(text: &str, at: usize, mark: char) -> bool {
    let (opens, closes) = opens_and_closes(text, at, mark);
    opens || closes
}

/// Whether the run of marks around a place could begin emphasis, and whether it could end it.
fn opens_and_closes(text: &str, at: usize, mark: char) -> (bool, bool) {
    let before = text[..at]
        .trim_end_matches(mark)
        .chars()
        .next_back()
        .unwrap_or(' ');
    let after = text[at..]
        .trim_start_matches(mark)
        .chars()
        .next()
        .unwrap_or(' ');
    let is_mark = |side: char| !side.is_alphanumeric() && !side.is_whitespace();
    let left =
        !after.is_whitespace() && (!is_mark(after) || before.is_whitespace() || is_mark(before));
    let right =
        !before.is_whitespace() && (!is_mark(before) || after.is_whitespace() || is_mark(after));
    match mark {
        // Within a word it is a letter.
        '_' => (
            left && (!right || is_mark(before)),
            right && (!left || is_mark(after)),
        ),
        _ => (left, right),
    }
}

fn is_balanced(text: &str) -> bool {
    let mut open = 0_i64;
    for byte in text.bytes() {
        match byte {
            b'[' => open += 1,
            b']' => open -= 1,
            _ => {}
        }
        if open < 0 {
            return false;
        }
    }
    open == 0
}

/// Whether what follows a `&` makes it a character of its own.
fn is_entity(rest: &str) -> bool {
    let Some(end) = rest.bytes().take(33).position(|byte| byte == b';') else {
        return false;
    };
    let name = &rest.as_bytes()[..end];
    match name {
        [b'#', b'x' | b'X', digits @ ..] => {
            !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
        }
        [b'#', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        _ => !name.is_empty() && name.iter().all(u8::is_ascii_alphanumeric),
    }
}

/// A whole line of a paragraph, whose beginning could make it a heading, an item or a rule.
pub(super) fn line(line: &str) -> Cow<'_, str> {
    let bytes = line.as_bytes();
    let is_blank_at = |at: usize| bytes.get(at).is_none_or(|byte| *byte == b' ');
    let run = |byte: u8| bytes.iter().take_while(|found| **found == byte).count();
    let is_rule = |byte: u8| {
        let mut marks = bytes.iter().filter(|found| **found != b' ').peekable();
        marks.peek().is_some() && marks.all(|found| *found == byte)
    };
    let at = match bytes.first() {
        Some(b'#') if (1..=6).contains(&run(b'#')) && is_blank_at(run(b'#')) => 0,
        Some(b'-' | b'+') if is_blank_at(1) => 0,
        Some(b'*') if is_blank_at(1) => 0,
        Some(b'-') if is_rule(b'-') => 0,
        Some(b'=') if is_rule(b'=') => 0,
        Some(b'_') if is_rule(b'_') && run(b'_') > 2 => 0,
        Some(b'>') => 0,
        Some(b'~') if run(b'~') > 2 => 0,
        Some(b':') if is_blank_at(1) => 0,
        Some(byte) if byte.is_ascii_digit() => {
            let digits = bytes
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            let is_number = digits < 10
                && matches!(bytes.get(digits), Some(b'.' | b')'))
                && is_blank_at(digits + 1);
            if !is_number {
                return Cow::Borrowed(line);
            }
            digits
        }
        _ => return Cow::Borrowed(line),
    };
    Cow::Owned(format!("{}\\{}", &line[..at], &line[at..]))
}

/// An address as the target of a link.
pub(super) fn address(address: &str) -> Cow<'_, str> {
    let (mut open, mut is_even) = (0_i64, true);
    for byte in address.bytes() {
        match byte {
            b'(' => open += 1,
            b')' => open -= 1,
            _ => {}
        }
        is_even &= open >= 0;
    }
    let is_even = is_even && open == 0;
    let is_plain = |character: char| {
        !character.is_whitespace()
            && !character.is_control()
            && !matches!(character, '<' | '>' | '\\')
            && (is_even || !matches!(character, '(' | ')'))
    };
    if address.chars().all(is_plain) {
        return Cow::Borrowed(address);
    }
    let mut escaped = String::with_capacity(address.len() + 8);
    for character in address.chars() {
        if is_plain(character) {
            escaped.push(character);
        } else {
            let mut bytes = [0; 4];
            for byte in character.encode_utf8(&mut bytes).bytes() {
                escaped.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_the_meaning_is_escaped() {
        let cases = [
            ("snake_case and 2 * 3 * 4", "snake_case and 2 * 3 * 4"),
            ("*.rs and *.toml", "*.rs and *.toml"),
            ("__init__", "\\_\\_init\\_\\_"),
            ("a *b* c", "a \\*b\\* c"),
            ("Vec<String>, 1 < 2", "Vec\\<String>, 1 < 2"),
            ("AT&T &amp; &x", "AT&T \\&amp; &x"),
            ("[1] and [a](b)", "\\[1\\] and \\[a\\](b)"),
            ("[1]", "[1]"),
            ("a ` b", "a \\` b"),
            ("C:\\temp \\*", "C:\\temp \\\\*"),
            ("~/x ~~y~~", "~/x \\~\\~y\\~\\~"),
        ];
        for (plain, expected) in cases {
            assert_eq!(text(plain, false), expected);
        }
    }

    #[test]
    fn lines_that_would_be_something_else() {
        let cases = [
            ("# x", "\\# x"),
            ("#x", "#x"),
            ("1. x", "1\\. x"),
            ("1.5 x", "1.5 x"),
            ("- x", "\\- x"),
            ("-x", "-x"),
            ("---", "\\---"),
            ("> x", "\\> x"),
            ("**x**", "**x**"),
        ];
        for (plain, expected) in cases {
            assert_eq!(line(plain), expected);
        }
    }

    #[test]
    fn addresses_end_where_they_end() {
        assert_eq!(address("https://h/a_(b)"), "https://h/a_(b)");
        assert_eq!(address("https://h/a)b"), "https://h/a%29b");
        assert_eq!(address("#a b"), "#a%20b");
    }
}
