//! A text as a reader of its bytes, for whoever hands it to another process.

use std::io::{self, Read};

use super::Text;

/// The held text from its beginning, in UTF-8. It never fails.
pub struct TextReader<'t, I> {
    chunks: I,
    rest: &'t [u8],
}

impl Text {
    /// Reads the held text.
    pub fn reader(&self) -> TextReader<'_, impl Iterator<Item = &[u8]>> {
        TextReader {
            chunks: self.chunks().map(str::as_bytes),
            rest: &[],
        }
    }
}

impl<'t, I: Iterator<Item = &'t [u8]>> Read for TextReader<'t, I> {
    /// Fills the buffer as far as there is text.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            if self.rest.is_empty() {
                match self.chunks.next() {
                    Some(chunk) => self.rest = chunk,
                    None => break,
                }
            }
            let count = self.rest.len().min(buffer.len() - filled);
            let (now, later) = self.rest.split_at(count);
            buffer[filled..filled + count].copy_from_slice(now);
            (self.rest, filled) = (later, filled + count);
        }
        Ok(filled)
    }
}
