//! Walking down a path that does not exist as spelled, by look-alike names; it never guesses between two.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::task::{Stopped, Work};

use super::access::{Access, Opened};
use super::resolve::{Candidate, MAX_SUGGESTIONS};
use super::spelling::fold;

/// Entries of one directory that are looked at; a name past these is not found.
const MAX_ENTRIES: usize = 100_000;

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
}

impl Stuck {
    /// Before the last name of a candidate that could be followed to its end, but is not to be had
    /// there: the file system knows a name that it does not list.
    pub(super) fn before_the_end(candidate: &Candidate, end: &Path) -> Option<Stuck> {
        let whole = format!("{}{}", candidate.head, candidate.rest);
        let folder = whole.rfind('/').map_or(0, |slash| slash + 1);
        Some(Stuck {
            at: end.parent()?.to_path_buf(),
            spelled: whole[..folder].to_owned(),
            missing: end.file_name()?.to_str()?.to_owned(),
            rest: String::new(),
        })
    }
}

/// Follows the candidate name by name; one that is missing is replaced by the only allowed entry
/// that folds to the same.
pub(super) fn descend(
    access: &Access,
    candidate: &Candidate,
    work: &Work,
) -> Result<Descent, Stopped> {
    let mut at = candidate.base.clone();
    let mut spelled = candidate.head.clone();
    let parts: Vec<&str> = candidate.rest.split('/').collect();
    for (index, part) in parts.iter().enumerate() {
        let next = at.join(part);
        let mut name = OsString::from(part);
        if !part.is_empty() && *part != "." && next.symlink_metadata().is_err() {
            let mut alike = look_alikes(access, &at, part, work)?;
            let rest = parts[index + 1..].join("/");
            match (alike.pop(), alike.is_empty()) {
                (Some(only), true) => name = only,
                (None, _) => {
                    let missing = (*part).to_owned();
                    return Ok(Descent::Stuck(Stuck {
                        at,
                        spelled,
                        missing,
                        rest,
                    }));
                }
                (Some(last), false) => {
                    alike.push(last);
                    return Ok(Descent::Several(written(&at, &spelled, &alike, &rest)));
                }
            }
        }
        at.push(&name);
        spelled.push_str(&name.to_string_lossy());
        if index + 1 < parts.len() {
            spelled.push('/');
        }
    }
    Ok(Descent::Arrived(at))
}

/// The allowed entries of a directory that fold to the same as `name`, sorted.
fn look_alikes(
    access: &Access,
    directory: &Path,
    name: &str,
    work: &Work,
) -> Result<Vec<OsString>, Stopped> {
    let wanted = fold(name);
    let mut alike = names_in(access, directory, work)?;
    alike.retain(|entry| {
        entry.to_str().is_some_and(|entry| fold(entry) == wanted)
            && is_open_to(access, &directory.join(entry))
    });
    alike.sort();
    Ok(alike)
}

/// The names in a directory, none where it may not be listed or cannot be. They are not judged.
pub(super) fn names_in(
    access: &Access,
    directory: &Path,
    work: &Work,
) -> Result<Vec<OsString>, Stopped> {
    let asked = directory.to_string_lossy();
    let names = match access.open(directory, &asked) {
        Ok(Opened::Here(handle)) => handle.names(MAX_ENTRIES, || work.check().is_ok()),
        _ => return Ok(Vec::new()),
    };
    work.check()?;
    Ok(names.unwrap_or_default())
}

/// Whether a path exists and may be named to the caller.
pub(super) fn is_open_to(access: &Access, path: &Path) -> bool {
    matches!(access.open(path, ""), Ok(Opened::Here(_)))
}

/// The paths that `names` stand for, with what was asked below them where they have it.
fn written(at: &Path, spelled: &str, names: &[OsString], rest: &str) -> Vec<String> {
    let paths = names.iter().map(|name| {
        let short = format!("{spelled}{}", name.to_string_lossy());
        match !rest.is_empty() && at.join(name).join(rest).symlink_metadata().is_ok() {
            true => format!("{short}/{rest}"),
            false => short,
        }
    });
    paths.take(MAX_SUGGESTIONS).collect()
}
