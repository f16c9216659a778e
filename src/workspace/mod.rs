//! Roots, path resolution and access; nothing else ever opens a path of the user's.
//!
//! A path string becomes a [`Handle`] in two steps: `resolve` finds what may be meant, `access`
//! opens it and judges the file that was opened. A name without a handle is never read.
//!
//! What cannot be seen here: a hard link to a denied file is a name of its own, with its own real
//! path, and is judged by that.

#![warn(missing_docs)]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod access;
mod device;
mod entries;
mod file_system;
mod folder;
mod handle;
mod ignore_files;
mod job_scope;
mod listed;
mod listings;
mod mounts;
mod names;
mod near_names;
mod new_place;
mod noise;
mod patterns;
mod project;
mod resolve;
mod resource_id;
mod roots;
mod scope_folders;
mod seen;
mod spelling;
mod state;
mod steps;
mod suffix;
mod suggest;
mod tree;
mod url_folder;
mod user_places;
mod variants;
mod whose;

#[cfg(test)]
mod tests;

pub use access::where_it_leads;
pub use entries::{Directory, Entries, Entry, EntryKind, ListError};
pub use folder::Folder;
pub use handle::{FileType, Handle, RealPath, Stamp, now_ns};
pub use mounts::Mount;
pub use near_names::measure;
pub use new_place::{LinkPlace, NewPlace, TakenBy, TakenPlace};
pub use project::{current_project, is_project, may_be_folder};
pub use resolve::{At, Found, Look, Scope, Via};
pub use resource_id::{InternalUrl, ResourceId};
pub use roots::{Root, Roots};
pub use seen::Seen;
pub use spelling::{MAX_PATH_BYTES, decode_file_uri, is_too_long, percent_decoded};
pub use state::{
    cache_directory, sessions_directory, spool_directory, state_directory, user_directory,
};
pub use tree::{TreeEntry, TreeFolder};
pub use url_folder::{UrlFolder, bytes_below, decoded_file_part, encoded};
pub use user_places::{UserPlace, path_of_settings, user_place};
pub use whose::Whose;

use crate::protocol::Refusal;
use crate::task::Stopped;

impl From<Stopped> for Refusal {
    fn from(stopped: Stopped) -> Refusal {
        match stopped {
            Stopped::Cancelled => Refusal::Cancelled,
            Stopped::Panicked => Refusal::Internal,
            Stopped::TimedOut => Refusal::Timeout {
                path: None,
                message: "The request took too long and was stopped. Ask for less, or again later."
                    .to_owned(),
            },
        }
    }
}
