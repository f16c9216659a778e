//! Which lines a fragment of an address names.
//!
//! A name on a heading, or just before it, is the section to the next heading of its level or above.
//! Any other name is its element and what follows it to the next name.

use std::collections::HashSet;

use super::super::messages::Section;

/// A named place of a page; lines are counted from 1.
#[derive(Debug, Clone)]
pub(super) struct Anchor {
    pub(super) id: String,
    /// The first line written after it began.
    pub(super) start: u64,
    /// The last line written when it ended.
    pub(super) end: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Heading {
    pub(super) line: u64,
    pub(super) level: usize,
}

/// Sections that are listed, and bytes of their names.
const MOST: usize = 10_000;
const MOST_BYTES: usize = 256 * 1024;

/// The sections of a text, in page order.
pub(super) fn sections(text: &str, anchors: &[Anchor], headings: &[Heading]) -> Vec<Section> {
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.len() as u64;
    let mut starts: Vec<u64> = anchors.iter().map(|anchor| anchor.start).collect();
    starts.sort_unstable();
    let ends = heading_ends(headings, last);
    let (mut known, mut bytes) = (HashSet::new(), 0);
    let mut sections = Vec::new();
    for anchor in anchors {
        if anchor.start == 0 || anchor.start > last || !known.insert(anchor.id.as_str()) {
            continue;
        }
        bytes += anchor.id.len();
        if sections.len() >= MOST || bytes > MOST_BYTES {
            break;
        }
        let start = anchor.start;
        let mut end = match headings.binary_search_by_key(&start, |heading| heading.line) {
            Ok(at) => ends[at],
            Err(_) => {
                let own = anchor.end.max(start);
                let next = starts.partition_point(|&other| other <= own);
                starts.get(next).map_or(last, |next| next - 1)
            }
        };
        let is_blank = |line: u64| {
            // `line` is from 1 to the number of lines.
            let text = lines.get(line as usize - 1).copied().unwrap_or_default();
            text.trim_matches([' ', '>']).is_empty()
        };
        while end > start && is_blank(end) {
            end -= 1;
        }
        sections.push(Section {
            id: anchor.id.clone(),
            start,
            end: end.clamp(start, last),
        });
    }
    sections
}

/// Where the section of each heading ends.
fn heading_ends(headings: &[Heading], last: u64) -> Vec<u64> {
    let mut ends = vec![last; headings.len()];
    // From the back: the first line of the next heading of each level or above.
    let mut next = [last + 1; 8];
    for (at, heading) in headings.iter().enumerate().rev() {
        let level = heading.level.min(7);
        ends[at] = next[level] - 1;
        for below in &mut next[level..] {
            *below = heading.line;
        }
    }
    ends
}
