//! A line map found by a diff, with the proof that it owes for every line; nothing here is taken for the same line because it looks alike.

use super::line_map::{LineMap, comparable, interned};
use crate::text::Text;

/// How often a line's text is found in the two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Once in each.
    Unique,
    /// Equally often in both.
    Steady,
    /// More often in one than in the other: some copy came or went, and which is not known.
    Unsteady,
}

/// A map over a change that nobody saw happen.
#[derive(Debug, Clone)]
pub struct DiffedMap {
    map: LineMap,
    /// For each line of the old text.
    standing: Vec<Standing>,
    /// For each run of the map.
    runs: Vec<RunFacts>,
}

/// What a run has to prove its lines by.
#[derive(Debug, Clone, Copy, Default)]
struct RunFacts {
    /// The first and the last unique line, in old numbers.
    unique: Option<(u64, u64)>,
    /// Lines that are unique or steady.
    steady: u64,
    length: u64,
}

impl DiffedMap {
    /// Compares two texts; trailing blanks and line ends do not count, as they do not for tags.
    pub fn of(old: &Text, new: &Text) -> DiffedMap {
        let (old_lines, new_lines) = (comparable(old), comparable(new));
        let input = interned(&old_lines, &new_lines);
        let map = LineMap::of_tokens(&input);
        let tokens = input.interner.num_tokens() as usize;
        let (mut before, mut after) = (vec![0u32; tokens], vec![0u32; tokens]);
        input
            .before
            .iter()
            .for_each(|token| before[token.0 as usize] += 1);
        input
            .after
            .iter()
            .for_each(|token| after[token.0 as usize] += 1);
        let standing: Vec<Standing> = input
            .before
            .iter()
            .map(|token| (before[token.0 as usize], after[token.0 as usize]))
            .map(|counts| match counts {
                (1, 1) => Standing::Unique,
                (old, new) if old == new => Standing::Steady,
                _ => Standing::Unsteady,
            })
            .collect();
        let runs = map
            .runs()
            .map(|(old, _, length)| facts(&standing, old, length))
            .collect();
        DiffedMap {
            map,
            standing,
            runs,
        }
    }

    /// The map without its proofs, which is good enough to say what changed.
    pub fn map(&self) -> &LineMap {
        &self.map
    }

    /// Whether a line that stands in the map is the same line: a unique one needs a companion in its
    /// run; any other needs a unique line there, and either
    /// as many copies as before or unique lines on both sides. So a copy that took the place of a
    /// changed line is not taken for it.
    pub(super) fn is_proven(&self, line: u64) -> bool {
        let Some(run) = self.map.run_of(line).map(|at| self.runs[at]) else {
            return false;
        };
        // A run begins at line 1 or later, so the index is that of a line.
        match self.standing[line as usize - 1] {
            Standing::Unique => run.length > 1 && run.steady > 1,
            Standing::Steady => run.unique.is_some(),
            Standing::Unsteady => run
                .unique
                .is_some_and(|(first, last)| first < line && line < last),
        }
    }
}

fn facts(standing: &[Standing], old: u64, length: u64) -> RunFacts {
    let mut facts = RunFacts {
        length,
        ..RunFacts::default()
    };
    for line in old..old + length {
        match standing[line as usize - 1] {
            Standing::Unique => {
                let first = facts.unique.map_or(line, |(first, _)| first);
                facts.unique = Some((first, line));
                facts.steady += 1;
            }
            Standing::Steady => facts.steady += 1,
            Standing::Unsteady => {}
        }
    }
    facts
}
