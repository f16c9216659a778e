//! A GitHub of the test's own: answers by path and query, with ETags, requests recorded; and daemons that know no other.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Daemon, WireError};
use crate::tree::Tree;
use crate::web::server::{Asked, Reply, Running, Server};

/// What it says, by path (with the query, where one matters).
#[derive(Clone, Default)]
pub struct Answers(Arc<Mutex<BTreeMap<String, Reply>>>);

impl Answers {
    /// Answers a path with JSON, and with 304 where its ETag is sent.
    pub fn json(&self, path: &str, body: Value) -> &Answers {
        let body = body.to_string();
        let etag = format!(
            "\"{:x}\"",
            body.len() * 31 + body.bytes().map(usize::from).sum::<usize>()
        );
        self.reply(path, Reply::json(body).header("etag", &etag))
    }

    pub fn reply(&self, path: &str, reply: Reply) -> &Answers {
        self.0
            .lock()
            .expect("a lock")
            .insert(path.to_owned(), reply);
        self
    }

    fn of(&self, asked: &Asked) -> Reply {
        let answers = self.0.lock().expect("a lock");
        let query = asked.query.as_deref().unwrap_or_default();
        let accepts_diff = asked.header("accept").contains("diff");
        let kind = match accepts_diff {
            true => "diff ",
            false => "",
        };
        let whole = format!("{kind}{}?{query}", asked.path);
        let found = answers
            .get(&whole)
            .or(answers.get(&format!("{kind}{}", asked.path)));
        found.cloned().unwrap_or_else(|| {
            Reply::json(json!({ "message": "Not Found" }).to_string()).status(404)
        })
    }
}

pub struct Hub {
    pub answers: Answers,
    pub server: Running,
    pub tree: Tree,
    pub cache: TempDir,
    /// With a `gh` that is logged out, unless a test writes another.
    pub programs: TempDir,
}

impl Hub {
    pub fn new() -> Hub {
        let answers = Answers::default();
        let said = answers.clone();
        let server = Server::new().otherwise(move |asked| {
            let reply = said.of(asked);
            match reply.has_header("etag", asked.header("if-none-match")) {
                true => Reply::empty(304),
                false => reply,
            }
        });
        let hub = Hub {
            answers,
            server: server.start(),
            tree: Tree::new(),
            cache: tempfile::tempdir().expect("a directory"),
            programs: tempfile::tempdir().expect("a directory"),
        };
        hub.program("gh", "echo 'no login' >&2; exit 1");
        hub
    }

    /// Puts a shell script where daemons look for programs first.
    pub fn program(&self, name: &str, script: &str) {
        let path = self.programs.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// What settings say so that nobody but this server is asked.
    pub fn settings(&self, github: Value) -> Value {
        let mut settings = json!({
            "repo": "octo/demo",
            "hosts": { "github.com": { "api": self.server.url("") } },
        });
        for (name, value) in github.as_object().expect("settings") {
            settings[name] = value.clone();
        }
        json!({ "github": settings })
    }

    pub fn daemon(&self) -> Daemon {
        self.daemon_with(json!({}), &[])
    }

    pub fn daemon_with(&self, github: Value, environment: &[(&str, &str)]) -> Daemon {
        self.builder(github, environment).start()
    }

    pub fn builder(&self, github: Value, environment: &[(&str, &str)]) -> crate::client::Builder {
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.programs.path().display());
        let mut builder = Daemon::builder()
            .root(self.tree.path())
            .settings(self.settings(github))
            .env("PATH", &path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("XDG_CACHE_HOME", &self.cache.path().display().to_string());
        let none = [
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "GH_ENTERPRISE_TOKEN",
            "GITHUB_ENTERPRISE_TOKEN",
            "GH_HOST",
            "GH_REPO",
        ];
        for name in none {
            let set = environment.iter().find(|(it, _)| *it == name);
            builder = builder.env(name, set.map_or("", |(_, value)| value));
        }
        for (name, value) in environment.iter().filter(|(name, _)| !none.contains(name)) {
            builder = builder.env(name, value);
        }
        builder
    }

    /// What `pilcrow read` prints, of one that has the same cache and asks the same server.
    pub fn command_line(&self, path: &str) -> String {
        let hosts = json!({ "github.com": { "api": self.server.url("") } });
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_pilcrow"))
            .current_dir(self.tree.path())
            .args(["read", path, "--set", "github.repo=octo/demo"])
            .args(["--set", &format!("github.hosts={hosts}")])
            .env("PATH", self.programs.path())
            .env("XDG_CACHE_HOME", self.cache.path())
            .env("XDG_STATE_HOME", self.programs.path())
            .env_remove("GH_TOKEN")
            .env_remove("GITHUB_TOKEN")
            .output()
            .expect("the binary runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{path}: {stderr}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Answers an issue with so many comments.
    pub fn issue(&self, number: u64, comments: &[&str]) {
        let path = format!("/repos/octo/demo/issues/{number}");
        self.answers.json(&path, issue(number));
        let comments: Vec<Value> = comments.iter().map(|body| comment(body)).collect();
        self.answers
            .json(&format!("{path}/comments"), json!(comments));
    }
}

pub fn user(name: &str) -> Value {
    json!({ "login": name, "id": 1, "node_id": "x", "avatar_url": "https://avatars.example/u/1", "type": "User" })
}

pub fn issue(number: u64) -> Value {
    json!({
        "number": number,
        "title": "Panic on an empty list",
        "state": "closed",
        "state_reason": "completed",
        "closed_by": user("bob"),
        "user": user("alice"),
        "created_at": "2026-11-02T08:00:00Z",
        "updated_at": "2026-11-20T10:00:00Z",
        "labels": [{ "name": "bug" }, { "name": "p1" }],
        "assignees": [user("bob")],
        "milestone": { "title": "1.2" },
        "html_url": format!("https://github.com/octo/demo/issues/{number}"),
        "url": "https://api.github.com/x",
        "body": "It panics. See `src/list.rs`.",
    })
}

pub fn comment(body: &str) -> Value {
    json!({
        "user": user("bob"),
        "author_association": "MEMBER",
        "created_at": "2026-11-03T09:00:00Z",
        "updated_at": "2026-11-03T09:05:00Z",
        "body": body,
    })
}

pub fn text(result: &Value) -> String {
    result["content"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned()
}

pub fn read(daemon: &Daemon, path: &str) -> String {
    text(
        &daemon
            .read(path)
            .unwrap_or_else(|error| panic!("{path}: {error:?}")),
    )
}

pub fn refused(daemon: &Daemon, path: &str) -> WireError {
    match daemon.read(path) {
        Ok(result) => panic!("{path}: {}", text(&result)),
        Err(error) => error,
    }
}

/// Runs git in a folder.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .arg("-C")
        .arg(folder)
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t.example",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
