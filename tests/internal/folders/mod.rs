//! `skill://`, `rule://` and `memory://` over the wire: a home directory and workspace folders of the test's own.

mod dialects;
mod fresh;
mod hostile;
mod memories;
mod places;
mod rules;
mod skills;

use serde_json::{Value, json};

use super::text;
use crate::client::{Builder, Daemon, WireError, before_footer};
use crate::tree::Tree;

/// `home` and `ws`, a workspace folder.
pub struct Folders {
    pub tree: Tree,
}

impl Folders {
    pub fn new() -> Folders {
        let tree = Tree::new();
        for folder in ["home", "ws"] {
            std::fs::create_dir(tree.join(folder)).expect("made");
        }
        Folders { tree }
    }

    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Folders {
        self.tree.write(name, content);
        self
    }

    /// A skill in a folder.
    pub fn skill(self, folder: &str, description: &str) -> Folders {
        let name = folder.rsplit('/').next().expect("a name");
        let content = skill(name, description);
        self.file(&format!("{folder}/SKILL.md"), content)
    }

    /// A link at `name`, with the text of `target`; one that begins with `tree:` leads into the tree.
    pub fn link(self, name: &str, target: &str) -> Folders {
        let at = self.tree.join(name);
        std::fs::create_dir_all(at.parent().expect("a folder")).expect("made");
        let target = match target.strip_prefix("tree:") {
            Some(inside) => self.tree.join(inside),
            None => target.into(),
        };
        std::os::unix::fs::symlink(target, at).expect("linked");
        self
    }

    /// A daemon that has this home and no other.
    pub fn builder(&self) -> Builder {
        let home = self.tree.spelled("home");
        Daemon::builder()
            .root(self.tree.join("ws"))
            .env("HOME", &home)
            .env("CLAUDE_CONFIG_DIR", "")
            .env("CODEX_HOME", "")
            .env("XDG_CONFIG_HOME", "")
    }

    pub fn start(&self) -> Daemon {
        self.builder().start()
    }
}

/// The text of a skill.
pub fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n\nThe steps.\n")
}

/// What is shown of an address, without what says how to go on.
pub fn shown(daemon: &Daemon, path: &str) -> String {
    let read = daemon.read(path);
    let read = read.unwrap_or_else(|error| panic!("{path}: {}", error.message));
    rows(&read).to_owned()
}

pub fn rows(read: &Value) -> &str {
    before_footer(text(read))
}

pub fn refused(daemon: &Daemon, path: &str) -> WireError {
    match daemon.read(path) {
        Err(error) => error,
        Ok(read) => panic!("{path}: {}", text(&read)),
    }
}

/// The part of the status that is about these folders.
pub fn resources_status(daemon: &Daemon) -> Value {
    let status = daemon.call("agent/status", json!({})).expect("a status");
    status["resources"].clone()
}

/// The problems that are told, as one text.
pub fn problems(daemon: &Daemon) -> String {
    let status = resources_status(daemon);
    let problems = status["problems"].as_array().expect("a list").clone();
    let lines: Vec<&str> = problems.iter().filter_map(Value::as_str).collect();
    lines.join("\n")
}
