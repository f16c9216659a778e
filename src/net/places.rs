//! Who may send a request now: six for a host and sixteen in all, the others in the order in which they came.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Requests at once to one host.
const OF_A_HOST: usize = 6;

/// Requests at once in all.
const IN_ALL: usize = 16;

/// Requests that may wait.
const MOST_WAITING: usize = 1024;

/// Clones share the places.
#[derive(Debug, Clone, Default)]
pub(super) struct Places(Arc<Mutex<Taken>>);

#[derive(Debug, Default)]
struct Taken {
    in_all: usize,
    of_host: HashMap<String, usize>,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    host: String,
    granted: oneshot::Sender<RequestPlace>,
}

/// A place, free again when this is dropped.
#[derive(Debug)]
pub(super) struct RequestPlace {
    places: Places,
    host: String,
}

/// So many wait already that one more would wait in vain.
#[derive(Debug, PartialEq)]
pub(super) struct TooMany;

impl Places {
    /// Waits for a place, behind those that wait for the same host or for any. Whoever calls it has a limit for it.
    pub(super) async fn take(&self, host: &str) -> Result<RequestPlace, TooMany> {
        let granted = {
            let mut taken = self.0.lock();
            if taken.waiting.len() >= MOST_WAITING {
                return Err(TooMany);
            }
            let (granted, place) = oneshot::channel();
            taken.waiting.push_back(Waiting {
                host: host.to_owned(),
                granted,
            });
            place
        };
        self.hand_out();
        // The sender is only dropped with the whole queue, which `self` holds.
        granted.await.map_err(|_| TooMany)
    }

    /// Gives free places to those that wait, in their order. Whoever waits for a busy host holds up nobody else.
    fn hand_out(&self) {
        loop {
            let (waiting, place) = {
                let mut taken = self.0.lock();
                // Those whose wait was called off.
                taken.waiting.retain(|waiting| !waiting.granted.is_closed());
                if taken.in_all >= IN_ALL {
                    return;
                }
                let taken = &mut *taken;
                let of_host = &taken.of_host;
                let is_free = |waiting: &Waiting| {
                    of_host.get(&waiting.host).copied().unwrap_or(0) < OF_A_HOST
                };
                let Some(next) = taken.waiting.iter().position(is_free) else {
                    return;
                };
                let Some(waiting) = taken.waiting.remove(next) else {
                    return;
                };
                taken.in_all += 1;
                *taken.of_host.entry(waiting.host.clone()).or_default() += 1;
                let place = RequestPlace {
                    places: self.clone(),
                    host: waiting.host,
                };
                (waiting.granted, place)
            };
            // With no lock held: a place that nobody takes any more is dropped here, and handed out again.
            drop(waiting.send(place));
        }
    }
}

impl Drop for RequestPlace {
    fn drop(&mut self) {
        {
            let mut taken = self.places.0.lock();
            taken.in_all -= 1;
            if let Some(count) = taken.of_host.get_mut(&self.host) {
                *count -= 1;
                if *count == 0 {
                    taken.of_host.remove(&self.host);
                }
            }
        }
        self.places.hand_out();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::BoxFuture;

    use super::*;

    fn take(
        places: &Places,
        host: &'static str,
    ) -> BoxFuture<'static, Result<RequestPlace, TooMany>> {
        let places = places.clone();
        async move { places.take(host).await }.boxed()
    }

    fn here(
        waiting: &mut BoxFuture<'static, Result<RequestPlace, TooMany>>,
    ) -> Option<RequestPlace> {
        waiting.now_or_never().map(|place| place.expect("a place"))
    }

    #[test]
    fn six_of_a_host_and_the_others_in_order() {
        let places = Places::default();
        let mut held: Vec<RequestPlace> = (0..6)
            .map(|_| here(&mut take(&places, "a")).expect("a place"))
            .collect();
        let mut seventh = take(&places, "a");
        let mut eighth = take(&places, "a");
        assert!(here(&mut seventh).is_none() && here(&mut eighth).is_none());
        // Another host is not held up.
        let other = here(&mut take(&places, "b")).expect("a place");
        held.pop();
        assert!(here(&mut eighth).is_none());
        let seventh = here(&mut seventh).expect("it was first");
        drop(seventh);
        assert!(here(&mut eighth).is_some());
        drop((held, other));
        let taken = places.0.lock();
        assert!(taken.in_all == 0 && taken.of_host.is_empty() && taken.waiting.is_empty());
    }

    #[test]
    fn sixteen_in_all_and_a_wait_that_is_called_off_costs_nothing() {
        const HOSTS: [&str; 4] = ["a", "b", "c", "d"];
        let places = Places::default();
        let mut held: Vec<RequestPlace> = (0..IN_ALL)
            .map(|number| here(&mut take(&places, HOSTS[number % 4])).expect("a place"))
            .collect();
        let mut gone = take(&places, "e");
        let mut next = take(&places, "f");
        assert!(here(&mut gone).is_none() && here(&mut next).is_none());
        drop(gone);
        held.pop();
        let next = here(&mut next).expect("the one before does not wait any more");
        // Granted and never looked at: the place is not lost.
        let mut unseen = take(&places, "e");
        assert!(here(&mut unseen).is_none());
        drop(next);
        drop(unseen);
        assert!(here(&mut take(&places, "e")).is_some());
        drop(held);
        assert_eq!(places.0.lock().in_all, 0);
    }

    #[test]
    fn the_queue_has_an_end() {
        let places = Places::default();
        let _held: Vec<RequestPlace> = (0..6)
            .map(|_| here(&mut take(&places, "a")).expect("a place"))
            .collect();
        let mut waiting: Vec<_> = (0..MOST_WAITING).map(|_| take(&places, "a")).collect();
        for one in &mut waiting {
            assert!(here(one).is_none());
        }
        assert_eq!(
            take(&places, "a")
                .now_or_never()
                .map(|place| place.is_err()),
            Some(true)
        );
    }
}
