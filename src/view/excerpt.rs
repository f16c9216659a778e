//! The lines of a file too large to hold that one request can show; an excerpt never holds more than a budget and its context.

use crate::text::Text;

/// The number of the last line of a file whose lines nobody counted. Lines named from the end are
/// numbered down from it, so that one order and one arithmetic hold for all lines.
pub const UNCOUNTED_END: u64 = 1 << 62;

/// How far from the end a line is whose number is not known: 1 for the last one. `None` for a line
/// with a number of its own.
pub fn from_end(number: u64) -> Option<u64> {
    (number > UNCOUNTED_END / 2 && number <= UNCOUNTED_END).then(|| UNCOUNTED_END - number + 1)
}

/// The length of a line that is not shown whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Characters, counted to the end.
    Chars(u64),
    /// Longer than so many bytes; nobody counted further.
    OverBytes(u64),
}

/// One line, as it is to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcerptLine {
    /// 1-indexed; see [`from_end`].
    pub number: u64,
    /// The line without its end, cut where the request cuts it.
    pub text: String,
    /// Its end in the file: LF, CRLF, or none.
    pub end: &'static str,
    /// Set where the line was cut.
    pub cut: Option<Length>,
}

/// Some lines of a file, with what is known of the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// In ascending order, with gaps.
    pub lines: Vec<ExcerptLine>,
    /// Lines of the file, where they are all counted.
    pub total_lines: Option<u64>,
    pub total_bytes: u64,
}

impl Excerpt {
    /// The lines from `number` on, as far as they are there without a gap.
    pub fn starting_at(&self, number: u64) -> impl Iterator<Item = &ExcerptLine> {
        let at = self.lines.partition_point(|line| line.number < number);
        self.lines[at..]
            .iter()
            .zip(number..)
            .take_while(|(line, number)| line.number == *number)
            .map(|(line, _)| line)
    }

    /// The lines `first..=last` with their own ends; a cut line stands as it was cut.
    fn raw(&self, first: u64, last: u64) -> String {
        let within = self
            .starting_at(first)
            .take_while(|line| line.number <= last)
            .flat_map(|line| [line.text.as_str(), line.end]);
        within.collect()
    }
}

/// What a document holds of its resource.
#[derive(Debug, Clone)]
pub enum Content {
    Whole(Text),
    /// The first lines of a text that goes on: at least one more than a window needs.
    Begun(Text),
    Excerpt(Excerpt),
}

impl Content {
    /// The whole text; of a file too large to hold there is none, nor of what is only begun.
    pub fn whole(&self) -> Option<&Text> {
        match self {
            Content::Whole(text) => Some(text),
            Content::Begun(_) | Content::Excerpt(_) => None,
        }
    }
}

impl From<Text> for Content {
    fn from(text: Text) -> Content {
        Content::Whole(text)
    }
}

/// What a window is opened on.
#[derive(Debug, Clone, Copy)]
pub enum Lines<'t> {
    Whole(&'t Text),
    Begun(&'t Text),
    Excerpt(&'t Excerpt),
}

impl<'t> From<&'t Text> for Lines<'t> {
    fn from(text: &'t Text) -> Lines<'t> {
        Lines::Whole(text)
    }
}

impl<'t> From<&'t Content> for Lines<'t> {
    fn from(content: &'t Content) -> Lines<'t> {
        match content {
            Content::Whole(text) => Lines::Whole(text),
            Content::Begun(text) => Lines::Begun(text),
            Content::Excerpt(excerpt) => Lines::Excerpt(excerpt),
        }
    }
}

/// One line as a window takes it.
#[derive(Debug)]
pub enum Line<'t> {
    /// Without its end, not cut yet.
    Whole(std::borrow::Cow<'t, str>),
    Ready(&'t ExcerptLine),
}

impl<'t> Lines<'t> {
    /// Number of the last line: [`UNCOUNTED_END`] where nobody counted.
    pub fn end(self) -> u64 {
        match self {
            Lines::Whole(text) => text.len_lines() as u64,
            Lines::Begun(_) => UNCOUNTED_END,
            Lines::Excerpt(excerpt) => excerpt.total_lines.unwrap_or(UNCOUNTED_END),
        }
    }

    /// Bytes of a file whose lines nobody counted.
    pub fn uncounted_bytes(self) -> Option<u64> {
        match self {
            Lines::Excerpt(excerpt) if excerpt.total_lines.is_none() => Some(excerpt.total_bytes),
            _ => None,
        }
    }

    /// One line; `None` where it is not there.
    pub fn line(self, number: u64) -> Option<Line<'t>> {
        match self {
            Lines::Begun(text) if number > text.len_lines() as u64 => None,
            Lines::Whole(text) | Lines::Begun(text) => {
                Some(Line::Whole(text.line(number as usize - 1)))
            }
            Lines::Excerpt(excerpt) => excerpt.starting_at(number).next().map(Line::Ready),
        }
    }

    /// The lines `first..=last` with the ends they have in the file.
    pub fn raw(self, first: u64, last: u64) -> String {
        match self {
            Lines::Whole(text) | Lines::Begun(text) => {
                text.raw_lines(first as usize - 1, last as usize)
            }
            Lines::Excerpt(excerpt) => excerpt.raw(first, last),
        }
    }
}
