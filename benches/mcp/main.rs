//! `pilcrow mcp` beside an echo of the protocol's library: a warm read, the start, an idle process; in
//! turns in one run, a side is never measured twice in a row.

mod echo;
#[path = "../support/mod.rs"]
mod support;

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use support::table::{self, lone_row, row, timed};
use support::{Answer, Peer, PipedChild, Workspace, small};

/// Rounds of what takes microseconds, of starts, and rounds before any counts.
const QUICK: usize = 4000;
const STARTS: usize = 40;
const WARM_UP: usize = 200;

/// After so long without a call it is at rest (`task::threads`).
const AT_REST: Duration = Duration::from_secs(21);

/// The variable that makes this program serve an echo instead.
const ASKED: &str = "PILCROW_BENCH_MCP_ECHO";

fn main() -> Answer<()> {
    if std::env::var_os(ASKED).is_some() {
        return echo::serve();
    }
    let workspace = Workspace::new()?;
    table::head();
    warm(&workspace)?;
    starts(&workspace)?;
    idle(&workspace)
}

/// A server that speaks MCP over its stdin and stdout.
struct McpPeer {
    piped: PipedChild,
    line: Vec<u8>,
}

impl McpPeer {
    fn pilcrow(root: &Path) -> Answer<McpPeer> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pilcrow"));
        command.args(["mcp", "--root"]).arg(root);
        McpPeer::start(command)
    }

    fn echo() -> Answer<McpPeer> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(ASKED, "1");
        McpPeer::start(command)
    }

    fn start(command: Command) -> Answer<McpPeer> {
        let mut peer = McpPeer {
            piped: PipedChild::start(command)?,
            line: Vec::new(),
        };
        let client = json!({ "name": "bench", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        peer.exchange(&line("initialize", &params))?;
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        peer.piped
            .stdin
            .write_all(format!("{initialized}\n").as_bytes())?;
        Ok(peer)
    }

    /// Sends a line, and takes the one that answers it.
    fn exchange(&mut self, request: &[u8]) -> Answer<&[u8]> {
        self.piped.stdin.write_all(request)?;
        self.line.clear();
        match self.piped.stdout.read_until(b'\n', &mut self.line)? {
            0 => Err("the server has ended".into()),
            _ => Ok(&self.line),
        }
    }
}

fn line(method: &str, params: &Value) -> Vec<u8> {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    format!("{request}\n").into_bytes()
}

fn call(name: &str, arguments: &Value) -> Vec<u8> {
    line(
        "tools/call",
        &json!({ "name": name, "arguments": arguments }),
    )
}

fn warm(workspace: &Workspace) -> Answer<()> {
    let path = format!("{}:full", small(0));
    let read = call("read", &json!({ "path": path }));
    let mut pilcrow = McpPeer::pilcrow(workspace.path())?;
    let answer: Value = serde_json::from_slice(pilcrow.exchange(&read)?)?;
    let text = &answer["result"]["content"][0]["text"];
    assert!(
        text.as_str().is_some_and(|text| text.len() > 9000),
        "{answer}"
    );
    let echo = call("echo", &json!({ "text": text }));
    let mut echoing = McpPeer::echo()?;
    let mut daemon = Peer::daemon(workspace.path())?;
    let plain = support::request("agent/read", json!({ "path": path }));
    let (mut reads, mut echoes, mut plains) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..QUICK + WARM_UP {
        let (read, _) = timed(|| Ok(pilcrow.exchange(&read)?.len()))?;
        let (echo, _) = timed(|| Ok(echoing.exchange(&echo)?.len()))?;
        let (plain, _) = timed(|| daemon.exchange(&plain).map(drop))?;
        if round >= WARM_UP {
            reads.push(read);
            echoes.push(echo);
            plains.push(plain);
        }
    }
    let times = (reads.clone(), echoes);
    row(
        "`tools/call` of a warm read of 250 lines (10 KB)",
        "rmcp's echo of its text",
        times,
    );
    row("the same", "`agent/read`", (reads, plains));
    Ok(())
}

fn starts(workspace: &Workspace) -> Answer<()> {
    let (mut ours, mut echoes) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        ours.push(timed(|| McpPeer::pilcrow(workspace.path()))?.0);
        echoes.push(timed(McpPeer::echo)?.0);
    }
    row(
        "start to `initialize` answered",
        "the same of rmcp's echo",
        (ours, echoes),
    );
    Ok(())
}

fn idle(workspace: &Workspace) -> Answer<()> {
    let pilcrow = McpPeer::pilcrow(workspace.path())?;
    std::thread::sleep(AT_REST);
    let mebibytes = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    lone_row(
        "resident memory of a process at rest",
        &mebibytes(pilcrow.piped.resident()?),
    );
    lone_row(
        "the same without the program's own pages",
        &mebibytes(pilcrow.piped.resident_alone()?),
    );
    Ok(())
}
