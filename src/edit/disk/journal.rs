//! The journal of one write: what it makes, written down before it is made; a journal is only added to until all that it says is gone.
//!
//! A journal must outlive the process and not a power cut, so it is not flushed, which would cost as
//! much as the write itself; only for a file that is overwritten it is. Its lock is held for as
//! long as its process lives, and the system drops the lock of one that dies.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use super::content::Planned;
use super::error::{FileError, step};
use super::metadata::Inode;
use super::state::{JournalFile, Room, StateDirectory, sync_parent};
use super::write_step::WriteStep;

/// The first field of every journal; another one is of another version, and left alone.
const VERSION: &str = "pilcrow write 1";

/// What a journal begins with, and all that an idle one holds.
const HEADER: &[u8] = b"pilcrow write 1\0";

/// One thing that is about to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JournalEntry {
    /// A temporary beside `target`, which is to hold `new`; `old` is what `target` holds.
    Temporary {
        path: PathBuf,
        target: PathBuf,
        old: Option<Planned>,
        new: Planned,
    },
    /// The temporary was not made after all: somebody else's file has that name.
    NotMade { path: PathBuf },
    /// A directory that was not there.
    Directory { path: PathBuf },
    /// A file that is overwritten; the state file `copy` holds the old bytes and then the new ones.
    Overwritten {
        path: PathBuf,
        copy: String,
        old: Planned,
        new: Planned,
    },
    /// What is at `path` is to be at `to`, without anything else done to it.
    Moved {
        path: PathBuf,
        to: PathBuf,
        inode: Inode,
    },
    /// The same, and it goes when all of the write is done.
    Deleted {
        path: PathBuf,
        to: PathBuf,
        inode: Inode,
    },
}

/// A number that no other write or temporary of this process has.
pub(super) fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// The journal of a write that is under way.
#[derive(Debug)]
pub(super) struct Journal {
    state: Arc<StateDirectory>,
    /// There until it ends.
    open: Option<JournalFile>,
}

impl Journal {
    /// Begins a journal, and locks it.
    pub(super) fn begin(state: &Arc<StateDirectory>) -> Result<Journal, FileError> {
        let open = step(WriteStep::Note, || match state.take_idle_journal() {
            Some(idle) => Ok(idle),
            None => make(state),
        })?;
        Ok(Journal {
            state: state.clone(),
            open: Some(open),
        })
    }

    fn open(&mut self) -> io::Result<&mut JournalFile> {
        self.open.as_mut().ok_or(io::ErrorKind::NotFound.into())
    }

    /// Adds what is about to be done.
    pub(super) fn add(&mut self, entry: &JournalEntry) -> Result<(), FileError> {
        let bytes = entry.to_bytes();
        step(WriteStep::Note, || self.open()?.file.write_all(&bytes))
    }

    /// Makes the journal outlive a power cut too.
    pub(super) fn sync(&mut self) -> Result<(), FileError> {
        step(WriteStep::Sync, || {
            let open = self.open()?;
            open.file.sync_all()?;
            sync_parent(&open.path)
        })
    }

    /// To be called when nothing that it says is left.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let spare = match open.file.set_len(HEADER.len() as u64) {
            Ok(()) => self.state.keep_idle_journal(open),
            Err(_) => Some(open),
        };
        spare.map_or(Ok(()), |open| std::fs::remove_file(&open.path))
    }
}

/// Makes a journal that says nothing yet, and locks it.
fn make(state: &StateDirectory) -> io::Result<JournalFile> {
    let (mut file, path) = loop {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::APPEND;
        match state.open(Room::Journals, &name_of_write(next_number()), flags) {
            // Of a process with our number in another container.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => break opened?,
        }
    };
    let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
    let begun = locked
        .map_err(io::Error::from)
        .and_then(|()| file.write_all(HEADER));
    match begun {
        Ok(()) => Ok(JournalFile { file, path }),
        Err(error) => {
            // Nothing was noted yet, so nothing is lost with it.
            let _ = std::fs::remove_file(&path);
            Err(error)
        }
    }
}

impl JournalEntry {
    fn to_bytes(&self) -> Vec<u8> {
        let digest = |planned: &Planned| planned.to_string().into_bytes();
        let path = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let fields = match self {
            JournalEntry::Temporary {
                path: at,
                target,
                old,
                new,
            } => vec![
                b"temporary".to_vec(),
                path(at),
                path(target),
                old.as_ref().map(digest).unwrap_or_default(),
                digest(new),
            ],
            JournalEntry::NotMade { path: at } => vec![b"not made".to_vec(), path(at)],
            JournalEntry::Directory { path: at } => vec![b"directory".to_vec(), path(at)],
            JournalEntry::Overwritten {
                path: at,
                copy,
                old,
                new,
            } => vec![
                b"overwritten".to_vec(),
                path(at),
                copy.clone().into_bytes(),
                digest(old),
                digest(new),
            ],
            JournalEntry::Moved {
                path: at,
                to,
                inode,
            } => vec![b"moved".to_vec(), path(at), path(to), written(*inode)],
            JournalEntry::Deleted {
                path: at,
                to,
                inode,
            } => vec![b"deleted".to_vec(), path(at), path(to), written(*inode)],
        };
        let mut bytes = Vec::new();
        for field in fields {
            bytes.extend_from_slice(&field);
            bytes.push(0);
        }
        bytes
    }

    /// Reads one entry; `None` at the end, which may be in the middle of one: what it was about
    /// was not done then.
    fn read<'a>(fields: &mut impl Iterator<Item = &'a [u8]>) -> Option<JournalEntry> {
        let path = |field: &[u8]| PathBuf::from(OsStr::from_bytes(field));
        let kind = fields.next()?;
        let at = path(fields.next()?);
        Some(match kind {
            b"temporary" => JournalEntry::Temporary {
                path: at,
                target: path(fields.next()?),
                old: Planned::parse(fields.next()?),
                new: Planned::parse(fields.next()?)?,
            },
            b"not made" => JournalEntry::NotMade { path: at },
            b"directory" => JournalEntry::Directory { path: at },
            b"overwritten" => JournalEntry::Overwritten {
                path: at,
                copy: String::from_utf8(fields.next()?.to_vec()).ok()?,
                old: Planned::parse(fields.next()?)?,
                new: Planned::parse(fields.next()?)?,
            },
            b"moved" => JournalEntry::Moved {
                path: at,
                to: path(fields.next()?),
                inode: read_inode(fields.next()?)?,
            },
            b"deleted" => JournalEntry::Deleted {
                path: at,
                to: path(fields.next()?),
                inode: read_inode(fields.next()?)?,
            },
            _ => return None,
        })
    }
}

fn written((device, number): Inode) -> Vec<u8> {
    format!("{device} {number}").into_bytes()
}

fn read_inode(field: &[u8]) -> Option<Inode> {
    let (device, number) = std::str::from_utf8(field).ok()?.split_once(' ')?;
    Some((device.parse().ok()?, number.parse().ok()?))
}

/// The entries of a journal's bytes, in order; `None` for a journal of another version.
pub(super) fn read_entries(bytes: &[u8]) -> Option<Vec<JournalEntry>> {
    // What follows the last NUL is a field that was not wholly written.
    let whole = bytes.iter().rposition(|byte| *byte == 0).unwrap_or(0);
    let mut fields = bytes[..whole].split(|byte| *byte == 0);
    let version = fields.next()?;
    if version != VERSION.as_bytes() {
        // One that was cut off in its first field holds nothing.
        return VERSION.as_bytes().starts_with(bytes).then(Vec::new);
    }
    Some(std::iter::from_fn(|| JournalEntry::read(&mut fields)).collect())
}

/// A process, told from others that had its number before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WriterProcess {
    pub(super) process: u32,
    /// In clock ticks since the system began; 0 where that cannot be known.
    started: u64,
}

impl WriterProcess {
    /// This process.
    fn this() -> WriterProcess {
        static STARTED: OnceLock<u64> = OnceLock::new();
        let process = std::process::id();
        WriterProcess {
            process,
            started: *STARTED.get_or_init(|| started(process).unwrap_or(0)),
        }
    }

    /// Whose journal has this name; `None` for what is no journal.
    pub(super) fn of_journal(path: &Path) -> Option<WriterProcess> {
        let name = path.file_name()?.to_str()?;
        let mut parts = name.split('-').map(str::parse::<u64>);
        let mut part = || parts.next()?.ok();
        let (process, started) = (part()?, part()?);
        part()?;
        Some(WriterProcess {
            process: process.try_into().ok()?,
            started,
        })
    }

    /// Whether it lives, as far as can be seen from here: not from another container.
    pub(super) fn is_alive(&self) -> bool {
        match started(self.process) {
            Some(started) => started == self.started,
            None if cfg!(target_os = "linux") => false,
            None => is_a_process(self.process),
        }
    }
}

/// A name in the state directory that only this process uses.
pub(super) fn name_of_write(number: u64) -> String {
    let WriterProcess { process, started } = WriterProcess::this();
    format!("{process}-{started}-{number}")
}

fn is_a_process(process: u32) -> bool {
    let id = i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    id.is_some_and(|id| rustix::process::test_kill_process(id) != Err(Errno::SRCH))
}

/// When a process began; `None` for one that is dead, though nobody asked after it yet.
///
/// proc_pid_stat(5): the name, in parentheses, may hold anything; the third field is the state,
/// the 22nd the start.
fn started(process: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    let after_name = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[after_name + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.nth(18)?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<JournalEntry> {
        let (old, new) = (Planned::of(b"old"), Planned::of(b"new"));
        let path = |text: &[u8]| PathBuf::from(OsStr::from_bytes(text));
        vec![
            JournalEntry::Directory {
                path: path(b"/w/d"),
            },
            JournalEntry::Temporary {
                path: path(b"/w/\xff\n"),
                target: path(b"/w/x"),
                old: None,
                new,
            },
            JournalEntry::NotMade {
                path: path(b"/w/\xff\n"),
            },
            JournalEntry::Overwritten {
                path: path(b"/w/y"),
                copy: "1-2-3".to_owned(),
                old,
                new,
            },
            JournalEntry::Moved {
                path: path(b"/w/y"),
                to: path(b"/w/\xfe z"),
                inode: (65_024, 77),
            },
            JournalEntry::Deleted {
                path: path(b"/w/q"),
                to: path(b"/w/.q"),
                inode: (1, 2),
            },
        ]
    }

    #[test]
    fn a_note_cut_anywhere_says_what_was_noted_before() {
        let mut bytes = [VERSION.as_bytes(), b"\0"].concat();
        let mut ends = vec![(bytes.len(), 0)];
        for (count, entry) in entries().iter().enumerate() {
            bytes.extend(entry.to_bytes());
            ends.push((bytes.len(), count + 1));
        }
        for cut in 0..=bytes.len() {
            let whole = ends.iter().rev().find(|(end, _)| *end <= cut);
            let count = whole.map_or(0, |(_, count)| *count);
            let read = read_entries(&bytes[..cut]).expect("our version");
            assert_eq!(read, entries()[..count], "cut at {cut}");
        }
        assert_eq!(read_entries(b"pilcrow write 2\0temporary\0"), None);
    }

    #[test]
    fn a_process_is_told_from_a_later_one_with_its_number() {
        let this = WriterProcess::this();
        let name = name_of_write(7);
        assert_eq!(WriterProcess::of_journal(Path::new(&name)), Some(this));
        assert!(this.is_alive());
        let earlier = WriterProcess {
            started: this.started + 1,
            ..this
        };
        assert!(!earlier.is_alive() || this.started == 0);
        assert_eq!(WriterProcess::of_journal(Path::new("notes.txt")), None);
    }
}
