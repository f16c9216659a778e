//! SQLite databases, asked in child processes; no SQLite ever runs in the process that serves.
//!
//! The daemon's half is [`Queriers`], at most eight workers of the kind `query` (see
//! [`crate::worker`]); the worker's half is [`serve`]. Each worker serves one database in one state
//! of its files: it may read these inodes and nothing else, and keeps its connection warm for as
//! long as the daemon says that nothing has changed. A statement has [`QUERY_TIME`], the values
//! and the heap have limits of their own; a worker that crashes, or does not look up in time, ends
//! alone. Which files there are, and whether an answer is still true, is the daemon's business
//! (`read/source/sqlite`).

mod ask;
#[allow(
    clippy::disallowed_methods,
    reason = "it runs in a worker, which opens what it was given"
)]
mod child;
mod condition;
mod connection;
mod failure;
mod fault;
mod forms;
mod functions;
mod job;
mod messages;
mod row;
mod rows;
mod schema;
mod values;

use std::time::Duration;

pub use ask::check_length;
pub use child::serve;
pub use connection::uri;
pub use failure::{QueryFailure, Trouble, brief, stopped};
pub use job::{Queriers, QueryJob, Reply};
pub use messages::{Answer, ConnectMode, Order, RowsAre};

/// How long a request may keep a database at work, and the part of it for counting rows.
pub const QUERY_TIME: Duration = Duration::from_secs(5);
const COUNT_TIME: Duration = Duration::from_secs(2);

/// How long another program's lock is waited for (seed 000, SQLite).
const LOCK_WAIT: Duration = Duration::from_secs(3);
