//! What of a document is looked at: a window on its lines, or its conflicts written out; it never records that anybody saw it.

use std::sync::Arc;

use crate::outline::Outline;
use crate::protocol::Refusal;
use crate::protocol::read::{LineSpan, ResourceKind};
use crate::task::{LONG_FROM_BYTES, Work};
use crate::text::Text;
use crate::view::conflicts::{self, Conflict, ConflictFinder, Sheet};
use crate::view::folded::{self, Elided};
use crate::view::window::{self, Limits, Window};
use crate::view::{Document, Own, Selector, Style};

/// Lines between two looks at the cancel token.
const CHECK_EVERY: u64 = 4096;

/// What was asked for of a document, as this kind of document understands it.
#[derive(Debug)]
pub struct Wanted {
    selector: Selector,
    /// The conflicts of the text, where they are asked for.
    conflicts: Option<Vec<Conflict>>,
    /// The outline of the text, where it is shown instead of all lines: as a whole, or the rows that
    /// hold the lines of a selector.
    outline: Option<Arc<Outline>>,
}

/// What of a document is shown.
#[derive(Debug)]
pub enum Look<'a> {
    Window(Window<'a>),
    Conflicts(Sheet<'a>),
    Summary(Summary<'a>),
}

/// A window on the outline of a text.
#[derive(Debug)]
pub struct Summary<'a> {
    pub window: Window<'a>,
    pub elided: Elided,
    pub language: &'static str,
}

impl Wanted {
    /// Refuses `:conflicts` of what has none; `spelled` is for the refusal.
    pub fn of(
        document: &Document,
        selector: &Selector,
        spelled: &str,
        work: &Work,
    ) -> Result<Wanted, Refusal> {
        let mut selector = selector.clone();
        if document.kind == ResourceKind::Internal || document.details.web.is_some() {
            // Context is for who edits.
            selector.bounded = false;
        }
        if document.style == Style::Lines {
            let conflicts = match selector.conflicts {
                false => None,
                true => Some(find_conflicts(document, spelled, work)?),
            };
            return Ok(Wanted {
                selector,
                conflicts,
                outline: None,
            });
        }
        if selector.conflicts {
            return Err(Refusal::BadSelector {
                path: Some(spelled.to_owned()),
                message: format!(
                    ":conflicts is for text files, and this is {}. Leave the selector out.",
                    document.kind.with_article()
                ),
            });
        }
        if document.style == Style::Note {
            selector = Selector::default();
        }
        // Rows of ours have no context and no other form.
        selector.raw = false;
        selector.bounded = false;
        Ok(Wanted {
            selector,
            conflicts: None,
            outline: None,
        })
    }

    /// The outline instead of all lines, all of it or a page (`:outline`).
    pub fn summary(outline: Arc<Outline>, selector: &Selector) -> Wanted {
        Wanted {
            selector: selector.clone(),
            conflicts: None,
            outline: Some(outline),
        }
    }

    pub fn look<'a>(&'a self, document: &'a Document, limits: &Limits) -> Look<'a> {
        if let (Some(outline), Some(text)) = (&self.outline, document.text.whole()) {
            let has_pages = document.details.web.is_none();
            return self.look_at_outline(outline, (text, has_pages), limits);
        }
        if let (Some(conflicts), Some(text)) = (&self.conflicts, document.text.whole()) {
            return Look::Conflicts(conflicts::sheet(text, conflicts, limits));
        }
        let mut limits = *limits;
        if document.style != Style::Lines {
            // A name is given whole: there is no other way to ask for it.
            limits.columns = usize::MAX;
        }
        if let Some(open_lines) = document.extras.open_lines {
            limits.open_lines = limits.open_lines.min(open_lines);
        }
        Look::Window(window::open(&document.text, &self.selector, &limits))
    }
}

impl Wanted {
    fn look_at_outline<'a>(
        &'a self,
        outline: &'a Outline,
        (text, has_pages): (&'a Text, bool),
        limits: &Limits,
    ) -> Look<'a> {
        let is_page = self.selector.own == Some(Own::Outline);
        if !is_page && outline.is_whole_text() {
            // What nothing folds of, and is shown whole, is a text like any other.
            let window = window::open(text, &self.selector, limits);
            if window.stop.is_none() {
                return Look::Window(window);
            }
        }
        let (window, is_further) = match is_page {
            true => (
                folded::open_page(text, outline, &self.selector, limits),
                false,
            ),
            false => folded::open(text, outline, limits),
        };
        Look::Summary(Summary {
            elided: Elided::in_window(&window, is_further && has_pages),
            window,
            language: outline.language,
        })
    }
}

impl<'a> Look<'a> {
    pub fn window(&self) -> &Window<'a> {
        match self {
            Look::Window(window) => window,
            Look::Conflicts(sheet) => &sheet.window,
            Look::Summary(summary) => &summary.window,
        }
    }

    /// The lines whose whole text is shown.
    pub fn whole_lines(&self) -> Vec<LineSpan> {
        match self {
            Look::Conflicts(sheet) => sheet.whole_lines(),
            Look::Window(_) | Look::Summary(_) => self.window().whole_lines(),
        }
    }

    /// Whether a sentence takes the place of the text.
    pub fn is_empty_sheet(&self) -> bool {
        matches!(self, Look::Conflicts(sheet) if sheet.total == 0)
    }

    /// How many conflicts the reader of these lines is to be told of.
    pub fn conflicts_to_mention(&self, document: &Document) -> u64 {
        match self {
            Look::Window(_) | Look::Summary(_)
                if !self.window().raw && document.style == Style::Lines =>
            {
                let whole = document.text.whole();
                whole.map_or(0, |text| conflicts::count_in_window(text, self.window()))
            }
            Look::Window(_) | Look::Summary(_) | Look::Conflicts(_) => 0,
        }
    }
}

fn find_conflicts(
    document: &Document,
    spelled: &str,
    work: &Work,
) -> Result<Vec<Conflict>, Refusal> {
    let Some(text) = document.text.whole() else {
        return Err(Refusal::Unsupported {
            path: Some(spelled.to_owned()),
            message: format!(
                "'{spelled}' is too large to look for conflicts in. Read the lines instead."
            ),
        });
    };
    if text.len_bytes() as u64 > LONG_FROM_BYTES {
        work.takes_long()?;
    }
    let mut finder = ConflictFinder::default();
    for (number, line) in (1..).zip(text.lines_at(0)) {
        if number % CHECK_EVERY == 0 {
            work.check()?;
        }
        finder.feed(number, &line);
    }
    Ok(finder.found())
}
