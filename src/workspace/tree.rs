//! The folders of a tree for who looks through all of it: names in order, judged, without what is hidden or ignored; no link in it is ever followed.
//!
//! A folder is opened in the one above it, and a file in its folder, so that what is opened is what was
//! judged: its real path is that of the folder and its name.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

#[cfg(not(target_os = "linux"))]
use rustix::fs::Dir;
#[cfg(target_os = "linux")]
use rustix::fs::RawDir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use crate::protocol::search::LeftOut;
use crate::task::Work;

use super::access::{Access, Names};
use super::entries::ListError;
use super::handle::{Handle, RealPath};
use super::mounts::Mount;
use super::noise::Noise;
use super::resolve::Scope;

/// Entries between two looks at the cancel token.
const CHECK_EVERY: usize = 256;

/// Entries that are read of one folder; what is left counts as one that is not readable.
const MAX_ENTRIES: usize = 200_000;

/// Bytes in which names come from the system.
#[cfg(target_os = "linux")]
const LISTING: usize = 32 * 1024;

/// An opened folder that may be looked through.
#[derive(Debug)]
pub struct TreeFolder<'a> {
    access: &'a Access,
    fd: OwnedFd,
    real: PathBuf,
    noise: Noise,
}

/// A name in one that is looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeEntry {
    /// As the folder has it: it need not be UTF-8.
    pub name: OsString,
    /// Whether it is a folder; else it is a regular file.
    pub is_folder: bool,
}

impl Scope {
    /// Opens a folder to look through what is below it.
    pub fn tree(&self, handle: &Handle) -> io::Result<TreeFolder<'_>> {
        let real = handle.real().as_path().to_path_buf();
        let root = self.access.folder_of(&real);
        Ok(TreeFolder {
            access: &self.access,
            fd: OwnedFd::from(handle.open_read()?),
            noise: Noise::above(&self.access, &real, root.as_deref()),
            real,
        })
    }

    /// The real path of the outermost folder that contains a real path.
    pub fn folder_over(&self, real: &RealPath) -> Option<PathBuf> {
        self.access.folder_of(real.as_path())
    }
}

impl<'a> TreeFolder<'a> {
    /// Its real path.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// The real path of a file in it, which is one of its entries.
    pub fn path_of(&self, name: &OsStr) -> RealPath {
        RealPath::would_be(self.real.join(name))
    }

    /// Whether a file of that name in it is not ignored. To be asked after its entries.
    pub fn shows(&self, name: &OsStr) -> bool {
        !self.noise.ignores(&self.real.join(name), false)
    }

    /// What is to be looked at, in order of name. To be asked once, before anything in it is opened.
    pub fn entries(
        &mut self,
        left_out: &mut LeftOut,
        work: &Work,
    ) -> Result<Vec<TreeEntry>, ListError> {
        let (listed, is_whole) = self.listed(work)?;
        left_out.not_readable += u64::from(!is_whole);
        // Some file systems tell no case from another.
        let is_like = |name: &str| listed.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
        let may_have = |name: &str| !is_whole || is_like(name);
        let names = self.access.names_listed(&self.real, &may_have);
        let mounts = self.access.crossing.mounts_in(&self.real);
        let mut entries = Vec::with_capacity(listed.len());
        for (name, hint) in &listed {
            let is_here = |mount: &Mount| mount.point.file_name() == Some(name);
            match mounts.iter().any(is_here) {
                true => left_out.not_followed += 1,
                false => entries.extend(self.judged(name, *hint, &names, left_out)),
            }
        }
        drop(names);
        let has = |name: &str| listed.iter().any(|(it, _)| it == name);
        let is_repository = has(".git");
        if is_repository || has(".gitignore") || has(".ignore") {
            let real = self.real.clone();
            self.noise.enter(self.access, &real, is_repository);
        }
        entries.retain(|entry| {
            let ignored = self
                .noise
                .ignores(&self.real.join(&entry.name), entry.is_folder);
            left_out.ignored += u64::from(ignored);
            !ignored
        });
        entries.sort_unstable();
        Ok(entries)
    }

    /// The names in it, of [`MAX_ENTRIES`] at most, and whether these are all.
    fn listed(&self, work: &Work) -> Result<(Vec<(OsString, FileType)>, bool), ListError> {
        let mut listed = Vec::new();
        let mut is_whole = true;
        each_name(self.fd.as_fd(), |name, hint| {
            if name == b"." || name == b".." {
                return Ok(true);
            }
            if listed.len() % CHECK_EVERY == 0 {
                work.check()?;
            }
            is_whole = listed.len() < MAX_ENTRIES;
            if is_whole {
                listed.push((OsString::from_vec(name.to_vec()), hint));
            }
            Ok(is_whole)
        })?;
        Ok((listed, is_whole))
    }

    /// A name that may be known and is neither hidden nor anything but a folder or a regular file.
    fn judged(
        &self,
        name: &OsStr,
        hint: FileType,
        names: &Names<'_>,
        left_out: &mut LeftOut,
    ) -> Option<TreeEntry> {
        if name.as_bytes().starts_with(b".") {
            left_out.hidden += 1;
            return None;
        }
        let file_type = match hint {
            FileType::Unknown => {
                let stat = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                FileType::from_raw_mode(stat.st_mode as _)
            }
            known => known,
        };
        let is_folder = file_type == FileType::Directory;
        if !names.permit(name, is_folder) {
            left_out.denied += 1;
            return None;
        }
        if !is_folder && file_type != FileType::RegularFile {
            left_out.not_followed += 1;
            return None;
        }
        Some(TreeEntry {
            name: OsString::from_vec(name.as_bytes().to_vec()),
            is_folder,
        })
    }

    /// Opens a folder that is one of its entries; not through a link.
    pub fn folder(&self, name: &OsStr) -> io::Result<TreeFolder<'a>> {
        let flags = OFlags::RDONLY
            | OFlags::DIRECTORY
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NONBLOCK;
        Ok(TreeFolder {
            access: self.access,
            fd: self.open(name, flags)?,
            real: self.real.join(name),
            noise: self.noise.clone(),
        })
    }

    /// Opens a file that is one of its entries, to be read, with its size; `None` where it is no
    /// regular file any more. Never waits for a writer.
    pub fn file(&self, name: &OsStr) -> io::Result<Option<(File, u64)>> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match self.open(name, flags) {
            // A link by now.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                return Ok(None);
            }
            opened => File::from(opened?),
        };
        let metadata = file.metadata()?;
        Ok(metadata.is_file().then_some((file, metadata.len())))
    }

    fn open(&self, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
        let open = || rustix::fs::openat(self.fd.as_fd(), name, flags, Mode::empty());
        Ok(rustix::io::retry_on_intr(open)?)
    }
}

/// Hands on the names in a folder, each with what the folder says that it is, until one is not wanted.
#[cfg(target_os = "linux")]
fn each_name(
    folder: BorrowedFd,
    mut take: impl FnMut(&[u8], FileType) -> Result<bool, ListError>,
) -> Result<(), ListError> {
    // A search lists thousands of folders: what the library keeps for one is made and zeroed each time.
    let mut buffer = [const { MaybeUninit::uninit() }; LISTING];
    let mut listing = RawDir::new(folder, &mut buffer);
    while let Some(entry) = listing.next() {
        let entry = entry.map_err(io::Error::from)?;
        if !take(entry.file_name().to_bytes(), entry.file_type())? {
            break;
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn each_name(
    folder: BorrowedFd,
    mut take: impl FnMut(&[u8], FileType) -> Result<bool, ListError>,
) -> Result<(), ListError> {
    let mut listing = Dir::new(folder.try_clone_to_owned()?).map_err(io::Error::from)?;
    while let Some(entry) = listing.read() {
        let entry = entry.map_err(io::Error::from)?;
        if !take(entry.file_name().to_bytes(), entry.file_type())? {
            break;
        }
    }
    Ok(())
}
