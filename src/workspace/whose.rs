//! Whose a path is that nobody named but a table (`~/.claude/skills`): its links are followed one by one, and what comes through a workspace folder is the workspace's.
//!
//! The workspace is not to be trusted with what the user's own folders may hold: where a link of the
//! user's leads into it, what is found there is judged as the workspace's, and leads no further.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::mounts::names_of;
use super::resolve::Scope;
use super::user_places::holds_home;

/// Links followed in one path.
const MAX_LINKS: usize = 40;

/// Where a path of the user's leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// Into a workspace folder, or through one: the path from there on, whose links were not followed.
    Workspace(PathBuf),
    /// Elsewhere, to this path without symlinks; whether it is a directory.
    User(PathBuf, bool),
    /// There is nothing, or it cannot be known.
    Nobody,
}

impl Scope {
    /// Follows the links of an absolute path of the user's. Nothing is opened.
    pub fn whose(&self, path: &Path) -> Whose {
        let crossing = &self.access.crossing;
        if crossing.enter(path).is_err() {
            return Whose::Nobody;
        }
        let folders: Vec<Arc<Path>> = self
            .roots()
            .iter()
            .map(|root| root.real(false, crossing))
            .filter(|real| !holds_home(real))
            .collect();
        let is_in_one = |at: &Path| folders.iter().any(|folder| at.starts_with(folder));
        let mut ahead: VecDeque<OsString> = names_of(path).collect();
        let mut at = PathBuf::from("/");
        let mut links = 0;
        let mut is_directory = true;
        while let Some(name) = ahead.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&name);
            if is_in_one(&next) {
                return Whose::Workspace(next.join(ahead.iter().collect::<PathBuf>()));
            }
            let Ok(metadata) = std::fs::symlink_metadata(&next) else {
                return Whose::Nobody;
            };
            if metadata.is_symlink() {
                links += 1;
                let Ok(target) = std::fs::read_link(&next) else {
                    return Whose::Nobody;
                };
                if links > MAX_LINKS {
                    return Whose::Nobody;
                }
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                for name in names_of(&target).collect::<Vec<_>>().into_iter().rev() {
                    ahead.push_front(name);
                }
                continue;
            }
            is_directory = metadata.is_dir();
            at = next;
        }
        Whose::User(at, is_directory)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use crate::protocol::Settings;

    use super::*;

    #[test]
    fn links_through_the_workspace_are_the_workspaces() {
        let tree = tempfile::tempdir().expect("a directory");
        let real = tree.path().canonicalize().expect("it exists");
        let at = |name: &str| real.join(name);
        for folder in ["ws/skills", "own/a", "user"] {
            fs::create_dir_all(at(folder)).expect("made");
        }
        symlink(at("own/a"), at("ws/out")).expect("linked");
        symlink("../own/a", at("user/own")).expect("linked");
        symlink(at("ws/skills"), at("user/into")).expect("linked");
        symlink(at("ws/out"), at("user/through")).expect("linked");
        symlink("round", at("user/round")).expect("linked");
        let scope = Scope::new(
            vec![at("ws")],
            Arc::new(Settings::default()),
            Arc::default(),
        );
        assert_eq!(scope.whose(&at("user/own")), Whose::User(at("own/a"), true));
        assert_eq!(
            scope.whose(&at("user/into")),
            Whose::Workspace(at("ws/skills"))
        );
        assert_eq!(
            scope.whose(&at("user/through/x")),
            Whose::Workspace(at("ws/out/x"))
        );
        for nowhere in ["user/none", "user/own/x/y", "user/round"] {
            assert_eq!(scope.whose(&at(nowhere)), Whose::Nobody, "{nowhere}");
        }
    }
}
