//! What a file system is like, by what the system calls it; nothing here opens a file.

#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::path::Path;

/// Magic numbers, from linux/magic.h and the file systems' own headers.
#[cfg(target_os = "linux")]
mod magic {
    pub(super) const FUSE: u32 = 0x6573_5546;
    /// NFS, SMB, CIFS, SMB2, 9P, AFS, kAFS, Coda, Ceph, NCP, Lustre, GPFS.
    pub(super) const REMOTE: [u32; 12] = [
        0x6969,
        0x517B,
        0xFF53_4D42,
        0xFE53_4D42,
        0x0102_1997,
        0x5346_414F,
        0x6B41_4653,
        0x7375_7245,
        0x00C3_6400,
        0x564C,
        0x0BD0_0BD0,
        0x4750_4653,
    ];
    /// ext2 to ext4, XFS, Btrfs, tmpfs, ramfs, overlayfs, F2FS, ZFS, bcachefs.
    pub(super) const OURS_ALONE: [u32; 9] = [
        0xEF53,
        0x5846_5342,
        0x9123_683E,
        0x0102_1994,
        0x8584_58F6,
        0x794C_7630,
        0xF2F5_2010,
        0x2FC1_2FC1,
        0xCA45_1A4E,
    ];
    /// FUSE (NTFS-3G, exfat-fuse, whatever somebody writes), 9P (drvfs of WSL), SMB, CIFS, SMB2,
    /// FAT, exFAT, NTFS, NTFS3, HPFS, HFS, HFS+, VirtualBox's and VMware's shared folders.
    pub(super) const NAMING: [u32; 14] = [
        FUSE,
        0x0102_1997,
        0x517B,
        0xFF53_4D42,
        0xFE53_4D42,
        0x4D44,
        0x2011_BAB0,
        0x5346_544E,
        0x7366_746E,
        0xF995_E849,
        0x4244,
        0x482B,
        0x786F_4256,
        0xBACB_ACBC,
    ];

    /// The field's width differs between machines; magic numbers have 32 bits.
    pub(super) fn of(system: &rustix::fs::StatFs) -> u32 {
        (i128::from(system.f_type) & 0xFFFF_FFFF) as u32
    }
}

/// Whether a walk of this folder would go over a network.
#[cfg(target_os = "linux")]
pub(super) fn is_remote(folder: &Path) -> bool {
    let Ok(system) = rustix::fs::statfs(folder) else {
        return false;
    };
    let system = magic::of(&system);
    magic::REMOTE.contains(&system) || (system == magic::FUSE && !is_local_fuse(folder))
}

/// FUSE has one magic number for sshfs and for the host folders of a virtual machine; the mount
/// table tells them apart.
#[cfg(target_os = "linux")]
fn is_local_fuse(folder: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounts = table.lines().filter_map(|line| {
        // https://docs.kernel.org/filesystems/proc.html#proc-pid-mountinfo
        let (place, kind) = line.split_once(" - ")?;
        let point = place.split(' ').nth(4)?;
        folder
            .starts_with(point)
            .then(|| (point.len(), kind.split(' ').next()))
    });
    let nearest = mounts.max_by_key(|(length, _)| *length);
    matches!(
        nearest,
        Some((_, Some("virtiofs" | "fuseblk" | "fuse.grpcfuse")))
    )
}

/// Whether nobody but this system changes what is in this folder's file system, so that a watch
/// tells of everything.
#[cfg(target_os = "linux")]
pub(super) fn tells_of_all_changes(folder: &Path) -> bool {
    let system = rustix::fs::statfs(folder);
    system.is_ok_and(|system| magic::OURS_ALONE.contains(&magic::of(&system)))
}

/// The same of what is opened.
#[cfg(target_os = "linux")]
pub(super) fn is_ours_alone(file: impl AsFd) -> bool {
    let system = rustix::fs::fstatfs(file);
    system.is_ok_and(|system| magic::OURS_ALONE.contains(&magic::of(&system)))
}

/// Whether the file system of an opened file may find it under names that it is not listed by,
/// such as short ones.
#[cfg(target_os = "linux")]
pub(super) fn has_names_of_its_own(file: impl AsFd) -> bool {
    let system = rustix::fs::fstatfs(file);
    system.map_or(true, |system| magic::NAMING.contains(&magic::of(&system)))
}

#[cfg(target_os = "macos")]
pub(super) fn is_remote(folder: &Path) -> bool {
    const MNT_LOCAL: u32 = 0x1000;
    rustix::fs::statfs(folder).is_ok_and(|system| system.f_flags & MNT_LOCAL == 0)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(super) fn is_remote(_: &Path) -> bool {
    false
}

/// Elsewhere the real path of an opened file has the names as they are listed.
#[cfg(not(target_os = "linux"))]
pub(super) fn has_names_of_its_own(_: impl std::os::fd::AsFd) -> bool {
    false
}
