//! Where a file may be moved to, and where a link itself is; a place that something has is never given, under whatever name the file system knows it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::protocol::Refusal;

use super::access::PathKind;
use super::handle::{FileType, RealPath};
use super::resolve::{Exact, Scope, not_found, validate};
use super::spelling::is_too_long;

/// A place that nothing has, judged like a file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPlace {
    /// The path.
    pub real: RealPath,
    /// The file system takes its name for that of the file that is to be moved there (`a.ts` and
    /// `A.ts`).
    pub is_alias: bool,
}

/// A place that is allowed and has something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenPlace {
    /// The path.
    pub real: RealPath,
    /// What is there.
    pub by: TakenBy,
}

/// What is at a place to which a file is to be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenBy {
    /// A directory.
    Directory,
    /// The very file.
    Itself,
    /// Another file, or a link that leads nowhere.
    Other,
}

/// A link, and not what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPlace {
    /// Its own place.
    pub real: RealPath,
    /// Where it leads, as it is written.
    pub leads_to: PathBuf,
}

impl Scope {
    /// The place of a path to which what is at `from` is to be moved: in the first root for a
    /// relative path, or in the one that it names. Refuses as [`Scope::find_exact`] does.
    pub fn new_place(
        &self,
        path: &str,
        from: &RealPath,
    ) -> Result<Result<NewPlace, TakenPlace>, Refusal> {
        if is_too_long(path) {
            return Err(not_found(path, Vec::new()));
        }
        validate(path)?;
        let readings = match self.exact(path)? {
            Exact::Here { handle, .. } => {
                let by = match handle.file_type() {
                    FileType::Directory => TakenBy::Directory,
                    _ if handle.real() == from => TakenBy::Itself,
                    _ => TakenBy::Other,
                };
                let real = handle.real().clone();
                return Ok(Err(TakenPlace { real, by }));
            }
            Exact::TooLong(_) => return Err(not_found(path, Vec::new())),
            Exact::Nothing(readings) => readings,
        };
        let is_url = self.url_readings(path)?.is_some();
        let in_named_root = || self.in_named_root(path).filter(|_| !is_url);
        let reading = in_named_root().or_else(|| readings.into_iter().next());
        let Some(reading) = reading else {
            return Err(not_found(path, Vec::new()));
        };
        let at = reading.path();
        if let Some(real) = self.as_alias(&at, from) {
            return Ok(Ok(NewPlace {
                real,
                is_alias: true,
            }));
        }
        let real = self.access.would_be(&at, path)?;
        // A link that leads nowhere would be somewhere else.
        Ok(match at.symlink_metadata() {
            Ok(_) => Err(TakenPlace {
                real,
                by: TakenBy::Other,
            }),
            Err(_) => Ok(NewPlace {
                real,
                is_alias: false,
            }),
        })
    }

    /// The path `at`, where no folder lists it but the file system finds `from` by it, which is in
    /// the same folder.
    fn as_alias(&self, at: &Path, from: &RealPath) -> Option<RealPath> {
        let (there, here) = (
            at.symlink_metadata().ok()?,
            from.as_path().symlink_metadata().ok()?,
        );
        let is_same = (there.dev(), there.ino()) == (here.dev(), here.ino());
        let parent = self.open(at.parent()?).ok()?;
        let is_beside = from.as_path().parent() == Some(parent.real().as_path());
        let real = parent.real().as_path().join(at.file_name()?);
        let is_allowed = self.access.permits(&real, PathKind::File);
        (is_same && is_beside && is_allowed).then(|| RealPath::would_be(real))
    }

    /// The link by which a path leads to a file, if its last name is one. Refuses as
    /// [`Scope::find_exact`] does.
    pub fn link_at(&self, path: &str) -> Result<Option<LinkPlace>, Refusal> {
        let Exact::Here { at, .. } = self.exact(path)? else {
            return Ok(None);
        };
        let (Ok(leads_to), Some(parent), Some(name)) =
            (std::fs::read_link(&at), at.parent(), at.file_name())
        else {
            return Ok(None);
        };
        let parent = self.open(parent)?;
        let real = parent.real().as_path().join(name);
        match self.access.permits(&real, PathKind::File) {
            true => Ok(Some(LinkPlace {
                real: RealPath::would_be(real),
                leads_to,
            })),
            false => Err(not_found(path, Vec::new())),
        }
    }

    /// Whether two places are files of one store of its own, or both of none.
    pub fn are_of_one_store(&self, one: &RealPath, other: &RealPath) -> bool {
        let store = |real: &RealPath| {
            let folder = self.access.own_folder(real.as_path());
            folder.map(|folder| folder.url.as_str())
        };
        store(one) == store(other)
    }
}
