//! How much of a path is there, and where it leads; nothing is judged here.

use std::path::{Path, PathBuf};

use super::super::handle::Unjudged;
use super::super::spelling::{climbs, normalise};
use super::MAX_LINKS;

/// Where an absolute path leads, links followed, and whether it is there; else it is where it
/// would be. Nothing is judged.
pub fn where_it_leads(path: &Path) -> Option<(PathBuf, bool)> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        if let Ok(real) = std::fs::canonicalize(&path) {
            return Some((real, true));
        }
        let (real, rest) = deepest_directory(&path)?;
        let mut names = rest.components();
        let missing = real.join(names.next()?);
        path = match std::fs::read_link(missing) {
            // A link that leads nowhere, yet.
            Ok(target) => real.join(target).join(names.as_path()),
            Err(_) if climbs(&rest) => normalise(&real.join(&rest)),
            Err(_) => return Some((real.join(rest), false)),
        };
    }
    None
}

/// The real path of the deepest directory of `path` that exists, and the rest as it is.
pub(super) fn deepest_existing(path: &Path) -> Option<PathBuf> {
    let (real, rest) = deepest_directory(path)?;
    Some(real.components().chain(rest.components()).collect())
}

/// The two halves of that.
fn deepest_directory(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let (opened, ancestor) = deepest_opened(path.parent()?)?;
    let rest = path.strip_prefix(ancestor).ok()?;
    Some((opened.real()?.to_path_buf(), rest.to_path_buf()))
}

/// The deepest of `path` and what is above it that exists.
pub(super) fn deepest_opened(path: &Path) -> Option<(Unjudged, &Path)> {
    let above: Vec<&Path> = path.ancestors().collect();
    // Below what is missing everything is: it need not be asked for name by name.
    let missing = above.partition_point(|ancestor| ancestor.metadata().is_err());
    let mut there = above[missing..].iter();
    there.find_map(|ancestor| Some((Unjudged::open(ancestor).ok()?, *ancestor)))
}
