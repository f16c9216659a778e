//! What was made of a document so far: its Markdown, where its pages begin, and what is not in it; a line keeps its number when more is made.

use crate::convert::{PageState, PartKind, Whole, numbered};
use crate::protocol::read::LineSpan;
use crate::text::Text;
use crate::view::excerpt::UNCOUNTED_END;
use crate::view::window::{Limits, RAW_LINE_CAP};
use crate::view::{Budget, LineSet, Parts, Selector};

/// What a document gave.
#[derive(Debug)]
pub enum Made {
    /// A few words in the place of its content.
    Note(String),
    Text(Converted),
}

impl Made {
    /// Bytes in memory, about.
    pub fn bytes(&self) -> u64 {
        match self {
            Made::Note(note) => note.len() as u64,
            Made::Text(made) => made.bytes(),
        }
    }
}

/// Markdown, and what is known of it.
#[derive(Debug, Clone, Default)]
pub struct Converted {
    pub text: Text,
    /// Whether that is all.
    pub is_all: bool,
    /// What the parts are, how many there are, and the lines on which those that are in the text
    /// begin.
    pub part: Option<PartKind>,
    pub total: u32,
    pub starts: Vec<u64>,
    /// Pages without text, and pages that could not be read.
    pub empty: Vec<u32>,
    pub failed: Vec<u32>,
    /// How many of those without text have nothing else on them either, and how many are drawn
    /// and hold no picture.
    pub blank: u32,
    pub drawn: u32,
    /// What else is to be said, one sentence each.
    pub footers: Vec<String>,
}

impl Converted {
    /// A document that was converted at once.
    pub fn whole(whole: Whole, markdown: &str) -> Converted {
        let (part, starts) = whole.parts.unzip();
        let starts = starts.unwrap_or_default();
        Converted {
            text: Text::new(markdown),
            is_all: true,
            part,
            total: starts.len() as u32,
            starts,
            footers: whole.footers,
            ..Converted::default()
        }
    }

    fn bytes(&self) -> u64 {
        self.text.len_bytes() as u64 * 8 / 7 + self.starts.len() as u64 * 8 + 512
    }

    /// The lines of the parts `first..=last`, which are there.
    pub fn lines_of(&self, first: u32, last: u32) -> LineSpan {
        let start = |part: u32| self.starts.get(part as usize - 1).copied();
        let first = start(first).unwrap_or(1);
        let end = match start(last + 1) {
            // An empty line parts them.
            Some(next) => next.saturating_sub(2),
            None => self.text.len_lines() as u64,
        };
        LineSpan {
            start: first,
            end: end.max(first),
        }
    }

    /// What the text does not show of the parts `first..=last`, one sentence each.
    pub fn sentences(&self, first: u32, last: u32) -> Vec<String> {
        let within = |pages: &[u32]| -> Vec<u32> {
            let pages = pages.iter().copied();
            pages.filter(|page| (first..=last).contains(page)).collect()
        };
        let mut sentences = Vec::new();
        let empty = within(&self.empty);
        if !empty.is_empty() {
            let have = if empty.len() == 1 { "has" } else { "have" };
            sentences.push(format!(
                "{} {have} no extractable text",
                numbered("Page", &empty)
            ));
        }
        let failed = within(&self.failed);
        if !failed.is_empty() {
            sentences.push(format!("{} could not be read", numbered("Page", &failed)));
        }
        sentences.extend(self.footers.iter().cloned());
        sentences
    }

    /// As a window's footer speaks of its parts.
    pub fn parts(&self) -> Option<Parts> {
        Some(Parts {
            one: part_name(self.part?),
            total: self.total.into(),
            starts: self.starts.clone(),
        })
    }
}

pub fn part_name(part: PartKind) -> &'static str {
    match part {
        PartKind::Page => "page",
        PartKind::Slide => "slide",
        PartKind::Sheet => "sheet",
    }
}

/// A PDF while its pages come in.
#[derive(Debug)]
pub struct Growing {
    text: String,
    /// Bytes of each line.
    lines: Vec<u32>,
    pub made: Converted,
}

impl Growing {
    /// Goes on from what there is.
    pub fn from(made: &Converted) -> Growing {
        let text: String = made.text.chunks().collect();
        let mut growing = Growing {
            lines: Vec::new(),
            text,
            made: made.clone(),
        };
        growing.count_from(0);
        growing
    }

    fn count_from(&mut self, at: usize) {
        let lines = self.text[at..].lines().map(|line| line.len() as u32);
        self.lines.extend(lines);
    }

    pub fn pages(&self) -> u32 {
        self.made.starts.len() as u32
    }

    pub fn push(&mut self, state: PageState, markdown: &str) {
        let (at, page) = (self.text.len(), self.pages() + 1);
        if at > 0 {
            self.text.push('\n');
        }
        let blank = u64::from(at > 0);
        self.made.starts.push(self.lines.len() as u64 + blank + 1);
        self.text.push_str(&format!("--- Page {page} ---\n"));
        match state {
            PageState::Empty => self.made.empty.push(page),
            PageState::Drawn => {
                self.made.empty.push(page);
                self.made.drawn += 1;
            }
            PageState::Blank => {
                self.made.empty.push(page);
                self.made.blank += 1;
            }
            PageState::Failed => self.made.failed.push(page),
            PageState::Text => {
                self.text.push('\n');
                self.text.push_str(markdown.trim_end());
                self.text.push('\n');
            }
        }
        self.count_from(at);
    }

    /// Appends what is filled in in a form, after the last page.
    pub fn push_fields(&mut self, list: &str) {
        self.text.push_str("\n## Form fields\n\n");
        self.text.push_str(list);
    }

    pub fn len(&self) -> usize {
        self.text.len()
    }

    pub fn finish(mut self) -> Converted {
        self.made.text = Text::new(&self.text);
        self.made
    }
}

/// What of a document a request can show at most.
#[derive(Debug)]
pub enum Need {
    Pages(u32),
    Lines {
        wanted: LineSet,
        budget: Budget,
        /// Bytes of a row that count for certain: what is cut may be shorter than its line.
        row_bytes: u64,
        trailing: u64,
    },
}

impl Need {
    pub fn of(selector: &Selector, limits: &Limits) -> Need {
        if let Some(crate::view::Own::Pages(_, last)) = selector.own {
            return Need::Pages(last);
        }
        Need::Lines {
            // Lines from the end have numbers that no text has: for them all of it is needed.
            wanted: selector.resolve(UNCOUNTED_END).lines,
            budget: limits.for_selector(selector),
            row_bytes: match selector.raw {
                true => RAW_LINE_CAP as u64,
                false => limits.columns as u64,
            },
            trailing: limits.trailing,
        }
    }

    /// Whether it is there, and one line more.
    pub fn is_met(&self, growing: &Growing) -> bool {
        let bytes_of = |line: u64| u64::from(growing.lines[line as usize - 1]);
        self.is_within(growing.pages(), growing.lines.len() as u64, bytes_of)
    }

    /// The same of what is warm.
    pub fn is_met_by(&self, made: &Converted) -> bool {
        let bytes_of = |line: u64| made.text.line_bytes(line as usize - 1) as u64;
        let pages = made.starts.len() as u32;
        made.is_all || self.is_within(pages, made.text.len_lines() as u64, bytes_of)
    }

    /// Of so many pages and lines, each of so many bytes.
    fn is_within(&self, pages: u32, have: u64, bytes_of: impl Fn(u64) -> u64) -> bool {
        let (wanted, budget, row_bytes, trailing) = match self {
            Need::Pages(last) => return pages >= *last,
            Need::Lines {
                wanted,
                budget,
                row_bytes,
                trailing,
            } => (wanted, budget, row_bytes, trailing),
        };
        let (mut lines, mut bytes) = (0, 0);
        let mut end = 0;
        for span in wanted.spans() {
            for number in span.lines() {
                if number > have {
                    return false;
                }
                end = number;
                lines += 1;
                bytes += bytes_of(number).min(*row_bytes) + 1;
                if lines > budget.lines || bytes > budget.bytes {
                    return have > number;
                }
            }
        }
        have > end + trailing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_parted_and_keep_their_lines() {
        let mut growing = Growing::from(&Converted::default());
        growing.push(PageState::Text, "one\ntwo\n");
        growing.push(PageState::Empty, "");
        let made = growing.finish();
        let mut growing = Growing::from(&made);
        growing.push(PageState::Text, "three");
        growing.push(PageState::Failed, "");
        let made = growing.finish();
        let text: String = made.text.chunks().collect();
        assert_eq!(
            text,
            "--- Page 1 ---\n\none\ntwo\n\n--- Page 2 ---\n\n--- Page 3 ---\n\nthree\n\n--- Page 4 ---\n"
        );
        assert_eq!(made.starts, [1, 6, 8, 12]);
        assert_eq!(made.lines_of(1, 2), LineSpan { start: 1, end: 6 });
        assert_eq!(made.lines_of(3, 4), LineSpan { start: 8, end: 12 });
        assert_eq!(
            made.sentences(1, 4),
            ["Page 2 has no extractable text", "Page 4 could not be read"]
        );
        assert_eq!(numbered("Page", &[4, 7, 8, 9]), "Pages 4, 7-9");
    }
}
