//! Walking down a path that does not exist as spelled, by look-alike names; it never guesses between two.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::task::{Stopped, Work};

use super::access::{Access, Opened};
use super::listings::{Listing, Listings};
use super::near_names::{MAX_SUGGESTIONS, PlainName};
use super::spelling::fold;

/// One reading of a path string.
#[derive(Debug)]
pub(super) struct PathReading {
    /// The absolute path that `head` stands for; `rest` is below it.
    pub(super) base: PathBuf,
    /// The part of the asked text before `rest`: empty, or with its final slash.
    pub(super) head: String,
    pub(super) rest: String,
}

impl PathReading {
    pub(super) fn path(&self) -> PathBuf {
        match self.rest.is_empty() {
            true => self.base.clone(),
            false => self.base.join(&self.rest),
        }
    }
}

/// How far a path could be followed.
#[derive(Debug)]
pub(super) enum Descent {
    Arrived(PathBuf),
    /// More than one entry looks like the name asked for: the paths, as the caller would write them.
    Several(Vec<String>),
    Stuck(Stuck),
}

/// Where a path cannot be followed any further.
#[derive(Debug)]
pub(super) struct Stuck {
    /// The deepest place that exists.
    pub(super) at: PathBuf,
    /// What the caller would write for it, with its final slash; empty for a root.
    pub(super) spelled: String,
    /// The name that it lacks.
    pub(super) missing: String,
    /// What was asked for below that, or empty.
    pub(super) rest: String,
    /// What is there instead, where that was looked at.
    pub(super) listing: Option<Arc<Listing>>,
}

impl Stuck {
    /// Before the last name of a reading that could be followed to its end, but is not to be had
    /// there: the file system knows a name that it does not list.
    pub(super) fn before_the_end(reading: &PathReading, end: &Path) -> Option<Stuck> {
        let whole = format!("{}{}", reading.head, reading.rest);
        let folder = whole.rfind('/').map_or(0, |slash| slash + 1);
        Some(Stuck {
            at: end.parent()?.to_path_buf(),
            spelled: whole[..folder].to_owned(),
            missing: end.file_name()?.to_str()?.to_owned(),
            rest: String::new(),
            listing: None,
        })
    }
}

/// Follows the reading name by name; one that is missing is replaced by the only allowed entry
/// that folds to the same.
pub(super) fn descend(
    access: &Access,
    listings: &Listings,
    reading: &PathReading,
    work: &Work,
) -> Result<Descent, Stopped> {
    let mut at = reading.base.clone();
    let mut spelled = reading.head.clone();
    let parts: Vec<&str> = reading.rest.split('/').collect();
    for (index, part) in parts.iter().enumerate() {
        let next = at.join(part);
        let mut name = Cow::Borrowed(*part);
        if !part.is_empty() && *part != "." && !access.crossing.is_there(&next) {
            let listing = names_in(access, listings, &at, work)?;
            let mut alike = look_alikes(access, &at, part, &listing);
            let rest = parts[index + 1..].join("/");
            match (alike.pop(), alike.is_empty()) {
                (Some(only), true) => name = Cow::Owned(only),
                (None, _) => {
                    let missing = (*part).to_owned();
                    return Ok(Descent::Stuck(Stuck {
                        at,
                        spelled,
                        missing,
                        rest,
                        listing: Some(listing),
                    }));
                }
                (Some(last), false) => {
                    alike.push(last);
                    return Ok(Descent::Several(written(
                        access, &at, &spelled, &alike, &rest,
                    )));
                }
            }
        }
        at.push(&*name);
        spelled.push_str(&name);
        if index + 1 < parts.len() {
            spelled.push('/');
        }
    }
    Ok(Descent::Arrived(at))
}

/// The allowed entries of a directory that fold to the same as `name`, sorted.
fn look_alikes(access: &Access, directory: &Path, name: &str, listing: &Listing) -> Vec<String> {
    let wanted = fold(name);
    let plain = PlainName::of(name);
    // What folds to the same does so without case too, and that is known already.
    let names = listing.names.iter().filter(|entry| {
        entry.plain == plain
            && fold(&entry.listed) == wanted
            && is_open_to(access, &directory.join(&entry.listed))
    });
    let mut alike: Vec<String> = names.map(|entry| entry.listed.clone()).collect();
    alike.sort();
    alike
}

/// The names in a directory, none where it may not be listed or cannot be. They are not judged.
pub(super) fn names_in(
    access: &Access,
    listings: &Listings,
    directory: &Path,
    work: &Work,
) -> Result<Arc<Listing>, Stopped> {
    let asked = directory.to_string_lossy();
    match access.open(directory, &asked) {
        Ok(Opened::Here(handle)) => listings.of(&handle, work),
        _ => Ok(Arc::default()),
    }
}

/// Whether a path exists and may be named to the caller. What is on a mount that nobody asked for
/// is not looked at.
pub(super) fn is_open_to(access: &Access, path: &Path) -> bool {
    access.crossing.stays(path) && matches!(access.open(path, ""), Ok(Opened::Here(_)))
}

/// The paths that `names` stand for, with what was asked below them where they have it.
fn written(access: &Access, at: &Path, spelled: &str, names: &[String], rest: &str) -> Vec<String> {
    let is_there = |path: &Path| access.crossing.stays(path) && path.symlink_metadata().is_ok();
    let paths = names.iter().map(|name| {
        let short = format!("{spelled}{name}");
        match !rest.is_empty() && is_there(&at.join(name).join(rest)) {
            true => format!("{short}/{rest}"),
            false => short,
        }
    });
    paths.take(MAX_SUGGESTIONS).collect()
}
