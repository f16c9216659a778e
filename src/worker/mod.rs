//! Child processes for what may not run in the process that serves: parsers of other people's files.
//!
//! A worker is this same program (its hidden command `worker KIND`) at the other end of a socket,
//! with an empty environment and nothing else open. Before it reads its first byte it confines
//! itself ([`confine`]): no file but those that it was started for ([`Readable`]), no network, no
//! other process. [`Workers`] is the parent's half:
//! a bounded number of them, started when they are needed and replaced when they die. Between the
//! two go length-prefixed frames ([`wire`]). What a worker does wrong (crash, spin, leak, lie
//! about lengths) costs the one answer that it was at. What is asked and answered is the business
//! of the kind: `convert` for documents and pictures, `query` for databases, `syntax` for source
//! files.

#![warn(missing_docs)]

mod call;
pub mod child;
mod confine;
mod limits;
#[cfg(any(feature = "failpoints", debug_assertions))]
mod misbehave;
mod pool;
#[cfg(any(feature = "failpoints", debug_assertions))]
mod probe;
mod process;
mod readable;
mod stop;
mod wire;

pub use call::{Input, WorkerCall};
pub use child::WorkerLoop;
pub use confine::Without;
pub use limits::WorkerLimits;
pub use pool::{Choice, Workers};
#[cfg(any(feature = "failpoints", debug_assertions))]
pub use probe::probe;
pub use readable::Readable;
pub use stop::{Death, Stop};
