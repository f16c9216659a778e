//! The note of one write: what it makes, written down before it is made; a note is only added to until all that it says is gone.
//!
//! A note must outlive the process and not a power cut, so it is not flushed, which would cost as
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
use super::error::{Fault, Step, step};
use super::state::{NoteFile, Room, State, sync_parent};

/// The first field of every note; another one is of another version, and left alone.
const VERSION: &str = "pilcrow write 1";

/// What a note begins with, and all that an idle one holds.
const HEADER: &[u8] = b"pilcrow write 1\0";

/// One thing that is about to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Record {
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
}

/// A number that no other write or temporary of this process has.
pub(super) fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// The note of a write that is under way.
#[derive(Debug)]
pub(super) struct Note {
    state: Arc<State>,
    /// There until it ends.
    open: Option<NoteFile>,
}

impl Note {
    /// Begins a note, and locks it.
    pub(super) fn begin(state: &Arc<State>) -> Result<Note, Fault> {
        let open = step(Step::Note, || match state.take_idle_note() {
            Some(idle) => Ok(idle),
            None => make(state),
        })?;
        Ok(Note {
            state: state.clone(),
            open: Some(open),
        })
    }

    fn open(&mut self) -> io::Result<&mut NoteFile> {
        self.open.as_mut().ok_or(io::ErrorKind::NotFound.into())
    }

    /// Adds what is about to be done.
    pub(super) fn add(&mut self, record: &Record) -> Result<(), Fault> {
        let bytes = record.to_bytes();
        step(Step::Note, || self.open()?.file.write_all(&bytes))
    }

    /// Makes the note outlive a power cut too.
    pub(super) fn sync(&mut self) -> Result<(), Fault> {
        step(Step::Sync, || {
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
            Ok(()) => self.state.keep_idle_note(open),
            Err(_) => Some(open),
        };
        spare.map_or(Ok(()), |open| std::fs::remove_file(&open.path))
    }
}

/// Makes a note that says nothing yet, and locks it.
fn make(state: &State) -> io::Result<NoteFile> {
    let (mut file, path) = loop {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::APPEND;
        match state.open(Room::Notes, &name_of_write(next_number()), flags) {
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
        Ok(()) => Ok(NoteFile { file, path }),
        Err(error) => {
            // Nothing was noted yet, so nothing is lost with it.
            let _ = std::fs::remove_file(&path);
            Err(error)
        }
    }
}

impl Record {
    fn to_bytes(&self) -> Vec<u8> {
        let digest = |planned: &Planned| planned.to_string().into_bytes();
        let path = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let fields = match self {
            Record::Temporary {
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
            Record::NotMade { path: at } => vec![b"not made".to_vec(), path(at)],
            Record::Directory { path: at } => vec![b"directory".to_vec(), path(at)],
            Record::Overwritten {
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
        };
        let mut bytes = Vec::new();
        for field in fields {
            bytes.extend_from_slice(&field);
            bytes.push(0);
        }
        bytes
    }

    /// Reads one record; `None` at the end, which may be in the middle of one: what it was about
    /// was not done then.
    fn read<'a>(fields: &mut impl Iterator<Item = &'a [u8]>) -> Option<Record> {
        let path = |field: &[u8]| PathBuf::from(OsStr::from_bytes(field));
        let kind = fields.next()?;
        let at = path(fields.next()?);
        Some(match kind {
            b"temporary" => Record::Temporary {
                path: at,
                target: path(fields.next()?),
                old: Planned::parse(fields.next()?),
                new: Planned::parse(fields.next()?)?,
            },
            b"not made" => Record::NotMade { path: at },
            b"directory" => Record::Directory { path: at },
            b"overwritten" => Record::Overwritten {
                path: at,
                copy: String::from_utf8(fields.next()?.to_vec()).ok()?,
                old: Planned::parse(fields.next()?)?,
                new: Planned::parse(fields.next()?)?,
            },
            _ => return None,
        })
    }
}

/// The records of a note's bytes, in order; `None` for a note of another version.
pub(super) fn read_records(bytes: &[u8]) -> Option<Vec<Record>> {
    // What follows the last NUL is a field that was not wholly written.
    let whole = bytes.iter().rposition(|byte| *byte == 0).unwrap_or(0);
    let mut fields = bytes[..whole].split(|byte| *byte == 0);
    let version = fields.next()?;
    if version != VERSION.as_bytes() {
        // One that was cut off in its first field notes nothing.
        return VERSION.as_bytes().starts_with(bytes).then(Vec::new);
    }
    Some(std::iter::from_fn(|| Record::read(&mut fields)).collect())
}

/// A process, told from others that had its number before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writer {
    pub(super) process: u32,
    /// In clock ticks since the system began; 0 where that cannot be known.
    started: u64,
}

impl Writer {
    /// This process.
    fn this() -> Writer {
        static STARTED: OnceLock<u64> = OnceLock::new();
        let process = std::process::id();
        Writer {
            process,
            started: *STARTED.get_or_init(|| started(process).unwrap_or(0)),
        }
    }

    /// Whose note has this name; `None` for what is no note.
    pub(super) fn of_note(path: &Path) -> Option<Writer> {
        let name = path.file_name()?.to_str()?;
        let mut parts = name.split('-').map(str::parse::<u64>);
        let mut part = || parts.next()?.ok();
        let (process, started) = (part()?, part()?);
        part()?;
        Some(Writer {
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
    let Writer { process, started } = Writer::this();
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

    fn records() -> Vec<Record> {
        let (old, new) = (Planned::of(b"old"), Planned::of(b"new"));
        let path = |text: &[u8]| PathBuf::from(OsStr::from_bytes(text));
        vec![
            Record::Directory {
                path: path(b"/w/d"),
            },
            Record::Temporary {
                path: path(b"/w/\xff\n"),
                target: path(b"/w/x"),
                old: None,
                new,
            },
            Record::NotMade {
                path: path(b"/w/\xff\n"),
            },
            Record::Overwritten {
                path: path(b"/w/y"),
                copy: "1-2-3".to_owned(),
                old,
                new,
            },
        ]
    }

    #[test]
    fn a_note_cut_anywhere_says_what_was_noted_before() {
        let mut bytes = [VERSION.as_bytes(), b"\0"].concat();
        let mut ends = vec![(bytes.len(), 0)];
        for (count, record) in records().iter().enumerate() {
            bytes.extend(record.to_bytes());
            ends.push((bytes.len(), count + 1));
        }
        for cut in 0..=bytes.len() {
            let whole = ends.iter().rev().find(|(end, _)| *end <= cut);
            let count = whole.map_or(0, |(_, count)| *count);
            let read = read_records(&bytes[..cut]).expect("our version");
            assert_eq!(read, records()[..count], "cut at {cut}");
        }
        assert_eq!(read_records(b"pilcrow write 2\0temporary\0"), None);
    }

    #[test]
    fn a_process_is_told_from_a_later_one_with_its_number() {
        let this = Writer::this();
        let name = name_of_write(7);
        assert_eq!(Writer::of_note(Path::new(&name)), Some(this));
        assert!(this.is_alive());
        let earlier = Writer {
            started: this.started + 1,
            ..this
        };
        assert!(!earlier.is_alive() || this.started == 0);
        assert_eq!(Writer::of_note(Path::new("notes.txt")), None);
    }
}
