//! What a terminal would have shown of a program's output: without escape sequences, each line as its carriage returns left it; piece by piece, wherever a piece ends.
//!
//! The cursor moves within its line alone (CR, BS, erasing to the end of the line): what programs
//! draw over several lines is left as they wrote it.

use std::mem::take;

/// Bytes of a line that is still drawn over. In a longer one a carriage return begins it anew.
const MAX_DRAWN: usize = 64 * 1024;

/// Bytes of a string sequence (a window title) that has no end; then it was none.
const MAX_STRING: usize = 4096;

/// Where in an escape sequence the last piece ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and intermediate characters.
    Intermediate,
    /// After `ESC [`, with the first parameter so far.
    Control(u32),
    /// In a string that is not shown, so many bytes long.
    String(usize),
    /// There, after an ESC that may begin its end.
    StringEscape,
}

/// The output of one program so far.
#[derive(Debug, Clone, Default)]
pub struct Terminal {
    /// The line that is not ended.
    line: String,
    /// Where the next character goes; a byte of the line.
    cursor: usize,
    within: Within,
    /// The first bytes of a character that the last piece ended in.
    cut: Vec<u8>,
}

impl Terminal {
    /// Goes on in a line that is not ended.
    pub fn in_line(line: &str) -> Terminal {
        Terminal {
            cursor: line.len(),
            line: line.to_owned(),
            ..Terminal::default()
        }
    }

    /// The lines that end in this piece, each with its LF.
    pub fn lines(&mut self, piece: &[u8]) -> String {
        let mut bytes = take(&mut self.cut);
        bytes.extend_from_slice(piece);
        let mut lines = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                self.feed(c, &mut lines);
            }
            let invalid = chunk.invalid();
            let is_last = invalid.as_ptr_range().end == bytes.as_ptr_range().end;
            let may_go_on = std::str::from_utf8(invalid).is_err_and(|it| it.error_len().is_none());
            match invalid {
                [] => {}
                cut if is_last && may_go_on => self.cut = cut.to_vec(),
                _ => self.feed('\u{fffd}', &mut lines),
            }
        }
        lines
    }

    /// What stands in the line that is not ended.
    pub fn open_line(&self) -> &str {
        &self.line
    }

    fn feed(&mut self, c: char, lines: &mut String) {
        if c == '\n' {
            // No sequence goes over the end of a line.
            self.within = Within::Text;
            lines.push_str(&self.line);
            lines.push('\n');
            self.line.clear();
            self.cursor = 0;
            return;
        }
        self.within = match (self.within, c) {
            (Within::String(_), '\u{7}' | '\u{9c}') => Within::Text,
            (Within::String(_), '\u{1b}') => Within::StringEscape,
            (Within::String(length), _) if length < MAX_STRING => Within::String(length + 1),
            (Within::String(_), _) => Within::Text,
            (Within::StringEscape, '\\') => Within::Text,
            (Within::StringEscape | Within::Escape, '[') => Within::Control(0),
            (Within::StringEscape | Within::Escape, ']' | 'P' | 'X' | '^' | '_') => {
                Within::String(0)
            }
            (_, '\u{1b}') => Within::Escape,
            (_, '\u{18}' | '\u{1a}') => Within::Text,
            (Within::Escape | Within::StringEscape | Within::Intermediate, ' '..='/') => {
                Within::Intermediate
            }
            (Within::Escape | Within::StringEscape | Within::Intermediate, _) => Within::Text,
            (Within::Control(n), '0'..='9') => {
                let digit = c.to_digit(10).unwrap_or_default();
                Within::Control(n.saturating_mul(10).saturating_add(digit))
            }
            (Within::Control(n), ' '..='?') => Within::Control(n),
            (Within::Control(n), 'K') => {
                self.erase(n);
                Within::Text
            }
            (Within::Control(_), _) => Within::Text,
            (Within::Text, '\u{9b}') => Within::Control(0),
            (Within::Text, '\r') => {
                self.cursor = 0;
                Within::Text
            }
            (Within::Text, '\u{8}') => {
                let before = self.line[..self.cursor].chars().next_back();
                self.cursor -= before.map_or(0, char::len_utf8);
                Within::Text
            }
            (Within::Text, c) => {
                if !c.is_control() || c == '\t' {
                    self.put(c);
                }
                Within::Text
            }
        };
    }

    fn put(&mut self, c: char) {
        if self.cursor < self.line.len() {
            if self.line.len() > MAX_DRAWN {
                self.line.truncate(self.cursor);
            } else if let Some(under) = self.line[self.cursor..].chars().next() {
                let end = self.cursor + under.len_utf8();
                self.line
                    .replace_range(self.cursor..end, c.encode_utf8(&mut [0; 4]));
                self.cursor += c.len_utf8();
                return;
            }
        }
        self.line.push(c);
        self.cursor = self.line.len();
    }

    /// Of the line: 0 from the cursor on, 1 up to it, 2 all.
    fn erase(&mut self, what: u32) {
        match what {
            0 => self.line.truncate(self.cursor),
            1 => {
                let blanks = self.line[..self.cursor].chars().count();
                self.line.replace_range(..self.cursor, &" ".repeat(blanks));
                self.cursor = blanks;
            }
            _ => {
                self.line.clear();
                self.cursor = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(output: &str) -> String {
        let mut terminal = Terminal::default();
        let lines = terminal.lines(output.as_bytes());
        lines + terminal.open_line()
    }

    #[test]
    fn lines_are_as_carriage_returns_left_them() {
        for (output, expected) in [
            ("one\r\ntwo\n", "one\ntwo\n"),
            ("10%\r20%\r100%\ndone", "100%\ndone"),
            ("long line\rab", "abng line"),
            ("long line\r\u{1b}[Kab\n", "ab\n"),
            ("abc\u{8}d", "abd"),
            ("größe\rüb", "üböße"),
            ("a\u{1b}[2Kb", "b"),
        ] {
            assert_eq!(shown(output), expected, "{output:?}");
        }
    }

    #[test]
    fn sequences_are_left_out() {
        for (output, expected) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}(Bx\u{1b}=y", "xy"),
            ("\u{9b}1mx\u{0}\u{7}\ty", "x\ty"),
            ("\u{1b}]no end\nnext", "\nnext"),
            ("\u{1b}[38;5;\u{1b}[1mx", "x"),
        ] {
            assert_eq!(shown(output), expected, "{output:?}");
        }
    }

    #[test]
    fn it_is_the_same_in_pieces() {
        let output = "a\u{1b}[31mö\r€\u{1b}[K\r\n\u{1b}]0;t\u{1b}\\x𝄞\ny".as_bytes();
        let whole = shown(std::str::from_utf8(output).expect("UTF-8"));
        for size in 1..output.len() {
            let mut terminal = Terminal::default();
            let lines: String = output.chunks(size).map(|it| terminal.lines(it)).collect();
            assert_eq!(lines + terminal.open_line(), whole, "{size}");
        }
        let mut terminal = Terminal::default();
        assert_eq!(terminal.lines(b"a\xffb\xe2\x82\n"), "a\u{fffd}b\u{fffd}\n");
    }
}
