//! A temporary folder with files in it; it never outlives its test.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub struct Tree {
    dir: TempDir,
    path: PathBuf,
}

impl Tree {
    pub fn new() -> Tree {
        let dir = TempDir::with_prefix("pilcrow-it-").expect("a temporary folder");
        let path = dir.path().canonicalize().expect("its real path");
        Tree { dir, path }
    }

    /// Writes a file, with its parent folders.
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Tree {
        self.write(name, content);
        self
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("parent folders");
        }
        fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Puts a file in another's place at once, so that nobody can see it half written.
    pub fn replace(&self, name: &str, content: impl AsRef<[u8]>) {
        self.write(".spare", content);
        fs::rename(self.join(".spare"), self.join(name)).expect("renamed");
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The path as a string, for requests.
    pub fn spelled(&self, name: &str) -> String {
        self.join(name).to_str().expect("a UTF-8 path").to_owned()
    }

    /// Keeps the folder, to look at after a failure.
    #[expect(dead_code, reason = "for whoever debugs a test")]
    pub fn keep(self) -> PathBuf {
        self.dir.keep()
    }
}

/// `from..=to`, one `line N` each.
pub fn numbered_lines(from: usize, to: usize) -> String {
    (from..=to).map(|n| format!("line {n}\n")).collect()
}
