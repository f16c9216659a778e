//! What watchers tell, and what is said where there is none.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What was seen in a watched directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The file of that name has other content or metadata.
    Changed(PathBuf),
    /// The name came, went, or leads elsewhere, and with it all that is below it: the rename of a
    /// directory does not list its children.
    Replaced(PathBuf),
    /// Events were lost: anything may have changed.
    Lost,
}

/// Why a directory is not watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwatchable {
    /// The system gives no more watches, or no watcher at all; with its words.
    Exhausted(String),
    /// This directory only: it is gone, or cannot be watched.
    Here,
}

/// Takes events on the watcher's own thread; must be quick.
pub type Sink = Box<dyn Fn(Event) + Send>;

/// Something that watches directories, without what is in their subdirectories.
pub trait DirectoryWatcher: Send {
    /// Errors when the directory is not watched now.
    fn watch(&mut self, directory: &Path) -> Result<(), Unwatchable>;
    /// What is not watched may be unwatched.
    fn unwatch(&mut self, directory: &Path);
}

pub(super) fn exhausted(words: &str) -> Unwatchable {
    Unwatchable::Exhausted(format!(
        "No file watcher can be had ({words}); every read still looks at the file itself."
    ))
}

/// What is said where the system gives no more watches.
pub(super) fn no_watch_left() -> Unwatchable {
    Unwatchable::Exhausted(
        "The system's limit of file watches is reached (on Linux fs.inotify.max_user_watches); every read still looks at the file itself."
            .to_owned(),
    )
}

/// Whether a name is that of a temporary of our own (`hashline.md`, Writing), which nobody reads.
pub(super) fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| name.starts_with('.') && name.contains(".pilcrow-"))
}
