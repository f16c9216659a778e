//! The mounts whose file systems may hang, and the way of a path as far as it leads to one.
//!
//! The kernel's table of mounts tells where they are; it is read again when polling it tells that
//! it changed, and polled at most ten times a second. Whether a path leads to one is found by
//! following it name by name from the top, links too, and stopping at the first of their mount
//! points: so nothing of theirs is ever asked. Where there are none, nothing is followed; most
//! desktops have one or two, and there the kernel is asked first whether the path has links at all.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::protocol::Refusal;
use crate::task::{NoPlace, Work};

/// For how long the table is believed without a look.
const BELIEVED: Duration = Duration::from_millis(100);

/// Links followed in one path, as by the kernel.
const MAX_LINKS: usize = 40;

/// A mount whose file system may hang.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted: a path without links.
    pub point: PathBuf,
    /// What the system calls the kind: `nfs4`, `fuse.sshfs`.
    pub kind: String,
    /// Of its file system, which may be mounted in several places.
    pub device: u64,
}

/// Those that there are, by their mount points.
type MountTable = HashMap<PathBuf, Mount>;

/// The table of mounts as it was last seen.
#[derive(Debug, Default)]
pub(super) struct Mounts(Mutex<SeenMounts>);

#[derive(Debug, Default)]
struct SeenMounts {
    table: Arc<MountTable>,
    looked_at: Option<Instant>,
    /// The opened table, which can be polled.
    source: platform::MountInfo,
}

impl Mounts {
    fn now(&self) -> Arc<MountTable> {
        let mut seen = self.0.lock();
        let is_fresh = |at: Instant| at.elapsed() < BELIEVED;
        if !seen.looked_at.is_some_and(is_fresh) {
            if let Some(text) = seen.source.news() {
                seen.table = Arc::new(platform::parse(&text));
            }
            seen.looked_at = Some(Instant::now());
        }
        seen.table.clone()
    }
}

/// Who looks at paths, and so which mounts it may touch.
#[derive(Debug, Clone, Default)]
enum Who {
    /// Nobody else waits for it.
    #[default]
    Anybody,
    Job(Work),
    /// Who is never to wait for a file system.
    Nobody,
}

/// What a look at a path may touch. A clone shares the table of mounts.
#[derive(Debug, Clone, Default)]
pub(super) struct Crossing {
    mounts: Arc<Mounts>,
    who: Who,
}

impl Crossing {
    /// The same for a job, which becomes one of each mount that it is led to.
    pub(super) fn of_job(&self, work: &Work) -> Crossing {
        Crossing {
            mounts: self.mounts.clone(),
            who: Who::Job(work.clone()),
        }
    }

    /// The same for who may not touch any of them.
    pub(super) fn of_nobody(&self) -> Crossing {
        Crossing {
            mounts: self.mounts.clone(),
            who: Who::Nobody,
        }
    }

    /// To be called before an absolute path is looked at. Refuses with `busy` where it leads to a
    /// mount that hangs. Errors as [`Work::check`] does where that is so while it waits.
    pub(super) fn enter(&self, path: &Path) -> Result<(), Refusal> {
        if let Who::Anybody = self.who {
            return Ok(());
        }
        let table = self.mounts.now();
        while let Some(mount) = first_on_way(&table, path, &|it| self.is_on(it)) {
            self.go_on(mount)?;
        }
        Ok(())
    }

    /// Makes the job one of that mount.
    pub(super) fn go_on(&self, mount: &Mount) -> Result<(), Refusal> {
        match &self.who {
            Who::Anybody => Ok(()),
            Who::Nobody => Err(hangs(mount)),
            Who::Job(work) => match work.on_mount(mount.device) {
                Ok(()) => Ok(()),
                Err(NoPlace::Hangs) => Err(hangs(mount)),
                Err(NoPlace::Stopped(stopped)) => Err(stopped.into()),
            },
        }
    }

    /// Whether a look at a path, its last link followed, touches no mount but those that the job is
    /// one of: for what nobody asked for by its name.
    pub(super) fn stays(&self, path: &Path) -> bool {
        self.led_to(path).is_none()
    }

    /// The first mount that an absolute path leads to and that may not be touched yet.
    pub(super) fn led_to(&self, path: &Path) -> Option<Mount> {
        if let Who::Anybody = self.who {
            return None;
        }
        let table = self.mounts.now();
        first_on_way(&table, path, &|it| self.is_on(it)).cloned()
    }

    /// Whether something has that name, a mount point too; its folder may be touched.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        !self.stays(path) || path.symlink_metadata().is_ok()
    }

    /// Whether there is any mount that may not be touched just so.
    pub(super) fn has_mounts(&self) -> bool {
        !matches!(self.who, Who::Anybody) && !self.mounts.now().is_empty()
    }

    /// Those that have their mount points right in a directory, a real path, and that may not be
    /// touched yet.
    pub(super) fn mounts_in(&self, directory: &Path) -> Vec<Mount> {
        if !self.has_mounts() {
            return Vec::new();
        }
        let table = self.mounts.now();
        let inside = |it: &&Mount| it.point.parent() == Some(directory) && !self.is_on(it);
        table.values().filter(inside).cloned().collect()
    }

    /// The mount that has its mount point at a path without links, unless it may be touched.
    pub(super) fn mount_at(&self, path: &Path) -> Option<Mount> {
        if let Who::Anybody = self.who {
            return None;
        }
        let table = self.mounts.now();
        table.get(path).filter(|it| !self.is_on(it)).cloned()
    }

    fn is_on(&self, mount: &Mount) -> bool {
        match &self.who {
            Who::Anybody => true,
            Who::Job(work) => work.is_on_mount(mount.device),
            Who::Nobody => false,
        }
    }
}

/// The first mount on the way of an absolute path that is none of those that `may_touch`.
fn first_on_way<'a>(
    table: &'a MountTable,
    path: &Path,
    may_touch: &dyn Fn(&Mount) -> bool,
) -> Option<&'a Mount> {
    // Who is one of all of them already, as most are of the only one, need not look.
    if table.values().all(may_touch) {
        return None;
    }
    let leads_to = |mount: &&Mount| !may_touch(mount) && path.starts_with(&mount.point);
    if !table.values().any(|mount| leads_to(&mount)) && platform::is_without_links(path) {
        return None;
    }
    let mut ahead: VecDeque<OsString> = names_of(path).collect();
    let mut at = PathBuf::from("/");
    let mut links = 0;
    loop {
        if let Some(mount) = table.get(&at).filter(|mount| !may_touch(mount)) {
            return Some(mount);
        }
        let name = ahead.pop_front()?;
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(name);
        if table.contains_key(&at) {
            continue;
        }
        match std::fs::read_link(&at) {
            Ok(target) if links < MAX_LINKS => {
                links += 1;
                at.pop();
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                let names: Vec<OsString> = names_of(&target).collect();
                names
                    .into_iter()
                    .rev()
                    .for_each(|name| ahead.push_front(name));
            }
            Ok(_) => return None,
            // No link, or nothing: below that there is nothing either.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {}
            Err(_) => return None,
        }
    }
}

/// The names on the way to a path.
pub(super) fn names_of(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

fn hangs(mount: &Mount) -> Refusal {
    let Mount { point, kind, .. } = mount;
    Refusal::Busy {
        message: format!(
            "the file system mounted at '{}' ({kind}) does not answer. Other files can be read and edited; ask the user to look after that mount.",
            point.display()
        ),
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use std::collections::HashMap;
    use std::ffi::OsString;
    use std::fs::File;
    use std::io::Read;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Component, Path, PathBuf};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;

    use super::{Mount, MountTable};

    /// File systems of this machine alone: what they are asked the kernel answers, or a disk.
    const LOCAL: &[&str] = &[
        "aufs",
        "bcachefs",
        "binfmt_misc",
        "bpf",
        "btrfs",
        "cgroup",
        "cgroup2",
        "configfs",
        "debugfs",
        "devpts",
        "devtmpfs",
        "ecryptfs",
        "efivarfs",
        "erofs",
        "exfat",
        "ext2",
        "ext3",
        "ext4",
        "f2fs",
        "fusectl",
        "hfs",
        "hfsplus",
        "hugetlbfs",
        "iso9660",
        "jfs",
        "minix",
        "mqueue",
        "msdos",
        "nilfs2",
        "nsfs",
        "ntfs",
        "ntfs3",
        "overlay",
        "proc",
        "pstore",
        "ramfs",
        "reiserfs",
        "rootfs",
        "securityfs",
        "selinuxfs",
        "squashfs",
        "sysfs",
        "tmpfs",
        "tracefs",
        "ubifs",
        "udf",
        "vfat",
        "xfs",
        "zfs",
    ];

    /// `/proc/self/mountinfo`, opened once it was first looked at.
    #[derive(Debug, Default)]
    pub(super) struct MountInfo(Option<File>);

    impl MountInfo {
        /// The table, where it is not as it was when this was last called.
        pub(super) fn news(&mut self) -> Option<Vec<u8>> {
            if self.0.as_ref().is_some_and(is_same_table) {
                return None;
            }
            // Opened before it is read: what changes after that is told by the next poll.
            let mut table = File::open("/proc/self/mountinfo").ok()?;
            let mut text = Vec::new();
            table.read_to_end(&mut text).ok()?;
            self.0 = Some(table);
            Some(text)
        }
    }

    /// Whether the kernel tells at once that no link is on the way of an absolute path, nor at its
    /// end. It does not go beyond the first one. One system call instead of one for each name.
    pub(super) fn is_without_links(path: &Path) -> bool {
        // After one of a missing folder it would not look at the names that follow.
        if path.components().any(|part| part == Component::ParentDir) {
            return false;
        }
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let opened = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        // What is not there leads nowhere.
        matches!(opened, Ok(_) | Err(Errno::NOENT))
    }

    /// Whether nothing was mounted or unmounted since the table was opened, or this was last asked.
    pub(in crate::workspace) fn is_same_table(table: &File) -> bool {
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let mut look = [PollFd::new(table, PollFlags::PRI)];
        let polled = poll(&mut look, Some(&at_once));
        let changed = PollFlags::PRI | PollFlags::ERR;
        polled.is_ok() && !look[0].revents().intersects(changed)
    }

    /// The mounts that are not local. Of several at one place the last is the one that is seen.
    pub(super) fn parse(text: &[u8]) -> MountTable {
        let mut mounts: MountTable = HashMap::new();
        for line in text.split(|byte| *byte == b'\n') {
            let Some(mount) = mount(line) else {
                continue;
            };
            match LOCAL.contains(&mount.kind.as_str()) {
                true => drop(mounts.remove(&mount.point)),
                false => drop(mounts.insert(mount.point.clone(), mount)),
            }
        }
        mounts
    }

    /// <https://docs.kernel.org/filesystems/proc.html#proc-pid-mountinfo>
    fn mount(line: &[u8]) -> Option<Mount> {
        let mut fields = line.split(|byte| *byte == b' ');
        let device = std::str::from_utf8(fields.nth(2)?).ok()?;
        let (major, minor) = device.split_once(':')?;
        let device = major.parse::<u64>().ok()? << 32 | minor.parse::<u64>().ok()?;
        let point = unescaped(fields.nth(1)?);
        let kind = fields.skip_while(|field| field != b"-").nth(1)?;
        Some(Mount {
            point,
            kind: String::from_utf8_lossy(kind).into_owned(),
            device,
        })
    }

    /// Blanks, line ends and backslashes are written as three octal digits.
    fn unescaped(field: &[u8]) -> PathBuf {
        let mut path = Vec::with_capacity(field.len());
        let mut rest = field;
        while let Some((first, after)) = rest.split_first() {
            let digits = after.get(..3).filter(|_| *first == b'\\');
            let byte = digits.and_then(|digits| {
                let digits = std::ffi::OsStr::from_bytes(digits).to_str()?;
                u8::from_str_radix(digits, 8).ok()
            });
            path.push(byte.unwrap_or(*first));
            rest = match byte {
                Some(_) => &after[3..],
                None => after,
            };
        }
        PathBuf::from(OsString::from_vec(path))
    }
}

#[cfg(target_os = "linux")]
pub(super) use platform::is_same_table;

/// Elsewhere nobody tells which mounts there are.
#[cfg(not(target_os = "linux"))]
mod platform {
    use super::MountTable;

    #[derive(Debug, Default)]
    pub(super) struct MountInfo;

    impl MountInfo {
        pub(super) fn news(&mut self) -> Option<Vec<u8>> {
            None
        }
    }

    pub(super) fn parse(_: &[u8]) -> MountTable {
        MountTable::new()
    }

    pub(super) fn is_without_links(_: &std::path::Path) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const TABLE: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:52 / /mnt/a\\040b rw,nosuid shared:1 master:2 - fuse.sshfs host:/ rw
41 27 0:53 / /mnt/nfs rw - nfs4 host:/x rw
42 41 0:54 / /mnt/nfs/tmp rw - tmpfs tmpfs rw
43 27 0:30 / /auto rw - autofs systemd-1 rw
44 27 254:1 / /auto rw - ext4 /dev/vdb rw
";

    #[test]
    fn the_mounts_that_may_hang_are_those_of_no_local_file_system() {
        let table = platform::parse(TABLE.as_bytes());
        let mut points: Vec<&Path> = table.keys().map(PathBuf::as_path).collect();
        points.sort_unstable();
        assert_eq!(points, [Path::new("/mnt/a b"), Path::new("/mnt/nfs")]);
        let mount = &table[Path::new("/mnt/a b")];
        assert_eq!((mount.kind.as_str(), mount.device), ("fuse.sshfs", 52));
    }

    #[test]
    fn a_path_is_followed_to_the_first_mount_point_and_no_further() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path().canonicalize().expect("its real path");
        fs::create_dir_all(top.join("here/hung/deep")).expect("made");
        let links = [
            ("here/to", "hung/deep"),
            ("abs", "/"),
            ("loop", "loop"),
            ("last", "here/hung"),
            ("up", "here/hung/.."),
        ];
        for (link, target) in links {
            symlink(target, top.join(link)).expect("linked");
        }
        let (hung, deep) = (top.join("here/hung"), top.join("here/hung/deep"));
        let mount = |point: &PathBuf, device| Mount {
            point: point.clone(),
            kind: "nfs".to_owned(),
            device,
        };
        let table = MountTable::from([
            (hung.clone(), mount(&hung, 1)),
            (deep.clone(), mount(&deep, 2)),
        ]);
        let way = |path: &str, allowed: u64| {
            let path = match path.strip_prefix("abs") {
                Some(_) => top
                    .join("abs")
                    .join(hung.strip_prefix("/").expect("absolute")),
                None => top.join(path),
            };
            let first = first_on_way(&table, &path, &|it| it.device <= allowed);
            first.map(|mount| mount.device)
        };
        let cases = [
            ("here", None),
            ("here/other", None),
            ("missing/../here/hung", None),
            ("loop/x", None),
            ("here/hung", Some(1)),
            ("here/hung/x", Some(1)),
            ("here/../here/hung/x", Some(1)),
            ("here/to/x", Some(1)),
            ("abs", Some(1)),
            ("last", Some(1)),
            ("up/x", Some(1)),
        ];
        for (path, expected) in cases {
            assert_eq!(way(path, 0), expected, "{path}");
        }
        assert_eq!(way("here/hung/x", 1), None);
        assert_eq!(way("here/to/x", 1), Some(2));
        assert_eq!(way("here/to/x", 2), None);
    }
}
