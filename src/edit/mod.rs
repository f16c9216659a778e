//! Edits: planned against a version, then committed by the one writer of each file; nothing is written before everything is planned.

mod commit;
pub mod disk;
mod live;
mod no_ops;
mod outdated;
mod plan;
mod record;
mod refuse;
mod reply;
mod request;
mod target;

pub use commit::{look, parse_warning, record_disk, record_seen};
pub use live::{EditorCan, Home, Live, Means};
pub use no_ops::NoOps;
pub use plan::{Planned, Planner};
pub use record::{Recorded, record};
pub use reply::{Done, Outcome, changed_since, reply};
pub use request::{EditRequest, Patch};
pub use target::{Named, name_places};
