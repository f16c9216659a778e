//! The addresses of names, asked of the system in threads of our own: a resolver that hangs keeps as many of them as there are
//! places, and nothing else.

use std::fmt::Debug;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{Semaphore, oneshot};

/// Names that are resolved at once.
const AT_ONCE: usize = 16;

/// Addresses of a name that count. One more would be one that nobody judged.
const MOST_ADDRESSES: usize = 64;

/// Why there is no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoAddress {
    /// The resolver says so.
    NotFound,
    /// It could not be asked, or has no answer now.
    Unanswered,
    TooMany,
}

/// What names are resolved by. Whoever waits has a limit for it; a lookup goes on when nobody waits any more.
pub(super) trait Resolver: Debug + Send + Sync {
    fn addresses(&self, name: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, NoAddress>>;
}

/// The system's resolver, hosts file and all.
#[derive(Debug)]
pub(super) struct SystemResolver {
    places: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> SystemResolver {
        SystemResolver {
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Resolver for SystemResolver {
    fn addresses(&self, name: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, NoAddress>> {
        let places = self.places.clone();
        let name = name.to_owned();
        async move {
            let place = places.acquire_owned().await;
            let place = place.map_err(|_| NoAddress::Unanswered)?;
            let (tell, told) = oneshot::channel();
            let thread = std::thread::Builder::new().name("pilcrow-names".to_owned());
            let started = thread.spawn(move || {
                let _ = tell.send(asked(&name));
                drop(place);
            });
            started.map_err(|_| NoAddress::Unanswered)?;
            told.await.map_err(|_| NoAddress::Unanswered)?
        }
        .boxed()
    }
}

/// Asks the system; waits for as long as it takes.
fn asked(name: &str) -> Result<Vec<IpAddr>, NoAddress> {
    // The library keeps the system's words and drops its code; these are the C libraries' of EAI_AGAIN.
    let found = (name, 0).to_socket_addrs().map_err(|error| {
        let text = error.to_string().to_lowercase();
        match text.contains("temporary") || text.contains("try again") {
            true => NoAddress::Unanswered,
            false => NoAddress::NotFound,
        }
    })?;
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found.map(|socket| socket.ip()) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    match addresses.len() {
        0 => Err(NoAddress::NotFound),
        count if count > MOST_ADDRESSES => Err(NoAddress::TooMany),
        _ => Ok(addresses),
    }
}
