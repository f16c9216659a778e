//! The requests that have begun and are not answered: how many there may be, which ids they have,
//! and how each is cancelled.
//!
//! A full table holds reading up for one short wait, so that clients which pipeline
//! thousands of quick requests are paced and not refused.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;
use tower_lsp::jsonrpc::Id;

use crate::task::CancelToken;

/// Answers to so many requests do not come by the dozen.
const FEW: usize = 3;

/// Who has been in flight for longer waits for somebody (a server, an editor), and its answer will not
/// come with the others.
const SOON: Duration = Duration::from_millis(100);

/// The table of one client.
#[derive(Debug)]
pub struct InFlight {
    limit: usize,
    /// How long the reader waits for a place before it refuses. Stuck requests cost it once, not once
    /// for each refusal.
    patience: Duration,
    table: Mutex<InFlightTable>,
    freed: Condvar,
    idle: Notify,
}

#[derive(Debug)]
struct InFlightTable {
    begun: HashMap<Id, Begun>,
    /// So many have given their place back, and their answers are not handed in yet.
    answering: usize,
    /// False after a wait that was in vain, until something has finished.
    patient: bool,
}

#[derive(Debug)]
struct Begun {
    at: Instant,
    cancel: CancelToken,
}

impl InFlightTable {
    /// Whether few answers are to come soon.
    fn has_few(&self) -> bool {
        if self.begun.len() <= FEW {
            return true;
        }
        let now = Instant::now();
        let soon = |it: &&Begun| now.duration_since(it.at) < SOON;
        self.begun.values().filter(soon).nth(FEW).is_none()
    }

    fn is_idle(&self) -> bool {
        self.begun.is_empty() && self.answering == 0
    }
}

/// The place of one request in flight.
#[derive(Debug)]
pub struct InFlightRequest {
    table: Arc<InFlight>,
    id: Id,
    cancel: CancelToken,
}

/// An answer that is being handed in; the end waits for it until this is dropped.
#[derive(Debug)]
pub struct Answering {
    table: Arc<InFlight>,
    id: Id,
    is_among_few: bool,
}

/// Why a request does not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    /// As many as may be are in flight.
    Full,
    /// Another one of this id is.
    IdInUse,
}

impl InFlight {
    /// A table that lets `limit` requests in, and has one more wait for so long.
    pub fn new(limit: usize, patience: Duration) -> Arc<InFlight> {
        Arc::new(InFlight {
            limit,
            patience,
            table: Mutex::new(InFlightTable {
                begun: HashMap::new(),
                answering: 0,
                patient: true,
            }),
            freed: Condvar::new(),
            idle: Notify::new(),
        })
    }

    /// A place for the request of this id. Called by who reads, and by nobody else.
    pub fn enter(self: &Arc<InFlight>, id: &Id) -> Result<InFlightRequest, NoPlace> {
        let mut table = self.table.lock();
        if table.begun.len() >= self.limit && table.patient {
            let deadline = Instant::now() + self.patience;
            let full = |table: &mut InFlightTable| table.begun.len() >= self.limit;
            let waited = self.freed.wait_while_until(&mut table, full, deadline);
            table.patient = !waited.timed_out();
        }
        if table.begun.contains_key(id) {
            return Err(NoPlace::IdInUse);
        }
        if table.begun.len() >= self.limit {
            return Err(NoPlace::Full);
        }
        let cancel = CancelToken::new();
        let begun = Begun {
            at: Instant::now(),
            cancel: cancel.clone(),
        };
        table.begun.insert(id.clone(), begun);
        Ok(InFlightRequest {
            table: self.clone(),
            id: id.clone(),
            cancel,
        })
    }

    /// Cancels the request of this id. It may come too late, and then it is not heard.
    pub fn cancel(&self, id: &Id) {
        let token = |it: &Begun| it.cancel.clone();
        let token = self.table.lock().begun.get(id).map(token);
        if let Some(token) = token {
            token.cancel();
        }
    }

    /// Cancels everything that can still be called off.
    pub fn cancel_all(&self) {
        let token = |it: &Begun| it.cancel.clone();
        let tokens: Vec<CancelToken> = self.table.lock().begun.values().map(token).collect();
        for token in tokens {
            token.cancel();
        }
    }

    /// Waits until nothing is in flight and every answer is handed in. Called by one task only.
    pub async fn idle(&self) {
        while !self.table.lock().is_idle() {
            // A permit left over from before costs one more look.
            self.idle.notified().await;
        }
    }
}

impl InFlightRequest {
    /// Is cancelled when the client says so.
    pub fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// Gives the place back, before the answer can be seen: whoever has read it may at once use
    /// the id again, and finds the place free.
    pub fn give_back(self) -> Answering {
        let mut table = self.table.table.lock();
        let is_among_few = table.has_few();
        table.begun.remove(&self.id);
        table.answering += 1;
        table.patient = true;
        self.table.freed.notify_one();
        drop(table);
        Answering {
            table: self.table,
            id: self.id,
            is_among_few,
        }
    }
}

impl Answering {
    /// Of the request, as the client numbered it.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// Whether hardly any other answer is to be expected now.
    pub fn is_among_few(&self) -> bool {
        self.is_among_few
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut table = self.table.table.lock();
        table.answering -= 1;
        if table.is_idle() {
            self.table.idle.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(100);

    #[test]
    fn waits_once_and_again_only_after_something_finished() {
        let table = InFlight::new(2, PATIENCE);
        let enter = |id: i64| table.enter(&Id::Number(id));
        let first = enter(1);
        let _second = enter(2);
        assert!(first.is_ok());
        let begun = Instant::now();
        for _ in 0..1000 {
            assert_eq!(enter(3).err(), Some(NoPlace::Full));
        }
        assert!(begun.elapsed() >= PATIENCE);
        assert!(!table.table.lock().patient);
        drop(first.map(InFlightRequest::give_back));
        assert!(table.table.lock().patient);
        let third = enter(3);
        assert!(third.is_ok());
        let freeing = std::thread::spawn(move || drop(third.map(InFlightRequest::give_back)));
        // Either it is free already or the wait ends with it: the thread only has to get its turn.
        while enter(4).is_err() {}
        assert!(freeing.join().is_ok());
    }

    #[test]
    fn an_id_is_one_requests_until_it_is_answered() {
        let table = InFlight::new(2, PATIENCE);
        let id = Id::String("a".to_owned());
        let place = table.enter(&id).expect("there is room");
        assert_eq!(table.enter(&id).err(), Some(NoPlace::IdInUse));
        table.cancel(&Id::Number(1));
        assert!(!place.cancel().is_cancelled());
        table.cancel(&id);
        assert!(place.cancel().is_cancelled());
        let answering = place.give_back();
        let again = table.enter(&id).expect("it is free");
        assert!(!again.cancel().is_cancelled());
        drop(again.give_back());
        assert!(!table.table.lock().is_idle());
        drop(answering);
        assert!(table.table.lock().is_idle());
    }
}
