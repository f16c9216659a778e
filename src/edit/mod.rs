//! Edits: planned against a version, then committed by the one writer of each file; nothing is written before everything is planned.

mod applied;
mod blocks;
mod bytes;
mod cells;
mod commit;
mod deferred;
mod deleted;
#[allow(clippy::disallowed_methods, reason = "the one writer of files")]
pub mod disk;
mod faults;
mod finished;
mod gone;
mod hunks;
mod job;
mod judge;
mod live;
mod moved;
mod names;
mod no_ops;
mod outdated;
mod plan;
mod planned;
mod planned_name;
mod record;
mod refuse;
mod renamed;
mod reply;
mod request;
mod sent_again;
mod target;
mod undo;
mod undo_log;
mod write;

pub use applied::{Applied, Made, Request};
pub use deleted::DeletedFiles;
pub use faults::{Fault, Faults};
pub use finished::{EditAnswer, Finished, Followed};
pub use job::{Begun, Change, Job, Part, Plan, partly};
pub use live::{EditContext, LiveDocument, Owner, WantedForm};
pub use no_ops::NoOps;
pub use outdated::declined;
pub use planned::{Planned, Planner, Plans};
pub use request::{EditRequest, Patch, flag};
pub use target::{FoundFiles, Named, name_places};
pub use undo_log::UndoLog;
pub use write::WriteRequest;
