//! The client of all protocol tests, over the real binary; a message that nobody took never goes unnoticed.

mod inbox;
mod wire;

use std::fmt::Write as _;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
pub use tower_lsp::jsonrpc::Id;

use inbox::Inbox;
pub use inbox::{Next, WireError};

/// A wait longer than this is a hang, and the test fails.
pub const HANG: Duration = Duration::from_secs(30);

/// A running daemon. Dropping it shuts it down, and fails the test on anything that is left over:
/// messages nobody took, bytes that are no frames, output on stderr, an exit code other than 0.
pub struct Daemon {
    stdin: Mutex<Option<ChildStdin>>,
    inbox: Arc<Inbox>,
    pid: u32,
    state: TempDir,
    setup: Builder,
    initialize_result: Value,
    next_id: AtomicI64,
    shut_down: AtomicBool,
    /// The test ended it by other means than shutdown and exit.
    cut_short: AtomicBool,
}

/// How a daemon is to be started.
pub struct Builder {
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    roots: Vec<PathBuf>,
    settings: Option<Value>,
    capabilities: Value,
    process_id: u32,
    ordinary_user: bool,
}

/// `nobody`, whom permissions bind as they do not bind root.
#[cfg(unix)]
const ORDINARY_USER: u32 = 65534;

impl Builder {
    /// One more workspace folder.
    pub fn root(mut self, root: impl Into<PathBuf>) -> Builder {
        self.roots.push(root.into());
        self
    }

    /// The `initializationOptions`.
    pub fn settings(mut self, settings: Value) -> Builder {
        self.settings = Some(settings);
        self
    }

    /// The client's capabilities; none by default.
    pub fn capabilities(mut self, capabilities: Value) -> Builder {
        self.capabilities = capabilities;
        self
    }

    /// One more environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Builder {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// One more argument after `serve --stdio`.
    pub fn arg(mut self, argument: &str) -> Builder {
        self.arguments.push(argument.to_owned());
        self
    }

    /// The `processId` given at `initialize`, instead of this process.
    pub fn process_id(mut self, pid: u32) -> Builder {
        self.process_id = pid;
        self
    }

    /// Runs it as an ordinary user where this process is root.
    pub fn ordinary_user(mut self) -> Builder {
        self.ordinary_user = true;
        self
    }

    /// Another program instead of the daemon, without arguments: for tests of this client.
    pub fn program(mut self, program: &str) -> Builder {
        self.program = program.into();
        self.arguments.clear();
        self
    }

    /// Starts and initializes it.
    pub fn start(self) -> Daemon {
        let mut daemon = self.spawn();
        daemon.initialize();
        daemon
    }

    /// Starts it and says nothing to it.
    pub fn spawn(self) -> Daemon {
        let state = tempfile::tempdir().expect("a directory for the daemon's state");
        let mut command = match self.ordinary_user && rustix::process::geteuid().is_root() {
            true => self.as_ordinary_user(state.path()),
            false => Command::new(&self.program),
        };
        command
            .args(&self.arguments)
            .env("XDG_STATE_HOME", state.path())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = spawned(&mut command);
        let inbox = Arc::new(Inbox::default());
        let stdin = child.stdin.take();
        listen(&mut child, &inbox);
        let pid = child.id();
        let waiting = inbox.clone();
        std::thread::spawn(move || waiting.set_exit(child.wait().ok()));
        Daemon {
            stdin: Mutex::new(stdin),
            inbox,
            pid,
            state,
            setup: self,
            initialize_result: Value::Null,
            next_id: AtomicI64::new(1),
            shut_down: AtomicBool::new(false),
            cut_short: AtomicBool::new(false),
        }
    }

    /// The program as an ordinary user runs it: a copy in a directory that it may enter, which the
    /// one that holds the checkout need not be.
    fn as_ordinary_user(&self, state: &Path) -> Command {
        use std::os::unix::process::CommandExt;
        let program = state.join("program");
        std::fs::copy(&self.program, &program).expect("the program is copied");
        for given in [state, &program] {
            std::os::unix::fs::chown(given, Some(ORDINARY_USER), Some(ORDINARY_USER))
                .expect("the state directory is given away");
        }
        let mut command = Command::new(program);
        command.uid(ORDINARY_USER).gid(ORDINARY_USER);
        command
    }

    fn initialize_params(&self) -> Value {
        let folder = |root: &PathBuf| {
            let name = root.file_name().unwrap_or_default().to_string_lossy();
            json!({ "uri": file_uri(root), "name": name })
        };
        json!({
            "processId": self.process_id,
            "clientInfo": { "name": "tests" },
            "rootUri": self.roots.first().map(|root| file_uri(root)),
            "workspaceFolders": self.roots.iter().map(folder).collect::<Vec<_>>(),
            "capabilities": self.capabilities,
            "initializationOptions": self.settings,
        })
    }
}

/// Reads the child's stdout and stderr to their ends, on threads of their own.
fn listen(child: &mut Child, inbox: &Arc<Inbox>) {
    let stdout = child.stdout.take().expect("stdout is piped");
    let receiving = inbox.clone();
    std::thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        let fault = loop {
            receiving.wait_while_paused();
            match wire::next_message(&mut stdout) {
                Ok(Some(message)) => receiving.receive(message),
                Ok(None) => break None,
                Err(fault) => break Some(fault),
            }
        };
        // Nobody can tell where the next frame begins, but the daemon must be able to write on.
        let _ = std::io::copy(&mut stdout, &mut std::io::sink());
        receiving.close_stdout(fault);
    });
    let mut stderr = child.stderr.take().expect("stderr is piped");
    let receiving = inbox.clone();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stderr.read_to_end(&mut text);
        receiving.close_stderr(String::from_utf8_lossy(&text).into_owned());
    });
}

impl Daemon {
    /// Starts and initializes a daemon with one root.
    pub fn start(root: &Path) -> Daemon {
        Daemon::builder().root(root).start()
    }

    /// A daemon to be set up.
    pub fn builder() -> Builder {
        Builder {
            program: env!("CARGO_BIN_EXE_pilcrow").into(),
            arguments: vec!["serve".to_owned(), "--stdio".to_owned()],
            // On a busy machine there may be no time to look at an edit again.
            environment: vec![("PILCROW_TOLD_WITHIN".to_owned(), "60000".to_owned())],
            roots: Vec::new(),
            settings: None,
            capabilities: json!({}),
            process_id: std::process::id(),
            ordinary_user: false,
        }
    }

    /// Does the handshake, for a daemon that was only spawned.
    pub fn initialize(&mut self) {
        let params = self.setup.initialize_params();
        self.initialize_result = self
            .call("initialize", params)
            .expect("initialize is answered with a result");
        self.notify("initialized", json!({}));
    }

    /// What `initialize` was answered; null before.
    pub fn initialize_result(&self) -> &Value {
        &self.initialize_result
    }

    /// Sends a request and waits for its answer.
    pub fn call(&self, method: &str, params: Value) -> Result<Value, WireError> {
        self.wait(&self.request(method, params))
    }

    /// Sends a request. Null `params` are left out.
    pub fn request(&self, method: &str, params: Value) -> Id {
        let id = Id::Number(self.next_id.fetch_add(1, Ordering::Relaxed));
        if method == "shutdown" {
            self.shut_down.store(true, Ordering::Relaxed);
        }
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message);
        id
    }

    /// Waits for the answer to a request. Answers may come in any order; an answer is taken once.
    /// What the daemon could not make out is answered with [`Id::Null`].
    pub fn wait(&self, id: &Id) -> Result<Value, WireError> {
        self.inbox.answer(id)
    }

    /// Sends a notification. Null `params` are left out.
    pub fn notify(&self, method: &str, params: Value) {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message);
    }

    /// Answers a request of the daemon.
    pub fn respond(&self, id: Id, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    /// Refuses a request of the daemon.
    pub fn respond_error(&self, id: Id, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    fn send(&self, message: &Value) {
        self.send_raw(&wire::framed(message.to_string().as_bytes()));
    }

    /// Sends bytes as they are. A daemon that is gone shows at the next wait.
    pub fn send_raw(&self, bytes: &[u8]) {
        let mut stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stdin) = &mut *stdin {
            let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
        }
    }

    /// Ends the daemon's input.
    pub fn close_stdin(&self) {
        self.cut_short.store(true, Ordering::Relaxed);
        self.stdin
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    /// Takes nothing from the daemon's output, but for a frame that is being read.
    pub fn pause_reading(&self) {
        self.inbox.set_paused(true);
    }

    /// Reads on after [`Daemon::pause_reading`].
    pub fn resume_reading(&self) {
        self.inbox.set_paused(false);
    }

    /// Waits for a notification and takes its parameters.
    pub fn expect_notification(&self, method: &str) -> Value {
        self.inbox.notification(method)
    }

    /// From now on nobody needs to take notifications of that method.
    pub fn ignore_notifications(&self, method: &str) {
        self.inbox.ignore(method);
    }

    /// This test changes files that it has read, and is not about hearing of that.
    pub fn ignore_changes(&self) {
        self.ignore_notifications("agent/didChangeSnapshot");
    }

    /// Waits for a request from the daemon.
    pub fn expect_request(&self, method: &str) -> (Id, Value) {
        self.inbox.request(method)
    }

    /// Waits for the answer to a request; `None` if the daemon ends without it.
    pub fn answer_or_end(&self, id: &Id) -> Option<Result<Value, WireError>> {
        self.inbox.answer_or_end(id)
    }

    /// Waits for the answer to a request, or for a request of the daemon, whichever comes first.
    pub fn answer_or_request(&self, id: &Id, method: &str) -> Next {
        self.inbox.answer_or_request(id, method)
    }

    /// The ids of all answers so far, in the order in which they came.
    pub fn arrival_order(&self) -> Vec<Id> {
        self.inbox.arrival_order()
    }

    /// Of a daemon that has ended: reads what is left and drops the answers nobody waits for.
    pub fn drop_answers(&self) {
        self.resume_reading();
        self.inbox.drop_answers();
    }

    /// The most memory that the daemon had so far, in bytes; 0 where the system does not tell.
    pub fn peak_bytes(&self) -> u64 {
        if !cfg!(target_os = "linux") {
            return 0;
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("the daemon runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kilobytes.expect("VmHWM in kB") * 1024
    }

    /// The process's number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The daemon's own `XDG_STATE_HOME`.
    pub fn state_dir(&self) -> &Path {
        self.state.path()
    }

    /// Waits for the end of the process; `None` if it still runs after `limit`.
    pub fn wait_exit(&self, limit: Duration) -> Option<ExitStatus> {
        self.inbox.exit(limit)
    }

    /// Kills it, unless it has ended.
    #[cfg(unix)]
    pub fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
        self.wait_exit(HANG).expect("what is killed ends");
    }

    /// Sends it a signal, unless it has ended.
    #[cfg(unix)]
    pub fn signal(&self, signal: rustix::process::Signal) {
        self.cut_short.store(true, Ordering::Relaxed);
        if self.wait_exit(Duration::ZERO).is_none() {
            let _ = rustix::process::kill_process(process(self.pid), signal);
        }
    }

    /// Resident memory now.
    #[cfg(target_os = "linux")]
    pub fn rss_bytes(&self) -> u64 {
        let status = self.proc_file("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
        let kilobytes = kilobytes.and_then(|text| text.parse::<u64>().ok());
        kilobytes.expect("/proc/*/status has VmRSS in kB") * 1024
    }

    /// Processor time used so far, in user and kernel mode.
    #[cfg(target_os = "linux")]
    pub fn cpu_time(&self) -> Duration {
        // The name, in parentheses, may contain anything; utime and stime are fields 14 and 15.
        let stat = self.proc_file("stat");
        let (_, fields) = stat.rsplit_once(')').expect("/proc/*/stat has a name");
        let ticks: Vec<u64> = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|ticks| ticks.parse().ok())
            .collect();
        // USER_HZ is 100 wherever Rust and Linux meet.
        Duration::from_millis(ticks.iter().sum::<u64>() * 10)
    }

    #[cfg(target_os = "linux")]
    fn proc_file(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.pid)).expect("the daemon runs")
    }

    /// `agent/read` of a path.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Value, WireError> {
        self.read_with(json!({ "path": path.as_ref() }))
    }

    /// `agent/read` with any parameters.
    pub fn read_with(&self, params: Value) -> Result<Value, WireError> {
        self.call("agent/read", params)
    }

    /// The text of a read that must succeed.
    pub fn read_text(&self, path: impl AsRef<Path>) -> String {
        let result = self.read(path.as_ref()).expect("the file is read");
        let text = result["content"][0]["text"].as_str();
        text.expect("the first block is a text").to_owned()
    }

    /// Shutdown and exit, as far as the test has not done them. What is wrong comes back.
    fn end(&self) -> Option<String> {
        let cut_short = self.cut_short.load(Ordering::Relaxed);
        let running = self.wait_exit(Duration::ZERO).is_none();
        if cut_short || self.initialize_result.is_null() {
            self.close_stdin();
        } else if running {
            if !self.shut_down.load(Ordering::Relaxed)
                && let Err(error) = self.call("shutdown", Value::Null)
            {
                return Some(format!("shutdown is refused: {error:?}"));
            }
            self.notify("exit", Value::Null);
        }
        let Some(status) = self.wait_exit(HANG) else {
            return Some("it does not end".to_owned());
        };
        let orderly = running && !cut_short && !self.initialize_result.is_null();
        (orderly && !status.success()).then(|| format!("it ends with {status}"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.resume_reading();
        if std::thread::panicking() {
            #[cfg(unix)]
            self.kill();
            return;
        }
        let ended = self.end();
        let killed = ended.is_some() || self.cut_short.load(Ordering::Relaxed);
        #[cfg(unix)]
        if ended.is_some() {
            self.kill();
        }
        let left_over = self.inbox.left_over(killed);
        let complaints: Vec<String> = ended.into_iter().chain(left_over).collect();
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }
}

#[cfg(unix)]
fn process(pid: u32) -> rustix::process::Pid {
    let pid = i32::try_from(pid).ok();
    pid.and_then(rustix::process::Pid::from_raw)
        .expect("the system's own number")
}

/// A `file:` URI.
pub fn file_uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// A program that was just copied is "busy" for as long as a process that another test has forked meanwhile, and that has
/// not begun its own program yet, holds the descriptor it was written by.
fn spawned(command: &mut Command) -> Child {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        match command.spawn() {
            Err(error)
                if error.kind() == ErrorKind::ExecutableFileBusy && Instant::now() < until =>
            {
                std::thread::yield_now();
            }
            spawned => return spawned.expect("the daemon starts"),
        }
    }
}

#[cfg(unix)]
mod tests;

/// The text of an answer without the footer that says which of its lines these are.
pub fn before_footer(text: &str) -> &str {
    let text = text.split("\n\n[Showing").next().unwrap_or(text);
    match text.rsplit_once("\n\n[") {
        Some((rows, place)) if place.starts_with(|c: char| c.is_ascii_digit()) => rows,
        _ => text,
    }
}
