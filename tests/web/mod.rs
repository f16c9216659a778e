//! Web addresses over the wire, asked of servers of the test's own: `server` is polite, `hostile` is not, `proxy` stands between.

#[allow(dead_code, reason = "unit tests of `net` share it")]
pub mod hostile;
#[allow(dead_code, reason = "unit tests of `net` share it")]
pub mod proxy;
#[allow(dead_code, reason = "unit tests of `net` share it")]
pub mod server;
#[allow(dead_code, reason = "unit tests of `net` share it")]
pub mod tls;

mod asked;
mod fetching;
mod files;
mod guesses;
mod judge;
mod names;
mod nginx;
mod pages;
mod reading_on;
mod shown;
mod sites;
