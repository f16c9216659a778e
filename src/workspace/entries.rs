//! What is in a directory, as far as the caller may know of it; a link in it is never followed, and nothing in it is opened unasked.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};

use crate::protocol::{Refusal, Rule};
use crate::task::{Stopped, Work};

use super::access::{Access, Names};
use super::handle::Handle;
use super::mounts::Mount;
use super::noise::Noise;

/// Entries between two looks at the cancel token.
const CHECK_EVERY: usize = 256;

/// An opened directory that may be listed.
#[derive(Debug)]
pub struct Directory<'a> {
    access: &'a Access,
    dir: Dir,
    real: PathBuf,
    noise: Noise,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// As the directory has it: it need not be UTF-8.
    pub name: OsString,
    /// What the name stands for, links not followed.
    pub kind: EntryKind,
    /// Of the name itself, in nanoseconds since the epoch; `None` where it cannot be known.
    pub modified_ns: Option<i128>,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// With its size in bytes, where that can be known.
    File(Option<u64>),
    /// What has entries of its own.
    Directory {
        /// By git's rules, or `.git`, or `node_modules`.
        ignored: bool,
    },
    /// Where a file system is mounted that may hang and that nobody asked for; its kind.
    Mount(String),
    /// What the link says; `None` where it leads out of what may be read.
    Link(Option<OsString>),
    /// What it is, without an article.
    Special(&'static str),
}

/// What was read of a directory, in no order.
#[derive(Debug, Default)]
pub struct Entries {
    /// Those that the caller may know of.
    pub entries: Vec<Entry>,
    /// Not everything was read.
    pub is_cut: bool,
}

/// Why a directory cannot be listed.
#[derive(Debug)]
pub enum ListError {
    /// The system refuses it.
    Io(io::Error),
    /// Nobody wants the list any more, or it took too long.
    Stopped(Stopped),
}

impl From<io::Error> for ListError {
    fn from(error: io::Error) -> ListError {
        ListError::Io(error)
    }
}

impl From<rustix::io::Errno> for ListError {
    fn from(error: rustix::io::Errno) -> ListError {
        ListError::Io(error.into())
    }
}

impl From<Stopped> for ListError {
    fn from(stopped: Stopped) -> ListError {
        ListError::Stopped(stopped)
    }
}

impl<'a> Directory<'a> {
    pub(super) fn open(access: &'a Access, handle: &Handle) -> io::Result<Directory<'a>> {
        let file = handle.open_read()?;
        let real = handle.real().as_path().to_path_buf();
        let root = access.folder_of(&real);
        Ok(Directory {
            access,
            dir: Dir::new(OwnedFd::from(file))?,
            noise: Noise::above(access, &real, root.as_deref()),
            real,
        })
    }

    /// Where it is.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// Reads the names that may be known, of at most `limit` that there are.
    pub fn read(&mut self, limit: usize, work: &Work) -> Result<Entries, ListError> {
        let mut found = Entries::default();
        let mut has_rules = false;
        let mut is_repository = false;
        let access = self.access;
        let real = self.real.clone();
        let names = access.names_in(&real);
        let mounts = access.crossing.mounts_in(&real);
        let mut count = 0;
        while let Some(entry) = self.dir.read() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if count % CHECK_EVERY == 0 {
                work.check()?;
            }
            if count == limit {
                found.is_cut = true;
                break;
            }
            count += 1;
            has_rules |= name == b".gitignore" || name == b".ignore";
            is_repository |= name == b".git";
            let name = OsString::from_vec(name.to_vec());
            let is_here = |mount: &&Mount| mount.point.file_name() == Some(&*name);
            found.entries.extend(match mounts.iter().find(is_here) {
                Some(mount) => names.permit(&name, true).then(|| Entry::of_mount(mount)),
                None => self.entry(name, entry.file_type(), &names)?,
            });
        }
        if has_rules || is_repository {
            self.noise.enter(access, &real, is_repository);
        }
        for entry in &mut found.entries {
            if let EntryKind::Directory { ignored } = &mut entry.kind {
                *ignored = self.noise.ignores(&real.join(&entry.name), true);
            }
        }
        Ok(found)
    }

    /// Opens a directory right in this one, which must be an entry of it; not through a link.
    pub fn child(&self, name: &OsStr) -> io::Result<Directory<'a>> {
        let flags = OFlags::RDONLY
            | OFlags::DIRECTORY
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NONBLOCK;
        let child = rustix::io::retry_on_intr(|| {
            rustix::fs::openat(self.dir.fd()?, name, flags, Mode::empty())
        })?;
        Ok(Directory {
            access: self.access,
            dir: Dir::new(child)?,
            real: self.real.join(name),
            noise: self.noise.clone(),
        })
    }

    /// `None` for what is gone by now and for what the caller may not know of.
    fn entry(
        &self,
        name: OsString,
        hint: FileType,
        names: &Names<'_>,
    ) -> Result<Option<Entry>, ListError> {
        let stat = match rustix::fs::statat(self.dir.fd()?, &*name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            // A directory that may be read and not searched gives its names away and no more.
            Err(_) => None,
        };
        let file_type = stat
            .as_ref()
            .map_or(hint, |stat| FileType::from_raw_mode(stat.st_mode as _));
        if !names.permit(&name, file_type == FileType::Directory) {
            return Ok(None);
        }
        let kind = match file_type {
            FileType::Directory => EntryKind::Directory { ignored: false },
            FileType::Symlink => match self.link(&name) {
                None => return Ok(None),
                Some(to) => EntryKind::Link(to),
            },
            FileType::Fifo => EntryKind::Special("fifo"),
            FileType::Socket => EntryKind::Special("socket"),
            FileType::CharacterDevice | FileType::BlockDevice => EntryKind::Special("device"),
            _ => EntryKind::File(stat.as_ref().map(|stat| stat.st_size as u64)),
        };
        Ok(Some(Entry {
            name,
            kind,
            modified_ns: stat.as_ref().map(modified_ns),
        }))
    }

    /// What a link says, if all that it leads to may be known; `None` where its own name may not.
    fn link(&self, name: &OsStr) -> Option<Option<OsString>> {
        let target = self.dir.fd().ok().and_then(|fd| {
            let target = rustix::fs::readlinkat(fd, name, Vec::new()).ok()?;
            Some(OsString::from_vec(target.into_bytes()))
        });
        // Judged both ways: the link as a reader would follow it, and the very text that is shown,
        // should another link have been put in its place meanwhile.
        let by_text = target.as_ref().map(|target| self.real.join(target));
        for path in [Some(self.real.join(name)), by_text].into_iter().flatten() {
            if !self.access.crossing.stays(&path) {
                return Some(None);
            }
            match self.access.open(&path, "") {
                Ok(_) => {}
                // That it leads out says nothing of its own name.
                Err(Refusal::Denied {
                    rule: Rule::LinkOut,
                    ..
                }) => return Some(None),
                Err(Refusal::Denied { .. }) => return None,
                Err(_) => return Some(None),
            }
        }
        Some(target)
    }
}

impl Entry {
    /// To ask any more of it would touch it.
    fn of_mount(mount: &Mount) -> Entry {
        Entry {
            name: mount.point.file_name().unwrap_or_default().to_owned(),
            kind: EntryKind::Mount(mount.kind.clone()),
            modified_ns: None,
        }
    }

    /// The name's bytes, for an order that is the same everywhere.
    pub fn name_bytes(&self) -> &[u8] {
        self.name.as_bytes()
    }
}

/// The fields' widths differ between systems.
fn modified_ns(stat: &Stat) -> i128 {
    stat.st_mtime as i128 * 1_000_000_000 + stat.st_mtime_nsec as i128
}
