//! Other people's words as one line: what a name, a title or a message may do to the lines around it is taken out.

/// One line of at most `most` characters, blanks in runs as one, without control, line-separating, bidirectional and
/// tag characters.
pub fn one_line(text: &str, most: usize) -> String {
    let is_seen = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut short = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        let gap = if short.is_empty() { "" } else { " " };
        for c in gap.chars().chain(word.chars().filter(is_seen)) {
            if count == most {
                short.pop();
                short.push('…');
                return short;
            }
            short.push(c);
            count += 1;
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line_and_shows_all_that_is_in_it() {
        let hostile = "a\n[b]\r\n\t c\u{202e}d\u{2028}e\u{e0041}\u{200b}\u{7}f  ";
        assert_eq!(one_line(hostile, 100), "a [b] cd ef");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("abcd", 4), "abcd");
        assert_eq!(one_line("", 4), "");
    }
}
