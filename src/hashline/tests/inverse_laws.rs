//! Laws of what puts an edit back: right after it every byte is as before, and after another edit either nothing of that is lost or it is refused.

use proptest::prelude::*;

use super::apply::{batch_of, plan};
use super::apply_laws::{cases, hunks, joined, patch_text, text, wishes};
use crate::hashline::changed::{Outcome, outcome};
use crate::hashline::ops::Origin;
use crate::hashline::{Inverse, Step, carry};
use crate::text::Text;

const ORIGIN: Origin = Origin::PatchLine(2);

fn edited(old: &Text, patch: &str) -> Outcome {
    let (_, splices) = plan(old, batch_of(patch).unwrap(), &[]).unwrap();
    outcome(old, &splices)
}

/// The text with everything put back, where it can be; `steps` lead to it.
fn put_back(inverse: &Inverse, live: &Text, steps: &[Step]) -> Option<Outcome> {
    let now = carry(inverse.hunks(ORIGIN), steps).ok()?.hunks;
    let splices = inverse.splices(live, &now, ORIGIN).ok()?;
    Some(outcome(live, &splices))
}

/// One more op where that meets no other.
fn with_move(patch: &str, old: &Text, (from, count, to): (usize, usize, usize)) -> String {
    let total = old.len_lines().max(1);
    let from = from % total + 1;
    let end = (from + count).min(total);
    let longer = format!("{patch}move {from}..{end} after {}\n", to % total + 1);
    let is_sound = batch_of(&longer).and_then(|batch| plan(old, batch, &[]));
    match is_sound {
        Ok(_) => longer,
        Err(_) => patch.to_owned(),
    }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn right_after_an_edit_it_gives_back_every_byte(
        text in text(),
        wishes in wishes(),
        moved in (0usize..99, 0usize..3, 0usize..99),
    ) {
        let hunks = hunks(text.len(), &wishes);
        prop_assume!(!hunks.is_empty());
        let old = Text::new(&joined(&text));
        let made = edited(&old, &with_move(&patch_text(&hunks), &old, moved));
        let inverse = Inverse::of(&old, &made, None).unwrap();
        let back = put_back(&inverse, &made.text, &[]);
        let back = back.ok_or_else(|| TestCaseError::fail("refused"))?;
        prop_assert_eq!(back.written(), joined(&text));
        // And so does what puts that back.
        let again = Inverse::of(&made.text, &back, None).unwrap();
        let again = put_back(&again, &back.text, &[]).map(|again| again.written());
        prop_assert_eq!(again, Some(made.written()));
    }

    #[test]
    fn after_another_edit_it_takes_nothing_of_that(
        text in text(),
        first in wishes(),
        second in wishes(),
    ) {
        let old = Text::new(&joined(&text));
        let first = hunks(text.len(), &first[..4]);
        prop_assume!(!first.is_empty());
        let made = edited(&old, &patch_text(&first));
        let inverse = Inverse::of(&old, &made, None).unwrap();
        let second = hunks(made.text.len_lines(), &second[..2]);
        prop_assume!(!second.is_empty() && made.is_exact);
        let later = edited(&made.text, &patch_text(&second));
        prop_assume!(later.is_exact);
        let steps = [Step::Exact(later.map.clone())];
        let Some(back) = put_back(&inverse, &later.text, &steps) else {
            return Ok(());
        };
        prop_assume!(back.is_exact);
        // Lines that the second one wrote are still there, and lines that both left alone.
        let total = later.text.len_lines() as u64;
        let (by_first, by_second) = (&made.map, &later.map);
        let kept_of = |map: &crate::hashline::LineMap, lines: u64| -> Vec<u64> {
            (1..=lines).filter_map(|line| map.carry(line)).collect()
        };
        let of_made = kept_of(by_second, made.text.len_lines() as u64);
        for line in (1..=total).filter(|line| !of_made.contains(line)) {
            let now = back.map.carry(line);
            prop_assert!(now.is_some(), "line {} of the second edit went", line);
        }
        // A last line without an end may have got one, which goes again.
        let unended = u64::from(!old.ends_with_newline());
        let whole = (old.len_lines() as u64).saturating_sub(unended);
        for line in 1..=whole {
            let kept = by_first.carry(line).and_then(|line| by_second.carry(line));
            if let Some(kept) = kept {
                prop_assert!(back.map.carry(kept).is_some(), "line {} went", line);
            }
        }
    }
}
