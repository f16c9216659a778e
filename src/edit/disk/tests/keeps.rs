//! What a file keeps when its text is another: its mode, owner, attributes and names.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::XattrFlags;
use rustix::io::Errno;

use super::super::fail::scripted::failing;
use super::super::{FileError, WriteError};
use super::{NOBODY, Scratch, as_ordinary_user, chown, errno, inode, is_root, mode_of};

fn set_mode(place: &Scratch, name: &str, mode: u32) {
    let mode = fs::Permissions::from_mode(mode);
    fs::set_permissions(place.path(name), mode).expect("set");
}

#[test]
fn modes_are_kept() {
    let place = Scratch::new();
    for wanted in [0o755, 0o600, 0o640, 0o4755, 0o2755, 0o1644, 0o666] {
        place.put("a", "old");
        set_mode(&place, "a", wanted);
        let before = inode(&place, "a");
        place
            .write(vec![place.change("a", "new")])
            .expect("written");
        assert_eq!(mode_of(&place, "a"), wanted, "{wanted:o}");
        assert_ne!(inode(&place, "a"), before);
        place.assert_clean();
    }
}

#[test]
fn another_ones_file_keeps_its_owner() {
    let place = Scratch::new();
    place.put("a", "old");
    if !is_root() {
        let given = std::os::unix::fs::chown(place.path("a"), Some(NOBODY), None);
        let error = given.expect_err("only root gives files away");
        assert_eq!(Errno::from_io_error(&error), Some(Errno::PERM));
        return;
    }
    // Root keeps it in a new file.
    std::os::unix::fs::chown(place.path("a"), Some(NOBODY), Some(1234)).expect("root may");
    set_mode(&place, "a", 0o4755);
    let written = place
        .write(vec![place.change("a", "new")])
        .expect("written");
    assert!(!written[0].in_place);
    let owner = |name| (place.metadata(name).uid(), place.metadata(name).gid());
    assert_eq!((owner("a"), mode_of(&place, "a")), ((NOBODY, 1234), 0o4755));

    // Who may write the file and not give one away writes the file itself.
    place.give_away();
    place.put("b", "old, and longer than the new");
    set_mode(&place, "b", 0o666);
    let before = inode(&place, "b");
    let written = as_ordinary_user(|| place.write(vec![place.change("b", "new")]));
    assert!(written.expect("written")[0].in_place);
    assert_eq!(
        (place.text("b"), owner("b"), inode(&place, "b")),
        ("new".into(), (0, 0), before)
    );
    place.assert_clean();
}

#[test]
fn a_file_of_two_names_keeps_both() {
    let place = Scratch::new();
    for new in ["new", "new, and very much longer than the old one was", ""] {
        place.put("a", "the old text");
        set_mode(&place, "a", 0o4755);
        fs::hard_link(place.path("a"), place.path("b")).expect("linked");
        let before = inode(&place, "a");
        let written = place.write(vec![place.change("b", new)]).expect("written");
        assert!(written[0].in_place);
        assert_eq!(
            (place.text("a"), place.text("b")),
            (new.to_owned(), new.to_owned())
        );
        assert_eq!((inode(&place, "a"), inode(&place, "b")), (before, before));
        assert_eq!(mode_of(&place, "a"), 0o4755);
        place.assert_clean();
        fs::remove_file(place.path("b")).expect("removed");
    }
}

/// A directory whose file system has attributes of this kind, if this machine has one.
fn place_with(name: &str, value: &[u8]) -> Option<PathBuf> {
    let shared = Path::new("/dev/shm");
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    [std::env::temp_dir(), shared.to_path_buf(), target]
        .into_iter()
        .find(|parent| {
            let probe = tempfile::NamedTempFile::new_in(parent);
            probe.is_ok_and(|probe| set(probe.path(), name, value).is_ok())
        })
}

fn set(path: &Path, name: &str, value: &[u8]) -> rustix::io::Result<()> {
    rustix::fs::setxattr(path, name, value, XattrFlags::empty())
}

fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 4096];
    let count = rustix::fs::getxattr(path, name, &mut value[..]).ok()?;
    value.truncate(count);
    Some(value)
}

/// acl(5) as Linux stores it: version 2, then tag, permissions and id of each entry.
fn acl() -> Vec<u8> {
    let none = u32::MAX;
    let entries: [(u16, u16, u32); 5] = [
        (1, 6, none),
        (2, 4, 1234),
        (4, 4, none),
        (0x10, 4, none),
        (0x20, 0, none),
    ];
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

const ACL: &str = "system.posix_acl_access";
const DEFAULT_ACL: &str = "system.posix_acl_default";

/// On a machine without a file system that has them there is nothing to keep, and a write says so
/// by not failing.
fn without_attributes() {
    let place = Scratch::new();
    place.put("a", "old");
    let probe = set(&place.path("a"), "user.test", b"x");
    assert!(
        matches!(probe, Err(Errno::NOTSUP | Errno::PERM)),
        "{probe:?}"
    );
    place
        .write(vec![place.change("a", "new")])
        .expect("written");
}

#[test]
fn attributes_are_kept() {
    let long = vec![b'x'; 2000];
    let Some(parent) = place_with("user.test", &long) else {
        return without_attributes();
    };
    let place = Scratch::in_directory(&parent);
    place.put("a", "old");
    let names = ["user.one", "user.two", "user.empty"];
    let values: [&[u8]; 3] = [b"1", &long, b""];
    for (name, value) in names.iter().zip(values) {
        set(&place.path("a"), name, value).expect("set");
    }
    let written = place
        .write(vec![place.change("a", "new")])
        .expect("written");
    assert!(!written[0].in_place);
    for (name, value) in names.iter().zip(values) {
        assert_eq!(
            get(&place.path("a"), name).as_deref(),
            Some(value),
            "{name}"
        );
    }
    assert_eq!(place.text("a"), "new");
    place.assert_clean();
}

#[test]
fn attributes_that_no_new_file_can_have_keep_the_old_one() {
    let Some(parent) = place_with("user.test", b"x") else {
        return without_attributes();
    };
    let place = Scratch::in_directory(&parent);
    place.put("a", "old");
    set(&place.path("a"), "user.one", b"1").expect("set");
    let before = inode(&place, "a");
    let change = vec![place.change("a", "new")];
    // The listing of both, the value, and then the setting.
    let written = failing("xattr:4:EPERM", || place.write(change)).expect("written");
    assert!(written[0].in_place);
    assert_eq!(
        (place.text("a"), inode(&place, "a")),
        ("new".into(), before)
    );
    assert_eq!(
        get(&place.path("a"), "user.one").as_deref(),
        Some(&b"1"[..])
    );
    let change = vec![place.change("a", "newer")];
    let error = failing("xattr:4:ENOSPC", || place.write(change)).expect_err("no room");
    assert_eq!(errno(&error), Some(Errno::NOSPC));
    assert_eq!(place.text("a"), "new");
    place.assert_clean();
}

#[test]
fn access_lists_are_kept_and_none_is_taken_over() {
    let Some(parent) = place_with(ACL, &acl()) else {
        return without_attributes();
    };
    let place = Scratch::in_directory(&parent);
    place.put("a", "old");
    set(&place.path("a"), ACL, &acl()).expect("set");
    let before = (get(&place.path("a"), ACL), mode_of(&place, "a"));
    assert!(before.0.is_some());
    place
        .write(vec![place.change("a", "new")])
        .expect("written");
    assert_eq!((get(&place.path("a"), ACL), mode_of(&place, "a")), before);

    // A list that new files in the directory get is not for one that is older than the list.
    place.put("b", "old");
    set_mode(&place, "b", 0o640);
    set(&place.path("."), DEFAULT_ACL, &acl()).expect("set");
    place
        .write(vec![place.change("b", "new")])
        .expect("written");
    assert_eq!(
        (get(&place.path("b"), ACL), mode_of(&place, "b")),
        (None, 0o640)
    );
    // And for a new file it is.
    place
        .write(vec![place.creation("c", "new")])
        .expect("written");
    assert!(get(&place.path("c"), ACL).is_some());
    place.assert_clean();
}

#[test]
fn a_mode_that_cannot_be_kept_is_never_lost() {
    let place = Scratch::new();
    place.put("a", "old");
    set_mode(&place, "a", 0o755);
    let before = inode(&place, "a");
    let change = vec![place.change("a", "new")];
    let written = failing("chmod:1:EPERM", || place.write(change)).expect("written");
    assert!(written[0].in_place);
    assert_eq!((inode(&place, "a"), mode_of(&place, "a")), (before, 0o755));
    let change = vec![place.change("a", "newer")];
    let error = failing("chmod:1:EIO", || place.write(change)).expect_err("broken");
    assert!(matches!(
        error,
        WriteError::File {
            index: 0,
            fault: FileError::Io(..)
        }
    ));
    assert_eq!(place.text("a"), "new");
    place.assert_clean();
}

#[test]
fn an_ordinary_user_keeps_what_is_theirs() {
    let place = Scratch::new();
    place.give_away();
    place.put("a", "old");
    chown(&place.path("a"), NOBODY);
    set_mode(&place, "a", 0o4711);
    let uid = place.metadata("a").uid();
    // Mode 4711 may be read by its owner alone.
    let written = as_ordinary_user(|| place.write(vec![place.change("a", "new")]));
    assert!(!written.expect("written")[0].in_place);
    assert_eq!(
        (place.text("a"), mode_of(&place, "a")),
        ("new".into(), 0o4711)
    );
    assert_eq!(place.metadata("a").uid(), uid);
    place.assert_clean();
}

/// ioctl_iflags(2): no access times, and append-only.
const NO_ACCESS_TIMES: u32 = 0x80;
const APPEND_ONLY: u32 = 0x20;

#[cfg(target_os = "linux")]
fn flags(path: &Path) -> u32 {
    let file = fs::File::open(path).expect("there");
    rustix::fs::ioctl_getflags(file).map_or(0, |flags| flags.bits())
}

/// Adds flags to a file, or takes them; whether this user and the file system can.
#[cfg(target_os = "linux")]
fn change_flags(path: &Path, add: u32, take: u32) -> bool {
    let file = fs::File::open(path).expect("there");
    let flags = rustix::fs::IFlags::from_bits_retain(flags(path) & !take | add);
    rustix::fs::ioctl_setflags(file, flags).is_ok()
}

#[cfg(target_os = "linux")]
#[test]
fn inode_flags_are_kept_and_none_is_taken_over() {
    let place = Scratch::new();
    place.put("a", "old");
    let is_set = change_flags(&place.path("a"), NO_ACCESS_TIMES, 0);
    // New files in it have the flag from now on.
    change_flags(&place.path("."), NO_ACCESS_TIMES, 0);
    place.put("b", "old");
    change_flags(&place.path("b"), 0, NO_ACCESS_TIMES);
    let before = ["a", "b"].map(|name| (flags(&place.path(name)), inode(&place, name)));
    let files = vec![place.change("a", "new"), place.change("b", "new")];
    let written = place.write(files).expect("written");
    for (written, (name, (kept, old))) in written.iter().zip(["a", "b"].iter().zip(before)) {
        assert_eq!(flags(&place.path(name)), kept, "{name}");
        assert!(!written.in_place && inode(&place, name) != old, "{name}");
    }
    assert_eq!(is_set, flags(&place.path("a")) & NO_ACCESS_TIMES != 0);
    // Where a new file may not have them, the old one stays.
    let before = ["a", "b"].map(|name| (flags(&place.path(name)), inode(&place, name)));
    if is_set {
        // Its directory gives it to new files, which then have nothing to be refused.
        change_flags(&place.path("."), 0, NO_ACCESS_TIMES);
        let files = vec![place.change("a", "newer")];
        // The guard, those of both, and then the setting.
        let written = failing("chattr:4:EPERM", || place.write(files)).expect("written");
        assert!(written[0].in_place);
        assert_eq!((flags(&place.path("a")), inode(&place, "a")), before[0]);
    }
    place.assert_clean();
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_may_only_grow_is_not_edited() {
    let place = Scratch::new();
    for name in ["a", "b"] {
        place.put(name, "old");
    }
    // Only root may set it.
    if change_flags(&place.path("b"), APPEND_ONLY, 0) {
        let files = vec![place.change("a", "new"), place.change("b", "new")];
        let error = place.write(files);
        assert!(change_flags(&place.path("b"), 0, APPEND_ONLY));
        let error = error.expect_err("append-only");
        assert!(
            matches!(
                error,
                WriteError::File {
                    index: 1,
                    fault: FileError::Io(..)
                }
            ),
            "{error:?}"
        );
        assert_eq!(errno(&error), Some(Errno::PERM));
    }
    let texts = ["a", "b"].map(|name| place.text(name));
    assert_eq!(texts, ["old", "old"]);
    place.assert_clean();
}
