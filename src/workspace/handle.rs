//! An opened file whose real path is known; no name is ever resolved twice here, so no link swapped in is followed.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use rustix::fs::{Mode, OFlags};

use super::device;

/// An absolute path without symlinks, as it was when a [`Handle`] was judged. Only access makes one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RealPath(Arc<Path>);

impl RealPath {
    /// Where a file would be, judged like one that is there.
    pub(super) fn would_be(path: PathBuf) -> RealPath {
        RealPath(path.into())
    }

    /// The path as the system knows it; its bytes need not be UTF-8.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

#[cfg(test)]
impl RealPath {
    /// A path that nobody judged, for tests of what is keyed by one.
    pub(crate) fn for_tests(path: &str) -> RealPath {
        RealPath(Path::new(path).into())
    }
}

impl AsRef<Path> for RealPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// So that maps of real paths can be asked about any path.
impl std::borrow::Borrow<Path> for RealPath {
    fn borrow(&self) -> &Path {
        &self.0
    }
}

/// What kind of thing was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    /// With bytes that can be read.
    Regular,
    /// With names that can be listed.
    Directory,
    /// What it is, with its article: "a FIFO", "a socket", "a character device", "a block device".
    Other(&'static str),
}

/// What changes when a file's content or identity does. Times are nanoseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The device of the inode.
    pub dev: u64,
    /// Its number there.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// When its bytes were last changed.
    pub mtime_ns: i128,
    /// When anything of it was last changed.
    pub ctime_ns: i128,
}

impl Stamp {
    /// Of an opened file's metadata.
    pub fn of(metadata: &Metadata) -> Stamp {
        let nanoseconds = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
        Stamp {
            dev: metadata.dev(),
            ino: metadata.ino(),
            size: metadata.size(),
            mtime_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            ctime_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether it tells of every change after `looked_at` (nanoseconds since the epoch): both its
    /// times lay far enough before that.
    pub fn is_settled(&self, looked_at: i64) -> bool {
        i128::from(looked_at) - self.mtime_ns.max(self.ctime_ns) > DOUBT_NS
    }
}

/// Two changes closer than this may bear the same time stamp on some file system (FAT: 2 s).
const DOUBT_NS: i128 = 2_000_000_000;

/// Nanoseconds since the epoch; 0 for a clock before it.
pub fn now_ns() -> i64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as i64)
}

/// A file that was opened without being read (`O_PATH`) and whose real path was allowed.
#[derive(Debug)]
pub struct Handle {
    file: File,
    real: RealPath,
    /// Boxed: a handle is passed around by value, and this is most of it.
    metadata: Box<Metadata>,
    opened_at: Instant,
    is_own: bool,
}

impl Handle {
    /// Whether it is a file of this process's own: no rule of access is about what is in it.
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// Where the file was when it was judged.
    pub fn real(&self) -> &RealPath {
        &self.real
    }

    /// What was opened; only the first two kinds of [`FileType`] can be read.
    pub fn file_type(&self) -> FileType {
        file_type(&self.metadata)
    }

    /// The stamp as it was when the file was opened.
    pub fn stamp(&self) -> Stamp {
        Stamp::of(&self.metadata)
    }

    /// When the stamp was taken.
    pub fn opened_at(&self) -> Instant {
        self.opened_at
    }

    /// Permission bits and type, as `st_mode` was when the file was opened.
    pub fn mode(&self) -> u32 {
        self.metadata.mode()
    }

    /// The user it belongs to.
    pub fn owner(&self) -> u32 {
        self.metadata.uid()
    }

    /// How many names the file had. Other names of a denied file cannot be told from its own.
    pub fn links(&self) -> u64 {
        self.metadata.nlink()
    }

    /// The stamp as it is now, of the same inode whatever became of its name. On a file system that
    /// is not local its server is asked, whatever the kernel remembers of the file.
    pub fn restamp(&self) -> io::Result<Stamp> {
        match self.is_local() {
            true => Ok(Stamp::of(&self.file.metadata()?)),
            false => platform::restamp(&self.file),
        }
    }

    /// The stamp as this request knows it: on a local file system the one it was opened with.
    pub fn current_stamp(&self) -> io::Result<Stamp> {
        match self.is_local() {
            true => Ok(self.stamp()),
            false => self.restamp(),
        }
    }

    /// Whether the file system is local: nobody changes the file but through this kernel, which
    /// sets its times.
    pub fn is_local(&self) -> bool {
        device::is_local(&self.file, self.metadata.dev(), self.opened_at)
    }

    /// Whether the real path still names this very inode.
    pub fn still_there(&self) -> bool {
        same_inode(&self.real.0, &self.metadata)
    }

    /// Opens the judged inode for reading; for a directory, to list it. Never waits for a writer.
    ///
    /// Errors with the system's error (`EACCES` where it may not be read), and with
    /// `InvalidInput` for what is neither file nor directory: opening a device can have effects.
    pub fn open_read(&self) -> io::Result<File> {
        if let FileType::Other(what) = self.file_type() {
            let message = format!("{what} is not opened for reading");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        self.reopen(OFlags::RDONLY)
    }

    /// Opens the judged inode for being overwritten, as long as it is; nothing is cut off yet.
    ///
    /// Errors as [`Handle::open_read`] does, for directories too, and with `ETXTBSY` for a program
    /// that runs.
    pub fn open_write(&self) -> io::Result<File> {
        match self.file_type() {
            FileType::Regular => self.reopen(OFlags::WRONLY),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Whether this process may write the inode: `EACCES` where the mode or an ACL forbids it,
    /// `EPERM` for an immutable one, `EROFS`. Opening it would say the same, but watchers of the
    /// file take the closing for a change.
    pub fn may_write(&self) -> io::Result<()> {
        Ok(platform::may_write(&self.file, &self.real.0)?)
    }

    fn reopen(&self, access: OFlags) -> io::Result<File> {
        platform::reopen(&self.file, &self.real.0, &self.metadata, access).map(File::from)
    }

    /// A file of this process's own, in a directory that nobody else may write in: there is nothing
    /// to be judged.
    pub fn of_own_file(path: &Path) -> io::Result<Handle> {
        let file = File::from(platform::open(path)?);
        let real = platform::real_path(&file)?;
        Ok(Handle {
            is_own: true,
            ..Handle::in_folder(file, RealPath::would_be(real))?
        })
    }

    /// What a folder found under a name that access has judged.
    pub(super) fn in_folder(file: File, real: RealPath) -> io::Result<Handle> {
        Ok(Handle {
            metadata: Box::new(file.metadata()?),
            opened_at: Instant::now(),
            is_own: false,
            file,
            real,
        })
    }

    /// The opened file itself; on Linux it can only be used as a place.
    #[cfg(target_os = "linux")]
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Like [`Handle::file`], for good.
    pub(super) fn into_file(self) -> File {
        self.file
    }

    /// The names in this directory, at most `limit`, in no order, without `.` and `..`; asks
    /// `go_on` from time to time and stops early when it says no.
    pub(super) fn names(
        &self,
        limit: usize,
        go_on: impl Fn() -> bool,
    ) -> io::Result<Vec<OsString>> {
        use std::os::unix::ffi::OsStringExt;
        let mut names = Vec::new();
        let directory = rustix::fs::Dir::read_from(self.open_read()?)?;
        for (count, entry) in directory.enumerate() {
            if names.len() >= limit || (count % 1024 == 0 && !go_on()) {
                break;
            }
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name.to_vec()));
            }
        }
        Ok(names)
    }
}

/// An opened file before it was judged.
#[derive(Debug)]
pub(super) struct Unjudged {
    file: File,
    metadata: Box<Metadata>,
    opened_at: Instant,
    real: Option<PathBuf>,
}

/// How often a file that vanishes, or changes its name, while it is opened is looked for again: an
/// editor that saves by renaming puts another in its place at once, and so do we.
const ATTEMPTS: usize = 5;

impl Unjudged {
    /// Opens what `path` leads to, links followed, without reading or waiting.
    pub(super) fn open(path: &Path) -> io::Result<Unjudged> {
        for _ in 0..ATTEMPTS {
            let file = File::from(rustix::io::retry_on_intr(|| platform::open(path))?);
            let metadata = Box::new(file.metadata()?);
            let opened_at = Instant::now();
            let named = platform::real_path(&file)?;
            // Pipes and the like have no path; the kernel calls them "pipe:[7]".
            let real = named.is_absolute().then_some(named);
            let gone = real
                .as_deref()
                .is_some_and(|real| platform::may_be_gone(real) && !same_inode(real, &metadata));
            // Another name than was asked for is that of a link's target, or the one that this
            // inode was given when another took its place just now.
            let moved = real
                .as_deref()
                .is_some_and(|real| real != path && !leads_to(path, &metadata));
            if !gone && !moved {
                return Ok(Unjudged {
                    file,
                    metadata,
                    opened_at,
                    real,
                });
            }
        }
        Err(io::Error::from_raw_os_error(
            rustix::io::Errno::NOENT.raw_os_error(),
        ))
    }

    /// The path without symlinks; `None` when it has none (a pipe reached through `/proc`).
    pub(super) fn real(&self) -> Option<&Path> {
        self.real.as_deref()
    }

    /// What was opened, as a place.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn is_dir(&self) -> bool {
        self.metadata.is_dir()
    }

    pub(super) fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// To be called once the real path was allowed. `otherwise` stands for a missing one.
    pub(super) fn allowed(self, otherwise: &Path) -> Handle {
        let real = self.real.unwrap_or_else(|| otherwise.to_path_buf());
        Handle {
            file: self.file,
            real: RealPath(real.into()),
            metadata: self.metadata,
            opened_at: self.opened_at,
            is_own: false,
        }
    }
}

fn file_type(metadata: &Metadata) -> FileType {
    let kind = metadata.file_type();
    if kind.is_file() {
        FileType::Regular
    } else if kind.is_dir() {
        FileType::Directory
    } else if kind.is_fifo() {
        FileType::Other("a FIFO")
    } else if kind.is_socket() {
        FileType::Other("a socket")
    } else if kind.is_char_device() {
        FileType::Other("a character device")
    } else if kind.is_block_device() {
        FileType::Other("a block device")
    } else {
        FileType::Other("a special file")
    }
}

/// Whether `path`, links followed, still leads to this inode.
fn leads_to(path: &Path, metadata: &Metadata) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|now| now.dev() == metadata.dev() && now.ino() == metadata.ino())
}

fn same_inode(path: &Path, metadata: &Metadata) -> bool {
    std::fs::symlink_metadata(path)
        .is_ok_and(|now| now.dev() == metadata.dev() && now.ino() == metadata.ino())
}

#[cfg(target_os = "linux")]
pub(super) mod platform {
    use super::*;
    use std::ffi::OsStr;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{Access, AtFlags, CWD, StatxFlags, StatxTimestamp, makedev, statx};

    pub(super) fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
        rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
    }

    /// Has the kernel ask the server, and with a new size forget what it holds of the file.
    pub(super) fn restamp(file: &File) -> io::Result<Stamp> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        let now = match statx(file, c"", flags, StatxFlags::BASIC_STATS) {
            // Sandboxes refuse what they do not know.
            Err(rustix::io::Errno::NOSYS) => return Ok(Stamp::of(&file.metadata()?)),
            now => now?,
        };
        let nanoseconds =
            |at: StatxTimestamp| i128::from(at.tv_sec) * 1_000_000_000 + i128::from(at.tv_nsec);
        Ok(Stamp {
            dev: makedev(now.stx_dev_major, now.stx_dev_minor),
            ino: now.stx_ino,
            size: now.stx_size,
            mtime_ns: nanoseconds(now.stx_mtime),
            ctime_ns: nanoseconds(now.stx_ctime),
        })
    }

    pub(in super::super) fn real_path(file: &File) -> io::Result<PathBuf> {
        std::fs::read_link(link_of(file))
    }

    /// The kernel appends this to the path of an unlinked file; a name may also end so.
    pub(super) fn may_be_gone(real: &Path) -> bool {
        real.as_os_str().as_bytes().ends_with(b" (deleted)")
    }

    pub(in super::super) fn open_in(folder: &File, name: &OsStr) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(folder, name, flags, Mode::empty())
    }

    pub(super) fn reopen(
        file: &File,
        _: &Path,
        _: &Metadata,
        access: OFlags,
    ) -> io::Result<OwnedFd> {
        let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        Ok(rustix::fs::open(link_of(file), flags, Mode::empty())?)
    }

    pub(super) fn may_write(file: &File, _: &Path) -> rustix::io::Result<()> {
        let flags = AtFlags::EACCESS;
        rustix::fs::accessat(CWD, link_of(file), Access::WRITE_OK, flags)
    }

    fn link_of(file: &File) -> String {
        format!("/proc/self/fd/{}", file.as_raw_fd())
    }
}

/// Without `O_PATH` a file must be opened for reading to be known; devices are looked at first.
#[cfg(not(target_os = "linux"))]
pub(super) mod platform {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{Access, AtFlags, CWD};

    const QUIET: OFlags = OFlags::NONBLOCK
        .union(OFlags::CLOEXEC)
        .union(OFlags::NOCTTY);

    pub(super) fn restamp(file: &File) -> io::Result<Stamp> {
        Ok(Stamp::of(&file.metadata()?))
    }

    pub(super) fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
        if let Ok(metadata) = std::fs::metadata(path)
            && metadata.file_type().is_char_device()
        {
            return Err(rustix::io::Errno::ACCESS);
        }
        rustix::fs::open(path, QUIET | OFlags::RDONLY, Mode::empty())
    }

    pub(in super::super) fn open_in(folder: &File, name: &OsStr) -> rustix::io::Result<OwnedFd> {
        let flags = QUIET | OFlags::RDONLY | OFlags::NOFOLLOW;
        rustix::fs::openat(folder, name, flags, Mode::empty())
    }

    pub(in super::super) fn real_path(file: &File) -> io::Result<PathBuf> {
        let path = rustix::fs::getpath(file)?;
        Ok(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
    }

    /// The path of an unlinked file looks like any other.
    pub(super) fn may_be_gone(_: &Path) -> bool {
        true
    }

    pub(super) fn reopen(
        _: &File,
        real: &Path,
        judged: &Metadata,
        access: OFlags,
    ) -> io::Result<OwnedFd> {
        let flags = QUIET | access | OFlags::NOFOLLOW;
        let file = File::from(rustix::fs::open(real, flags, Mode::empty())?);
        let now = file.metadata()?;
        if now.dev() != judged.dev() || now.ino() != judged.ino() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(file.into())
    }

    pub(super) fn may_write(_: &File, real: &Path) -> rustix::io::Result<()> {
        rustix::fs::accessat(CWD, real, Access::WRITE_OK, AtFlags::EACCESS)
    }
}
