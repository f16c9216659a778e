//! The files beside a database (its log, the log's index, its journal); none of them is ever created, changed, or followed as a link.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::protocol::Refusal;
use crate::sqlite::ConnectMode;
use crate::worker::Readable;
use crate::workspace::{Handle, Scope, Stamp};

/// What is beside a database, as it was when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sides {
    /// `-wal`: changes that are not in the database yet.
    pub log: Option<Stamp>,
    /// `-shm`: an index of the log, shared by the programs that have it open. What it holds follows
    /// from the log, so only which file it is counts.
    pub index: Option<SideFile>,
    /// `-journal`: what was there before a change that may have been cut off.
    pub journal: Option<Stamp>,
}

/// Which file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SideFile {
    dev: u64,
    ino: u64,
}

/// Byte 18 of a database: 2 where a log is its rule (<https://www.sqlite.org/fileformat2.html>).
const FORMAT_BYTE: usize = 18;

/// How long a file must have had its stamp before the stamp proves anything: as for the warm store.
const DOUBT_NS: i128 = 2_000_000_000;

impl Sides {
    /// Looks beside an opened database. SQLite opens these files by their names, so each is judged
    /// like any path before; one that is a link is refused, whatever it leads to (SQLite itself
    /// opens them with `O_NOFOLLOW`).
    pub fn look(handle: &Handle, scope: &Scope) -> Result<Sides, Refusal> {
        Ok(Sides {
            log: beside(handle, scope, "-wal")?,
            index: beside(handle, scope, "-shm")?.map(|index| SideFile {
                dev: index.dev,
                ino: index.ino,
            }),
            journal: beside(handle, scope, "-journal")?,
        })
    }

    /// By what means the database is read. `head` is at least its first 20 bytes.
    pub fn way(&self, head: &[u8]) -> ConnectMode {
        let has_log_rule = head[FORMAT_BYTE] == 2 || head[FORMAT_BYTE + 1] == 2;
        match (self.log, self.index) {
            (Some(log), Some(_)) if log.size > 0 => ConnectMode::Shared,
            (Some(log), None) if log.size > 0 => ConnectMode::Alone,
            (Some(_), _) => ConnectMode::Fixed,
            (None, _) if has_log_rule => ConnectMode::Fixed,
            (None, _) => ConnectMode::Locked,
        }
    }

    /// The files that are there, as a worker is told of them.
    pub fn readable(&self, database: &Path) -> Vec<Readable> {
        let of = |stamp: Stamp| (stamp.dev, stamp.ino);
        let there = [
            ("-wal", self.log.map(of)),
            ("-shm", self.index.map(|index| (index.dev, index.ino))),
            ("-journal", self.journal.map(of)),
        ];
        let there = there.into_iter().filter_map(|(ending, file)| {
            let (device, inode) = file?;
            let path = name_beside(database, ending);
            Some(Readable {
                path,
                device,
                inode,
            })
        });
        there.collect()
    }

    /// Whether every later change of these files bears another stamp. They are on the file system
    /// of the database, which `handle` is.
    pub fn are_settled(&self, handle: &Handle) -> bool {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = since.map_or(0, |since| since.as_nanos() as i128);
        let settled = |stamp: Stamp| now - stamp.mtime_ns > DOUBT_NS;
        let is_told = |side: Option<Stamp>| side.is_none_or(|it| handle.is_local() && settled(it));
        is_told(self.log) && is_told(self.journal)
    }
}

fn name_beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(ending);
    name.into()
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is beside a database that was judged is only looked at"
)]
fn beside(handle: &Handle, scope: &Scope, ending: &str) -> Result<Option<Stamp>, Refusal> {
    let path = name_beside(handle.real().as_path(), ending);
    let spelled = || scope.display_of(&path);
    let metadata: Metadata = match std::fs::symlink_metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Refusal::io(spelled(), &error)),
    };
    if !metadata.is_file() {
        let what = match metadata.is_symlink() {
            true => "a symbolic link",
            false => "no file",
        };
        return Err(Refusal::NotRegular {
            path: spelled(),
            what: what.to_owned(),
        });
    }
    match scope.open(&path) {
        // SQLite, as root, gives a log to the database's owner whenever it opens it, which it then
        // is already; but the time of that change is now.
        Ok(opened) => Ok(Some(Stamp {
            ctime_ns: 0,
            ..opened.stamp()
        })),
        Err(Refusal::NotFound { .. }) => Ok(None),
        Err(Refusal::Denied { rule, .. }) => Err(Refusal::Denied {
            path: spelled(),
            rule,
        }),
        Err(refusal) => Err(refusal),
    }
}
