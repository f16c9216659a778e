//! Which folders are projects, where nobody named them as such: a folder that holds more than one project is none.

use std::path::{Path, PathBuf};

use super::access::home;

/// Whether there is a folder, and it is neither the root of the file system, nor the user's home
/// directory, nor one above that. Blocking.
pub fn is_project(folder: &Path) -> bool {
    folder.is_dir() && !is_too_wide(folder, home().as_deref())
}

/// The process's own directory, where it is a project. Blocking.
pub fn current_project() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    is_project(&here).then_some(here)
}

fn is_too_wide(folder: &Path, home: Option<&Path>) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real(folder);
    folder.parent().is_none() || home.is_some_and(|home| real(home).starts_with(&folder))
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
        let is_too_wide = |path: &Path| is_too_wide(path, Some(&home));
        assert!(is_too_wide(Path::new("/")));
        assert!(is_too_wide(&home));
        assert!(is_too_wide(&tree.path().join("home")));
        assert!(is_too_wide(&tree.path().join("link")));
        assert!(!is_too_wide(&project));
        assert!(!is_too_wide(&tree.path().join("home/bob")));
        assert!(!is_project(&tree.path().join("missing")));
    }
}
