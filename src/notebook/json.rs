//! JSON with the places of its values; what nobody asks for is checked and skipped, and nothing is ever recursed into.

use std::ops::Range;

use memchr::memchr2;

/// Brackets in brackets. Deeper ones are of nobody who writes notebooks.
const MAX_DEPTH: usize = 10_000;

/// Why a text is no JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct JsonError {
    /// Byte at which it was seen.
    pub at: usize,
    pub what: &'static str,
}

impl JsonError {
    /// Line and character in it, both from 1.
    pub fn place(&self, json: &str) -> (usize, usize) {
        let before = &json.as_bytes()[..self.at.min(json.len())];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        let rest = String::from_utf8_lossy(&before[start..]);
        (line, rest.chars().count() + 1)
    }
}

/// Walks over a text, value by value.
#[derive(Debug, Clone)]
pub struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(json: &'a str) -> Scanner<'a> {
        Scanner {
            bytes: json.as_bytes(),
            at: 0,
        }
    }

    /// Walks on from a place where a value begins.
    pub fn starting_at(json: &'a str, at: usize) -> Scanner<'a> {
        Scanner {
            bytes: json.as_bytes(),
            at,
        }
    }

    pub fn fault<T>(&self, what: &'static str) -> Result<T, JsonError> {
        Err(JsonError { at: self.at, what })
    }

    /// Where the next value begins.
    pub fn at(&mut self) -> usize {
        self.skip_blanks();
        self.at
    }

    /// Where the last value ended.
    pub fn at_end(&self) -> usize {
        self.at
    }

    /// The first byte of what comes next.
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.bytes.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8, what: &'static str) -> Result<(), JsonError> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            None => self.fault("the text ends early"),
            Some(_) => self.fault(what),
        }
    }

    /// Nothing comes any more.
    pub fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.fault("there is more text after the end"),
        }
    }

    /// An object; `member` is told the place of each key, and must take the value after it.
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Scanner<'a>, Range<usize>) -> Result<(), JsonError>,
    ) -> Result<Range<usize>, JsonError> {
        let start = self.at();
        self.take(b'{', "an object is expected here")?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(start..self.at);
        }
        loop {
            let key = self.key()?;
            member(self, key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                None => return self.fault("the text ends early"),
                Some(_) => return self.fault("a comma or a closing brace is expected here"),
            }
        }
    }

    /// An array; `item` must take each value.
    pub fn array(
        &mut self,
        mut item: impl FnMut(&mut Scanner<'a>) -> Result<(), JsonError>,
    ) -> Result<Range<usize>, JsonError> {
        let start = self.at();
        self.take(b'[', "an array is expected here")?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(start..self.at);
        }
        loop {
            item(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                None => return self.fault("the text ends early"),
                Some(_) => return self.fault("a comma or a closing bracket is expected here"),
            }
        }
    }

    /// A key and the colon after it; its place, with the quotes.
    fn key(&mut self) -> Result<Range<usize>, JsonError> {
        let key = match self.peek() {
            Some(b'"') => self.string()?,
            None => return self.fault("the text ends early"),
            Some(_) => return self.fault("a key in double quotes is expected here"),
        };
        self.take(b':', "a colon is expected here")?;
        Ok(key)
    }

    /// A string; its place, with the quotes.
    pub fn string(&mut self) -> Result<Range<usize>, JsonError> {
        let start = self.at();
        self.take(b'"', "a string is expected here")?;
        loop {
            let rest = &self.bytes[self.at..];
            let Some(found) = memchr2(b'"', b'\\', rest) else {
                self.at = self.bytes.len();
                return self.fault("the text ends within a string");
            };
            if let Some(control) = rest[..found].iter().position(|byte| *byte < 0x20) {
                self.at += control;
                return self.fault("a string holds a control character that is not escaped");
            }
            self.at += found + 1;
            if rest[found] == b'"' {
                return Ok(start..self.at);
            }
            let escaped = match self.bytes.get(self.at) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 1,
                Some(b'u') if hex4(self.bytes, self.at + 1).is_some() => 5,
                _ => return self.fault("a backslash in a string escapes nothing"),
            };
            self.at += escaped;
        }
    }

    /// Any value; its place.
    pub fn value(&mut self) -> Result<Range<usize>, JsonError> {
        let start = self.at();
        // What is open: whether each is an object.
        let mut open: Vec<bool> = Vec::new();
        loop {
            // A value begins here.
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    if self.peek() != Some(b'}') {
                        self.key()?;
                        self.push(&mut open, true)?;
                        continue;
                    }
                    self.at += 1;
                }
                Some(b'[') => {
                    self.at += 1;
                    if self.peek() != Some(b']') {
                        self.push(&mut open, false)?;
                        continue;
                    }
                    self.at += 1;
                }
                Some(b'"') => {
                    self.string()?;
                }
                Some(_) => self.scalar()?,
                None => return self.fault("the text ends early"),
            }
            // A value has ended here, and with it perhaps what is open.
            loop {
                let Some(is_object) = open.last().copied() else {
                    return Ok(start..self.at);
                };
                match (self.peek(), is_object) {
                    (Some(b','), true) => {
                        self.at += 1;
                        self.key()?;
                        break;
                    }
                    (Some(b','), false) => {
                        self.at += 1;
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        open.pop();
                    }
                    (None, _) => return self.fault("the text ends early"),
                    (Some(_), true) => {
                        return self.fault("a comma or a closing brace is expected here");
                    }
                    (Some(_), false) => {
                        return self.fault("a comma or a closing bracket is expected here");
                    }
                }
            }
        }
    }

    fn push(&self, open: &mut Vec<bool>, is_object: bool) -> Result<(), JsonError> {
        if open.len() >= MAX_DEPTH {
            return self.fault("it is nested too deeply");
        }
        open.push(is_object);
        Ok(())
    }

    /// A number or a word. Python also writes `NaN` and `Infinity`, and reads them.
    fn scalar(&mut self) -> Result<(), JsonError> {
        let rest = &self.bytes[self.at..];
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = rest.iter().take_while(|byte| is_part(byte)).count();
        match &rest[..length] {
            b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity" => {}
            word => {
                let number = std::str::from_utf8(word).ok();
                let number = number.filter(|word| is_number(word));
                if number.is_none() {
                    return self.fault("a value is expected here");
                }
            }
        }
        self.at += length;
        Ok(())
    }

    /// A whole number; anything else is skipped.
    pub fn whole_number(&mut self) -> Result<Option<u64>, JsonError> {
        let place = self.value()?;
        let word = std::str::from_utf8(&self.bytes[place]);
        Ok(word.ok().and_then(|word| word.parse().ok()))
    }
}

/// <https://www.rfc-editor.org/rfc/rfc8259#section-6>
fn is_number(word: &str) -> bool {
    let word = word.strip_prefix('-').unwrap_or(word);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(word);
    if whole == 0 || (whole > 1 && word.starts_with('0')) {
        return false;
    }
    let mut rest = &word[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

fn hex4(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 4)?;
    let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// What a string says, given with its quotes; and whether something of it cannot be said: half of
/// a character of two halves stands as U+FFFD.
pub fn decode(quoted: &str) -> (String, bool) {
    let inside = quoted.get(1..quoted.len().saturating_sub(1));
    let bytes = inside.unwrap_or_default().as_bytes();
    let mut text = String::with_capacity(bytes.len());
    let mut is_lossy = false;
    let mut at = 0;
    while at < bytes.len() {
        let plain = memchr::memchr(b'\\', &bytes[at..]).unwrap_or(bytes.len() - at);
        text.push_str(&inside.unwrap_or_default()[at..at + plain]);
        at += plain;
        let Some(escape) = bytes.get(at + 1) else {
            break;
        };
        at += 2;
        match escape {
            b'n' => text.push('\n'),
            b't' => text.push('\t'),
            b'r' => text.push('\r'),
            b'b' => text.push('\u{8}'),
            b'f' => text.push('\u{c}'),
            b'u' => {
                let first = hex4(bytes, at).unwrap_or(0xFFFD);
                at += 4;
                let second = match bytes.get(at..at + 2) {
                    Some(b"\\u") => hex4(bytes, at + 2),
                    _ => None,
                };
                let units = [first, second.unwrap_or(0)];
                match char::decode_utf16(units).next() {
                    Some(Ok(found)) => {
                        at += if found.len_utf16() == 2 { 6 } else { 0 };
                        text.push(found);
                    }
                    _ => {
                        is_lossy = true;
                        text.push('\u{FFFD}');
                    }
                }
            }
            other => text.push(char::from(*other)),
        }
    }
    (text, is_lossy)
}
