//! The order of what is put away for sessions: a read that was sent after a put sees it, and a session that is closed has nothing left.
//!
//! Whoever comes takes a place behind those that came before for the same session, or for one above
//! it, in `begin`; nobody waits for what came later.

use std::collections::HashMap;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, join_all};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::session::{is_below, with_those_above};

/// Resolves when somebody is done, however it ended.
type DoneSignal = Shared<BoxFuture<'static, ()>>;

/// Sessions of which the last one may be remembered though it is done.
const MAX_DONE: usize = 64;

/// Who came last, by session.
#[derive(Debug, Default)]
pub struct Puts {
    last: Mutex<HashMap<String, DoneSignal>>,
}

/// A place in the order. Who comes later goes on when it is dropped.
#[derive(Debug)]
pub struct PutTurn {
    before: Vec<DoneSignal>,
    _done: Option<oneshot::Sender<()>>,
}

impl Puts {
    /// Of who puts something there, or edits a scratch file.
    pub fn begin_put(&self, session: &str) -> PutTurn {
        let mut last = self.last.lock();
        let before = above(&last, session);
        let (tell, done) = done();
        if last.len() > MAX_DONE {
            last.retain(|_, done| done.peek().is_none());
        }
        last.insert(session.to_owned(), done);
        PutTurn {
            before,
            _done: Some(tell),
        }
    }

    /// Of who closes a session with its children.
    pub fn begin_close(&self, session: &str) -> PutTurn {
        let mut last = self.last.lock();
        let mut before = above(&last, session);
        let (tell, done) = done();
        for (_, of) in last.iter_mut().filter(|(name, _)| is_below(name, session)) {
            before.push(std::mem::replace(of, done.clone()));
        }
        last.insert(session.to_owned(), done);
        PutTurn {
            before,
            _done: Some(tell),
        }
    }

    /// Of who reads; what is in no store waits for nobody.
    pub fn begin_read(&self, session: &str, is_of_store: bool) -> PutTurn {
        let before = match is_of_store {
            true => above(&self.last.lock(), session),
            false => Vec::new(),
        };
        PutTurn {
            before,
            _done: None,
        }
    }
}

impl PutTurn {
    /// Waits until those before are done. Each of them has a limit of its own.
    pub async fn come(&mut self) {
        join_all(self.before.drain(..)).await;
    }
}

fn above(last: &HashMap<String, DoneSignal>, session: &str) -> Vec<DoneSignal> {
    let last = with_those_above(session).filter_map(|name| last.get(name));
    last.filter(|done| done.peek().is_none()).cloned().collect()
}

fn done() -> (oneshot::Sender<()>, DoneSignal) {
    let (tell, told) = oneshot::channel();
    let done = told.map(|_: Result<(), oneshot::error::RecvError>| ());
    (tell, done.boxed().shared())
}
