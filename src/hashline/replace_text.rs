//! Finding the text of `replace_text`, exactly; a text that is only similar is told, never taken.

use memchr::memmem::{self, Finder};

use super::block::TextHunk;
use super::ops::Origin;
use crate::protocol::read::LineSpan;
use crate::text::Text;

/// A place between two characters: a line, from 0, and UTF-8 bytes into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    pub line: usize,
    pub column: usize,
}

/// An occurrence of a text, and what is to stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMatch {
    pub start: TextPosition,
    /// At or after `start`; after a final newline it is the start of a line that does not exist.
    pub end: TextPosition,
    pub new: String,
    pub origin: Origin,
}

impl TextMatch {
    /// The lines that are no longer the same (1-indexed; the last may be one past the end).
    pub fn lines(&self) -> LineSpan {
        let whole_lines = self.end.column == 0 && self.end.line > self.start.line;
        let line_stays = self.new.ends_with('\n') || self.new.is_empty() && self.start.column == 0;
        let end = match whole_lines && line_stays {
            true => self.end.line - 1,
            false => self.end.line,
        };
        LineSpan {
            start: self.start.line as u64 + 1,
            end: end as u64 + 1,
        }
    }
}

/// Where the longest part of the wanted text that exists stops being it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Line of the file, 1-indexed.
    pub line: u64,
    /// UTF-8 byte of that line, 1-indexed.
    pub byte: u64,
    /// What was wanted from there on, up to its line's end, blanks made visible.
    pub expected: String,
    /// That line of the file around the place, which has a mark before it.
    pub marked: String,
}

/// `replace_text` does not match once: `noMatch` on the wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {}", self.what())]
pub struct NoMatch {
    pub origin: Origin,
    /// How often the text is there: 0, or more than once.
    pub count: usize,
    /// Where it is, or where it is but for blanks; at most [`CANDIDATES`].
    pub candidates: Vec<LineSpan>,
    pub divergence: Option<Divergence>,
}

/// Candidates that an error names.
pub const CANDIDATES: usize = 20;

impl NoMatch {
    fn what(&self) -> String {
        let places: Vec<String> = self
            .candidates
            .iter()
            .map(|lines| format!("{}..{}", lines.start, lines.end))
            .collect();
        let places = places.join(", ");
        if self.count > 1 {
            return format!(
                "the old text is there {} times (lines {places}). Make it longer, replace all of them, or edit by line numbers.",
                self.count
            );
        }
        match (&self.divergence, places.is_empty()) {
            (_, false) => format!(
                "the old text is not in the file; lines {places} differ from it only in blanks. Copy the text exactly, or edit by line numbers."
            ),
            (Some(divergence), true) => format!(
                "the old text is not in the file. Nearest is line {}, as far as ⟪ (byte {}): '{}', where '{}' was expected.",
                divergence.line, divergence.byte, divergence.marked, divergence.expected
            ),
            (None, true) => "the old text is not in the file, nor is any part of it.".to_owned(),
        }
    }
}

/// Finds the texts of hunks in the live text, and says of which ones there is nothing to replace.
/// Line ends of all kinds are one newline here.
pub fn find(text: &Text, hunks: &[TextHunk]) -> (Vec<TextMatch>, Vec<NoMatch>) {
    let (mut found, mut missing) = (Vec::with_capacity(hunks.len()), Vec::new());
    if hunks.is_empty() {
        return (found, missing);
    }
    // To put a text together costs far more than to search it.
    let haystack = Haystack::of(text);
    for hunk in hunks {
        let make = |at: usize| TextMatch {
            start: haystack.spot(at),
            end: haystack.spot(at + hunk.old.len()),
            new: hunk.new.clone(),
            origin: hunk.origin,
        };
        match haystack.places(hunk) {
            Ok(places) => found.extend(places.into_iter().map(make)),
            Err(error) => missing.push(error),
        }
    }
    (found, missing)
}

/// A text with every line end as one newline.
struct Haystack {
    text: String,
    /// Where each line begins, and where the text ends if its last line is ended.
    starts: Vec<usize>,
}

impl Haystack {
    fn of(text: &Text) -> Haystack {
        let mut all = String::with_capacity(text.len_bytes());
        let mut starts = Vec::with_capacity(text.len_lines() + 1);
        for line in text.lines_at(0) {
            starts.push(all.len());
            all.push_str(&line);
            all.push('\n');
        }
        match text.ends_with_newline() {
            true => starts.push(all.len()),
            false => {
                all.pop();
            }
        }
        if starts.is_empty() {
            starts.push(0);
        }
        Haystack { text: all, starts }
    }

    /// Where the text of a hunk begins: once, or, for all, from the left and apart.
    fn places(&self, hunk: &TextHunk) -> Result<Vec<usize>, NoMatch> {
        let (text, finder) = (self.text.as_bytes(), Finder::new(&hunk.old));
        let Some(first) = finder.find(text) else {
            return Err(self.nothing(hunk));
        };
        if hunk.all {
            return Ok(finder.find_iter(text).collect());
        }
        // Another one may begin inside the first.
        if finder.find(&text[first + 1..]).is_none() {
            return Ok(vec![first]);
        }
        let (count, starts) = occurrences(&text[first..], hunk.old.as_bytes());
        let span = |at: &usize| self.lines(first + at, first + at + hunk.old.len());
        Err(NoMatch {
            origin: hunk.origin,
            count,
            candidates: starts.iter().map(span).collect(),
            divergence: None,
        })
    }

    fn spot(&self, at: usize) -> TextPosition {
        let line = self.starts.partition_point(|start| *start <= at) - 1;
        TextPosition {
            line,
            column: at - self.starts[line],
        }
    }

    fn lines(&self, start: usize, end: usize) -> LineSpan {
        let last = self.spot(end.saturating_sub(1).max(start));
        LineSpan {
            start: self.spot(start).line as u64 + 1,
            end: last.line as u64 + 1,
        }
    }

    fn nothing(&self, hunk: &TextHunk) -> NoMatch {
        NoMatch {
            origin: hunk.origin,
            count: 0,
            candidates: self.similar(&hunk.old),
            divergence: self.divergence(&hunk.old),
        }
    }

    /// Runs of lines that are the wanted ones but for blanks.
    fn similar(&self, wanted: &str) -> Vec<LineSpan> {
        let wanted: Vec<String> = wanted.trim_end().lines().map(squeezed).collect();
        if wanted.iter().all(String::is_empty) {
            return Vec::new();
        }
        let lines: Vec<String> = self.text.lines().map(squeezed).collect();
        lines
            .windows(wanted.len())
            .enumerate()
            .filter(|(_, window)| *window == wanted)
            .map(|(at, _)| LineSpan {
                start: at as u64 + 1,
                end: (at + wanted.len()) as u64,
            })
            .take(CANDIDATES)
            .collect()
    }

    /// Where the longest part from the wanted text's beginning that is in the file ends.
    fn divergence(&self, wanted: &str) -> Option<Divergence> {
        let cuts: Vec<usize> = wanted.char_indices().map(|(at, _)| at).skip(1).collect();
        let find = |length: usize| memmem::find(self.text.as_bytes(), &wanted.as_bytes()[..length]);
        // If a part is there, so is every shorter one.
        let longest = cuts.partition_point(|cut| find(*cut).is_some());
        let length = *cuts.get(longest.checked_sub(1)?)?;
        let end = find(length)? + length;
        let spot = self.spot(end);
        Some(Divergence {
            line: spot.line as u64 + 1,
            byte: spot.column as u64 + 1,
            expected: visible(&wanted[length..]),
            marked: self.marked(end),
        })
    }

    /// The line around a place, with a mark there.
    fn marked(&self, at: usize) -> String {
        let start = self.starts[self.spot(at).line];
        let before = &self.text[start..at];
        let cut = before.char_indices().rev().nth(EXCERPT - 1);
        let cut = cut.map_or(0, |(at, _)| at);
        let dots = if cut > 0 { "…" } else { "" };
        format!(
            "{dots}{}⟪{}",
            visible(&before[cut..]),
            visible(&self.text[at..])
        )
    }
}

/// How often the needle is there, also inside another occurrence, and where the first ones begin. One
/// pass (Knuth, Morris and Pratt): to search again from each would take the square of the time for
/// a text that repeats itself.
fn occurrences(text: &[u8], needle: &[u8]) -> (usize, Vec<usize>) {
    // For each part of the needle from its beginning: how long the longest shorter one is that it
    // ends with.
    let mut borders = vec![0; needle.len()];
    let longer = |borders: &[usize], mut length: usize, byte: u8| {
        while length == needle.len() || length > 0 && needle[length] != byte {
            length = borders[length - 1];
        }
        length + usize::from(needle[length] == byte)
    };
    for at in 1..needle.len() {
        borders[at] = longer(&borders, borders[at - 1], needle[at]);
    }
    let (mut count, mut starts, mut matched) = (0, Vec::new(), 0);
    for (at, byte) in text.iter().enumerate() {
        matched = longer(&borders, matched, *byte);
        if matched == needle.len() {
            count += 1;
            if starts.len() < CANDIDATES {
                starts.push(at + 1 - needle.len());
            }
        }
    }
    (count, starts)
}

/// A line with each run of blanks as one space, and none at its ends.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Characters of an excerpt of the text.
const EXCERPT: usize = 40;

/// The start of a text up to its first line end, with blanks as marks.
fn visible(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(EXCERPT) {
        match c {
            ' ' => out.push('·'),
            '\t' => out.push('→'),
            '\n' => {
                out.push('⏎');
                return out;
            }
            c if c.is_control() || c.is_whitespace() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn occurrences_are_those_of_a_search_from_every_byte(
            text in "[ab]{0,40}",
            needle in "[ab]{1,6}",
        ) {
            let is_there = |at: &usize| text[*at..].starts_with(&needle);
            let starts: Vec<usize> = (0..text.len()).filter(is_there).collect();
            let first = starts.iter().copied().take(CANDIDATES).collect();
            prop_assert_eq!(occurrences(text.as_bytes(), needle.as_bytes()), (starts.len(), first));
        }
    }
}
