//! `pilcrow mcp` by raw lines over a real process; the client here knows JSON and nothing of the protocol.

mod calls;
mod cancel;
mod caps;
mod eras;
mod life;
mod lines;
mod list;
mod order;
mod roots;
mod sessions;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::HANG;

/// A running server. Dropping it ends its input, and fails the test on an exit code other than 0 and
/// on anything that nobody took.
pub struct McpProcess {
    stdin: Mutex<Option<ChildStdin>>,
    inbox: Arc<McpInbox>,
    child: Mutex<Child>,
    pub home: TempDir,
    next_id: AtomicI64,
}

#[derive(Default)]
struct McpInbox {
    state: Mutex<Received>,
    changed: Condvar,
}

#[derive(Default)]
struct Received {
    messages: Vec<Value>,
    /// Stdout has ended; with what was on it that is no message.
    end: Option<Vec<String>>,
    stderr: Option<String>,
}

/// How a server is to be started.
pub struct McpCommand {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    directory: PathBuf,
}

impl McpCommand {
    pub fn arg(mut self, argument: impl Into<String>) -> McpCommand {
        self.arguments.push(argument.into());
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> McpCommand {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The command, as it would be started with this home directory.
    pub fn command(&self, home: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pilcrow"));
        command
            .arg("mcp")
            .args(&self.arguments)
            .current_dir(&self.directory)
            .env("HOME", home)
            .env("XDG_STATE_HOME", home.join("state"))
            .env("PILCROW_TOLD_WITHIN", "60000")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts it and says nothing.
    pub fn spawn(self) -> McpProcess {
        let home = tempfile::tempdir().expect("a home directory");
        let child = self.command(home.path()).spawn().expect("it starts");
        McpProcess::of(child, home)
    }

    /// Starts it and shakes hands, as a client without roots.
    pub fn start(self) -> McpProcess {
        let server = self.spawn();
        server.initialize("2025-06-18", json!({}));
        server
    }
}

impl McpProcess {
    pub fn in_directory(directory: &Path) -> McpCommand {
        McpCommand {
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: directory.to_owned(),
        }
    }

    /// Started in that folder, hands shaken.
    pub fn start(directory: &Path) -> McpProcess {
        McpProcess::in_directory(directory).start()
    }

    fn of(mut child: Child, home: TempDir) -> McpProcess {
        let inbox = Arc::new(McpInbox::default());
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("stdout is piped");
        let receiving = inbox.clone();
        std::thread::spawn(move || {
            let mut noise = Vec::new();
            for line in BufReader::new(stdout).lines() {
                let line = line.unwrap_or_default();
                match serde_json::from_str::<Value>(&line) {
                    Ok(message) if message["jsonrpc"] == "2.0" => {
                        receiving.change(|state| state.messages.push(message));
                    }
                    _ => noise.push(line),
                }
            }
            receiving.change(|state| state.end = Some(noise));
        });
        let mut stderr = child.stderr.take().expect("stderr is piped");
        let receiving = inbox.clone();
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            receiving.change(|state| state.stderr = Some(text));
        });
        McpProcess {
            stdin: Mutex::new(stdin),
            inbox,
            child: Mutex::new(child),
            home,
            next_id: AtomicI64::new(1),
        }
    }

    /// The handshake; what it is answered.
    pub fn initialize(&self, version: &str, capabilities: Value) -> Value {
        let client = json!({ "name": "tests", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
        let answer = self.request("initialize", params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer["result"].clone()
    }

    /// Sends a request and waits for its answer, a result or an error.
    pub fn request(&self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(&json!(id))
    }

    /// Sends a request; its id.
    pub fn begin(&self, method: &str, params: Value) -> i64 {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub fn begin_call(&self, name: &str, arguments: Value) -> i64 {
        self.begin(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
    }

    /// Calls a tool; its result.
    pub fn call(&self, name: &str, arguments: Value) -> Value {
        let id = self.begin_call(name, arguments);
        self.result(id)
    }

    /// Calls a tool with `_meta`.
    pub fn call_with(&self, name: &str, arguments: Value, meta: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
        self.request("tools/call", params)["result"].clone()
    }

    /// The result of a request.
    pub fn result(&self, id: i64) -> Value {
        let answer = self.answer(&json!(id));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// The text of a call that is to succeed.
    pub fn text(&self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments);
        assert_eq!(result["isError"], false, "{result}");
        text(&result)
    }

    /// The text of a call that is to fail.
    pub fn error(&self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments);
        assert_eq!(result["isError"], true, "{result}");
        text(&result)
    }

    /// The tag of a file, as a read of one line of it shows it.
    pub fn tag(&self, path: &str) -> String {
        let text = self.text("read", json!({ "path": format!("{path}:1-1") }));
        tag_in(&text)
    }

    /// Waits for the answer to the request of this id.
    pub fn answer(&self, id: &Value) -> Value {
        self.wait_for(|message| message.get("id") == Some(id) && message.get("method").is_none())
    }

    /// Waits for an error without an id.
    pub fn error_without_id(&self) -> Value {
        self.wait_for(|message| message.get("id").is_none() && message.get("error").is_some())
    }

    /// Waits for a request or a notification of the server's.
    pub fn asked(&self, method: &str) -> Value {
        self.wait_for(|message| message["method"] == method)
    }

    /// The answer to a request that may take long.
    pub fn answer_within(&self, id: i64, limit: Duration) -> Value {
        self.wait_within(limit, |message| message["id"] == id)
    }

    /// Waits for a message and takes it.
    fn wait_for(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        self.wait_within(HANG, is_it)
    }

    fn wait_within(&self, limit: Duration, is_it: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + limit;
        let mut state = self.inbox.lock();
        loop {
            if let Some(at) = state.messages.iter().position(&is_it) {
                return state.messages.remove(at);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                state.end.is_none() && !left.is_zero(),
                "no such message among {:?}",
                state.messages
            );
            let waited = self.inbox.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether a message is there that nobody took.
    pub fn has(&self, is_it: impl Fn(&Value) -> bool) -> bool {
        self.inbox.lock().messages.iter().any(is_it)
    }

    pub fn send(&self, message: &Value) {
        self.send_raw(message.to_string().as_bytes());
    }

    /// Sends a line as it is.
    pub fn send_raw(&self, line: &[u8]) {
        let mut stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stdin) = &mut *stdin {
            let sent = stdin.write_all(line).and_then(|()| stdin.write_all(b"\n"));
            let _ = sent.and_then(|()| stdin.flush());
        }
    }

    pub fn close_stdin(&self) {
        let mut stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        stdin.take();
    }

    pub fn pid(&self) -> u32 {
        self.child
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .id()
    }

    /// Waits for the end of the process.
    pub fn wait_exit(&self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
            match child.try_wait().expect("a child of ours") {
                Some(status) => return Some(status),
                None if Instant::now() > deadline => return None,
                None => {}
            }
            drop(child);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What it said to its end and nobody took.
    pub fn left(&self) -> Vec<Value> {
        std::mem::take(&mut self.end_of_output().messages)
    }

    fn end_of_output(&self) -> MutexGuard<'_, Received> {
        let deadline = Instant::now() + HANG;
        let mut state = self.inbox.lock();
        while (state.end.is_none() || state.stderr.is_none()) && Instant::now() < deadline {
            let waited = self.inbox.changed.wait_timeout(state, HANG);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    /// What nobody took, dropped.
    pub fn drop_messages(&self) {
        self.inbox.lock().messages.clear();
    }
}

impl McpInbox {
    fn lock(&self) -> MutexGuard<'_, Received> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Received)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

impl Drop for McpProcess {
    fn drop(&mut self) {
        self.close_stdin();
        let status = self.wait_exit(HANG);
        if status.is_none() {
            let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = child.kill();
        }
        if std::thread::panicking() {
            return;
        }
        let state = self.end_of_output();
        assert!(status.is_some_and(|status| status.success()), "{status:?}");
        assert_eq!(state.messages, Vec::<Value>::new(), "nobody took these");
        assert_eq!(state.end.as_deref(), Some(&[][..]), "on stdout");
        assert_eq!(state.stderr.as_deref(), Some(""), "on stderr");
    }
}

/// The one text of a result, which holds nothing but that and pictures behind it.
pub fn text(result: &Value) -> String {
    assert!(result.get("structuredContent").is_none(), "{result}");
    let content = result["content"].as_array().expect("content");
    let (first, others) = content.split_first().expect("a block");
    assert!(
        others.iter().all(|block| block["type"] == "image"),
        "{result}"
    );
    assert_eq!(first["type"], "text", "{result}");
    first["text"].as_str().expect("a text").to_owned()
}

/// A server whose write stops at a step of that number, until there is a file `go` in the folder that is
/// given back; there is `go.held` once it has.
pub fn held_at(step: &str, directory: &Path) -> (McpProcess, TempDir) {
    let signals = tempfile::tempdir().expect("a folder");
    let go_on = signals.path().join("go");
    let fail = format!("{step}:HOLD={}", go_on.display());
    let command = McpProcess::in_directory(directory).env("PILCROW_FAIL", &fail);
    (command.start(), signals)
}

/// The tag in the first header of a text.
pub fn tag_in(text: &str) -> String {
    let header = text.lines().find(|line| line.starts_with('¶'));
    let (_, tag) = header.and_then(|line| line.rsplit_once('#')).expect(text);
    tag.to_owned()
}
