//! Laws of carrying edits to a later text, and the scenarios of stale tags by their numbers; a line is known by an identity that the code never sees.

use proptest::prelude::*;

use super::apply::{batch_of, plan};
use super::apply_laws::cases;
use crate::hashline::block::{Action, InsertionPoint, PlainHunk};
use crate::hashline::carry::{Moved, Stale, StaleReason, Step, carry};
use crate::hashline::changed::outcome;
use crate::hashline::diffed::DiffedMap;
use crate::hashline::line_map::LineMap;
use crate::hashline::ops::Origin;
use crate::hashline::splice::splices;
use crate::protocol::read::LineSpan;
use crate::text::Text;

/// Lines by identity, and the steps that made them of the lines `0..`.
struct History {
    ids: Vec<u64>,
    fresh: u64,
    steps: Vec<Step>,
}

impl History {
    fn of(total: u64) -> History {
        History {
            ids: (0..total).collect(),
            fresh: total,
            steps: Vec::new(),
        }
    }

    /// `removed` lines at a share of the lines give way to `added` new ones.
    fn splice(&mut self, share: u64, removed: u64, added: u64) {
        let total = self.ids.len() as u64;
        let at = total * share / 100;
        let removed = removed.min(total - at);
        let new = self.fresh..self.fresh + added;
        self.fresh += added;
        self.ids.splice(at as usize..(at + removed) as usize, new);
        let map = LineMap::of_splice(total, at + 1, removed, added);
        self.steps.push(Step::Exact(map));
    }

    /// Where the line of an identity is, 1-indexed.
    fn line_of(&self, id: u64) -> Option<u64> {
        let at = self.ids.iter().position(|other| *other == id)?;
        Some(at as u64 + 1)
    }
}

fn replace(start: u64, end: u64) -> PlainHunk {
    hunk(Action::Replace {
        lines: LineSpan { start, end },
        rows: vec!["new".to_owned()],
    })
}

fn hunk(action: Action) -> PlainHunk {
    PlainHunk {
        action,
        origin: Origin::PatchLine(2),
        block_line: None,
    }
}

fn text_of(lines: &[String]) -> Text {
    Text::new(
        &lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    )
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn exact_steps_keep_identity(
        total in 1u64..20,
        changes in prop::collection::vec((0u64..=100, 0u64..4, 0u64..4), 0..12),
        start in 1u64..20, length in 0u64..4,
    ) {
        let mut history = History::of(total);
        changes.into_iter().for_each(|(share, removed, added)| history.splice(share, removed, added));
        let start = start.min(total);
        let end = (start + length).min(total);
        let now: Vec<Option<u64>> = (start..=end).map(|line| history.line_of(line - 1)).collect();
        let side_by_side = now.windows(2).all(|pair| pair[1] == pair[0].map(|line| line + 1));
        match carry(vec![replace(start, end)], &history.steps) {
            Ok(Moved { hunks, remapped }) => {
                let lines = hunks[0].touched().unwrap();
                let ids = &history.ids[lines.start as usize - 1..lines.end as usize];
                prop_assert_eq!(ids, &(start - 1..end).collect::<Vec<_>>()[..]);
                let moved = remapped.iter().map(|remap| (remap.from, remap.to)).next();
                prop_assert_eq!(moved, (lines.start != start).then_some((start, lines.start)));
            }
            Err(Stale { anchors, .. }) => {
                prop_assert!(now.contains(&None) || !side_by_side);
                prop_assert_eq!(anchors.len(), 1);
                let place = anchors[0].now;
                prop_assert!(place.start >= 1 && place.end <= history.ids.len().max(1) as u64);
            }
        }
    }

    #[test]
    fn diffed_steps_owe_a_proof(
        old in prop::collection::vec("[a-f]|[}]|", 1..14),
        edits in prop::collection::vec((0u64..=100, 0u64..3, prop::collection::vec("[a-f]|[}]|", 0..3)), 0..4),
        start in 1usize..14, length in 0usize..3,
    ) {
        let mut new = old.clone();
        for (share, removed, rows) in edits {
            let at = new.len() * share as usize / 100;
            let end = (at + removed as usize).min(new.len());
            new.splice(at..end, rows);
        }
        let map = DiffedMap::of(&text_of(&old), &text_of(&new));
        let start = start.min(old.len());
        let end = (start + length).min(old.len());
        let addressed = LineSpan { start: start as u64, end: end as u64 };
        if let Ok(moved) = carry(vec![replace(addressed.start, addressed.end)], &[Step::Diffed(map)]) {
            let now = moved.hunks[0].touched().unwrap();
            let now = (now.start as usize, now.end as usize);
            prop_assert_eq!(&old[start - 1..end], &new[now.0 - 1..now.1]);
            for (line, now) in (start..=end).zip(now.0..) {
                prop_assert!(has_proof(&old, &new, line, now), "{old:?} {new:?} {line} {now}");
            }
        }
    }

    #[test]
    fn edits_by_the_first_version_equal_edits_by_the_latest(
        seeds in prop::collection::vec((0u8..4, any::<u32>()), 100),
    ) {
        let first: Vec<String> = (1..=150).map(|line| format!("line {}", line % 40)).collect();
        // By identity: the first version's lines, and everything that came since.
        let mut model: Vec<(Option<usize>, String)> = first.iter().cloned().enumerate().map(|(at, line)| (Some(at + 1), line)).collect();
        let mut live = text_of(&first);
        let mut steps = Vec::new();
        for (number, (kind, seed)) in seeds.into_iter().enumerate() {
            let line = seed as usize % first.len() + 1;
            let row = format!("row {number}");
            let at = model.iter().position(|(id, _)| *id == Some(line));
            let rows = vec![row.clone()];
            let lines = LineSpan::line(line as u64);
            let action = match kind {
                0 => Action::Replace { lines, rows },
                1 => Action::Replace { lines, rows: Vec::new() },
                2 => Action::Insert { place: InsertionPoint::Before(line as u64), rows },
                _ => Action::Insert { place: InsertionPoint::After(line as u64), rows },
            };
            let moved = carry(vec![hunk(action)], &steps);
            let Some(at) = at else {
                prop_assert!(moved.is_err());
                continue;
            };
            match kind {
                0 => model[at] = (None, row),
                1 => drop(model.remove(at)),
                2 => model.insert(at, (None, row)),
                _ => model.insert(at + 1, (None, row)),
            }
            let done = outcome(&live, &splices(&live, &moved.unwrap().hunks, Vec::new()).unwrap());
            prop_assert!(done.is_exact);
            steps.push(Step::Exact(done.map));
            live = done.text;
        }
        let expected: Vec<String> = model.into_iter().map(|(_, line)| line).collect();
        prop_assert_eq!(live, text_of(&expected));
    }
}

/// The proof of the specification, from its words: an unbroken run of unchanged lines with one
/// offset from the line to one that is unique in both texts, which may be itself if one neighbour
/// runs with it.
fn has_proof(old: &[String], new: &[String], line: usize, now: usize) -> bool {
    let unique = |at: usize| {
        let count = |text: &[String]| text.iter().filter(|other| **other == old[at]).count();
        count(old) == 1 && count(new) == 1
    };
    let mut run = vec![line - 1];
    for step in 1..=(line - 1).min(now - 1) {
        if old[line - 1 - step] != new[now - 1 - step] {
            break;
        }
        run.push(line - 1 - step);
    }
    for step in 1..=(old.len() - line).min(new.len() - now) {
        if old[line - 1 + step] != new[now - 1 + step] {
            break;
        }
        run.push(line - 1 + step);
    }
    run.len() > 1 && run.into_iter().any(unique)
}

fn diffed(old: &str, new: &str, line: u64) -> Result<u64, StaleReason> {
    let lines = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    let map = DiffedMap::of(&text_of(&lines(old)), &text_of(&lines(new)));
    match carry(vec![replace(line, line)], &[Step::Diffed(map)]) {
        Ok(moved) => Ok(moved.hunks[0].touched().unwrap().start),
        Err(stale) => Err(stale.anchors[0].stale.unwrap()),
    }
}

#[test]
fn scenario_59_60_changes_elsewhere() {
    assert_eq!(diffed("a b c d", "a b c d e", 2), Ok(2));
    assert_eq!(diffed("a b c d", "a X c d", 2), Err(StaleReason::Changed));
    assert_eq!(diffed("a b c d e f", "new a b c d e f", 5), Ok(6));
    assert_eq!(diffed("a b c d e f", "b c d e f", 5), Ok(4));
    // A line that is there often, but as often as before, beside a unique one.
    assert_eq!(diffed("a } b } c", "a } b } new c", 4), Ok(4));
}

#[test]
fn scenario_61_no_copy_is_taken_for_the_line() {
    let unproven = Err(StaleReason::Unproven);
    assert_eq!(
        diffed("start DUP mid DUP tail", "start mid DUP CHANGED tail", 4),
        unproven
    );
    assert_eq!(diffed("x line y", "p line q", 2), unproven);
    // The block is copied elsewhere while its line is changed in place.
    for line in 2..=4 {
        let now = diffed("h x y z t", "h x CHANGED z t x y z", line);
        assert!(
            now.is_err() || line != 3 && now == Ok(line),
            "{line} {now:?}"
        );
    }
}

#[test]
fn a_range_with_new_lines_inside_is_stale() {
    let map = DiffedMap::of(&Text::new("a\nb\nc\nd\n"), &Text::new("a\nb\nX\nc\nd\n"));
    let steps = [Step::Diffed(map)];
    let moved = carry(vec![replace(3, 4)], &steps).unwrap();
    assert_eq!(moved.hunks, [replace(4, 5)]);
    let stale = carry(vec![replace(2, 3), replace(4, 4)], &steps).unwrap_err();
    assert_eq!(stale.anchors[0].stale, Some(StaleReason::Split));
    insta::assert_snapshot!(stale, @"patch line 2: lines 2..3 now have other lines between them.");
    // Every hunk's lines are told, so that all of them can be written anew.
    assert_eq!(stale.anchors[1].now, LineSpan::line(5));
    assert_eq!(stale.anchors[1].stale, None);
}

#[test]
fn scenario_64_head_and_tail_need_no_anchor() {
    let step = Step::Diffed(DiffedMap::of(&Text::new("a\n"), &Text::new("b\n")));
    let head = hunk(Action::Insert {
        place: InsertionPoint::Head,
        rows: vec!["x".to_owned()],
    });
    let moved = carry(vec![head.clone()], &[step]).unwrap();
    assert_eq!(moved.hunks, [head]);
}

#[test]
fn scenario_65_blocks_are_resolved_before_they_are_carried() {
    let snapshot = Text::new("fn a() {\n  b\n}\nend\n");
    let batch = batch_of("¶f#1A2B\ndelete block 1\n").unwrap();
    let (plain, _) = plan(&snapshot, batch, &[(1, 3)]).unwrap();
    let live = Text::new("// new\nfn a() {\n  b\n}\nend\n");
    let steps = [Step::Diffed(DiffedMap::of(&snapshot, &live))];
    let moved = carry(plain.hunks, &steps).unwrap();
    let done = outcome(&live, &splices(&live, &moved.hunks, Vec::new()).unwrap());
    assert_eq!(done.written(), "// new\nend\n");
}

#[test]
fn carrying_over_1000_edits_and_planning_100_hunks() {
    let total = 10_000;
    let mut history = History::of(total);
    (0..1000).for_each(|edit| history.splice(edit % 100, 1, edit % 3));
    let kept = (1..=total).filter(|line| history.line_of(line - 1).is_some());
    let hunks: Vec<PlainHunk> = kept
        .step_by(90)
        .take(100)
        .map(|line| replace(line, line))
        .collect();
    let moved = carry(hunks, &history.steps).unwrap();
    let lines: Vec<String> = (0..history.ids.len())
        .map(|line| line.to_string())
        .collect();
    let live = text_of(&lines);
    let done = outcome(&live, &splices(&live, &moved.hunks, Vec::new()).unwrap());
    assert_eq!((moved.hunks.len(), done.changed.len()), (100, 100));
}
