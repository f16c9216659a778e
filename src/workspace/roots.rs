//! The workspace folders, as spelled and as they really are; no folder is looked at before a path needs it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::handle::Unjudged;
use super::mounts::Crossing;
use super::spelling::normalise;

/// For how long a folder's real path is believed without a stat. A stale one can only refuse too
/// much, and before anything is refused as outside it is looked at again.
const BELIEVED: Duration = Duration::from_millis(100);

/// One workspace folder.
#[derive(Debug)]
pub struct Root {
    spelled: PathBuf,
    name: String,
    resolved: Mutex<Option<Resolved>>,
}

#[derive(Debug, Clone)]
struct Resolved {
    /// Of the folder itself: device, inode, ctime (a rename changes it) and its nanoseconds.
    identity: (u64, u64, i64, i64),
    real: Arc<Path>,
    checked: Instant,
}

impl Root {
    fn new(spelled: PathBuf) -> Root {
        Root {
            name: last_components(&spelled, 1),
            spelled,
            resolved: Mutex::new(None),
        }
    }

    /// The folder as the client spelled it: absolute, without `.` and `..`.
    pub fn spelled(&self) -> &Path {
        &self.spelled
    }

    /// The folder's name; with as many parents as tell it from the other roots. Empty for `/`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The real path as last seen, without I/O.
    pub fn last_real(&self) -> Option<Arc<Path>> {
        self.resolved
            .lock()
            .as_ref()
            .map(|resolved| resolved.real.clone())
    }

    /// The real path; the spelled one while the folder cannot be reached. At most one stat when
    /// nothing changed. On a mount that may not be touched it is the last one, or the spelled one.
    pub(super) fn real(&self, again: bool, crossing: &Crossing) -> Arc<Path> {
        let known = self.resolved.lock().clone();
        if let Some(known) = &known
            && !again
            && known.checked.elapsed() < BELIEVED
        {
            return known.real.clone();
        }
        if !crossing.stays(&self.spelled) {
            let known = known.map(|known| known.real);
            return known.unwrap_or_else(|| Arc::from(self.spelled.as_path()));
        }
        // No lock is held here: a folder on a hung mount must not take the others along.
        let now = resolve(&self.spelled, known.filter(|_| !again));
        let real = now.as_ref().map(|now| now.real.clone());
        *self.resolved.lock() = now;
        real.unwrap_or_else(|| Arc::from(self.spelled.as_path()))
    }
}

fn resolve(spelled: &Path, known: Option<Resolved>) -> Option<Resolved> {
    let identity = |metadata: &std::fs::Metadata| {
        (
            metadata.dev(),
            metadata.ino(),
            metadata.ctime(),
            metadata.ctime_nsec(),
        )
    };
    let checked = Instant::now();
    if let Some(known) = known
        && let Ok(metadata) = std::fs::metadata(spelled)
        && known.identity == identity(&metadata)
    {
        return Some(Resolved { checked, ..known });
    }
    let opened = Unjudged::open(spelled).ok()?;
    Some(Resolved {
        identity: identity(opened.metadata()),
        real: Arc::from(opened.real()?),
        checked,
    })
}

/// The workspace folders in the client's order, each once.
#[derive(Debug)]
pub struct Roots(Vec<Root>);

impl Roots {
    /// Does no I/O. Folders that are not absolute are left out: there is nothing they are relative to.
    pub fn new(folders: Vec<PathBuf>) -> Roots {
        let mut roots: Vec<Root> = Vec::new();
        for folder in folders {
            let spelled = normalise(&folder);
            if spelled.is_absolute() && roots.iter().all(|root| root.spelled != spelled) {
                roots.push(Root::new(spelled));
            }
        }
        let spelled: Vec<PathBuf> = roots.iter().map(|root| root.spelled.clone()).collect();
        for root in &mut roots {
            root.name = unique_name(&root.spelled, &spelled);
        }
        Roots(roots)
    }

    /// The roots in the client's order.
    pub fn iter(&self) -> std::slice::Iter<'_, Root> {
        self.0.iter()
    }

    /// The root that headers are relative to.
    pub fn first(&self) -> Option<&Root> {
        self.0.first()
    }

    /// How many roots there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the client gave no folder at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The shortest end of `folder` that no other folder has.
fn unique_name(folder: &Path, all: &[PathBuf]) -> String {
    let depth = folder.components().count();
    for count in 1..depth {
        let name = last_components(folder, count);
        let same = |other: &&PathBuf| last_components(other, count) == name;
        if all.iter().filter(same).count() == 1 {
            return name;
        }
    }
    last_components(folder, 1)
}

fn last_components(folder: &Path, count: usize) -> String {
    let names: Vec<_> = folder
        .iter()
        .skip(1)
        .map(|name| name.to_string_lossy())
        .collect();
    names[names.len().saturating_sub(count)..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_roots_apart() {
        let folders = [
            "/w/a/app", "/w/b/app", "/w/lib/", "/w/./lib", "/", "relative",
        ];
        let roots = Roots::new(folders.iter().map(PathBuf::from).collect());
        let names: Vec<&str> = roots.iter().map(Root::name).collect();
        assert_eq!(names, ["a/app", "b/app", "lib", ""]);
    }

    #[test]
    fn a_root_that_is_a_swapped_link_is_resolved_again() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let place = temp.path().canonicalize().expect("it exists");
        for name in ["one", "two"] {
            std::fs::create_dir(place.join(name)).expect("created");
        }
        std::os::unix::fs::symlink(place.join("one"), place.join("ws")).expect("linked");
        let root = Root::new(place.join("ws"));
        assert_eq!(root.last_real(), None);
        assert_eq!(&*root.real(false, &Crossing::default()), place.join("one"));
        std::fs::remove_file(place.join("ws")).expect("removed");
        std::os::unix::fs::symlink(place.join("two"), place.join("ws")).expect("linked");
        assert_eq!(&*root.real(true, &Crossing::default()), place.join("two"));
        std::fs::remove_file(place.join("ws")).expect("removed");
        assert_eq!(&*root.real(true, &Crossing::default()), place.join("ws"));
    }
}
