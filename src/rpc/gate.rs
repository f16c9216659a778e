//! The bound on requests in flight; a full gate never holds the reader up for more than one short wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

/// How long the reader waits for a place before it refuses. Clients that pipeline thousands of
/// quick requests are paced by this; stuck requests cost it once, not once for each refusal.
const PATIENCE: Duration = Duration::from_millis(100);

/// Counts the requests that have been begun and not answered.
#[derive(Debug)]
pub struct Gate {
    places: usize,
    state: Mutex<State>,
    freed: Condvar,
    idle: Notify,
}

#[derive(Debug)]
struct State {
    taken: usize,
    /// False after a wait that was in vain, until something has finished.
    patient: bool,
}

/// The place of one request in flight, given back when dropped.
#[derive(Debug)]
pub struct Place(Arc<Gate>);

impl Gate {
    /// A gate that lets `places` requests in.
    pub fn new(places: usize) -> Arc<Gate> {
        Arc::new(Gate {
            places,
            state: Mutex::new(State {
                taken: 0,
                patient: true,
            }),
            freed: Condvar::new(),
            idle: Notify::new(),
        })
    }

    /// A place, or `None` when all are taken. Called by one thread only.
    pub fn enter(self: &Arc<Gate>) -> Option<Place> {
        let mut state = self.state.lock();
        if state.taken >= self.places && state.patient {
            let deadline = Instant::now() + PATIENCE;
            let full = |state: &mut State| state.taken >= self.places;
            let waited = self.freed.wait_while_until(&mut state, full, deadline);
            state.patient = !waited.timed_out();
        }
        if state.taken >= self.places {
            return None;
        }
        state.taken += 1;
        Some(Place(self.clone()))
    }

    /// Waits until nothing is in flight. Called by one task only.
    pub async fn idle(&self) {
        while self.state.lock().taken > 0 {
            // A permit left over from before costs one more look.
            self.idle.notified().await;
        }
    }
}

impl Place {
    /// Whether no other request is in flight.
    pub fn is_alone(&self) -> bool {
        self.0.state.lock().taken == 1
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.taken -= 1;
        state.patient = true;
        if state.taken == 0 {
            self.0.idle.notify_one();
        }
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_once_and_again_only_after_something_finished() {
        let gate = Gate::new(2);
        let first = gate.enter();
        let _second = gate.enter();
        assert!(first.is_some());
        let begun = Instant::now();
        for _ in 0..1000 {
            assert!(gate.enter().is_none());
        }
        assert!(begun.elapsed() >= PATIENCE);
        assert!(!gate.state.lock().patient);
        drop(first);
        assert!(gate.state.lock().patient);
        let third = gate.enter();
        assert!(third.is_some());
        let freeing = std::thread::spawn(move || drop(third));
        // Either it is free already or the wait ends with it: the thread only has to get its turn.
        while gate.enter().is_none() {}
        assert!(freeing.join().is_ok());
    }
}
