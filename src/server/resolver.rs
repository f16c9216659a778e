//! Which questions a client is being asked by `agent/resolve` (`server::resolve`), so that nobody asks twice.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use futures::future::{BoxFuture, WeakShared};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::read::ClientAnswer;

/// Questions at a time.
const PLACES: usize = 64;

/// The questions that somebody waits for; one for each session and address.
pub struct Resolver {
    pub places: Semaphore,
    pub next: AtomicU64,
    pub flights: Mutex<HashMap<(String, String), WeakFlight>>,
}

/// The same for all who wait for it, for as long as somebody does.
pub type WeakFlight = WeakShared<BoxFuture<'static, ClientAnswer>>;

impl Default for Resolver {
    fn default() -> Resolver {
        Resolver {
            places: Semaphore::new(PLACES),
            next: AtomicU64::new(0),
            flights: Mutex::default(),
        }
    }
}
