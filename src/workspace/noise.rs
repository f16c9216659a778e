//! What is noise to a reader: ignored by git's rules, or by nature; it never decides what may be read.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::protocol::Refusal;

use super::access::{Access, Opened};
use super::handle::{Handle, Unjudged};

/// Larger rule files are not read.
const MAX_BYTES: u64 = 1 << 20;

/// The rules in one directory.
#[derive(Debug)]
struct Level {
    directory: PathBuf,
    /// `.ignore`, which beats `.gitignore` wherever both speak (as in ripgrep).
    plain: Option<Gitignore>,
    git: Option<Gitignore>,
}

/// The rules that hold in a directory. A clone shares them.
#[derive(Debug, Clone, Default)]
pub(super) struct Noise {
    /// From the top down.
    levels: Vec<Arc<Level>>,
    /// The first level of the innermost repository: git looks no further up.
    repository: usize,
}

impl Noise {
    /// The rules above `directory`, a real path, down to its parent: those of its repository, and
    /// those in its workspace folder `root`.
    pub(super) fn above(access: &Access, directory: &Path, root: Option<&Path>) -> Noise {
        let is_repository = |at: &&Path| at.join(".git").symlink_metadata().is_ok();
        let repository = directory.ancestors().find(is_repository);
        let tops = [repository, root].into_iter().flatten();
        let top = tops.min_by_key(|top| top.as_os_str().len());
        let top = top.unwrap_or(directory);
        let mut way: Vec<&Path> = directory
            .ancestors()
            .take_while(|at| at.starts_with(top))
            .collect();
        way.reverse();
        let mut noise = Noise::default();
        for at in way {
            // Whoever asks for something in an ignored directory wants to see what is there: the
            // rules that hide it have had their say.
            if at != top && noise.ignores(at, true) {
                noise = Noise::default();
            }
            if at != directory {
                noise.enter(access, at, Some(at) == repository);
            }
        }
        noise
    }

    /// Adds the rules in `directory`, the next one down.
    pub(super) fn enter(&mut self, access: &Access, directory: &Path, is_repository: bool) {
        if is_repository {
            self.repository = self.levels.len();
        }
        let level = Level {
            plain: rules(access, directory, ".ignore"),
            git: rules(access, directory, ".gitignore"),
            directory: directory.to_path_buf(),
        };
        self.levels.push(Arc::new(level));
    }

    /// Whether a name right below the last directory entered is ignored: that directory is one row in a
    /// listing and no more, and no search looks into it or at that file.
    pub(super) fn ignores(&self, path: &Path, is_dir: bool) -> bool {
        let by_nature = |name: &OsStr| name == ".git" || name == "node_modules";
        if is_dir && path.file_name().is_some_and(by_nature) {
            return true;
        }
        let said = |level: &Level, rules: &Option<Gitignore>| {
            verdict(&level.directory, rules.as_ref()?, path, is_dir)
        };
        let plain = |level: &Arc<Level>| said(level, &level.plain);
        let git = |level: &Arc<Level>| said(level, &level.git);
        let of_repository = &self.levels[self.repository.min(self.levels.len())..];
        let said = self.levels.iter().rev().find_map(plain);
        said.or_else(|| of_repository.iter().rev().find_map(git))
            .unwrap_or(false)
    }
}

fn verdict(directory: &Path, rules: &Gitignore, path: &Path, is_dir: bool) -> Option<bool> {
    match rules.matched(path.strip_prefix(directory).ok()?, is_dir) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// The rules of one file. As in git a link is not followed, and a line that is no pattern is none.
fn rules(access: &Access, directory: &Path, name: &str) -> Option<Gitignore> {
    let path = directory.join(name);
    let handle = open(access, &path)?;
    let mut bytes = Vec::new();
    let file = handle.open_read().ok()?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{FEFF}').lines() {
        // A line that cannot be a pattern hides nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

fn open(access: &Access, path: &Path) -> Option<Handle> {
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let handle = match access.open(path, "") {
        Ok(Opened::Here(handle)) => handle,
        // A repository may begin above the workspace folder. Of these rules nothing is ever shown
        // but which directories are ignored, as git itself has it.
        Err(Refusal::OutsideWorkspace { .. }) => Unjudged::open(path).ok()?.allowed(path),
        Ok(Opened::Nothing(_)) | Err(_) => return None,
    };
    (handle.real().as_path() == path).then_some(handle)
}
