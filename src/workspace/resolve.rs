//! From a path string to the file that is meant; what is found here was always judged by `access`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::protocol::status::MemoryUse;
use crate::protocol::{Refusal, Settings, shortened};
use crate::task::{Stopped, Work};
use crate::view::Guess;

use super::access::{Access, Opened, PathKind, home};
use super::entries::Directory;
use super::handle::{Handle, RealPath};
use super::listings::Listings;
use super::names::Names;
use super::near_names::MAX_SUGGESTIONS;
use super::roots::{Root, Roots};
use super::spelling::{climbs, is_too_long, normalise};
use super::suffix::Suffix;
use super::variants::{Descent, PathReading, Stuck};
use super::{suffix, suggest, variants};

/// How the path that was asked for led to the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// By its own name.
    Exact,
    /// The name differs in its Unicode form, its apostrophes or its spaces.
    Variant,
    /// By its end: no other path in the roots has the same.
    Suffix {
        /// What was asked for.
        from: String,
        /// How the path is displayed.
        to: String,
    },
}

/// An opened file and how it is to be called.
#[derive(Debug)]
pub struct Found {
    /// Opened and judged.
    pub handle: Handle,
    /// The header path: it resolves back to the same file.
    pub display: String,
    /// How the path led there.
    pub via: Via,
}

/// What there is under a path string's exact name.
#[derive(Debug)]
pub enum Look {
    /// A file, a directory, or what else there is.
    Here(Found),
    /// Nothing: the absolute paths at which there could be something, in order. All are allowed.
    Nothing(Vec<PathBuf>),
}

/// What there is at an absolute path that was judged.
#[derive(Debug)]
pub enum At {
    /// A file, a directory, or what else there is.
    Here(Handle),
    /// Nothing, and it is allowed: where it would be.
    Nothing(RealPath),
}

impl At {
    /// Where it is, or would be.
    pub fn real(&self) -> &RealPath {
        match self {
            At::Here(handle) => handle.real(),
            At::Nothing(real) => real,
        }
    }
}

/// What a client may reach, and how its path strings are understood. Immutable but for caches;
/// replaced as a whole when roots or settings change. A clone shares everything.
#[derive(Debug, Clone)]
pub struct Scope {
    pub(super) access: Access,
    settings: Arc<Settings>,
    names: Arc<Names>,
    listings: Arc<Listings>,
    scans: Arc<AtomicU64>,
}

/// What came of opening a path exactly as it is spelled.
pub(super) enum Exact {
    Here {
        handle: Handle,
        at: PathBuf,
    },
    /// In none of the readings.
    Nothing(Vec<PathReading>),
    /// As that: nothing can have so long a name, and no other spelling of it would be shorter.
    TooLong(Vec<PathReading>),
}

impl Scope {
    /// Does no I/O. `roots` are absolute, in the client's order; `scans` counts the walks over
    /// whole trees, of this scope and of those before it.
    pub fn new(roots: Vec<PathBuf>, settings: Arc<Settings>, scans: Arc<AtomicU64>) -> Scope {
        let roots = Roots::new(roots);
        let may_watch = settings.watch.max_directories > 0;
        Scope {
            names: Arc::new(Names::new(roots.len(), may_watch)),
            listings: Arc::new(Listings::new(may_watch)),
            access: Access::new(roots, &settings),
            settings,
            scans,
        }
    }

    /// The workspace folders, without the additional ones.
    pub fn roots(&self) -> &Roots {
        &self.access.roots
    }

    /// The settings that this scope was made for.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Walks over whole trees so far.
    #[cfg(test)]
    pub fn scans(&self) -> u64 {
        self.scans.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// The names of the roots that are kept, for `agent/status`.
    pub fn names_status(&self) -> MemoryUse {
        self.names.status()
    }

    /// Opens `path` exactly as it is spelled; `None` when there is nothing, in an allowed place.
    ///
    /// Refuses with `outsideWorkspace` and `denied` whether or not it exists, with `badParams`
    /// what is no path, and with `io` what cannot be reached.
    pub fn find_exact(&self, path: &str) -> Result<Option<Found>, Refusal> {
        Ok(match self.look(path)? {
            Look::Here(found) => Some(found),
            Look::Nothing(_) => None,
        })
    }

    /// Like [`Scope::find_exact`]; where there is nothing, also tells where that was looked for.
    pub fn look(&self, path: &str) -> Result<Look, Refusal> {
        if is_too_long(path) {
            return Ok(Look::Nothing(Vec::new()));
        }
        validate(path)?;
        match self.exact(path)? {
            Exact::Here { handle, at } => Ok(Look::Here(self.found(path, handle, &at, Via::Exact))),
            Exact::Nothing(readings) | Exact::TooLong(readings) => Ok(Look::Nothing(
                readings.iter().map(PathReading::path).collect(),
            )),
        }
    }

    /// Judges what is at an absolute path, which need not be UTF-8, or would be if it were made.
    ///
    /// Refuses as [`Scope::find_exact`] does.
    pub fn look_at(&self, path: &Path) -> Result<At, Refusal> {
        let asked = path.to_string_lossy();
        match self.open_absolute(path, &asked)? {
            Opened::Here(handle) => Ok(At::Here(handle)),
            Opened::Nothing(error) if is_absence(&error) || is_of_length(&error) => {
                Ok(At::Nothing(self.would_be(path, &asked)?))
            }
            Opened::Nothing(error) => Err(Refusal::io(asked, &error)),
        }
    }

    /// Where something would be at an absolute path at which there is nothing. A link that was put
    /// on the way after that was judged leads nowhere else than may be read.
    pub fn would_be(&self, path: &Path, asked: &str) -> Result<RealPath, Refusal> {
        let path = self.access.without_climbs(path, asked)?;
        let real = self.access.would_be(&path, asked)?;
        match self.access.permits(real.as_path(), PathKind::Unknown) {
            true => Ok(real),
            false => Err(not_found(asked, Vec::new())),
        }
    }

    /// Finds the file that `path` means: exactly, else by a look-alike spelling, else as `guess`
    /// says; by the unique path in the roots that ends in it may take up to five seconds.
    ///
    /// Refuses as [`Scope::find_exact`] does; with `notFound` and at most three near names when there
    /// is none; with `cancelled` and `timeout` when the work is stopped.
    pub fn find(&self, path: &str, guess: Guess, work: &Work) -> Result<Found, Refusal> {
        if is_too_long(path) {
            return Err(not_found(path, Vec::new()));
        }
        validate(path)?;
        let readings = match self.exact(path)? {
            Exact::Here { handle, at } => return Ok(self.found(path, handle, &at, Via::Exact)),
            Exact::TooLong(_) => return Err(not_found(path, Vec::new())),
            // An address is that of one file, and of no other.
            Exact::Nothing(_) if self.url_readings(path)?.is_some() => {
                return Err(not_found(path, Vec::new()));
            }
            Exact::Nothing(readings) => readings,
        };
        let stopped = |stopped| stopped_refusal(path, stopped);
        let mut stuck: Vec<Stuck> = Vec::new();
        for reading in &readings {
            let descent = variants::descend(&self.access, &self.listings, reading, work);
            match descent.map_err(stopped)? {
                Descent::Arrived(at) => {
                    if let Ok(Opened::Here(handle)) = self.access.open(&at, path) {
                        return Ok(self.found(path, handle, &at, Via::Variant));
                    }
                    stuck.extend(Stuck::before_the_end(reading, &at));
                }
                Descent::Several(suggestions) => return Err(not_found(path, suggestions)),
                Descent::Stuck(at) => stuck.push(at),
            }
        }
        let by_suffix = match guess {
            Guess::Suffix => self.by_suffix(path, work).map_err(stopped)?,
            Guess::NearNames => Suffix::Nothing,
            Guess::Nothing => return Err(not_found(path, Vec::new())),
        };
        match by_suffix {
            Suffix::Unique(handle, at) => {
                let to = self
                    .display_at(&at)
                    .unwrap_or_else(|| self.display(handle.real()));
                let via = Via::Suffix {
                    from: path.to_owned(),
                    to: to.clone(),
                };
                Ok(Found {
                    handle,
                    display: to,
                    via,
                })
            }
            Suffix::Several(places) => {
                let suggestions = places.iter().filter_map(|place| self.display_at(place));
                Err(not_found(path, suggestions.collect()))
            }
            Suffix::Nothing => {
                let near = suggest::near(&self.access, &self.listings, &stuck, work);
                Err(not_found(path, near.map_err(stopped)?))
            }
        }
    }

    /// The real path of what is exactly here, or where it would be if it were made: in the first
    /// root for a relative path. Refuses as [`Scope::find_exact`] does.
    pub fn destination(&self, path: &str) -> Result<RealPath, Refusal> {
        if is_too_long(path) {
            return Err(no_such_name(path));
        }
        validate(path)?;
        match self.exact(path)? {
            Exact::Here { handle, .. } => Ok(handle.real().clone()),
            Exact::TooLong(_) => Err(no_such_name(path)),
            Exact::Nothing(readings) => match readings.first() {
                Some(reading) => self.access.would_be(&reading.path(), path),
                None => Err(not_found(path, Vec::new())),
            },
        }
    }

    /// Opens an absolute path that need not be UTF-8, exactly as it is; refuses with `notFound`
    /// where [`Scope::find_exact`] has `None`.
    pub fn open(&self, path: &Path) -> Result<Handle, Refusal> {
        let asked = path.to_string_lossy();
        match self.open_absolute(path, &asked)? {
            Opened::Here(handle) => Ok(handle),
            Opened::Nothing(error) if is_absence(&error) => Err(not_found(&asked, Vec::new())),
            Opened::Nothing(error) => Err(Refusal::io(asked, &error)),
        }
    }

    fn open_absolute(&self, path: &Path, asked: &str) -> Result<Opened, Refusal> {
        match path.is_absolute() {
            true => self.access.open(path, asked),
            false => Err(Refusal::bad_params(
                "path",
                format!("'{asked}' is not absolute."),
            )),
        }
    }

    /// Whether `real`, a path without symlinks, may be shown in a listing or named in a hint.
    ///
    /// An entry that is a symlink is judged by its name alone; to say anything about where it
    /// leads, [`Scope::open`] it.
    pub fn permits(&self, real: &Path, is_dir: bool) -> bool {
        self.access.permits(real, PathKind::of(is_dir))
    }

    /// As [`Scope::permits`] for many names in one directory, a real path that need not be there:
    /// what holds for all of them is worked out once.
    pub fn permits_in<'a>(&'a self, directory: &'a Path) -> impl Fn(&str, bool) -> bool + 'a {
        let names = self.access.names_in(directory);
        move |name, is_dir| names.permit(std::ffi::OsStr::new(name), is_dir)
    }

    /// Opens a directory to be listed; what of it may not be named is not in the list.
    pub fn list(&self, handle: &Handle) -> io::Result<Directory<'_>> {
        Directory::open(&self.access, handle)
    }

    /// Whether a file that may be read may be changed too (`access.outsideWorkspace: "read"`).
    pub fn may_edit(&self, real: &RealPath) -> bool {
        self.access.may_edit(real.as_path())
    }

    /// How the file at a real path is called in headers: relative to its root, prefixed by the
    /// root's name when that is not the first, or absolute outside them. It resolves back.
    pub fn display(&self, real: &RealPath) -> String {
        let real = real.as_path();
        if let Some(url) = self.url_of(real) {
            return url;
        }
        for root in self.access.roots.iter() {
            if let Ok(below) = real.strip_prefix(root.real(false, &self.access.crossing)) {
                return self.written(root, below);
            }
        }
        real.to_string_lossy().into_owned()
    }

    /// How headers call what an absolute path led to: in that spelling, where it is within a root.
    pub fn display_as(&self, path: &Path, real: &RealPath) -> String {
        let kept = match climbs(path) {
            true => None,
            false => self.display_at(&normalise(path)),
        };
        kept.unwrap_or_else(|| self.display(real))
    }

    /// How headers call an absolute path at which there is no file (yet).
    pub fn display_of(&self, path: &Path) -> String {
        let written = self.display_at(&super::spelling::normalise(path));
        written.unwrap_or_else(|| path.to_string_lossy().into_owned())
    }

    /// How a path is called that keeps the caller's spelling; `None` outside the roots.
    fn display_at(&self, path: &Path) -> Option<String> {
        if let Some(url) = self.url_of(path) {
            return Some(url);
        }
        let mut roots = self.access.roots.iter();
        roots.find_map(|root| {
            let below = path.strip_prefix(root.spelled()).ok()?;
            Some(self.written(root, below))
        })
    }

    fn written(&self, root: &Root, below: &Path) -> String {
        let is_first = self
            .roots()
            .first()
            .is_some_and(|first| std::ptr::eq(first, root));
        let prefix = match is_first {
            true => Path::new(""),
            // The name would mean something else: only the whole path leads back.
            false if self.is_taken(root.name()) => root.spelled(),
            false => Path::new(root.name()),
        };
        let whole: PathBuf = prefix.components().chain(below.components()).collect();
        match whole.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => whole.to_string_lossy().into_owned(),
        }
    }

    /// Whether a relative path that begins with this root's name is found in some root before the
    /// name is understood as the root's.
    fn is_taken(&self, name: &str) -> bool {
        let first = name.split('/').next().unwrap_or_default();
        let crossing = &self.access.crossing;
        let has_entry = |root: &Root| {
            crossing.stays(root.spelled()) && crossing.is_there(&root.spelled().join(first))
        };
        first.is_empty() || self.roots().iter().any(has_entry)
    }

    fn found(&self, asked: &str, handle: Handle, at: &Path, via: Via) -> Found {
        let display = match climbs(Path::new(asked)) {
            true => self.display(handle.real()),
            false => self.display_as(at, handle.real()),
        };
        Found {
            handle,
            display,
            via,
        }
    }

    /// Tries each reading of `asked` in order. The first refusal stands only if none is found, so
    /// that a rule of one root does not hide another root's file.
    pub(super) fn exact(&self, asked: &str) -> Result<Exact, Refusal> {
        let mut refused = None;
        let mut error = None;
        let mut readings = Vec::new();
        let (meant, is_url) = match self.url_readings(asked)? {
            Some(readings) => (readings, true),
            None => (self.readings(asked), false),
        };
        let in_named_root = || self.in_named_root(asked).filter(|_| !is_url);
        let in_named_root = std::iter::once_with(in_named_root).flatten();
        for reading in meant.into_iter().chain(in_named_root) {
            let settled = self.settled(reading, asked);
            let opened = settled.and_then(|reading| {
                let opened = self.access.open(&reading.path(), asked)?;
                Ok((reading, opened))
            });
            match opened {
                Ok((reading, Opened::Here(handle))) => {
                    let at = reading.path();
                    return Ok(Exact::Here { handle, at });
                }
                Ok((reading, Opened::Nothing(nothing))) => {
                    error = error.or(Some(nothing).filter(|error| !is_absence(error)));
                    readings.push(reading);
                }
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        match (refused, error) {
            (Some(refusal), _) => Err(refusal),
            (None, Some(error)) if is_of_length(&error) => Ok(Exact::TooLong(readings)),
            (None, Some(error)) => Err(Refusal::io(asked, &error)),
            (None, None) => Ok(Exact::Nothing(readings)),
        }
    }

    /// What `asked` may mean, in order, but for a root's name at its beginning.
    pub(super) fn readings(&self, asked: &str) -> Vec<PathReading> {
        let reading = |base: &Path, head: &str, rest: &str| PathReading {
            base: base.to_path_buf(),
            head: head.to_owned(),
            rest: rest.to_owned(),
        };
        if let Some(below) = asked.strip_prefix('/') {
            let below = below.trim_start_matches('/');
            return match below.is_empty() {
                true => self
                    .roots()
                    .first()
                    .map(|root| reading(root.spelled(), "", ""))
                    .into_iter()
                    .collect(),
                false => vec![reading(Path::new("/"), "/", below)],
            };
        }
        let mut readings: Vec<PathReading> = self
            .roots()
            .iter()
            .map(|root| reading(root.spelled(), "", asked))
            .collect();
        if let Some(below) = below_home(asked)
            && let Some(home) = home()
        {
            readings.push(reading(&home, "~/", below));
        }
        readings
    }

    /// The reading of `lib/x` as `x` in the root called `lib`, when no root has an entry `lib`.
    pub(super) fn in_named_root(&self, asked: &str) -> Option<PathReading> {
        let mut others = self.roots().iter().skip(1);
        others.find_map(|root| {
            let below = asked.strip_prefix(root.name())?;
            let is_name = below.is_empty() || below.starts_with('/');
            (is_name && !self.is_taken(root.name())).then(|| PathReading {
                base: root.spelled().to_path_buf(),
                head: format!("{}/", root.name()),
                rest: below.trim_start_matches('/').to_owned(),
            })
        })
    }

    /// The reading with everything up to its last `..` made part of its base.
    fn settled(&self, reading: PathReading, asked: &str) -> Result<PathReading, Refusal> {
        if !climbs(Path::new(&reading.rest)) {
            return Ok(reading);
        }
        let mut parts: Vec<&str> = reading.rest.split('/').collect();
        let last = parts.iter().rposition(|part| *part == "..");
        let below = parts.split_off(last.map_or(0, |last| last + 1)).join("/");
        let climbing = parts.join("/");
        let base = reading.base.join(&climbing);
        Ok(PathReading {
            base: self.access.without_climbs(&base, asked)?,
            head: format!("{}{climbing}/", reading.head),
            rest: below,
        })
    }

    fn by_suffix(&self, asked: &str, work: &Work) -> Result<Suffix, Stopped> {
        let path = Path::new(asked);
        if path.is_absolute() || climbs(path) || below_home(asked).is_some() {
            return Ok(Suffix::Nothing);
        }
        suffix::search(&self.access, &self.names, asked, work, &self.scans)
    }
}

/// The rest of `~` or `~/x`.
fn below_home(asked: &str) -> Option<&str> {
    let below = asked.strip_prefix('~')?;
    (below.is_empty() || below.starts_with('/')).then(|| below.trim_start_matches('/'))
}

pub(super) fn validate(path: &str) -> Result<(), Refusal> {
    if path.is_empty() {
        Err(Refusal::bad_params(
            "path",
            "The path is empty. Use . for the workspace folder.",
        ))
    } else if path.contains('\0') {
        Err(Refusal::bad_params("path", "A path cannot contain NUL."))
    } else {
        Ok(())
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// `ENAMETOOLONG`: nothing can have that name.
fn is_of_length(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidFilename
}

/// That nothing can have so long a name, for those who would make it.
fn no_such_name(path: &str) -> Refusal {
    let path = shortened(path).into_owned();
    Refusal::NoSuchPart {
        message: format!("File not found: {path}. No file can have so long a name."),
        path,
        suggestions: Vec::new(),
    }
}

pub(super) fn not_found(path: &str, mut suggestions: Vec<String>) -> Refusal {
    suggestions.truncate(MAX_SUGGESTIONS);
    Refusal::NotFound {
        path: shortened(path).into_owned(),
        suggestions,
    }
}

fn stopped_refusal(path: &str, stopped: Stopped) -> Refusal {
    match stopped {
        Stopped::Cancelled => Refusal::Cancelled,
        Stopped::TimedOut => Refusal::Timeout {
            path: Some(path.to_owned()),
            message: format!("Looking for '{path}' took too long."),
        },
        Stopped::Panicked => Refusal::Internal,
    }
}
