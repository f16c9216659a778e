//! What each client has been given: versions with their tags, and the lines shown of them; no tag of a path ever names two texts.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod children;
mod kept;
mod notice;
mod shown;
mod steps;
#[allow(
    clippy::disallowed_methods,
    reason = "it keeps what a session has in files of its own"
)]
mod store;
mod versions;

pub use children::{is_below, with_those_above};
pub use kept::{Keepable, KeptText, KeptTexts, Prior, hash_of};
pub use notice::{Actor, Notice};
pub use shown::{MAX_SESSIONS, Meaning, Sessions};
pub use steps::steps;
pub use store::{Artifact, Key, Label, Lookup, Material, PutArtifact, Stores, in_words};
pub use versions::{AsOf, Current, Document, Form, MovedTo, Snapshots, Version};
