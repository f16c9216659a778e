//! The record of a document's changes that were seen, each as an exact line map; what was recorded is never changed.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::hashline::LineMap;

/// Changes that are kept; a map over more of them is made by a diff instead.
const KEPT: usize = 4096;

/// The changes of one document since it was opened, replaced as a whole, or first edited by us.
#[derive(Debug, Default)]
pub struct ChangeLog {
    changes: Mutex<Changes>,
}

#[derive(Debug, Default)]
struct Changes {
    /// The number of the first change that is kept.
    first: u64,
    kept: VecDeque<LineMap>,
}

/// A version's place in a log: after so many changes.
#[derive(Debug, Clone)]
pub struct LogPosition {
    log: Arc<ChangeLog>,
    after: u64,
}

impl ChangeLog {
    /// The place before any change, in a log of its own.
    pub fn begin() -> LogPosition {
        LogPosition {
            log: Arc::default(),
            after: 0,
        }
    }
}

impl LogPosition {
    /// Records a change of this version, the last one of its record; the place of what it makes.
    pub fn then(&self, change: LineMap) -> LogPosition {
        let mut changes = self.log.changes.lock();
        changes.kept.push_back(change);
        if changes.kept.len() > KEPT {
            changes.kept.pop_front();
            changes.first += 1;
        }
        LogPosition {
            log: self.log.clone(),
            after: self.after + 1,
        }
    }

    /// The exact map from the version at this place to a later one; `None` where they have no
    /// common record.
    pub fn map_to(&self, later: &LogPosition) -> Option<LineMap> {
        if !Arc::ptr_eq(&self.log, &later.log) || later.after < self.after {
            return None;
        }
        let changes = self.log.changes.lock();
        let from = usize::try_from(self.after.checked_sub(changes.first)?).ok()?;
        let count = usize::try_from(later.after - self.after).ok()?;
        let mut steps = changes.kept.iter().skip(from).take(count);
        let first = steps.next()?.clone();
        Some(steps.fold(first, |map, next| map.then(next)))
    }

    /// Whether [`LogPosition::map_to`] has a map, which is cheaper to know.
    pub fn reaches(&self, later: &LogPosition) -> bool {
        Arc::ptr_eq(&self.log, &later.log)
            && self.after < later.after
            && self.after >= self.log.changes.lock().first
    }

    /// Whether both are in one record.
    pub fn is_of(&self, other: &LogPosition) -> bool {
        Arc::ptr_eq(&self.log, &other.log)
    }
}
