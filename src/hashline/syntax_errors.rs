//! Which syntax errors an edit brought in; one that was there before is never laid at an edit's door.

use serde::{Deserialize, Serialize};

use super::changed::{Outcome, gaps};
use crate::text::Text;

/// The errors of one text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyntaxErrors {
    /// Their first lines, from 1, in order; a line may have several.
    pub lines: Vec<u64>,
    /// There are more of them than are here.
    pub is_cut: bool,
}

/// The line of the first error that an edit of `before` brought in; `None` where all that there are
/// now are explained by those that there were.
///
/// An error in a line that was kept explains one in that line, and one in lines that were replaced
/// one in the rows that replaced them. What remains is new where there are more errors than
/// before, or where it stands in the lines that were changed: elsewhere it is an old one, of which
/// the parser now says that it begins in another place.
pub fn brought_in(
    before: &Text,
    old: &SyntaxErrors,
    outcome: &Outcome,
    new: &SyntaxErrors,
) -> Option<u64> {
    let mut kept: Vec<u64> = Vec::new();
    let mut replaced = Replaced::of(before, outcome);
    for line in &old.lines {
        match outcome.map.carry(*line) {
            Some(now) => kept.push(now),
            None => replaced.add(*line),
        }
    }
    let mut unexplained = Vec::new();
    for line in &new.lines {
        match kept.iter().position(|kept| kept == line) {
            Some(at) => drop(kept.swap_remove(at)),
            None if replaced.explains(*line) => {}
            None => unexplained.push(*line),
        }
    }
    let is_changed = |line: &u64| {
        let mut spans = outcome.changed.iter();
        spans.any(|span| span.lines().contains(line))
    };
    let in_the_edit = unexplained.iter().copied().find(is_changed);
    let are_more = new.lines.len() > old.lines.len();
    in_the_edit.or_else(|| unexplained.first().copied().filter(|_| are_more))
}

/// Replaced lines, and how many errors there were in them that none of the new rows has yet.
struct Replaced(Vec<Region>);

struct Region {
    old: std::ops::Range<u64>,
    new: std::ops::RangeInclusive<u64>,
    errors: usize,
}

impl Replaced {
    fn of(before: &Text, outcome: &Outcome) -> Replaced {
        let (old_total, total) = (before.len_lines() as u64, outcome.text.len_lines() as u64);
        let (mut removed_before, mut added_before) = (0, 0);
        let region = |(start, removed, added): (u64, u64, u64)| {
            let new_start = start + added_before - removed_before;
            removed_before += removed;
            added_before += added;
            Region {
                old: start..start + removed,
                // Of a deletion the line after the gap.
                new: new_start..=new_start + added.max(1) - 1,
                errors: 0,
            }
        };
        let gaps = gaps(&outcome.map, old_total, total);
        Replaced(gaps.into_iter().map(region).collect())
    }

    fn add(&mut self, line: u64) {
        let mut regions = self.0.iter_mut();
        if let Some(region) = regions.find(|region| region.old.contains(&line)) {
            region.errors += 1;
        }
    }

    fn explains(&mut self, line: u64) -> bool {
        let mut regions = self.0.iter_mut();
        let own = regions.find(|region| region.new.contains(&line) && region.errors > 0);
        own.map(|region| region.errors -= 1).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hashline::changed;
    use crate::hashline::replace_text::TextPosition;
    use crate::hashline::splice::{Region, Splices, TextChange};

    /// Replaces `removed` lines from `start` on by `rows`, and tells what errors at these lines mean.
    #[track_caller]
    fn check(
        (start, removed, rows): (u64, u64, &[&str]),
        old: &[u64],
        new: &[u64],
        expect: Option<u64>,
    ) {
        let before = Text::new(&"line\n".repeat(20));
        let spot = |line: u64| TextPosition {
            line: line as usize,
            column: 0,
        };
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        let splices = Splices {
            changes: vec![TextChange::new(
                spot(start - 1),
                spot(start - 1 + removed),
                text,
            )],
            regions: vec![Region {
                start,
                removed,
                added: rows.len() as u64,
            }],
            holds_cr: false,
            moved: Vec::new(),
        };
        let outcome = changed::outcome(&before, &splices);
        let errors = |lines: &[u64]| SyntaxErrors {
            lines: lines.to_vec(),
            is_cut: false,
        };
        let found = brought_in(&before, &errors(old), &outcome, &errors(new));
        assert_eq!(found, expect, "{old:?} became {new:?}");
    }

    #[test]
    fn errors_are_compared_by_place_and_count() {
        let one_row = (5, 1, &["a"][..]);
        check(one_row, &[], &[], None);
        check(one_row, &[], &[5], Some(5));
        check(one_row, &[], &[1, 17], Some(1));
        check(one_row, &[2], &[2], None);
        check(one_row, &[2, 9], &[9], None);
        check(one_row, &[2], &[2, 2], Some(2));
        check(one_row, &[2], &[2, 5], Some(5));
        check(one_row, &[2], &[2, 17], Some(17));
        // It was mended there, and there is one here.
        check(one_row, &[2], &[5], Some(5));
        // The parser says that it begins elsewhere.
        check(one_row, &[2], &[3], None);
        // The line was wrong, and is.
        check(one_row, &[5], &[5], None);
        check(one_row, &[5], &[5, 5], Some(5));
        check(one_row, &[5], &[6], None);
    }

    #[test]
    fn places_go_with_their_lines() {
        let three_for_one = (5, 1, &["a", "b", "c"][..]);
        check(three_for_one, &[2, 9], &[2, 11], None);
        check(three_for_one, &[2, 9], &[2, 6, 11], Some(6));
        check(three_for_one, &[5], &[7], None);
        check(three_for_one, &[5, 9], &[5, 7], Some(7));
        let inserted = (5, 0, &["a"][..]);
        check(inserted, &[5], &[6], None);
        check(inserted, &[5], &[5], Some(5));
        let deleted = (5, 3, &[][..]);
        check(deleted, &[9], &[6], None);
        check(deleted, &[6], &[5], None);
        check(deleted, &[9], &[5], Some(5));
    }
}
