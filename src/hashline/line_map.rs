//! Line maps: where each line of one text is in the next; a map never says that a changed line is the same.

use imara_diff::{Algorithm, Diff, InternedInput};

use crate::protocol::read::LineSpan;
use crate::text::Text;

/// Lines that stand unchanged in both texts, as runs of one offset each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMap {
    /// Ascending in both texts.
    runs: Vec<Run>,
    new_total: u64,
}

/// `length` lines that begin at line `old` of the one text and at line `new` of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    old: u64,
    new: u64,
    length: u64,
}

impl Run {
    fn old_end(&self) -> u64 {
        self.old + self.length
    }

    fn new_end(&self) -> u64 {
        self.new + self.length
    }
}

/// What became of a set of lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Carried {
    /// Those that stand unchanged, under their new numbers.
    pub kept: Vec<LineSpan>,
    /// Where the others were, in new numbers: what replaced them, or the line after the gap. These
    /// may overlap.
    pub changed: Vec<LineSpan>,
}

impl LineMap {
    /// The map of a text of `total` lines to itself.
    pub fn identity(total: u64) -> LineMap {
        LineMap::of_splice(total, 1, 0, 0)
    }

    /// The map of one replacement in a text of `old_total` lines: `removed` lines from `start` on
    /// (1-indexed) gave way to `added` lines.
    pub fn of_splice(old_total: u64, start: u64, removed: u64, added: u64) -> LineMap {
        let after = start + removed;
        let runs = [
            Run {
                old: 1,
                new: 1,
                length: start - 1,
            },
            Run {
                old: after,
                new: start + added,
                length: (old_total + 1).saturating_sub(after),
            },
        ];
        LineMap {
            runs: runs.into_iter().filter(|run| run.length > 0).collect(),
            new_total: old_total + added - removed.min(old_total),
        }
    }

    /// The map of several replacements at once in a text of `old_total` lines, each as for
    /// [`LineMap::of_splice`], with all lines numbered in that text; in order and apart.
    pub fn of_splices(
        old_total: u64,
        splices: impl IntoIterator<Item = (u64, u64, u64)>,
    ) -> LineMap {
        let mut runs = Vec::new();
        let (mut old_at, mut new_at) = (0u64, 0u64);
        for (start, removed, added) in splices {
            let length = (start - 1).saturating_sub(old_at);
            push_run(&mut runs, old_at, new_at, length);
            old_at += length + removed;
            new_at += length + added;
        }
        let length = old_total.saturating_sub(old_at);
        push_run(&mut runs, old_at, new_at, length);
        LineMap {
            runs,
            new_total: new_at + length,
        }
    }

    /// The map that a line diff finds; trailing blanks and line ends do not count, as they do not
    /// for tags.
    pub fn of_diff(old: &Text, new: &Text) -> LineMap {
        let (old_lines, new_lines) = (comparable(old), comparable(new));
        LineMap::of_tokens(&interned(&old_lines, &new_lines))
    }

    /// The map that a line diff finds of lines that are tokens.
    pub(super) fn of_tokens(input: &InternedInput<&str>) -> LineMap {
        let diff = Diff::compute(Algorithm::Histogram, input);
        let hunks = diff.hunks().map(|hunk| {
            let (before, after) = (hunk.before, hunk.after);
            (
                u64::from(before.start) + 1,
                u64::from(before.end - before.start),
                u64::from(after.end - after.start),
            )
        });
        LineMap::of_splices(input.before.len() as u64, hunks)
    }

    /// The runs of unchanged lines, as first line in the old text, first line in the new one, and
    /// length.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.runs.iter().map(|run| (run.old, run.new, run.length))
    }

    /// Number of lines of the new text.
    pub fn new_total(&self) -> u64 {
        self.new_total
    }

    /// Which run holds an old line.
    pub(super) fn run_of(&self, line: u64) -> Option<usize> {
        let at = self.runs.partition_point(|run| run.old_end() <= line);
        self.runs.get(at).filter(|run| run.old <= line).map(|_| at)
    }

    /// Where a range is whose lines all stand unchanged and side by side, so with one offset.
    pub fn carry_span(&self, lines: LineSpan) -> Option<LineSpan> {
        let mut at = self.run_of(lines.start)?;
        let first = self.runs[at];
        while self.runs[at].old_end() <= lines.end {
            let (run, next) = (self.runs[at], self.runs.get(at + 1)?);
            if next.old != run.old_end() || next.new != run.new_end() {
                return None;
            }
            at += 1;
        }
        let start = first.new + (lines.start - first.old);
        Some(LineSpan {
            start,
            end: start + (lines.end - lines.start),
        })
    }

    /// Where a range is now, or what stands in its place: the lines around all that became of it.
    pub fn place(&self, lines: LineSpan) -> LineSpan {
        let carried = self.carry_all(&[lines]);
        let all = || carried.kept.iter().chain(&carried.changed);
        LineSpan {
            start: all().map(|span| span.start).min().unwrap_or(1),
            end: all().map(|span| span.end).max().unwrap_or(1),
        }
    }

    /// This map, and then `next`.
    pub fn then(&self, next: &LineMap) -> LineMap {
        let mut runs = Vec::new();
        let mut from = 0;
        for first in &self.runs {
            // Runs of `next` that end before this one begins cannot matter to later ones either.
            while next
                .runs
                .get(from)
                .is_some_and(|run| run.old_end() <= first.new)
            {
                from += 1;
            }
            for second in next.runs[from..]
                .iter()
                .take_while(|run| run.old < first.new_end())
            {
                let start = first.new.max(second.old);
                let end = first.new_end().min(second.old_end());
                runs.push(Run {
                    old: first.old + (start - first.new),
                    new: second.new + (start - second.old),
                    length: end - start,
                });
            }
        }
        LineMap {
            runs,
            new_total: next.new_total,
        }
    }

    /// Where a line is now; `None` when it was changed or deleted.
    pub fn carry(&self, line: u64) -> Option<u64> {
        let at = self.runs.partition_point(|run| run.old_end() <= line);
        let run = self.runs.get(at).filter(|run| run.old <= line)?;
        Some(run.new + (line - run.old))
    }

    /// What became of these lines, which are in ascending order.
    pub fn carry_all(&self, lines: &[LineSpan]) -> Carried {
        let mut carried = Carried::default();
        for span in lines {
            let mut line = span.start;
            let first = self.runs.partition_point(|run| run.old_end() <= line);
            for run in self.runs[first..]
                .iter()
                .take_while(|run| run.old <= span.end)
            {
                if line < run.old {
                    carried.changed.push(self.place_of_lost(line, run.old - 1));
                    line = run.old;
                }
                let end = span.end.min(run.old_end() - 1);
                let start = run.new + (line - run.old);
                carried.kept.push(LineSpan {
                    start,
                    end: start + (end - line),
                });
                line = end + 1;
            }
            if line <= span.end {
                carried.changed.push(self.place_of_lost(line, span.end));
            }
        }
        carried
    }

    /// What stands where the lost lines `start..=end`, all between two runs, were.
    fn place_of_lost(&self, start: u64, end: u64) -> LineSpan {
        let next = self.runs.partition_point(|run| run.old <= start);
        let (old_from, new_from) = match next.checked_sub(1).map(|before| self.runs[before]) {
            Some(before) => (before.old_end(), before.new_end()),
            None => (1, 1),
        };
        let new_until = self
            .runs
            .get(next)
            .map_or(self.new_total + 1, |run| run.new);
        if new_from >= new_until {
            let after_the_gap = new_from.clamp(1, self.new_total.max(1));
            return LineSpan::line(after_the_gap);
        }
        let place = |line: u64| (new_from + (line - old_from)).min(new_until - 1);
        LineSpan {
            start: place(start),
            end: place(end),
        }
    }
}

fn push_run(runs: &mut Vec<Run>, old_at: u64, new_at: u64, length: u64) {
    if length > 0 {
        runs.push(Run {
            old: old_at + 1,
            new: new_at + 1,
            length,
        });
    }
}

pub(super) fn interned<'a>(old: &'a [String], new: &'a [String]) -> InternedInput<&'a str> {
    let mut input = InternedInput::default();
    input.update_before(old.iter().map(String::as_str));
    input.update_after(new.iter().map(String::as_str));
    input
}

/// The lines without what does not count for tags.
pub(super) fn comparable(text: &Text) -> Vec<String> {
    let blank = [' ', '\t', '\r'];
    text.lines_at(0)
        .map(|line| line.trim_end_matches(blank).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A splice: where (as a share of the lines), how many go, how many come.
    fn splices() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
        prop::collection::vec((0u64..100, 0u64..5, 0u64..5), 0..12)
    }

    /// Applies a splice to lines that are known by identity.
    fn apply(lines: &mut Vec<u64>, fresh: &mut u64, splice: (u64, u64, u64)) -> LineMap {
        let (share, removed, added) = splice;
        let total = lines.len() as u64;
        let at = total * share / 100;
        let removed = removed.min(total - at);
        let new = (*fresh..*fresh + added).collect::<Vec<_>>();
        *fresh += added;
        lines.splice(at as usize..(at + removed) as usize, new);
        LineMap::of_splice(total, at + 1, removed, added)
    }

    proptest! {
        #[test]
        fn composed_splices_follow_every_line(total in 0u64..30, splices in splices()) {
            let before: Vec<u64> = (0..total).collect();
            let mut lines = before.clone();
            let mut fresh = total;
            let mut map = LineMap::identity(total);
            for splice in splices {
                map = map.then(&apply(&mut lines, &mut fresh, splice));
            }
            for (at, id) in before.iter().enumerate() {
                let now = lines.iter().position(|other| other == id).map(|at| at as u64 + 1);
                prop_assert_eq!(map.carry(at as u64 + 1), now);
            }
        }

        #[test]
        fn a_diff_maps_equal_lines_in_order(old in "[abc\n]{0,40}", new in "[abc\n]{0,40}") {
            let (old, new) = (Text::new(&old), Text::new(&new));
            let map = LineMap::of_diff(&old, &new);
            let mut last = 0;
            for line in 1..=old.len_lines() as u64 {
                if let Some(now) = map.carry(line) {
                    prop_assert!(now > last);
                    last = now;
                    prop_assert_eq!(old.line(line as usize - 1), new.line(now as usize - 1));
                }
            }
            if old == new {
                let all = LineSpan { start: 1, end: old.len_lines() as u64 };
                prop_assert!(map.carry_all(&[all]).changed.is_empty());
            }
        }

        #[test]
        fn a_carried_set_is_its_lines_carried(total in 1u64..30, splices in splices(), start in 1u64..30, length in 0u64..10) {
            let mut lines: Vec<u64> = (0..total).collect();
            let mut fresh = total;
            let mut map = LineMap::identity(total);
            for splice in splices {
                map = map.then(&apply(&mut lines, &mut fresh, splice));
            }
            let (start, end) = (start.min(total), (start + length).min(total));
            let carried = map.carry_all(&[LineSpan { start, end }]);
            let spread = |spans: &[LineSpan]| -> Vec<u64> {
                spans.iter().flat_map(|span| span.lines()).collect()
            };
            let kept: Vec<u64> = (start..=end).filter_map(|line| map.carry(line)).collect();
            let lost = (start..=end).count() - kept.len();
            prop_assert_eq!(spread(&carried.kept), kept);
            prop_assert_eq!(carried.changed.is_empty(), lost == 0);
        }
    }

    #[test]
    fn changed_lines_are_named_by_what_stands_there_now() {
        let old = Text::new("a\nb\nc\nd\ne\n");
        let all = LineSpan { start: 1, end: 5 };
        let changed = |new: &str| {
            let map = LineMap::of_diff(&old, &Text::new(new));
            map.carry_all(&[all]).changed
        };
        let span = |start, end| LineSpan { start, end };
        assert_eq!(changed("a\nb\nX\nd\ne\n"), [span(3, 3)]);
        assert_eq!(changed("a\nb  \nc\r\nd\ne\n"), []);
        assert_eq!(changed("new\na\nb\nc\nd\ne\n"), []);
        assert_eq!(changed("a\nb\nd\ne\n"), [span(3, 3)]);
        assert_eq!(changed("a\nb\nc\nd\n"), [span(4, 4)]);
        assert_eq!(changed("X\nY\nZ\nd\ne\n"), [span(1, 3)]);
        assert_eq!(changed(""), [span(1, 1)]);
    }
}
