//! What stands beside a file of a store that outlives its process: enough to find it again.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::places::write_small;

/// Beside each file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    /// Of an agent's answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) mime_type: Option<String>,
    pub(super) terminal: bool,
    pub(super) text: bool,
    pub(super) spilled: bool,
    /// Seconds since the epoch.
    pub(super) written_at: u64,
}

/// In the directory of a session: `session.json`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct SessionRecord {
    pub(super) session: String,
    /// The number that is given next.
    pub(super) next: u64,
}

impl Record {
    pub(super) fn written_at(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.written_at)
    }

    /// Where it is, of a file.
    pub(super) fn place(path: &Path) -> PathBuf {
        path.with_extension(format!(
            "{}.about.json",
            path.extension().unwrap_or_default().to_string_lossy()
        ))
    }

    pub(super) fn write(&self, path: &Path) -> std::io::Result<()> {
        let json = serde_json::to_vec(self).map_err(std::io::Error::other)?;
        write_small(&Record::place(path), &json)
    }

    pub(super) fn read(path: &Path) -> Option<Record> {
        let bytes = std::fs::read(Record::place(path)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

impl SessionRecord {
    const NAME: &str = "session.json";

    pub(super) fn write(&self, directory: &Path) -> std::io::Result<()> {
        let json = serde_json::to_vec(self).map_err(std::io::Error::other)?;
        write_small(&directory.join(SessionRecord::NAME), &json)
    }

    pub(super) fn read(directory: &Path) -> Option<SessionRecord> {
        let bytes = std::fs::read(directory.join(SessionRecord::NAME)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}
