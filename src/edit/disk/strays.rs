//! Temporaries of dead processes that noted them in another state directory; none is touched that somebody has locked, and none that is for another file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};

use crate::workspace::Folder;

use super::lock::{LockAttempt, try_lock};
use super::metadata::FileMetadata;
use super::stage::{MARK, NAME_LIMITS, temporary_name_of};
use super::write_step::WriteStep;

/// Names of a directory that are looked through: more would cost more than the write.
const NAMES_LOOKED_AT: usize = 8192;

/// Removes what is left beside files of these names in `folder`. What cannot be removed stays for
/// the next time.
pub(super) fn remove(folder: &Folder, names: &[OsString]) {
    // The folder's own descriptor is only a place.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(folder, ".", flags, Mode::empty());
    let Ok(directory) = opened.and_then(Dir::new) else {
        return;
    };
    for entry in directory.take(NAMES_LOOKED_AT).flatten() {
        let found = OsStr::from_bytes(entry.file_name().to_bytes());
        if names.iter().any(|name| is_for(found, name)) {
            remove_one(folder, found);
        }
    }
}

/// Whether it is the name of a temporary for a file called `name`, of whatever process.
fn is_for(found: &OsStr, name: &OsStr) -> bool {
    let bytes = found.as_bytes();
    if bytes.first() != Some(&b'.') {
        return false;
    }
    let Some(at) = memchr::memmem::rfind(bytes, MARK.as_bytes()) else {
        return false;
    };
    let tail = str::from_utf8(&bytes[at + MARK.len()..]).ok();
    let Some((process, number)) = tail.and_then(|tail| tail.split_once('-')) else {
        return false;
    };
    let (Ok(process), Ok(number)) = (process.parse(), number.parse()) else {
        return false;
    };
    let of = |limit: &usize| temporary_name_of(name, (process, number), *limit) == found;
    NAME_LIMITS.iter().any(of)
}

fn remove_one(folder: &Folder, name: &OsStr) -> Option<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?;
    let file = Arc::new(File::from(opened));
    let Ok(LockAttempt::Held(_held)) = try_lock(&file, WriteStep::Remove) else {
        return None;
    };
    let named = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileMetadata::of(&named).inode == FileMetadata::at(&*file).ok()?.inode {
        rustix::fs::unlinkat(folder, name, AtFlags::empty()).ok()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::disk::stage::temporary_name;

    #[test]
    fn a_temporary_is_known_by_the_name_that_it_is_for() {
        let long = "é".repeat(127);
        for name in ["a", ".a.pilcrow-1-2", "a b", long.as_str()] {
            for limit in NAME_LIMITS {
                let made = temporary_name(name.as_ref(), 17, limit);
                assert!(is_for(&made, name.as_ref()), "{made:?}");
                for other in ["b", "a.", ".a", "", "é"] {
                    assert!(!is_for(&made, other.as_ref()), "{made:?} of {other}");
                }
            }
        }
        for strange in [
            ".a.pilcrow-1",
            ".a.pilcrow-1-x",
            "a.pilcrow-1-2",
            ".a.pilcrow--2",
            ".a",
        ] {
            assert!(!is_for(strange.as_ref(), "a".as_ref()), "{strange}");
        }
    }
}
