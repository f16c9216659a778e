//! Sets of line numbers as merged intervals; a set never holds two intervals that touch.

use crate::protocol::read::LineSpan;

/// A set of 1-indexed lines, kept as sorted intervals with gaps between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineSet {
    spans: Vec<LineSpan>,
}

impl LineSet {
    pub fn new() -> LineSet {
        LineSet::default()
    }

    /// Adds `start..=end`; an empty interval (`start > end`) adds nothing.
    pub fn insert(&mut self, start: u64, end: u64) {
        if start > end {
            return;
        }
        let first = self.spans.partition_point(|span| span.end + 1 < start);
        let after = self
            .spans
            .partition_point(|span| span.start <= end.saturating_add(1));
        let merged = match self.spans.get(first..after) {
            Some([head, .., tail]) => (head.start.min(start), tail.end.max(end)),
            Some([only]) => (only.start.min(start), only.end.max(end)),
            _ => (start, end),
        };
        let merged = LineSpan {
            start: merged.0,
            end: merged.1,
        };
        self.spans.splice(first..after.max(first), [merged]);
    }

    pub fn extend(&mut self, spans: &[LineSpan]) {
        for span in spans {
            self.insert(span.start, span.end);
        }
    }

    pub fn contains(&self, line: u64) -> bool {
        let at = self.spans.partition_point(|span| span.end < line);
        self.spans.get(at).is_some_and(|span| span.start <= line)
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The lines, one by one.
    pub fn lines(&self) -> impl Iterator<Item = u64> {
        self.spans.iter().flat_map(|span| span.lines())
    }

    /// The merged intervals in ascending order.
    pub fn spans(&self) -> &[LineSpan] {
        &self.spans
    }
}

impl FromIterator<LineSpan> for LineSet {
    fn from_iter<I: IntoIterator<Item = LineSpan>>(spans: I) -> LineSet {
        let mut set = LineSet::new();
        for span in spans {
            set.insert(span.start, span.end);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_the_set_of_what_was_inserted(spans in prop::collection::vec((1u64..60, 0u64..8), 0..12)) {
            let mut set = LineSet::new();
            let mut naive = std::collections::BTreeSet::new();
            for (start, length) in spans {
                set.insert(start, start + length);
                naive.extend(start..=start + length);
            }
            for line in 0..80 {
                prop_assert_eq!(set.contains(line), naive.contains(&line));
            }
            for pair in set.spans().windows(2) {
                prop_assert!(pair[0].end + 1 < pair[1].start);
            }
        }
    }
}
