//! The text that is parsed, in one piece with its line starts; it never differs from the `Text` it was made of.

use memchr::{memchr, memchr_iter};

use crate::text::Text;

/// A text in one string. Lines are counted from 0 here and end at LF, as in [`Text`]: of a file
/// with CR lines this holds LF in their place, so that a parser's rows are the text's lines.
/// The last line ends as well, whether it does in the file or not: Kotlin's scanner looks for the
/// end of a line without a look at the end of the text.
#[derive(Debug, Clone)]
pub struct Source {
    text: String,
    /// The byte at which each line begins.
    starts: Vec<usize>,
}

impl Source {
    pub fn new(text: &Text) -> Source {
        let mut held = String::with_capacity(text.len_bytes() + 1);
        text.chunks().for_each(|chunk| held.push_str(chunk));
        Source::of(held)
    }

    /// Of a text as [`Text`] holds it.
    pub fn of(mut text: String) -> Source {
        if text.is_empty() {
            return Source {
                text: "\n".to_owned(),
                starts: Vec::new(),
            };
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let ends = memchr_iter(b'\n', &text.as_bytes()[..text.len() - 1]);
        let starts = std::iter::once(0).chain(ends.map(|at| at + 1)).collect();
        Source { text, starts }
    }

    /// All of it, as the parser reads it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it has a NUL, which to most scanners is the end of the text.
    pub fn has_nul(&self) -> bool {
        memchr(0, self.text.as_bytes()).is_some()
    }

    pub fn len_lines(&self) -> usize {
        self.starts.len()
    }

    /// The line without its end; empty past the last.
    pub fn line(&self, line: usize) -> &str {
        let Some(&start) = self.starts.get(line) else {
            return "";
        };
        let end = self.starts.get(line + 1).copied();
        let raw = &self.text[start..end.unwrap_or(self.text.len())];
        match raw.strip_suffix('\n') {
            Some(ended) => ended.strip_suffix('\r').unwrap_or(ended),
            None => raw,
        }
    }

    /// The byte at which the line begins; the length of the text past the last.
    pub fn line_start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.text.len())
    }

    /// The line that holds a byte; the last line for a byte past the end.
    pub fn line_of(&self, byte: usize) -> usize {
        self.starts
            .partition_point(|&start| start <= byte)
            .saturating_sub(1)
    }
}
