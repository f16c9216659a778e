//! The LSP base protocol's framing, forgiving on the way in; a body is never allocated before its bytes arrive.

use std::io::{self, Read};
use std::ops::Range;

/// The one header that matters, in lower case.
const LENGTH: &[u8] = b"content-length:";
/// A line longer than this is noise, whatever it says.
const MAX_LINE: usize = 8 << 10;
/// Longest run of blanks and digits accepted as a length while skipping.
const MAX_VALUE: usize = 64;
const BUFFER: usize = 64 << 10;
/// The body buffer is kept for the next frame up to this size.
const KEPT_BODY: usize = 1 << 20;

/// What one step over the input found.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The bytes of one message.
    Body(&'a [u8]),
    /// A header block without a usable length; what follows is skipped up to the next header.
    BadHeader,
    /// A frame over the cap; the next step skips it.
    TooLarge,
}

/// Takes frames out of a byte stream in which banners, log lines and liars are to be expected.
#[derive(Debug)]
pub struct Frames<R> {
    input: R,
    buffer: Box<[u8]>,
    unread: Range<usize>,
    /// The byte before the unread ones: a header does not begin in the middle of another's name.
    before: u8,
    body: Vec<u8>,
    cap: u64,
    /// Bytes still to be skipped of a frame over the cap.
    skipping: u64,
}

/// What a line of the header block is.
enum HeaderLine {
    Blank,
    /// `Content-Length`, and what it says when that is a number.
    Length(Option<u64>),
    /// Some other header.
    Field,
    Noise,
}

/// What the lines since the last blank one add up to.
#[derive(PartialEq)]
enum HeaderBlock {
    Empty,
    Fields,
    Noisy,
}

impl<R: Read> Frames<R> {
    /// Frames with bodies of at most `cap` bytes.
    pub fn new(input: R, cap: u64) -> Frames<R> {
        Frames {
            input,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            unread: 0..0,
            before: b'\n',
            body: Vec::new(),
            cap,
            skipping: 0,
        }
    }

    /// Whether some of what follows was read already: at least a part of a frame.
    pub fn has_more(&self) -> bool {
        !self.unread.is_empty()
    }

    /// The next frame, or `None` at the end of the input (also when it ends inside a frame).
    pub fn next(&mut self) -> io::Result<Option<Frame<'_>>> {
        if !self.skip()? {
            return Ok(None);
        }
        match self.header()? {
            None => Ok(None),
            Some(None) => Ok(Some(Frame::BadHeader)),
            Some(Some(length)) if length > self.cap => {
                self.skipping = length;
                Ok(Some(Frame::TooLarge))
            }
            Some(Some(length)) => Ok(self.read_body(length)?.then_some(Frame::Body(&self.body))),
        }
    }

    /// Reads up to the end of a header block. `Some(None)` is a block without a usable length.
    fn header(&mut self) -> io::Result<Option<Option<u64>>> {
        let mut length = None;
        let mut block = HeaderBlock::Empty;
        while let Some(line) = self.line()? {
            match line {
                // The last one counts: a header may be cut off and another one follow.
                HeaderLine::Length(value) => length = Some(value),
                HeaderLine::Blank => match length {
                    Some(value) => return Ok(Some(value)),
                    None if block == HeaderBlock::Fields => return Ok(Some(None)),
                    None => block = HeaderBlock::Empty,
                },
                HeaderLine::Field if block == HeaderBlock::Empty => block = HeaderBlock::Fields,
                HeaderLine::Field => {}
                HeaderLine::Noise => block = HeaderBlock::Noisy,
            }
        }
        Ok(None)
    }

    /// The next line, or `None` at the end of the input.
    fn line(&mut self) -> io::Result<Option<HeaderLine>> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.unread.clone()];
            if let Some(at) = memchr::memchr(b'\n', &unread[searched..]) {
                let length = searched + at + 1;
                let line = classify(&unread[..length], self.before);
                self.consume(length);
                return Ok(Some(line));
            }
            searched = unread.len();
            if searched >= MAX_LINE {
                // Too long for a header. Kept is what may be one further on: a whole name, or the
                // beginning of one at the very end.
                let kept = match find_length(unread, self.before) {
                    Some(at) if at > 0 => at,
                    _ => searched - (LENGTH.len() - 1),
                };
                self.consume(kept);
                searched -= kept;
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Reads a body of `length` bytes; false when the input ends first.
    fn read_body(&mut self, length: u64) -> io::Result<bool> {
        if self.body.capacity() > KEPT_BODY {
            self.body = Vec::new();
        }
        self.body.clear();
        let here = self.unread.len() as u64;
        // Fits: it is at most the length of the buffer.
        let here = here.min(length) as usize;
        self.body
            .extend_from_slice(&self.buffer[self.unread.start..self.unread.start + here]);
        self.consume(here);
        let rest = length - here as u64;
        if rest > 0 && (&mut self.input).take(rest).read_to_end(&mut self.body)? as u64 != rest {
            return Ok(false);
        }
        self.before = b'\n';
        Ok(true)
    }

    /// Skips the rest of a frame over the cap; false when the input ends first. A length that lies
    /// must not swallow honest frames: JSON cannot contain a raw `Content-Length: 1\r\n` (a line
    /// end is escaped inside of strings, and outside of them there are no such words), so that
    /// ends the skipping.
    fn skip(&mut self) -> io::Result<bool> {
        while self.skipping > 0 {
            let unread = &self.buffer[self.unread.clone()];
            let within = usize::try_from(self.skipping)
                .unwrap_or(usize::MAX)
                .min(unread.len());
            match find_header(unread, within) {
                HeaderSearch::Header(at) => {
                    self.consume(at);
                    self.skipping = 0;
                }
                HeaderSearch::Perhaps(at) => {
                    self.consume(at);
                    self.skipping -= at as u64;
                    if !self.fill()? {
                        return Ok(false);
                    }
                }
                HeaderSearch::Nothing => {
                    self.consume(within);
                    self.skipping -= within as u64;
                    if self.skipping > 0 && !self.fill()? {
                        return Ok(false);
                    }
                }
            }
            self.before = b'\n';
        }
        Ok(true)
    }

    fn consume(&mut self, bytes: usize) {
        if bytes > 0 {
            self.unread.start += bytes;
            self.before = self.buffer[self.unread.start - 1];
        }
    }

    /// Reads more; false at the end of the input.
    fn fill(&mut self) -> io::Result<bool> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.unread.end == self.buffer.len() {
            // What is kept is never a whole buffer: lines and lengths are bounded well below it.
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        loop {
            match self.input.read(&mut self.buffer[self.unread.end..]) {
                Ok(read) => {
                    self.unread.end += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn classify(line: &[u8], before: u8) -> HeaderLine {
    if let Some(at) = find_length(line, before) {
        return HeaderLine::Length(number(&line[at + LENGTH.len()..]));
    }
    if line == b"\r\n" || line == b"\n" {
        return HeaderLine::Blank;
    }
    // Only CRLF ends a header; what else has a colon in it is likelier to be a log line.
    let name = line.split(|&byte| byte == b':').next().unwrap_or(line);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    if line.ends_with(b"\r\n") && !name.is_empty() && name.iter().all(is_name) {
        HeaderLine::Field
    } else {
        HeaderLine::Noise
    }
}

/// Where the last `Content-Length:` of a line begins. It may follow on a banner without a line
/// end, but `X-Content-Length:` is another header.
fn find_length(line: &[u8], before: u8) -> Option<usize> {
    let is_length = |at: &usize| {
        let before = if *at == 0 { before } else { line[*at - 1] };
        before != b'-' && line[*at..*at + LENGTH.len()].eq_ignore_ascii_case(LENGTH)
    };
    memchr::memrchr2_iter(b'c', b'C', line)
        .filter(|at| at + LENGTH.len() <= line.len())
        .find(is_length)
}

/// The number a header's value is, if it is one. One that does not fit is as good as endless.
fn number(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let text = std::str::from_utf8(digits).ok()?;
    Some(text.parse().unwrap_or(u64::MAX))
}

/// What [`find_header`] found, and where.
enum HeaderSearch {
    Header(usize),
    /// The bytes end before it is certain.
    Perhaps(usize),
    Nothing,
}

/// The first raw `Content-Length: <digits>\r\n` that begins in the first `within` bytes.
fn find_header(bytes: &[u8], within: usize) -> HeaderSearch {
    for at in memchr::memchr2_iter(b'c', b'C', &bytes[..within]) {
        let rest = &bytes[at..];
        let name = &rest[..rest.len().min(LENGTH.len())];
        if !name.eq_ignore_ascii_case(&LENGTH[..name.len()]) {
            continue;
        }
        let value = &rest[name.len()..];
        match memchr::memchr(b'\n', &value[..value.len().min(MAX_VALUE)]) {
            Some(end) if value[..end].ends_with(b"\r") && number(&value[..end]).is_some() => {
                return HeaderSearch::Header(at);
            }
            None if value.len() < MAX_VALUE && value.iter().all(is_value) => {
                return HeaderSearch::Perhaps(at);
            }
            _ => {}
        }
    }
    HeaderSearch::Nothing
}

fn is_value(byte: &u8) -> bool {
    byte.is_ascii_digit() || byte.is_ascii_whitespace()
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
