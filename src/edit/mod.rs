//! Edits: planned against a version, then committed by the one writer of each file; nothing is written before everything is planned.

mod beside;
mod bytes;
mod cells;
mod commit;
pub mod disk;
mod faults;
mod job;
mod judge;
mod live;
mod no_ops;
mod outdated;
mod plan;
mod record;
mod refuse;
mod reply;
mod request;
mod target;
mod write;

pub use faults::{Fault, Faults};
pub use job::{Begun, Change, Found, Job, Part, Seen, partly};
pub use live::{EditorCan, Home, Live, Means, Wanted};
pub use no_ops::NoOps;
pub use outdated::declined;
pub use plan::{Planned, Planner};
pub use request::{EditRequest, Patch};
pub use target::{Named, find, name_places};
pub use write::WriteRequest;
