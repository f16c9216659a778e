//! What every Markdown goes through before it leaves the child; nothing here adds a word.

/// The text with LF as its only line end and without other control characters.
pub(super) fn clean(text: &str) -> String {
    let odd = |c: char| c != '\n' && c != '\t' && c.is_control();
    if !text.contains(odd) {
        return text.to_owned();
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.replace(odd, "")
}

/// As much of the text as fits in `cap` bytes, whole lines only; whether that is all.
pub(super) fn cap(mut text: String, cap: u64) -> (String, bool) {
    let cap = usize::try_from(cap).unwrap_or(usize::MAX);
    if text.len() <= cap {
        return (text, true);
    }
    let end = text.floor_char_boundary(cap);
    let end = text[..end].rfind('\n').unwrap_or(end);
    text.truncate(end);
    (text, false)
}

/// The `count` things that are named, as a sentence has it.
pub(super) fn counted(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_lf_and_controls_go() {
        assert_eq!(clean("a\r\nb\rc\u{0}\u{b}\td\n"), "a\nb\nc\td\n");
    }

    #[test]
    fn whole_lines_are_kept() {
        assert_eq!(cap("ab\ncd\nef".into(), 6), ("ab\ncd".into(), false));
        assert_eq!(cap("äöü".into(), 3), ("ä".into(), false));
        assert_eq!(cap("ab".into(), 2), ("ab".into(), true));
    }
}
