//! Selectors: which lines of a resource are asked for, and in what form; a selector never says how many fit.

use serde::{Deserialize, Serialize};

use crate::protocol::read::LineSpan;
use crate::protocol::shortened;

use super::LineSet;
use super::excerpt::from_end;

/// One piece of a selector. Lines are 1-indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// From a line to the end.
    From(u64),
    /// Inclusive.
    Range(u64, u64),
    /// The last so many lines.
    Tail(u64),
}

/// What of a resource is asked for. The default asks for all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selector {
    /// Empty: everything.
    pub pieces: Vec<Piece>,
    pub raw: bool,
    /// The text itself where a summary would be shown.
    pub full: bool,
    /// The unresolved merge conflicts only.
    pub conflicts: bool,
    /// A single `A-B`, `A+C` or `LINE:COLUMN`: the only forms that are given context.
    pub bounded: bool,
    /// What only one kind of resource knows.
    pub own: Option<Own>,
    /// The lines were given as parameters, which a tool's caller sets whatever it reads: what has no
    /// lines takes no notice of them.
    pub soft: bool,
}

/// A form of selector that one kind of resource has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Own {
    /// `outputs`: a notebook with what its cells gave.
    Outputs,
    /// `crop=x,y,w,h`: a part of an image, in its pixels.
    Crop { x: u32, y: u32, w: u32, h: u32 },
    /// `p3`, `p3-5`: pages of a document, 1-indexed and inclusive.
    Pages(u32, u32),
    /// `table`: CSV as a table.
    Table,
    /// `links`: the links of a web page.
    Links,
    /// `page`: a web page whole, with what surrounds its main part.
    WholePage,
    /// `outline`: a source file as its outline, however long that is.
    Outline,
}

impl Own {
    /// Parses one such form; `None` where it has none of these shapes.
    fn parse(text: &str) -> Option<Result<Own, SelectorError>> {
        let wrong = |message: &str| SelectorError::Invalid(message.to_owned());
        match text {
            "outputs" => return Some(Ok(Own::Outputs)),
            "table" => return Some(Ok(Own::Table)),
            "links" => return Some(Ok(Own::Links)),
            "page" => return Some(Ok(Own::WholePage)),
            "outline" => return Some(Ok(Own::Outline)),
            _ => {}
        }
        if let Some(numbers) = text.strip_prefix("crop=") {
            let numbers: Option<Vec<u32>> =
                numbers.split(',').map(|part| part.parse().ok()).collect();
            return Some(match numbers.as_deref() {
                Some([x, y, w, h]) if *w > 0 && *h > 0 => Ok(Own::Crop {
                    x: *x,
                    y: *y,
                    w: *w,
                    h: *h,
                }),
                _ => Err(wrong(
                    "A crop is :crop=x,y,w,h in pixels of the image, with w and h of at least 1.",
                )),
            });
        }
        let pages = text.strip_prefix('p')?;
        let (first, last) = pages.split_once('-').unwrap_or((pages, pages));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        Some(match (first, last) {
            (0, _) => Err(wrong("Pages are counted from 1. Use :p1.")),
            (first, last) if last < first => Err(SelectorError::Invalid(format!(
                "Invalid pages p{first}-{last}: the last must not come before the first."
            ))),
            (first, last) => Ok(Own::Pages(first, last)),
        })
    }

    /// What stands behind the lines where they are lines of this form alone.
    pub fn suffix(self) -> &'static str {
        match self {
            Own::Outputs => ":outputs",
            Own::Links => ":links",
            Own::WholePage => ":page",
            Own::Outline => ":outline",
            Own::Crop { .. } | Own::Pages(..) | Own::Table => "",
        }
    }

    /// What it is for, as a message says it.
    pub fn purpose(self) -> &'static str {
        match self {
            Own::Outputs => ":outputs is for notebooks",
            Own::Crop { .. } => ":crop is for images",
            Own::Pages(..) => ":p selects pages of documents",
            Own::Table => ":table is for CSV files",
            Own::Links => ":links is for web pages",
            Own::WholePage => ":page is for web pages",
            Own::Outline => ":outline is for source files",
        }
    }
}

/// Why a text is not a selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// It has no form of a selector; it may well be part of a file's name.
    #[error("'{}' is not a selector. Use {forms}.", shortened(.0), forms = FORMS)]
    Unknown(String),
    /// It has the form of a selector and cannot be meant.
    #[error("{0}")]
    Invalid(String),
}

/// The forms in words, for messages.
const FORMS: &str = ":N, :N-, :A-B, :A+C, :-N, :LINE:COLUMN, lists of these by comma, :raw, a range with :raw on either side, :full, :outline, :conflicts, :outputs (notebooks), :crop=x,y,w,h (images), :pN or :pN-M (documents), :table (CSV), or :links and :page (web pages)";

/// Bytes of the longest selector that is looked for at the end of a path string: some thousand
/// ranges.
const MAX_BYTES: usize = 64 * 1024;

/// The lines of a text that a selector asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedLines {
    /// Sorted and merged, all within the text.
    pub lines: LineSet,
    /// Pieces wholly beyond the end, in the order they were written, as written.
    pub beyond: Vec<LineSpan>,
}

impl Selector {
    /// A single line, without context.
    pub fn line(number: u64) -> Selector {
        Selector {
            pieces: vec![Piece::Range(number, number)],
            ..Selector::default()
        }
    }

    /// Parses `813-`, `raw`, `5-16,960-973:raw`, `62:13` and the like; the text is without its leading
    /// colon.
    pub fn parse(text: &str) -> Result<Selector, SelectorError> {
        let mut selector = Selector::default();
        let mut seen_lines = false;
        // A line right before, which may have a column.
        let mut line = None;
        for part in text.split(':') {
            let place = line.take().filter(|_| is_number(part));
            match part.to_ascii_lowercase().as_str() {
                "raw" if !selector.raw => selector.raw = true,
                "full" if !selector.full => selector.full = true,
                "conflicts" if !selector.conflicts => selector.conflicts = true,
                part if selector.own.is_none()
                    && let Some(own) = Own::parse(part) =>
                {
                    selector.own = Some(own?);
                }
                // As compilers and `grep` print a place.
                _ if let Some(line) = place => {
                    selector.pieces = vec![Piece::Range(line, line)];
                    selector.bounded = true;
                }
                _ if seen_lines => return Err(SelectorError::Unknown(text.to_owned())),
                _ => {
                    selector.pieces = parse_list(part).map_err(|error| {
                        error.unwrap_or(SelectorError::Unknown(text.to_owned()))
                    })?;
                    selector.bounded = matches!(selector.pieces[..], [Piece::Range(..)]);
                    seen_lines = true;
                    line = match selector.pieces[..] {
                        [Piece::From(line)] if is_number(part) => Some(line),
                        _ => None,
                    };
                }
            }
        }
        if selector.conflicts && (selector.raw || seen_lines || selector.own.is_some()) {
            return Err(SelectorError::Invalid(
                ":conflicts shows all conflicts of a file and cannot be combined.".into(),
            ));
        }
        Ok(selector)
    }

    /// The places where a path string may be split into a path and a selector, the shortest
    /// selector first: the byte index of the colon, and what follows it.
    pub fn splits(path: &str) -> Vec<(usize, Selector)> {
        Selector::places(path, [b':'; 2])
            .take(3)
            .filter_map(|index| Some((index, Selector::parse(&path[index + 1..]).ok()?)))
            .collect()
    }

    /// Where a path string may be parted from a selector by one of these characters of ASCII, the
    /// last first; never at its beginning.
    pub fn places(path: &str, parting: [u8; 2]) -> impl Iterator<Item = usize> {
        let from = path.len().saturating_sub(MAX_BYTES);
        let places = memchr::memrchr2_iter(parting[0], parting[1], &path.as_bytes()[from..]);
        places.map(move |at| from + at).filter(|at| *at > 0)
    }

    /// Whether lines, and not the whole, are asked for in so many words.
    pub fn has_lines(&self) -> bool {
        !self.pieces.is_empty() && !self.soft
    }

    /// The same with the lines of parameters in the place of those that it names; of pages, which
    /// are lines as well once a document is open, as much as is in both.
    pub fn with_lines(&self, lines: Piece) -> Selector {
        match self.own {
            Some(Own::Pages(..)) => self.with_lines_within(lines),
            _ => self.with_pieces(vec![lines]),
        }
    }

    /// The same of as much as is in both, whatever it names; where that is nothing, the lines of
    /// parameters alone.
    pub fn with_lines_within(&self, lines: Piece) -> Selector {
        let clipped = |piece: &Piece| match (*piece, lines) {
            (Piece::Range(start, end), Piece::From(first)) if first <= end => {
                Some(Piece::Range(start.max(first), end))
            }
            (Piece::Range(start, end), Piece::Range(first, last))
                if first <= end && start <= last =>
            {
                Some(Piece::Range(start.max(first), end.min(last)))
            }
            _ => None,
        };
        let pieces: Vec<Piece> = self.pieces.iter().filter_map(clipped).collect();
        match pieces.is_empty() {
            true => self.with_pieces(vec![lines]),
            false => self.with_pieces(pieces),
        }
    }

    fn with_pieces(&self, pieces: Vec<Piece>) -> Selector {
        Selector {
            pieces,
            bounded: false,
            soft: true,
            ..self.clone()
        }
    }

    /// Whether no end was named: everything, or everything from a line on.
    pub fn is_open_ended(&self) -> bool {
        self.pieces.is_empty()
            || self
                .pieces
                .iter()
                .any(|piece| matches!(piece, Piece::From(_)))
    }

    /// The lines asked for of a text of `total` lines.
    pub fn resolve(&self, total: u64) -> SelectedLines {
        let mut wanted = SelectedLines {
            lines: LineSet::new(),
            beyond: Vec::new(),
        };
        if self.pieces.is_empty() {
            wanted.lines.insert(1, total);
        }
        for piece in &self.pieces {
            let (start, end) = match *piece {
                Piece::From(start) => (start, total.max(start)),
                Piece::Range(start, end) => (start, end),
                Piece::Tail(count) => (total.saturating_sub(count) + 1, total),
            };
            if start > total && !matches!(piece, Piece::Tail(_)) {
                wanted.beyond.push(LineSpan { start, end });
            } else {
                wanted.lines.insert(start, end.min(total));
            }
        }
        wanted
    }
}

/// Writes the selector of what is left, without the colon: complete, and never with context, so
/// that no line is shown twice. `to_end` says that the last interval runs to the end of the text.
pub fn continuation(left: &[LineSpan], to_end: bool, raw: bool) -> String {
    let mut pieces: Vec<String> = left
        .iter()
        .map(|span| match span.start == span.end {
            true => span.start.to_string(),
            false => format!("{}-{}", span.start, span.end),
        })
        .collect();
    if to_end && let (Some(last), Some(span)) = (pieces.last_mut(), left.last()) {
        *last = match from_end(span.start) {
            Some(count) => format!("-{count}"),
            None => format!("{}-", span.start),
        };
    } else if let [only] = left {
        // A single `A-B` would be given context rows, a lone `A` is open-ended; a list is exact.
        pieces = match only.start == only.end {
            true => vec![only.start.to_string(), only.start.to_string()],
            false if only.start + 1 == only.end => {
                vec![only.start.to_string(), only.end.to_string()]
            }
            false => vec![
                format!("{}-{}", only.start, only.end - 1),
                only.end.to_string(),
            ],
        };
        if raw {
            pieces = vec![format!("{}-{}", only.start, only.end)];
        }
    }
    let mut text = pieces.join(",");
    if raw {
        text.push_str(":raw");
    }
    text
}

/// `Err(None)` means that the text has no form of a list of lines at all.
fn parse_list(text: &str) -> Result<Vec<Piece>, Option<SelectorError>> {
    let items: Vec<&str> = text.split(',').collect();
    let alone = items.len() == 1;
    items
        .into_iter()
        .map(|item| match parse_piece(item)? {
            // Alone a number is open-ended; in a list it is that one line.
            Piece::From(line) if !alone && item.ends_with(|c: char| c.is_ascii_digit()) => {
                Ok(Piece::Range(line, line))
            }
            piece => Ok(piece),
        })
        .collect()
}

fn parse_piece(text: &str) -> Result<Piece, Option<SelectorError>> {
    let text = text.replace("..", "-").replace(['–', '…', '—', '−'], "-");
    if let Some(count) = text.strip_prefix('-') {
        return match parse_number(count)? {
            0 => Err(invalid(
                "Tail selector -0 is invalid; use :-N with N >= 1 to read the last N lines.",
            )),
            count => Ok(Piece::Tail(count)),
        };
    }
    if let Some((start, count)) = text.split_once('+') {
        let (start, count) = (parse_line(start)?, parse_number(strip_l(count))?);
        return match count {
            0 => Err(invalid(&format!(
                "Invalid range {}: count must be >= 1.",
                shortened(&text)
            ))),
            count => Ok(Piece::Range(start, start.saturating_add(count - 1))),
        };
    }
    let Some((start, end)) = text.split_once('-') else {
        return Ok(Piece::From(parse_line(&text)?));
    };
    if end.is_empty() {
        return Ok(Piece::From(parse_line(start)?));
    }
    // Both sides must have the form before either can be wrong.
    let (first, last) = (parse_line(start), parse_number(strip_l(end))?);
    let first = first?;
    match last < first {
        true => Err(invalid(&format!(
            "Invalid range {first}-{last}: end must be >= start."
        ))),
        false => Ok(Piece::Range(first, last)),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn strip_l(text: &str) -> &str {
    text.strip_prefix(['L', 'l']).unwrap_or(text)
}

fn parse_line(text: &str) -> Result<u64, Option<SelectorError>> {
    match parse_number(strip_l(text))? {
        0 => Err(invalid(
            "Line selector 0 is invalid; lines are 1-indexed. Use :1.",
        )),
        line => Ok(line),
    }
}

fn parse_number(text: &str) -> Result<u64, Option<SelectorError>> {
    if !is_number(text) {
        return Err(None);
    }
    text.parse().map_err(|_| {
        invalid(&format!(
            "Line number {} is too large; no file has so many lines.",
            shortened(text)
        ))
    })
}

fn invalid(message: &str) -> Option<SelectorError> {
    Some(SelectorError::Invalid(message.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<Piece> {
        Selector::parse(text).expect(text).pieces
    }

    #[test]
    fn all_forms() {
        use Piece::*;
        assert_eq!(pieces("50"), [From(50)]);
        assert_eq!(pieces("L50-"), [From(50)]);
        assert_eq!(pieces("50-52"), [Range(50, 52)]);
        assert_eq!(pieces("L50-L52"), [Range(50, 52)]);
        assert_eq!(pieces("50+3"), [Range(50, 52)]);
        assert_eq!(pieces("-20"), [Tail(20)]);
        assert_eq!(pieces("5..9"), [Range(5, 9)]);
        assert_eq!(pieces("5–9"), [Range(5, 9)]);
        assert_eq!(pieces("5…9"), [Range(5, 9)]);
        assert_eq!(pieces("5,7,9-"), [Range(5, 5), Range(7, 7), From(9)]);
        assert!(Selector::parse("raw:5-6").is_ok_and(|s| s.raw && s.bounded));
        assert!(Selector::parse("5-6:raw").is_ok_and(|s| s.raw && s.bounded));
        assert!(Selector::parse("5-6,7").is_ok_and(|s| !s.bounded));
        assert_eq!(pieces("62:13"), [Range(62, 62)]);
        assert_eq!(Selector::parse("62:0"), Selector::parse("62-62"));
        assert_eq!(Selector::parse("62:13:raw"), Selector::parse("62-62:raw"));
    }

    #[test]
    fn what_cannot_be_meant() {
        let message = |text| match Selector::parse(text) {
            Err(SelectorError::Invalid(message)) => message,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(
            message("0"),
            "Line selector 0 is invalid; lines are 1-indexed. Use :1."
        );
        assert_eq!(message("10-5"), "Invalid range 10-5: end must be >= start.");
        assert_eq!(message("5+0"), "Invalid range 5+0: count must be >= 1.");
        assert!(message("-0").starts_with("Tail selector -0"));
        for text in [
            "foo", "", "1:", "1-:5", "1-2:5", "1,2:5", "L1:5", "1:5:5", "1:raw:5", " 5-6", "5-6x",
            "1,,2", "raw:raw", "L",
        ] {
            assert!(
                matches!(Selector::parse(text), Err(SelectorError::Unknown(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn splits_wherever_the_tail_parses() {
        let splits = |path: &'static str| -> Vec<&str> {
            Selector::splits(path)
                .into_iter()
                .map(|(index, _)| &path[..index])
                .collect()
        };
        assert_eq!(splits("a.txt:5-6:raw"), ["a.txt:5-6", "a.txt"]);
        assert_eq!(splits("a:b.txt:5"), ["a:b.txt"]);
        assert_eq!(splits("a.txt:foo"), [""; 0]);
        assert_eq!(splits(":5"), [""; 0]);
    }

    #[test]
    fn continuations_are_lists_or_open() {
        let span = |start, end| LineSpan { start, end };
        assert_eq!(continuation(&[span(813, 5000)], true, false), "813-");
        assert_eq!(continuation(&[span(813, 5000)], true, true), "813-:raw");
        assert_eq!(continuation(&[span(813, 900)], false, false), "813-899,900");
        assert_eq!(continuation(&[span(813, 813)], false, false), "813,813");
        assert_eq!(continuation(&[span(813, 900)], false, true), "813-900:raw");
        assert_eq!(
            continuation(&[span(8, 9), span(20, 20)], false, false),
            "8-9,20"
        );
    }
}
