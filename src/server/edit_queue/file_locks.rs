//! One line of edits for each place, first come first served; an edit joins all of its lines in one
//! step, so nobody is in some of its lines and not yet in the others.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::workspace::ResourceId;

/// The lines of all places that are written to or about to be.
///
/// Who takes tickets joins all of its lines in one step, so whoever is behind another in one line
/// is so in every line they share: nobody waits in a circle.
#[derive(Debug, Default)]
pub struct FileLocks(Mutex<HashMap<ResourceId, LockQueue>>);

#[derive(Debug)]
struct LockQueue {
    tickets: VecDeque<Arc<Ticket>>,
    /// When the first of it last changed.
    moved: Instant,
}

#[derive(Debug)]
struct Ticket {
    /// The lines in which somebody is ahead.
    behind: AtomicUsize,
    first_everywhere: Notify,
}

/// Places in some lines, given up when dropped.
#[derive(Debug)]
pub struct Tickets {
    locks: Arc<FileLocks>,
    ticket: Arc<Ticket>,
    places: Vec<ResourceId>,
}

/// Nothing has moved for as long as somebody was ready to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalled;

impl FileLocks {
    /// Joins the lines of all `places` at once; a place named twice is joined once.
    pub fn join(self: &Arc<FileLocks>, places: Vec<ResourceId>) -> Tickets {
        let mut seen = HashSet::new();
        let mut places = places;
        places.retain(|place| seen.insert(place.clone()));
        let ticket = Arc::new(Ticket {
            behind: AtomicUsize::new(0),
            first_everywhere: Notify::new(),
        });
        let mut behind = 0;
        let mut lines = self.0.lock();
        for place in &places {
            let line = lines.entry(place.clone()).or_insert_with(|| LockQueue {
                tickets: VecDeque::new(),
                moved: Instant::now(),
            });
            behind += usize::from(!line.tickets.is_empty());
            line.tickets.push_back(ticket.clone());
        }
        ticket.behind.store(behind, Ordering::Release);
        drop(lines);
        Tickets {
            locks: self.clone(),
            ticket,
            places,
        }
    }

    /// How many lines there are.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.0.lock().len()
    }
}

impl Tickets {
    /// The places, each once, in the order in which they were named.
    pub fn places(&self) -> &[ResourceId] {
        &self.places
    }

    /// Whether nobody is ahead in any line.
    pub fn are_first(&self) -> bool {
        self.ticket.behind.load(Ordering::Acquire) == 0
    }

    /// Waits to be first in every line. Gives up when for `patience` nobody ahead was done: a
    /// long line that moves is no reason to.
    pub async fn first(&self, patience: Duration) -> Result<(), Stalled> {
        while self.ticket.behind.load(Ordering::Acquire) > 0 {
            let deadline = self.last_moved() + patience;
            let first = self.ticket.first_everywhere.notified();
            let waited = tokio::time::timeout_at(deadline.into(), first).await;
            let behind = self.ticket.behind.load(Ordering::Acquire) > 0;
            if waited.is_err() && behind && self.last_moved() + patience <= Instant::now() {
                return Err(Stalled);
            }
        }
        Ok(())
    }

    /// When a line in which somebody is ahead last moved.
    fn last_moved(&self) -> Instant {
        let lines = self.locks.0.lock();
        let waiting = |line: &&LockQueue| {
            let first = line.tickets.front();
            first.is_some_and(|first| !Arc::ptr_eq(first, &self.ticket))
        };
        let lines = self.places.iter().filter_map(|place| lines.get(place));
        let moved = lines.filter(waiting).map(|line| line.moved).max();
        moved.unwrap_or_else(Instant::now)
    }
}

impl Drop for Tickets {
    fn drop(&mut self) {
        let mut lines = self.locks.0.lock();
        for place in &self.places {
            let Entry::Occupied(mut line) = lines.entry(place.clone()) else {
                continue;
            };
            let tickets = &mut line.get_mut().tickets;
            let at = tickets
                .iter()
                .position(|ticket| Arc::ptr_eq(ticket, &self.ticket));
            if let Some(at) = at {
                tickets.remove(at);
            }
            match (at, tickets.front()) {
                (_, None) => drop(line.remove()),
                (Some(0), Some(next)) => {
                    if next.behind.fetch_sub(1, Ordering::AcqRel) == 1 {
                        next.first_everywhere.notify_one();
                    }
                    line.get_mut().moved = Instant::now();
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::workspace::RealPath;

    use super::*;

    const HANG: Duration = Duration::from_secs(30);

    fn place(n: u8) -> ResourceId {
        ResourceId::File(RealPath::for_tests(&format!("/w/{n}")))
    }

    fn runtime() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build();
        runtime.expect("a runtime for the test")
    }

    /// One edit: its places, how often it gives others a turn while it holds them, and whether it
    /// leaves without waiting.
    type TestEdit = (Vec<u8>, u8, bool);

    /// Runs all edits; returns for each place who had it, in order.
    async fn run(edits: &[TestEdit]) -> HashMap<u8, Vec<usize>> {
        let lines = Arc::new(FileLocks::default());
        let busy: Arc<Mutex<HashSet<u8>>> = Arc::default();
        let had: Arc<Mutex<HashMap<u8, Vec<usize>>>> = Arc::default();
        let mut tasks = Vec::new();
        for (number, (names, turns, leaves)) in edits.iter().cloned().enumerate() {
            let tickets = lines.join(names.iter().copied().map(place).collect());
            let (busy, had) = (busy.clone(), had.clone());
            tasks.push(tokio::spawn(async move {
                if leaves {
                    return;
                }
                tickets.first(HANG).await.expect("the lines move");
                let names: HashSet<u8> = names.into_iter().collect();
                for name in &names {
                    assert!(busy.lock().insert(*name), "two at once in {name}");
                    had.lock().entry(*name).or_default().push(number);
                }
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                busy.lock().retain(|name| !names.contains(name));
            }));
        }
        for task in tasks {
            let done = tokio::time::timeout(HANG, task).await;
            done.expect("no deadlock").expect("no panic");
        }
        assert_eq!(lines.count(), 0, "a line was left behind");
        let had = had.lock();
        had.clone()
    }

    proptest! {
        #[test]
        fn each_place_is_had_in_order_of_arrival_by_one_at_a_time(
            edits in prop::collection::vec(
                (prop::collection::vec(0u8..6, 0..5), 0u8..8, prop::bool::weighted(0.2)),
                1..60,
            )
        ) {
            let had = runtime().block_on(run(&edits));
            for name in 0..6 {
                let wanted = edits.iter().enumerate();
                let wanted = wanted.filter(|(_, (names, _, leaves))| names.contains(&name) && !leaves);
                let wanted: Vec<usize> = wanted.map(|(number, _)| number).collect();
                prop_assert_eq!(had.get(&name).cloned().unwrap_or_default(), wanted);
            }
        }
    }

    #[test]
    fn a_line_that_does_not_move_is_given_up_and_one_that_does_is_not() {
        runtime().block_on(async {
            let lines = Arc::new(FileLocks::default());
            let first = lines.join(vec![place(1), place(2)]);
            let second = lines.join(vec![place(1)]);
            let third = lines.join(vec![place(2), place(1), place(2)]);
            assert_eq!(first.first(Duration::ZERO).await, Ok(()));
            assert_eq!(second.first(Duration::from_millis(1)).await, Err(Stalled));
            drop(first);
            assert_eq!(third.first(Duration::from_millis(1)).await, Err(Stalled));
            drop(second);
            assert_eq!(third.first(HANG).await, Ok(()));
            drop(third);
            assert_eq!(lines.count(), 0);
        });
    }
}
