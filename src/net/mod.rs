//! Who may be asked over the network, and the one client that asks.
//!
//! [`Net::fetch`] takes one address through its redirects to a body. Each hop goes the same way: it is judged as a URL
//! ([`judge`]), its name is resolved and every address of it judged, a place among the few requests at once is waited for
//! ([`places`]), and a connection is made to one of the judged addresses and to nothing else ([`client`]). No connection
//! is used for a second request: what it leads to was judged for this one. The body is decoded and counted as it
//! streams ([`body`]), and what is longer than a page goes to a file of the process's own ([`spool`]).
//!
//! Everything runs on the runtime that [`Net::new`] is given, whoever polls the future; nothing here blocks it: names are
//! resolved in threads of their own ([`resolve`]), files written in tokio's. Dropping the future of a fetch ends it and
//! closes its connection.

mod body;
mod client;
mod error;
mod fetch;
mod judge;
mod patterns;
mod places;
mod proxy;
mod request;
mod resolve;
mod space;
mod spool;
mod tls;

#[cfg(test)]
mod tests;

pub use error::NetError;
pub use fetch::Net;
pub use judge::{Denied, Why, judge};
pub use request::{
    Conditional, Cut, FetchRequest, Fetched, HeaderMap, HeaderName, HeaderValue, Hop, Progress,
    Redirects,
};
pub use space::Space;
pub use spool::{Body, Spool, SpooledFile};
