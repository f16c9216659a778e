//! Whether two texts are the same but for what editors normalise; nothing an author typed ever counts as that.

use std::iter::Peekable;

use super::Text;

/// Whether an editor's text has changes that the file has not. Editors drop the BOM, unify line
/// ends, show undecodable bytes as U+FFFD, and some hold an empty file as one empty line.
pub fn differs_beyond_normalisation(editor: &Text, disk: &Text) -> bool {
    if editor == disk || (is_blank(editor) && is_blank(disk)) {
        return false;
    }
    let mut editor = plain(editor).peekable();
    let mut disk = plain(disk).peekable();
    loop {
        match (editor.peek(), disk.peek()) {
            (None, None) => return false,
            (Some(ours), Some(theirs)) if ours == theirs => {
                editor.next();
                disk.next();
            }
            (Some('\u{fffd}'), Some(_)) => {
                skip_while(&mut editor, |c| c == '\u{fffd}');
                if skip_while(&mut disk, |c| !c.is_ascii()) == 0 {
                    return true;
                }
            }
            _ => return true,
        }
    }
}

/// Whether two texts have the same lines, whatever ends them; some editors hold an empty file as one
/// empty line.
pub fn same_lines(one: &Text, other: &Text) -> bool {
    one == other
        || (is_blank(one) && is_blank(other))
        || (one.len_lines() == other.len_lines()
            && one.ends_with_newline() == other.ends_with_newline()
            && one.lines_at(0).eq(other.lines_at(0)))
}

/// Nothing, or a lone newline: what an empty file is in one editor or another.
fn is_blank(text: &Text) -> bool {
    text.len_bytes() <= 2 && text.len_lines() <= 1 && text.line(0).is_empty()
}

/// The characters without a leading BOM and with every line end as LF; a lone CR counts as one,
/// since some editors make it one.
fn plain(text: &Text) -> impl Iterator<Item = char> {
    let mut chars = text.chunks().flat_map(str::chars).peekable();
    chars.next_if_eq(&'\u{feff}');
    std::iter::from_fn(move || {
        let next = chars.next()?;
        if next != '\r' {
            return Some(next);
        }
        chars.next_if_eq(&'\n');
        Some('\n')
    })
}

fn skip_while(
    chars: &mut Peekable<impl Iterator<Item = char>>,
    wanted: impl Fn(char) -> bool,
) -> usize {
    let mut skipped = 0;
    while chars.next_if(|c| wanted(*c)).is_some() {
        skipped += 1;
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(editor: &str, disk: &str) -> bool {
        differs_beyond_normalisation(&Text::new(editor), &Text::new(disk))
    }

    #[test]
    fn what_editors_do_to_text_is_no_change() {
        assert!(!differ("a\nb\n", "a\r\nb\r\n"));
        assert!(!differ("a\nb\nc", "a\rb\r\nc"));
        assert!(!differ("\n", ""));
        assert!(!differ("", "\n"));
        assert!(!differ("caf\u{fffd} x", "café x"));
        assert!(!differ("\u{fffd}\u{fffd}\u{fffd}\u{fffd}!", "中文!"));
        assert!(!differ("a", "\u{feff}a"));
    }

    #[test]
    fn what_an_author_types_is() {
        assert!(differ("a\n", "a"));
        assert!(differ("a", "a\n"));
        assert!(differ("a\n\nb", "a\nb"));
        assert!(differ("cafe", "café"));
        assert!(differ("a\u{fffd}", "ab"));
        assert!(differ("x caf\u{fffd}", "café"));
        assert!(differ("\n\n", ""));
    }
}
