//! What sessions have of their own: artifacts, agents' answers and scratch files, kept on disk for as long as the session.

use std::path::{Path, PathBuf};

use crate::workspace::UrlFolder;

/// The stores of all sessions of this process.
#[derive(Debug)]
pub struct Stores {
    /// Where they are; `None` where the process has no place for them.
    root: Option<PathBuf>,
}

impl Stores {
    /// Below this directory. Does no I/O before something is put there.
    pub fn new(root: Option<PathBuf>) -> Stores {
        Stores { root }
    }

    /// The folders of a session whose files have addresses: its own first.
    pub fn folders(&self, _session: &str) -> Vec<UrlFolder> {
        Vec::new()
    }

    /// The folder, of whatever session, that a path is in.
    pub fn folder_over(&self, path: &Path) -> Option<UrlFolder> {
        let root = self.root.as_deref()?;
        path.strip_prefix(root).ok()?;
        None
    }
}
