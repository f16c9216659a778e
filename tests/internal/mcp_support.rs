//! Small MCP servers of the tests' own (`mcp_server.py`), each with a log of what reached it.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::client::{Builder, Daemon, HANG};
use crate::tree::Tree;

/// Servers by their names, and the folder of their logs.
pub struct Servers {
    logs: TempDir,
    servers: Map<String, Value>,
}

impl Servers {
    pub fn new() -> Servers {
        Servers {
            logs: tempfile::tempdir().expect("a folder for logs"),
            servers: Map::new(),
        }
    }

    /// One more, with its behaviours.
    pub fn with(mut self, name: &str, behaviours: &[&str]) -> Servers {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/internal/mcp_server.py");
        let mut args = vec![json!("-u"), json!(script), json!(self.log_file(name))];
        args.extend(behaviours.iter().map(|it| json!(it)));
        let server = json!({ "command": python(), "args": args });
        self.servers.insert(name.to_owned(), server);
        self
    }

    /// The settings that name them.
    pub fn settings(&self) -> Value {
        json!({ "mcp": { "servers": self.servers } })
    }

    pub fn daemon(&self, tree: &Tree) -> Daemon {
        self.set_up(tree, json!({})).start()
    }

    /// A daemon with further settings of `mcp`.
    pub fn set_up(&self, tree: &Tree, more: Value) -> Builder {
        let mut settings = self.settings();
        for (key, value) in more.as_object().into_iter().flatten() {
            settings["mcp"][key] = value.clone();
        }
        Daemon::builder().root(tree.path()).settings(settings)
    }

    fn log_file(&self, name: &str) -> PathBuf {
        self.logs.path().join(name)
    }

    /// What reached a server so far, a line each.
    pub fn log(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.log_file(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How often something reached it.
    pub fn count(&self, name: &str, begins: &str) -> usize {
        let log = self.log(name);
        log.iter().filter(|line| line.starts_with(begins)).count()
    }

    /// The processes that it was, and those that it started.
    pub fn processes(&self, name: &str) -> Vec<u32> {
        let log = self.log(name).into_iter();
        let number = |line: String| {
            let number = line.strip_prefix("start ").or(line.strip_prefix("child "));
            number.and_then(|it| it.parse().ok())
        };
        log.filter_map(number).collect()
    }

    /// Waits until none of its processes is left.
    pub fn expect_none_left(&self, name: &str) {
        let processes = self.processes(name);
        assert!(!processes.is_empty(), "{name} never ran");
        wait_until(&format!("{name} is gone"), || {
            !processes.iter().any(|process| runs(*process))
        });
    }
}

/// The interpreter itself, and no script in front of it that has an environment of its own.
fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let mut command = Command::new("python3");
        let output = command
            .args(["-c", "import sys; print(sys.executable)"])
            .output();
        let printed = output.expect("there is a python3").stdout;
        String::from_utf8(printed).expect("UTF-8").trim().to_owned()
    })
}

/// Whether a process is there and no mere line in the process table.
pub fn runs(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| {
        let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
        !state.is_some_and(|state| state.starts_with(['Z', 'X']))
    })
}

pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + HANG;
    while !is_so() {
        assert!(Instant::now() < until, "{what}: not within {HANG:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
