//! Walking the lines of a rope in order; a line that lies within one chunk is never copied.

use std::borrow::Cow;

use memchr::memchr;
use ropey::iter::Chunks;

/// Lines in order, without their ends; made by [`Text::lines_at`](super::Text::lines_at).
#[derive(Clone)]
pub struct Lines<'a> {
    /// What of the current chunk has not been handed out.
    rest: &'a str,
    chunks: Chunks<'a>,
    remaining: usize,
}

impl<'a> Lines<'a> {
    /// `rest` begins at the first line to give and `chunks` continue it; `remaining` lines follow.
    pub(super) fn new(rest: &'a str, chunks: Chunks<'a>, remaining: usize) -> Lines<'a> {
        Lines {
            rest,
            chunks,
            remaining,
        }
    }

    /// A line that runs on into the next chunk.
    fn across_chunks(&mut self) -> Cow<'a, str> {
        let mut line = String::from(self.rest);
        self.rest = "";
        for chunk in self.chunks.by_ref() {
            if let Some(end) = memchr(b'\n', chunk.as_bytes()) {
                line.push_str(&chunk[..end]);
                self.rest = &chunk[end + 1..];
                // Only an ended line loses its CR: at the end of the text a CR is text.
                if line.ends_with('\r') {
                    line.pop();
                }
                break;
            }
            line.push_str(chunk);
        }
        Cow::Owned(line)
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Cow<'a, str>> {
        if self.remaining == 0 {
            return None;
        }
        self.remaining -= 1;
        if self.rest.is_empty() {
            // Another line is due, so another chunk is there; without one the line is empty.
            self.rest = self.chunks.next().unwrap_or_default();
        }
        match memchr(b'\n', self.rest.as_bytes()) {
            Some(end) => {
                let line = without_cr(&self.rest[..end]);
                self.rest = &self.rest[end + 1..];
                Some(Cow::Borrowed(line))
            }
            None => Some(self.across_chunks()),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Lines<'_> {}

impl std::fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("remaining", &self.remaining)
            .finish_non_exhaustive()
    }
}

/// A line whose LF is already gone, without the CR that belonged to its end.
pub(super) fn without_cr(line: &str) -> &str {
    // A search for a character from the end costs more than all else of a short line.
    match line.as_bytes().last() {
        Some(b'\r') => &line[..line.len() - 1],
        _ => line,
    }
}
