//! The lines of a text as they are written: what stands before each (quotes, items), blank lines between blocks, and on which line each named place is.

use super::super::sections::{Anchor, Heading};

/// What stands before the lines of a block within another.
#[derive(Debug)]
pub(super) struct Prefix {
    /// Before its first line.
    first: String,
    /// Before those after it.
    rest: String,
    is_used: bool,
}

#[derive(Debug)]
pub(super) struct Out {
    pub(super) text: String,
    lines: u64,
    prefixes: Vec<Prefix>,
    /// Whether the next line is parted by a blank one from what is before it.
    is_blank_due: bool,
    pub(super) anchors: Vec<Anchor>,
    /// Those of them that belong to the next line.
    waiting: Vec<usize>,
    pub(super) headings: Vec<Heading>,
    cap: usize,
    pub(super) is_cut: bool,
}

/// Named places of a text.
const MOST_ANCHORS: usize = 20_000;

impl Out {
    pub(super) fn new(cap: usize) -> Out {
        Out {
            text: String::new(),
            lines: 0,
            prefixes: Vec::new(),
            is_blank_due: false,
            anchors: Vec::new(),
            waiting: Vec::new(),
            headings: Vec::new(),
            cap,
            is_cut: false,
        }
    }

    /// A blank line before whatever comes next.
    pub(super) fn part(&mut self) {
        self.is_blank_due = true;
    }

    /// No blank line before whatever comes next.
    pub(super) fn join(&mut self) {
        self.is_blank_due = false;
    }

    /// From here on lines stand within a block: `first` before the first, `rest` before the others.
    pub(super) fn enter(&mut self, first: &str, rest: &str) {
        self.prefixes.push(Prefix {
            first: first.to_owned(),
            rest: rest.to_owned(),
            is_used: false,
        });
    }

    /// The block ends that was entered last. Whether it has a line.
    pub(super) fn leave(&mut self) -> bool {
        self.prefixes.pop().is_some_and(|prefix| prefix.is_used)
    }

    /// Writes one line, which has no line end in it.
    pub(super) fn line(&mut self, line: &str) {
        if self.is_cut {
            return;
        }
        if std::mem::take(&mut self.is_blank_due) && self.lines > 0 {
            let begun = self.prefixes.iter().take_while(|prefix| prefix.is_used);
            let before: String = begun.map(|prefix| prefix.rest.as_str()).collect();
            self.push(before.trim_end());
        }
        let mut before = String::new();
        for prefix in &mut self.prefixes {
            before.push_str(if prefix.is_used {
                &prefix.rest
            } else {
                &prefix.first
            });
            prefix.is_used = true;
        }
        if line.is_empty() {
            before.truncate(before.trim_end().len());
        }
        before.push_str(line);
        for waiting in self.waiting.drain(..) {
            self.anchors[waiting].start = self.lines + 1;
        }
        self.push(&before);
    }

    fn push(&mut self, line: &str) {
        if self.text.len() + line.len() + 1 > self.cap {
            self.is_cut = true;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
    }

    /// A heading is about to be written.
    pub(super) fn heading(&mut self, level: usize) {
        let blank = u64::from(self.is_blank_due && self.lines > 0);
        self.headings.push(Heading {
            line: self.lines + blank + 1,
            level,
        });
    }

    /// A named place begins with the next line. What it is closed by.
    pub(super) fn open(&mut self, id: &str) -> Option<usize> {
        if self.anchors.len() >= MOST_ANCHORS || id.len() > 200 {
            return None;
        }
        self.anchors.push(Anchor {
            id: id.to_owned(),
            start: 0,
            end: 0,
        });
        self.waiting.push(self.anchors.len() - 1);
        Some(self.anchors.len() - 1)
    }

    /// The element of a named place ends.
    pub(super) fn close(&mut self, opened: Option<usize>) {
        if let Some(opened) = opened {
            self.anchors[opened].end = self.lines;
        }
    }

    /// As [`Out::open`] for each of some.
    pub(super) fn open_all(&mut self, ids: &mut Vec<String>) -> Vec<Option<usize>> {
        ids.drain(..).map(|id| self.open(&id)).collect()
    }

    /// As [`Out::close`] for each of some.
    pub(super) fn close_all(&mut self, opened: Vec<Option<usize>>) {
        opened.into_iter().for_each(|opened| self.close(opened));
    }

    /// The text ends: what waited for one more line is on the last.
    pub(super) fn finish(&mut self) {
        for waiting in self.waiting.drain(..) {
            self.anchors[waiting].start = self.lines.max(1);
        }
        while self.is_cut && self.text.ends_with("\n\n") {
            self.text.pop();
        }
    }
}
