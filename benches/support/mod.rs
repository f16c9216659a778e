//! What the benchmarks share: files, a client over pipes, and the echo that reads are measured against; nothing here measures.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

mod echo;
pub mod table;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use clap::Parser as _;
use pilcrow::buffer::Overlays;
use pilcrow::cli::{self, Arguments};
use pilcrow::mcp_client::McpServers;
use pilcrow::net::Spool;
use pilcrow::protocol::Settings;
use pilcrow::protocol::read::ReadResult;
use pilcrow::read::{Ask, Provided, Reader, StageResult};
use pilcrow::session::Stores;
use pilcrow::task::{CancelToken, Work};
use pilcrow::workspace::Scope;
use serde_json::{Value, json};
use tempfile::TempDir;

#[allow(unused_imports, reason = "one benchmark has an echo of its own")]
pub use echo::serve_if_asked;

/// A real source file: 250 lines of it are what a warm read reads.
const SOURCE: &str = include_str!("../../src/rpc/frame.rs");
const SOURCE_LINES: usize = 250;

/// Bytes of the file that is read cold.
const LARGE: usize = 200 * 1000;

/// Requests that are sent at once.
pub const READERS: usize = 16;

/// What every notification of the daemon begins with.
const NOTIFICATION: &[u8] = br#"{"jsonrpc":"2.0","method":"#;

/// Until a file's times prove that it is unchanged.
pub const SETTLED: Duration = Duration::from_millis(2100);

pub type Answer<T> = Result<T, Box<dyn std::error::Error>>;

/// A workspace of files that have not changed for more than two seconds.
pub struct Workspace {
    directory: TempDir,
}

impl Workspace {
    pub fn new() -> Answer<Workspace> {
        let directory = tempfile::tempdir()?;
        fs::create_dir(directory.path().join("src"))?;
        let source = source();
        for number in 0..READERS {
            fs::write(directory.path().join(small(number)), &source)?;
        }
        let copies = LARGE / SOURCE.len() + 1;
        let large: String = SOURCE.repeat(copies).chars().take(LARGE).collect();
        fs::write(directory.path().join("src/large.rs"), large)?;
        std::thread::sleep(SETTLED);
        Ok(Workspace { directory })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn large(&self) -> PathBuf {
        self.path().join("src/large.rs")
    }
}

/// 250 lines of real source.
pub fn source() -> String {
    let lines: Vec<&str> = SOURCE.split_inclusive('\n').take(SOURCE_LINES).collect();
    lines.concat()
}

/// The path of one of the small files, as an agent writes it.
pub fn small(number: usize) -> String {
    format!("src/file{number}.rs")
}

/// A child with a state directory of its own, which is spoken to by pipes. It is killed when it is dropped.
pub struct PipedChild {
    pub stdin: ChildStdin,
    pub stdout: BufReader<ChildStdout>,
    child: Child,
    _state: TempDir,
}

impl PipedChild {
    pub fn start(mut command: Command) -> Answer<PipedChild> {
        let state = tempfile::tempdir()?;
        let mut child = command
            .env("XDG_STATE_HOME", state.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("stdin is piped")?;
        let stdout = child.stdout.take().ok_or("stdout is piped")?;
        Ok(PipedChild {
            stdin,
            stdout: BufReader::with_capacity(256 << 10, stdout),
            child,
            _state: state,
        })
    }

    /// Bytes of memory it holds now.
    pub fn resident(&self) -> Answer<u64> {
        self.memory("VmRSS:")
    }

    /// Those of them that are no pages of files, which the machine holds once for all processes.
    pub fn resident_alone(&self) -> Answer<u64> {
        self.memory("RssAnon:")
    }

    fn memory(&self, field: &str) -> Answer<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        let kib = line.ok_or("no such field")?.trim().trim_end_matches(" kB");
        Ok(kib.parse::<u64>()? << 10)
    }
}

impl Drop for PipedChild {
    fn drop(&mut self) {
        // It may have ended already, and then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A child that speaks the protocol over its stdin and stdout.
pub struct Peer {
    piped: PipedChild,
    body: Vec<u8>,
}

impl Peer {
    /// The daemon, initialized.
    pub fn daemon(root: &Path) -> Answer<Peer> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pilcrow"));
        command.args(["serve", "--stdio"]);
        Peer::start(command, root)
    }

    /// The daemon of somebody with this home directory.
    pub fn daemon_of_home(root: &Path, home: &Path) -> Answer<Peer> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pilcrow"));
        command.args(["serve", "--stdio"]).env("HOME", home);
        for moved in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"] {
            command.env_remove(moved);
        }
        Peer::start(command, root)
    }

    /// The daemon with these settings, its caches in this directory, initialized.
    pub fn daemon_with(root: &Path, settings: Value, caches: &Path) -> Answer<Peer> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pilcrow"));
        command
            .args(["serve", "--stdio"])
            .env("XDG_CACHE_HOME", caches);
        // No program is asked for a login.
        command.env("GH_TOKEN", "of-nobody");
        Peer::start_with(command, root, settings)
    }

    /// This very program as an echo, initialized.
    pub fn echo(root: &Path) -> Answer<Peer> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(echo::ASKED, "1");
        Peer::start(command, root)
    }

    fn start(command: Command, root: &Path) -> Answer<Peer> {
        Peer::start_with(command, root, Value::Null)
    }

    fn start_with(command: Command, root: &Path, settings: Value) -> Answer<Peer> {
        let mut peer = Peer {
            piped: PipedChild::start(command)?,
            body: Vec::new(),
        };
        let params = json!({
            "processId": std::process::id(),
            "rootUri": format!("file://{}", root.display()),
            "capabilities": {},
            "initializationOptions": settings,
        });
        peer.exchange(&request("initialize", params))?;
        peer.send(&framed(
            &json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }),
        ))?;
        Ok(peer)
    }

    /// Sends frames that are ready to be sent, in one write where the pipe takes them.
    pub fn send(&mut self, frames: &[u8]) -> Answer<()> {
        Ok(self.piped.stdin.write_all(frames)?)
    }

    /// The body of the next answer; notifications before it are skipped.
    pub fn receive(&mut self) -> Answer<&[u8]> {
        self.receive_frame()?;
        while self.body.starts_with(NOTIFICATION) {
            self.receive_frame()?;
        }
        Ok(&self.body)
    }

    fn receive_frame(&mut self) -> Answer<()> {
        let mut length = None;
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.piped.stdout.read_until(b'\n', &mut line)? == 0 {
                return Err("the output has ended".into());
            }
            let line = std::str::from_utf8(&line)?.trim_end();
            match line.strip_prefix("Content-Length: ") {
                Some(value) => length = Some(value.parse()?),
                None if line.is_empty() => break,
                None => {}
            }
        }
        self.body.resize(length.ok_or("a frame has a length")?, 0);
        self.piped.stdout.read_exact(&mut self.body)?;
        Ok(())
    }

    /// One request and its answer.
    pub fn exchange(&mut self, frame: &[u8]) -> Answer<&[u8]> {
        self.send(frame)?;
        self.receive()
    }

    /// All requests at once, then all answers; returns the answers' bytes.
    pub fn exchange_all(&mut self, frames: &[u8], count: usize) -> Answer<usize> {
        self.send(frames)?;
        let mut bytes = 0;
        for _ in 0..count {
            bytes += self.receive()?.len();
        }
        Ok(bytes)
    }

    /// The result that a request is answered with.
    pub fn result(&mut self, frame: &[u8]) -> Answer<Value> {
        let mut answer: Value = serde_json::from_slice(self.exchange(frame)?)?;
        match answer["result"].take() {
            Value::Null => Err(format!("refused: {answer}").into()),
            result => Ok(result),
        }
    }

    /// Processor time of all its threads so far.
    pub fn cpu_time(&self) -> Answer<Duration> {
        let mut nanoseconds = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.piped.child.id()))? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            let running = text.split(' ').next().unwrap_or_default();
            nanoseconds += running.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }

    /// Bytes of memory it holds now.
    pub fn resident(&self) -> Answer<u64> {
        self.piped.resident()
    }
}

/// A request as a frame. All bear the same id, since none is sent before the last is answered.
pub fn request(method: &str, params: Value) -> Vec<u8> {
    numbered_request(1, method, params)
}

pub fn numbered_request(id: usize, method: &str, params: Value) -> Vec<u8> {
    framed(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A read and the echo of its answer, over a daemon and an echo that are both warm.
pub struct Pair {
    pub daemon: Peer,
    pub echo: Peer,
    /// The requests of one round, framed and joined.
    pub reads: Vec<u8>,
    pub echoes: Vec<u8>,
    pub count: usize,
}

impl Pair {
    /// `count` requests in a round, each for a small file of its own.
    pub fn new(workspace: &Workspace, count: usize) -> Answer<Pair> {
        let paths: Vec<String> = (0..count).map(small).collect();
        Pair::of(workspace, &paths)
    }

    /// One request in a round for each path.
    pub fn of(workspace: &Workspace, paths: &[String]) -> Answer<Pair> {
        let mut pair = Pair {
            daemon: Peer::daemon(workspace.path())?,
            echo: Peer::echo(workspace.path())?,
            reads: Vec::new(),
            echoes: Vec::new(),
            count: paths.len(),
        };
        for (number, path) in paths.iter().enumerate() {
            let read = numbered_request(number, "agent/read", json!({ "path": path }));
            pair.daemon.exchange(&read)?;
            let answer = pair.daemon.result(&read)?;
            if answer["details"]["cache"] != "hit" {
                return Err("the second read is not warm".into());
            }
            let echo = numbered_request(number, echo::METHOD, answer.clone());
            if pair.echo.result(&echo)? != answer {
                return Err("the echo is not what was sent".into());
            }
            pair.reads.extend(read);
            pair.echoes.extend(echo);
        }
        Ok(pair)
    }

    pub fn read(&mut self) -> Answer<usize> {
        self.daemon.exchange_all(&self.reads, self.count)
    }

    pub fn echo(&mut self) -> Answer<usize> {
        self.echo.exchange_all(&self.echoes, self.count)
    }
}

/// Readers of this process have it work as their worker: to be called before anything else.
pub fn work_if_asked() {
    if std::env::args()
        .nth(1)
        .is_some_and(|first| first == "worker")
        && let Some(cli::Command::Worker(options)) = Arguments::parse().command
    {
        std::process::exit(cli::work(&options));
    }
}

/// A read in this process, as a job of the daemon.
pub struct InProcess {
    scope: Scope,
    ask: Ask,
    work: Work,
}

impl InProcess {
    pub fn new(workspace: &Workspace, path: &str) -> Answer<InProcess> {
        let settings = Settings::default();
        let ask = Ask::parse(&json!({ "path": path }), "bench", &settings)
            .map_err(|refusal| format!("{refusal:?}"))?;
        let roots = vec![workspace.path().to_path_buf()];
        let scans = Arc::new(AtomicU64::new(0));
        Ok(InProcess {
            scope: Scope::new(roots, Arc::new(settings), scans),
            ask,
            work: Work::new(CancelToken::new(), Duration::from_secs(3600)),
        })
    }

    /// A reader that has read nothing yet.
    pub fn reader() -> Reader {
        // It starts no server, so that nothing ever runs on it.
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        let mcp = McpServers::new(runtime.handle().clone());
        let provided = Provided::new(mcp, Arc::new(Spool::new(std::env::temp_dir())));
        let budget = Settings::default().memory.budget_bytes;
        Reader::new(budget, Stores::new(None), provided)
    }

    pub fn read(&self, reader: &Reader) -> Answer<ReadResult> {
        let overlays = Overlays::default();
        let prepared = reader.prepare(&self.ask, None, &self.scope, &overlays, &self.work, &|_| ());
        let StageResult::Ready(prepared) = prepared.map_err(|refusal| format!("{refusal:?}"))?
        else {
            return Err("a page is no read of this process".into());
        };
        Ok(reader.finish(&self.ask, &prepared, None, &self.work)?.0)
    }
}

/// From nothing to the first answer of a daemon.
pub fn start_up(workspace: &Workspace) -> Answer<Peer> {
    let mut daemon = Peer::daemon(workspace.path())?;
    daemon.result(&request("agent/read", json!({ "path": small(0) })))?;
    Ok(daemon)
}

/// The same of the echo.
pub fn echo_start_up(workspace: &Workspace) -> Answer<Peer> {
    let mut echo = Peer::echo(workspace.path())?;
    echo.result(&request(echo::METHOD, json!({ "path": small(0) })))?;
    Ok(echo)
}
