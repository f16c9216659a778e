//! Messages as lines: how they are read, each up to a length, and what id a line has that cannot be read.

use std::io::{self, BufRead, BufReader, Read};

/// Bytes of the input that are taken at a time.
const BUFFER: usize = 64 << 10;

/// Of a line that is too long, so much of its start and of its end is kept.
const KEPT: usize = 4 << 10;

/// A buffer larger than this is not kept for the next line.
const LARGE: usize = 1 << 20;

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum InputLine<'a> {
    /// As it came.
    Body(&'a [u8]),
    /// Longer than may be: its start and its end.
    TooLong(&'a [u8], &'a [u8]),
}

/// Reads lines.
pub struct InputLines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    tail: Vec<u8>,
    most: usize,
}

impl<R: Read> InputLines<R> {
    /// Lines of up to `most` bytes.
    pub fn new(input: R, most: usize) -> InputLines<R> {
        InputLines {
            input: BufReader::with_capacity(BUFFER, input),
            line: Vec::new(),
            tail: Vec::new(),
            most,
        }
    }

    /// Whether some of what follows was read already: at least a part of a line.
    pub fn has_more(&self) -> bool {
        !self.input.buffer().is_empty()
    }

    /// The next line; `None` at the end of the input, where what has no line end is no message.
    ///
    /// # Errors
    ///
    /// Those of the input.
    pub fn next_line(&mut self) -> io::Result<Option<InputLine<'_>>> {
        self.line.clear();
        self.line.shrink_to(LARGE);
        self.tail.clear();
        let mut is_too_long = false;
        loop {
            let available = match self.input.fill_buf() {
                Ok([]) => return Ok(None),
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = memchr::memchr(b'\n', available);
            let part = &available[..end.unwrap_or(available.len())];
            if !is_too_long && self.line.len() + part.len() > self.most {
                is_too_long = true;
                self.tail.extend_from_slice(last(&self.line));
                self.line.truncate(KEPT);
            }
            match is_too_long {
                false => self.line.extend_from_slice(part),
                true => {
                    let missing = KEPT.saturating_sub(self.line.len()).min(part.len());
                    self.line.extend_from_slice(&part[..missing]);
                    self.tail.extend_from_slice(last(part));
                    let over = self.tail.len().saturating_sub(KEPT);
                    self.tail.drain(..over);
                }
            }
            let taken = part.len() + usize::from(end.is_some());
            self.input.consume(taken);
            if end.is_some() {
                break;
            }
        }
        if is_too_long {
            return Ok(Some(InputLine::TooLong(
                &self.line,
                without_return(&self.tail),
            )));
        }
        Ok(Some(InputLine::Body(without_return(&self.line))))
    }
}

fn last(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.len().saturating_sub(KEPT)..]
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The id of a message that cannot be read as a whole, as JSON: from its start, where no other
/// object is before it, or from its end, where nothing but the version stands after it.
pub fn found_id(start: &[u8], end: &[u8]) -> Option<String> {
    let at_start = String::from_utf8_lossy(&start[..start.len().min(KEPT)]).into_owned();
    let at_end = String::from_utf8_lossy(last(end)).into_owned();
    id_at_start(&at_start).or_else(|| id_at_end(&at_end))
}

/// Passes over members with plain values until the id comes.
fn id_at_start(text: &str) -> Option<String> {
    let mut rest = text.trim_start().strip_prefix('{')?;
    loop {
        let (key, after) = scalar(rest)?;
        rest = after.trim_start().strip_prefix(':')?;
        let (value, after) = scalar(rest)?;
        if key == "\"id\"" {
            return is_id(value).then(|| value.to_owned());
        }
        rest = after.trim_start().strip_prefix(',')?;
    }
}

fn id_at_end(text: &str) -> Option<String> {
    let at = text.rfind("\"id\"")?;
    let before = text[..at].trim_end();
    if !before.ends_with([',', '{']) {
        return None;
    }
    let rest = text[at + 4..].trim_start().strip_prefix(':')?;
    let (id, rest) = scalar(rest)?;
    let mut rest = rest.trim();
    if let Some(more) = rest.strip_prefix(',') {
        let (key, more) = scalar(more)?;
        let (version, more) = scalar(more.trim_start().strip_prefix(':')?)?;
        rest = more.trim();
        if key != "\"jsonrpc\"" || !version.starts_with('"') {
            return None;
        }
    }
    (rest == "}" && is_id(id)).then(|| id.to_owned())
}

/// A string, a number or a word at the start of a text, as it is written, and what follows.
fn scalar(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = match text.starts_with('"') {
        true => {
            let mut is_escaped = false;
            let close = text.char_indices().skip(1).find(|(_, c)| {
                let closes = *c == '"' && !is_escaped;
                is_escaped = *c == '\\' && !is_escaped;
                closes
            });
            close?.0 + 1
        }
        false => text.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c))?,
    };
    (end > 0).then(|| text.split_at(end))
}

fn is_id(value: &str) -> bool {
    value.parse::<i64>().is_ok() || (value.starts_with('"') && value.len() < 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8], most: usize) -> Vec<String> {
        let mut lines = InputLines::new(input, most);
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().expect("a slice can be read") {
            found.push(match line {
                InputLine::Body(line) => String::from_utf8_lossy(line).into_owned(),
                InputLine::TooLong(start, end) => {
                    assert!(start.len() <= KEPT && end.len() <= KEPT);
                    format!("{}…{}", start[0] as char, end[end.len() - 1] as char)
                }
            });
        }
        found
    }

    #[test]
    fn lines_are_taken_one_by_one() {
        assert_eq!(all(b"a\r\n\nb c\nrest", 9), ["a", "", "b c"]);
        assert_eq!(all(b"abcdefghijk\nlm\n", 9), ["a…k", "lm"]);
        let long = [b"x".repeat(3 * BUFFER), b"\nafter\n".to_vec()].concat();
        assert_eq!(all(&long, BUFFER), ["x…x", "after"]);
        assert_eq!(all(&long, 3 * BUFFER).len(), 2);
    }

    #[test]
    fn an_id_is_found_at_either_end() {
        let id = |text: &str| found_id(text.as_bytes(), text.as_bytes());
        assert_eq!(
            id(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{bad"#),
            Some("7".into())
        );
        assert_eq!(id(r#"{ "id" : "a\"b" , x"#), Some(r#""a\"b""#.into()));
        assert_eq!(
            id(r#"{"method":"m","params":{"x":"\ud800},"jsonrpc":"2.0","id":12}"#),
            Some("12".into())
        );
        assert_eq!(
            id(r#"{"method":"m","params":{bad},"id":"x","jsonrpc":"2.0"}"#),
            Some("\"x\"".into())
        );
        // Of an argument, of a text, of no kind that an id is of.
        assert_eq!(id(r#"{"method":"m","params":{bad,"id":5}}"#), None);
        assert_eq!(id(r#"{"params":{bad,"x":"\"id\":5}"}"#), None);
        assert_eq!(id(r#"{"id":{"a":1},"method":"m""#), None);
        assert_eq!(id("nonsense"), None);
    }
}
