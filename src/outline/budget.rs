//! What is opened again while there is room; a fold is never opened past the most rows of a view.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::task::Stopped;

use super::candidate::{Candidate, FoldKind};
use super::walk::Walk;

/// Rows from which nothing more is opened.
const ENOUGH_ROWS: usize = 60;
/// Rows that opening must not pass.
const MAX_ROWS: usize = 120;

/// Opens the smallest fold, the first of equals, while fewer than 60 rows are visible and it keeps
/// the view at or under 120 rows. Comments and imports stay folded. In line order.
pub(super) fn unfold<'tree>(
    walk: &Walk<'tree>,
    folded: Vec<Candidate<'tree>>,
    total_lines: usize,
) -> Result<Vec<Candidate<'tree>>, Stopped> {
    let mut rows = total_lines - saved(&folded);
    let mut all: Vec<Option<Candidate<'tree>>> = Vec::new();
    let mut smallest = BinaryHeap::new();
    let add = |all: &mut Vec<_>, heap: &mut BinaryHeap<_>, more: Vec<Candidate<'tree>>| {
        for candidate in more {
            if candidate.kind != FoldKind::Closed {
                heap.push(Reverse((candidate.lines(), candidate.first, all.len())));
            }
            all.push(Some(candidate));
        }
    };
    add(&mut all, &mut smallest, folded);
    while rows < ENOUGH_ROWS {
        let Some(Reverse((lines, _, at))) = smallest.pop() else {
            break;
        };
        let Some(candidate) = &all[at] else { continue };
        let inside = walk.inside(candidate)?;
        let opened = rows - 1 + lines - saved(&inside);
        if opened > MAX_ROWS {
            break;
        }
        rows = opened;
        all[at] = None;
        add(&mut all, &mut smallest, inside);
    }
    let mut left: Vec<_> = all.into_iter().flatten().collect();
    left.sort_by_key(|candidate| candidate.first);
    Ok(left)
}

/// Rows that folding saves.
fn saved(folded: &[Candidate<'_>]) -> usize {
    folded.iter().map(|candidate| candidate.lines() - 1).sum()
}
