//! The steps from a version to the live text, for edits that are numbered by it; a step that was not seen is never called exact.

use crate::hashline::{DiffedMap, Step};

use super::Version;

/// Steps whose changes nobody saw, each of which costs a diff; more are taken as one.
const MAX_DIFFED: usize = 8;

/// Versions that are looked at: the oldest and the newest of more.
const MAX_VERSIONS: usize = 256;

/// What happened between one version and a later one of `versions`, by their indexes.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: usize,
    to: usize,
    seen: bool,
}

/// The steps through `versions`, which are all that are held from the first to the last.
pub fn steps(versions: &[Version]) -> Vec<Step> {
    let step = |stretch: Stretch| {
        let (from, to) = (&versions[stretch.from], &versions[stretch.to]);
        let exact = match stretch.seen {
            true => from.exact_map_to(to),
            false => None,
        };
        match exact {
            Some(map) => Step::Exact(map),
            None => Step::Diffed(DiffedMap::of(&from.text, &to.text)),
        }
    };
    stretches(versions).into_iter().map(step).collect()
}

/// As few stretches as there can be, each as long as its record of changes.
fn stretches(versions: &[Version]) -> Vec<Stretch> {
    let Some(last) = versions.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut stretches = Vec::new();
    let recent = versions.len().saturating_sub(MAX_VERSIONS);
    let mut from = 0;
    while from < last {
        let next = (from + 1).max(recent);
        let seen = furthest(versions, from, next);
        let to = seen.unwrap_or(next);
        stretches.push(Stretch {
            from,
            to,
            seen: seen.is_some(),
        });
        from = to;
    }
    let diffed = stretches.iter().filter(|stretch| !stretch.seen);
    if diffed.count() > MAX_DIFFED {
        as_one(&mut stretches);
    }
    stretches
}

/// The last version, from `next` on, up to which every change since `from` was seen in one record.
///
/// Of an edit of ours the editor tells a range of characters, which may have been any of several
/// like lines, so its record is followed only up to the next such edit.
fn furthest(versions: &[Version], from: usize, next: usize) -> Option<usize> {
    let last = versions.len() - 1;
    let here = &versions[from];
    let edited = (next..=last).rev();
    let mut edited = edited.filter(|to| here.was_edited_into(&versions[*to]));
    edited.next().or_else(|| {
        let mut edits = (next..last).filter(|at| versions[*at].was_edited_into(&versions[at + 1]));
        let end = edits.next().unwrap_or(last);
        (next..=end).rev().find(|to| here.reaches(&versions[*to]))
    })
}

/// Takes everything from the first stretch that was not seen to the last one as one change.
fn as_one(stretches: &mut Vec<Stretch>) {
    let unseen = |stretch: &Stretch| !stretch.seen;
    let (Some(first), Some(last)) = (
        stretches.iter().position(unseen),
        stretches.iter().rposition(unseen),
    ) else {
        return;
    };
    let joined = Stretch {
        from: stretches[first].from,
        to: stretches[last].to,
        seen: false,
    };
    stretches.splice(first..=last, [joined]);
}
