//! One result of a search and the proof of it; it is given again only after a look at everything that the search saw.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::protocol::{Refusal, Settings};
use crate::task::Work;
use crate::workspace::{Scope, Seen};

/// The last result, of whoever asked. There is one client for a daemon, and so one set of roots at a
/// time.
#[derive(Debug)]
pub struct Kept<T>(Mutex<Option<Last<T>>>);

#[derive(Debug)]
struct Last<T> {
    roots: Vec<PathBuf>,
    settings: Arc<Settings>,
    seen: Arc<Seen>,
    found: Arc<T>,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept(Mutex::new(None))
    }
}

impl<T> Kept<T> {
    /// What was found last if it would be found again, else what `search` finds now.
    pub fn get(
        &self,
        scope: &Scope,
        work: &Work,
        search: impl FnOnce(&Scope, &Work) -> Result<(T, Seen), Refusal>,
    ) -> Result<Arc<T>, Refusal> {
        let roots = || scope.roots().iter().map(|root| root.spelled());
        let known = self.0.lock().as_ref().and_then(|last| {
            let is_of_these = Arc::ptr_eq(&last.settings, scope.settings())
                && last.roots.iter().map(PathBuf::as_path).eq(roots());
            is_of_these.then(|| (last.seen.clone(), last.found.clone()))
        });
        // No lock is held while files are looked at.
        if let Some((seen, found)) = known
            && seen.is_still_so(scope)
        {
            return Ok(found);
        }
        work.takes_long()?;
        let (found, seen) = search(scope, work)?;
        let found = Arc::new(found);
        *self.0.lock() = Some(Last {
            roots: roots().map(PathBuf::from).collect(),
            settings: scope.settings().clone(),
            seen: Arc::new(seen),
            found: found.clone(),
        });
        Ok(found)
    }

    /// What was found last, whether or not it still is so.
    pub fn last(&self) -> Option<Arc<T>> {
        self.0.lock().as_ref().map(|last| last.found.clone())
    }
}
