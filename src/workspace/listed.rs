//! Names as their directories list them, on file systems that find a file under others as well (`ENV~1`, `.env::$DATA`); no rule would know such a name.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Dir;

use super::file_system::has_names_of_its_own;
use super::handle::Unjudged;

/// Whether every name on the way to an opened file, from its workspace folder down, stands in its
/// directory's listing, byte for byte. Errors with the system's error where that cannot be known.
/// `folder_of` gives the real path of the folder that a file is in.
pub(super) fn is_as_listed(
    opened: &Unjudged,
    folder_of: impl Fn(&Path) -> Option<PathBuf>,
) -> io::Result<bool> {
    if !has_names_of_its_own(opened.file()) {
        return Ok(true);
    }
    let Some(real) = opened.real() else {
        return Ok(true);
    };
    // The folder itself is as the client spells it; rules begin below it.
    let folder = folder_of(real);
    let folder = folder.as_deref().unwrap_or(Path::new("/"));
    let mut at = real;
    while at != folder
        && let (Some(parent), Some(name)) = (at.parent(), at.file_name())
    {
        let directory = Unjudged::open(parent)?;
        if has_names_of_its_own(directory.file()) && !lists(directory, parent, name)? {
            return Ok(false);
        }
        at = parent;
    }
    Ok(true)
}

fn lists(directory: Unjudged, path: &Path, name: &OsStr) -> io::Result<bool> {
    let listing = directory.allowed(path).open_read()?;
    let mut listing = Dir::new(OwnedFd::from(listing))?;
    while let Some(entry) = listing.read() {
        if entry?.file_name().to_bytes() == name.as_bytes() {
            return Ok(true);
        }
    }
    Ok(false)
}
