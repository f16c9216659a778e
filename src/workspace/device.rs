//! Which file systems are local, so that a file's stamp is the kernel's own and tells its changes; elsewhere nobody here sees who writes.

use std::fs::File;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// What was found out of a device.
struct KnownDevice {
    device: u64,
    is_local: bool,
    asked_at: Instant,
}

/// The devices that were asked about, the newest last. Of the whole process, as file systems are of
/// the system: every handle asks, whoever opened it.
static KNOWN: Mutex<Vec<KnownDevice>> = Mutex::new(Vec::new());

/// Devices that are remembered.
const MAX_KNOWN: usize = 64;

/// The number of a device that was unmounted is soon another's.
const REMEMBERED_FOR: Duration = Duration::from_secs(1);

/// Whether `file`, which is on `device`, is on a local file system. What cannot be found out is
/// taken for one that is not.
pub(super) fn is_local(file: &File, device: u64, now: Instant) -> bool {
    let is_fresh = |known: &&KnownDevice| {
        known.device == device && now.saturating_duration_since(known.asked_at) < REMEMBERED_FOR
    };
    let known = KNOWN.lock().iter().find(is_fresh).map(|it| it.is_local);
    if let Some(is_local) = known {
        return is_local;
    }
    // Not under the lock: a server may take its time.
    let is_local = rustix::fs::fstatfs(file).is_ok_and(|about| platform::is_local(&about));
    let mut all = KNOWN.lock();
    all.retain(|known| known.device != device);
    if all.len() == MAX_KNOWN {
        all.remove(0);
    }
    all.push(KnownDevice {
        device,
        is_local,
        asked_at: now,
    });
    is_local
}

#[cfg(target_os = "linux")]
mod platform {
    /// The file systems that are known to be local, by the magic numbers of `statfs(2)`. FUSE is
    /// none of them, nor what is mounted through it as a block device (`ntfs-3g`): its server says
    /// what the times are, and how long the kernel believes it.
    const LOCAL: &[u32] = &[
        0x0000_EF53, // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683E, // Btrfs
        0x0102_1994, // tmpfs
        0x794C_7630, // overlayfs
        0xF2F5_2010, // F2FS
        0x2FC1_2FC1, // ZFS
        0xCA45_1A4E, // bcachefs
        0x8584_58F6, // ramfs
        0x7371_7368, // SquashFS
        0xE0F5_E1E2, // EROFS
        0x0000_9660, // ISO 9660
        0x1501_3346, // UDF
        0x0000_4D44, // FAT
        0x2011_BAB0, // exFAT
        0x7366_746E, // NTFS, the kernel's own
        0x0000_482B, // HFS+
        0x3153_464A, // JFS
        0x5265_4973, // ReiserFS
        0x0000_3434, // NILFS2
        0x0000_9FA0, // proc
        0x6265_6572, // sysfs
        0x0027_E0EB, // cgroup
        0x6367_7270, // cgroup2
        0x6462_6720, // debugfs
        0x7472_6163, // tracefs
        0x0000_1CD1, // devpts
        0x9584_58F6, // hugetlbfs
    ];

    pub(super) fn is_local(about: &rustix::fs::StatFs) -> bool {
        // The numbers have 32 bits; the field has more on some machines, and a sign on others.
        LOCAL.contains(&(about.f_type as u32))
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    /// `MNT_LOCAL` of `<sys/mount.h>`.
    const LOCAL: u64 = 0x1000;

    pub(super) fn is_local(about: &rustix::fs::StatFs) -> bool {
        about.f_flags as u64 & LOCAL != 0
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_device_is_asked_about_once_a_second_and_few_are_remembered() {
        let file = File::open("/proc/self/status").expect("opened");
        let device = file.metadata().expect("its metadata").dev();
        let now = Instant::now();
        assert!(is_local(&file, device, now));
        assert!(is_local(&file, device, now + REMEMBERED_FOR * 2));
        for other in 0..200 {
            is_local(&file, u64::MAX - other, now);
        }
        assert!(KNOWN.lock().len() <= MAX_KNOWN);
    }
}
