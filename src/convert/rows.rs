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

/// Bytes after which a line of a paragraph is ended: a reader cuts what is much longer.
const LONG_LINE: usize = 1000;

/// The Markdown with its long paragraphs in several lines, which mean the same: each is ended at a
/// blank before a letter, so that nothing becomes a list, a heading or a table by it. Rows of
/// tables, headings and code stay as they are.
pub(super) fn wrapped(text: String) -> String {
    if text.lines().all(|line| line.len() <= LONG_LINE) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut in_code = false;
    for line in text.split_inclusive('\n') {
        in_code ^= line.trim_start().starts_with("```");
        let stays = in_code || line.starts_with(['|', '#', ' ', '>', '[']);
        match stays || line.len() <= LONG_LINE {
            true => out.push_str(line),
            false => wrap(line, &mut out),
        }
    }
    out
}

fn wrap(mut line: &str, out: &mut String) {
    while line.len() > LONG_LINE {
        let start = &line[..line.floor_char_boundary(LONG_LINE)];
        let blanks = start.match_indices(' ').map(|(at, _)| at);
        let is_good = |at: &usize| line[at + 1..].starts_with(char::is_alphabetic);
        let Some(at) = blanks.rev().find(is_good).filter(|at| *at > 0) else {
            break;
        };
        out.push_str(&line[..at]);
        out.push('\n');
        line = &line[at + 1..];
    }
    out.push_str(line);
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

/// `Page 4`, `Pages 4, 7-9`, of ascending numbers.
pub fn numbered(one: &str, numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let plural = if numbers.len() == 1 { "" } else { "s" };
    let ranges: Vec<String> = ranges.iter().map(range).collect();
    format!("{one}{plural} {}", ranges.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_lf_and_controls_go() {
        assert_eq!(clean("a\r\nb\rc\u{0}\u{b}\td\n"), "a\nb\nc\td\n");
    }

    #[test]
    fn only_paragraphs_are_wrapped_and_only_before_a_letter() {
        let long = "word - 1. ".repeat(250);
        let text = wrapped(format!("{long}\n| {long}\n# {long}\n"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        assert!(lines.iter().all(|line| line.starts_with(['w', '|', '#'])));
        assert_eq!(lines[..3].join(" "), long);
    }

    #[test]
    fn whole_lines_are_kept() {
        assert_eq!(cap("ab\ncd\nef".into(), 6), ("ab\ncd".into(), false));
        assert_eq!(cap("äöü".into(), 3), ("ä".into(), false));
        assert_eq!(cap("ab".into(), 2), ("ab".into(), true));
    }
}
