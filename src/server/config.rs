//! Roots and settings, as they are at one moment.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::buffer::Overlays;
use crate::protocol::Settings;
use crate::workspace::Scope;

/// Roots and settings. Replaced as a whole, never changed.
#[derive(Debug)]
pub struct WorkspaceConfig {
    pub folders: Vec<PathBuf>,
    pub settings: Arc<Settings>,
    pub scope: Scope,
}

impl WorkspaceConfig {
    /// Does no I/O. Walks of the tree are counted in `scans`.
    pub fn new(
        folders: Vec<PathBuf>,
        settings: Settings,
        scans: &Arc<AtomicU64>,
    ) -> WorkspaceConfig {
        let settings = Arc::new(settings);
        WorkspaceConfig {
            scope: Scope::new(folders.clone(), settings.clone(), scans.clone()),
            folders,
            settings,
        }
    }

    /// The same with other folders.
    pub fn with_folders(&self, folders: Vec<PathBuf>, scans: &Arc<AtomicU64>) -> WorkspaceConfig {
        WorkspaceConfig::new(folders, Settings::clone(&self.settings), scans)
    }
}

/// Roots, settings and open documents of a client, as they were when a request came.
#[derive(Debug, Clone)]
pub struct ClientSnapshot {
    pub config: Arc<WorkspaceConfig>,
    pub overlays: Overlays,
}
