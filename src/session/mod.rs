//! What each client has been given: versions with their tags, and the lines shown of them; no tag of a path ever names two texts.

mod shown;
mod versions;

pub use shown::{MAX_SESSIONS, Sessions};
pub use versions::{Document, Form, SnapshotStatus, Snapshots, Version};
