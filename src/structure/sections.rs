//! The sections of a Markdown text, by the levels of its headings; a section never goes past a heading that is not
//! below its own.

use std::ops::Range;

use tree_sitter::{Node, Tree};

/// The headings of a text. Rows count from 0.
///
/// The grammar nests sections by headings with `#` only; those that are underlined count here too.
#[derive(Debug)]
pub(super) struct Sections {
    headings: Vec<SectionHeading>,
    total: usize,
}

#[derive(Debug, Clone, Copy)]
struct SectionHeading {
    row: usize,
    level: u32,
}

impl Sections {
    /// Of a text of `total` rows.
    pub(super) fn new(tree: &Tree, total: usize) -> Sections {
        let mut headings = Vec::new();
        let mut cursor = tree.walk();
        // Headings inside a quote or a list begin no section, so only sections are gone into.
        let mut goes_in = true;
        loop {
            if goes_in && cursor.goto_first_child() || cursor.goto_next_sibling() {
                let node = cursor.node();
                goes_in = is_section(node);
                headings.extend(level(node).map(|level| SectionHeading {
                    row: node.start_position().row,
                    level,
                }));
            } else if cursor.goto_parent() {
                goes_in = false;
            } else {
                break;
            }
        }
        Sections { headings, total }
    }

    /// The rows of the section whose heading is at `row`.
    pub(super) fn at(&self, row: usize) -> Option<Range<usize>> {
        let found = self
            .headings
            .binary_search_by_key(&row, |heading| heading.row);
        found.ok().map(|at| self.rows(at))
    }

    /// The rows of the smallest section of several rows that holds `row`.
    pub(super) fn around(&self, row: usize) -> Option<Range<usize>> {
        let after = self.headings.partition_point(|heading| heading.row <= row);
        let mut at = after.checked_sub(1)?;
        while self.rows(at).len() < 2 {
            let level = self.headings[at].level;
            let mut above = self.headings[..at].iter();
            at = above.rposition(|heading| heading.level < level)?;
        }
        Some(self.rows(at))
    }

    fn rows(&self, at: usize) -> Range<usize> {
        let own = self.headings[at];
        let mut rest = self.headings[at + 1..].iter();
        let next = rest.find(|heading| heading.level <= own.level);
        own.row..next.map_or(self.total, |heading| heading.row)
    }
}

/// Whether a node is a section of the grammar, or the heading of one.
pub(super) fn is_of_section(node: Node<'_>) -> bool {
    is_section(node) || node.kind().ends_with("_heading")
}

fn is_section(node: Node<'_>) -> bool {
    node.kind() == "section"
}

/// The level of a heading, which its marker (`atx_h2_marker`) or underline (`setext_h2_underline`) tells.
fn level(node: Node<'_>) -> Option<u32> {
    if !node.kind().ends_with("_heading") {
        return None;
    }
    let mut cursor = node.walk();
    let mut digits = node
        .children(&mut cursor)
        .filter_map(|child| child.kind().chars().find_map(|c| c.to_digit(10)));
    digits.next()
}
