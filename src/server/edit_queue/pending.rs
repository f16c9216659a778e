//! Reads and edits as others wait for them: which places they concern, once that is known, and
//! whether they are done. Neither is taken back.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::workspace::ResourceId;

/// A read or an edit that has begun.
#[derive(Debug, Default)]
pub struct Pending {
    session: String,
    places: OnceLock<Vec<ResourceId>>,
    /// Before they are known: where the file system is mounted that they are on.
    mount: OnceLock<PathBuf>,
    done: AtomicBool,
    changed: Notify,
}

impl Pending {
    pub fn new(session: &str) -> Arc<Pending> {
        Arc::new(Pending {
            session: session.to_owned(),
            ..Pending::default()
        })
    }

    /// Tells which places it concerns. Only the first word counts.
    pub fn publish(&self, places: Vec<ResourceId>) {
        if self.places.set(places).is_ok() {
            self.changed.notify_waiters();
        }
    }

    /// Tells, of one that may not know its places for long, that they are on a mount.
    pub fn publish_mount(&self, point: PathBuf) {
        if self.mount.set(point).is_ok() {
            self.changed.notify_waiters();
        }
    }

    /// Whether its places are known, or no longer matter.
    pub fn is_decided(&self) -> bool {
        self.is_done() || self.places.get().is_some()
    }

    /// Waits for [`Pending::is_decided`]. The caller sets the limit.
    pub async fn decided(&self) {
        loop {
            // Made before the look, so that no change in between is missed.
            let changed = self.changed.notified();
            if self.is_decided() {
                return;
            }
            changed.await;
        }
    }

    pub fn finish(&self) {
        self.done.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Waits until it is done, whatever it concerns. The caller sets the limit.
    pub async fn ended(&self) {
        loop {
            // Made before the look, so that no change in between is missed.
            let changed = self.changed.notified();
            if self.is_done() {
                return;
            }
            changed.await;
        }
    }

    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// Whether nobody who is about `places` need wait for it, as far as is known.
    fn is_out_of_the_way(&self, places: &[ResourceId]) -> bool {
        let elsewhere = |own: &Vec<ResourceId>| own.iter().all(|place| !places.contains(place));
        let not_there = |point: &PathBuf| !places.iter().any(|place| place.is_below(point));
        let known = self.places.get().map(elsewhere);
        self.is_done() || known.unwrap_or_else(|| self.mount.get().is_some_and(not_there))
    }

    /// Waits until it is done or known to concern none of `places`. The caller sets the limit.
    pub async fn out_of_the_way(&self, places: &[ResourceId]) {
        loop {
            // Made before the look, so that no change in between is missed.
            let changed = self.changed.notified();
            if self.is_out_of_the_way(places) {
                return;
            }
            changed.await;
        }
    }
}

/// The reads that have begun and not been answered.
#[derive(Debug, Default)]
pub struct Reads {
    next: AtomicU64,
    begun: Mutex<HashMap<u64, Arc<Pending>>>,
}

impl Reads {
    /// Adds one and returns its number.
    pub fn begin(&self, pending: Arc<Pending>) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.begun.lock().insert(number, pending);
        number
    }

    pub fn end(&self, number: u64) {
        let ended = self.begun.lock().remove(&number);
        if let Some(pending) = ended {
            pending.finish();
        }
    }

    /// Those of one session.
    pub fn of(&self, session: &str) -> Vec<Arc<Pending>> {
        let begun = self.begun.lock();
        let own = begun.values().filter(|pending| pending.session == session);
        own.cloned().collect()
    }
}
