//! Finding the text of `replace_text`, exactly; a text that is only similar is told, never taken.

use memchr::memmem::{self, Finder};

use super::block::TextHunk;
use super::ops::Origin;
use crate::protocol::read::LineSpan;
use crate::text::Text;

/// A place between two characters: a line, from 0, and UTF-8 bytes into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    pub line: usize,
    pub column: usize,
}

/// An occurrence of a text, and what is to stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMatch {
    pub start: Spot,
    /// At or after `start`; after a final newline it is the start of a line that does not exist.
    pub end: Spot,
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
    /// What the file has there.
    pub found: String,
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
pub const CANDIDATES: usize = 5;

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
                "the old text is there {} times (lines {places}). Make it longer, set all, or edit by line numbers.",
                self.count
            );
        }
        match (&self.divergence, places.is_empty()) {
            (_, false) => format!(
                "the old text is not in the file; lines {places} differ from it only in blanks. Copy the text exactly, or edit by line numbers."
            ),
            (Some(divergence), true) => format!(
                "the old text is not in the file. The longest part of it that is there ends at line {}, byte {}: expected '{}', found '{}'.",
                divergence.line, divergence.byte, divergence.expected, divergence.found
            ),
            (None, true) => "the old text is not in the file, nor is any part of it.".to_owned(),
        }
    }
}

/// Finds the text of a hunk in the live text. Line ends of all kinds are one newline here.
pub fn find(text: &Text, hunk: &TextHunk) -> Result<Vec<TextMatch>, NoMatch> {
    let haystack = Haystack::of(text);
    let found = haystack.matches(&hunk.old);
    let starts = match (hunk.all, found.as_slice()) {
        (_, []) => return Err(haystack.nothing(hunk)),
        (false, [_]) => found,
        (false, many) => {
            let span = |at: &usize| haystack.lines(*at, *at + hunk.old.len());
            return Err(NoMatch {
                origin: hunk.origin,
                count: many.len(),
                candidates: many.iter().take(CANDIDATES).map(span).collect(),
                divergence: None,
            });
        }
        (true, _) => disjoint(&found, hunk.old.len()),
    };
    let make = |at: usize| TextMatch {
        start: haystack.spot(at),
        end: haystack.spot(at + hunk.old.len()),
        new: hunk.new.clone(),
        origin: hunk.origin,
    };
    Ok(starts.into_iter().map(make).collect())
}

/// From the left, without those that begin inside one that was taken.
fn disjoint(starts: &[usize], length: usize) -> Vec<usize> {
    let mut free = 0;
    let take = |at: &&usize| {
        let taken = **at >= free;
        if taken {
            free = **at + length;
        }
        taken
    };
    let mut take = take;
    starts.iter().filter(|at| take(at)).copied().collect()
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

    /// Where the needle begins, also where that is inside another occurrence.
    fn matches(&self, needle: &str) -> Vec<usize> {
        let finder = Finder::new(needle);
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(at) = self
            .text
            .as_bytes()
            .get(from..)
            .and_then(|rest| finder.find(rest))
        {
            found.push(from + at);
            from += at + 1;
        }
        found
    }

    fn spot(&self, at: usize) -> Spot {
        let line = self.starts.partition_point(|start| *start <= at) - 1;
        Spot {
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
            found: visible(&self.text[end..]),
        })
    }
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
    if text.is_empty() {
        out.push_str("end of file");
    }
    out
}
