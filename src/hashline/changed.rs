//! What an edit made of a text: the new text, which of its lines are new, and where the old ones are; nothing here is guessed where it is known.

use super::apply::text_after;
use super::line_map::LineMap;
use super::splice::{Region, Splices};
use crate::protocol::read::LineSpan;
use crate::text::{LineEnding, Text};

/// A text after its changes.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub text: Text,
    /// From the old text to the new one. Exact, but for a change of which characters end lines.
    pub map: LineMap,
    pub is_exact: bool,
    /// In new numbers, in order and apart: the rows written, or the line after a gap.
    pub changed: Vec<LineSpan>,
}

impl Outcome {
    /// The text with the line ends of the file, without a BOM.
    pub fn written(&self) -> String {
        self.text.raw_lines(0, self.text.len_lines())
    }
}

/// Applies splices to the text they were made for.
pub fn outcome(old: &Text, splices: &Splices) -> Outcome {
    let text = text_after(old, &splices.changes);
    let total = text.len_lines() as u64;
    match exact_regions(old, &text, splices) {
        Some(regions) => Outcome {
            map: map_of(old, &regions),
            changed: spans(
                regions
                    .iter()
                    .map(|region| (region.start, region.removed, region.added)),
                total,
            ),
            is_exact: true,
            text,
        },
        None => {
            let map = LineMap::of_diff(old, &text);
            Outcome {
                changed: gaps_of(&map, old, &text),
                map,
                is_exact: false,
                text,
            }
        }
    }
}

/// The regions as the new text has them; `None` where lines end in other characters now, so that
/// lines far from the changes are others too.
fn exact_regions(old: &Text, new: &Text, splices: &Splices) -> Option<Vec<Region>> {
    let is_cr = |text: &Text| text.line_ending() == LineEnding::Cr;
    if is_cr(new) && (!is_cr(old) || splices.holds_cr) {
        return None;
    }
    let mut regions = splices.regions.clone();
    let expected = map_of(old, &regions).new_total();
    let total = new.len_lines() as u64;
    if expected != total {
        // Only at its end can a text have a line more or less than was written: a last line that
        // is blank and has no end is none.
        let last = regions.last_mut()?;
        if last.start + last.removed <= old.len_lines() as u64 {
            return None;
        }
        last.added = (last.added + total).checked_sub(expected)?;
    }
    Some(regions)
}

fn map_of(old: &Text, regions: &[Region]) -> LineMap {
    LineMap::of_splices(
        old.len_lines() as u64,
        regions
            .iter()
            .map(|region| (region.start, region.removed, region.added)),
    )
}

/// The new lines of replacements given as start, removed and added.
fn spans(regions: impl Iterator<Item = (u64, u64, u64)>, total: u64) -> Vec<LineSpan> {
    let mut spans: Vec<LineSpan> = Vec::new();
    let (mut added_before, mut removed_before) = (0, 0);
    for (start, removed, added) in regions {
        let start = start + added_before - removed_before;
        added_before += added;
        removed_before += removed;
        let span = match added {
            0 => LineSpan::line(start.min(total)),
            _ => LineSpan {
                start,
                end: start + added - 1,
            },
        };
        let joins = spans.last().is_some_and(|last| span.start <= last.end);
        match spans.last_mut() {
            Some(last) if joins => last.end = last.end.max(span.end),
            _ if total > 0 => spans.push(span),
            _ => {}
        }
    }
    spans
}

/// The new lines of all that a map says was changed.
pub fn gaps_of(map: &LineMap, old: &Text, new: &Text) -> Vec<LineSpan> {
    let (old, new) = (old.len_lines() as u64, new.len_lines() as u64);
    spans(gaps(map, old, new).into_iter(), new)
}

/// What lies between the runs of a map, as replacements.
pub(super) fn gaps(map: &LineMap, old_total: u64, new_total: u64) -> Vec<(u64, u64, u64)> {
    let (mut old_at, mut new_at) = (1, 1);
    let mut gaps = Vec::new();
    let end = (old_total + 1, new_total + 1, 0);
    for (old, new, length) in map.runs().chain([end]) {
        if old > old_at || new > new_at {
            gaps.push((old_at, old - old_at, new - new_at));
        }
        (old_at, new_at) = (old + length, new + length);
    }
    gaps
}
