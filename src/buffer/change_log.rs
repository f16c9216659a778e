//! The record of an open document's changes, each as an exact line map; what was recorded is never changed.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::hashline::LineMap;
use crate::text::LineSplice;

/// Changes that are kept; a map over more of them is made by a diff instead.
const KEPT: usize = 4096;

/// The changes of one document since it was opened or replaced as a whole.
#[derive(Debug, Default)]
pub struct ChangeLog {
    changes: Mutex<Changes>,
}

#[derive(Debug, Default)]
struct Changes {
    /// The number of the first change that is kept.
    first: u64,
    kept: VecDeque<LineSplice>,
}

/// A version's place in a log: after so many changes.
#[derive(Debug, Clone)]
pub struct Place {
    log: Arc<ChangeLog>,
    after: u64,
}

impl ChangeLog {
    /// The place before any change, in a log of its own.
    pub fn begin() -> Place {
        Place {
            log: Arc::default(),
            after: 0,
        }
    }
}

impl Place {
    /// Records a change of this version; the place of the version it makes.
    pub fn then(&self, change: LineSplice) -> Place {
        let mut changes = self.log.changes.lock();
        changes.kept.push_back(change);
        if changes.kept.len() > KEPT {
            changes.kept.pop_front();
            changes.first += 1;
        }
        Place {
            log: self.log.clone(),
            after: self.after + 1,
        }
    }

    /// The exact map from the version at this place to a later one; `None` where they have no
    /// common record.
    pub fn map_to(&self, later: &Place) -> Option<LineMap> {
        if !Arc::ptr_eq(&self.log, &later.log) || later.after < self.after {
            return None;
        }
        let changes = self.log.changes.lock();
        let from = usize::try_from(self.after.checked_sub(changes.first)?).ok()?;
        let count = usize::try_from(later.after - self.after).ok()?;
        let mut map: Option<LineMap> = None;
        for change in changes.kept.iter().skip(from).take(count) {
            let LineSplice {
                total,
                start,
                removed,
                added,
            } = *change;
            let next = LineMap::of_splice(total, start, removed, added);
            map = Some(match map {
                Some(map) => map.then(&next),
                None => next,
            });
        }
        map
    }
}
