//! Protocol tests over a real process, one module per method or kind; nothing here looks inside the daemon.

mod client;
mod frames;
#[cfg(unix)]
mod lifecycle;
