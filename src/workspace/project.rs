//! Which folders are projects, where nobody named them as such: a folder that holds more than one project is none.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use super::access::home;

/// How long a folder that the user named is waited for.
const FOUND_WITHIN: Duration = Duration::from_secs(1);

/// Whether there is a folder, and it is neither the root of the file system, nor the user's home
/// directory, nor one above that. Blocking.
pub fn is_project(folder: &Path) -> bool {
    folder.is_dir() && !is_too_wide(&real(folder), home().as_deref())
}

/// The process's own directory, where it is a project. It is not looked at: the system gives its real path, whether
/// or not the mount that it is on answers.
pub fn current_project() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    (!is_too_wide(&here, home().as_deref())).then_some(here)
}

/// Whether there is a folder, as far as that is known in time: one on a mount that does not answer may be there.
pub fn may_be_folder(folder: &Path) -> bool {
    let (tell, told) = mpsc::channel();
    let path = folder.to_owned();
    // Where the mount never answers, this one ends with the process.
    let looking = std::thread::Builder::new().spawn(move || tell.send(path.is_dir()));
    match looking {
        Ok(_) => told.recv_timeout(FOUND_WITHIN).unwrap_or(true),
        Err(_) => folder.is_dir(),
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Of a folder's real path.
fn is_too_wide(folder: &Path, home: Option<&Path>) -> bool {
    folder.parent().is_none() || home.is_some_and(|home| real(home).starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_directory_and_what_is_above_it_is_no_project() {
        let tree = tempfile::tempdir().expect("a folder");
        let home = tree.path().join("home/ann");
        let project = home.join("work");
        std::fs::create_dir_all(&project).expect("folders");
        std::os::unix::fs::symlink(&home, tree.path().join("link")).expect("a link");
        let is_too_wide = |path: &Path| is_too_wide(&real(path), Some(&home));
        assert!(is_too_wide(Path::new("/")));
        assert!(is_too_wide(&home));
        assert!(is_too_wide(&tree.path().join("home")));
        assert!(is_too_wide(&tree.path().join("link")));
        assert!(!is_too_wide(&project));
        assert!(!is_too_wide(&tree.path().join("home/bob")));
        assert!(!is_project(&tree.path().join("missing")));
    }
}
