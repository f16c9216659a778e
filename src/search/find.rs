//! A text gone through line by line, or as one where matches may go over several lines.
//!
//! Line by line it is gone through in pieces, so that whoever calls it off need not wait for its end.
//! The lines before a match are counted only once there is one.

use std::io;

use grep_matcher::LineTerminator;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use memchr::{memchr, memchr_iter};

use crate::protocol::read::LineSpan;
use crate::task::{Stopped, Work};

use super::pattern::Pattern;

/// Bytes between two looks at the cancel token.
const PIECE: usize = 256 * 1024;

/// Matches between them.
const CHECK_EVERY: u64 = 256;

/// What is wanted of the matches in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchesWanted {
    /// How many there are.
    Count,
    /// Their lines behind the line `after` (0: all), until there are `most` of them.
    Lines { after: u64, most: u64 },
}

/// What was found in one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Matches that begin behind the line after which they are wanted. One is a line, or the lines
    /// of matches over several lines that touch.
    pub count: u64,
    /// Their lines, and the rest of one that goes on behind that line.
    pub spans: Vec<LineSpan>,
    /// The first of them is such a rest.
    pub begins_before: bool,
    /// There are more than were wanted.
    pub has_more: bool,
}

impl Found {
    /// Lines of the matches.
    pub fn lines(&self) -> u64 {
        self.spans.iter().map(|span| span.count()).sum()
    }
}

/// Looks for one pattern in one text after the other.
#[derive(Debug)]
pub struct Finder {
    pattern: Pattern,
    searcher: Searcher,
}

impl Finder {
    pub fn new(pattern: &Pattern) -> Finder {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(false)
            .multi_line(pattern.multiline)
            // What is searched was decoded, and judged to be text.
            .bom_sniffing(false)
            .binary_detection(BinaryDetection::none())
            .build();
        Finder {
            pattern: pattern.clone(),
            searcher,
        }
    }

    /// Whether each line is searched by itself, so that a text can be searched in pieces of whole lines.
    pub fn goes_by_line(&self) -> bool {
        !self.searcher.multi_line_with_matcher(&self.pattern.matcher)
    }

    /// Finds the pattern in a text, whose lines end at LF.
    ///
    /// # Errors
    ///
    /// When the work is stopped.
    pub fn find(
        &mut self,
        text: &[u8],
        wanted: MatchesWanted,
        work: &Work,
    ) -> Result<Found, Stopped> {
        let mut taking = Taking {
            text,
            wanted,
            work,
            piece: 0,
            counted: 0,
            lines: 0,
            matches: 0,
            taken: 0,
            found: Found::default(),
            stopped: None,
        };
        let matcher = &self.pattern.matcher;
        let is_whole = !self.goes_by_line();
        while taking.piece < text.len() {
            work.check()?;
            let rest = &text[taking.piece..];
            let end = match rest.get(PIECE..) {
                Some(more) if !is_whole => {
                    memchr(b'\n', more).map_or(rest.len(), |at| PIECE + at + 1)
                }
                _ => rest.len(),
            };
            let searched = self
                .searcher
                .search_slice(matcher, &rest[..end], &mut taking);
            if let Some(stopped) = taking.stopped {
                return Err(stopped);
            }
            // A sink of ours does not fail, nor does a regex on bytes at hand.
            if searched.is_err() || taking.found.has_more {
                break;
            }
            taking.piece += end;
        }
        Ok(taking.found)
    }
}

/// Takes the matches of one text.
struct Taking<'a> {
    text: &'a [u8],
    wanted: MatchesWanted,
    work: &'a Work,
    /// Where the piece begins that is searched.
    piece: usize,
    /// The lines that end before this byte.
    counted: usize,
    lines: u64,
    /// Matches so far, and lines taken.
    matches: u64,
    taken: u64,
    found: Found,
    stopped: Option<Stopped>,
}

impl Taking<'_> {
    /// The lines of a match that begins at that byte of the text.
    fn span(&mut self, start: usize, bytes: &[u8]) -> LineSpan {
        self.lines += line_ends(&self.text[self.counted..start]);
        self.counted = start;
        let unended = u64::from(!bytes.ends_with(b"\n"));
        LineSpan {
            start: self.lines + 1,
            end: self.lines + (line_ends(bytes) + unended).max(1),
        }
    }

    /// Takes one; whether more are wanted.
    fn take(&mut self, start: usize, bytes: &[u8]) -> bool {
        let MatchesWanted::Lines { after, most } = self.wanted else {
            self.found.count += 1;
            return true;
        };
        let span = self.span(start, bytes);
        if span.end <= after {
            return true;
        }
        if self.taken >= most {
            self.found.has_more = true;
            return false;
        }
        let begins_before = span.start <= after;
        self.found.count += u64::from(!begins_before);
        self.found.begins_before |= begins_before;
        let span = LineSpan {
            start: span.start.max(after + 1),
            end: span.end,
        };
        self.taken += span.count();
        self.found.spans.push(span);
        true
    }
}

impl Sink for Taking<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.matches += 1;
        if self.matches.is_multiple_of(CHECK_EVERY)
            && let Err(stopped) = self.work.check()
        {
            self.stopped = Some(stopped);
            return Ok(false);
        }
        let start = self.piece + found.absolute_byte_offset() as usize;
        Ok(self.take(start, found.bytes()))
    }
}

fn line_ends(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::task::CancelToken;

    use super::super::Matching;
    use super::*;

    const ALL: MatchesWanted = MatchesWanted::Lines {
        after: 0,
        most: u64::MAX,
    };

    fn work() -> Work {
        Work::new(CancelToken::new(), Duration::from_secs(60))
    }

    fn spans(pattern: &str, how: Matching, text: &str, wanted: MatchesWanted) -> Vec<(u64, u64)> {
        let pattern = Pattern::new(pattern, how).expect("a pattern");
        let found = Finder::new(&pattern).find(text.as_bytes(), wanted, &work());
        let spans = found.expect("nothing stops it").spans;
        spans.iter().map(|span| (span.start, span.end)).collect()
    }

    #[test]
    fn lines_end_at_lf_and_crlf() {
        let plain = Matching::default();
        let text = "one\r\ntwo\nten one\r\n\r\nlast one";
        assert_eq!(
            spans("one$", plain, text, ALL),
            [(1, 1), (3, 3), (5, 5)],
            "the end of a line is before its CRLF"
        );
        assert_eq!(spans("^$", plain, text, ALL), [(4, 4)]);
        assert_eq!(spans("a", plain, "", ALL), []);
    }

    #[test]
    fn a_match_over_lines_is_all_of_them_and_those_that_touch_are_one() {
        let multiline = Matching {
            multiline: true,
            ..Matching::default()
        };
        let text = "a(\n1,\n2)\nx\nb(\n3)\nc(\n4)\n";
        let call = r"[a-z]\([^)]*\)";
        assert_eq!(spans(call, multiline, text, ALL), [(1, 3), (5, 8)]);
        let after = |after| MatchesWanted::Lines { after, most: 2 };
        assert_eq!(spans(call, multiline, text, after(2)), [(3, 3), (5, 8)]);
        assert_eq!(spans(call, multiline, text, after(6)), [(7, 8)]);
    }

    #[test]
    fn pieces_and_continuing_change_nothing() {
        let line = |number: u64| match number % 1000 {
            7 => format!("the needle of {number}\n"),
            _ => format!("hay of {number}, and no more than hay\n"),
        };
        let text: String = (1..=60_000).map(line).collect();
        assert!(text.len() > 4 * PIECE);
        let plain = Matching::default();
        let all = spans("needle", plain, &text, ALL);
        let expected: Vec<(u64, u64)> = (0..60).map(|at| (at * 1000 + 7, at * 1000 + 7)).collect();
        assert_eq!(all, expected);
        let mut after = 0;
        let mut parts = Vec::new();
        loop {
            let part = spans(
                "needle",
                plain,
                &text,
                MatchesWanted::Lines { after, most: 7 },
            );
            let Some((_, last)) = part.last() else { break };
            after = *last;
            parts.extend(part);
        }
        assert_eq!(parts, expected);
        let pattern = Pattern::new("needle", plain).expect("a pattern");
        let counted = Finder::new(&pattern).find(text.as_bytes(), MatchesWanted::Count, &work());
        assert_eq!(counted.map(|found| found.count), Ok(60));
    }

    #[test]
    fn it_ends_when_it_is_called_off() {
        let cancel = CancelToken::new();
        let work = Work::new(cancel.clone(), Duration::from_secs(60));
        cancel.cancel();
        let pattern = Pattern::new("a", Matching::default()).expect("a pattern");
        let found = Finder::new(&pattern).find(b"a\n", ALL, &work);
        assert_eq!(found, Err(Stopped::Cancelled));
    }
}
