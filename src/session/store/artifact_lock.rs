//! What keeps an artifact as it is while it is opened: many may read it at a time, and who writes waits for them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::protocol::Refusal;
use crate::task::Work;

/// Between two looks at the cancel token.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
pub(super) struct ArtifactLock {
    inside: Mutex<Inside>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Inside {
    readers: usize,
    /// Who writes, or waits to: readers that come later wait.
    writers: usize,
    is_written: bool,
}

/// Somebody reads.
#[derive(Debug)]
pub struct Reading(Arc<ArtifactLock>);

/// Somebody writes.
#[derive(Debug)]
pub(super) struct Writing<'a>(&'a ArtifactLock);

impl ArtifactLock {
    pub(super) fn read(lock: &Arc<ArtifactLock>, work: &Work) -> Result<Reading, Refusal> {
        let mut inside = lock.inside.lock();
        while inside.writers > 0 {
            work.check()?;
            lock.left.wait_for(&mut inside, LOOK);
        }
        inside.readers += 1;
        Ok(Reading(lock.clone()))
    }

    pub(super) fn write(&self, work: &Work) -> Result<Writing<'_>, Refusal> {
        let mut inside = self.inside.lock();
        inside.writers += 1;
        while inside.readers > 0 || inside.is_written {
            if let Err(stopped) = work.check() {
                inside.writers -= 1;
                return Err(stopped.into());
            }
            self.left.wait_for(&mut inside, LOOK);
        }
        inside.is_written = true;
        Ok(Writing(self))
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.inside.lock().readers -= 1;
        self.0.left.notify_all();
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let mut inside = self.0.inside.lock();
        inside.writers -= 1;
        inside.is_written = false;
        drop(inside);
        self.0.left.notify_all();
    }
}
