//! Other people's words as one line: what a name, a title or a message may do to the lines around it is taken out.

/// One line, blanks in runs as one, without what is not seen or turns the writing around, cut at
/// `most` characters.
pub fn one_line(written: &str, most: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    let mut is_after_blank = true;
    for c in written.chars() {
        let is_blank = c.is_whitespace() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{85}');
        if !is_blank && is_unseen(c) {
            continue;
        }
        if is_blank && is_after_blank {
            continue;
        }
        if count == most {
            return format!("{}…", line.trim_end());
        }
        line.push(if is_blank { ' ' } else { c });
        is_after_blank = is_blank;
        count += 1;
    }
    line.truncate(line.trim_end().len());
    line
}

/// Control, bidirectional, invisible and tag characters.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_one_harmless_line() {
        let given = "  a\n\tb \u{202e}c\u{2028}d\u{e0041}\u{1b}[31m ";
        assert_eq!(one_line(given, 200), "a b c d[31m");
        assert_eq!(one_line(&"x".repeat(200), 200), "x".repeat(200));
        assert_eq!(one_line(&"x".repeat(201), 200), "x".repeat(200) + "…");
        assert_eq!(
            one_line(&format!("{}  y", "x".repeat(199)), 200),
            "x".repeat(199) + "…"
        );
    }
}
